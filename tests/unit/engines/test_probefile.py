"""Probe files: the newest that fits wins, and mistakes name file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.engines.probefile import load_probes, parse_probe
from dbdyno.model.errors import UsageError
from dbdyno.model.probe import Column, ColumnKind

GOOD = """\
-- name: wal
-- title: The log
-- version_min: 14
-- privilege: watcher
-- cost: cheap
-- every_s: 5
-- timeout_s: 0.5
-- columns:
--   kind: key - what it is
--   bytes: counter [B] role:wal_bytes - written
--   depth: gauge - of the queue
SELECT 1;
"""


def write(folder: Path, name: str, version: int, *, role: str = "") -> None:
    role = f" role:{role}" if role else ""
    text = (
        f"-- name: {name}\n-- title: t\n-- version_min: {version}\n-- cost: c\n-- columns:\n--   a: gauge{role} - h\n"
    )
    (folder / f"{name}.{version}.sql").write_text(text + f"SELECT {version} AS a\n")


def test_a_whole_header_is_read() -> None:
    probe = parse_probe(GOOD, where="x")
    assert (probe.name, probe.version_min, probe.privilege) == ("wal", 14, "watcher")
    assert (probe.every_s, probe.timeout_s, probe.query) == (5.0, 0.5, "SELECT 1")
    assert probe.column("bytes") == Column(
        name="bytes", kind=ColumnKind.COUNTER, unit="B", role="wal_bytes", help="written"
    )


def test_a_query_may_name_the_columns_of_its_header() -> None:
    probe = parse_probe(GOOD.replace("SELECT 1", "SELECT a FROM b WHERE name IN ($columns)"), where="x")
    assert probe.query == "SELECT a FROM b WHERE name IN ('kind', 'bytes', 'depth')"


@pytest.mark.parametrize(("version", "taken"), [(12, None), (13, 13), (15, 13), (16, 16), (17, 16), (18, 18), (99, 18)])
def test_the_newest_that_fits_wins(tmp_path: Path, version: int, taken: int | None) -> None:
    for minimum in (13, 16, 18):
        write(tmp_path, "wal", minimum)
    probes = load_probes(tmp_path, version)
    assert [probe.version_min for probe in probes] == ([] if taken is None else [taken])


@pytest.mark.parametrize(
    ("change", "line", "says"),
    [
        (("-- cost: cheap", "-- price: cheap"), 5, "not a field"),
        (("version_min: 14", "version_min: new"), 3, "not a number"),
        (("every_s: 5", "every_s: 0"), 6, "out of range"),
        (("depth: gauge", "depth: gouge"), 11, "unknown kind"),
        (("depth: gauge - of", "depth: gauge of"), 11, "not a column"),
        (("--   depth", "--   bytes"), 11, "given twice"),
        (("-- privilege: watcher", "-- name: wal"), 4, "given twice"),
        (("SELECT 1;", ""), 12, "no query"),
        (("-- title: The log\n", ""), 1, "lacks title"),
    ],
)
def test_mistakes_name_file_and_line(change: tuple[str, str], line: int, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_probe(GOOD.replace(*change), where="folder/wal.14.sql")
    assert caught.value.what.startswith(f"folder/wal.14.sql:{line}: ")
    assert says in caught.value.what


def test_name_of_the_file_must_fit(tmp_path: Path) -> None:
    (tmp_path / "log.14.sql").write_text(GOOD)
    with pytest.raises(UsageError, match=r"log\.14\.sql"):
        load_probes(tmp_path, 15)


def test_a_role_belongs_to_one_column(tmp_path: Path) -> None:
    write(tmp_path, "a", 13, role="wal_bytes")
    write(tmp_path, "b", 13, role="wal_bytes")
    with pytest.raises(UsageError, match=r"a\.a and b\.a"):
        load_probes(tmp_path, 15)


def test_our_own_roles_are_documented() -> None:
    """Every role that an engine's probe claims is in the reference, and none is claimed twice in any version."""
    root = Path(__file__).parents[3]
    reference = (root / "docs/reference/probes.md").read_text()
    folders = sorted((root / "src/dbdyno/engines").glob("*/probes"))
    assert folders
    for folder in folders:
        versions = {int(path.name.split(".")[1]) for path in folder.glob("*.sql")}
        for version in versions:
            for probe in load_probes(folder, version):
                for column in probe.columns:
                    assert not column.role or f"`{column.role}`" in reference
