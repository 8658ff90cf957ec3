"""A disk that fills up while a dataset is loaded: the message names the cause, and nothing is left behind."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sandbox_tools import leaves_nothing

from dbdyno.model.errors import DriverError
from dbdyno.model.plan import WorkloadSpec
from dbdyno.run.driver import load_dataset
from dbdyno.sandbox.options import Disk
from dbdyno.sandbox.sandbox import Sandbox
from dbdyno.sandbox.targets import Resolved


def test_a_load_onto_a_full_disk_says_so_and_leaves_nothing(make: Callable[..., Sandbox]) -> None:
    sandbox = make(disk=Disk.EXT4, size_bytes=512 << 20)
    if sandbox.notes:
        pytest.skip("this machine cannot make a volume of its own: " + "; ".join(sandbox.notes))
    too_large = WorkloadSpec(name="tpcc", scale=20)
    resolved = Resolved(sandbox.target, sandbox.secret, sandbox.engine, sandbox)
    with pytest.raises(DriverError) as caught, resolved.serving() as served:
        load_dataset(served.target, served.secret, too_large, threads=2, seed=1)
    # Where the tables fill the disk the statement fails; where the log does, the server goes down and its log says why.
    assert "No space left on device" in str(caught.value)
    assert caught.value.todo
    sandbox.remove()
    leaves_nothing(sandbox)
