-- name: index_usage
-- title: Reads by index since the start; no rows while setting userstat is off
-- version_min: 1000000
-- privilege: PROCESS
-- cost: reads a hash table of the server: one row for each index
-- optional: yes
-- every_s: 60
-- timeout_s: 5
-- columns:
--   table_schema: key - schema
--   table_name: key - table
--   index_name: key - index
--   rows_read: counter - rows read by it
SELECT TABLE_SCHEMA AS table_schema, TABLE_NAME AS table_name, INDEX_NAME AS index_name, ROWS_READ AS rows_read
FROM information_schema.INDEX_STATISTICS
WHERE TABLE_SCHEMA <> 'mysql'
ORDER BY ROWS_READ DESC
LIMIT 200
