"""ProxySQL's tables as facts. Pure: the same for a server that answers and for what somebody saved.

Sources: ProxySQL documentation, "Main (runtime)", "stats schema", "Global variables" (2024).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from dbdyno.engines.dumptext import numeric_version
from dbdyno.model.fact import Fact, Scalar

Row = Mapping[str, str]
WAITS_FOR_RESTART = frozenset({"mysql-threads", "mysql-stacksize", "admin-mysql_ifaces", "mysql-interfaces"})
_DEFAULT_PASSWORDS = {"admin-admin_credentials": "admin:admin", "admin-stats_credentials": "stats:stats"}
_SECRET = ("credentials", "password", "_pass")
_NEAR = frozenset({"localhost", "127.0.0.1", "::1", ""})
_EXAMPLES = 5


def version_of(text: str) -> int:
    """`2.6.3-12-g5b6b8ac` as 20603; 0 when it is none."""
    parts = numeric_version(text)
    return (
        parts[0] * 10_000 + (parts[1] if len(parts) > 1 else 0) * 100 + (parts[2] if len(parts) > 2 else 0)
        if parts
        else 0
    )


def version_facts(text: str, source: str) -> Iterator[Fact]:
    if text:
        yield Fact(name="server.version_text", value=text, source=source)
    if number := version_of(text):
        yield Fact(name="server.version", value=number, source=source)


def kind_of(name: str) -> str:
    """Of which module a variable is: `ADMIN` or `MYSQL`."""
    return name.partition("-")[0].upper()


def statement_of(name: str, value: str) -> str:
    """The change of a variable in memory."""
    quoted = value.replace("'", "''")
    return f"UPDATE global_variables SET variable_value = '{quoted}' WHERE variable_name = '{name}'"


def typed(text: str) -> Scalar:
    return int(text) if text.isdecimal() and len(text) < 19 else text


def credentials(values: Mapping[str, str], source: str) -> Iterator[Fact]:
    """Whether the passwords that everybody knows are still there; the passwords themselves go no further."""
    for name, default in _DEFAULT_PASSWORDS.items():
        if name in values:
            kind = name.removeprefix("admin-").removesuffix("_credentials")
            yield Fact(name=f"security.default_{kind}", value=default in values[name].split(";"), source=source)
    if "mysql-monitor_username" in values and "mysql-monitor_password" in values:
        both = (values["mysql-monitor_username"], values["mysql-monitor_password"])
        yield Fact(name="security.default_monitor", value=both == ("monitor", "monitor"), source=source)


def differences(one: Mapping[str, str], other: Mapping[str, str], name: str, source: str) -> Iterator[Fact]:
    """Variables of one layer that the other has otherwise; of secrets the name only."""
    # Some are set by the program itself and are in one layer only.
    names = sorted(key for key in one if key in other and one[key] != other[key])
    yield Fact(name=f"config.{name}_count", value=len(names), source=source)
    yield Fact(name=f"config.{name}_examples", value=", ".join(names[:_EXAMPLES]), source=source)


def server_differences(one: Iterable[Row], other: Iterable[Row], source: str) -> Iterator[Fact]:
    """Servers whose row in one layer is not in the other. A server that is shunned is so in the running layer only."""
    left, right = ({_identity(row) for row in rows} for rows in (one, other))
    names = sorted({identity[0] for identity in left ^ right})
    yield Fact(name="config.servers_differ_count", value=len(names), source=source)
    yield Fact(name="config.servers_differ_examples", value=", ".join(names[:_EXAMPLES]), source=source)


def _identity(row: Row) -> tuple[str, ...]:
    status = "ONLINE" if row.get("status", "").startswith("SHUNNED") else row.get("status", "")
    fields = ("weight", "max_connections", "use_ssl", "max_replication_lag", "compression")
    return (f"{row.get('hostgroup_id')}/{_address(row)}", status, *(row.get(field, "") for field in fields))


def _address(row: Row) -> str:
    return f"{row.get('hostname') or row.get('srv_host', '')}:{row.get('port') or row.get('srv_port', '')}"


def servers(rows: Iterable[Row], source: str = "runtime_mysql_servers") -> Iterator[Fact]:
    known = list(rows)
    away = [f"{_address(row)} {row.get('status')}" for row in known if row.get("status", "").startswith("SHUNNED")]
    offline = [f"{_address(row)} {row['status']}" for row in known if row.get("status", "").startswith("OFFLINE")]
    plain = [_address(row) for row in known if row.get("use_ssl") == "0" and row.get("hostname") not in _NEAR]
    yield Fact(name="backends.count", value=len(known), source=source)
    for name, found in (("shunned", away), ("offline", offline), ("plain", plain)):
        yield Fact(name=f"backends.{name}_count", value=len(found), source=source)
        yield Fact(name=f"backends.{name}_examples", value=", ".join(found[:_EXAMPLES]), source=source)


def pool(
    rows: Iterable[Row], limits: Mapping[str, int] | None, source: str = "stats_mysql_connection_pool"
) -> Iterator[Fact]:
    """Connections to the servers. `limits` are their max_connections by address; None: not known."""
    known = list(rows)
    failed = sum(_number(row, "connerr") for row in known)
    made = sum(_number(row, "connok") for row in known)
    full = []
    for row in known:
        limit = (limits or {}).get(_address(row), 0)
        used = max(_number(row, "connused"), _number(row, "maxconnused"))
        if limit and used >= limit * 0.9:
            full.append(f"{_address(row)} {used} of {limit}")
    yield Fact(name="pool.failed_count", value=failed, source=source)
    yield Fact(name="pool.made_count", value=made, source=source)
    worst = sorted((row for row in known if _number(row, "connerr")), key=lambda row: -_number(row, "connerr"))
    words = ", ".join(f"{_address(row)} {row['connerr']} times" for row in worst[:_EXAMPLES])
    yield Fact(name="pool.failed_examples", value=words, source=source)
    if limits is not None:
        yield Fact(name="pool.full_count", value=len(full), source=source)
        yield Fact(name="pool.full_examples", value=", ".join(full[:_EXAMPLES]), source=source)


def limits_of(rows: Iterable[Row]) -> dict[str, int]:
    return {_address(row): _number(row, "max_connections") for row in rows}


def stats(values: Mapping[str, str], source: str = "stats_mysql_global") -> Iterator[Fact]:
    for name, value in values.items():
        yield Fact(name=f"status.{name.lower()}", value=typed(value), source=source)


def users(rows: Iterable[Row], source: str = "runtime_mysql_users") -> Iterator[Fact]:
    """Accounts of the traffic: those without a password, and those whose password is kept as it is."""
    found = {row.get("username", ""): row.get("password", "") for row in rows if row.get("active", "1") == "1"}
    bare = sorted(name for name, password in found.items() if not password)
    clear = sorted(name for name, password in found.items() if password and not password.startswith(("*", "$A$")))
    for name, those in (("no_password", bare), ("clear_password", clear)):
        yield Fact(name=f"security.{name}_count", value=len(those), source=source)
        yield Fact(name=f"security.{name}_examples", value=", ".join(those[:_EXAMPLES]), source=source)


def monitor(rows: Iterable[Row], source: str = "monitor.mysql_server_ping_log") -> Iterator[Fact]:
    """Servers whose last sign of life (rows, oldest first) was an error."""
    last = {f"{row.get('hostname')}:{row.get('port')}": row.get("ping_error") or row.get("connect_error") or ""
            for row in rows}  # fmt: skip
    failing = [f"{address}: {error}" for address, error in last.items() if error]
    yield Fact(name="monitor.failing_count", value=len(failing), source=source)
    yield Fact(name="monitor.failing_examples", value="; ".join(failing[:_EXAMPLES])[:1000], source=source)


def is_secret(name: str) -> bool:
    return any(name.endswith(word) for word in _SECRET)


def _number(row: Row, field: str) -> int:
    return int(row[field]) if row.get(field, "").isdecimal() else 0
