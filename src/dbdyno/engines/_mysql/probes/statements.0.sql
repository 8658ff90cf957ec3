-- name: statements
-- title: Statements by kind, where performance_schema is on; no rows where it is off
-- version_min: 0
-- privilege: SELECT
-- cost: scans a table of performance_schema: some hundred rows
-- every_s: 5
-- columns:
--   kind: key - select, insert, commit …
--   count: counter - statements
--   time_ms: counter [ms] - time in them
--   lock_ms: counter [ms] - time in waiting for tables' locks
--   errors: counter - statements that failed
--   rows_examined: counter - rows read
--   tmp_disk_tables: counter - temporary tables on disk
SELECT SUBSTRING_INDEX(EVENT_NAME, '/', -1) AS kind, COUNT_STAR AS count, SUM_TIMER_WAIT / 1e9 AS time_ms,
       SUM_LOCK_TIME / 1e9 AS lock_ms, SUM_ERRORS AS errors, SUM_ROWS_EXAMINED AS rows_examined,
       SUM_CREATED_TMP_DISK_TABLES AS tmp_disk_tables
FROM performance_schema.events_statements_summary_global_by_event_name
WHERE EVENT_NAME LIKE 'statement/sql/%' AND COUNT_STAR > 0
ORDER BY SUM_TIMER_WAIT DESC
LIMIT 20
