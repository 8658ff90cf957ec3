"""What somebody sent: a file, a folder or an archive, read into facts by whoever recognises each part.

Nothing in a dump is trusted: archives are unpacked within bounds and never outside their folder, files are read up to a
limit, and what nobody recognises or what breaks is said.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import msgspec

from dbdyno.check.book import engine_module, engines_with
from dbdyno.check.host import subject_of
from dbdyno.check.remote import parse_stream
from dbdyno.check.result import Problem
from dbdyno.check.scratch import scratch_folder
from dbdyno.check.server import FACTS_MAX, bounded
from dbdyno.hosts.audit import read_facts
from dbdyno.model.clock import Clock
from dbdyno.model.errors import UsageError
from dbdyno.model.fact import Fact
from dbdyno.model.facts import Facts
from dbdyno.model.record import from_json

FILE_BYTES_MAX = 64 << 20
"""Most of one file that is read: more settings than any server has."""
TOTAL_BYTES_MAX = 512 << 20
FILES_MAX = 20_000
HEAD_CHARACTERS = 65_536
"""As much of a file is shown to those who may recognise it."""
FACTS_FILE = "facts.jsonl"
HOST_FOLDER = "host"
STREAM_MARK = b" begin 1\n"
_TREE = ("proc", "sys")


@dataclass
class Dump:
    """What was read of it."""

    facts: list[Fact] = field(default_factory=list)
    engine: str = ""
    problems: list[Problem] = field(default_factory=list)
    has_host: bool = False
    _of_engines: dict[str, list[Fact]] = field(default_factory=dict)

    def add(self, facts: list[Fact], engine: str = "") -> None:
        room = FACTS_MAX - len(self.facts) - sum(len(one) for one in self._of_engines.values())
        if len(facts) > room:
            self.problems.append(Problem(source="dump", what=f"More than {FACTS_MAX} facts: the rest is left out."))
        known = [bounded(fact) for fact in facts[:room]]
        if engine:
            self._of_engines.setdefault(engine, []).extend(known)
        else:
            self.facts += known

    def choose(self) -> None:
        """A machine may have the clients of several engines, so that its dump holds words of each: the server is the
        one of which most was seen."""
        seen = {engine: sum(not fact.unknown for fact in facts) for engine, facts in self._of_engines.items()}
        if not seen:
            return
        self.engine = max(seen, key=lambda engine: seen[engine])
        self.facts += self._of_engines.pop(self.engine)
        for other, facts in self._of_engines.items():
            what = f"{len(facts)} facts are of another server ({other}) and were left out."
            self.problems.append(Problem(source="dump", what=what))
        self._of_engines.clear()


def read_dump(path: Path, *, clock: Clock) -> Dump:
    """Reads it. Raises `UsageError` when it is not there or holds nothing that anybody knows."""
    if not path.exists():
        raise UsageError(f"There is no {path}.", todo="name a file or a folder that holds a dump")
    dump = Dump()
    with _folder_of(path, dump) as folder:
        for file in _files(folder, dump):
            _read_file(file, file.relative_to(folder).as_posix() if file != folder else file.name, dump)
        dump.choose()
        for tree in _trees(folder):
            # After the server's own words, which say where its data lies. What was seen when the dump was made is
            # better than what its files say, since it had commands too.
            machine = list(read_facts(tree, subject_of(Facts(dump.facts), tree), clock=clock))
            known = {fact.name for fact in dump.facts if not fact.unknown}
            dump.add([fact for fact in machine if fact.name not in known])
            dump.has_host = True
    if not dump.facts:
        seen = "; ".join(problem.what for problem in dump.problems[:5])
        raise UsageError(
            f"Nothing in {path} could be read as a dump.", found=seen or "it is empty",
            todo="dyno collect makes one; what else is read stands in docs/reference/check.md",
        )  # fmt: skip
    return dump


@contextlib.contextmanager
def _folder_of(path: Path, dump: Dump) -> Iterator[Path]:
    """The dump as a folder or a single file. Archives and streams are unpacked into one that is removed again."""
    if path.is_dir():
        yield path
        return
    try:
        with path.open("rb") as file:
            head = file.read(4096)
        archive = _is_archive(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be read.", found=error.strerror or str(error)) from None
    if not archive and STREAM_MARK not in head:
        yield path
        return
    with scratch_folder("dump") as folder:
        if archive:
            _unpack(path, folder, dump)
        else:
            token = head.partition(STREAM_MARK)[0].split(b"\n")[-1].decode(errors="replace")
            parse_stream(_bytes_of(path, dump, TOTAL_BYTES_MAX), token).write_below(folder)
        yield folder


def _is_archive(path: Path) -> bool:
    try:
        return tarfile.is_tarfile(path)
    except (EOFError, zlib.error, ValueError):
        return False


def _unpack(path: Path, folder: Path, dump: Dump) -> None:
    """Regular files and links that stay inside; an archive that is cut off gives what came before."""
    total = 0
    try:
        with tarfile.open(path) as archive:
            for count, member in enumerate(archive):
                total += member.size
                if count >= FILES_MAX or total > TOTAL_BYTES_MAX:
                    dump.problems.append(
                        Problem(source=path.name, what=f"{path.name} is too large: the rest is left out.")
                    )
                    return
                if member.isfile() or member.isdir() or member.issym():
                    with contextlib.suppress(tarfile.FilterError):
                        archive.extract(member, folder, filter="data")
    except (tarfile.TarError, OSError, EOFError, zlib.error, ValueError) as error:
        dump.problems.append(
            Problem(source=path.name, what=f"{path.name} could be read only in part.", found=str(error))
        )


def _trees(folder: Path) -> list[Path]:
    """Folders that hold a machine's files: /proc and /sys below them."""
    if not folder.is_dir():
        return []
    return [one for one in (folder, folder / HOST_FOLDER) if any((one / name).is_dir() for name in _TREE)][:1]


