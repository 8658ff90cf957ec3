"""The questions of an audit: each is one query that answers with one row, and each column is a fact.

They read catalogues and statistics only. A server shows only the tables that a user may read, without saying that there
are more; so a question about all of them asks for the privilege first. What is told of tables is counted, and named by
a few examples. They fit MySQL from 5.7 and MariaDB from 10.4.

Sources: MySQL 8.0 manual, chapter 26 "INFORMATION_SCHEMA Tables" (2023); MariaDB manual, "Information Schema Tables"
and "mysql.global_priv Table" (2024).
"""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.engines._mysql.versions import MARIADB

EXAMPLES = 5
ANSWERED_WITHIN_S = 4.0
_FOREVER = 10**9
REPLICA_COLUMNS = {
    "replication.io_running": ("replica_io_running", "slave_io_running"),
    "replication.sql_running": ("replica_sql_running", "slave_sql_running"),
    "replication.lag_s": ("seconds_behind_source", "seconds_behind_master"),
    "replication.last_error": ("last_error",),
}
"""What is told of a replica, by the columns of SHOW REPLICA STATUS (SHOW SLAVE STATUS)."""
_OWN = "('mysql', 'information_schema', 'performance_schema', 'sys')"
_MARIA = MARIADB + 100400
_MYSQL = 50700


@dataclass(frozen=True)
class Question:
    name: str
    columns: tuple[str, ...]
    """Fact names of the query's columns `c0`, `c1` …"""
    query: str
    privilege: str = ""
    """Without it the server would answer with less than the truth."""
    version_min: int = 0
    version_below: int = _FOREVER


def counted(prefix: str, of: str, name: str, privilege: str = "SELECT") -> Question:
    """How many there are, and a few by name. `of` is a query with the column `name`."""
    query = (
        "SELECT COUNT(*) AS c0, IFNULL(SUBSTRING_INDEX(GROUP_CONCAT(name ORDER BY name SEPARATOR ', '), ', ', "
        f"{EXAMPLES}), '') AS c1 FROM ({of}) AS found"
    )
    return Question(name, (f"{prefix}_count", f"{prefix}_examples"), query, privilege)


def _limited(question: Question, version_min: int, version_below: int) -> Question:
    return Question(question.name, question.columns, question.query, question.privilege, version_min, version_below)


_INDEXES = f"""SELECT table_schema AS s, table_name AS t, index_name AS i, MIN(non_unique) AS n,
GROUP_CONCAT(CONCAT(IFNULL(column_name, CONCAT('expression of ', index_name)), IFNULL(CONCAT('(', sub_part, ')'), ''))
ORDER BY seq_in_index) AS c FROM information_schema.STATISTICS WHERE table_schema NOT IN {_OWN}
AND index_type IN ('BTREE', 'LSMTREE')
GROUP BY table_schema, table_name, index_name"""
_REDUNDANT = f"""SELECT DISTINCT CONCAT(a.s, '.', a.t, '.', a.i, ' (', b.i, ' has it)') AS name
FROM ({_INDEXES}) AS a JOIN ({_INDEXES}) AS b ON a.s = b.s AND a.t = b.t AND a.i <> b.i WHERE a.i <> 'PRIMARY' AND (
(a.n = 1 AND LEFT(b.c, CHAR_LENGTH(a.c) + 1) = CONCAT(a.c, ',')) OR (a.c = b.c AND (a.n > b.n OR (a.n = b.n
AND (b.i = 'PRIMARY' OR b.i < a.i)))))"""
_NO_KEY = f"""SELECT CONCAT(t.table_schema, '.', t.table_name) AS name FROM information_schema.TABLES AS t
LEFT JOIN (SELECT DISTINCT table_schema, table_name FROM information_schema.STATISTICS
WHERE index_name = 'PRIMARY') AS p ON p.table_schema = t.table_schema AND p.table_name = t.table_name
WHERE t.table_type = 'BASE TABLE'
AND t.table_schema NOT IN {_OWN} AND t.engine IN ('InnoDB', 'ROCKSDB') AND p.table_name IS NULL"""
_UNSAFE = f"""SELECT CONCAT(table_schema, '.', table_name, ' (', engine, ')') AS name FROM information_schema.TABLES
WHERE table_type = 'BASE TABLE' AND table_schema NOT IN {_OWN}
AND engine IN ('MyISAM', 'Aria', 'CSV', 'ARCHIVE', 'MRG_MyISAM', 'TokuDB')"""
_WIDE = f"""SELECT CONCAT(k.table_schema, '.', k.table_name, ' (', k.bytes, ' B)') AS name FROM (
SELECT s.table_schema, s.table_name, SUM(IFNULL(c.character_octet_length, 8)) AS bytes
FROM information_schema.STATISTICS AS s JOIN information_schema.COLUMNS AS c ON c.table_schema = s.table_schema
AND c.table_name = s.table_name AND c.column_name = s.column_name WHERE s.index_name = 'PRIMARY'
AND s.table_schema NOT IN {_OWN} GROUP BY s.table_schema, s.table_name) AS k WHERE k.bytes > 128
AND EXISTS (SELECT 1 FROM information_schema.STATISTICS AS o WHERE o.table_schema = k.table_schema
AND o.table_name = k.table_name AND o.index_name <> 'PRIMARY')"""
_FULL = f"""SELECT CONCAT(t.table_schema, '.', t.table_name, ' (', FLOOR(100 * t.auto_increment / (
CASE c.data_type WHEN 'tinyint' THEN 255 WHEN 'smallint' THEN 65535 WHEN 'mediumint' THEN 16777215
WHEN 'int' THEN 4294967295 ELSE 18446744073709551615 END / IF(LOCATE('unsigned', c.column_type) > 0, 1, 2))), ' %)')
AS name, t.auto_increment / (CASE c.data_type WHEN 'tinyint' THEN 255 WHEN 'smallint' THEN 65535
WHEN 'mediumint' THEN 16777215 WHEN 'int' THEN 4294967295 ELSE 18446744073709551615 END
/ IF(LOCATE('unsigned', c.column_type) > 0, 1, 2)) AS part FROM information_schema.TABLES AS t
JOIN information_schema.COLUMNS AS c ON c.table_schema = t.table_schema AND c.table_name = t.table_name
AND c.extra LIKE '%auto_increment%' WHERE t.table_schema NOT IN {_OWN} AND t.auto_increment IS NOT NULL
HAVING part > 0.7"""
_HOLES = f"""SELECT CONCAT(table_schema, '.', table_name, ' (', ROUND(data_free / 1073741824, 1), ' GiB)') AS name
FROM information_schema.TABLES WHERE table_schema NOT IN {_OWN} AND engine IN ('InnoDB', 'MyISAM', 'Aria')
AND data_free > 1073741824 AND data_free > 0.5 * (data_length + index_length)
AND table_type = 'BASE TABLE' AND IFNULL(create_options, '') NOT LIKE '%partitioned%'"""
_NAME = "CONCAT(QUOTE(user), '@', QUOTE(host))"
_LOCAL = "('localhost', '127.0.0.1', '::1', @@hostname)"
_MARIA_OPEN = "priv NOT LIKE '%\"account_locked\":true%' AND priv NOT LIKE '%\"is_role\":true%'"
_NATIVE = "IFNULL(JSON_VALUE(priv, '$.plugin'), '') IN ('', 'mysql_native_password', 'mysql_old_password', 'ed25519')"
_MYSQL_OPEN = "account_locked = 'N'"
_WITH_WORD = "plugin IN ('mysql_native_password', 'sha256_password', 'caching_sha2_password')"
_FULL_ACCESS = "(JSON_VALUE(priv, '$.access') & 32768) > 0"
"""SUPER, the sixteenth privilege bit. Source: MariaDB source, sql/privilege.h (2023): SUPER_ACL = 1 << 15."""


