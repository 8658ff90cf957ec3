"""Facts about servers of the MySQL family that follow from others, and those from files of the machine."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from dbdyno.engines._mysql import memory
from dbdyno.engines._mysql.facts import derive, read_files
from dbdyno.model.fact import Fact, Scalar
from dbdyno.model.facts import Facts, MissingFact

MIB, GIB = 1 << 20, 1 << 30
NAME = "security.config_secret_world_readable"
BASE: dict[str, Scalar] = {
    "setting.max_connections": 100,
    "setting.table_open_cache": 2000,
    "setting.innodb_buffer_pool_size": GIB,
    "setting.innodb_flush_method": "O_DIRECT",
    "setting.port": 3306,
    **{f"setting.{name}": MIB for name in memory.EACH},
}


def facts_of(table: dict[str, Scalar]) -> Facts:
    return Facts(Fact(name=name, value=value) for name, value in table.items())


def derived(table: dict[str, Scalar]) -> dict[str, Fact]:
    found = {}
    with contextlib.suppress(MissingFact):
        for fact in derive(facts_of(table)):
            found[fact.name] = fact
    return found


def secret_in(root: Path, text: str, mode: int) -> Fact:
    file = root / "etc" / "mysql" / "conf.d" / "x.cnf"
    file.parent.mkdir(parents=True)
    for folder in (root / "etc", root / "etc/mysql", root / "etc/mysql/conf.d"):
        folder.chmod(0o755)
    file.write_text(text)
    file.chmod(mode)
    (fact,) = read_files(root, Facts(()))
    return fact


def test_memory_is_the_sum_of_caches_and_connections() -> None:
    found = derived({"server.version": 80036, **BASE, "setting.key_buffer_size": 8 * MIB})
    each = len(memory.EACH) * MIB
    assert found["server.memory_planned_bytes"].value == GIB + 8 * MIB + 100 * each
    assert found["server.files_needed"].value == 100 + 2 * 2000 + 10
    assert found["server.uses_page_cache"].value is False


def test_a_cluster_counts_its_ring_buffer() -> None:
    options = "base_dir = /var/lib/mysql/; gcache.size = 2G; gcs.fc_limit = 16"
    cluster = facts_of({**BASE, "setting.wsrep_on": "ON", "setting.wsrep_provider_options": options})
    assert memory.planned_bytes(cluster) - memory.planned_bytes(facts_of(BASE)) == 2 * GIB


def test_the_pool_gets_what_the_load_leaves() -> None:
    seen = {"server.memory_limit_bytes": 16 * GIB, "server.cluster_bytes": 100 * GIB}
    few = memory.room_bytes(facts_of({**BASE, **seen}))
    many = memory.room_bytes(facts_of({**BASE, **seen, "setting.max_connections": 1000}))
    assert few - many == 900 * len(memory.EACH) * MIB
    crowd = memory.room_bytes(facts_of({**BASE, **seen, "setting.max_connections": 100_000}))
    assert crowd == 16 * GIB * memory.POOL_PART_MIN, "then it is the connections that are too many"


@pytest.mark.parametrize(
    ("version", "series", "known", "faults"),
    [
        (80029, "mysql 8.0", True, 1),
        (80036, "mysql 8.0", True, 0),
        (80038, "mysql 8.0", True, 1),
        (1101119, "mariadb 10.11", True, 0),
        (1080029, "mariadb 8.0", False, 0),
    ],
)
def test_what_is_known_of_a_version(version: int, series: str, known: bool, faults: int) -> None:
    found = derived({"server.version": version})
    assert found["server.series"].value == series
    assert bool(found["server.end_of_life_unix_s"].unknown) is not known
    assert found["server.faults_count"].value == faults


def test_settings_that_somebody_chose_and_that_go() -> None:
    chosen = {"server.version": 80036, "setting.innodb_log_files_in_group": "4"}
    assert "innodb_redo_log_capacity" in str(derived(chosen)["server.deprecated_examples"].value)
    usual = {"server.version": 80036, "setting.innodb_log_files_in_group": "2"}
    assert derived(usual)["server.deprecated_count"].value == 0
    before = {"server.version": 80012, "setting.innodb_log_files_in_group": "4"}
    assert derived(before)["server.deprecated_count"].value == 0


def test_a_password_that_everybody_can_read(tmp_path: Path) -> None:
    fact = secret_in(tmp_path, "[client]\nuser = x\npassword = 'hush'\n", 0o644)
    assert (fact.name, fact.value) == (NAME, "/etc/mysql/conf.d/x.cnf")
    assert "hush" not in repr(fact)


@pytest.mark.parametrize(
    ("text", "mode"),
    [("[client]\npassword = hush\n", 0o640), ("[client]\n# password = hush\npassword =\nuser = x\n", 0o644)],
    ids=["closed", "none in it"],
)
def test_a_password_that_nobody_can_read(tmp_path: Path, text: str, mode: int) -> None:
    fact = secret_in(tmp_path, text, mode)
    assert (fact.value, fact.unknown) == ("", "")


def test_without_option_files_nothing_is_well(tmp_path: Path) -> None:
    (fact,) = read_files(tmp_path, Facts(()))
    assert fact.unknown


def test_the_administrators_option_file_is_where_the_list_of_users_says(tmp_path: Path) -> None:
    for folder in ("etc", "srv", "srv/admin"):
        (tmp_path / folder).mkdir(mode=0o755)
    (tmp_path / "etc/passwd").write_text("root:x:0:0:root:/srv/admin:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n")
    file = tmp_path / "srv/admin/.my.cnf"
    file.write_text("[client]\npassword = secret\n")
    for mode, found in ((0o644, "/srv/admin/.my.cnf"), (0o600, "")):
        file.chmod(mode)
        (fact,) = read_files(tmp_path, Facts(()))
        assert (fact.value, fact.unknown) == (found, "")
