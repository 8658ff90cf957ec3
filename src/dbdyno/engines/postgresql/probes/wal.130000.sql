-- name: wal
-- title: Write-ahead log
-- version_min: 130000
-- privilege:
-- cost: cheap: shared memory and the control file
-- columns:
--   position_bytes: counter [B] role:wal_bytes - position in the log: differences are bytes of log written
--   distance_bytes: gauge [B] role:checkpoint_distance_bytes - log written since the last checkpoint's redo point
SELECT pg_wal_lsn_diff(lsn, '0/0')::bigint AS position_bytes,
       greatest(pg_wal_lsn_diff(lsn, (SELECT redo_lsn FROM pg_control_checkpoint())), 0)::bigint AS distance_bytes
FROM (SELECT CASE WHEN pg_is_in_recovery() THEN coalesce(pg_last_wal_replay_lsn(), '0/0')
                  ELSE pg_current_wal_insert_lsn() END AS lsn) AS position
