-- name: metrics
-- title: Counters of INNODB_METRICS that are on (MariaDB until 10.4: column status)
-- version_min: 1000000
-- version_below: 1100500
-- shape: pivot
-- privilege: PROCESS
-- cost: copies a table of counters in the server; counters that are off are not read, for they say 0
-- columns:
--   lock_timeouts: counter - waits for row locks that were given up
--   log_lsn_checkpoint_age: gauge [B] - log since the last checkpoint (off by default)
--   log_max_modified_age_async: gauge [B] - age of the oldest change from which pages are flushed for it (off by default)
--   buffer_flush_neighbor_total_pages: counter - pages written only because they were beside another (off by default)
--   buffer_flush_batch_total_pages: counter - pages written in batches of the flush list (off by default)
--   buffer_flush_adaptive_total_pages: counter - pages written by adaptive flushing (off by default)
--   buffer_flush_sync_total_pages: counter - pages written because the age was at its limit (off by default)
--   buffer_flush_sync_waits: counter - times a statement waited for that (off by default)
--   buffer_flush_background_total_pages: counter - pages written when idle (off by default)
--   buffer_lru_batch_flush_total_pages: counter - pages written from the LRU list by the page cleaner
--   buffer_lru_single_flush_scanned: counter - pages looked at by statements that made room themselves (off by default)
--   buffer_lru_single_flush_num_scan: counter - statements that made room themselves (off by default)
--   trx_rw_commits: counter - transactions with writes (off by default)
--   trx_rollbacks: counter - transactions rolled back (off by default)
--   trx_active_transactions: gauge - open transactions (off by default)
SELECT name, count
FROM information_schema.INNODB_METRICS
WHERE status = 'enabled'
  AND name IN ($columns)
