"""What tests on real servers share: a home of their own, and sandboxes that are removed whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sandbox_tools import temporary_home

from dbdyno.cli.common import SystemClock
from dbdyno.engines.registry import engine_named
from dbdyno.model.engine import Engine
from dbdyno.model.home import Home
from dbdyno.sandbox.options import SandboxOptions
from dbdyno.sandbox.sandbox import Sandbox, create

Make = Callable[..., Sandbox]
_HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """All tests in this folder need real servers; those of the full matrix run only where -m names it."""
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.engines)
    if "engines_full" not in config.getoption("-m"):
        left_out = [item for item in items if item.get_closest_marker("engines_full")]
        items[:] = [item for item in items if not item.get_closest_marker("engines_full")]
        config.hook.pytest_deselected(items=left_out)


@pytest.fixture(scope="session")
def clock() -> SystemClock:
    return SystemClock()


@pytest.fixture(scope="session")
def engine() -> Engine:
    return engine_named("postgresql")


@pytest.fixture(scope="session", params=["15", "18"])
def version(request: pytest.FixtureRequest, engine: Engine) -> str:
    """Versions that the tests run on, where they are installed."""
    wanted: str = request.param
    found = {one.version_text.partition(".")[0] for one in engine.recipe().installations()}
    if wanted not in found:
        pytest.skip(f"no server of version {wanted} is installed (found: {', '.join(sorted(found)) or 'none'})")
    return wanted


@pytest.fixture
def home(clock: SystemClock) -> Iterator[Home]:
    with temporary_home(clock) as home:
        yield home


@pytest.fixture
def make(home: Home, engine: Engine, clock: SystemClock) -> Make:
    def make(name: str = "test", **options: object) -> Sandbox:
        return create(home, engine, name, SandboxOptions(**options), clock=clock)  # type: ignore[arg-type]

    return make
