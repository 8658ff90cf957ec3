"""The study folder: written as the study goes on, readable at any moment, resumable by name.

`trials.jsonl` is the truth; everything else can be made again from it and `study.json`. See the reference page of the
run and study folders.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from dbdyno.model.errors import RecordError
from dbdyno.model.knob import Setting
from dbdyno.model.machine import Machine
from dbdyno.model.record import FORMAT_VERSION, from_json, to_json
from dbdyno.model.trial import StudyOutcome, StudyPlan, Trial


class StudyRecord:
    """A study folder, read."""

    def __init__(self, path: Path, plan: StudyPlan, trials: list[Trial], outcome: StudyOutcome | None) -> None:
        self.path = path
        self.plan = plan
        self.trials = trials
        self.outcome = outcome
        """None when the study was cut off before it wrote any."""

    def runs(self, trial: Trial) -> list[Path]:
        """The trial's run folders."""
        return [self.path / run for run in trial.runs]

    def machine(self) -> Machine | None:
        """The machine that the ranges were made for; None when the study was cut off before it looked."""
        file = self.path / "machine.json"
        return from_json(file.read_bytes(), Machine) if file.exists() else None

    def original(self) -> dict[str, Setting]:
        """Settings of the server before the first change; empty when none were saved (a sandbox)."""
        file = self.path / "original.json"
        if not file.exists():
            return {}
        return msgspec.json.decode(file.read_bytes(), type=dict[str, Setting])


def open_study(path: Path) -> StudyRecord:
    """Reads a study folder. Raises `RecordError` when it is not one, or of a newer format."""
    file = path / "study.json"
    try:
        plan = from_json(file.read_bytes(), StudyPlan)
    except FileNotFoundError:
        raise RecordError(f"{path} is not a study.", found="it holds no study.json", todo="see dyno list") from None
    except (msgspec.DecodeError, OSError) as error:
        raise RecordError(f"{file} cannot be read.", found=str(error)) from error
    if plan.format > FORMAT_VERSION:
        raise RecordError(
            f"{path} was written by a newer dyno.",
            found=f"format {plan.format}, this one reads up to {FORMAT_VERSION}",
            todo="use a newer dyno",
        )
    return StudyRecord(path, plan, _trials(path / "trials.jsonl"), _outcome(path / "outcome.json"))


def _trials(file: Path) -> list[Trial]:
    if not file.exists():
        return []
    lines = file.read_bytes().split(b"\n")
    trials: list[Trial] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            trials.append(from_json(line, Trial))
        except msgspec.DecodeError as error:
            # A kill can cut the last line and nothing else.
            if number == len(lines):
                break
            raise RecordError(f"{file}, line {number}, cannot be read.", found=str(error)) from error
    return trials


def _outcome(file: Path) -> StudyOutcome | None:
    try:
        return from_json(file.read_bytes(), StudyOutcome)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise RecordError(f"{file} cannot be read.", found=str(error)) from error


class StudyStore:
    """Writes a study folder. One process at a time: the caller holds the target."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def runs(self) -> Path:
        return self.path / "runs"

    def create(self, plan: StudyPlan) -> None:
        """Raises `RecordError` when there is a study of that name already."""
        if (self.path / "study.json").exists():
            raise RecordError(
                f"There is a study {plan.name} already.",
                found=str(self.path),
                todo="go on with --resume, or choose another --name",
            )
        self.runs.mkdir(parents=True, exist_ok=True)
        self._replace("study.json", to_json(plan) + b"\n")

    def append(self, trial: Trial) -> None:
        """Adds one trial and forces it to the disk: a resumed study must not repeat what was paid for."""
        file = self.path / "trials.jsonl"
        with file.open("ab+") as stream:
            end = stream.seek(0, os.SEEK_END)
            if end:
                stream.seek(end - 1)
                if stream.read(1) != b"\n":
                    self._drop_cut_line(stream.fileno(), file)
            stream.write(to_json(trial) + b"\n")
            stream.flush()
            os.fsync(stream.fileno())

    @staticmethod
    def _drop_cut_line(descriptor: int, file: Path) -> None:
        """A kill cut the last line; what stands before it is whole."""
        os.ftruncate(descriptor, file.read_bytes().rfind(b"\n") + 1)

    def write_outcome(self, outcome: StudyOutcome) -> None:
        self._replace("outcome.json", to_json(outcome) + b"\n")

    def write_machine(self, machine: Machine) -> None:
        """The machine that the ranges are made for; a resumed study keeps them though the disk filled meanwhile."""
        self._replace("machine.json", to_json(machine) + b"\n")

    def write_original(self, settings: dict[str, Setting]) -> None:
        self._replace("original.json", to_json(settings) + b"\n")

    def write_winner(self, configuration: str, statements: Sequence[str]) -> None:
        self._replace("winner.conf", configuration.encode())
        self._replace("winner.sql", "".join(line + "\n" for line in statements).encode())

    def run_folder(self, name: str) -> Path:
        """A folder for a run that does not exist yet; a run that was cut off keeps its own."""
        folder, again = self.runs / name, 1
        while folder.exists():
            again += 1
            folder = self.runs / f"{name}-{again}"
        return folder

    def _replace(self, name: str, content: bytes) -> None:
        file = self.path / name
        new = file.with_name(name + ".new")
        with new.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(file)
