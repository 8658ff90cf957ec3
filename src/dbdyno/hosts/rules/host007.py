"""HOST007: memory may be refused to a server that forks, or promised without end

What it checks: vm.overcommit_memory is 1 where the server forks to save a snapshot of its memory; elsewhere it is not
1 and, when it is 2, at least a tenth of the limit is left to be promised.

Why it matters: a fork needs the promise of as much memory again, though almost nothing of it is copied; under 0 or 2
the kernel may refuse it and the snapshot fails. For other servers 1 means that a runaway allocation is granted and
ends in a kill instead of an error. Under 2 a limit that is nearly used up refuses the next connection its memory.

Remedy: 1 for a server that forks to save; the kernel's 0 for others; under 2 raise vm.overcommit_ratio (by hand: it
depends on the swap space).

Risk: 1 takes away the early refusal: keep the server's own memory limit below the machine's.

References: manuals of the in-memory servers ask for 1; a database manual of 2024 prefers 2 against kills: both are
right, each for its kind of server, so this asks what the server does. Kernel, mm/overcommit-accounting.rst.
"""

from dbdyno.hosts.rules._fixes import manual
from dbdyno.hosts.rules._sizes import GIB, size
from dbdyno.hosts.rules._sources import cite
from dbdyno.hosts.rules._sysctl import Wanted
from dbdyno.hosts.tree import ABSENT
from dbdyno.model.fact import Scalar
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding, Severity
from dbdyno.model.rule import Rule


def forks(facts: Facts) -> bool:
    return facts.has("server.forks_for_snapshot") and facts.flag("server.forks_for_snapshot")


def _fits(facts: Facts, value: Scalar) -> bool:
    return float(str(value)) in ((1,) if forks(facts) else (0, 2))


WANTED = (Wanted("vm.overcommit_memory", _fits, lambda facts: 1 if forks(facts) else 0),)


def check(facts: Facts) -> Finding | None:
    mode = facts.number("host.sysctl.vm.overcommit_memory")
    limit, committed = facts.value("host.mem.commit_limit_bytes"), facts.number("host.mem.committed_bytes")
    fixes = (WANTED[0].fix(facts),)
    if not _fits(facts, mode):
        if forks(facts):
            says = f"vm.overcommit_memory is {mode:g}: the kernel may refuse the fork that saves the server's memory."
            return Finding(says=says, severity=Severity.WARNING, fixes=fixes)
        says = "vm.overcommit_memory is 1: the kernel promises memory without end, and kills when it is used."
        return Finding(says=says, severity=Severity.ADVICE, fixes=fixes)
    if mode == 2 and limit != ABSENT and committed > 0.9 * float(str(limit)):
        says = f"{size(committed)} of the {size(float(str(limit)))} that may be promised are promised already."
        return Finding(says=says, severity=Severity.WARNING, fixes=(manual("raise vm.overcommit_ratio or add swap"),))
    return None


RULE = Rule(
    id="HOST007",
    title="Memory is promised as this server needs it",
    topic="memory",
    check=check,
    source=cite("forks", "huge-pages", "kernel, mm/overcommit-accounting.rst (2024)"),
    good={"host.sysctl.vm.overcommit_memory": 0, "host.mem.commit_limit_bytes": 8 * GIB,
          "host.mem.committed_bytes": 2 * GIB},
    bad={"host.sysctl.vm.overcommit_memory": 1, "host.mem.commit_limit_bytes": 8 * GIB,
         "host.mem.committed_bytes": 2 * GIB},
)  # fmt: skip
