"""One connection to a Valkey or Redis server: its reports, its settings, and their change.

Every answer is bounded in time and size. What the server refuses (an account without the right, a command that a
managed service took away) leaves its facts with that reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from dbdyno.engines.valkey import conffile, info, versions
from dbdyno.engines.valkey.names import ASKED
from dbdyno.model.errors import TargetError
from dbdyno.model.fact import Fact
from dbdyno.model.knob import Assignment, Setting
from dbdyno.model.target import Secret, Target

CONNECT_TIMEOUT_S = 5.0
QUESTION_TIMEOUT_S = 5.0
ANSWER_CHARACTERS_MAX = 8 << 20
"""Longest answer that is kept, in all; a list of 10,000 clients is 3 MiB."""
_TLS = {"require": "none", "verify-ca": "required", "verify-full": "required"}


def connect(target: Target, secret: Secret) -> ValkeySession:
    """Opens a session. Raises `TargetError`: not reachable, wrong password, no such database."""
    where: dict[str, Any] = {"host": target.host, "port": target.port}
    if target.host.startswith("/"):
        where = {"unix_socket_path": target.host}
    elif target.tls:
        where |= {
            "ssl": True,
            "ssl_cert_reqs": _TLS[target.tls],
            "ssl_check_hostname": target.tls == "verify-full",
            "ssl_ca_certs": target.tls_ca or None,
        }
    client = redis.Redis(
        **where,
        db=int(target.database or 0),
        username=target.user if secret.reveal() is not None else None,
        password=secret.reveal(),
        socket_connect_timeout=CONNECT_TIMEOUT_S,
        socket_timeout=QUESTION_TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),
        single_connection_client=False,
        client_name=None,
        protocol=2,
        encoding_errors="replace",
        decode_responses=True,
    )
    # Answers as they are sent, without the library's own reading of them.
    client.response_callbacks.clear()
    session = ValkeySession(target, client)
    try:
        session.open()
    except BaseException:
        session.close()
        raise
    return session


class ValkeySession:
    """See `dbdyno.model.engine.Inspection`."""

    def __init__(self, target: Target, client: redis.Redis) -> None:
        self._target = target
        self._client = client
        self._info: dict[str, str] = {}
        self.version = 0
        self.version_text = ""
        self.refused: dict[str, str] = {}
        """Commands that the server refused, with its words."""

    def open(self) -> None:
        """Signs in and asks who it is. Raises `TargetError`."""
        try:
            answer = self.command("PING")
        except Refused as error:
            # An account may be allowed everything that we need but this.
            if "NOPERM" not in error.found:
                raise _refusal(self._target, error.found) from None
        else:
            if answer not in ("PONG", b"PONG"):
                raise TargetError(f"{self._target.label} is no server of this kind.", found=repr(answer)[:200])
        try:
            self._info = info.parse(self._text(self.command("INFO", "ALL")))
        except Refused as error:
            self.refused["INFO"] = error.found
        product, self.version_text = versions.product_of(self._info)
        self.version = versions.number_of(self.version_text, valkey=product == "valkey")

    def command(self, *words: str) -> Any:
        """The raw answer. Raises `Refused` for an error of the server, `TargetError` for a lost one."""
        try:
            return self._client.execute_command(*words)  # type: ignore[no-untyped-call]
        except redis.exceptions.AuthenticationError as error:
            raise _refusal(self._target, _one_line(error)) from None
        except redis.exceptions.NoPermissionError as error:
            # The library takes the server's first word away.
            raise Refused(" ".join(words[:2]), f"NOPERM {_one_line(error)}") from None
        except redis.exceptions.ResponseError as error:
            raise Refused(" ".join(words[:2]), _one_line(error)) from None
        except redis.exceptions.TimeoutError:
            raise TargetError(
                f"{self._target.label} does not answer.",
                found=f"no answer to {' '.join(words[:2])} within {QUESTION_TIMEOUT_S:g} s",
                todo="look whether it hangs (a long script, KEYS, swapping)",
            ) from None
        except (redis.exceptions.RedisError, OSError, ValueError, RecursionError) as error:
            raise _refusal(self._target, _one_line(error)) from None

    def facts(self) -> list[Fact]:
        found = list(info.facts(self._info))
        if reason := self.refused.get("INFO"):
            found += [Fact(name=name, source="INFO", unknown=reason) for name in ("server.version", "server.role")]
        return found

    def settings(self) -> dict[str, Setting]:
        """All of `CONFIG GET *`; where that is refused, the few that INFO names."""
        try:
            answer = self.command("CONFIG", "GET", "*")
        except Refused as error:
            self.refused["CONFIG"] = error.found
            return {
                name: Setting(name=name, value=value, source="INFO")
                for name, value in info.settings(self._info).items()
            }
        return {
            # Where a value comes from the server cannot say. What it has is what an undo gives back.
            name: Setting(name=name, value=value, source="CONFIG GET", persisted=True)
            for name, value in _table(answer).items()
        }

    def not_seen(self, seen: Mapping[str, object]) -> list[Fact]:
        """The settings that rules ask for and nobody said, with the reason."""
        reason = self.refused.get("CONFIG")
        if reason is None:
            return []
        return [Fact(name=f"setting.{name}", source="CONFIG GET", unknown=reason) for name in ASKED if name not in seen]

    def apply(self, assignment: Assignment, *, reset: Sequence[str] | Mapping[str, str] = ()) -> list[str]:
        """All or nothing: sets them in the running server and has it write its file anew (`CONFIG REWRITE`), so that
        they outlive a restart. Raises `TargetError`; then all is as before. Nothing waits for a restart."""
        wanted = {name: str(value) for name, value in assignment.items()}
        wanted |= dict(reset) if isinstance(reset, Mapping) else {}
        if missing := [name for name in reset if name not in wanted]:
            raise TargetError(
                "The server does not remember what these settings were.", found=", ".join(missing),
                todo="set them by hand",
            )  # fmt: skip
        before = {name: one.value for name, one in self.settings().items()}
        if unknown := sorted(set(wanted) - set(before)):
            raise TargetError(
                "The server does not have these settings, or does not show them.",
                found=self.refused.get("CONFIG", ", ".join(unknown)), todo="leave them out",
            )  # fmt: skip
        done: list[str] = []
        try:
            for name, value in wanted.items():
                if not conffile.same(name, before[name], value):
                    self.command("CONFIG", "SET", name, value)
                    done.append(name)
            self._rewrite()
        except (Refused, TargetError) as error:
            for name in reversed(done):
                self.command("CONFIG", "SET", name, before[name])
            raise TargetError(
                "A setting was refused; what was changed is as before.", found=error.found or error.what
            ) from None
        return []

    def _rewrite(self) -> None:
        if self._info.get("config_file"):
            self.command("CONFIG", "REWRITE")

    def close(self) -> None:
        self._client.close()

    @staticmethod
    def _text(answer: Any) -> str:
        return str(answer)[:ANSWER_CHARACTERS_MAX]


class Refused(TargetError):
    """The server understood, and said no."""

    def __init__(self, command: str, words: str) -> None:
        super().__init__(f"The server refuses {command}.", found=words)


def _table(answer: Any) -> dict[str, str]:
    """Names and values of an answer that lists them in turn."""
    if isinstance(answer, Mapping):
        return {str(name): str(value) for name, value in answer.items()}
    if not isinstance(answer, list):
        return {}
    return {str(name): str(value) for name, value in zip(answer[::2], answer[1::2], strict=False)}


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:500] or type(error).__name__


_REFUSALS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("WRONGPASS", "invalid password", "invalid username-password"), "The server refuses the password",
     "check the user in the URL, and the password in it, in VALKEYCLI_AUTH or in REDISCLI_AUTH"),
    (("NOAUTH", "Authentication required"), "The server wants a password",
     "give it in VALKEYCLI_AUTH or REDISCLI_AUTH, or as user:password in the URL"),
    (("without any password configured",), "The server has no password, and one was given",
     "leave it out: unset VALKEYCLI_AUTH and REDISCLI_AUTH"),
    (("DENIED", "protected mode"), "The server takes connections of its own machine only (protected mode)",
     "connect on that machine, or give the server a password"),
    (("max number of clients",), "The server has no free connection slot", "close connections, or raise maxclients"),
    (("LOADING",), "The server loads its data and does not answer questions yet", "wait until it is up"),
    (("DB index",), "There is no such database", "name one below the setting `databases`"),
    (("certificate", "CERTIFICATE", "SSL", "TLS"), "No encrypted connection",
     "check that this port is encrypted, and the authorities' file: ?ssl_ca_certs=…"),
    (("Name or service not known", "nodename", "Temporary failure in name"), "The host's name is not known",
     "check the host in the URL"),
    (("refused", "No such file", "timed out", "Timeout", "closed", "reset", "Permission denied", "unreachable"),
     "The server cannot be reached", "check that it runs, and host and port (or the socket's path) in the URL"),
)  # fmt: skip


def _refusal(target: Target, words: str) -> TargetError:
    for marks, what, todo in _REFUSALS:
        if any(mark in words for mark in marks):
            return TargetError(f"{what}: {target.label}.", found=words, todo=todo)
    return TargetError(f"{target.label} does not answer as a server of this kind.", found=words)
