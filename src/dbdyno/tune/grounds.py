"""What the arms of an experiment stand on: the target itself, and private servers beside it for arms that need another
dataset or a server made anew."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from dbdyno.model.clock import Clock
from dbdyno.model.errors import UsageError
from dbdyno.model.experiment import Configuration
from dbdyno.model.home import Home
from dbdyno.model.knob import Assignment, Change
from dbdyno.model.plan import WorkloadSpec
from dbdyno.model.record import to_json
from dbdyno.model.trial import StudyPlan
from dbdyno.sandbox.sandbox import Sandbox, create, exists, open_sandbox
from dbdyno.tune import contract as contracts
from dbdyno.tune.experiment import Ground
from dbdyno.tune.machine_probe import probe_machine
from dbdyno.tune.sandbox_control import SandboxController
from dbdyno.tune.setup import prepare_sandbox
from dbdyno.tune.store import StudyStore
from dbdyno.tune.study import prepare_space
from dbdyno.tune.trial import Bench

Progress = Callable[[dict[str, Any]], None]


@dataclass
class SandboxGrounds:
    """Private servers by what they were made with. A context manager: at its end the servers that it made are removed
    (`keep` leaves them), the target's own is only stopped."""

    home: Home
    sandbox: Sandbox
    plan: StudyPlan
    store: StudyStore
    clock: Clock
    on_progress: Progress | None = None
    on_note: Callable[[str], None] = lambda _: None
    keep: bool = False
    _grounds: dict[str, Ground] = field(default_factory=dict)
    _made: list[Sandbox] = field(default_factory=list)
    _open: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def __enter__(self) -> SandboxGrounds:
        self._open.enter_context(self.sandbox.held())
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._open.close()
        # After an interruption they wait for the experiment to go on.
        if kind is None and not self.keep:
            for sandbox in self._made:
                sandbox.remove()

    def __call__(self, configuration: Configuration) -> Ground:
        """The ground of a configuration; it is made, and its dataset loaded, when it is needed first."""
        workload = _workload(self.plan.workload, configuration.options)
        made_with = self._rebuilds(configuration.settings)
        key = to_json([workload, made_with]).decode()
        if key not in self._grounds:
            own = workload == self.plan.workload and not made_with
            self._grounds[key] = self._ground(self.sandbox if own else self._beside(key, made_with), workload, own)
        return self._grounds[key]

    def _rebuilds(self, settings: Assignment) -> Assignment:
        """The settings that a server takes only when it is made, where they are not the default."""
        space = self.sandbox.engine.knobs(self.sandbox.machine(), self.sandbox.installation.version)
        knobs = {knob.name: knob for knob in space.knobs if knob.change is Change.REBUILD}
        return {
            name: value for name, value in settings.items() if name in knobs and str(value) != str(knobs[name].default)
        }

    def _beside(self, key: str, made_with: Assignment) -> Sandbox:
        name = f"{self.sandbox.name[:48]}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"
        engine = self.sandbox.engine
        if exists(self.home, name):
            sandbox = open_sandbox(self.home, engine.name, name, clock=self.clock)
        else:
            wished = self.sandbox.record.wished or self.sandbox.record.options
            if wished.port is not None:
                raise UsageError(
                    "This experiment needs several private servers, which cannot share a port.",
                    found=f"port={wished.port}",
                    todo="leave port= out",
                )
            sandbox = create(
                self.home, engine, name, wished, clock=self.clock, on_note=self.on_note, made_with=made_with
            )
        self._open.enter_context(sandbox.held())
        self._made.append(sandbox)
        return sandbox

    def _ground(self, sandbox: Sandbox, workload: WorkloadSpec, own: bool) -> Ground:
        started = self.clock.monotonic()
        plan = msgspec.structs.replace(self.plan, workload=workload)
        loaded = prepare_sandbox(sandbox, workload, threads=plan.threads, seed=plan.seed, on_progress=self.on_progress)
        seconds = self.clock.monotonic() - started
        machine, version = sandbox.machine(), sandbox.installation.version
        controller = SandboxController(sandbox, self.clock, recovery_s_max=plan.contract.recovery_s_max)
        space = prepare_space(
            sandbox.engine.knobs(machine, version), controller.look(), plan.contract, machine, restart=True
        )
        bench = Bench(
            plan=plan,
            space=space,
            contract=plan.contract,
            needed=contracts.needed(space, plan.contract),
            controller=controller,
            store=self.store,
            clock=self.clock,
            probe=lambda: probe_machine(sandbox.data.parent, self.clock),
        )
        return Ground(bench=bench, prepare_s=seconds if loaded and not own else None)


def _workload(base: WorkloadSpec, options: dict[str, Any]) -> WorkloadSpec:
    return msgspec.structs.replace(base, options={**base.options, **{k: str(v) for k, v in options.items()}})


@dataclass
class ForeignGrounds:
    """Somebody's server: one ground, put back at the end."""

    ground: Ground
    settings: tuple[str, ...] = ()
    left: list[str] = field(default_factory=list)
    """What could not be put back."""

    def __enter__(self) -> ForeignGrounds:
        return self

    def __exit__(self, *_: object) -> None:
        self.left = self.ground.bench.controller.restore()

    def __call__(self, configuration: Configuration) -> Ground:
        if configuration.options:
            raise UsageError(
                "A step with another dataset needs a private server.",
                found=", ".join(configuration.options),
                todo="use a sandbox, or leave the options out",
            )
        return self.ground
