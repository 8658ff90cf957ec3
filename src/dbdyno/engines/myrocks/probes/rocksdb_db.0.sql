-- name: rocksdb_db
-- title: State of the whole store
-- version_min: 0
-- shape: pivot
-- privilege: PROCESS
-- cost: cheap
-- columns:
--   db_background_errors: gauge - errors in flushes and compactions
--   db_num_snapshots: gauge - open snapshots
--   oldest_snapshot_s: gauge [s] role:oldest_transaction_s - age of the oldest, which keeps old versions of rows
--   db_block_cache_usage: gauge [B] - bytes in the block cache
SELECT STAT_TYPE, VALUE FROM information_schema.ROCKSDB_DBSTATS
UNION ALL
SELECT 'oldest_snapshot_s', IF(VALUE > 0, GREATEST(0, UNIX_TIMESTAMP() - VALUE), 0)
FROM information_schema.ROCKSDB_DBSTATS
WHERE STAT_TYPE = 'DB_OLDEST_SNAPSHOT_TIME'
