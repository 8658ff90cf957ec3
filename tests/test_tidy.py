"""The tree keeps its own rules. Limits are ratchets: an old offender may only shrink, a new one is an error."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MODULE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70

# Old offenders and the most that they may have. Lower a number when you shorten one; never add a line.
MODULES_LONGER: dict[str, int] = {}
FUNCTIONS_LONGER: dict[str, int] = {}

# Words that give an engine away. Each may stand only in that engine's own folder (Python), in its wire protocol and
# its schema files (Rust).
ENGINE_WORDS = re.compile(
    r"postgres|psycopg|\bpg_|\blibpq|mysql|mariadb|innodb|myrocks|rocksdb|mongo|wiredtiger|valkey|redis", re.IGNORECASE
)
# Help texts may show a URL or a command with an engine in it, as a user would type it; and the file of a dialect's
# schema must be named once for the compiler.
EXAMPLE = re.compile(r"sandbox:|://|\bexample|dialect!\(|include_str!\(", re.IGNORECASE)

CLOCKS = re.compile(r"\btime\.(time|monotonic|sleep|perf_counter)\w*\(|datetime\.(now|utcnow|today)\(|date\.today\(")
RANDOMNESS = re.compile(
    r"^\s*(import random|from random import)|\bnp\.random\.(?!default_rng|Generator)\w+\(|"
    r"default_rng\(\)|os\.urandom|\bsecrets\.|uuid4"
)


def tracked(*patterns: str) -> list[Path]:
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [ROOT / line for line in listing.stdout.splitlines() if (ROOT / line).is_file()]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


PYTHON = tracked("src/*.py")
RUST = tracked("driver/*.rs")


def test_the_lists_are_not_empty() -> None:
    assert len(PYTHON) > 20
    assert len(RUST) > 5


@pytest.mark.parametrize("path", PYTHON + RUST, ids=relative)
def test_modules_are_short(path: Path) -> None:
    lines = len(path.read_text().splitlines())
    limit = MODULES_LONGER.get(relative(path), MODULE_LINES_MAX)
    assert lines <= limit, f"{relative(path)}: {lines} lines, at most {limit}: split it by what it does"


@pytest.mark.parametrize("path", PYTHON, ids=relative)
def test_functions_are_short(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            limit = FUNCTIONS_LONGER.get(f"{relative(path)}:{node.name}", FUNCTION_LINES_MAX)
            assert lines <= limit, f"{relative(path)}:{node.lineno}: {node.name} has {lines} lines, at most {limit}"


@pytest.mark.parametrize("path", PYTHON, ids=relative)
def test_engine_names_stay_in_their_folders(path: Path) -> None:
    parts = path.relative_to(ROOT / "src" / "dbdyno").parts
    if parts[0] == "engines" and len(parts) > 2:
        return
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if ENGINE_WORDS.search(line) and not EXAMPLE.search(line):
            raise AssertionError(f"{relative(path)}:{number}: an engine's name; ask for a capability: {line.strip()}")


@pytest.mark.parametrize("path", RUST, ids=relative)
def test_engine_names_stay_in_their_files_of_the_driver(path: Path) -> None:
    if "wire" in path.relative_to(ROOT).parts or "tests" in path.relative_to(ROOT).parts:
        return
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if line.strip().startswith("#[cfg(test)]"):
            return
        assert not (ENGINE_WORDS.search(line) and not EXAMPLE.search(line)), (
            f"{relative(path)}:{number}: {line.strip()}"
        )


@pytest.mark.parametrize("path", PYTHON, ids=relative)
def test_clock_and_randomness_come_in_as_arguments(path: Path) -> None:
    if path.parent == ROOT / "src" / "dbdyno" / "cli":
        return
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        found = CLOCKS.search(line) or RANDOMNESS.search(line)
        assert not found, f"{relative(path)}:{number}: pass a Clock or a seed in: {line.strip()}"


@pytest.mark.parametrize("path", PYTHON, ids=relative)
def test_libraries_do_not_print(path: Path) -> None:
    if "cli" in path.parts:
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"print", "exit"}, (
                f"{relative(path)}:{node.lineno}: only the command line prints"
            )


def twice(paths: Iterable[Path]) -> list[str]:
    """Names that more than one test file has: the test runner takes one for the other."""
    names = Counter(path.name for path in paths)
    return [name for name, count in names.items() if count > 1]


def test_no_two_test_files_have_one_name() -> None:
    assert not twice((ROOT / "tests").rglob("test_*.py"))


def test_the_rules_catch_what_they_forbid() -> None:
    """The negative controls of this file: a check that cannot fail is worth nothing."""
    assert ENGINE_WORDS.search("if engine == 'postgresql':")
    assert CLOCKS.search("started = time.monotonic()")
    assert RANDOMNESS.search("rng = np.random.default_rng()")
    assert RANDOMNESS.search("import random")
    assert not RANDOMNESS.search("rng = np.random.default_rng(seed)")
    assert twice([Path("a/test_x.py"), Path("b/test_x.py"), Path("b/test_y.py")]) == ["test_x.py"]
