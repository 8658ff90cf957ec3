"""GALERA003: write sets of others wait for one thread

What it checks: where the receive queue is not empty on the mean, more than one thread applies (wsrep_slave_threads,
wsrep_applier_threads).

Why it matters: one thread cannot keep up with several nodes that write; the queue grows until flow control stops the
cluster.

Remedy: two threads a processor, up to wsrep_cert_deps_distance; foreign keys and tables without a primary key bear
less.

Risk: threads that wait for each other where rows conflict; back to one where applying fails.

References: Galera Cluster manual, Parallel Slave Threads (2023)
"""

from dbdyno.engines._mysql.rules._setting import by_hand, exists
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding
from dbdyno.model.rule import Rule


def check(facts: Facts) -> Finding | None:
    new = "setting.wsrep_applier_threads"
    name = new if facts.has(new) else "setting.wsrep_slave_threads"
    threads, queue = facts.number(name), facts.number("status.wsrep_local_recv_queue_avg")
    room = facts.number("status.wsrep_cert_deps_distance")
    if queue < 1 or threads > 1 or room < 2:
        return None
    short = name.removeprefix("setting.")
    return Finding(
        says=f"{threads:.0f} thread applies; on the mean {queue:.1f} write sets wait; {room:.0f} could go at a time.",
        fixes=(by_hand(short, f"SET GLOBAL {short} = {min(16, int(room))};", undo=f"SET GLOBAL {short} = 1;"),),
    )


RULE = Rule(
    id="GALERA003",
    title="Write sets are applied in parallel",
    topic="cluster",
    check=check,
    source="Galera Cluster manual, Setting Parallel Slave Threads (2023)",
    applies=lambda facts: exists(facts, "wsrep_on") and facts.flag("setting.wsrep_on"),
    good={
        "setting.wsrep_on": "ON",
        "setting.wsrep_slave_threads": 1,
        "status.wsrep_local_recv_queue_avg": 0.01,
        "status.wsrep_cert_deps_distance": 20.0,
    },
    bad={
        "setting.wsrep_on": "ON",
        "setting.wsrep_slave_threads": 1,
        "status.wsrep_local_recv_queue_avg": 5.5,
        "status.wsrep_cert_deps_distance": 20.0,
    },
)
