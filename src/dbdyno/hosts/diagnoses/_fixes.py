"""Changes of the kernel's settings as fixes, for all diagnoses of this folder."""

from __future__ import annotations

from dbdyno.model.facts import Facts
from dbdyno.model.finding import Fix


def sysctl(facts: Facts, key: str, value: int | str) -> Fix:
    """A kernel setting such as `vm.dirty_bytes`, now and after the next boot."""
    known = facts.find("host." + key.rpartition(".")[2])
    before = "" if known is None or known.unknown else str(known.value)
    return Fix(
        kind="sysctl",
        name=key,
        value=str(value),
        before=before,
        live=f"sysctl -w {key}={value}",
        file="/etc/sysctl.d/90-database.conf",
        line=f"{key} = {value}",
        undo=f"sysctl -w {key}={before}" if before else "",
        fact="host." + key.rpartition(".")[2],
    )
