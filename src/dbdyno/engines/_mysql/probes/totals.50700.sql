-- name: totals
-- title: Start of the server and rows written
-- version_min: 50700
-- version_below: 1000000
-- privilege:
-- cost: cheap: SHOW GLOBAL STATUS, well below a millisecond on a small server, a few with thousands of connections
-- columns:
--   started_unix_s: gauge [unix_s] role:server_started - when the server was started: both clocks are read at the statement's start, so it does not waver
--   rows_written: counter role:rows_written - rows inserted, updated, deleted, as the storage engines count them
SELECT UNIX_TIMESTAMP() - MAX(CASE WHEN variable_name = 'Uptime' THEN variable_value + 0 END) AS started_unix_s,
       SUM(CASE WHEN variable_name <> 'Uptime' THEN variable_value + 0 END) AS rows_written
FROM performance_schema.global_status
WHERE variable_name IN (
    'Uptime', 'Innodb_rows_inserted', 'Innodb_rows_updated', 'Innodb_rows_deleted',
    'Rocksdb_rows_inserted', 'Rocksdb_rows_updated', 'Rocksdb_rows_deleted')
