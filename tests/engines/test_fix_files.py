"""The files that `--fix` writes for a server are read by that very server: every line that a rule can write."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dbdyno.check import fixes
from dbdyno.check.book import engine_rules
from dbdyno.check.judge import judge
from dbdyno.check.result import Checked
from dbdyno.engines.registry import engine_named
from dbdyno.model.engine import Installation
from dbdyno.model.fact import Fact
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Verdict

SERVERS = [
    (scheme, installation)
    for scheme in ("postgresql", "mariadb", "mysql", "mariadb+rocksdb")
    for installation in engine_named(scheme).recipe().installations()
]
LEAST = 15
"""Settings that the rules of an engine change at the least; fewer would mean that this test looks at nothing."""


def findings_of(engine: str, version: int) -> list[Finding]:
    """What every rule says to its own bad example, on a server of this version where the example has none."""
    found = []
    for entry in engine_rules(engine):
        facts = {"server.version": version} | dict(entry.rule.bad)
        finding = judge(entry, Facts(Fact(name=name, value=value, source="test") for name, value in facts.items()))
        if finding is not None and finding.verdict is Verdict.FAIL:
            found.append(finding)
    return found


def written(folder: Path, engine: str, findings: list[Finding]) -> tuple[Path, dict[str, str]]:
    fixes.write(folder, Checked(target="test", engine=engine, findings=tuple(findings)))
    return next((folder / "server").glob("90-dyno.*")), fixes.read_plan(folder).settings


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, timeout=60)


def variables(text: str) -> dict[str, str]:
    rows = text.partition("\n---")[2].splitlines()[1:]
    pairs = (row.split(None, 1) for row in rows if row and not row.startswith(" "))
    return {words[0].replace("-", "_"): (words[1] if len(words) > 1 else "") for words in pairs if words}


def program_of(installation: Installation) -> Path:
    return next(path for name in ("mariadbd", "mysqld") if (path := Path(installation.bin, name)).exists())


@pytest.mark.parametrize(
    ("scheme", "installation"),
    [one for one in SERVERS if one[0] != "postgresql"],
    ids=[f"{scheme}-{one.version_text}" for scheme, one in SERVERS if scheme != "postgresql"],
)
def test_an_option_file_is_read(scheme: str, installation: Installation, tmp_path: Path) -> None:
    engine = engine_named(scheme).name
    program = program_of(installation)
    plugin = ["--plugin-load-add=ha_rocksdb"] if scheme.endswith("rocksdb") else []
    known = variables(run(program, "--no-defaults", "--user=root", *plugin, "--help", "--verbose").stdout)
    assert len(known) > 300
    findings = [
        one
        for one in findings_of(engine, installation.version)
        if all(fix.name in known for fix in one.fixes if fix.kind == "setting")
    ]
    file, settings = written(tmp_path / "fixes", engine, findings)
    assert len(settings) >= LEAST
    done = run(program, f"--defaults-file={file}", "--user=root", *plugin, "--help", "--verbose")
    assert done.returncode == 0, done.stderr[-2000:]
    now = variables(done.stdout)
    same = {name for name, value in settings.items() if now[name] == known[name] and not equal(value, now[name])}
    assert not same, {name: (settings[name], now[name]) for name in same}
    headless = tmp_path / "headless.cnf"
    headless.write_text(file.read_text().replace("[mysqld]\n", ""))
    assert run(program, f"--defaults-file={headless}", "--user=root", "--help", "--verbose").returncode != 0


def equal(wanted: str, shown: str) -> bool:
    words = {"TRUE": "ON", "FALSE": "OFF", "1": "ON", "0": "OFF"}
    wanted, shown = wanted.upper(), shown.upper()
    return wanted == shown or words.get(wanted, wanted) == words.get(shown, shown)


@pytest.mark.parametrize(
    "installation",
    [one for scheme, one in SERVERS if scheme == "postgresql"],
    ids=[one.version_text for scheme, one in SERVERS if scheme == "postgresql"],
)
def test_an_included_file_is_read(installation: Installation, tmp_path: Path) -> None:
    program = Path(installation.bin, "postgres")
    known = {line.split("\t")[0] for line in run(program, "--describe-config").stdout.splitlines()}
    findings = [
        one
        for one in findings_of("postgresql", installation.version)
        if all(fix.name in known for fix in one.fixes if fix.kind == "setting")
    ]
    file, settings = written(tmp_path / "fixes", "postgresql", findings)
    assert len(settings) >= LEAST
    main = tmp_path / "postgresql.conf"
    main.write_text(f"include_dir = '{file.parent}'\n")
    for name in settings:
        done = run(program, "-C", name, "-D", tmp_path)
        assert done.returncode == 0, (name, done.stderr)
    main.write_text(f"include_dir = '{file.parent}'\nnosuch_setting = 1\n")
    assert run(program, "-C", name, "-D", tmp_path).returncode != 0, "a wrong file passes"
