"""What a power-loss proof is asked, what it saw, and what follows from it."""

from __future__ import annotations

import enum

from dbdyno.model.engine import Installation
from dbdyno.model.fact import Scalar
from dbdyno.model.finding import Verdict
from dbdyno.model.knob import Level, Value
from dbdyno.model.plan import WorkloadSpec
from dbdyno.model.record import FORMAT_VERSION, Record
from dbdyno.model.target import Target

SUBJECT = "subject"
"""Name of the configuration that is on trial; all other arms are negative controls."""
PROCESS = "process"
"""Kind of the one state in which only the server's process dies and the page cache survives."""


class DamageKind(enum.StrEnum):
    LOST = "lost"
    """An acknowledged transaction is not there, whole and without a trace."""
    HOLE = "hole"
    """An acknowledged transaction is not there, a later one of the same client is: what is lost is not a tail."""
    TORN = "torn"
    """A transaction is there in part, or a row is not what was written."""
    PHANTOM = "phantom"
    """A transaction is there that nobody sent."""
    INVARIANT = "invariant"
    """A consistency condition of the workload does not hold."""
    ENGINE = "engine"
    """The engine's own checks find damage, or it cannot read its tables."""
    START = "start"
    """The server does not start."""
    MOUNT = "mount"
    """The file system cannot be mounted."""
    LOG = "log"
    """The log that replicas and a recovery to a moment read holds other transactions than the tables."""

    @property
    def corrupts(self) -> bool:
        """Whether it is more than the loss of a tail; the log that others read is judged apart."""
        return self not in (DamageKind.LOST, DamageKind.LOG)


class Damage(Record, frozen=True, kw_only=True):
    kind: DamageKind
    says: str


class Logged(Record, frozen=True, kw_only=True):
    """What the log that replicas and a recovery to a moment read says was inserted into a table."""

    keys: frozenset[tuple[int, int]] = frozenset()
    """The first two columns of each row."""
    problem: str = ""
    """Why it cannot be read."""


class Control(Record, frozen=True, kw_only=True):
    """A configuration known to be unsafe, which the proof must catch."""

    name: str
    settings: dict[str, Value] = {}
    preload: str = ""
    """A library that is loaded into the server before all others (LD_PRELOAD)."""
    level: Level
    """The level that it reaches at most."""
    says: str
    """What it gives up."""
    source: str = ""
    needs_tearing: bool = False
    """Whether it shows only where the file system tears a page; not seeing it then says nothing against the proof."""
    fault: str = ""
    """Name of the fault of the disk that it takes to show; empty: it shows when the power goes."""
    unheard: bool = False
    """Whether the server is not told that the disk failed, as if it took the error for a success."""


class CrashPlan(Record, frozen=True, kw_only=True):
    """A proof as the command line gave it."""

    format: int = FORMAT_VERSION
    name: str
    target: Target
    installation: Installation
    workload: WorkloadSpec
    assignment: dict[str, Value]
    """Settings of the configuration on trial."""
    level: Level = Level.L3
    """What the contract promises."""
    recovery_s_max: float = 120.0
    log_agrees: bool = True
    """Whether a log that replicas and a recovery to a moment read, where the server keeps one apart from its own, must
    hold what the tables hold: the contract promises one of the two."""
    states: int
    """Crash states of the configuration on trial."""
    control_states: int = 0
    """Of each negative control; 0: none are run."""
    controls: tuple[Control, ...] = ()
    file_system: str = "ext4"
    mode: str = "block"
    """How the loss is made: `block` (a recorded disk under a real file system)."""
    fault: str = ""
    """What the disk does wrong during the load: see `dbdyno.crash.faults`."""
    seed: int = 1
    threads: int = 8
    load_s: float = 4.0
    disk_bytes: int = 2 * 1024**3
    work: str
    """Folder of the recorded disks and of the servers on them."""
    command: tuple[str, ...] = ()


class StateResult(Record, frozen=True, kw_only=True):
    """One crash state: what had to be there, what was."""

    id: str
    """Unique in the folder: `dyno crash --replay FOLDER/ID` makes it again."""
    arm: str
    kind: str
    state: dict[str, Scalar] = {}
    """The state as the recorded disk knows it; enough to make it again."""
    verdict: Verdict
    required: int = 0
    """Acknowledged transactions that had to be there."""
    lost: int = 0
    lost_oldest_ms: float | None = None
    """Time between the oldest lost acknowledgement and the loss of power."""
    damages: tuple[Damage, ...] = ()
    damages_left_out: int = 0
    """Damages beyond those that are kept here."""
    journal_replay_s: float | None = None
    """Mounting, which includes the replay of the file system's journal."""
    recovery_s: float | None = None
    """From the start command of the server until it answered; None: it did not."""
    seconds: float = 0.0
    """All that the state cost."""
    log_tail: str = ""
    unknown: str = ""
    """Why it could not be judged."""

    @property
    def corrupt(self) -> bool:
        return any(damage.kind.corrupts for damage in self.damages)

    @property
    def disagrees(self) -> bool:
        return any(damage.kind is DamageKind.LOG for damage in self.damages)


class KindCount(Record, frozen=True, kw_only=True):
    states: int = 0
    losing: int = 0
    """States in which acknowledged transactions are missing."""
    corrupt: int = 0
    """States that are torn, inconsistent, or cannot be started."""
    unknown: int = 0


class ArmOutcome(Record, frozen=True, kw_only=True):
    """What all states of one configuration say together."""

    name: str
    says: str = ""
    settings: dict[str, Value] = {}
    level: Level | None = None
    """The level that it reached; None: too little was seen."""
    expected: Level | None = None
    """Of a control: the level that it reaches at most."""
    kinds: dict[str, KindCount] = {}
    states: int = 0
    """That were judged; the crash of the process alone is not among them."""
    losing: int = 0
    corrupt: int = 0
    disagreeing: int = 0
    """States in which the log that replicas and a recovery to a moment read does not hold what the tables hold."""
    unknown: int = 0
    lost_max: int = 0
    """Most transactions lost in one state."""
    lost_oldest_ms: float | None = None
    acknowledged: int = 0
    """Transactions that the load got acknowledged."""
    rate: float | None = None
    """Bad states over judged ones; of a control, its detection rate."""
    rate_high: float | None = None
    """Upper end of that rate at 95 % confidence (one-sided, exact binomial)."""
    recovery_s_median: float | None = None
    recovery_s_max: float | None = None
    process_crash: Verdict = Verdict.UNKNOWN
    """Whether it survives the death of its process without corruption."""
    bad: tuple[str, ...] = ()
    """The first bad states by id."""
    caught: bool | None = None
    """Of a control: whether it was seen to break what it breaks; None: not run to an end."""
    error: str = ""


class CrashOutcome(Record, frozen=True, kw_only=True):
    """How the proof stands; rewritten as it goes on."""

    format: int = FORMAT_VERSION
    status: str
    """`running`, `done`, `interrupted` or `failed`."""
    verdict: Verdict = Verdict.UNKNOWN
    level: Level | None = None
    says: str = ""
    scope: str = ""
    arms: tuple[ArmOutcome, ...] = ()
    """The configuration on trial first."""
    seconds: float = 0.0
    error: str = ""

    def arm(self, name: str) -> ArmOutcome | None:
        return next((arm for arm in self.arms if arm.name == name), None)
