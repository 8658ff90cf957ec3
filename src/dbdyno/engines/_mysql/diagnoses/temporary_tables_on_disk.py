"""temporary-tables-on-disk: statements make many temporary tables that go to disk

What is seen: internal temporary tables go to disk at a rate of dozens a second: in a stall several times as many as
usual, or always and a good part of all temporary tables.

Why it happens: a sort, a grouping or a derived table that does not fit tmp_table_size (or max_heap_table_size where
that is smaller), or that holds long texts, becomes a table on disk. In MySQL 5.7 they share a space (ibtmp1) that grows
and does not become smaller before a restart, unless `max` in innodb_temp_data_file_path bounds it; later servers and
MariaDB give them files of their own. One table that is huge does not show here: tables are counted, not their bytes.

Remedy: an index that gives the order; fewer columns; a larger tmp_table_size and max_heap_table_size; where the space
is shared, a `max` for it, so that a statement that runs away fails before the disk is full.

Cost: memory for each table of each connection; with a `max`, statements that need more fail.

Rivals: a cache that is too small (then pages of tables are read); the watching itself, which makes a few a second.

References: an article on the basics of InnoDB's performance (Percona, 2023), on ibtmp1 and its max; MySQL 8.0 manual,
10.4.4 "Internal Temporary Table Use in MySQL" (2018).
"""

from __future__ import annotations

from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.example import Example
from dbdyno.model.facts import Facts, MissingFact
from dbdyno.model.finding import Finding, Fix, Severity
from dbdyno.model.recording import Recording, Stall
from dbdyno.model.units import bytes_text

_PER_S_MIN = 20.0
"""Watching makes two to six a second."""
_FACTOR = 5.0
_SHARE = 0.25
"""Of all temporary tables, as the rule on the same counters has it."""
_LIMITS = ("tmp_table_size", "max_heap_table_size")
_BYTES_MAX = 256 << 20


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    spilled, made = recording.role("temp_spills"), recording.series("server", "created_tmp_tables")
    seen = (spilled if stall is None else spilled.during(stall, slack_s=1.0)).mean()
    all_seen = (made if stall is None else made.during(stall, slack_s=1.0)).mean()
    usual = spilled.outside(recording.stalls).median()
    limit_bytes = min(recording.facts.number(f"setting.{name}") for name in _LIMITS)
    if seen < _PER_S_MIN or (stall is not None and seen < _FACTOR * usual):
        return None
    if stall is None and (usual < _PER_S_MIN or seen < _SHARE * all_seen):
        return None
    return Finding(
        says=f"{seen:.0f} of {all_seen:.0f} temporary tables a second went to disk"
        + (f", usually {usual:.0f}." if stall is not None else "."),
        why=f"What does not fit {bytes_text(limit_bytes)}, or holds long texts, becomes a table on disk.",
        severity=Severity.ADVICE if stall is None else Severity.WARNING,
        evidence={
            "on_disk_per_s": round(seen, 1),
            "tables_per_s": round(all_seen, 1),
            "usual_per_s": round(usual, 1),
            "limit_bytes": round(limit_bytes),
        },
        remedy="Find the statements (Created_tmp_disk_tables of the digests); an index for their order, fewer columns, "
        "or more memory.",
        fixes=_larger(recording.facts, limit_bytes),
        risk="Memory for each temporary table of each connection.",
        verify="server.created_tmp_disk_tables no longer rises like that.",
        confidence=0.5,
        ruled_out=("the watching itself: it makes a few a second",),
        series=(spilled.name, "server.created_tmp_tables"),
    )


def _larger(facts: Facts, limit_bytes: float) -> tuple[Fix, ...]:
    """Four times as much, of the settings that are smaller; none above what one table should get."""
    wanted = min(_BYTES_MAX, round(4 * limit_bytes))
    fixes = []
    for name in _LIMITS:
        try:
            before = round(facts.number(f"setting.{name}"))
        except MissingFact:
            continue
        if before < wanted:
            fixes.append(
                Fix(
                    kind="setting",
                    name=name,
                    value=str(wanted),
                    before=str(before),
                    live=f"SET GLOBAL {name} = {wanted};",
                    file="my.cnf",
                    line=f"{name} = {wanted}",
                    undo=f"SET GLOBAL {name} = {before};",
                )
            )
    return tuple(fixes)


def _example(*, on_disk: bool) -> Example:
    """In the stall 400 temporary tables a second are made; most go to disk, or hardly any."""
    example = Example(lowest_per_s=200)
    example.level("server.created_tmp_disk_tables", 3, during=300 if on_disk else 3, role="temp_spills")
    example.level("server.created_tmp_tables", 50, during=400)
    example.fact("setting.tmp_table_size", 16 << 20, unit="B")
    example.fact("setting.max_heap_table_size", 16 << 20, unit="B")
    return example


DIAGNOSIS = Diagnosis(
    id="temporary-tables-on-disk",
    title="Many temporary tables go to disk",
    check=check,
    source="MySQL 8.0 manual, 10.4.4 Internal Temporary Table Use in MySQL (2018)",
    bad=lambda: _example(on_disk=True),
    good=lambda: _example(on_disk=False),
)
