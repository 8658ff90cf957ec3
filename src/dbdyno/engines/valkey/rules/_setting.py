"""The change of a setting as a fix, and what several rules ask."""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.engines.valkey import conffile
from dbdyno.engines.valkey.formulas import CACHE_SHARE, STORE_SHARE
from dbdyno.engines.valkey.names import WAITS_FOR_RESTART
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Fix, Needs
from dbdyno.model.knob import Value

MIB, GIB = 1 << 20, 1 << 30
FORKING_SHARE_MAX, RESTING_SHARE_MAX = 0.75, 0.85
"""Most of the memory that data may take, with and without children that write snapshots."""


def setting(facts: Facts, name: str, value: Value) -> Fix:
    """The fix that gives a setting another value, live and in the file; by a person where only a restart does it."""
    before = facts.text(f"setting.{name}")
    waits = name in WAITS_FOR_RESTART
    return Fix(
        kind="setting",
        name=name,
        value=str(value),
        before=before,
        live="" if waits else conffile.statement_of(name, value),
        file=_file(facts),
        line=conffile.line_of(name, value),
        needs=Needs.PERSON if waits else Needs.NOTHING,
        undo="# put the old line back, then restart" if waits else conffile.statement_of(name, before),
    )


def by_hand(name: str, command: str, *, undo: str = "") -> Fix:
    """The fix that a person has to look at first: a command as it would be typed."""
    return Fix(kind="statement", name=name, live=command, needs=Needs.PERSON, undo=undo)


def _file(facts: Facts) -> str:
    known = facts.find("server.config_file")
    named = str(known.value) if known and not known.unknown else ""
    product = facts.find("server.product")
    return named or ("redis.conf" if product and product.value == "redis" else "valkey.conf")


def memory_bytes(facts: Facts) -> float:
    """The memory that the server may use: its limit where the machine was looked at, else what the server sees."""
    if facts.has("server.memory_limit_bytes"):
        return facts.number("server.memory_limit_bytes")
    return facts.number("status.total_system_memory")


def wanted_bytes(facts: Facts) -> int:
    """`maxmemory` for this memory, in whole MiB."""
    share = STORE_SHARE if forks(facts) else CACHE_SHARE
    return int(memory_bytes(facts) * share) // MIB * MIB


def forks(facts: Facts) -> bool:
    """Whether children write snapshots or the append-only file anew."""
    moments, appends = snapshots(facts), facts.flag("setting.appendonly")
    return bool(moments) or appends


def snapshots(facts: Facts) -> str:
    """The moments of snapshots, empty when there are none."""
    return facts.text("setting.save").strip()


def limits_of(facts: Facts) -> dict[str, tuple[int, int, int]]:
    """Limits of output buffers by class: hard bytes, soft bytes, seconds."""
    return conffile.limits_of(facts.text("setting.client-output-buffer-limit"))


def limits_text(facts: Facts, limits: Mapping[str, tuple[int, int, int]]) -> str:
    """The same as the server writes it: the replicas' class by the name that it has here."""
    replica = "slave" if "slave" in facts.text("setting.client-output-buffer-limit").split() else "replica"
    return " ".join(
        f"{replica if kind == 'replica' else kind} {hard} {soft} {seconds}"
        for kind, (hard, soft, seconds) in limits.items()
    )


def exists(facts: Facts, name: str) -> bool:
    """Whether the server has a setting. Where not all were visible, an absent one counts as there: then the rule says
    unknown and not well."""
    if facts.has(f"setting.{name}"):
        return True
    return not (facts.has("server.settings_complete") and facts.flag("server.settings_complete"))


def protected(facts: Facts) -> bool:
    """Whether the server lets only its own machine in, since nobody has to give a password (protected mode)."""
    return facts.flag("setting.protected-mode") and open_default(facts)


def open_default(facts: Facts) -> bool:
    """Whether everybody who connects is the user `default`, without a password."""
    return facts.flag("security.default_on") and facts.flag("security.default_nopass")
