"""Starts a server in the place of this process: joins its control groups, drops root, dies with its parent.

It is run as a script of its own (`python -I launcher.py JSON`), never imported by the rest: between fork and exec a
process with threads may run hardly anything safely, and the signal on the parent's death must be asked for after the
change of user, which clears it. Source: Linux manual pages prctl(2) PR_SET_PDEATHSIG, setsid(2).
"""

from __future__ import annotations

import ctypes
import json
import os
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    plan = json.loads(sys.argv[1])
    for file in plan["groups_join"]:
        with open(file, "w", encoding="ascii") as stream:
            stream.write(str(os.getpid()))
    if plan["uid"] is not None:
        os.setgroups([])
        os.setgid(plan["gid"])
        os.setuid(plan["uid"])
    if plan["parent"]:
        if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, plan["signal"], 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
        if os.getppid() != plan["parent"]:
            # The parent died before the signal was asked for.
            sys.exit(1)
    os.umask(0o077)
    os.chdir(plan["folder"])
    os.execve(plan["argv"][0], plan["argv"], plan["environment"])


if __name__ == "__main__":
    main()
