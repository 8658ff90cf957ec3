-- name: wal
-- title: Write-ahead log
-- version_min: 180000
-- privilege:
-- cost: cheap: shared memory and the control file
-- columns:
--   position_bytes: counter [B] role:wal_bytes - position in the log: differences are bytes of log written
--   distance_bytes: gauge [B] role:checkpoint_distance_bytes - log written since the last checkpoint's redo point
--   records: counter - log records made
--   full_page_images: counter - whole pages in the log, because a page was changed first since a checkpoint
--   record_bytes: counter [B] - bytes of records made
--   buffers_full: counter - log written because its buffers were full
--   writes: counter - writes of log buffers to the system
--   syncs: counter - syncs of log files
--   write_ms: counter [ms] - time in writes; stays 0 unless track_wal_io_timing is on
--   sync_ms: counter [ms] - time in syncs; stays 0 unless track_wal_io_timing is on
SELECT pg_wal_lsn_diff(lsn, '0/0')::bigint AS position_bytes,
       greatest(pg_wal_lsn_diff(lsn, (SELECT redo_lsn FROM pg_control_checkpoint())), 0)::bigint AS distance_bytes,
       wal_records AS records,
       wal_fpi AS full_page_images,
       wal_bytes::bigint AS record_bytes,
       wal_buffers_full AS buffers_full,
       log.writes,
       log.syncs,
       log.write_ms,
       log.sync_ms
FROM pg_stat_wal,
     -- Writes and syncs of the log moved here from pg_stat_wal in 18; `init` is the filling of new files.
     (SELECT sum(writes)::bigint AS writes, sum(fsyncs)::bigint AS syncs,
             coalesce(sum(write_time), 0) AS write_ms, coalesce(sum(fsync_time), 0) AS sync_ms
      FROM pg_stat_io WHERE object = 'wal' AND context = 'normal') AS log,
     (SELECT CASE WHEN pg_is_in_recovery() THEN coalesce(pg_last_wal_replay_lsn(), '0/0')
                  ELSE pg_current_wal_insert_lsn() END AS lsn) AS position
