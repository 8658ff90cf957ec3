"""What engines bring for the proof."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.crash.hooks import (
    NoIntegrity,
    choose_controls,
    controls_of,
    file_damage,
    integrity_of,
    no_sync_controls,
    parse_controls,
    preloaded,
)
from dbdyno.engines.registry import engines
from dbdyno.model.errors import HostError, UsageError
from dbdyno.model.knob import Level
from dbdyno.model.machine import DiskClass, Machine

NEW = 10**9
MACHINE = Machine(memory_bytes=2**33, cores=2, disk=DiskClass.SSD)


@pytest.mark.parametrize("engine", sorted(engines()))
def test_controls_are_what_the_contracts_table_forbids(engine: str) -> None:
    """Each control breaks a row of the engine's own table, and keeps no more than that row permits."""
    known = engines()[engine].knobs(MACHINE, NEW)
    guards = {guard.setting: guard for guard in known.guards}
    for control in controls_of(engine, NEW):
        assert control.says
        assert control.source
        assert control.level < Level.L3
        permitted = [
            guards[name].levels.get(str(value), guards[name].otherwise)
            for name, value in control.settings.items()
            if name in guards
        ]
        if control.settings:
            assert permitted, f"{control.name}: none of its settings is in the contract's table"
            assert min(permitted) < Level.L3, f"{control.name}: the contract's table permits it"


@pytest.mark.parametrize("engine", sorted(engines()))
def test_checks_are_found_by_being_there(engine: str) -> None:
    folder = Path(str(__import__(f"dbdyno.engines.{engine}", fromlist=["x"]).__file__)).parent
    assert isinstance(integrity_of(engine), NoIntegrity) != (folder / "integrity.py").exists()
    assert integrity_of(engine).role_of("some/file") == "other"


def test_controls_of_other_versions_are_left_out() -> None:
    text = "\n".join(
        f'[[control]]\nname = "{name}"\nlevel = "L1"\nsettings = {{ a = "b" }}\nsays = "x"\n{extra}'
        for name, extra in (("old", "version_max = 9"), ("new", "version_min = 20"), ("all", "needs_tearing = true"))
    )
    assert [control.name for control in parse_controls(text, 10)] == ["all"]
    assert [control.name for control in parse_controls(text, 9)] == ["old", "all"]
    assert [control.name for control in parse_controls(text, 20)] == ["new", "all"]
    assert parse_controls(text, 10)[0].needs_tearing


def test_a_control_is_chosen_by_name() -> None:
    known = parse_controls('[[control]]\nname = "a"\nlevel = "L1"\nsettings = {}\nsays = "x"\n', 1)
    assert choose_controls(known, ()) == known
    assert choose_controls(known, ("a",)) == known
    with pytest.raises(UsageError, match="no negative control b"):
        choose_controls(known, ("b",))


def test_the_disk_has_a_control_where_the_library_is(tmp_path: Path) -> None:
    assert no_sync_controls(tmp_path) == ()
    library = tmp_path / "some-linux-gnu" / "libeatmydata.so"
    library.parent.mkdir()
    library.touch()
    (control,) = no_sync_controls(tmp_path)
    assert control.preload == str(library)
    assert preloaded(["server", "-D"], control.preload) == ["/usr/bin/env", f"LD_PRELOAD={library}", "server", "-D"]
    assert preloaded(["server"], "") == ["server"]


def test_a_tool_that_fails_is_damage() -> None:
    assert file_damage(["/bin/sh", "-c", "exit 0"], None) == ""
    assert file_damage(["/bin/sh", "-c", "echo page 7 is torn >&2; exit 1"], None) == "sh: page 7 is torn"
    with pytest.raises(HostError, match="could not be run"):
        file_damage(["/nowhere/tool"], None)
