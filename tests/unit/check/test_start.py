"""What an audit loads: the rules and the client of the server that it is about, and none of the heavy libraries of the
other verbs. Not a timing: a law about imports, from which the time follows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "asyncio", "jinja2", "matplotlib", "moto", "multiprocessing", "numpy", "optuna", "pandas", "prometheus_client",
    "pymongo", "redis", "rich", "scipy", "statistics", "textual", "unittest",
}  # fmt: skip
CLIENTS = {"postgresql": "psycopg", "innodb": "pymysql"}
DUMPS = {
    "postgresql": "name,setting,unit\nserver_version,15.4,\nshared_buffers,16384,8kB\nfsync,on,\n",
    "innodb": "Variable_name\tValue\nversion\t8.0.36-28.1\ninnodb_buffer_pool_size\t134217728\n",
}
SHOW = (
    "import sys\n"
    "from dbdyno.cli.main import main\n"
    "try:\n    main()\n"
    "except SystemExit as end:\n    assert end.code in (None, 0, 1), end.code\n"
    "sys.stderr.write('\\n'.join(sys.modules))\n"
)


def loaded(*words: str) -> set[str]:
    """Names of all modules that the command line has loaded when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", SHOW, *words], capture_output=True, text=True, check=False, timeout=60, cwd="/"
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return set(done.stderr.split())


def roots(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


@pytest.mark.parametrize("engine", DUMPS)
def test_an_audit_loads_what_it_is_about(engine: str, tmp_path: Path) -> None:
    dump = tmp_path / "settings.txt"
    dump.write_text(DUMPS[engine])
    modules = loaded("check", "--from", str(dump))
    assert "dbdyno.check.judge" in modules, "this was no audit"
    assert any(name.startswith(f"dbdyno.engines.{engine}.rules.") for name in modules), "no rule of it was asked"
    assert not roots(modules) & HEAVY
    others = [one for one in DUMPS if one != engine]
    assert not roots(modules) & {CLIENTS[one] for one in others}
    assert not [name for name in modules for one in others if name.startswith(f"dbdyno.engines.{one}.rules")]
    for layer in ("run", "tune", "crash", "explain", "view", "samples"):
        assert not [name for name in modules if name.startswith(f"dbdyno.{layer}.")], layer


def test_help_loads_no_verb() -> None:
    modules = loaded("--help")
    assert "click" in modules
    assert not roots(modules) & (HEAVY | set(CLIENTS.values()))
    assert not [name for name in modules if name.startswith(("dbdyno.engines.", "dbdyno.check.", "dbdyno.hosts."))]