def _files(folder: Path, dump: Dump) -> Iterator[Path]:
    """Files that are not part of a machine's tree."""
    if folder.is_file():
        yield folder
        return
    trees = _trees(folder)
    skip = {tree / name for tree in trees for name in (*_TREE, "etc", "boot", "lib", "usr", "var", "run")}
    count = 0
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.is_symlink() or path.name.startswith(".") or path.name == "README":
            continue
        if any(one in skip for one in path.parents):
            continue
        count += 1
        if count > FILES_MAX:
            dump.problems.append(Problem(source="dump", what=f"More than {FILES_MAX} files: the rest is left out."))
            return
        yield path


def _bytes_of(path: Path, dump: Dump, limit: int) -> bytes:
    with path.open("rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        what = f"{path.name} is larger than {limit >> 20} MiB: the rest is left out."
        dump.problems.append(Problem(source=path.name, what=what))
    return content[:limit]


def _read_file(path: Path, name: str, dump: Dump) -> None:
    try:
        text = _decoded(_bytes_of(path, dump, FILE_BYTES_MAX))
    except OSError as error:
        dump.problems.append(Problem(source=name, what=f"{name} cannot be read.", found=error.strerror or str(error)))
        return
    if path.name == FACTS_FILE:
        _own_facts(text, name, dump)
        return
    for engine, module in _readers():
        try:
            if module.recognises(name, text[:HEAD_CHARACTERS]):
                dump.add(list(module.parse(name, text)), engine)
                return
        except Exception as error:  # a parser of strangers' texts must not take the others down with it
            what = f"{name} could not be read as what it seems to be."
            dump.problems.append(Problem(source=name, what=what, found=f"{type(error).__name__}: {error}"))
            return
    dump.problems.append(Problem(source=name, what=f"{name} is of no form that is known here; it was left out."))


def _decoded(content: bytes) -> str:
    """UTF-8, UTF-16 where the byte order mark says so (a redirection on Windows), or anything else byte by byte."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    return content.decode("utf-8-sig", "replace").replace("\r\n", "\n")


def _own_facts(text: str, name: str, dump: Dump) -> None:
    """Facts of our own dump; the first line says of which engine. Lines that are not whole are counted."""
    broken = 0
    facts: list[Fact] = []
    engine = ""
    for line in text.splitlines():
        try:
            fact = from_json(line, Fact)
        except msgspec.DecodeError:
            broken += 1
            continue
        if fact.name == "dump.engine":
            engine = str(fact.value) if engine_exists(str(fact.value)) else ""
        else:
            facts.append(fact)
    if broken:
        dump.problems.append(Problem(source=name, what=f"{broken} lines of {name} could not be read."))
    dump.has_host = dump.has_host or any(fact.name.startswith("host.") for fact in facts)
    dump.add(facts, engine)


def engine_exists(name: str) -> bool:
    return name in engines_with("engine.py")


def _readers() -> Iterator[tuple[str, ModuleType]]:
    """Those who may recognise a file: the engines, then the machine."""
    for engine in engines_with("dump.py"):
        if (module := engine_module(engine, "dump")) is not None:
            yield engine, module
    if importlib.util.find_spec("dbdyno.hosts.dump") is not None:
        yield "", importlib.import_module("dbdyno.hosts.dump")
