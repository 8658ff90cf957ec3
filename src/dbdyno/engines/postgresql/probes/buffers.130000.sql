-- name: buffers
-- title: Data pages by writer
-- version_min: 130000
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
SELECT (buffers_checkpoint + buffers_clean + buffers_backend)
           * current_setting('block_size')::bigint AS write_bytes,
       buffers_checkpoint AS checkpointer,
       buffers_clean AS cleaner,
       maxwritten_clean AS cleaner_stops,
       buffers_backend AS backends,
       buffers_backend_fsync AS backend_syncs,
       buffers_alloc AS allocated
FROM pg_stat_bgwriter
