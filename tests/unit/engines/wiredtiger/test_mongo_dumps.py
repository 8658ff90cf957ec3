"""What people send of a MongoDB server is recognised and read, in each of its forms."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.check.book import engine_rules
from dbdyno.check.judge import judge_all
from dbdyno.check.server import derived
from dbdyno.engines.wiredtiger import dump, facts, printed
from dbdyno.model.fact import Fact
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Verdict

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "wiredtiger"
NOW = Fact(name="check.unix_s", value=1.735e9)
RULES = engine_rules("wiredtiger")


def read(*names: str) -> Facts:
    found: list[Fact] = [NOW]
    for name in names:
        text = (FIXTURES / name).read_text()
        assert dump.recognises(name, text[:65_536]), name
        found += dump.parse(name, text)
    return Facts(derived(facts, found))


def verdicts(table: Facts) -> dict[str, Verdict]:
    return {finding.rule: finding.verdict for finding in judge_all(RULES, table)[0]}


def test_a_real_answer_of_serverstatus() -> None:
    table = read("serverStatus-4.2.8.json")
    assert table.number("server.version") == 40208
    assert table.text("server.role") == "primary"
    assert table.text("server.storage_engine") == "wiredTiger"
    assert table.number("status.wiredTiger.cache.maximum_bytes_configured") > 1 << 28
    assert (
        table.number("server.connections_max") == table.number("server.files_needed")
        or table.number("server.files_needed") == 64_000
    )
    found = verdicts(table)
    assert found["MONGO012"] is found["MONGO013"] is found["MONGO020"] is found["MONGO025"] is Verdict.PASS
    assert found["MONGO070"] is Verdict.FAIL, "4.2 is past its end"
    assert found["MONGO060"] is Verdict.UNKNOWN, "no options were seen"


def test_a_real_replica_set() -> None:
    table = read("serverStatus-4.2.8.json", "replSetGetStatus-4.2.8.json")
    assert table.number("replication.ill_count") == 0
    assert table.flag("replication.has_primary")
    assert table.number("replication.lag_s_max") == 0
    assert verdicts(table)["MONGO041"] is Verdict.PASS


def test_a_secondary_that_lags_is_found() -> None:
    text = (FIXTURES / "replSetGetStatus-4.2.8.json").read_text()
    behind = text.replace('"optimeDate": "2020-09-10T14:39:47-03:00"', '"optimeDate": "2020-09-10T14:29:47-03:00"', 2)
    document = printed.document(behind)
    document["members"][0]["optimeDate"] = "2020-09-10T17:39:47Z"
    table = Facts(fact for fact in facts.documents.facts_of("replSetGetStatus", document))
    assert table.number("replication.lag_s_max") == 600


def test_what_the_shell_prints() -> None:
    table = read("shell-7.0.txt")
    assert table.text("server.version_text") == "7.0.12"
    assert table.number("server.pid") == 4242
    found = verdicts(table)
    failed = {rule for rule, verdict in found.items() if verdict is Verdict.FAIL}
    assert failed == {"MONGO012", "MONGO013", "MONGO014", "MONGO020", "MONGO022", "MONGO071"}


def test_extended_json_of_many_answers_and_the_contract() -> None:
    table = read("options-8.0.json")
    assert table.flag("server.settings_complete")
    assert table.text("setting.defaultWriteConcern") == "majority"
    assert table.number("setting.net.port") == 27017
    found = verdicts(table)
    assert {rule for rule, verdict in found.items() if verdict is Verdict.FAIL} == set()
    assert found["MONGO020"] is found["MONGO060"] is found["MONGO043"] is found["MONGO002"] is Verdict.PASS
    assert "MONGO001" not in found, "8.0 always has a journal"


def test_a_configuration_file() -> None:
    table = read("mongod.conf")
    assert table.text("server.data_directory") == "/var/lib/mongodb"
    assert table.text("setting.systemLog.path") == "/var/log/mongodb/mongod #1.log"
    assert not table.flag("server.settings_complete"), "the command line may say something else"
    failed = {rule for rule, verdict in verdicts(table).items() if verdict is Verdict.FAIL}
    assert {"MONGO058", "MONGO060", "MONGO061"} <= failed


def test_a_summary() -> None:
    table = read("summary.txt")
    assert table.number("server.version") == 40406
    assert table.text("setting.security.authorization") == "disabled"
    found = verdicts(table)
    assert found["MONGO071"] is found["MONGO060"] is Verdict.FAIL


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("my.cnf", "[mysqld]\nport = 3306\n"),
        ("pg.csv", "name,setting,unit\nport,5432,\n"),
        ("notes.txt", "net: nothing\nother: words\n"),
        ("package.json", '{"name": "app", "dependencies": {}}'),
        ("sysctl.txt", "vm.swappiness = 1\n"),
    ],
)
def test_what_is_of_others_is_left_to_them(name: str, text: str) -> None:
    assert not dump.recognises(name, text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": {"$numberLong": "5"}, "b": {"$date": {"$numberLong": "1000"}}}', {"a": 5, "b": 1.0}),
        ("{ a: NumberLong(5), b: ISODate('1970-01-01T00:00:01Z'), }", {"a": 5, "b": 1.0}),
        ("{ 'a b': -1.5e3, c: [ 1, 2, ], d: new Date(1000), e: undefined }",
         {"a b": -1500.0, "c": [1, 2], "d": 1.0, "e": None}),
        ('{ t: Timestamp({ t: 7, i: 1 }), u: Timestamp(8, 2), o: ObjectId("ab"), r: /a\\/b/i }',
         {"t": 7, "u": 8, "o": "ab", "r": "/a\\/b/i"}),
        ("{ // why\n a: /* how */ true }", {"a": True}),
        ("{a:{b:'it\\'s'}}\r\n", {"a": {"b": "it's"}}),
    ],
)  # fmt: skip
def test_documents_in_all_writings(text: str, value: object) -> None:
    assert printed.document(text) == value


@pytest.mark.parametrize("text", ["", "nothing here", "{a", "{a: }", "{a: 1 b", "[1, 2", "{" * 100_000, '{"a": bad(}'])
def test_what_cannot_be_read_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        printed.document(text)


def test_every_cut_of_a_document_is_read_or_refused() -> None:
    text = (FIXTURES / "shell-7.0.txt").read_text()
    for at in range(0, len(text), 7):
        try:
            dump.parse("cut.txt", text[:at])
        except ValueError:
            continue


def test_the_collecting_script_asks_what_the_reader_reads() -> None:
    script = dump.collect_script()
    assert "mongosh" in script
    assert "MONGODB_URI" in script
    for kind in ("serverStatus", "getCmdLineOpts", "replSetGetConfig"):
        assert f"mongodb/{kind}.json" in script
        assert dump.recognises(f"mongodb/{kind}.json", "{}")
