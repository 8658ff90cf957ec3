"""Changes of a machine as `Fix`es: how each kind is done now, where it lasts, how it is taken back."""

from __future__ import annotations

import msgspec

from dbdyno.hosts.tree import ABSENT
from dbdyno.model.fact import Scalar
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Fix, Needs

SYSCTL_FILE = "/etc/sysctl.d/90-dyno.conf"
SYSCTL_FILE_LATE = "/etc/sysctl.d/99-zz-dyno.conf"
UDEV_FILE = "/etc/udev/rules.d/90-dyno.rules"
UDEV_FILE_LATE = "/etc/udev/rules.d/99-zz-dyno.rules"
TMPFILES_FILE = "/etc/tmpfiles.d/90-dyno.conf"
LIMITS_FILE = "/etc/security/limits.d/90-dyno.conf"
GRUB_FILE = "/etc/default/grub.d/90-dyno.cfg"
_UNIT_WORDS = {"nofile": "LimitNOFILE", "nproc": "LimitNPROC", "memlock": "LimitMEMLOCK", "core": "LimitCORE",
               "oom_score_adj": "OOMScoreAdjust"}  # fmt: skip


def sysctl(facts: Facts, key: str, value: Scalar) -> Fix:
    """A kernel parameter. `value` is what it shall be, in the kernel's words."""
    before, wanted = str(facts.value(f"host.sysctl.{key}")), str(value)
    return Fix(
        kind="sysctl",
        name=key,
        value=wanted,
        before=before,
        live=f'sysctl -w {key}="{wanted}"',
        file=sysctl_file(facts, key),
        line=f"{key} = {wanted}",
        undo=_sysctl_undo(facts, key, before),
        fact=f"host.sysctl.{key}",
    )


def kept(facts: Facts, key: str, value: Scalar) -> Fix:
    """The same for a value that is in force already: only the next boot changes."""
    return msgspec.structs.replace(sysctl(facts, key, value), fact=f"host.boot.sysctl.{key}")


def sysctl_file(facts: Facts, key: str) -> str:
    """The file in which a line is not overruled: ours, or one of the owner's that is read after it and sets the key."""
    found = facts.find(f"host.boot.sysctl.{key}")
    path, colon, _ = (found.source if found and not found.unknown else "").rpartition(":")
    name = path.rsplit("/", 1)[-1]
    if not colon or (path != "/etc/sysctl.conf" and name <= "90-dyno.conf"):
        return SYSCTL_FILE
    return path if path.startswith("/etc/") else SYSCTL_FILE_LATE


def _sysctl_undo(facts: Facts, key: str, before: str) -> str:
    """A limit in bytes is taken back by writing the ratio that it replaced: the kernel takes no 0 there."""
    ratio = key.removesuffix("_bytes") + "_ratio"
    if key.startswith("vm.dirty") and key.endswith("_bytes") and before == "0" and facts.has(f"host.sysctl.{ratio}"):
        return f'sysctl -w {ratio}="{facts.value(f"host.sysctl.{ratio}")}"'
    return f'sysctl -w {key}="{before}"'


def sysfs(path: str, value: str, *, before: str, fact: str) -> Fix:
    """A file of /sys that tmpfiles.d writes again at each boot."""
    return Fix(
        kind="sysfs", name=path, value=value, before=before, live=f"echo {value} | tee {path}", file=TMPFILES_FILE,
        line=f"w {path} - - - - {value}", undo=f"echo {before} | tee {path}", fact=fact,
    )  # fmt: skip


def block(facts: Facts, device: str, attribute: str, value: str, *, before: str, fact: str = "") -> Fix:
    """A setting of a block device's queue, kept by udev, which also sees devices that come later."""
    found = facts.find(f"host.boot.block.{device}.{attribute}")
    overruled = found is not None and found.value != ABSENT and found.source.rsplit("/", 1)[-1] > "90-dyno.rules"
    path = f"/sys/block/{device}/queue/{attribute}"
    line = f'ACTION=="add|change", KERNEL=="{device}", SUBSYSTEM=="block", ATTR{{queue/{attribute}}}="{value}"'
    return Fix(
        kind="sysfs", name=path, value=value, before=before, live=f"echo {value} > {path}",
        file=UDEV_FILE_LATE if overruled else UDEV_FILE, line=line, undo=f"echo {before} > {path}", fact=fact,
    )  # fmt: skip


