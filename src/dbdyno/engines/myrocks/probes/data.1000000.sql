-- name: data
-- title: Bytes written to data files
-- version_min: 1000000
-- privilege:
-- cost: cheap: SHOW GLOBAL STATUS, well below a millisecond on a small server, a few with thousands of connections
-- columns:
--   written_bytes: counter [B] role:data_write_bytes - by flushes and compactions
SELECT SUM(variable_value + 0) AS written_bytes
FROM information_schema.global_status
WHERE variable_name IN ('Rocksdb_flush_write_bytes', 'Rocksdb_compact_write_bytes')
