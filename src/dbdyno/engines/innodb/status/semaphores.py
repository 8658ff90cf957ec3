"""The SEMAPHORES section: how often threads waited for latches, and who waits at this moment, for what."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from dbdyno.engines.innodb.status.latches import object_of
from dbdyno.engines.innodb.status.records import LatchWait, Semaphores
from dbdyno.engines.innodb.status.text import fill, integer, pattern

_COUNTS = (
    pattern("OS WAIT ARRAY INFO: reservation count #, signal count #", "reservations", "signals"),
    pattern("OS WAIT ARRAY INFO: reservation count #", "reservations"),
    pattern("OS WAIT ARRAY INFO: signal count #", "signals"),
    pattern("Mutex spin waits #, rounds #, OS waits #", "mutex_spins", "mutex_rounds", "mutex_os_waits"),
    pattern(
        "RW-shared spins #, OS waits #; RW-excl spins #, OS waits #",
        *("rw_shared_spins", "rw_shared_os_waits", "rw_excl_spins", "rw_excl_os_waits"),
    ),
    *(
        pattern(
            f"RW-{word} spins #, rounds #, OS waits #", f"rw_{word}_spins", f"rw_{word}_rounds", f"rw_{word}_os_waits"
        )
        for word in ("shared", "excl", "sx")
    ),
    pattern("Spin rounds per wait: % mutex, % RW-shared, % RW-excl, % RW-sx", *"____"),
    pattern("Spin rounds per wait: % mutex, % RW-shared, % RW-excl", *"___"),
    pattern("Spin rounds per wait: % RW-shared, % RW-excl, % RW-sx", *"___"),
)
_THREAD = re.compile(
    r"^-*Thread (?P<thread>\d+) has waited at (?P<file>\S+) line (?P<line>\d{1,9})"
    r" for (?P<waited>\d{1,12}(?:\.\d{1,9})?) seconds"
)
_MADE = (
    r"(?:,? Mutex (?P<name>[A-Z][A-Z0-9_]*))?"
    r"(?:,? '(?P<expression>[^']*)')?"
    r"(?:,? created (?:in )?(?:file )?(?P<file>[^\s:,]+)(?::| line )(?P<line>\d{1,9}))?"
)
_MUTEX = re.compile(r"^Mutex at (?:0x)?[0-9a-fA-F]+" + _MADE)
_LATCH = re.compile(r"^(?P<mode>[A-Za-z]+)-lock(?: \(wait_ex\))? on RW-latch at (?:0x)?[0-9a-fA-F]+" + _MADE)
_WRITER = re.compile(r"^a writer \(thread id (?P<thread>\d+)\) has reserved it in mode +(?P<mode>[A-Za-z ]+)$")
_HOLDER = re.compile(r"^(?:holder thread|Holding thread) (?P<thread>\d+)")
_DETAIL = re.compile(
    r"^(?:number of readers|waiters flag|Last time|wait has ended|wait is ending|lock_word|Mutex #readers|\d+ spins|"
    r"reservation|file .* line|Total number of|The thread|holder thread|Holding thread)",
    re.I,
)
_MODES = {"xx": "X", "x": "X", "s": "S", "sx": "SX"}


def read_semaphores(lines: Sequence[str]) -> tuple[Semaphores, list[str]]:
    waits: list[dict[str, Any]] = []
    rest: list[str] = []
    for line in (line.strip() for line in lines):
        if thread := _THREAD.match(line):
            waits.append(
                {
                    "thread": thread["thread"],
                    "at_file": thread["file"],
                    "at_line": int(thread["line"]),
                    "waited_s": float(thread["waited"]),
                }
            )
        elif waits and (latch := _MUTEX.match(line) or _LATCH.match(line)):
            waits[-1].update(_latch(latch, waits[-1]["at_file"]))
        elif waits and (writer := _WRITER.match(line) or _HOLDER.match(line)):
            waits[-1]["holder_thread"] = writer["thread"]
            waits[-1]["holder_mode"] = writer.groupdict().get("mode", "").strip()
        elif not (waits and _DETAIL.match(line)):
            rest.append(line)
    counts, unknown = fill(rest, _COUNTS)
    found = tuple(LatchWait(**{"object": "unknown", **wait}) for wait in waits)
    return Semaphores(waits=found, **counts), unknown  # type: ignore[arg-type]


def _latch(found: re.Match[str], caller: str) -> dict[str, Any]:
    mode = _MODES.get((found.groupdict().get("mode") or "").lower(), "")
    line = integer(found["line"])
    file = found["file"] or ""
    what, how = object_of(
        mutex=not mode,
        mode=mode,
        name=found["name"] or "",
        expression=found["expression"] or "",
        file=file,
        line=line,
        caller=caller,
    )
    return {
        "object": what,
        "object_by": how,
        "kind": mode or "mutex",
        "created_file": file.rsplit("/", 1)[-1],
        "created_line": line,
    }
