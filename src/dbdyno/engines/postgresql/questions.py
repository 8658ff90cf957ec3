"""The questions of an audit: each is one query that answers with one row, and each column is a fact.

They read catalogues and statistics only, of the database that we are connected to where they are about tables. What is
told about tables is counted, and named by a few examples, so that no server can answer with more than a few kilobytes.
`%EXAMPLES%` stands for the number of examples.
"""

from __future__ import annotations

from dataclasses import dataclass

EXAMPLES = 5
ANSWERED_WITHIN_S = 3.0
_ALWAYS = 0
_FOREVER = 10**9
_USER_TABLES = "n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'"

_UNSAFE = (
    "^(synchronous_commit=(off|local|remote_write)|zero_damaged_pages=on|ignore_checksum_failure=on"
    "|session_replication_role=replica)"
)
"""Settings of a role or database that weaken durability for its sessions alone."""


@dataclass(frozen=True)
class Question:
    name: str
    columns: tuple[str, ...]
    """Fact names in the order of the query's columns."""
    query: str
    version_min: int = _ALWAYS
    version_below: int = _FOREVER
    privilege: str = ""
    """Role without which the server would answer with less than the truth."""


def counted(prefix: str, of: str, name: str) -> Question:
    """How many there are, and a few by name. `of` is a query with the columns `name` and `weight` (the heaviest
    first)."""
    query = (
        f"WITH found AS ({of}) SELECT count(*), coalesce((SELECT string_agg(name, ', ' ORDER BY weight DESC, name) "
        f"FROM (SELECT * FROM found ORDER BY weight DESC, name LIMIT {EXAMPLES}) AS few), '') FROM found"
    )
    return Question(name, (f"{prefix}_count", f"{prefix}_examples"), query)


