"""A disk that fills up while a dataset is loaded: one clear message, and the sandbox can be used again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dbdyno.model.errors import DriverError
from dbdyno.model.plan import WorkloadSpec
from dbdyno.run.driver import check_dataset, load_dataset
from dbdyno.sandbox.options import Disk
from dbdyno.sandbox.sandbox import Sandbox

SMALL = WorkloadSpec(name="tpcb", scale=1)


def test_a_load_onto_a_full_disk_says_so_and_harms_nothing(make: Callable[..., Sandbox]) -> None:
    sandbox = make(disk=Disk("ext4"), size_bytes=512 << 20)
    if sandbox.device() is None:
        pytest.skip("this machine cannot make a volume of its own: " + "; ".join(sandbox.notes))
    # Little log, so that it is the tables that fill the disk; a full disk under the log stops the server instead.
    sandbox.start({"max_wal_size": "64MB", "min_wal_size": "32MB"})
    with pytest.raises(DriverError) as caught:
        load_dataset(sandbox.target, sandbox.secret, WorkloadSpec(name="tpcc", scale=20), threads=2, seed=1)
    words = str(caught.value)
    assert "No space left on device" in words or "connection" in words
    if caught.value.code == "disk_full":
        assert "to do" in words
        assert "scale" in words
    if not sandbox.running():
        sandbox.recover(timeout_s=60)
    load_dataset(sandbox.target, sandbox.secret, SMALL, threads=1, seed=1, restart=True)
    assert {event["verdict"] for event in check_dataset(sandbox.target, sandbox.secret, SMALL)} == {"pass"}
