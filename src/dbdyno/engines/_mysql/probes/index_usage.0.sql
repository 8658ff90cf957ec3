-- name: index_usage
-- title: Reads by index since the start
-- version_min: 0
-- version_below: 1000000
-- privilege: SELECT
-- cost: scans a table of performance_schema: one row for each index
-- optional: yes
-- every_s: 60
-- timeout_s: 5
-- columns:
--   table_schema: key - schema
--   table_name: key - table
--   index_name: key - index; empty for reads of the whole table
--   rows_read: counter - rows read by it
SELECT OBJECT_SCHEMA AS table_schema, OBJECT_NAME AS table_name, COALESCE(INDEX_NAME, '') AS index_name,
       COUNT_READ AS rows_read
FROM performance_schema.table_io_waits_summary_by_index_usage
WHERE OBJECT_SCHEMA NOT IN ('mysql', 'performance_schema', 'information_schema', 'sys') AND COUNT_STAR > 0
ORDER BY COUNT_READ DESC
LIMIT 200
