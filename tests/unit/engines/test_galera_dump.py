"""A node's saved variables and status are judged by the rules about clusters; a server without a cluster is not."""

from __future__ import annotations

import pytest

from dbdyno.check.book import engine_rules
from dbdyno.check.judge import judge_all
from dbdyno.check.server import derived
from dbdyno.engines._mysql.dumps import parse
from dbdyno.engines.innodb import facts
from dbdyno.model.fact import Fact
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Verdict

RULES = [entry for entry in engine_rules("innodb") if entry.rule.topic == "cluster"]
VARIABLES = """Variable_name\tValue
version\t10.11.19-MariaDB
wsrep_on\tON
wsrep_slave_threads\t{threads}
wsrep_sst_method\tmariabackup
wsrep_desync\tOFF
wsrep_provider_options\tbase_dir = /var/lib/mysql/; gcache.size = {gcache}; gcs.fc_limit = 16; pc.weight = 1;
binlog_format\tROW
innodb_autoinc_lock_mode\t2
slave_preserve_commit_order\tOFF
"""
STATUS = """Variable_name\tValue
Uptime\t864000
wsrep_cluster_status\tPrimary
wsrep_local_state_comment\tSynced
wsrep_cluster_size\t{size}
wsrep_flow_control_paused\t{paused}
wsrep_replicated_bytes\t500000000000
wsrep_received_bytes\t500000000000
wsrep_local_recv_queue_avg\t{queue}
wsrep_cert_deps_distance\t24.5
wsrep_local_cert_failures\t5
wsrep_local_bf_aborts\t3
wsrep_local_commits\t90000000
"""


def failed(**values: object) -> set[str]:
    given = {"threads": 8, "gcache": "8G", "size": 3, "paused": "0.000200", "queue": "0.01", **values}
    found: list[Fact] = []
    for name, text in (("variables.txt", VARIABLES), ("status.txt", STATUS)):
        found += parse(name, text.format(**given))
    verdicts = judge_all(RULES, Facts(derived(facts, found)))[0]
    assert not [one for one in verdicts if one.verdict is Verdict.UNKNOWN], "the dump holds all that they ask"
    return {one.rule for one in verdicts if one.verdict is Verdict.FAIL}


def test_a_healthy_node() -> None:
    assert failed() == set()


@pytest.mark.parametrize(
    ("values", "rules"),
    [
        ({"size": 2}, {"GALERA001"}),
        ({"size": 4}, {"GALERA001"}),
        ({"gcache": "128M"}, {"GALERA002"}),
        ({"threads": 1, "queue": "7.5"}, {"GALERA003"}),
        ({"paused": "0.020000"}, {"GALERA004"}),
        ({"paused": "0.200000"}, {"GALERA004", "MY071"}),
    ],
)
def test_each_fault_is_found_and_no_other(values: dict[str, object], rules: set[str]) -> None:
    assert failed(**values) == rules


def test_a_server_without_a_cluster_is_not_judged() -> None:
    found = [*parse("variables.txt", "Variable_name\tValue\nversion\t10.11.19-MariaDB\nwsrep_on\tOFF\n")]
    assert judge_all(RULES, Facts(derived(facts, found)))[0] == []
