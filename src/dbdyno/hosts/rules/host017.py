"""HOST017: the cache of ZFS and the server's cache compete

What it checks: where the data lies on ZFS, the most that its cache may take and the server's cache fit together into
90 percent of memory.

Why it matters: the cache of ZFS takes half of memory and more on its own, and gives it back slowly when the server
needs it: then the server is swapped out or killed.

Remedy: limit zfs_arc_max, in /etc/modprobe.d as well: what the server's cache leaves.

Risk: less of the data that is read is found in memory.

References: the article of 2021 gives the cache 2 GB of 32 GB and the server 26 GB. OpenZFS manual, zfs(4) (2024).
"""

from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sizes import GIB, size
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

_SHARE = 0.9
_ARC_DEFAULT = 0.5


def check(facts: Facts) -> Finding | None:
    memory, cache = facts.number("host.mem.memory_bytes"), facts.number("server.cache_bytes")
    most = facts.number("host.zfs_cache_bytes_max") or _ARC_DEFAULT * memory
    if most + cache <= _SHARE * memory:
        return None
    room = max(GIB, int(_SHARE * memory - cache))
    return Finding(
        says=f"The cache of ZFS may take {size(most)} beside the server's {size(cache)}, of {size(memory)}.",
        severity=Severity.WARNING,
        fixes=(manual("zfs_arc_max", str(room), undo="set zfs_arc_max back"),),
        verify="cat /sys/module/zfs/parameters/zfs_arc_max",
    )


RULE = Rule(
    id="HOST017",
    title="The cache of ZFS leaves room for the server's",
    topic="memory",
    check=check,
    applies=lambda facts: facts.text("host.data.filesystem") == "zfs",
    source=cite("zfs-2021", "OpenZFS manual, zfs(4) (2024)"),
    good={"host.data.filesystem": "zfs", "host.mem.memory_bytes": 32 * GIB, "server.cache_bytes": 20 * GIB,
          "host.zfs_cache_bytes_max": 2 * GIB},
    bad={"host.data.filesystem": "zfs", "host.mem.memory_bytes": 32 * GIB, "server.cache_bytes": 26 * GIB,
         "host.zfs_cache_bytes_max": 0},
)  # fmt: skip
