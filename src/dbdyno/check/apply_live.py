"""The machine that a plan is applied to: how each kind of step is seen, done and taken back.

With a root other than `/` only files below it are changed: the running machine is another one.
"""

from __future__ import annotations

import glob
import os
import resource
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from dbdyno.check.book import host_rules
from dbdyno.check.fixes import Plan
from dbdyno.check.fixes_edit import set_line, set_mount_option
from dbdyno.check.fixes_steps import Step
from dbdyno.check.host import limit_fact
from dbdyno.check.judge import judge_all
from dbdyno.hosts import storage
from dbdyno.hosts.audit import read_facts
from dbdyno.hosts.audit.disks import MOUNT_WORDS, chosen
from dbdyno.hosts.subject import Subject
from dbdyno.model.clock import Clock
from dbdyno.model.errors import HostError
from dbdyno.model.facts import Facts
from dbdyno.model.finding import Finding

COMMAND_TIMEOUT_S = 120
_LIMITS = {"nofile": resource.RLIMIT_NOFILE, "nproc": resource.RLIMIT_NPROC, "memlock": resource.RLIMIT_MEMLOCK,
           "core": resource.RLIMIT_CORE}  # fmt: skip
_PROGRAMS = {"service": "systemctl", "remount": "mount"}
_DAEMONS = {"systemctl": "/run/systemd/system", "udevadm": "/run/udev/control"}
"""Where those listen to whom these programs talk."""
_WRITABLE = ("/proc/", "/sys/")


