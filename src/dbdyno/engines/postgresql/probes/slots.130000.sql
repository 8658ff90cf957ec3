-- name: slots
-- title: Replication slots
-- version_min: 130000
-- privilege:
-- cost: cheap: shared memory
-- every_s: 5
-- columns:
--   slot: key - name of the slot
--   kind: text - physical or logical
--   state: text - whether the log that it needs is still there
--   active: gauge - 1 when a consumer is connected
--   retained_bytes: gauge [B] - log kept for the slot
--   lag_bytes: gauge [B] role:replication_lag_bytes - log that its consumer has not confirmed
SELECT slot_name::text AS slot,
       slot_type AS kind,
       coalesce(wal_status, 'unreserved') AS state,
       active::int AS active,
       coalesce(pg_wal_lsn_diff(lsn, restart_lsn), 0)::bigint AS retained_bytes,
       coalesce(pg_wal_lsn_diff(lsn, coalesce(confirmed_flush_lsn, restart_lsn)), 0)::bigint AS lag_bytes
FROM pg_replication_slots,
     (SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END AS lsn) AS position
ORDER BY 1
