"""What the diagnoses of this folder share: windows of series, the checkpoint's age, changes of settings."""

from __future__ import annotations

from dbdyno.model.facts import Facts, MissingFact
from dbdyno.model.finding import Fix, Needs, Severity
from dbdyno.model.recording import Recording, Series, Stall

ASYNC_SHARE = 7 / 8
"""From this part of the limit on, pages are flushed for the age, asynchronously, and …"""
SYNC_SHARE = 15 / 16
"""… from this part on a writer waits for it. Both as InnoDB computes them from the limit (log0log, 5.1 to 8.0.29)."""
DISK_BUSY_MS_PER_S = 900.0
_LIMIT_NEAR = 0.8
_STRETCH = 3
_MARIADB = 1_000_000
_RESTART = frozenset(
    {"innodb_buffer_pool_instances", "innodb_doublewrite", "innodb_log_file_size", "innodb_purge_threads",
     "innodb_rollback_segments", "innodb_page_cleaners", "innodb_adaptive_hash_index_parts", "innodb_autoinc_lock_mode",
     "innodb_temp_data_file_path"}
)  # fmt: skip
"""Not changed while the server runs (MySQL 8.0 manual, "InnoDB System Variables"; `_dynamic` knows the exceptions)."""


def within(series: Series, stall: Stall | None) -> Series:
    """The stall's part, or all of it; of what is asked every few seconds, the answers nearest to a short stall."""
    if stall is None:
        return series
    exact = series.during(stall)
    return exact if len(exact) else series.during(stall, slack_s=6.0)


def usual(series: Series, stall: Stall | None, otherwise: float) -> float:
    """Mean of the minute before the stall; `otherwise` where there is none or nothing was seen."""
    if stall is None:
        return otherwise
    try:
        return series.before(stall).where(series.before(stall).t_s < stall.start_s).mean()
    except MissingFact:
        return otherwise


def age_share(recording: Recording, stall: Stall | None) -> float:
    """Greatest age of the checkpoint as a share of its limit."""
    limit = recording.role("checkpoint_age_limit_bytes").median()
    age = within(recording.role("checkpoint_distance_bytes"), stall).max()
    return age / limit if limit > 0 else 0.0


def disk_busy_ms(recording: Recording, stall: Stall | None) -> float:
    """Milliseconds of each second in which the disk under the data had something to do; of the busiest one where it is
    not known which that is. Raises `MissingSeries`."""
    return max(within(recording.series("disk", "busy_ms", key), stall).mean() for key in _data_disks(recording))


def disk_full(recording: Recording, stall: Stall | None) -> bool | None:
    """Whether the disk was busy nearly all the time, or wrote nearly as often as its control group may (what a limit
    holds back is not under way, so that the disk looks idle); None where neither can be seen."""
    allowed = recording.facts.find("host.cgroup_write_iops")
    try:
        if disk_busy_ms(recording, stall) >= DISK_BUSY_MS_PER_S:
            return True
        if allowed is None or not isinstance(allowed.value, int | float) or allowed.value <= 0:
            return False
        disks = _data_disks(recording)
        writes = max(within(recording.series("disk", "writes", key), stall).mean() for key in disks)
    except MissingFact:
        return None
    return writes >= _LIMIT_NEAR * allowed.value


def _data_disks(recording: Recording) -> list[str | None]:
    known = recording.facts.find("host.disk_device")
    disks = recording.keys("disk")
    if known is not None and not known.unknown and str(known.value) in disks:
        return [str(known.value)]
    return [*disks] or [None]


def read_ahead(recording: Recording, stall: Stall | None) -> float:
    """Pages a second that were read before anybody asked for them, by both kinds of read-ahead. Random read-ahead
    counts for nothing in records without its counter. Raises `MissingSeries`."""
    ahead = within(recording.series("innodb", "innodb_buffer_pool_read_ahead"), stall).mean()
    try:
        return ahead + within(recording.series("innodb", "innodb_buffer_pool_read_ahead_rnd"), stall).mean()
    except MissingFact:
        return ahead


def names(recording: Recording, *roles: str) -> tuple[str, ...]:
    """Names of the series that have these roles in this record."""
    return tuple(recording.role(role).name for role in roles)


def number(facts: Facts, name: str, otherwise: float) -> float:
    """A setting, or the server's default where a saved text does not tell it."""
    try:
        return facts.number(f"setting.{name}")
    except MissingFact:
        return otherwise


def flag(facts: Facts, name: str, otherwise: bool) -> bool:
    try:
        return facts.flag(f"setting.{name}")
    except MissingFact:
        return otherwise


def setting(facts: Facts, name: str, value: int | str) -> Fix:
    """The fix that gives a variable another value, now where that works, and in the option file."""
    known = facts.find(f"setting.{name}")
    before = "" if known is None or known.unknown else str(known.value)
    dynamic = name not in _RESTART or _dynamic(facts, name)
    return Fix(
        kind="setting",
        name=name,
        value=str(value),
        before=before,
        live=f"SET GLOBAL {name} = {value};" if dynamic else "",
        file="my.cnf",
        line=f"{name} = {value}",
        needs=Needs.NOTHING if dynamic else Needs.RESTART,
        undo=f"SET GLOBAL {name} = {before};" if dynamic and before else "",
        fact=f"setting.{name}",
    )


def log_capacity(facts: Facts, wanted_bytes: float) -> Fix:
    """The log's size, by the name that this server has for it, rounded up to a power of two from 64 MiB on."""
    size = 64 << 20
    while size < wanted_bytes:
        size *= 2
    if facts.has("setting.innodb_redo_log_capacity"):
        return setting(facts, "innodb_redo_log_capacity", size)
    files = number(facts, "innodb_log_files_in_group", 1.0)
    return setting(facts, "innodb_log_file_size", round(size / max(1.0, files)))


def _dynamic(facts: Facts, name: str) -> bool:
    """MariaDB can do some of them: the log from 10.9 on, purge threads from 10.5 on."""
    version = facts.find("server.version")
    if version is None or not isinstance(version.value, int | float):
        return False
    since = {"innodb_log_file_size": _MARIADB + 100900, "innodb_purge_threads": _MARIADB + 100502}
    return name in since and version.value >= since[name]


def severity(recording: Recording, stall: Stall | None) -> Severity:
    """A warning where it explains a stall, or where nobody knows whether there was one (a saved text)."""
    seen = len(recording.throughput) > 0 and recording.throughput.max() > 0
    return Severity.WARNING if stall is not None or not seen else Severity.ADVICE


def judged_elsewhere(recording: Recording, stall: Stall | None) -> bool:
    """Whether the whole record need not be judged, because its stalls are."""
    return stall is None and bool(recording.stalls)


def window(recording: Recording, series: Series, stall: Stall | None, least: float) -> tuple[float, float] | None:
    """Start and end of what is judged: the stall; without one, the longest stretch in which the series stands at
    `least` or above, when it lasts three values (one, in a record of one moment). None when there is none."""
    if stall is not None:
        return stall.start_s, stall.end_s
    best: tuple[float, float, int] | None = None
    count, start_s = 0, 0.0
    for t_s, value in zip(series.t_s, series.values, strict=True):
        count, start_s = (count + 1, start_s if count else float(t_s)) if value >= least else (0, 0.0)
        if count and (best is None or count > best[2]):
            best = start_s, float(t_s), count
    needed = 1 if recording.duration_s <= 0 else _STRETCH
    return None if best is None or best[2] < needed else (best[0], best[1])
