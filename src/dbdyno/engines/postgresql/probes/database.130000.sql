-- name: database
-- title: The target's database
-- version_min: 130000
-- privilege:
-- cost: cheap: shared memory
-- columns:
--   commits: counter role:commits - committed transactions, those of watching included
--   rollbacks: counter role:rollbacks - rolled back transactions
--   hits: counter role:cache_hits - pages found in the server's cache
--   misses: counter role:cache_misses - pages asked from the system (which may have them cached)
--   rows_inserted: counter - rows inserted
--   rows_updated: counter - rows updated
--   rows_deleted: counter - rows deleted
--   rows_written: counter role:rows_written - rows inserted, updated and deleted
--   rows_returned: counter - rows read by scans and index entries returned
--   rows_fetched: counter - rows fetched by index scans
--   deadlocks: counter role:deadlocks - deadlocks found
--   temp_files: counter - temporary files made
--   temp_bytes: counter [B] role:temp_bytes - bytes written to temporary files
--   read_ms: counter [ms] - time of backends in reads; stays 0 unless track_io_timing is on
--   write_ms: counter [ms] - time of backends in writes; stays 0 unless track_io_timing is on
--   backends: gauge - connections to this database
--   statistics_reset: gauge [unix_s] role:statistics_reset - last reset of this database's statistics
--   server_started: gauge [unix_s] role:server_started - start of the server
SELECT xact_commit AS commits,
       xact_rollback AS rollbacks,
       blks_hit AS hits,
       blks_read AS misses,
       tup_inserted AS rows_inserted,
       tup_updated AS rows_updated,
       tup_deleted AS rows_deleted,
       tup_inserted + tup_updated + tup_deleted AS rows_written,
       tup_returned AS rows_returned,
       tup_fetched AS rows_fetched,
       deadlocks,
       temp_files,
       temp_bytes,
       blk_read_time AS read_ms,
       blk_write_time AS write_ms,
       numbackends AS backends,
       coalesce(extract(epoch FROM stats_reset), 0)::float8 AS statistics_reset,
       extract(epoch FROM pg_postmaster_start_time())::float8 AS server_started
FROM pg_stat_database
WHERE datname = current_database()
