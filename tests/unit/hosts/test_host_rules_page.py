"""docs/reference/host-rules.md is made from the rules; `python tests/unit/hosts/test_host_rules_page.py` writes it."""

from __future__ import annotations

from pathlib import Path

from dbdyno.check.book import host_rules

PAGE = Path(__file__).parents[3] / "docs/reference/host-rules.md"
HEAD = """# Rules about the machine under a server

Made from `src/dbdyno/hosts/rules/`, where each file also tells its risk, its sources and how contradictions between
them are resolved. A rule whose facts cannot be read says unknown. Facts: `src/dbdyno/hosts/audit/`.
"""


def page() -> str:
    entries = host_rules()
    parts = [HEAD]
    for topic in sorted({entry.rule.topic for entry in entries}):
        parts.append(f"## {topic.capitalize()}\n\n| rule | healthy is | what it checks | remedy |\n|---|---|---|---|")
        for entry in entries:
            if entry.rule.topic == topic:
                words = (entry.rule.title, entry.sections["What it checks"], entry.sections["Remedy"])
                parts[-1] += f"\n| {entry.rule.id} | " + " | ".join(one.replace("|", "\\|") for one in words) + " |"
        parts[-1] += "\n"
    return "\n".join(parts)


def test_the_page_is_that_of_the_rules() -> None:
    assert PAGE.read_text() == page(), "python tests/unit/hosts/test_host_rules_page.py writes it anew"


def test_every_rule_is_on_it() -> None:
    assert len(host_rules()) >= 45
    assert all(f"| {entry.rule.id} |" in PAGE.read_text() for entry in host_rules())


if __name__ == "__main__":
    PAGE.write_text(page())
