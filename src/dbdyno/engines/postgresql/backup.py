"""How PostgreSQL is backed up, archived, restored to a time, followed and promoted.

Sources: PostgreSQL 18 documentation, 25.3 Continuous Archiving and Point-in-Time Recovery; 26.2 Log-Shipping Standby
Servers; 19.5.5 Recovery Target.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import psycopg

from dbdyno.model.clock import Clock
from dbdyno.model.drill import MARKERS, Kept, Lag, Moment, Place, Restored, Start
from dbdyno.model.engine import Installation
from dbdyno.model.errors import HostError, SandboxError, TargetError
from dbdyno.model.knob import Assignment

Connection: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"

_TIMEOUT_MS = 60_000
_POLL_S = 0.05
_PGBACKREST = Path("/usr/bin/pgbackrest")
_PGBACKREST_ARCHIVE_S = 30
"""It makes no backup unless the log arrives in its archive within so long."""
_CONFIG, _STANZA = "pgbackrest.conf", "drill"
_FULL = re.compile(r"\d{8}-\d{6}F")
"""Label of a full backup: when it ended."""
_S3_URL, _S3_CA = "DYNO_S3_URL", "DYNO_S3_CA"
_S3_KEY, _S3_SECRET, _S3_REGION = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"
"""Variables that name a store and its key: `https://HOST[:PORT]/BUCKET`, a file with its certificate authority."""
_APART: Assignment = {"archive_mode": "off", "synchronous_standby_names": "", "primary_conninfo": ""}
"""A server that was made from another one must not write into that one's archive nor wait for its replicas."""
_FOLLOWERS = """
SELECT state, sync_state, pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::float8,
       extract(epoch FROM replay_lag)::float8 * 1000 FROM pg_stat_replication
WHERE application_name = 'replica'
"""


class Backup:
    """See `dbdyno.model.drill.Backup`. A recovery stops at a time: a commit carries the time, to the microsecond, that
    it took before its record was written, so all that was acknowledged before a moment has an earlier one, and what
    begins later has a later one."""

    tool = "pg_basebackup"

    def lacks(self, installation: Installation) -> str:
        there = (Path(installation.bin) / self.tool).exists()
        return "" if there else f"{self.tool} is not in {installation.bin}"

    def settings(self, server: Place, archive: Path, *, broken: bool) -> Assignment:
        command = self._push(server, archive)
        return {"archive_mode": "on", "wal_level": "replica", "archive_command": "false" if broken else command}

    def _push(self, server: Place, archive: Path) -> str:
        # Under another name first: a file that is there is whole.
        where = shlex.quote(str(archive))
        return f'cp "%p" {where}/%f.part && mv {where}/%f.part {where}/%f'

    def _get(self, archive: Path) -> str:
        return f'cp {shlex.quote(str(archive))}/%f "%p"'

    def _holds(self, server: Place, archive: Path, segment: str) -> bool:
        return (archive / segment).exists()

    def _lay(self, server: Place, kept: Kept) -> None:
        """The files of the backup where the server's data are to be."""
        server.run(["cp", "-a", str(kept.backup), str(server.data)])

    def back_up(self, server: Place, into: Path) -> None:
        command = [str(server.programs / self.tool), "--pgdata", str(into), "--checkpoint", "fast", "--wal-method"]
        server.run([*command, "stream", "--no-password", "--host", server.target.host, "--port",
                    str(server.target.port), "--username", server.target.user])  # fmt: skip

    def mark(self, server: Place, word: str) -> None:
        with _Asking(server) as connection:
            connection.execute(f"CREATE TABLE IF NOT EXISTS {MARKERS} (word text)")
            connection.execute(f"INSERT INTO {MARKERS} VALUES (%s)", (word,))

    def note(self, server: Place) -> Moment:
        with _Asking(server) as connection:
            now = str(_one(connection, "SELECT clock_timestamp()::text")[0])
        return Moment(to=now, says=f"{now}, by the commit times in the log (1 µs)")

    def ship(self, server: Place, archive: Path, clock: Clock, timeout_s: float) -> str:
        with _Asking(server) as connection:
            if _one(connection, "SHOW archive_mode") == ("off",):
                return "archive_mode is off: no log is archived"
            segment = str(_one(connection, "SELECT pg_walfile_name(pg_current_wal_insert_lsn())")[0])
            connection.execute("SELECT pg_switch_wal()")
            deadline = clock.monotonic() + timeout_s
            while not self._holds(server, archive, segment):
                if clock.monotonic() > deadline:
                    return _archiver_says(connection, segment, timeout_s)
                clock.sleep(_POLL_S)
        return ""

    def restore(self, server: Place, kept: Kept, start: Start, clock: Clock) -> Restored:
        began = clock.monotonic()
        self._lay(server, kept)
        _signal(server, "recovery.signal")
        restore_s = clock.monotonic() - began
        settings: Assignment = {
            **_APART,
            "restore_command": self._get(kept.archive),
            "recovery_target_time": kept.moment.to,
            "recovery_target_action": "promote",
            # It answers when the recovery has ended, and not on the way.
            "hot_standby": "off",
        }
        return Restored(restore_s=restore_s, replay_s=start(settings))


