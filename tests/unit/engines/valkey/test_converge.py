"""Advice for Valkey and Redis converges and does not contradict itself: for any configuration and any machine, all
settings that the rules want are wanted once, and after they are made none is wanted again."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1]))
from convergence import require_convergence, wanted

from dbdyno.check.book import engine_rules
from dbdyno.check.contract import guards_of
from dbdyno.engines.registry import checkable_named
from dbdyno.engines.valkey import conffile
from dbdyno.engines.valkey.facts import derive
from dbdyno.engines.valkey.formulas import advice
from dbdyno.model.fact import Fact, Scalar
from dbdyno.model.facts import Facts
from dbdyno.model.guard import lacking, level_of
from dbdyno.model.knob import Level
from dbdyno.model.machine import Machine

RULES = engine_rules("valkey")
ENGINE = checkable_named("valkey")
MIB, GIB, TIB = 1 << 20, 1 << 30, 1 << 40
SWITCH = st.sampled_from(["yes", "no"])
LIMIT = st.sampled_from(["0 0 0", "268435456 67108864 60", "1048576 0 0"])
SETTINGS: dict[str, st.SearchStrategy[Scalar]] = {
    "maxmemory": st.sampled_from([0, MIB, GIB, 20 * GIB, TIB]),
    "maxmemory-policy": st.sampled_from(["noeviction", "allkeys-lru", "allkeys-lfu", "volatile-ttl", "volatile-lru"]),
    "save": st.sampled_from(["", "3600 1", "3600 1 300 100 60 10000"]),
    "appendonly": SWITCH,
    "appendfsync": st.sampled_from(["always", "everysec", "no"]),
    "no-appendfsync-on-rewrite": SWITCH,
    "stop-writes-on-bgsave-error": SWITCH,
    "rdbchecksum": SWITCH,
    "aof-timestamp-enabled": SWITCH,
    "repl-backlog-size": st.sampled_from([16384, MIB, GIB]),
    "replica-read-only": SWITCH,
    "repl-timeout": st.integers(1, 300),
    "repl-ping-replica-period": st.integers(1, 100),
    "client-output-buffer-limit": st.builds(
        "normal 0 0 0 {} {} pubsub {}".format, st.sampled_from(["slave", "replica"]), LIMIT, LIMIT
    ),
    "timeout": st.sampled_from([0, 300]),
    "tcp-keepalive": st.sampled_from([0, 300]),
    "maxclients": st.integers(1, 100_000),
    "io-threads": st.integers(1, 128),
    "hz": st.integers(1, 500),
    "activedefrag": SWITCH,
    "lazyfree-lazy-eviction": SWITCH,
    "slowlog-log-slower-than": st.sampled_from([-1, 0, 10000]),
    "slowlog-max-len": st.sampled_from([0, 128]),
    "latency-monitor-threshold": st.sampled_from([0, 100]),
    "protected-mode": SWITCH,
    "enable-debug-command": st.sampled_from(["yes", "no", "local"]),
    "enable-module-command": st.sampled_from(["yes", "no"]),
    "enable-protected-configs": st.sampled_from(["yes", "no"]),
}  # fmt: skip
SEEN: dict[str, st.SearchStrategy[Scalar]] = {
    "server.version": st.sampled_from([60020, 70015, 1080104]),
    "server.role": st.sampled_from(["primary", "replica"]),
    "server.settings_complete": st.just(True),
    "server.memory_limit_bytes": st.integers(256 * MIB, TIB),
    "host.cores": st.integers(1, 128),
    "status.used_memory": st.integers(MIB, 2 * TIB),
    "status.rdb_last_bgsave_status": st.sampled_from(["ok", "err"]),
    "replication.replicas_count": st.integers(0, 3),
    "status.replicated_bytes_per_s_mean": st.floats(0, 500 * MIB),
}
WORLD = st.fixed_dictionaries(
    {}, optional={**{f"setting.{name}": value for name, value in SETTINGS.items()}, **SEEN}
)  # fmt: skip


def changes(world: dict[str, Scalar]) -> dict[str, set[str]]:
    return wanted(RULES, derive, world)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(WORLD)
def test_advice_is_taken_once_and_is_of_one_mind(world: dict[str, Scalar]) -> None:
    require_convergence(RULES, derive, world)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(WORLD)
def test_no_advice_weakens_durability(world: dict[str, Scalar]) -> None:
    facts = Facts([Fact(name="server.version", value=70015)])
    guards = guards_of(ENGINE, facts)
    before = {name.removeprefix("setting."): str(value) for name, value in world.items() if name.startswith("setting.")}
    after = before | {name: min(values) for name, values in changes(world).items()}
    assert level_of(after, guards) >= level_of(before, guards)


def test_the_property_can_fail() -> None:
    """The negative control: a world with everything wrong has much advice."""
    world: dict[str, Scalar] = {"setting.appendonly": "yes", "setting.appendfsync": "no", "setting.hz": 400}
    assert changes(world) == {"appendfsync": {"everysec"}, "hz": {"10"}}


def test_the_denied_never_pass_as_l3() -> None:
    guards = guards_of(ENGINE, Facts([Fact(name="server.version", value=1080000)]))
    safe = {"appendonly": "yes", "appendfsync": "always", "no-appendfsync-on-rewrite": "no", "maxmemory": "1",
            "maxmemory-policy": "noeviction"}  # fmt: skip
    assert level_of(safe, guards) is Level.L3
    denied = {"appendonly": ("no", Level.L0), "appendfsync": ("everysec", Level.L2), "no-appendfsync-on-rewrite":
              ("yes", Level.L1), "maxmemory-policy": ("allkeys-lfu", Level.L0)}  # fmt: skip
    for name, (value, level) in denied.items():
        assert level_of(safe | {name: value}, guards) is level, name
    assert level_of(safe | {"appendfsync": "a word that nobody knows"}, guards) is Level.L1
    assert level_of(safe | {"maxmemory": "0", "maxmemory-policy": "allkeys-lfu"}, guards) is Level.L3


def test_a_moment_is_promised_only_where_the_file_has_time_stamps() -> None:
    safe = {"appendonly": "yes", "appendfsync": "always", "aof-timestamp-enabled": "yes"}
    for version, stamps, lacks in (
        (70015, "yes", []),
        (70015, "no", ["pitr"]),
        (60214, "yes", ["pitr"]),
        (1080104, "yes", []),
    ):
        guards = guards_of(ENGINE, Facts([Fact(name="server.version", value=version)]))
        assert lacking(safe | {"aof-timestamp-enabled": stamps}, guards) == lacks


def test_the_formula_keeps_the_contract_and_hears_no_advice() -> None:
    machine = Machine(memory_bytes=16 * GIB, cores=8, disk="ssd")  # type: ignore[arg-type]
    for version in (50000, 60200, 70015, 1080104):
        for formula in advice(machine, version):
            written = {name: str(value) for name, value in formula.assignment.items()}
            guards = guards_of(ENGINE, Facts([Fact(name="server.version", value=version)]))
            assert level_of(written, guards) is Level.L3
            world: dict[str, Scalar] = {f"setting.{name}": value for name, value in written.items()}
            seen: dict[str, Scalar] = {
                "server.memory_limit_bytes": 16 * GIB,
                "host.cores": 8,
                "status.used_memory": MIB,
            }
            assert not changes({**world, **seen, "server.version": version})
            assert all(conffile.line_of(name, value) for name, value in written.items())
