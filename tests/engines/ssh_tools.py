"""SSH servers of a test's own, on loopback or in a network namespace, with throw-away keys. Nothing of the machine's
own configuration is used or changed."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

SSHD = "/usr/sbin/sshd"
_UP_S = 10.0


def need_sshd() -> None:
    """Skips where no sshd can be run for the user that runs the tests."""
    for program in (SSHD, "ssh-keygen", "ssh"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (openssh-server, openssh-client)")
    if os.geteuid() != 0:
        pytest.skip("an sshd of one's own lets in by key only where it runs as root here")
    # What sshd wants as its privilege separation folder; the system makes it at its start.
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)


@dataclass
class Keys:
    """A user's ~/.ssh of a test: a client configuration that names everything."""

    folder: Path
    config: Path = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.config = self.folder / "config"
        for name in ("user", "other", "host", "host2"):
            make_key(self.folder / name)

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    def public(self, name: str) -> str:
        return (self.folder / f"{name}.pub").read_text().strip()

    def know(self, place: str, key: str = "host") -> None:
        kind, words, *_ = self.public(key).split()
        with self.known_hosts.open("a") as file:
            file.write(f"{place} {kind} {words}\n")

    def write_config(self, text: str) -> None:
        common = f"UserKnownHostsFile {self.known_hosts}\nGlobalKnownHostsFile /dev/null\nIdentitiesOnly yes\n"
        self.config.write_text(f"{text}\nHost *\n  {common}  IdentityFile {self.folder}/user\n  HashKnownHosts no\n")
        self.config.chmod(0o600)

    def as_ssh(self, bin_folder: Path) -> None:
        """A program `ssh` that is the system's with this configuration: what ~/.ssh/config is to a user."""
        bin_folder.mkdir(exist_ok=True)
        program = bin_folder / "ssh"
        # A jump host's ssh is started by name, from the first one, which is found on the PATH as well.
        program.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {self.config} "$@"\n')
        program.chmod(0o755)


def make_key(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True, timeout=30)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@dataclass
class Sshd:
    process: subprocess.Popen[bytes]
    port: int
    address: str = "127.0.0.1"

    def url(self, user: str = "root") -> str:
        return f"ssh://{user}@{self.address}:{self.port}"

    def family(self) -> list[int]:
        """The server and what it started for connections."""
        found, new = [self.process.pid], [self.process.pid]
        while new:
            new = [pid for parent in new for pid in _children(parent)]
            found += new
        return found

    def signal(self, number: int) -> None:
        for pid in self.family():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def drop(self) -> None:
        """Ends the connections, not the server."""
        for pid in self.family()[1:]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


@contextlib.contextmanager
def sshd(keys: Keys, *, key: str = "host", extra: str = "", address: str = "127.0.0.1", inside: str = "",
         port: int = 0, under: Sequence[str] = ()) -> Iterator[Sshd]:  # fmt: skip
    """A server that lets the key `user` in. `inside` is a network namespace, `under` a program that starts it."""
    port = port or free_port()
    folder = keys.folder / f"sshd-{port}-{key}-{inside}"
    folder.mkdir(exist_ok=True)
    # It is read as the user who comes in.
    open_folder = tempfile.TemporaryDirectory(prefix="dyno-sshd-")
    Path(open_folder.name).chmod(0o755)
    allowed = Path(open_folder.name) / "authorized_keys"
    allowed.write_text(keys.public("user") + "\n")
    config = folder / "sshd_config"
    config.write_text(
        f"Port {port}\nListenAddress {address}\nHostKey {keys.folder}/{key}\nPidFile none\nUsePAM no\nStrictModes no\n"
        f"AuthorizedKeysFile {allowed}\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        f"PermitRootLogin prohibit-password\nMaxStartups 500\nMaxSessions 200\n{extra}\n"
    )
    words = ["ip", "netns", "exec", inside] if inside else list(under)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*words, SSHD, "-D", "-e", "-f", str(config)], stderr=log)
    server = Sshd(process, port, address)
    try:
        _wait_until_up(server, inside, folder / "log")
        yield server
    finally:
        server.signal(signal.SIGCONT)
        server.drop()
        process.terminate()
        process.wait(10)
        open_folder.cleanup()


def _wait_until_up(server: Sshd, inside: str, log: Path) -> None:
    until = time.monotonic() + _UP_S
    while time.monotonic() < until:
        if server.process.poll() is not None:
            pytest.fail(f"sshd ended: {log.read_text()}")
        if b"Server listening" in log.read_bytes():
            return
        time.sleep(0.05)
    pytest.fail(f"sshd did not begin to listen: {log.read_text()}")


@contextlib.contextmanager
def account(name: str, shell: str, home: Path) -> Iterator[str]:
    """A user of the machine for the time of a test."""
    home.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(KeyError):
        pwd.getpwnam(name)
        pytest.skip(f"there is a user {name} on this machine already")
    subprocess.run(["useradd", "-M", "-d", str(home), "-s", shell, "-p", "*", name], check=True, timeout=30)
    try:
        shutil.chown(home, name)
        yield name
    finally:
        subprocess.run(["userdel", name], check=False, timeout=30, capture_output=True)


@contextlib.contextmanager
def far_network(name: str) -> Iterator[str]:
    """A network namespace that this machine reaches as 10.213.77.2. Yields that address."""
    if shutil.which("ip") is None:
        pytest.skip("no ip(8)")
    done = subprocess.run(["ip", "netns", "add", name], capture_output=True, timeout=30, check=False)
    if done.returncode:
        pytest.skip(f"no network namespaces here: {done.stderr.decode().strip()}")
    try:
        for line in (
            f"ip link add {name}a type veth peer name {name}b netns {name}",
            f"ip addr add 10.213.77.1/30 dev {name}a",
            f"ip link set {name}a up",
            f"ip -n {name} addr add 10.213.77.2/30 dev {name}b",
            f"ip -n {name} link set {name}b up",
            f"ip -n {name} link set lo up",
        ):
            done = subprocess.run(line.split(), capture_output=True, timeout=30, check=False)
            if done.returncode:
                pytest.skip(f"no pair of interfaces here: {done.stderr.decode().strip()}")
        yield "10.213.77.2"
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False, timeout=30, capture_output=True)
        subprocess.run(["ip", "link", "del", f"{name}a"], check=False, timeout=30, capture_output=True)
