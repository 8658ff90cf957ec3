-- name: rocksdb_cf
-- title: Memtables and compaction by column family
-- version_min: 0
-- privilege: PROCESS
-- cost: cheap: one row for each column family and figure
-- columns:
--   family: key - column family
--   memtables_immutable: gauge - full memtables that wait to be flushed
--   flush_pending: gauge - 1 when a flush waits
--   compaction_pending: gauge - 1 when a compaction waits
--   memtable_bytes: gauge [B] - memory of its memtables
SELECT CF_NAME AS family,
       MAX(IF(STAT_TYPE = 'NUM_IMMUTABLE_MEM_TABLE', VALUE, 0)) AS memtables_immutable,
       MAX(IF(STAT_TYPE = 'MEM_TABLE_FLUSH_PENDING', VALUE, 0)) AS flush_pending,
       MAX(IF(STAT_TYPE = 'COMPACTION_PENDING', VALUE, 0)) AS compaction_pending,
       MAX(IF(STAT_TYPE = 'CUR_SIZE_ALL_MEM_TABLES', VALUE, 0)) AS memtable_bytes
FROM information_schema.ROCKSDB_CFSTATS
GROUP BY CF_NAME
