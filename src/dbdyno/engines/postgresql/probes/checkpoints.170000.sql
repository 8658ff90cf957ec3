-- name: checkpoints
-- title: Checkpoints
-- version_min: 170000
-- privilege:
-- cost: cheap: shared memory
-- columns:
--   timed: counter role:checkpoints_timed - checkpoints due by checkpoint_timeout (idle ones are counted though skipped)
--   requested: counter role:checkpoints_requested - checkpoints forced by log volume, or asked for by a command
--   write_ms: counter [ms] role:checkpoint_write_ms - time in writing files; counted when a checkpoint ends
--   sync_ms: counter [ms] role:checkpoint_sync_ms - time in syncing files; counted when a checkpoint ends
--   buffers: counter - pages written by checkpoints
SELECT num_timed AS timed,
       num_requested AS requested,
       write_time AS write_ms,
       sync_time AS sync_ms,
       buffers_written AS buffers
FROM pg_stat_checkpointer
