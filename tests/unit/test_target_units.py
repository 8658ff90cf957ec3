"""Values as the server's configuration takes them and gives them back."""

from __future__ import annotations

import pytest

from dbdyno.engines.postgresql import server, units
from dbdyno.model.knob import Setting


@pytest.mark.parametrize(
    ("value", "unit", "asked", "agree"),
    [
        ("65536", "8kB", "512MB", True),
        ("65536", "8kB", "65536", True),
        ("65536", "8kB", "511MB", False),
        ("300", "s", "5min", True),
        ("300", "s", "5s", False),
        ("0.9", "", "0.90", True),
        ("0.9", "", "0.5", False),
        ("on", "", "true", True),
        ("on", "", "off", False),
        ("-1", "8kB", "-1", True),
        ("512", "8kB", "-1", False),
        ("0", "kB", "0", True),
        ("pglz", "", "lz4", False),
        ("", "", "", True),
        ("1000", "ms", "1GB", False),
    ],
)
def test_read_back(value: str, unit: str, asked: str, agree: bool) -> None:
    assert units.same(Setting(name="x", value=value, unit=unit), asked) is agree


def test_numbers_get_the_unit_of_their_knob() -> None:
    assert units.literals({"shared_buffers": 65536, "fsync": "off"}) == {"shared_buffers": "512MB", "fsync": "off"}
    assert units.agrees(Setting(name="shared_buffers", value="65536", unit="8kB"), 65536)
    assert not units.agrees(Setting(name="shared_buffers", value="16384", unit="8kB"), 65536)


def test_quotes_survive() -> None:
    assert units.literals({"archive_command": "cp '%p' x = y # z"}) == {"archive_command": "cp '%p' x = y # z"}


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n", (150018, "15.18")),
        ("postgres (PostgreSQL) 18beta1\n", (180000, "18beta1")),
        ("postgres (PostgreSQL) 18.4\n", (180004, "18.4")),
        ("bash: not found", None),
    ],
)
def test_versions_of_binaries(text: str, version: tuple[int, str] | None) -> None:
    assert server.parse_version(text) == version
