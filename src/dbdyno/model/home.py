"""Where dyno keeps what it makes: one folder, `$DYNO_HOME` or `$XDG_DATA_HOME/dyno` or `~/.local/share/dyno`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Home:
    root: Path

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def studies(self) -> Path:
        return self.root / "studies"

    @property
    def sandboxes(self) -> Path:
        return self.root / "sandboxes"

    @property
    def crashes(self) -> Path:
        """Power-loss proofs."""
        return self.root / "crashes"


def find_home(environment: Mapping[str, str]) -> Home:
    """The folder that the environment names; it need not exist yet."""
    if chosen := environment.get("DYNO_HOME"):
        return Home(Path(chosen).absolute())
    data = environment.get("XDG_DATA_HOME") or str(Path(environment.get("HOME", ".")) / ".local" / "share")
    return Home(Path(data).absolute() / "dyno")


def find_config(environment: Mapping[str, str]) -> Path:
    """The folder of the user's configuration (rules of the site); it need not exist."""
    config = environment.get("XDG_CONFIG_HOME") or str(Path(environment.get("HOME", ".")) / ".config")
    return Path(config).absolute() / "dyno"


def fetched_servers(environment: Mapping[str, str]) -> list[Path]:
    """Folders of the programs that `tools/servers` fetched, of any engine."""
    data = environment.get("XDG_DATA_HOME") or f"{environment.get('HOME', '/nonexistent')}/.local/share"
    places = [Path(environment["DYNO_SERVERS"])] if environment.get("DYNO_SERVERS") else []
    if environment.get("DYNO_HOME"):
        places.append(Path(environment["DYNO_HOME"]) / "servers")
    places += [Path(data) / "dyno" / "servers", Path("/var/lib/dyno/servers")]
    return [one.parent / "bin" for place in places for one in sorted(place.glob("*/complete"))]
