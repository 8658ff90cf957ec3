"""One connection to a MongoDB server that only asks.

Every question is a command that reads, has a time limit on the server (`maxTimeMS`) and one here, and goes to this very
server (`directConnection`), whatever its part in a replica set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pymongo
from pymongo.errors import ConfigurationError, OperationFailure, PyMongoError

from dbdyno.engines.wiredtiger import documents
from dbdyno.engines.wiredtiger.printed import plain
from dbdyno.engines.wiredtiger.target import SRV_PORT
from dbdyno.model.errors import TargetError
from dbdyno.model.fact import Fact
from dbdyno.model.knob import Assignment, Setting
from dbdyno.model.target import Secret, Target

CONNECT_TIMEOUT_MS = 5_000
QUESTION_TIMEOUT_MS = 5_000
_CODE_AUTHENTICATION = 18


def connect(target: Target, secret: Secret) -> MongoSession:
    """Opens a session. Raises `TargetError`: not reachable, wrong password, no answer in time."""
    words: dict[str, Any] = {
        "appname": "dyno",
        "serverSelectionTimeoutMS": CONNECT_TIMEOUT_MS,
        "connectTimeoutMS": CONNECT_TIMEOUT_MS,
        "socketTimeoutMS": QUESTION_TIMEOUT_MS + 2_000,
        "maxPoolSize": 1,
        "retryReads": False,
        **_encryption(target),
    }
    if target.user:
        words |= {"username": target.user, "password": secret.reveal() or "", "authSource": target.database}
    client: pymongo.MongoClient[dict[str, Any]]
    try:
        if target.port == SRV_PORT:
            client = pymongo.MongoClient(f"mongodb+srv://{target.host}", **words)
        else:
            port = None if target.host.startswith("/") else target.port
            client = pymongo.MongoClient(target.host, port, directConnection=True, **words)
    except (PyMongoError, ValueError) as error:
        raise _refused(target, error) from None
    session = MongoSession(target, client)
    try:
        session.greet()
    except BaseException:
        client.close()
        raise
    return session


def _encryption(target: Target) -> dict[str, Any]:
    if target.tls in ("", "disable", "prefer"):
        return {"tls": False}
    words: dict[str, Any] = {"tls": True}
    if target.tls_ca:
        words["tlsCAFile"] = target.tls_ca
    if target.tls == "require":
        words["tlsAllowInvalidCertificates"] = True
    elif target.tls == "verify-ca":
        words["tlsAllowInvalidHostnames"] = True
    return words


def _refused(target: Target, error: Exception) -> TargetError:
    found = " ".join(str(error).split("Topology Description")[0].split())[:300].rstrip(" ,")
    if isinstance(error, OperationFailure) and error.code == _CODE_AUTHENTICATION:
        return TargetError(
            f"The server refuses the user or the password: {target.label}.", found=found,
            todo="check the user, MONGODB_PASSWORD, and authSource (the database in which the user was made)",
        )  # fmt: skip
    if isinstance(error, ConfigurationError):
        return TargetError(f"Cannot connect to {target.label}.", found=found, todo="check the name and its DNS entries")
    return TargetError(
        f"The server cannot be reached: {target.label}.", found=found,
        todo="check that it runs, host and port in the URL, and whether it wants TLS (tls=true)",
    )  # fmt: skip


class MongoSession:
    """See `dbdyno.model.engine.Inspection`."""

    def __init__(self, target: Target, client: pymongo.MongoClient[dict[str, Any]]) -> None:
        self._target = target
        self._client = client
        self.version = 0
        self.version_text = ""

    def greet(self) -> None:
        """The first question, which opens the connection and proves the password."""
        build = self.run("buildInfo", timeout=False)
        self.version_text = str(build.get("version", ""))
        self.version = documents.version_number(self.version_text)

    def run(self, command: str, argument: object = 1, *, database: str = "admin", timeout: bool = True,
            **more: object) -> dict[str, Any]:  # fmt: skip
        """The answer of a command that reads. Raises `TargetError` with the server's words."""
        words: dict[str, object] = {command: argument, **more}
        if timeout:
            words["maxTimeMS"] = QUESTION_TIMEOUT_MS
        where = self._client.get_database(database, read_preference=pymongo.ReadPreference.PRIMARY_PREFERRED)
        try:
            return dict(plain(dict(where.command(words))))
        except OperationFailure as error:
            if error.code == _CODE_AUTHENTICATION:
                raise _refused(self._target, error) from None
            said = str((error.details or {}).get("errmsg") or error)
            raise TargetError(f"{self._target.label} does not answer {command}.", found=said[:300]) from None
        except PyMongoError as error:
            raise _refused(self._target, error) from None

    def facts(self) -> list[Fact]:
        source = "buildInfo"
        return [Fact(name="server.version", source=source, value=self.version or None,
                     unknown="" if self.version else "the server does not tell its version"),
                Fact(name="server.version_text", source=source, value=self.version_text)]  # fmt: skip

    def settings(self) -> dict[str, Setting]:
        """Options of the file and the command line, and parameters. Those that are refused are missing; `read_facts`
        says why."""
        found: dict[str, str] = {}
        for command, argument in (("getParameter", "*"), ("getCmdLineOpts", 1)):
            try:
                found |= documents.settings_of(command, self.run(command, argument, timeout=command == "getParameter"))
            except TargetError:
                continue
        return {
            name: Setting(name=name, value=value, source="parameter" if "setParameter" in name else "file")
            for name, value in found.items()
        }

    def apply(self, assignment: Assignment, *, reset: Sequence[str] | Mapping[str, str] = ()) -> list[str]:
        raise TargetError(
            "Settings of this server are not changed by a program here.",
            found=", ".join([*assignment, *reset]),
            todo="put them into mongod.conf (dyno check --fix DIR writes the lines) and restart",
        )

    def close(self) -> None:
        self._client.close()
