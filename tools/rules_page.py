"""Writes docs/reference/rules.md from the rules' own files. `tests/unit/check/test_rules_page.py` says when it is old:

.venv/bin/python tools/rules_page.py
"""

from __future__ import annotations

from pathlib import Path

from dbdyno.check.book import HOST, SECTIONS, Entry, engine_rules, engines_with, host_rules
from dbdyno.check.judge import judge
from dbdyno.model.fact import Fact
from dbdyno.model.facts import Facts

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "rules.md"
HEAD = """# Rules of the audit

Made by `tools/rules_page.py` from the rules' own files; do not edit. How they are used: [dyno check](check.md).
"""


def page() -> str:
    """The whole page, in the order of the folders and ids."""
    folders = {HOST: host_rules()}
    for engine in engines_with("rules"):
        folders[engine] = [entry for entry in engine_rules(engine) if entry.origin == engine]
    parts = [HEAD]
    for name, entries in folders.items():
        parts.append(f"## {name}\n")
        parts.append(table(entries))
        parts += [section(entry) for entry in entries]
    return "\n".join(parts)


def table(entries: list[Entry]) -> str:
    rows = [f"| [{one.rule.id}](#{one.rule.id.lower()}) | {severity(one)} | {one.rule.topic} | {one.rule.title} |"
            for one in entries]  # fmt: skip
    return "\n".join(["| rule | severity of its example | topic | when all is well |", "|---|---|---|---|", *rows, ""])


def section(entry: Entry) -> str:
    lines = [f"### {entry.rule.id}\n", f"*{entry.rule.title}.*\n"]
    lines += [f"**{name}.** {entry.sections[name]}\n" for name in SECTIONS]
    lines.append(f"**Source.** {entry.rule.source}\n")
    return "\n".join(lines)


def severity(entry: Entry) -> str:
    facts = Facts(Fact(name=name, value=value) for name, value in entry.rule.bad.items())
    finding = judge(entry, facts)
    return str(finding.severity) if finding else "-"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
