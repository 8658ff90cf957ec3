"""The folder of a proof: written as it goes, readable at any moment, gone on with after an interruption.

proof.json         what was asked              acks-<arm>.jsonl   what the load got acknowledged
arms.jsonl         one line a recording        states.jsonl       one line a crash state
outcome.json       how it stands               driver-<arm>.log   the load driver's words
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TypeVar

import msgspec

from dbdyno.model.crash import CrashOutcome, CrashPlan, StateResult
from dbdyno.model.errors import RecordError
from dbdyno.model.record import FORMAT_VERSION, Record, from_json, to_json

PLAN = "proof.json"

R = TypeVar("R", bound=Record)


class Recording(Record, frozen=True, kw_only=True):
    """A load on a recorded disk that ended well."""

    arm: str
    acknowledged: int = 0
    sent: int = 0
    ended_s: float = 0.0
    """When the load was over (CLOCK_MONOTONIC)."""
    disk: dict[str, int | float | str | bool | None] = {}
    """What the disk says of itself: events, flushes, bytes."""
    notes: tuple[str, ...] = ()
    error: str = ""
    """Why there is none: the server did not take the settings."""


class CrashFolder:
    """Reads and writes one proof. One process writes at a time: the caller holds the sandbox."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def name(self) -> str:
        return self.path.name

    def create(self, plan: CrashPlan) -> None:
        """Raises `RecordError` when there is a proof of that name already."""
        if (self.path / PLAN).exists():
            raise RecordError(
                f"There is a proof {plan.name} already.",
                found=str(self.path),
                todo="go on with --resume, or choose another --name",
            )
        self.path.mkdir(parents=True, exist_ok=True)
        self._replace(PLAN, to_json(plan))

    def plan(self) -> CrashPlan:
        """Raises `RecordError` when the folder is no proof, or of a newer format."""
        file = self.path / PLAN
        try:
            plan = from_json(file.read_bytes(), CrashPlan)
        except OSError as error:
            raise RecordError(
                f"{self.path} is not a power-loss proof.", found=f"{PLAN}: {error.strerror}", todo="see dyno list"
            ) from None
        except msgspec.DecodeError as error:
            raise RecordError(f"{file} cannot be read.", found=str(error)) from None
        if plan.format > FORMAT_VERSION:
            raise RecordError(
                f"{self.path} was written by a newer dyno.",
                found=f"format {plan.format}, this one reads up to {FORMAT_VERSION}",
                todo="use a newer dyno",
            )
        return plan

    def acks(self, arm: str) -> Path:
        return self.path / f"acks-{arm}.jsonl"

    def driver_log(self, arm: str) -> Path:
        return self.path / f"driver-{arm}.log"

    def add_recording(self, recording: Recording) -> None:
        self._append("arms.jsonl", recording)

    def recordings(self) -> dict[str, Recording]:
        return {one.arm: one for one in self._lines("arms.jsonl", Recording)}

    def add_state(self, result: StateResult) -> None:
        self._append("states.jsonl", result)

    def states(self) -> list[StateResult]:
        """All that were judged, each once (a replay does not count twice)."""
        return list({one.id: one for one in self._lines("states.jsonl", StateResult)}.values())

    def write_outcome(self, outcome: CrashOutcome) -> None:
        self._replace("outcome.json", to_json(outcome))

    def outcome(self) -> CrashOutcome | None:
        """None when it was cut off before it wrote any."""
        try:
            return from_json((self.path / "outcome.json").read_bytes(), CrashOutcome)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError) as error:
            raise RecordError(f"{self.path / 'outcome.json'} cannot be read.", found=str(error)) from None

    def _lines(self, name: str, kind: type[R]) -> list[R]:
        file = self.path / name
        if not file.exists():
            return []
        lines = [line for line in file.read_bytes().split(b"\n") if line.strip()]
        found: list[R] = []
        for number, line in enumerate(lines, start=1):
            try:
                found.append(from_json(line, kind))
            except msgspec.DecodeError as error:
                # A kill can cut the last line and nothing else.
                if number < len(lines):
                    raise RecordError(f"{file}, line {number}, cannot be read.", found=str(error)) from None
        return found

    def _append(self, name: str, record: Record) -> None:
        with (self.path / name).open("ab+") as stream:
            end = stream.seek(0, os.SEEK_END)
            if end:
                stream.seek(end - 1)
                if stream.read(1) != b"\n":
                    stream.seek(0)
                    os.ftruncate(stream.fileno(), stream.read().rfind(b"\n") + 1)
            stream.write(to_json(record) + b"\n")

    def _replace(self, name: str, content: bytes) -> None:
        new = self.path / (name + ".new")
        new.write_bytes(content + b"\n")
        new.replace(self.path / name)

    def drop_acks(self, arm: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.acks(arm).unlink()
