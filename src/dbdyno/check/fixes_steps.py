"""A fix as steps that can each be done, seen, and taken back: a line of a file, a value of the kernel, a mount …"""

from __future__ import annotations

import re
from collections.abc import Callable

from dbdyno.model.facts import Facts
from dbdyno.model.finding import Fix, Needs
from dbdyno.model.record import Record

HEADER = "# Written by dyno; see fixes.json for the reasons."


class Step(Record, frozen=True, kw_only=True):
    """One change. `kind` says which of the fields mean something."""

    kind: str
    """`line` of a file, `fstab`, `write` to a file of the kernel, `limit`, `remount`, `service`, `command`."""
    path: str = ""
    """File that changes; of `write` one or many (`*`)."""
    pattern: str = ""
    """Of `line`: lines that it takes the place of, a regular expression both here and for grep -E."""
    line: str = ""
    header: str = ""
    """Lines above it in a file that does not have them yet."""
    name: str = ""
    """Limit, mount point, unit; of `write` the ratio that a limit in bytes replaces."""
    value: str = ""
    before: str = ""
    """What was seen when the plan was made; what is seen when it is applied counts for the undo."""
    pid: int = 0
    program: str = ""
    """What the process was called: its number may be another's by now."""
    needs: Needs = Needs.NOTHING
    for_: str = ""
    """What it is done for, in words."""

    @property
    def live(self) -> bool:
        """Whether it changes the running machine rather than a file."""
        return self.kind not in ("line", "fstab")

    @property
    def says(self) -> str:  # noqa: PLR0911 - one for each kind of step
        """The step in one line, as a person would type or write it."""
        match self.kind:
            case "line":
                return f"{self.path}: {self.line or 'no line for what ' + self.for_ + ' replaces'}"
            case "fstab":
                return f"/etc/fstab: {self.value} for {self.name}"
            case "write":
                return f"echo {self.value} > {self.path}"
            case "limit":
                return f"prlimit --pid {self.pid} --{self.name}={self.value}:{self.value}"
            case "remount":
                return f"mount -o remount,{self.value} {self.name}"
            case "service":
                return f"systemctl enable --now {self.name}"
            case _:
                return self.value


def steps_of(fix: Fix, facts: Facts) -> list[Step]:
    """The steps of one fix, those that last first; none for what a person has to do."""
    if fix.needs is Needs.PERSON or fix.kind not in _MAKERS:
        return []
    return _MAKERS[fix.kind](fix, facts)


def _line(fix: Fix, pattern: str, **more: str) -> Step:
    return Step(
        kind="line", path=fix.file, pattern=pattern, line=fix.line, for_=fix.name, needs=fix.needs,
        header=more.get("header", HEADER),
    )  # fmt: skip


def _sysctl(fix: Fix, facts: Facts) -> list[Step]:
    dotted = re.escape(fix.name).replace(r"\.", "[./]").replace(r"\-", "-")
    steps = [_line(fix, rf"[ \t]*-?[ \t]*{dotted}[ \t]*=")]
    replaced = ""
    # Of a limit's two forms only one may stand in a file: the kernel takes the last that it reads.
    if fix.name.startswith("vm.dirty") and fix.name.endswith("_bytes"):
        ratio = facts.find(f"host.sysctl.{fix.name.replace('_bytes', '_ratio')}")
        replaced = str(ratio.value) if ratio and not ratio.unknown else ""
        rival = re.escape(fix.name.replace("_bytes", "_ratio")).replace(r"\.", "[./]")
        steps.insert(0, Step(kind="line", path=fix.file, pattern=rf"[ \t]*-?[ \t]*{rival}[ \t]*=", for_=fix.name))
    path = "/proc/sys/" + fix.name.replace(".", "/")
    return [*steps, Step(kind="write", path=path, name=replaced, value=fix.value, before=fix.before, for_=fix.name)]


def _sysfs(fix: Fix, _: Facts) -> list[Step]:
    write = Step(kind="write", path=fix.name, value=fix.value, before=fix.before, for_=fix.name)
    if not fix.file:
        return [write]
    if "tmpfiles.d" in fix.file:
        return [_line(fix, rf"w[^ \t]*[ \t]+{_literal(fix.name)}[ \t]"), write]
    device, attribute = fix.name.split("/")[3], fix.name.rsplit("/", 1)[-1]
    pattern = rf'[^#]*KERNEL=="{_literal(device)}".*ATTR[{{]queue/{attribute}[}}]='
    return [_line(fix, pattern), write, Step(kind="command", value="udevadm control --reload", for_=fix.name)]


def _limit(fix: Fix, facts: Facts) -> list[Step]:
    steps: list[Step] = []
    if fix.file.endswith(".conf") and ".service.d/" in fix.file:
        name = fix.line.partition("=")[0]
        steps.append(_line(fix, rf"[ \t]*{name}[ \t]*=", header=f"{HEADER}\n[Service]"))
        steps.append(Step(kind="command", value="systemctl daemon-reload", for_=fix.name))
    elif fix.file:
        user = fix.line.split()[0]
        steps.append(_line(fix, rf"{_literal(user)}[ \t]+-[ \t]+{fix.name}[ \t]"))
    if not facts.has("host.server.pid"):
        return steps
    pid = int(facts.number("host.server.pid"))
    program = facts.text("host.server.program") if facts.has("host.server.program") else ""
    if fix.name == "oom_score_adj":
        path = f"/proc/{pid}/oom_score_adj"
        write = Step(
            kind="write", path=path, value=fix.value, before=fix.before, pid=pid, program=program, for_=fix.name
        )
        return [*steps, write]
    return [
        *steps,
        Step(
            program=program,
            kind="limit",
            name=fix.name,
            value=fix.value,
            before=fix.before,
            pid=pid,
            for_=fix.name,
            needs=fix.needs,
        ),
    ]


def _mount(fix: Fix, facts: Facts) -> list[Step]:
    point = fix.name.rsplit(" ", 1)[0]
    steps = []
    known = [facts.find(f"host.{role}.fstab") for role in ("data", "log")]
    listed = [one for one in known if one is not None and str(one.value).split()[1:2] == [point]]
    if listed:
        steps.append(Step(kind="fstab", path="/etc/fstab", name=point, value=fix.value, for_=fix.name))
    return [*steps, Step(kind="remount", name=point, value=fix.value, before=fix.before, for_=fix.name)]


def _kernel_argument(fix: Fix, _: Facts) -> list[Step]:
    return [
        _line(fix, rf"GRUB_CMDLINE_LINUX=.*[ \t]{_literal(fix.name)}="),
        Step(kind="command", value="update-grub", for_=fix.name, needs=Needs.REBOOT),
    ]


def _service(fix: Fix, _: Facts) -> list[Step]:
    return [Step(kind="service", name=fix.name, value=fix.value, before=fix.before, for_=fix.name)]


def _literal(text: str) -> str:
    """A text as a regular expression that means itself, in Python and for grep -E."""
    return re.sub(r"([.*+?^$()\[\]{}|\\])", r"[\1]", text).replace("[^]", r"\^").replace("[\\]", r"\\")


_MAKERS: dict[str, Callable[[Fix, Facts], list[Step]]] = {
    "sysctl": _sysctl,
    "sysfs": _sysfs,
    "limit": _limit,
    "mount": _mount,
    "kernel_argument": _kernel_argument,
    "service": _service,
}
