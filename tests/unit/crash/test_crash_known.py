"""What a study knows already of the power-loss proof of a configuration."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbdyno.crash import modes
from dbdyno.model.contract import Contract
from dbdyno.model.finding import Verdict
from dbdyno.model.knob import Guard, KnobSpace, Level
from dbdyno.sandbox.options import Disk
from dbdyno.tune.proof import KNOWN, Known, Prover

SPACE = KnobSpace(knobs=(), guards=(Guard(setting="sync", levels={"on": Level.L3}),))


class Clock:
    def monotonic(self) -> float:
        return 0.0

    def unix(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        raise AssertionError(seconds)


def prover(home: Path, **changes: Any) -> Prover:
    about = {"version": "15.1", "disk": Disk.PLAIN, "contract": Contract(), "states": 10, **changes}
    sandbox: Any = SimpleNamespace(
        engine=SimpleNamespace(name="one"),
        installation=SimpleNamespace(version_text=about["version"], bin="/usr/bin"),
        record=SimpleNamespace(made_with={}, options=SimpleNamespace(disk=about["disk"])),
    )
    return Prover(sandbox, about["contract"], home, Clock(), states=about["states"])


@pytest.fixture
def possible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modes, "why_not", lambda _mode, _file_system: "")


@pytest.mark.usefixtures("possible")
def test_a_proof_holds_for_what_agrees_in_all_that_durability_hangs_on(tmp_path: Path) -> None:
    key = prover(tmp_path).key({"sync": "on", "cache": 1}, SPACE)
    assert prover(tmp_path).key({"cache": 2, "sync": "on"}, SPACE) == key
    others = [
        prover(tmp_path).key({"sync": "off"}, SPACE),
        # The default may be another value.
        prover(tmp_path).key({"cache": 1}, SPACE),
        prover(tmp_path, version="15.2").key({"sync": "on"}, SPACE),
        prover(tmp_path, disk=Disk.XFS).key({"sync": "on"}, SPACE),
        prover(tmp_path, contract=Contract(level=Level.L2)).key({"sync": "on"}, SPACE),
        prover(tmp_path, contract=Contract(recovery_s_max=5)).key({"sync": "on"}, SPACE),
    ]
    assert key not in others
    assert len(set(others)) == len(others)


@pytest.mark.usefixtures("possible")
def test_what_is_known_is_not_run_again(tmp_path: Path) -> None:
    one = prover(tmp_path)
    (tmp_path / "p").mkdir()
    one._remember(Known(key=one.key({}, SPACE), proof=str(tmp_path / "p"), states=10, says="it reaches L3"))
    with (tmp_path / KNOWN).open("ab") as stream:
        stream.write(b'{"cut off')
    facts = one.prove("s", {"cache": 7}, SPACE)
    assert facts["power_loss"] is Verdict.PASS
    assert "known from p" in str(facts["power_loss_says"])
    # A proof of fewer states, or one that is gone, is none.
    assert prover(tmp_path, states=11)._known(one.key({}, SPACE)) is None
    (tmp_path / "p").rmdir()
    assert one._known(one.key({}, SPACE)) is None


def test_what_cannot_be_run_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modes, "why_not", lambda _mode, _file_system: "no FUSE here")
    facts = prover(tmp_path).prove("s", {}, SPACE)
    assert (facts["power_loss"], facts["power_loss_says"]) == (Verdict.UNKNOWN, "not run: no FUSE here")
    assert prover(tmp_path, states=0).prove("s", {}, SPACE)["power_loss"] is Verdict.UNKNOWN


def test_the_weaker_mode_is_taken_where_the_stronger_cannot_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = prover(tmp_path)
    monkeypatch.setattr(modes, "why_not", lambda _mode, _file_system: "")
    strong = (one.mode, one.file_system, one.key({}, SPACE))
    monkeypatch.setattr(modes, "why_not", lambda mode, _file_system: "no root" if mode == modes.BLOCK else "")
    weak = (one.mode, one.file_system, one.key({}, SPACE))
    assert strong[:2] == ("block", "ext4")
    assert weak[:2] == ("folder", "none")
    # What passed there has not passed here.
    assert strong[2] != weak[2]