@dataclass(frozen=True)
class Machine:
    """`root` is `/`, or a folder that holds the /etc of a machine that does not run."""

    root: Path = Path("/")

    @property
    def live(self) -> bool:
        return self.root == Path("/")

    def at(self, path: str) -> Path:
        """A path of the machine as we reach it. Raises `HostError` for one that leads out of the root."""
        found = self.root / path.lstrip("/")
        if ".." in found.parts:
            raise HostError(f"{path} is no path that fixes may change.")
        real, root = os.path.realpath(found), os.path.realpath(self.root)
        if os.path.commonpath([real, root]) != root:
            raise HostError(f"{path} leads out of {self.root}.", found=real, todo="make the link a relative one")
        return found

    def cannot(self, step: Step) -> str:
        """Why a step is not for this machine; empty when it can be tried."""
        program = _PROGRAMS.get(step.kind) or (step.value.split(" ", 1)[0] if step.kind == "command" else "")
        reasons = {
            "only files are changed below another root": step.live and not self.live,
            "there is no such file here": step.kind == "write" and not glob.glob(step.path),
            "that process has ended": step.pid > 0 and not _runs(step),
            "there is no such unit": step.kind == "service" and not _has_unit(step.name),
            "not even root may raise limits here": _needs_to_raise(step) and not may_raise_limits(),
            "there is no /etc/fstab": step.kind == "fstab" and not self.at(step.path).is_file(),
            f"there is no {program} here": bool(program) and shutil.which(program) is None,
            f"there is no {_DAEMONS.get(program, '')} here": program in _DAEMONS
            and not Path(_DAEMONS[program]).exists(),
        }
        return next((why for why, holds in reasons.items() if holds), "")

    def observe(self, step: Step, attempt: Path) -> dict[str, str]:
        """What is there now, as `restore` needs it; of a file a copy is made. Raises `HostError`."""
        try:
            match step.kind:
                case "line" | "fstab":
                    return self._copied(step.path, attempt)
                case "write":
                    return {path: _read_choice(path) for path in _paths_of(step)}
                case "limit":
                    soft, hard = resource.prlimit(step.pid, _LIMITS[step.name])
                    return {"soft": str(soft), "hard": str(hard)}
                case "remount":
                    return {"word": self._mount_word(step)}
                case "service":
                    return {"enabled": _ask("systemctl", "is-enabled", step.name),
                            "active": _ask("systemctl", "is-active", step.name)}  # fmt: skip
                case _:
                    return {}
        except OSError as error:
            raise HostError(f"What is there before {step.says} cannot be seen.", found=str(error)) from None

    def holds(self, step: Step, state: dict[str, str]) -> bool:
        """Whether nothing would change. Commands are always run: they read what changed."""
        match step.kind:
            case "line" | "fstab":
                path = self.at(step.path)
                text = path.read_text() if path.is_file() else ""
                return _edited(step, text) == text
            case "write":
                return all(state[path] == step.value for path in glob.glob(step.path))
            case "limit":
                wanted = _limit_value(step.value)
                return int(state["soft"]) == int(state["hard"]) == wanted
            case "remount":
                return state["word"] == step.value
            case "service":
                return state == {"enabled": "enabled", "active": "active"}
            case _:
                return False

    def do(self, step: Step) -> None:
        """Raises `HostError`."""
        try:
            match step.kind:
                case "line" | "fstab":
                    path = self.at(step.path)
                    replace_text(path, _edited(step, path.read_text() if path.is_file() else ""))
                case "write":
                    for file in sorted(glob.glob(step.path)):
                        _write_kernel(file, step.value)
                case "limit":
                    wanted = _limit_value(step.value)
                    resource.prlimit(step.pid, _LIMITS[step.name], (wanted, wanted))
                case "remount":
                    _run(["mount", "-o", f"remount,{step.value}", step.name])
                case "service":
                    _run(["systemctl", "enable", "--now", step.name])
                case _:
                    _run(shlex.split(step.value))
        except (OSError, ValueError) as error:
            raise HostError(
                f"{step.says} failed.", found=str(error), todo="" if os.geteuid() == 0 else "run it as root"
            ) from None

    def restore(self, step: Step, state: dict[str, str], attempt: Path) -> None:
        """Back to what was observed; it may be there already. Raises `OSError`, `HostError`."""
        match step.kind:
            case "line" | "fstab":
                self._give_back(step.path, attempt)
            case "write":
                for path, value in state.items() if step.pid == 0 or _runs(step) else ():
                    if Path(path).exists() and _read_choice(path) != value:
                        _write_kernel(path, value)
            case "limit":
                if _runs(step):
                    resource.prlimit(step.pid, _LIMITS[step.name], (int(state["soft"]), int(state["hard"])))
            case "remount":
                _run(["mount", "-o", f"remount,{state['word']}", step.name])
            case "service":
                if state.get("enabled") != "enabled":
                    _run(["systemctl", "disable", step.name])
                if state.get("active") != "active":
                    _run(["systemctl", "stop", step.name])

    def run_quietly(self, command: str) -> None:
        """A command after an undo, whose failure changes nothing that matters."""
        if not self.cannot(Step(kind="command", value=command)):
            subprocess.run(shlex.split(command), stdin=subprocess.DEVNULL, capture_output=True, check=False,
                           timeout=COMMAND_TIMEOUT_S)  # fmt: skip

    def _copied(self, path: str, attempt: Path) -> dict[str, str]:
        """A copy of a file beside the journal, made once for each attempt: several steps may change one file."""
        copy, here = attempt / "files" / path.lstrip("/"), self.at(path)
        absent = copy.with_name(copy.name + ".was-absent")
        if copy.exists() or absent.exists():
            return {"file": path}
        copy.parent.mkdir(parents=True, exist_ok=True)
        if here.is_file():
            # Under another name first: a copy that was cut off by a crash must not pass for the file.
            part = copy.with_name(copy.name + ".part")
            shutil.copy2(here, part)
            owner = here.stat()
            os.chown(part, owner.st_uid, owner.st_gid)
            _sync(part)
            part.replace(copy)
        else:
            # Folders that are made for it go with it.
            missing = [str(one.relative_to(self.root)) for one in here.parents if not one.exists()]
            absent.write_text("\n".join(missing))
            _sync(absent)
        _sync(copy.parent)
        return {"file": path}

    def _give_back(self, path: str, attempt: Path) -> None:
        copy, here = attempt / "files" / path.lstrip("/"), self.at(path)
        new, absent = here.with_name(here.name + ".dyno-new"), copy.with_name(copy.name + ".was-absent")
        new.unlink(missing_ok=True)
        if copy.exists():
            shutil.copy2(copy, new)
            owner = copy.stat()
            os.chown(new, owner.st_uid, owner.st_gid)
            _sync(new)
            new.replace(here)
        elif absent.exists():
            here.unlink(missing_ok=True)
            for folder in absent.read_text().splitlines():
                if (made := self.at(folder)).is_dir() and not any(made.iterdir()):
                    made.rmdir()

    def _mount_word(self, step: Step) -> str:
        """The word of the same kind that the mount has now. Raises `HostError` when it is not mounted."""
        mounts = storage.parse_mounts(Path("/proc/self/mountinfo").read_text())
        found = [mount for mount in mounts if mount.point == step.name]
        group = step.for_.rsplit(" ", 1)[-1]
        if not found or group not in MOUNT_WORDS:
            raise HostError(f"{step.name} is not mounted here.", found=step.says)
        return MOUNT_WORDS[group](found[-1].options.split(","), found[-1].filesystem)


