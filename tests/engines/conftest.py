"""What tests on real servers share: a home of their own, and sandboxes that are removed whatever happens."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dbdyno.cli.common import SystemClock
from dbdyno.engines.registry import engine_named
from dbdyno.model.engine import Engine
from dbdyno.model.errors import DynoError
from dbdyno.model.home import Home
from dbdyno.sandbox.options import SandboxOptions
from dbdyno.sandbox.sandbox import Sandbox, create, list_sandboxes, remove

Make = Callable[..., Sandbox]
_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests in this folder need real servers."""
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.engines)


@pytest.fixture
def clock() -> SystemClock:
    return SystemClock()


@pytest.fixture
def engine() -> Engine:
    return engine_named("postgresql")


@pytest.fixture(params=["15", "18"])
def version(request: pytest.FixtureRequest, engine: Engine) -> str:
    """Versions that the tests run on, where they are installed."""
    wanted: str = request.param
    found = {one.version_text.partition(".")[0] for one in engine.recipe().installations()}
    if wanted not in found:
        pytest.skip(f"no server of version {wanted} is installed (found: {', '.join(sorted(found)) or 'none'})")
    return wanted


@pytest.fixture
def home(clock: SystemClock) -> Iterator[Home]:
    """A home that the server's user may enter (pytest's own folders are closed to it)."""
    root = Path(tempfile.mkdtemp(prefix="dyno-test-"))
    root.chmod(0o755)
    home = Home(root)
    yield home
    for one in list_sandboxes(home, clock=clock):
        with contextlib.suppress(DynoError):
            remove(home, one.name, clock=clock, force=True)
    shutil.rmtree(root)


@pytest.fixture
def make(home: Home, engine: Engine, clock: SystemClock) -> Make:
    def make(name: str = "test", **options: object) -> Sandbox:
        return create(home, engine, name, SandboxOptions(**options), clock=clock)  # type: ignore[arg-type]

    return make
