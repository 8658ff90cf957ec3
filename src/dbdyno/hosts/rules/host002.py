"""HOST002: too much unwritten data may pile up in the kernel

What it checks: what vm.dirty_bytes or vm.dirty_ratio allows, in bytes of this machine's memory: at most 4 GiB, and 1
GiB where other large programs share the machine.

Why it matters: up to that limit the kernel keeps what is written to files. When the limit is reached every writer
stops until the disk has caught up, and the memory is missing elsewhere: on a machine with 48 GB a ratio of 20 let a
backup fill 10 GB, and the server was swapped out.

Remedy: set vm.dirty_bytes, which does not grow with memory. Setting it makes the ratio void.

Risk: programs that write large files reach their limit sooner and are slowed down to the speed of the disk earlier.

References: 15 and 5 percent from 64 GB on, 10 and 3 in another vendor's profile (2016), against 2 percent (2013): the
first is for a machine that the server has to itself, the last for one that also writes backups. As bytes the two
differ less: here 2 GiB alone, 1 GiB when shared. The ratio is one of the memory that is available, so the bytes said
here are the most that it can be. Kernel, admin-guide/sysctl/vm.rst.
"""

from dbdyno.hosts.rules._dirty import DIRTY, limit_bytes, most_bytes
from dbdyno.hosts.rules._sizes import GIB, size
from dbdyno.hosts.rules._sources import cite
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule

WANTED = (DIRTY,)


def check(facts: Facts) -> Finding | None:
    now, most = limit_bytes(facts, "vm.dirty"), most_bytes(facts)
    if now <= most:
        return None
    shared = facts.number("host.neighbours_bytes") > 0
    why = f"other programs hold {size(facts.number('host.neighbours_bytes'))}" if shared else "the server has it alone"
    return Finding(
        says=f"Up to {size(now)} may wait in memory to be written, more than {size(most)} ({why}).",
        severity=Severity.WARNING if (now > 4 * GIB and shared) or now > 16 * GIB else Severity.ADVICE,
        fixes=(DIRTY.fix(facts),),
    )


RULE = Rule(
    id="HOST002",
    title="Unwritten data in the kernel is bounded",
    topic="memory",
    check=check,
    source=cite("linux-2016", "swap-2013", "kernel, admin-guide/sysctl/vm.rst (2024)"),
    good={"host.sysctl.vm.dirty_bytes": 0, "host.sysctl.vm.dirty_ratio": 20, "host.mem.memory_bytes": 8 * GIB,
          "host.neighbours_bytes": 0},
    bad={"host.sysctl.vm.dirty_bytes": 0, "host.sysctl.vm.dirty_ratio": 20, "host.mem.memory_bytes": 48 * GIB,
         "host.neighbours_bytes": 28 * GIB},
)  # fmt: skip
