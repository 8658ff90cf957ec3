"""Facts of an audit of PostgreSQL that are made from files and from other facts."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from dbdyno.engines.postgresql.dump import collect_script
from dbdyno.engines.postgresql.facts import advisories, counters, derive, read_facts, read_files
from dbdyno.engines.postgresql.questions import EXAMPLES, QUESTIONS
from dbdyno.engines.postgresql.rules._setting import setting
from dbdyno.model.errors import TargetError
from dbdyno.model.fact import Fact, Scalar
from dbdyno.model.facts import Facts, MissingFact
from dbdyno.model.finding import Needs

SECRET = "primary_conninfo = 'host=a user=r password=geheim'\n"


def facts(**values: Scalar) -> Facts:
    return Facts(Fact(name=name.replace("__", "."), value=value) for name, value in values.items())


def config(root: Path, text: str, mode: int, folder_mode: int = 0o755) -> Facts:
    folder = root / "etc" / "db"
    folder.mkdir(parents=True)
    (folder / "postgresql.conf").write_text(text)
    (folder / "postgresql.conf").chmod(mode)
    folder.chmod(folder_mode)
    return facts(server__config_file="/etc/db/postgresql.conf")


@pytest.mark.parametrize(
    ("text", "mode", "folder_mode", "exposed"),
    [
        (SECRET, 0o644, 0o755, "/etc/db/postgresql.conf"),
        (SECRET, 0o600, 0o755, ""),
        (SECRET, 0o644, 0o700, ""),
        ("work_mem = 4MB\n#" + SECRET, 0o644, 0o755, ""),
    ],
    ids=["open", "closed", "closed-folder", "comment"],
)
def test_a_password_that_everybody_can_read(
    tmp_path: Path, text: str, mode: int, folder_mode: int, exposed: str
) -> None:
    tmp_path.chmod(0o755)
    (fact,) = read_files(tmp_path, config(tmp_path, text, mode, folder_mode))
    assert (fact.value, fact.unknown) == (exposed, "")
    assert "geheim" not in str(fact)


def test_an_unknown_place_is_unknown(tmp_path: Path) -> None:
    (fact,) = read_files(tmp_path, facts())
    assert fact.unknown


def derived(**values: Scalar) -> Facts:
    return Facts(_all(facts(**values)))


def _all(given: Facts) -> list[Fact]:
    """What can be derived before a fact is missing."""
    found: list[Fact] = []
    with contextlib.suppress(MissingFact):
        for fact in derive(given):
            found.append(fact)
    return found


def test_versions_and_their_faults() -> None:
    old = derived(server__version=140002)
    assert old.number("server.faults_count") == 1
    assert "14.4" in old.text("server.faults_examples")
    assert old.number("server.minor") == 2
    assert derived(server__version=140004).number("server.faults_count") == 0
    future = derived(server__version=990001)
    assert not future.has("server.end_of_life_unix_s"), "no date is invented for a version that we do not know"
    assert future.number("server.minor_known") == 1


def test_every_advisory_has_its_source() -> None:
    known = advisories()
    assert all(row["source"][-1] == ")" for row in [*known["fault"], *known["setting"]])


def test_managed_services_by_their_settings() -> None:
    assert derived(setting__rds__extensions="x", server__version=150000).text("server.flavour") == "rds"
    assert derived(server__version=150000).text("server.flavour") == "postgresql"


def test_settings_on_their_way_out_only_when_somebody_chose_them() -> None:
    def count(source: str) -> Scalar:
        given = Facts([
            Fact(name="server.version", value=150000),
            Fact(name="setting.old_snapshot_threshold", value="60", source=source),
        ])  # fmt: skip
        return next(fact.value for fact in _all(given) if fact.name == "server.deprecated_count")

    assert count("default") == 0
    assert count("configuration file") == 1


class Asked:
    """A server that refuses some questions."""

    version = 150018

    def __init__(self, refuses: str) -> None:
        self.refuses = refuses
        self.names: list[str] = []

    def ask(self, probe: Any) -> tuple[dict[str, Scalar], ...]:
        self.names.append(probe.name)
        if self.refuses in probe.name:
            raise TargetError("no", found="permission denied")
        columns = next(one.columns for one in QUESTIONS if f"audit_{one.name}" == probe.name)
        return ({f"c{number}": number for number in range(len(columns))},)


def test_a_refused_question_leaves_its_facts_unknown_and_the_others_known() -> None:
    server = Asked("hba")
    found = Facts(read_facts(server))  # type: ignore[arg-type]
    assert not found.has("security.hba_trust_remote_count")
    assert "permission denied" in found.find("security.hba_trust_remote_count").unknown  # type: ignore[union-attr]
    assert found.has("status.connections")
    assert server.names.count("audit_checkpoints") == 1, "one question for each version"
    assert counters(Asked("counters")) == {}  # type: ignore[arg-type]


def test_questions_answer_briefly() -> None:
    """Whatever the server holds, an answer is one row, and names few."""
    names = [(one.name, one.version_min) for one in QUESTIONS]
    assert len(set(names)) == len(names)
    for one in QUESTIONS:
        assert len(set(one.columns)) == len(one.columns)
        if any(column.endswith("_examples") for column in one.columns) and one.name in ("no_primary_key", "bloated"):
            assert f"LIMIT {EXAMPLES}" in one.query


def test_a_setting_is_written_with_its_unit_and_undone_as_it_was() -> None:
    from_file = facts(setting__shared_buffers="16384")
    fix = setting(from_file, "shared_buffers", 131072)
    assert fix.line == "shared_buffers = '1GB'"
    assert fix.needs is Needs.RESTART
    assert fix.undo == "ALTER SYSTEM RESET shared_buffers;"
    ours = Facts([Fact(name="setting.work_mem", value="8192", source="configuration file (persisted)")])
    assert "SET work_mem = '8MB'" in setting(ours, "work_mem", 4096).undo


def test_a_list_is_stated_word_by_word() -> None:
    fix = setting(facts(setting__shared_preload_libraries="auto_explain"), "shared_preload_libraries", "a,b")
    assert "= 'a', 'b';" in fix.live
    assert fix.line == "shared_preload_libraries = 'a,b'"


def test_the_script_asks_everything() -> None:
    script = collect_script()
    assert all(f"question_{one.name}" in script for one in QUESTIONS)
    assert "-w" in script, "it must not wait for a password"
