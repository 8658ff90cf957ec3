"""The page of all rules is what their files say now."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[3]


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("rules_page", ROOT / "tools" / "rules_page.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_current() -> None:
    made = generator()
    if os.environ.get("DYNO_ACCEPT"):
        made.PAGE.write_text(made.page(), encoding="utf-8")
    assert made.PAGE.read_text(encoding="utf-8") == made.page(), "make accept, or tools/rules_page.py"


def test_every_rule_has_its_section() -> None:
    text = generator().page()
    assert "### PG002\n" in text
    assert text.count("**What it checks.**") == text.count("\n### ")