def judge_machine(plan: Plan, clock: Clock) -> list[Finding]:
    """The rules of a plan once more over this machine, with what the server said of itself when the plan was made."""
    known = Facts(plan.server)
    folders = {name: known.find(f"server.{name}_directory") for name in ("data", "log")}
    data, log = (Path(str(one.value)) if one and not one.unknown else None for one in folders.values())
    pid = known.find("host.server.pid")
    pids = (int(str(pid.value)),) if pid and not pid.unknown and Path(f"/proc/{pid.value}").exists() else ()
    facts = [*plan.server, *read_facts(Path("/"), Subject(data_dir=data, log_dir=log, pids=pids), clock=clock)]
    facts.append(limit_fact(Facts(facts)))
    return judge_all([one for one in host_rules() if one.rule.id in plan.rules], Facts(facts))[0]


def replace_text(path: Path, text: str) -> None:
    """The file with another text, all or nothing, with the same owner and mode. A link stays a link."""
    real = Path(os.path.realpath(path))
    real.parent.mkdir(parents=True, exist_ok=True)
    new = real.with_name(real.name + ".dyno-new")
    new.write_text(text)
    if real.exists():
        shutil.copymode(real, new)
        os.chown(new, real.stat().st_uid, real.stat().st_gid)
    else:
        new.chmod(0o644)
    _sync(new)
    new.replace(real)
    _sync(real.parent)


def _edited(step: Step, text: str) -> str:
    if step.kind == "fstab":
        return set_mount_option(text, step.name, step.value)
    return set_line(text, step.pattern, step.line, step.header)


def _paths_of(step: Step) -> list[str]:
    """Files whose values a write changes: of a limit in bytes also the ratio, which the kernel sets to 0."""
    paths = sorted(glob.glob(step.path))
    if "/vm/dirty" in step.path and step.path.endswith("_bytes"):
        paths.append(step.path.replace("_bytes", "_ratio"))
    return paths


def _read_choice(path: str) -> str:
    """A value as it can be written back: of `always [madvise] never` the chosen word, of several numbers all."""
    text = Path(path).read_text().strip()
    return chosen(text) if "[" in text else " ".join(text.split())


def _write_kernel(path: str, value: str) -> None:
    """One write, as the kernel wants it. A limit in bytes that was 0 is not written: its ratio brings it back."""
    if not path.startswith(_WRITABLE) or ".." in path:
        raise HostError(f"{path} is no file of the kernel.")
    if value == "0" and "/vm/dirty" in path and path.endswith(("_bytes", "_ratio")):
        return
    with open(path, "w") as file:
        file.write(value + "\n")


def may_raise_limits() -> bool:
    """Whether this process has CAP_SYS_RESOURCE, which root in a container often lacks. Source: capabilities(7)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> 24 & 1)
    return os.geteuid() == 0


def _needs_to_raise(step: Step) -> bool:
    """Another hard limit (a lower one could not be taken back), or a score for the killer of processes."""
    if step.kind == "limit" and Path(f"/proc/{step.pid}").exists():
        return resource.prlimit(step.pid, _LIMITS[step.name])[1] != _limit_value(step.value)
    return step.kind == "write" and step.path.endswith("/oom_score_adj")


def _runs(step: Step) -> bool:
    """Whether the process is there, and still the same program."""
    try:
        name = Path(f"/proc/{step.pid}/comm").read_text().strip()
    except OSError:
        return False
    return step.program in ("", name)


def _limit_value(value: str) -> int:
    return resource.RLIM_INFINITY if value == "unlimited" else int(value)


def _run(command: list[str]) -> None:
    """Raises `HostError` with the command's words."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              timeout=COMMAND_TIMEOUT_S)  # fmt: skip
    except subprocess.TimeoutExpired:
        raise HostError(f"{shlex.join(command)} did not end in {COMMAND_TIMEOUT_S} s.") from None
    if done.returncode:
        raise HostError(f"{shlex.join(command)} failed.", found=(done.stderr or done.stdout).strip()[:500])


def _has_unit(name: str) -> bool:
    if shutil.which("systemctl") is None or not Path(_DAEMONS["systemctl"]).exists():
        return True  # the better reason comes later
    return subprocess.run(["systemctl", "cat", name], stdin=subprocess.DEVNULL, capture_output=True, check=False,
                          timeout=COMMAND_TIMEOUT_S).returncode == 0  # fmt: skip


def _ask(*command: str) -> str:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          timeout=COMMAND_TIMEOUT_S)  # fmt: skip
    return done.stdout.strip()


def _sync(path: Path) -> None:
    """A file or a folder on the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
