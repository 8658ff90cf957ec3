-- name: buffers
-- title: Data pages by writer
-- version_min: 170000
-- privilege:
-- cost: cheap: shared memory
-- columns:
--   write_bytes: counter [B] role:data_write_bytes - data pages handed to the system by all writers
--   checkpointer: counter - pages written by checkpoints
--   cleaner: counter - pages written by the background writer
--   cleaner_stops: counter - rounds that the background writer broke off at its limit
--   backends: counter - pages that backends had to write or extend themselves
--   backend_syncs: counter - syncs that backends had to do themselves
--   allocated: counter - pages taken into the cache
SELECT (c.buffers_written + b.buffers_clean + o.pages) * current_setting('block_size')::bigint AS write_bytes,
       c.buffers_written AS checkpointer,
       b.buffers_clean AS cleaner,
       b.maxwritten_clean AS cleaner_stops,
       o.pages AS backends,
       o.syncs AS backend_syncs,
       b.buffers_alloc AS allocated
FROM pg_stat_checkpointer AS c, pg_stat_bgwriter AS b,
     (SELECT coalesce(sum(coalesce(writes, 0) + coalesce(extends, 0)), 0)::bigint AS pages,
             coalesce(sum(fsyncs), 0)::bigint AS syncs
      FROM pg_stat_io
      WHERE object = 'relation' AND backend_type NOT IN ('checkpointer', 'background writer')) AS o
