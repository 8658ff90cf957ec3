"""What somebody sent of a machine as text: `sysctl -a`, and summaries in the style of pt-summary.

Such a text holds only what is in force, so what a boot gives stays unknown. Line ends of Windows, a byte order mark and
a last line that is cut off are borne.
"""

from __future__ import annotations

import re

from dbdyno.hosts.audit.disks import chosen
from dbdyno.hosts.audit.surroundings import kernel_version
from dbdyno.hosts.audit.sysctls import KEYS, parse_value
from dbdyno.model.fact import Fact, Scalar

_SYSCTL = re.compile(r"^(?:kernel|vm|net|fs)\.[\w./-]+ ?= ?", re.MULTILINE)
_SUMMARY = re.compile(r"^#+ .*System Summary Report", re.MULTILINE | re.IGNORECASE)
_SYSCTL_LINES_MIN = 5
_UNITS = {"": 1, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SUMMARY_LINES: dict[str, tuple[str, str]] = {
    "Kernel": ("host.kernel", ""),
    "Release": ("host.system", ""),
    "Threading": ("host.threading", ""),
    "SELinux": ("host.selinux", ""),
    "Virtualized": ("host.virtual_name", ""),
    "Total": ("host.mem.memory_bytes", "B"),
    "swappiness": ("host.sysctl.vm.swappiness", ""),
}
_SELINUX = {"no selinux detected": "disabled"}


def recognises(_name: str, text: str) -> bool:
    """By what the text looks like, not by its name."""
    return len(_SYSCTL.findall(text.lstrip("\ufeff"))) >= _SYSCTL_LINES_MIN or bool(_SUMMARY.search(text))


def parse(name: str, text: str) -> list[Fact]:
    """Facts under the names that the audit of a machine gives them."""
    plain = text.lstrip("\ufeff").replace("\r\n", "\n")
    if _SUMMARY.search(plain):
        return _summary(name, plain)
    facts = []
    for line in plain.splitlines():
        key, equals, value = line.partition("=")
        if equals and key.strip() in KEYS:
            facts.append(Fact(name=f"host.sysctl.{key.strip()}", source=name, value=parse_value(value)))
        if equals and key.strip() == "kernel.osrelease":
            facts += _kernel(name, value.strip())
    return facts


def _kernel(source: str, release: str) -> list[Fact]:
    facts = [Fact(name="host.kernel", source=source, value=release)]
    try:
        version, patch = kernel_version(release)
    except ValueError:
        return facts
    facts.append(Fact(name="host.kernel_version", source=source, value=version))
    return [*facts, Fact(name="host.kernel_patch", source=source, value=patch)]


def _summary(source: str, text: str) -> list[Fact]:
    """Lines of the form `   swappiness | 60`; of a name that stands there twice the first counts."""
    facts: dict[str, Fact] = {}
    for line in text.splitlines():
        label, bar, words = (part.strip() for part in line.partition("|"))
        if not bar or label not in _SUMMARY_LINES:
            continue
        name, unit = _SUMMARY_LINES[label]
        value: Scalar = _bytes(words) if unit == "B" else parse_value(words) if "sysctl" in name else words
        if label == "SELinux":
            value = _SELINUX.get(words.lower(), words.lower())
        if value is not None:
            facts.setdefault(name, Fact(name=name, source=source, unit=unit, value=value))
        if label == "Kernel":
            facts |= {one.name: one for one in _kernel(source, words)}
    for device, scheduler in re.findall(r"^\s*(\w+)\s*\|\s*(.*\[\w[\w-]*\].*)$", text, re.MULTILINE):
        name = f"host.block.{device}.scheduler"
        facts[name] = Fact(name=name, source=source, value=chosen(scheduler))
    return list(facts.values())


def _bytes(words: str) -> int | None:
    """`23.5G` in bytes; None for what is no size."""
    found = re.fullmatch(r"([\d.]+)\s*([kMGT]?)B?", words)
    return int(float(found[1]) * _UNITS[found[2]]) if found else None
