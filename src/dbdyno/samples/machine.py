"""The machine that is sampled: this one, another one, or none; and what is to be known of it beside its series."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from dbdyno.hosts.facts import read_facts
from dbdyno.hosts.where import LOCAL, find_live_host, is_near
from dbdyno.model.clock import Clock
from dbdyno.model.errors import DynoError
from dbdyno.model.fact import Fact
from dbdyno.model.facts import Facts
from dbdyno.model.target import Target
from dbdyno.samples.faraway import Faraway, reach

Machine = bool | Faraway
"""True: this one; False: none."""

SAMPLED, SERVER_SEEN = "host.sampled", "host.server_process"
_NONE = "the server is on another machine, and none was named to be sampled"
_SERVER_PID, _DATA_FOLDER = "server.pid", "server.data_directory"


@contextlib.contextmanager
def sampled_machine(text: str | None, target: Target, clock: Clock, token: str) -> Iterator[Machine]:
    """The machine that `--host` means for this target, connected to when it is another one. `token` is a random word
    of letters and digits. Raises `UsageError`, `HostError`."""
    host = find_live_host(text, target)
    if host.ssh is None:
        yield host.live
        return
    far = reach(host.ssh, clock, token)
    try:
        yield far
    finally:
        far.close()


def machine_facts(
    machine: Machine,
    target: Target,
    server: Sequence[Fact],
    *,
    root: Path = Path("/"),
    folder: Path | None = None,
    device: str | None = None,
    pids: Sequence[int] = (),
) -> list[Fact]:
    """Which machine is sampled, what it is, and whether the server is seen on it. `server` are the server's facts:
    they may name its folder and process. Raises nothing."""
    if machine is False:
        return [Fact(name=SAMPLED, source="--host", unknown=_NONE)]
    known = Facts(server)
    named = known.find(_DATA_FOLDER)
    if folder is None and named is not None and isinstance(named.value, str) and not named.unknown:
        folder = Path(named.value)
    if isinstance(machine, Faraway):
        far = machine

        def read(there: Path) -> list[Fact]:
            return [*read_facts(there, folder=folder), *_server_seen(there, known)]

        if lost := far.look({"facts": lambda: far.read("facts", read)}):
            return [*far.facts(), Fact(name="host.kernel", unknown=lost)]
        try:
            return [*far.facts(), *far.read("facts", read)]
        except DynoError as error:
            return [*far.facts(), Fact(name="host.kernel", unknown=error.found or error.what)]
    seen = [] if is_near(target) else [*_server_seen(root, known)]
    sampled = Fact(name=SAMPLED, source="--host", value=LOCAL)
    return [sampled, *read_facts(root, folder=folder, device=device, pids=pids), *seen]


def _server_seen(root: Path, known: Facts) -> Iterator[Fact]:
    """The program that runs there under the number by which the server knows its own process."""
    pid = known.find(_SERVER_PID)
    if pid is None or pid.unknown or pid.value is None:
        return
    source = f"/proc/{pid.value}/comm"
    try:
        program = (root / source.lstrip("/")).read_text(errors="replace").strip()
        yield Fact(name=SERVER_SEEN, source=source, value=program)
    except FileNotFoundError:
        yield Fact(name=SERVER_SEEN, source=source, value="")
    except OSError as error:
        yield Fact(name=SERVER_SEEN, source=source, unknown=error.strerror or str(error))