def limit(facts: Facts, name: str, value: str) -> Fix:
    """A limit of the server's process; kept by its unit, or for its user where it has none."""
    pid, before = facts.value("host.server.pid"), str(facts.value(f"host.server.limit.{name}"))
    hard = facts.value(f"host.server.limit.{name}_max")
    unit = facts.value("host.server.unit") if facts.has("host.server.unit") else ABSENT
    if unit != ABSENT:
        file, line = f"/etc/systemd/system/{unit}.d/90-dyno.conf", f"{_UNIT_WORDS[name]}={_systemd(value)}"
    else:
        user = facts.value("host.server.user") if facts.has("host.server.user") else "*"
        file, line = LIMITS_FILE, f"{user} - {name} {value}"
    return Fix(
        kind="limit", name=name, value=value, before=f"{before}:{hard}",
        live=f"prlimit --pid {pid} --{name}={value}:{value}", file=file, line=line, needs=Needs.RESTART,
        undo=f"prlimit --pid {pid} --{name}={before}:{hard}",
        fact=f"host.server.limit.{name}",
    )  # fmt: skip


def kept_limit(facts: Facts, name: str, value: str) -> Fix:
    """The same for a limit that is in force already: only the next start changes."""
    return msgspec.structs.replace(limit(facts, name, value), fact=f"host.boot.limit.{name}")


def _systemd(value: str) -> str:
    return "infinity" if value == "unlimited" else value


def oom_score(facts: Facts, value: int) -> Fix:
    """How willingly the kernel kills the server when memory is short."""
    pid, before = facts.value("host.server.pid"), str(facts.value("host.server.oom_score_adj"))
    unit = facts.value("host.server.unit") if facts.has("host.server.unit") else ABSENT
    path = f"/proc/{pid}/oom_score_adj"
    file = f"/etc/systemd/system/{unit}.d/90-dyno.conf" if unit != ABSENT else ""
    return Fix(
        kind="limit", name="oom_score_adj", value=str(value), before=before, live=f"echo {value} > {path}", file=file,
        line=f"OOMScoreAdjust={value}" if file else "", undo=f"echo {before} > {path}",
        fact="host.server.oom_score_adj",
    )  # fmt: skip


def mount(facts: Facts, role: str, group: str, word: str) -> Fix:
    """One mount option of the storage under the data or the log. `group` names what is chosen (`atime`, `barrier`)."""
    point, before = facts.text(f"host.{role}.mount_point"), facts.text(f"host.{role}.{group}")
    return Fix(
        kind="mount", name=f"{point} {group}", value=word, before=before, live=f"mount -o remount,{word} {point}",
        file="/etc/fstab", line=f"{point}: {word}", needs=Needs.REMOUNT, undo=f"mount -o remount,{before} {point}",
        fact=f"host.{role}.{group}" if word != before else "",
    )  # fmt: skip


def kernel_argument(name: str, value: str, *, before: str = "") -> Fix:
    """An argument of the kernel's command line, in a fragment for the boot loader."""
    return Fix(
        kind="kernel_argument", name=name, value=value, before=before, file=GRUB_FILE,
        line=f'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX {name}={value}"', needs=Needs.REBOOT,
        undo=f"remove {GRUB_FILE}, write the boot loader's configuration anew, reboot",
        fact="host.boot.thp.enabled" if name == "transparent_hugepage" else "",
    )  # fmt: skip


def service(name: str, *, fact: str = "", value: str = "enabled") -> Fix:
    """A unit of the system that shall run, now and after each boot."""
    return Fix(
        kind="service", name=name, value=value, before="disabled", live=f"systemctl enable --now {name}",
        undo=f"systemctl disable --now {name}", fact=fact,
    )  # fmt: skip


def manual(name: str, value: str = "", *, needs: Needs = Needs.PERSON, undo: str = "") -> Fix:
    """What a person has to do."""
    return Fix(kind="manual", name=name, value=value, needs=needs, undo=undo)
