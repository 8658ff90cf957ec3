-- name: server
-- title: Statements, transactions and connections
-- version_min: 0
-- shape: pivot
-- privilege:
-- cost: cheap: SHOW GLOBAL STATUS, well below a millisecond on a small server, a few with thousands of connections
-- columns:
--   com_commit: counter role:commits - COMMIT statements; statements that commit by themselves are not among them
--   com_rollback: counter role:rollbacks - ROLLBACK statements
--   handler_commit: counter - commits inside the server, one for each statement and storage engine
--   handler_rollback: counter - the same for rollbacks
--   questions: counter role:statements - statements of clients
--   slow_queries: counter - statements longer than long_query_time
--   threads_connected: gauge - client connections
--   threads_running: gauge - connections that execute something, this one among them
--   threads_cached: gauge - idle threads kept for new connections
--   threads_created: counter - threads made for connections
--   connections: counter role:sessions_opened - attempts to connect
--   aborted_connects: counter - attempts that failed
--   connection_errors_max_connections: counter - refused because max_connections was reached
--   max_used_connections: gauge - most connections at once since the start
--   table_locks_waited: counter - statements that had to wait for a table lock of the server
--   created_tmp_tables: counter - internal temporary tables
--   created_tmp_disk_tables: counter role:temp_spills - internal temporary tables that went to disk
--   created_tmp_files: counter - temporary files
--   sort_merge_passes: counter - merges of sorts that did not fit sort_buffer_size
--   select_scan: counter - joins that read a first table wholly
--   select_full_join: counter - joins without an index
--   opened_tables: counter - tables opened; rises fast when table_open_cache is too small
--   binlog_cache_use: counter - transactions that used the cache of the binary log
--   binlog_cache_disk_use: counter - transactions whose cache of the binary log went to disk
--   binlog_commits: counter - transactions written to the binary log (MariaDB)
--   binlog_group_commits: counter - groups in which they were written and synced (MariaDB)
--   binlog_bytes_written: counter [B] role:binlog_bytes - bytes written to the binary log (MariaDB)
--   binlog_group_commit_trigger_count: counter - groups closed by binlog_commit_wait_count (MariaDB)
--   binlog_group_commit_trigger_timeout: counter - groups closed by binlog_commit_wait_usec (MariaDB)
--   binlog_group_commit_trigger_lock_wait: counter - groups closed because another transaction waited for a row lock (MariaDB)
--   memory_used: gauge [B] - memory that the server counts itself (MariaDB)
SHOW GLOBAL STATUS WHERE Variable_name IN (
    'com_commit',
    'com_rollback',
    'handler_commit',
    'handler_rollback',
    'questions',
    'slow_queries',
    'threads_connected',
    'threads_running',
    'threads_cached',
    'threads_created',
    'connections',
    'aborted_connects',
    'connection_errors_max_connections',
    'max_used_connections',
    'table_locks_waited',
    'created_tmp_tables',
    'created_tmp_disk_tables',
    'created_tmp_files',
    'sort_merge_passes',
    'select_scan',
    'select_full_join',
    'opened_tables',
    'binlog_cache_use',
    'binlog_cache_disk_use',
    'binlog_commits',
    'binlog_group_commits',
    'binlog_bytes_written',
    'binlog_group_commit_trigger_count',
    'binlog_group_commit_trigger_timeout',
    'binlog_group_commit_trigger_lock_wait',
    'memory_used')
