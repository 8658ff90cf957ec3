"""Makes a dump that `dyno check --from` reads: the server's facts and the machine's files, without passwords."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

from dbdyno.check.dump import FACTS_FILE, HOST_FOLDER
from dbdyno.check.redact import without_secrets
from dbdyno.check.remote import FILE_BYTES_MAX, Fetch, Fetched
from dbdyno.check.result import Checked
from dbdyno.hosts.tree import Tree
from dbdyno.model.errors import HostError
from dbdyno.model.fact import Fact
from dbdyno.model.record import to_json

README = """A dump made by dyno collect. Read it with: dyno check --from THIS_FILE
facts.jsonl  what the server and its machine said, one fact a line; passwords are left out
host/        files of /proc, /sys and /etc from which the facts of the machine were made
"""


def write_dump(out: Path, checked: Checked, host: Fetched | None) -> Path:
    """Writes it whole or not at all. Raises `HostError` when it cannot be written."""
    part = out.with_name(out.name + ".part")
    facts = [Fact(name="dump.engine", value=checked.engine), Fact(name="dump.target", value=checked.target)]
    facts += [
        fact for fact in checked.facts if not fact.name.startswith(("contract.", "check.", "server.memory_limit"))
    ]
    content: dict[str, bytes] = {
        "README": README.encode(),
        FACTS_FILE: b"".join(to_json(fact) + b"\n" for fact in facts),
    }
    if host is not None:
        content |= {f"{HOST_FOLDER}/{path}": _cleaned(data) for path, data in host.files.items()}
    try:
        with tarfile.open(part, "w:gz", compresslevel=6) as archive:
            for name, data in content.items():
                archive.addfile(_member(name, len(data), checked), io.BytesIO(data))
            for path, to in (host.links if host else {}).items():
                archive.addfile(_link(f"{HOST_FOLDER}/{path}", to, checked))
        part.chmod(0o600)
        part.replace(out)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise HostError(f"The dump cannot be written to {out}.", found=error.strerror or str(error)) from None
    return out


def files_of(root: Path, patterns: Iterable[str], links: Iterable[str]) -> Fetched:
    """The files of this machine (or of a tree) that the script would fetch from another one."""
    tree = Tree(root)
    found = Fetched()
    for pattern in patterns:
        for path in root.glob(pattern):
            name = path.relative_to(root).as_posix()
            try:
                if path.is_file():
                    found.files[name] = tree.text(name).encode()[:FILE_BYTES_MAX]
            except OSError:
                found.denied.append(name)
    for pattern in links:
        for path in root.glob(pattern):
            if path.is_symlink():
                found.links[path.relative_to(root).as_posix()] = tree.link(path.relative_to(root).as_posix())
    return found


def script(token: str, fragments: Iterable[str]) -> str:
    """One POSIX shell script that prints the same as a stream, for machines where nothing may be installed."""
    head = (
        "#!/bin/sh\n"
        "# Prints what `dyno check --from FILE` reads: files of /proc, /sys and /etc, and what local servers say of\n"
        "# themselves. It changes nothing. Run it as the server's user or as root:  sh THIS > dump.txt\n"
        "# Look through dump.txt before you send it: it holds names of tables and hosts, and should hold no password.\n"
    )
    return head + Fetch(token=token).script(prefix=f"{HOST_FOLDER}/", extra=list(fragments))


def _cleaned(data: bytes) -> bytes:
    """Text without passwords (command lines of processes may hold some)."""
    return without_secrets(data.decode(errors="surrogateescape")).encode(errors="surrogateescape")


def _member(name: str, size: int, checked: Checked) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = size
    member.mode = 0o644
    member.mtime = int(checked.started_unix_s)
    return member


def _link(name: str, to: str, checked: Checked) -> tarfile.TarInfo:
    member = _member(name, 0, checked)
    member.type = tarfile.SYMTYPE
    member.linkname = to
    return member
