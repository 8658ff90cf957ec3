"""The processes of a server as they are looked at each second."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dbdyno.sandbox import process

_PARENT = """
import os, subprocess, sys, threading
children = []
thread = threading.Thread(target=lambda: children.append(subprocess.Popen([sys.executable, "-c", "input()"])))
thread.start(); thread.join()
children.append(subprocess.Popen([sys.executable, "-c", "input()"]))
print(*sorted(one.pid for one in children), flush=True)
for one in children: one.wait()
"""


def test_a_family_is_all_that_descends_from_it() -> None:
    words = [sys.executable, "-c", _PARENT]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        children = [int(word) for word in parent.stdout.readline().split()]
        assert len(children) == 2
        assert sorted(process.family(parent.pid)) == sorted(process.descendants(parent.pid)) == children
        # One family among others: ours holds it.
        assert {parent.pid, *children} <= set(process.family(os.getpid()))
        parent.communicate("\n\n")
    assert process.family(parent.pid) == []


def test_a_kernel_without_lists_of_children_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    exists = os.path.exists
    monkeypatch.setattr(process, "_content", lambda file: b"")
    monkeypatch.setattr(os.path, "exists", lambda path: not str(path).endswith("/children") and exists(path))
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert child.pid in process.family(os.getpid())
        child.communicate(b"\n")


def test_a_process_that_ended_has_no_family() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert not Path(f"/proc/{gone.pid}").exists()
    assert process.family(gone.pid) == []
