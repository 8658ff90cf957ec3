"""What an audit of ProxySQL looks at beside its settings: the layers of its configuration, its servers, accounts,
connections, and what its monitor says."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dbdyno.engines.proxysql import tables
from dbdyno.engines.proxysql.session import ProxySession, Row
from dbdyno.model.errors import TargetError
from dbdyno.model.fact import Fact
from dbdyno.model.facts import Facts

Read = Callable[[], Iterator[Fact]]
_VARIABLES = "SELECT variable_name, variable_value FROM "
_SERVERS = (
    "SELECT hostgroup_id, hostname, port, status, weight, compression, max_connections, max_replication_lag, "
    "use_ssl FROM "
)
_PING = "SELECT hostname, port, ping_error FROM monitor.mysql_server_ping_log ORDER BY time_start_us DESC LIMIT 1000"


def read_facts(session: ProxySession) -> Iterator[Fact]:
    """Asks everything. What is refused (another account sees little) leaves its facts with that reason."""
    yield Fact(name="server.settings_complete", value=True, source="runtime_global_variables")
    reads: tuple[tuple[Read, tuple[str, ...]], ...] = (
        (lambda: _layers(session), ("config.not_saved_count", "config.not_saved_examples", "config.not_loaded_count",
                                    "config.not_loaded_examples", "security.default_admin", "security.default_stats",
                                    "security.default_monitor")),
        (lambda: _servers(session), ("backends.count", "backends.shunned_count", "backends.shunned_examples",
                                     "backends.offline_count", "backends.offline_examples", "backends.plain_count",
                                     "backends.plain_examples", "config.servers_differ_count",
                                     "config.servers_differ_examples")),
        (lambda: _pool(session), ("pool.failed_count", "pool.made_count", "pool.failed_examples", "pool.full_count",
                                  "pool.full_examples")),
        (lambda: tables.stats(_table(session, "SELECT * FROM stats_mysql_global")),
         ("status.client_connections_connected", "status.query_cache_count_get", "status.query_cache_count_get_ok")),
        (lambda: tables.users(session.rows("SELECT username, password, active FROM runtime_mysql_users")),
         ("security.no_password_count", "security.no_password_examples", "security.clear_password_count",
          "security.clear_password_examples")),
        (lambda: tables.monitor(reversed(session.rows(_PING))), ("monitor.failing_count", "monitor.failing_examples")),
    )  # fmt: skip
    for read, names in reads:
        yield from _tried(read, names)


def _tried(read: Read, names: tuple[str, ...]) -> Iterator[Fact]:
    try:
        facts = list(read())
    except TargetError as error:
        yield from (Fact(name=name, source="admin interface", unknown=error.found or error.what) for name in names)
        return
    yield from facts
    said = {fact.name for fact in facts}
    for name in names:
        if name not in said:
            yield Fact(name=name, source="admin interface", unknown="the server gives no value")


def _table(session: ProxySession, query: str) -> dict[str, str]:
    return {row["variable_name"]: row["variable_value"] for row in session.rows(query)}


def _layers(session: ProxySession) -> Iterator[Fact]:
    running = _table(session, _VARIABLES + "runtime_global_variables")
    memory, disk = (
        _table(session, _VARIABLES + "global_variables"),
        _table(session, _VARIABLES + "disk.global_variables"),
    )
    yield from tables.differences(running, disk, "not_saved", "runtime_global_variables, disk.global_variables")
    yield from tables.differences(memory, running, "not_loaded", "global_variables, runtime_global_variables")
    yield from tables.credentials(running, "runtime_global_variables")


def _rows(session: ProxySession, table: str) -> list[Row]:
    return session.rows(_SERVERS + table)


def _servers(session: ProxySession) -> Iterator[Fact]:
    running = _rows(session, "runtime_mysql_servers")
    yield from tables.servers(running)
    yield from tables.server_differences(running, _rows(session, "disk.mysql_servers"), "disk.mysql_servers")


def _pool(session: ProxySession) -> Iterator[Fact]:
    limits = tables.limits_of(_rows(session, "runtime_mysql_servers"))
    yield from tables.pool(session.rows("SELECT * FROM stats_mysql_connection_pool"), limits)


def derive(facts: Facts) -> Iterator[Fact]:
    """What the machine's rules ask: it keeps no data and forks nothing."""
    yield Fact(name="server.flavour", value="proxysql", source="global_variables")
    yield Fact(name="server.forks_for_snapshot", value=False, source="it keeps no data")
    yield Fact(name="server.huge_pages_wanted", value=False, source="it asks for none")
    if facts.has("setting.mysql-max_connections"):
        connections = facts.number("setting.mysql-max_connections")
        yield Fact(name="server.connections_max", value=connections, source="mysql-max_connections")
        # Each connection of a program may have one to a server.
        yield Fact(name="server.files_needed", value=2 * connections, source="mysql-max_connections")
