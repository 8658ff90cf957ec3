"""flow-control-throttles: the primary slows its writes for members that lag

What is seen: flowControl.isLagged is true, or operations wait a tenth of a second and more each second for flow
control.

Why it happens: when the majority's commit point falls 10 s behind (flowControlTargetLagSeconds), the primary gives out
fewer tickets for writes a second: the members' disks set the pace.

Remedy: find why the member lags (disk, long reads on it, an index build, the network).

Cost: none by looking. Switching flow control off lets the lag grow and pins the cache: not proposed.

Rivals: a primary that is slow by itself; clients that wait for w: "majority" without throttling.

References: MongoDB manual, "Replication: Flow Control" (2024). The tenth of a second is our choice.
"""

from __future__ import annotations

from dbdyno.engines.wiredtiger.diagnoses._status import judged_elsewhere, look, made, names, severity, within
from dbdyno.model.diagnosis import Diagnosis
from dbdyno.model.finding import Finding
from dbdyno.model.recording import Recording, Stall

_WAITED = 0.1


def check(recording: Recording, stall: Stall | None) -> Finding | None:
    lagged = within(recording, "lagged", stall).share_above(0)
    waited = within(recording, "throttled_s", stall).mean()
    writes = within(recording, "writes", stall).mean()
    if judged_elsewhere(recording, stall) or (not lagged and waited < _WAITED):
        return None
    return Finding(
        says=f"Flow control held writes back: {waited:.2f} s of waits a second, lagged in {lagged:.0%} of the samples, "
        f"{writes:.0f} writes a second.",
        why="The majority's commit point is more than 10 s behind, so the primary slows its writes.",
        severity=severity(recording, stall),
        evidence={"waits_s_per_s": round(waited, 3), "lagged_share": round(lagged, 2), "writes_per_s": round(writes)},
        remedy="Find why the member lags: its disk, long reads on it, an index build, the network.",
        fixes=(look("members", "rs.printSecondaryReplicationInfo()"),),
        risk="none by looking",
        verify="flowControl.isLagged is false, and timeAcquiringMicros stands.",
        confidence=0.9 if lagged and waited >= _WAITED else 0.7,
        ruled_out=("clients that wait for the majority alone: the primary itself gave out fewer tickets",),
        series=names("lagged", "throttled_s", "writes"),
    )


DIAGNOSIS = Diagnosis(
    id="flow-control-throttles",
    title="The primary slows its writes for members that lag",
    check=check,
    source="MongoDB manual, Replication: Flow Control (2024)",
    bad=lambda: made(lagged=1, throttled_s=12, writes=60),
    good=lambda: made(cache_dirty_bytes=2.0 * (1 << 30), writes=60),
)
