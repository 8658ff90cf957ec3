"""The change of an option or a parameter as a fix, and other words that all rules of this folder need."""

from __future__ import annotations

from dbdyno.engines.wiredtiger.formulas import live_command
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Fix, Needs

MIB, GIB = 1 << 20, 1 << 30
CONFIG_FILE = "/etc/mongod.conf"


def setting(facts: Facts, name: str, value: str | int | float) -> Fix:
    """The fix that gives an option of mongod.conf, or a parameter, another value."""
    before = facts.text(f"setting.{name}") if facts.has(f"setting.{name}") else ""
    file = facts.find("server.config_file")
    live = live_command(name, value)
    return Fix(
        kind="setting",
        name=name,
        value=str(value),
        before=before,
        live=live,
        file=str(file.value) if file and not file.unknown and file.value else CONFIG_FILE,
        line=f"{name}: {value}",
        needs=Needs.NOTHING if live else Needs.RESTART,
        undo=live_command(name, before)
        if live and before
        else f"// give {name} its old value in the file, then restart",
    )


def by_hand(name: str, command: str, *, undo: str = "", fact: str = "", value: str = "") -> Fix:
    """The fix that a person has to look at first: a command as it would be typed into the shell."""
    return Fix(kind="statement", name=name, live=command, needs=Needs.PERSON, undo=undo, fact=fact, value=value)


def in_set(facts: Facts) -> bool:
    """Whether it is a member of a replica set that holds data."""
    return facts.text("server.role") in ("primary", "replica")


def holds_data(facts: Facts) -> bool:
    """Whether it stores anything: a router and an arbiter do not."""
    return facts.text("server.role") not in ("router", "arbiter")


def on_wiredtiger(facts: Facts) -> bool:
    """Whether WiredTiger stores the data, as far as the server or its options tell."""
    if facts.has("server.storage_engine"):
        return facts.text("server.storage_engine") == "wiredTiger"
    return facts.text("setting.storage.engine") == "wiredTiger"


def version(facts: Facts) -> int:
    return int(facts.number("server.version"))


def remote(facts: Facts) -> bool:
    """Whether other machines can reach the port."""
    near = ("", "localhost", "127.0.0.1", "::1")
    words = facts.text("setting.net.bindIp").split(",")
    return facts.flag("setting.net.bindIpAll") or any(
        word.strip() not in near and not word.strip().startswith("/") for word in words
    )


def guarded(facts: Facts) -> bool:
    """Whether users have to prove who they are: authorisation, or a key of the cluster, which implies it."""
    word, key = facts.text("setting.security.authorization"), facts.text("setting.security.keyFile")
    return word == "enabled" or key != ""
