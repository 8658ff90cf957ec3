"""The power-loss proof at the end of a study: of its winner, on the sandbox that it was found on.

What is known is not tried again: durability hangs on the server's version and on the settings of the contract's table,
so a proof holds for every configuration that agrees with it in these (and file system, promise, and the proof itself).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from dbdyno.crash import modes
from dbdyno.crash.prove import Proof, Watcher, clean_work
from dbdyno.crash.store import CrashFolder
from dbdyno.model.clock import Clock
from dbdyno.model.contract import Contract
from dbdyno.model.crash import CrashOutcome, CrashPlan
from dbdyno.model.errors import DynoError
from dbdyno.model.fact import Scalar
from dbdyno.model.finding import Verdict
from dbdyno.model.knob import Assignment, KnobSpace
from dbdyno.model.plan import WorkloadSpec
from dbdyno.model.record import Record, from_json, to_json
from dbdyno.model.target import Permission
from dbdyno.sandbox.options import Disk
from dbdyno.sandbox.sandbox import Sandbox

VERSION = 2
"""Of the proof: it rises when an older one would have missed what a newer one sees."""
KNOWN = "known.jsonl"
LOAD = "ledger"


class Known(Record, frozen=True, kw_only=True):
    """A proof that passed, for all configurations with the same key."""

    key: str
    proof: str
    """Folder of the proof."""
    states: int
    says: str


@dataclass
class Prover:
    """Proves winners. `home` is the folder that proofs are kept in."""

    sandbox: Sandbox
    contract: Contract
    home: Path
    clock: Clock
    states: int
    seed: int = 1
    load_s: float = 4.0
    command: tuple[str, ...] = ()
    watcher: Watcher = field(default_factory=Watcher)
    on_start: Callable[[CrashFolder], None] = lambda _folder: None

    @property
    def mode(self) -> str:
        """The stronger one that this machine can do; `block` when it can do none, for the reason."""
        weaker = modes.why_not(modes.BLOCK, self._carrier) and not modes.why_not(modes.FOLDER, "")
        return modes.FOLDER if weaker else modes.BLOCK

    @property
    def file_system(self) -> str:
        return self._carrier if self.mode == modes.BLOCK else modes.NO_FILE_SYSTEM

    @property
    def _carrier(self) -> str:
        disk = self.sandbox.record.options.disk
        return "ext4" if disk is Disk.PLAIN else str(disk)

    def prove(self, name: str, assignment: Assignment, space: KnobSpace) -> dict[str, Scalar]:
        """What is known after it, for the study's outcome. What cannot be run is unknown, with the reason."""
        if self.states < 1:
            return unknown("not run: --crash-states is 0")
        if reason := modes.why_not(self.mode, self.file_system):
            return unknown(f"not run: {reason}")
        key = self.key(assignment, space)
        if known := self._known(key):
            return {
                "power_loss": Verdict.PASS,
                "power_loss_says": f"{known.says} (known from {Path(known.proof).name}, with the same server and the"
                " same settings that durability hangs on)",
                "power_loss_proof": known.proof,
                "power_loss_states": known.states,
            }
        try:
            folder, outcome = self._run(name, assignment)
        except DynoError as error:
            return unknown(f"could not be run: {' '.join(str(error).split())}")
        if outcome.verdict is Verdict.PASS:
            self._remember(Known(key=key, proof=str(folder.path), states=outcome.arms[0].states, says=outcome.says))
        return {
            "power_loss": outcome.verdict,
            "power_loss_says": outcome.says,
            "power_loss_proof": str(folder.path),
            "power_loss_states": outcome.arms[0].states if outcome.arms else 0,
        }

    def key(self, assignment: Assignment, space: KnobSpace) -> str:
        """Of all that durability hangs on. A guarded setting that is not assigned has the version's own default."""
        guarded = {guard.setting for guard in space.guards}
        parts = {
            "version": VERSION,
            "engine": self.sandbox.engine.name,
            "server": self.sandbox.installation.version_text,
            "binaries": self.sandbox.installation.bin,
            "made_with": dict(self.sandbox.record.made_with),
            "settings": {name: str(value) for name, value in assignment.items() if name in guarded},
            "mode": self.mode,
            "file_system": self.file_system,
            "level": self.contract.level.name,
            "recovery_s_max": self.contract.recovery_s_max,
            "log_agrees": self.contract.pitr or self.contract.replication,
        }
        return hashlib.sha256(to_json(parts)).hexdigest()[:24]

    def _run(self, name: str, assignment: Assignment) -> tuple[CrashFolder, CrashOutcome]:
        sandbox = self.sandbox
        sandbox.target.require(Permission.CRASH, "cut its power")
        clean_work(sandbox, self.clock)
        folder = CrashFolder(_free(self.home / name))
        plan = CrashPlan(
            name=folder.name,
            target=sandbox.target,
            installation=sandbox.installation,
            workload=WorkloadSpec(name=LOAD),
            assignment=dict(assignment),
            level=self.contract.level,
            recovery_s_max=self.contract.recovery_s_max,
            log_agrees=self.contract.pitr or self.contract.replication,
            states=self.states,
            file_system=self.file_system,
            mode=self.mode,
            seed=self.seed,
            load_s=self.load_s,
            work=str(sandbox.folder / modes.WORK / folder.name),
            command=self.command,
        )
        folder.create(plan)
        self.on_start(folder)
        proof = Proof(plan, sandbox, folder, self.clock, self.watcher)
        outcome = proof.run()
        if outcome.verdict is Verdict.PASS:
            # A proof that passed has no state that anybody would want to see again.
            proof.drop_disks()
        return folder, outcome

    def _known(self, key: str) -> Known | None:
        try:
            lines = (self.home / KNOWN).read_bytes().splitlines()
        except OSError:
            return None
        for line in reversed(lines):
            try:
                known = from_json(line, Known)
            except msgspec.DecodeError:
                continue
            if known.key == key and known.states >= self.states and Path(known.proof).is_dir():
                return known
        return None

    def _remember(self, known: Known) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        with (self.home / KNOWN).open("ab") as stream:
            stream.write(to_json(known) + b"\n")


def unknown(says: str) -> dict[str, Scalar]:
    return {"power_loss": Verdict.UNKNOWN, "power_loss_says": says}


def proven(facts: Mapping[str, Scalar]) -> bool:
    """Whether a proof was run to an end, well or badly."""
    return "power_loss_proof" in facts and facts.get("power_loss") in (Verdict.PASS, Verdict.FAIL)


def _free(path: Path) -> Path:
    """A folder that does not exist yet."""
    found, again = path, 1
    while found.exists():
        again += 1
        found = path.with_name(f"{path.name}-{again}")
    return found