class PgBackRest(Backup):
    """Backup and archive in one repository. Source: pgBackRest User Guide and Command Reference, 2.45 (2023)."""

    tool = "pgbackrest"

    def lacks(self, installation: Installation) -> str:
        return "" if _PGBACKREST.exists() else f"{_PGBACKREST} is not there (package pgbackrest)"

    def __init__(self) -> None:
        self._archive: Path | None = None

    def _repository(self, server: Place, archive: Path) -> list[str]:
        """Where it is, in lines of the tool's configuration."""
        return [f"repo1-path={archive}"]

    def _push(self, server: Place, archive: Path) -> str:
        self._archive = archive
        lines = [
            "[global]", *self._repository(server, archive), f"lock-path={server.scratch}",
            f"spool-path={server.scratch}", "log-level-file=off", "log-level-console=off", "log-level-stderr=error",
            "start-fast=y", f"archive-timeout={_PGBACKREST_ARCHIVE_S}",
            f"[{_STANZA}]", f"pg1-path={server.data}",
        ]  # fmt: skip
        _write_closed(archive / _CONFIG, "\n".join(lines) + "\n")
        self._empty(server, archive)
        try:
            # The server does not run: what the repository must know of it stands in its control file.
            self._call(server, archive, "--no-online", "stanza-create")
        except SandboxError as error:
            if "version of PostgreSQL supported" in error.found:
                raise HostError(f"This {self.tool} does not know this server's version.", found=error.found) from None
            raise
        return f'{self._words(archive)} archive-push "%p"'

    def _empty(self, server: Place, archive: Path) -> None:
        """A folder of the drill is empty as it is."""

    def _get(self, archive: Path) -> str:
        return f'{self._words(archive)} archive-get %f "%p"'

    def _there(self, server: Place, archive: Path, below: str) -> list[str]:
        """Names of what the repository holds below a place, by asking the repository."""
        listing = server.scratch / "repository.txt"
        server.run([*self._command(archive), "--recurse", "repo-ls", f"{below}/{_STANZA}"], stdout=listing)
        return listing.read_text(encoding="utf-8").split()

    def _holds(self, server: Place, archive: Path, segment: str) -> bool:
        found = [Path(name) for name in self._there(server, archive, "archive")]
        # While it is written it has another ending.
        return any(file.name.startswith(f"{segment}-") and file.suffix != ".tmp" for file in found)

    def _lay(self, server: Place, kept: Kept) -> None:
        # Named, for the tool would choose by whole seconds and overlook one that has just ended.
        label = max(name for name in self._there(server, kept.archive, "backup") if _FULL.fullmatch(name))
        self._call(server, kept.archive, f"--set={label}", "--type=time", f"--target={kept.moment.to}", "restore")

    def back_up(self, server: Place, into: Path) -> None:
        archive, target = self._archive, server.target
        assert archive is not None, "settings() comes first"
        where = (f"--pg1-socket-path={target.host}", f"--pg1-port={target.port}", f"--pg1-user={target.user}")
        self._call(server, archive, *where, f"--pg1-database={target.database}", "--type=full", "backup")
        self._kept(archive, into)

    def _kept(self, archive: Path, into: Path) -> None:
        # The backup stays in the repository.
        into.symlink_to(archive / "backup" / _STANZA)

    @staticmethod
    def _command(archive: Path) -> list[str]:
        return [str(_PGBACKREST), f"--config={archive / _CONFIG}", f"--stanza={_STANZA}"]

    def _words(self, archive: Path) -> str:
        return shlex.join(self._command(archive))

    def _call(self, server: Place, archive: Path, *words: str) -> None:
        server.run([*self._command(archive), *words])


