"""Writes and reads run folders (docs/reference/run-folder.md).

Written append-only and flushed line by line, so that a folder is readable while the run goes on and a crash loses at
most the last line. Read tolerantly: what is cut or of no use is counted, never fatal; a folder of another format is
refused in words.
"""

from __future__ import annotations

import functools
import json
import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from dbdyno.model.errors import RecordError
from dbdyno.model.fact import Fact
from dbdyno.model.plan import Plan
from dbdyno.model.probe import Probe, Sample
from dbdyno.model.record import FORMAT_VERSION, from_json, to_dict, to_json
from dbdyno.model.run import Outcome, RunStatus
from dbdyno.samples.series import SampleStore

PLAN, FACTS, EVENTS, SAMPLES = "plan.json", "facts.jsonl", "events.jsonl", "samples.jsonl"
PROBES, OUTCOME, DRIVER_LOG, SERVER_LOG = "probes.json", "outcome.json", "driver.log", "server.log"
OURS = "dyno"
"""Value of `from` in events that are not the driver's."""


class RunWriter:
    """The only writer of a run folder. Safe to use from several threads. Raises `RecordError` when it cannot write."""

    def __init__(self, folder: Path, plan: Plan, *, started_unix_s: float) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._files: dict[str, IO[bytes]] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if (folder / PLAN).exists():
                raise RecordError(f"{folder} holds a run already.", todo="choose another folder or name")
            _write_whole(folder / PLAN, to_json(to_dict(plan) | {"started_unix_s": started_unix_s}))
            for name in (FACTS, EVENTS, SAMPLES):
                self._files[name] = (folder / name).open("ab")
        except OSError as error:
            raise _cannot_write(folder, error) from None

    def probes(self, probes: Iterable[Probe]) -> None:
        """Definitions of all that is asked, so that the record explains itself."""
        try:
            _write_whole(self.folder / PROBES, to_json(list(probes)))
        except OSError as error:
            raise _cannot_write(self.folder, error) from None

    def facts(self, when: str, facts: Iterable[Fact]) -> None:
        """`when` is `before` or `after`."""
        self._append(FACTS, *(to_json(to_dict(fact) | {"when": when}) for fact in facts))

    def event(self, line: bytes) -> None:
        """One event of the driver, as it came."""
        self._append(EVENTS, line)

    def own_event(self, event: str, t_s: float, **fields: Any) -> None:
        """One event of ours."""
        self._append(EVENTS, to_json({"event": event, "from": OURS, "t_s": round(t_s, 6), **fields}))

    def sample(self, sample: Sample) -> None:
        self._append(SAMPLES, to_json(sample))

    def server_log(self, text: str) -> None:
        try:
            (self.folder / SERVER_LOG).write_text(text, encoding="utf-8")
        except OSError as error:
            raise _cannot_write(self.folder, error) from None

    def finish(self, outcome: Outcome) -> None:
        """Writes the outcome, by rename, and closes the files."""
        self.close()
        try:
            _write_whole(self.folder / OUTCOME, to_json(outcome))
        except OSError as error:
            raise _cannot_write(self.folder, error) from None

    def close(self) -> None:
        with self._lock:
            files, self._files = self._files, {}
        for file in files.values():
            file.close()

    def _append(self, name: str, *lines: bytes) -> None:
        with self._lock:
            file = self._files.get(name)
            if file is None:
                return  # A sampler's lane that hung comes back after the end: its answer is of no use.
            try:
                file.write(b"".join(line + b"\n" for line in lines))
                file.flush()
            except OSError as error:
                raise _cannot_write(self.folder, error) from None


def _cannot_write(folder: Path, error: OSError) -> RecordError:
    return RecordError(
        f"The run cannot be written to {folder}.",
        found=error.strerror or str(error),
        todo="free space or permit writing there, or choose another place with DYNO_HOME or --name",
    )


def _write_whole(path: Path, content: bytes) -> None:
    """The file is there whole or not at all."""
    part = path.with_suffix(path.suffix + ".part")
    with part.open("wb") as file:
        file.write(content + b"\n")
        file.flush()
        os.fsync(file.fileno())
    part.rename(path)


