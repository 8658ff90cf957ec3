"""Plans and results of proofs for tests."""

from __future__ import annotations

from dbdyno.model.crash import PROCESS, SUBJECT, Control, CrashPlan, Damage, DamageKind, StateResult
from dbdyno.model.engine import Installation
from dbdyno.model.finding import Verdict
from dbdyno.model.knob import Level
from dbdyno.model.plan import WorkloadSpec
from dbdyno.model.target import Target

SUBJECT_ARM = Control(name=SUBJECT, level=Level.L3, says="the configuration on trial")
LOSSY = Control(name="lossy", settings={"lossy": "on"}, level=Level.L2, says="loses a tail")
TEARING = Control(name="tearing", settings={"torn": "on"}, level=Level.L1, says="tears", needs_tearing=True)


def plan(**changes: object) -> CrashPlan:
    values: dict[str, object] = {
        "name": "proof",
        "target": Target(engine="one", host="/run", port=1, user="dyno", database="dyno", sandbox="box"),
        "installation": Installation(version=10, version_text="1.0", bin="/usr/bin", origin="system"),
        "workload": WorkloadSpec(name="ledger"),
        "assignment": {},
        "states": 10,
        "control_states": 5,
        "controls": (LOSSY, TEARING),
        "work": "/nowhere",
    }
    return CrashPlan(**{**values, **changes})  # type: ignore[arg-type]


def state(
    number: int,
    *damages: DamageKind,
    arm: str = SUBJECT,
    kind: str = "flush",
    lost: int = 0,
    oldest_ms: float | None = None,
    recovery_s: float | None = 0.5,
    unknown: str = "",
) -> StateResult:
    verdict = Verdict.UNKNOWN if unknown else Verdict.FAIL if damages else Verdict.PASS
    return StateResult(
        id=f"{arm}-{number}",
        arm=arm,
        kind=kind,
        state={"seed": number},
        verdict=verdict,
        required=100,
        lost=lost,
        lost_oldest_ms=oldest_ms,
        damages=tuple(Damage(kind=damage, says=f"seen: {damage}") for damage in damages),
        recovery_s=recovery_s,
        unknown=unknown,
    )


def losing(number: int, *, arm: str = SUBJECT, oldest_ms: float = 40.0, lost: int = 3) -> StateResult:
    return state(number, DamageKind.LOST, arm=arm, lost=lost, oldest_ms=oldest_ms)


def process(*damages: DamageKind, arm: str = SUBJECT) -> StateResult:
    return state(0, *damages, arm=arm, kind=PROCESS)
