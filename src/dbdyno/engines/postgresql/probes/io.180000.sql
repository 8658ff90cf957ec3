-- name: io
-- title: Input and output by kind of process
-- version_min: 180000
-- privilege:
-- cost: cheap: shared memory
-- columns:
--   backend: key - kind of process
--   object: key - what is read or written
--   reads: counter - reads from the system
--   read_bytes: counter [B] - bytes read
--   read_ms: counter [ms] - time in reads; stays 0 unless track_io_timing is on
--   writes: counter - writes to the system
--   write_bytes: counter [B] - bytes written
--   write_ms: counter [ms] - time in writes; stays 0 unless track_io_timing is on
--   writebacks: counter - requests to start write-back
--   extend_bytes: counter [B] - bytes by which files grew
--   hits: counter - pages found in the cache
--   evictions: counter - pages thrown out of the cache
--   syncs: counter - syncs
--   sync_ms: counter [ms] - time in syncs; stays 0 unless track_io_timing is on
SELECT backend_type AS backend,
       object,
       coalesce(sum(reads), 0)::bigint AS reads,
       coalesce(sum(read_bytes), 0)::bigint AS read_bytes,
       coalesce(sum(read_time), 0) AS read_ms,
       coalesce(sum(writes), 0)::bigint AS writes,
       coalesce(sum(write_bytes), 0)::bigint AS write_bytes,
       coalesce(sum(write_time), 0) AS write_ms,
       coalesce(sum(writebacks), 0)::bigint AS writebacks,
       coalesce(sum(extend_bytes), 0)::bigint AS extend_bytes,
       coalesce(sum(hits), 0)::bigint AS hits,
       coalesce(sum(evictions), 0)::bigint AS evictions,
       coalesce(sum(fsyncs), 0)::bigint AS syncs,
       coalesce(sum(fsync_time), 0) AS sync_ms
FROM pg_stat_io
GROUP BY backend_type, object
HAVING coalesce(sum(reads), 0) + coalesce(sum(writes), 0) + coalesce(sum(hits), 0)
           + coalesce(sum(extends), 0) + coalesce(sum(fsyncs), 0) > 0
ORDER BY backend_type, object