SERVER = Question(
    "server",
    ("server.role", "server.settings_complete", "server.log_directory", "server.overrides_unsafe_count",
     "server.overrides_unsafe_examples"),
    f"""SELECT CASE WHEN pg_is_in_recovery() THEN 'replica' ELSE 'primary' END,
       pg_has_role(current_user, 'pg_read_all_settings', 'USAGE'),
       current_setting('data_directory', true) || '/pg_wal',
       (SELECT count(*) FROM pg_db_role_setting WHERE EXISTS (SELECT FROM unnest(setconfig) AS s WHERE s ~
        '{_UNSAFE}')),
       coalesce((SELECT string_agg(coalesce(r.rolname, 'all roles') || ' in ' || coalesce(d.datname, 'all databases')
        || ': ' || array_to_string(setconfig, ' '), '; ') FROM pg_db_role_setting
        LEFT JOIN pg_roles AS r ON r.oid = setrole LEFT JOIN pg_database AS d ON d.oid = setdatabase
        WHERE EXISTS (SELECT FROM unnest(setconfig) AS s WHERE s ~
        '{_UNSAFE}')), '')""",
)  # fmt: skip
FILES = Question(
    "files",
    ("server.config_file", "server.hba_file", "server.pid"),
    "SELECT current_setting('config_file'), current_setting('hba_file'), "
    "split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int",
)
CONFIG_FILES = Question(
    "config_files",
    ("server.file_errors_count", "server.file_errors_examples", "server.drift_count", "server.drift_examples"),
    """SELECT count(*) FILTER (WHERE error IS NOT NULL AND error <> 'setting could not be applied'),
       coalesce(string_agg(sourcefile || ' line ' || sourceline || ': ' || error, '; ')
        FILTER (WHERE error IS NOT NULL AND error <> 'setting could not be applied'), ''),
       (SELECT count(*) FROM pg_file_settings AS f JOIN pg_file_settings AS a ON a.name = f.name AND a.applied
        WHERE NOT f.applied AND f.error IS NULL AND a.sourcefile ~ 'postgresql.auto.conf$' AND f.setting <> a.setting
        AND f.sourcefile !~ 'postgresql.auto.conf$'),
       coalesce((SELECT string_agg(f.name || ' = ' || f.setting || ' (file) but ' || a.setting, ', ')
        FROM pg_file_settings AS f JOIN pg_file_settings AS a ON a.name = f.name AND a.applied
        WHERE NOT f.applied AND f.error IS NULL AND a.sourcefile ~ 'postgresql.auto.conf$' AND f.setting <> a.setting
        AND f.sourcefile !~ 'postgresql.auto.conf$'), '')
       FROM pg_file_settings""",
)
PENDING = counted(
    "server.pending_restart",
    # What the command line gives stays as it is after a restart, whatever the files say.
    "SELECT name, 0 AS weight FROM pg_settings WHERE pending_restart AND source <> 'command line'",
    "pending",
)
CHECKPOINTS = Question(
    "checkpoints",
    ("status.checkpoints_timed", "status.checkpoints_requested", "status.checkpoint_stats_age_s"),
    "SELECT checkpoints_timed, checkpoints_req, extract(epoch FROM now() - stats_reset) FROM pg_stat_bgwriter",
    version_below=170000,
)
CHECKPOINTS_17 = Question(
    CHECKPOINTS.name,
    CHECKPOINTS.columns,
    "SELECT num_timed, num_requested, extract(epoch FROM now() - stats_reset) FROM pg_stat_checkpointer",
    version_min=170000,
)
WAL = Question(
    "wal",
    (
        "status.wal_bytes",
        "status.wal_fpi",
        "status.wal_buffers_full",
        "status.wal_bytes_per_s_mean",
        "status.wal_stats_age_s",
    ),
    "SELECT wal_bytes, wal_fpi, wal_buffers_full, "
    "wal_bytes / greatest(extract(epoch FROM now() - stats_reset), 1), extract(epoch FROM now() - stats_reset) "
    "FROM pg_stat_wal",
    version_min=140000,
)
ARCHIVER = Question(
    "archiver",
    ("status.archived_count", "status.archive_failed_count", "status.archive_failing"),
    "SELECT archived_count, failed_count, coalesce(last_failed_time > last_archived_time, failed_count > 0) "
    "FROM pg_stat_archiver",
)
DATABASES = Question(
    "databases",
    ("status.cache_hit_ratio", "status.temp_bytes", "status.temp_bytes_per_s_mean", "status.deadlocks",
     "status.checksum_failures", "status.database_stats_age_s"),
    """SELECT sum(blks_hit)::float8 / nullif(sum(blks_hit) + sum(blks_read), 0), sum(temp_bytes),
       sum(temp_bytes) / greatest(max(extract(epoch FROM now() - coalesce(stats_reset, pg_postmaster_start_time()))),
        1),
       sum(deadlocks), coalesce(sum(checksum_failures), 0),
       max(extract(epoch FROM now() - coalesce(stats_reset, pg_postmaster_start_time()))) FROM pg_stat_database""",
)  # fmt: skip
SESSIONS = Question(
    "sessions",
    ("status.connections", "status.transaction_oldest_s", "status.idle_in_transaction_oldest_s",
     "status.connections_remote_plain", "status.prepared_oldest_s"),
    """SELECT count(*) FILTER (WHERE a.backend_type = 'client backend'),
       coalesce(max(extract(epoch FROM now() - xact_start)) FILTER (WHERE a.backend_type = 'client backend'), 0),
       coalesce(max(extract(epoch FROM now() - state_change)) FILTER (WHERE state LIKE 'idle in transaction%'), 0),
       count(*) FILTER (WHERE a.client_addr IS NOT NULL AND NOT a.client_addr <<= '127.0.0.0/8'
        AND a.client_addr <> '::1' AND NOT coalesce(s.ssl, false)),
       (SELECT coalesce(max(extract(epoch FROM now() - prepared)), 0) FROM pg_prepared_xacts)
       FROM pg_stat_activity AS a LEFT JOIN pg_stat_ssl AS s USING (pid)""",
    privilege="pg_read_all_stats",
)  # fmt: skip
AGES = Question(
    "ages",
    ("status.xid_age_max", "status.xid_age_database", "status.mxid_age_max"),
    "SELECT max(age(datfrozenxid)), (array_agg(datname ORDER BY age(datfrozenxid) DESC))[1], max(mxid_age(datminmxid)) "
    "FROM pg_database",
)
SLOTS = Question(
    "slots",
    ("replication.slots_count", "replication.slots_inactive_count", "replication.slots_inactive_examples",
     "replication.slot_retained_bytes_max", "replication.slots_lost_count"),
    """SELECT count(*), count(*) FILTER (WHERE NOT active),
       coalesce(string_agg(slot_name, ', ') FILTER (WHERE NOT active), ''),
       coalesce(max(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
        ELSE pg_current_wal_lsn() END, restart_lsn)), 0),
       count(*) FILTER (WHERE wal_status = 'lost') FROM pg_replication_slots""",
)  # fmt: skip
REPLICAS = Question(
    "replicas",
    ("replication.replicas_count", "replication.sync_replicas_count", "replication.lag_bytes_max"),
    """SELECT count(*), count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')),
       coalesce(max(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
        ELSE pg_current_wal_lsn() END, replay_lsn)), 0) FROM pg_stat_replication""",
    privilege="pg_read_all_stats",
)
COLLATIONS = Question(
    "collations",
    ("server.collations_changed_count",),
    "SELECT count(*) FROM pg_database WHERE datallowconn AND datcollversion IS NOT NULL "
    "AND datcollversion <> pg_database_collation_actual_version(oid)",
    version_min=150000,
)
PASSWORDS = Question(
    "passwords",
    ("security.logins_md5_count", "security.logins_md5_examples"),
    "SELECT count(*), coalesce(string_agg(rolname, ', '), '') FROM pg_authid "
    "WHERE rolcanlogin AND rolpassword LIKE 'md5%'",
)
_REMOTE = (
    "type LIKE 'host%' AND NOT (coalesce(address, '') IN ('127.0.0.1', '::1', 'localhost', 'samehost') "
    "OR coalesce(address, '') LIKE '127.%') AND auth_method <> 'reject'"
)
HBA = Question(
    "hba",
    ("security.hba_trust_remote_count", "security.hba_trust_local_count", "security.hba_md5_count",
     "security.hba_plain_password_count", "security.hba_remote_superuser_count", "security.hba_remote_plain_count",
     "security.hba_errors_count"),
    f"""SELECT count(*) FILTER (WHERE {_REMOTE} AND auth_method = 'trust'),
       count(*) FILTER (WHERE NOT ({_REMOTE}) AND auth_method = 'trust'),
       count(*) FILTER (WHERE auth_method = 'md5'), count(*) FILTER (WHERE {_REMOTE} AND auth_method = 'password'),
       count(*) FILTER (WHERE {_REMOTE} AND auth_method NOT IN ('cert', 'gss', 'sspi')
        AND NOT database = '{{replication}}' AND (user_name && ARRAY['all']
        OR user_name && (SELECT array_agg(rolname::text) FROM pg_roles WHERE rolsuper))),
       count(*) FILTER (WHERE {_REMOTE} AND type IN ('host', 'hostnossl')), count(*) FILTER (WHERE error IS NOT NULL)
       FROM pg_hba_file_rules""",
)  # fmt: skip
PUBLIC = Question(
    "public",
    ("security.public_may_create",),
    "SELECT coalesce(bool_or(has_schema_privilege('public', oid, 'CREATE')), false) FROM pg_namespace "
    "WHERE nspname = 'public'",
)
STATEMENTS = Question(
    "statements",
    ("server.statements_installed",),
    "SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_stat_statements')",
)
EXTENSIONS = counted(
    "server.extensions_outdated",
    "SELECT name::text || ' ' || installed_version AS name, 0 AS weight FROM pg_available_extensions "
    "WHERE installed_version <> default_version",
    "extensions",
)
TABLES = (
    counted(
        "schema.no_primary_key",
        f"""SELECT n.nspname || '.' || c.relname AS name, c.reltuples AS weight FROM pg_class AS c
        JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
        AND {_USER_TABLES} AND NOT EXISTS (SELECT FROM pg_index WHERE indrelid = c.oid AND indisprimary)""",
        "no_primary_key",
    ),
    counted(
        "schema.unlogged",
        f"""SELECT n.nspname || '.' || c.relname AS name, c.reltuples AS weight FROM pg_class AS c
        JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND c.relpersistence = 'u'
        AND {_USER_TABLES}""",
        "unlogged",
    ),
    counted(
        "schema.autovacuum_off",
        f"""SELECT n.nspname || '.' || c.relname AS name, c.reltuples AS weight FROM pg_class AS c
        JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'm') AND {_USER_TABLES}
        AND EXISTS (SELECT FROM unnest(c.reloptions) AS o WHERE o ~* 'autovacuum_enabled=(off|false|no|0)')""",
        "autovacuum_off",
    ),
    counted(
        "schema.index_invalid",
        f"""SELECT n.nspname || '.' || c.relname AS name, 0 AS weight FROM pg_index AS i
        JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE NOT i.indisvalid AND c.relkind = 'i' AND {_USER_TABLES}
        AND NOT EXISTS (SELECT FROM pg_stat_progress_create_index AS p WHERE p.index_relid = c.oid)""",
        "index_invalid",
    ),
    counted(
        "schema.index_duplicate",
        f"""SELECT string_agg(c.relname, ' = ' ORDER BY c.relname) AS name, sum(pg_relation_size(c.oid)) AS weight
        FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE i.indisvalid AND c.relkind = 'i' AND {_USER_TABLES}
        GROUP BY i.indrelid, i.indkey::text, i.indclass::text, i.indcollation::text, i.indoption::text,
        coalesce(pg_get_expr(i.indexprs, i.indrelid), ''), coalesce(pg_get_expr(i.indpred, i.indrelid), ''), c.relam
        HAVING count(*) > 1""",
        "index_duplicate",
    ),
    counted(
        "schema.index_unused",
        """SELECT s.schemaname || '.' || s.indexrelname AS name, pg_relation_size(s.indexrelid) AS weight
        FROM pg_stat_user_indexes AS s JOIN pg_index AS i USING (indexrelid)
        WHERE s.idx_scan = 0 AND NOT i.indisunique AND i.indisvalid AND pg_relation_size(s.indexrelid) > 1048576
        AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = s.indexrelid)""",
        "index_unused",
    ),
    counted(
        "schema.foreign_key_unindexed",
        f"""SELECT c.relname || '.' || k.conname AS name, c.reltuples AS weight FROM pg_constraint AS k
        JOIN pg_class AS c ON c.oid = k.conrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE k.contype = 'f' AND {_USER_TABLES} AND c.reltuples > 10000 AND NOT EXISTS (SELECT FROM pg_index AS i
        WHERE i.indrelid = k.conrelid AND i.indisvalid AND i.indpred IS NULL
        AND (i.indkey::int2[])[0:cardinality(k.conkey) - 1] @> k.conkey)""",
        "foreign_key_unindexed",
    ),
    counted(
        "schema.sequence_near_end",
        """SELECT s.schemaname || '.' || s.sequencename AS name, s.last_value AS weight FROM pg_sequences AS s
        JOIN pg_class AS c ON c.relname = s.sequencename AND c.relkind = 'S'
        JOIN pg_namespace AS n ON n.oid = c.relnamespace AND n.nspname = s.schemaname
        LEFT JOIN pg_depend AS d ON d.objid = c.oid AND d.classid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
        LEFT JOIN pg_attribute AS a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid AND a.attnum > 0
        WHERE NOT s.cycle AND s.increment_by > 0 AND s.last_value > 0.75 * least(s.max_value,
        CASE format_type(a.atttypid, NULL) WHEN 'integer' THEN 2147483647 WHEN 'smallint' THEN 32767
        ELSE 9223372036854775807 END)""",
        "sequence_near_end",
    ),
    counted(
        "status.dead_rows",
        """SELECT s.schemaname || '.' || s.relname AS name, s.n_dead_tup AS weight FROM pg_stat_user_tables AS s
        JOIN pg_class AS c ON c.oid = s.relid WHERE s.n_dead_tup > 10000 AND s.n_dead_tup > 2 * (
        current_setting('autovacuum_vacuum_threshold')::float8
        + current_setting('autovacuum_vacuum_scale_factor')::float8 * greatest(c.reltuples, s.n_live_tup))""",
        "dead_rows",
    ),
    counted(
        "status.never_analysed",
        """SELECT s.schemaname || '.' || s.relname AS name, s.n_live_tup AS weight FROM pg_stat_user_tables AS s
        WHERE s.n_live_tup > 10000 AND s.last_analyze IS NULL AND s.last_autoanalyze IS NULL
        AND s.n_mod_since_analyze > 0.5 * s.n_live_tup""",
        "never_analysed",
    ),
    counted(
        "schema.bloated",
        f"""SELECT n.nspname || '.' || c.relname AS name, pg_relation_size(c.oid) AS weight FROM pg_class AS c
        JOIN pg_namespace AS n ON n.oid = c.relnamespace
        JOIN (SELECT starelid, sum(stawidth * (1 - stanullfrac)) AS width, count(*) AS columns
        FROM pg_statistic WHERE NOT stainherit GROUP BY starelid) AS w ON w.starelid = c.oid
        WHERE c.relkind = 'r' AND {_USER_TABLES} AND c.relpages > 2560 AND c.reltuples >= 0
        AND c.relpages > 2 * c.reltuples * (28 + 8 * ceil(w.width / 8.0)) / (8192 - 24)
        / (coalesce((SELECT split_part(o, '=', 2)::float8 FROM unnest(c.reloptions) AS o
        WHERE o LIKE 'fillfactor=%'), 100) / 100)""",
        "bloated",
    ),
)
QUESTIONS = (
    SERVER, FILES, CONFIG_FILES, PENDING, CHECKPOINTS, CHECKPOINTS_17, WAL, ARCHIVER, DATABASES, SESSIONS, AGES, SLOTS,
    REPLICAS, COLLATIONS, PASSWORDS, HBA, PUBLIC, STATEMENTS,
    EXTENSIONS, *TABLES,
)  # fmt: skip