def _accounts(name: str, prefix: str, maria: str, mysql: str) -> tuple[Question, Question]:
    """The same question for both vendors, who keep their accounts in different tables."""
    first = counted(prefix, f"SELECT {_NAME} AS name FROM mysql.global_priv WHERE {_MARIA_OPEN} AND {maria}", name, "")
    second = counted(prefix, f"SELECT {_NAME} AS name FROM mysql.user WHERE {_MYSQL_OPEN} AND {mysql}", name, "")
    return _limited(first, _MARIA, _FOREVER), _limited(second, _MYSQL, MARIADB)


QUESTIONS = (
    counted("schema.no_primary_key", _NO_KEY, "no_primary_key"),
    counted("schema.not_transactional", _UNSAFE, "not_transactional"),
    counted("schema.redundant_index", _REDUNDANT, "redundant_index"),
    counted("schema.wide_primary_key", _WIDE, "wide_primary_key"),
    counted("schema.auto_increment_full", _FULL, "auto_increment_full"),
    counted("schema.reclaimable", _HOLES, "reclaimable"),
    *_accounts("anonymous", "security.anonymous", "user = '' AND host <> ''", "user = ''"),
    *_accounts(
        "no_password", "security.no_password",
        f"{_NATIVE} AND IFNULL(JSON_VALUE(priv, '$.authentication_string'), '') = '' AND user NOT IN ('', 'PUBLIC')",
        f"{_WITH_WORD} AND authentication_string = '' AND user <> ''",
    ),
    *_accounts(
        "remote_super", "security.remote_super", f"{_FULL_ACCESS} AND host NOT IN {_LOCAL}",
        f"super_priv = 'Y' AND host NOT IN {_LOCAL}",
    ),
    Question(
        "size", ("server.cluster_bytes",),
        "SELECT IFNULL(SUM(data_length + index_length), 0) AS c0 FROM information_schema.TABLES", "SELECT",
    ),
    Question(
        "oldest_transaction", ("status.oldest_transaction_s", "status.transactions"),
        "SELECT IFNULL(MAX(TIMESTAMPDIFF(SECOND, trx_started, NOW())), 0) AS c0, "
        "COUNT(*) AS c1 "
        "FROM information_schema.INNODB_TRX",
        "PROCESS",
    ),
    Question(
        "history", ("status.innodb_history_list_length",),
        "SELECT `count` AS c0 FROM information_schema.INNODB_METRICS WHERE name = 'trx_rseg_history_len'", "PROCESS",
        0, MARIADB,
    ),
    Question(
        "hash_index", ("status.innodb_adaptive_hash_hash_searches", "status.innodb_adaptive_hash_non_hash_searches"),
        "SELECT SUM(IF(name = 'adaptive_hash_searches', `count`, 0)) AS c0, "
        "SUM(IF(name = 'adaptive_hash_searches_btree', "
        "`count`, 0)) AS c1 FROM information_schema.INNODB_METRICS WHERE name LIKE 'adaptive_hash_searches%'",
        "PROCESS", 0, MARIADB,
    ),
    Question(
        "replicas", ("replication.replicas_count",),
        "SELECT COUNT(*) AS c0 FROM information_schema.PROCESSLIST WHERE command LIKE 'Binlog Dump%'", "PROCESS",
    ),
)  # fmt: skip
