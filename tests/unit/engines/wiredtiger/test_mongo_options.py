"""mongod.conf is read and changed with everything else in it kept; URLs; defaults; the contract."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.check.contract import judge_contract, present_level
from dbdyno.check.server import derived
from dbdyno.engines.wiredtiger import conffile, facts, fixfile, formulas
from dbdyno.engines.wiredtiger.engine import ENGINE
from dbdyno.engines.wiredtiger.target import parse
from dbdyno.model.contract import Contract
from dbdyno.model.errors import UsageError
from dbdyno.model.fact import Fact, Scalar
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Verdict
from dbdyno.model.knob import Level
from dbdyno.model.machine import DiskClass, Machine

CONF = (Path(__file__).resolve().parents[3] / "fixtures" / "wiredtiger" / "mongod.conf").read_text()
SAFE: dict[str, Scalar] = {
    "server.version": 70028,
    "server.role": "primary",
    "server.options_seen": True,
    "setting.replication.replSetName": "rs0",
    "setting.defaultWriteConcern": "majority",
    "setting.writeConcernMajorityJournalDefault": "true",
}


def table(values: dict[str, Scalar]) -> Facts:
    return Facts(derived(facts, [Fact(name=name, value=value) for name, value in values.items()]))


def test_a_change_keeps_all_other_lines() -> None:
    changes = {
        "storage.journal.enabled": "true",
        "storage.wiredTiger.engineConfig.cacheSizeGB": "7.5",
        "net.tls.mode": "requireTLS",
        "replication.replSetName": "rs0",
    }
    text = conffile.merged(CONF, changes)
    before, after = CONF.splitlines(), text.splitlines()
    gone = [line for line in before if line not in after]
    assert gone == ["    enabled: false           # faster, they said", "      cacheSizeGB: 14"]
    assert "    enabled: true  # faster, they said" in after
    options = conffile.options(text)
    assert options == {**conffile.options(CONF), **changes}
    assert after.index("  tls:") < after.index("systemLog:"), "it stands in its own section"
    assert conffile.merged(text, changes) == text, "twice is once"


NAMES = st.lists(st.sampled_from(["storage", "net", "tls", "mode", "a", "b", "engine"]), min_size=1, max_size=3)
# No name may be the beginning of another: a word cannot be a section.
CHANGES = st.dictionaries(
    NAMES.map(lambda path: ".".join([*path, "leaf"])), st.sampled_from(["1", "true", "x y", "7.5"])
)


@given(CHANGES, CHANGES)
def test_what_is_set_is_read_again(first: dict[str, str], second: dict[str, str]) -> None:
    text = conffile.merged(conffile.fragment(first) if first else "", second)
    assert conffile.options(text) == {**first, **second}


@pytest.mark.parametrize("text", ["dbpath = /data\nport = 1\n", "net: {port: 1}\n", "a: &x\n  b: 1\n"])
def test_a_file_that_is_not_edited_is_left_alone(text: str) -> None:
    with pytest.raises(ValueError, match="it "):
        conffile.merged(text, {"net.port": "2"})
    made = fixfile.merged_files({"net.port": "2"}, Facts([Fact(name="server.config_text", value=text)]))
    assert list(made) == ["mongod.conf.not-made.txt"]


def test_fixed_files() -> None:
    name, text = fixfile.settings_file(["net.tls.mode: requireTLS  # MONGO061: disabled before", "net.port: 1"])
    assert name == "dyno-mongod.yaml"
    assert conffile.options(text) == {"net.tls.mode": "requireTLS", "net.port": "1"}
    assert "# net.tls.mode: MONGO061: disabled before" in text
    made = fixfile.merged_files({"net.port": "1"}, Facts([Fact(name="server.config_text", value=CONF)]))
    assert conffile.options(made["mongod.conf"])["net.port"] == "1"
    hidden = Facts([Fact(name="server.config_text", value="net:\n  tls:\n    certificateKeyFilePassword: ***\n")])
    assert list(fixfile.merged_files({"net.port": "1"}, hidden)) == ["mongod.conf.not-made.txt"]


def test_urls() -> None:
    target, secret = parse("mongodb://ann:p%40ss@db1:27018/?authSource=users&replicaSet=rs0", {})
    assert (target.host, target.port, target.user, target.database) == ("db1", 27018, "ann", "users")
    assert secret.reveal() == "p@ss"
    assert target.machine == "unknown"
    target, secret = parse("mongodb://localhost", {"MONGODB_USER": "bo", "MONGODB_PASSWORD": "x"})
    assert (target.port, target.user, target.database, target.machine) == (27017, "bo", "admin", "local")
    assert secret.reveal() == "x"
    target, _ = parse("mongodb+srv://cluster.example.com/shop", {})
    assert (target.host, target.port, target.tls) == ("cluster.example.com", 0, "verify-full")
    assert parse("mongodb://h/?tls=true&tlsInsecure=true", {})[0].tls == "require"
    assert parse("mongodb://[::1]:27019", {})[0].host == "::1"
    assert parse("mongodb://%2Ftmp%2Fmongodb-27017.sock", {})[0].host == "/tmp/mongodb-27017.sock"


@pytest.mark.parametrize(
    "url",
    [
        "mongodb://a,b/",
        "mongodb://h:0",
        "mongodb://h:port",
        "mongodb://h/?what=1",
        "mongodb://h/?tls=maybe",
        "mongodb://h/?authMechanism=MONGODB-X509",
        "mongodb+srv://host:27017",
        "mongodb://u:secret:x@h",
        "mongodb://h/?tlsCAFile=/nowhere.pem",
        "http://h",
    ],
)
def test_a_wrong_url_says_what_is_wrong_and_no_password(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(url, {})
    assert "secret" not in str(caught.value)


def test_a_safe_configuration_keeps_the_contract() -> None:
    seen = table(SAFE)
    assert present_level(ENGINE, seen) == (Level.L3, ())
    assert [one.verdict for one in judge_contract(ENGINE, seen, Contract())] == [Verdict.PASS]


@pytest.mark.parametrize(
    ("name", "value", "level"),
    [
        ("setting.defaultWriteConcern", "1", Level.L2),
        ("setting.defaultWriteConcern", "0", Level.L2),
        ("setting.defaultWriteConcern", "majority,j:false", Level.L2),
        ("setting.writeConcernMajorityJournalDefault", "false", Level.L2),
        ("setting.storage.journal.enabled", "false", Level.L2),
        ("setting.storage.engine", "inMemory", Level.L0),
        ("setting.storage.syncPeriodSecs", "0", Level.L0),
    ],
)
def test_every_row_of_the_deny_table_breaks_the_contract(name: str, value: str, level: Level) -> None:
    seen = table({**SAFE, name: value})
    assert present_level(ENGINE, seen)[0] == level
    assert any(one.verdict is Verdict.FAIL for one in judge_contract(ENGINE, seen, Contract()))


def test_a_single_server_has_no_log_and_its_majority_is_itself() -> None:
    values = {name: value for name, value in SAFE.items() if "setting." not in name}
    seen = table({**values, "server.role": "standalone"})
    assert present_level(ENGINE, seen) == (Level.L2, ("pitr", "replication"))


@pytest.mark.parametrize("missing", ["server.options_seen", "setting.writeConcernMajorityJournalDefault"])
def test_what_was_not_seen_keeps_no_contract(missing: str) -> None:
    seen = table({name: value for name, value in SAFE.items() if name != missing})
    assert present_level(ENGINE, seen)[0] is None
    assert all(one.verdict is not Verdict.PASS for one in judge_contract(ENGINE, seen, Contract()))


@pytest.mark.parametrize(
    ("version", "voting", "bearing", "arbiters", "concern"),
    [(40200, 3, 3, 0, "1"), (50000, 3, 3, 0, "majority"), (70000, 3, 2, 1, "1"), (70000, 5, 4, 1, "majority")],
)
def test_the_implied_write_concern(version: int, voting: int, bearing: int, arbiters: int, concern: str) -> None:
    members: dict[str, Scalar] = {
        "replication.voting_count": voting,
        "replication.data_voting_count": bearing,
        "replication.arbiters_count": arbiters,
    }
    values = {name: value for name, value in SAFE.items() if name != "setting.defaultWriteConcern"}
    assert table({**values, **members, "server.version": version}).text("setting.defaultWriteConcern") == concern


def test_an_option_that_is_gone_is_told_with_its_successor() -> None:
    seen = table({**SAFE, "setting.storage.mmapv1.journal.commitIntervalMs": "50"})
    assert seen.number("server.deprecated_count") == 1
    assert "storage.journal.commitIntervalMs" in seen.text("server.deprecated_examples")
    assert table(SAFE).number("server.deprecated_count") == 0


def test_an_imitation_has_no_defaults() -> None:
    assert not table({**SAFE, "server.imitation": True}).has("setting.storage.journal.enabled")


def test_the_starting_configuration() -> None:
    machine = Machine(memory_bytes=17 << 30, cores=8, disk=DiskClass.SSD, connections=400)
    advice = ENGINE.advice(machine, 60000)[0]
    assert set(advice.reasons) == set(advice.assignment)
    options = conffile.options(formulas.render(advice.assignment)[0])
    assert options["storage.wiredTiger.engineConfig.cacheSizeGB"] == "8"
    assert options["storage.journal.enabled"] == "true"
    assert "storage.journal.enabled" not in ENGINE.advice(machine, 80000)[0].assignment