class PgBackRestS3(PgBackRest):
    """The same in a bucket of an S3-compatible store, which the environment names. Objects below `dyno-drill/<sandbox>`
    in the bucket are this drill's own: they are removed before and after it."""

    tool = "pgbackrest-s3"

    def lacks(self, installation: Installation) -> str:
        if missing := [name for name in (_S3_URL, _S3_KEY, _S3_SECRET) if not os.environ.get(name)]:
            return f"the environment names no store: {', '.join(missing)} is not set"
        url = urlsplit(os.environ[_S3_URL])
        if url.scheme != "https" or not url.hostname or not url.path.strip("/"):
            return f"{_S3_URL} must be https://HOST[:PORT]/BUCKET: this tool does not talk without encryption"
        return super().lacks(installation)

    def _repository(self, server: Place, archive: Path) -> list[str]:
        url, authority = urlsplit(os.environ[_S3_URL]), os.environ.get(_S3_CA)
        return [
            # Small files of a backup go together: each object takes a request.
            "repo1-type=s3", "repo1-bundle=y", "repo1-s3-uri-style=path",
            f"repo1-path=/dyno-drill/{server.target.sandbox}",
            f"repo1-s3-endpoint={url.hostname}", f"repo1-storage-port={url.port or 443}",
            f"repo1-s3-bucket={url.path.strip('/')}", f"repo1-s3-region={os.environ.get(_S3_REGION, 'us-east-1')}",
            f"repo1-s3-key={os.environ[_S3_KEY]}", f"repo1-s3-key-secret={os.environ[_S3_SECRET]}",
            *([f"repo1-storage-ca-file={authority}"] if authority else []),
        ]  # fmt: skip

    def _empty(self, server: Place, archive: Path) -> None:
        for below in ("archive", "backup"):
            self._call(server, archive, "--recurse", "repo-rm", f"{below}/{_STANZA}")

    def _kept(self, archive: Path, into: Path) -> None:
        """The folder of backups stays empty."""

    def restore(self, server: Place, kept: Kept, start: Start, clock: Clock) -> Restored:
        try:
            return super().restore(server, kept, start, clock)
        finally:
            self._empty(server, kept.archive)


BACKUPS = {one.tool: one for one in (Backup, PgBackRest, PgBackRestS3)}


