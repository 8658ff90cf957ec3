"""The plan's files as they would stand on a machine that has none of them yet: to be read, and to be rolled out."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.check.fixes_edit import set_line
from dbdyno.check.fixes_steps import HEADER, Step

_TUNED_BASE = "throughput-performance"


def ready_files(steps: Iterable[Step]) -> dict[str, str]:
    """Text by path relative to the plan's folder: `files/etc/…`, and a profile for tuned with the same values."""
    steps = list(steps)
    files: dict[str, str] = {}
    for step in steps:
        if step.kind == "line" and step.line:
            path = "files" + step.path
            files[path] = set_line(files.get(path, ""), step.pattern, step.line, step.header)
    profile = tuned_profile(steps)
    return files | ({"tuned/dyno/tuned.conf": profile} if profile else {})


def tuned_profile(steps: Iterable[Step]) -> str:
    """For machines that tuned governs: it would otherwise set its own values again. Empty when there is nothing for
    it. Source: tuned-main.conf(5) and the manual of its plugins."""
    sections: dict[str, list[str]] = {}
    for step in steps:
        if step.kind != "write":
            continue
        if step.path.startswith("/proc/sys/"):
            key = step.path.removeprefix("/proc/sys/").replace("/", ".")
            sections.setdefault("sysctl", []).append(f"{key} = {step.value}")
        elif step.path == "/sys/kernel/mm/transparent_hugepage/enabled":
            sections.setdefault("vm", []).append(f"transparent_hugepages = {step.value}")
        elif step.path.endswith("/scaling_governor"):
            sections.setdefault("cpu", []).append(f"governor = {step.value}")
        elif step.path.startswith("/sys/"):
            sections.setdefault("sysfs", []).append(f"{step.path} = {step.value}")
    if not sections:
        return ""
    parts = [HEADER, f"[main]\nsummary = As dyno advises\ninclude = {_TUNED_BASE}"]
    parts += [f"[{name}]\n" + "\n".join(lines) for name, lines in sections.items()]
    return "\n\n".join(parts) + "\n"
