"""Synthetic folders for the reports, made once for all tests of this folder; tests that change one copy it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "fixtures"))

import make_study


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_study.make_run(tmp_path_factory.mktemp("runs") / "plain", measure_s=30, warmup_s=5, rate_s=10)


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_study.make_study(tmp_path_factory.mktemp("studies") / "demo", measure_s=10, pairs=3)