class Replication:
    """See `dbdyno.model.drill.Replication`: streaming, with or without `synchronous_standby_names`."""

    def settings(self, *, synchronous: bool) -> Assignment:
        return {"wal_level": "replica", "synchronous_standby_names": "replica" if synchronous else ""}

    def follow(self, primary: Place, replica: Place, backup: Path, start: Start, *, synchronous: bool) -> None:
        replica.run(["cp", "-a", str(backup), str(replica.data)])
        _signal(replica, "standby.signal")
        target = primary.target
        conninfo = f"host={target.host} port={target.port} user={target.user} application_name=replica"
        start({**_APART, "primary_conninfo": conninfo, "hot_standby": "on"})

    def waiting_for(self, primary: Place, replica: Place, *, synchronous: bool) -> str:
        with _Asking(primary) as connection:
            found = connection.execute(_FOLLOWERS).fetchone()
            if found is None:
                return "the primary has no replica"
            if found[0] != "streaming":
                return f"the replica's state is {found[0]}"
            if synchronous and found[1] not in ("sync", "quorum"):
                return f"the primary does not wait for the replica (sync_state is {found[1]})"
        return ""

    def lag(self, primary: Place, replica: Place) -> Lag | None:
        with _Asking(primary) as connection:
            found = connection.execute(_FOLLOWERS).fetchone()
        if found is None or found[2] is None:
            return None
        return Lag(amount=float(found[2]), unit="bytes", ms=None if found[3] is None else float(found[3]))

    def cut_off(self, replica: Place) -> None:
        with _Asking(replica) as connection:
            connection.execute("ALTER SYSTEM SET primary_conninfo = ''")
            connection.execute("SELECT pg_reload_conf()")
            for _ in range(_TIMEOUT_MS // 50):
                if connection.execute("SELECT 1 FROM pg_stat_wal_receiver").fetchone() is None:
                    return
                connection.execute("SELECT pg_sleep(0.05)")
        raise SandboxError("The replica does not stop receiving.")

    def promote(self, replica: Place, clock: Clock, timeout_s: float) -> None:
        with _Asking(replica) as connection:
            done = connection.execute("SELECT pg_promote(true, %s::integer)", (max(1, int(timeout_s)),)).fetchone()
            if done != (True,):
                raise SandboxError("The replica was not promoted.", found=f"not within {timeout_s:g} s")


class _Asking:
    """A connection for a block; what goes wrong in it becomes a `TargetError`."""

    def __init__(self, server: Place) -> None:
        self._server = server

    def __enter__(self) -> Connection:
        target = self._server.target
        try:
            self._connection = psycopg.connect(
                host=target.host,
                port=target.port,
                user=target.user,
                password=self._server.secret.reveal(),
                dbname=target.database,
                connect_timeout=10,
                autocommit=True,
                application_name="dyno",
                options=f"-c statement_timeout={_TIMEOUT_MS}",
            )
        except psycopg.Error as error:
            raise _refused(error) from None
        return self._connection

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._connection.close()
        if isinstance(error, psycopg.Error):
            raise _refused(error) from None


def _refused(error: psycopg.Error) -> TargetError:
    return TargetError("A server of the drill could not be asked.", found=" ".join(str(error).split()))


def _one(connection: Connection, query: str) -> tuple[Any, ...]:
    row = connection.execute(query).fetchone()
    assert row is not None, query
    return row


def _archiver_says(connection: Connection, segment: str, timeout_s: float) -> str:
    """Why a finished log file is not in the archive, as far as the server knows."""
    failed, name, last = _one(
        connection, "SELECT failed_count, last_failed_wal, last_archived_wal FROM pg_stat_archiver"
    )
    says = f"log file {segment} is not in the archive after {timeout_s:g} s"
    if failed:
        return f"{says}: archive_command failed {failed} times, last with {name}"
    return f"{says}, though archive_command never failed (it says that it archived {last or 'nothing'})"


def _write_closed(file: Path, text: str) -> None:
    """A file that its folder's owner alone may read: it may hold a key."""
    file.unlink(missing_ok=True)
    file.touch(mode=0o600)
    if os.geteuid() == 0:
        owner = file.parent.stat()
        shutil.chown(file, owner.st_uid, owner.st_gid)
    file.write_text(text, encoding="utf-8")


def _signal(server: Place, name: str) -> None:
    """An empty file that tells the server what it is, owned as its folder is."""
    file = server.data / name
    file.touch(mode=0o600)
    if os.geteuid() == 0:
        owner = server.data.stat()
        shutil.chown(file, owner.st_uid, owner.st_gid)