class RunRecord:
    """A run folder as it is on disk, finished or not. Files are read when first asked for."""

    def __init__(self, path: Path, plan: Plan, started_unix_s: float) -> None:
        self.path = path
        self.plan = plan
        self.started_unix_s = started_unix_s
        self._bad: dict[str, int] = {}

    @functools.cached_property
    def outcome(self) -> Outcome | None:
        """How it ended; None when it was cut off or goes on still."""
        try:
            return from_json((self.path / OUTCOME).read_bytes(), Outcome)
        except FileNotFoundError:
            return None
        except (msgspec.DecodeError, UnicodeDecodeError):
            self._bad[OUTCOME] = 1
            return None

    @property
    def status(self) -> RunStatus:
        """A folder without an outcome counts as running: who reads cannot know whether its writer is alive."""
        return self.outcome.status if self.outcome else RunStatus.RUNNING

    @property
    def unreadable_lines(self) -> int:
        """Lines that were cut or are no JSON of their kind, over all files."""
        self.facts()
        self.events()
        self.samples()
        _ = self.outcome
        return sum(self._bad.values())

    def facts(self, when: str | None = None) -> list[Fact]:
        """Facts of `before`, `after` or both."""
        return [fact for at, fact in self._facts if when in (None, at)]

    def events(self) -> list[dict[str, Any]]:
        """All events in order: the driver's, and ours with `"from": "dyno"`."""
        return self._events

    def intervals(self, phase: str | None = None) -> list[dict[str, Any]]:
        """The driver's `interval` events, of one phase or all."""
        return [e for e in self._events if e["event"] == "interval" and phase in (None, e.get("phase"))]

    def samples(self) -> SampleStore:
        return self._samples

    @functools.cached_property
    def _facts(self) -> list[tuple[str, Fact]]:
        def read(line: bytes) -> tuple[str, Fact]:
            return str(json.loads(line).get("when", "")), from_json(line, Fact)

        return self._lines(FACTS, read)

    @functools.cached_property
    def _events(self) -> list[dict[str, Any]]:
        return self._lines(EVENTS, parse_event)

    @functools.cached_property
    def _samples(self) -> SampleStore:
        samples = self._lines(SAMPLES, lambda line: from_json(line, Sample))
        try:
            probes = msgspec.json.decode((self.path / PROBES).read_bytes(), type=list[Probe])
        except FileNotFoundError:
            probes = []
        except (msgspec.DecodeError, UnicodeDecodeError):
            self._bad[PROBES] = 1
            probes = []
        return SampleStore(probes, samples)

    def _lines(self, name: str, read: Any) -> list[Any]:
        found, bad = [], 0
        for line in _raw_lines(self.path / name):
            try:
                found.append(read(line))
            except (ValueError, KeyError, AttributeError, msgspec.DecodeError):
                bad += 1
        self._bad[name] = bad
        return found


def parse_event(line: bytes) -> dict[str, Any]:
    """One event. Raises `ValueError` when the line is not one."""
    event = json.loads(line)
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        raise ValueError("not an event")
    return event


def _raw_lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            for line in file:
                if line.strip():
                    yield line
    except FileNotFoundError:
        return


def open_run(path: Path) -> RunRecord:
    """Opens a run folder. Raises `RecordError` when it is not one, or of a format that this version cannot read."""
    try:
        text = (path / PLAN).read_bytes()
    except OSError as error:
        raise RecordError(
            f"{path} is not a run folder.",
            found=f"{PLAN}: {error.strerror}",
            todo="see `dyno list` for the runs there are",
        ) from None
    try:
        plain = json.loads(text)
        version = plain["format"]
    except (ValueError, KeyError, TypeError):
        raise RecordError(f"{path / PLAN} is damaged: it is not the plan of a run.", found=_start_of(text)) from None
    if version != FORMAT_VERSION:
        newer = isinstance(version, int) and version > FORMAT_VERSION
        raise RecordError(
            f"{path} is a run of format {version}; this dyno reads format {FORMAT_VERSION}.",
            todo="read it with a newer dyno" if newer else "",
        )
    try:
        plan = from_json(text, Plan)
    except msgspec.DecodeError as error:
        raise RecordError(f"{path / PLAN} is damaged: it is not the plan of a run.", found=str(error)) from None
    return RunRecord(path, plan, float(plain.get("started_unix_s", 0.0)))


def _start_of(text: bytes) -> str:
    return repr(text[:60].decode("utf-8", "replace")) if text.strip() else "an empty file"
