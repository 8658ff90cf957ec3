-- name: replicas
-- title: Connected replicas
-- version_min: 130000
-- privilege: pg_read_all_stats
-- cost: cheap: shared memory
-- every_s: 5
-- columns:
--   replica: key - the name that the replica gives, with its process
--   state: text - streaming, catchup, backup
--   sync: text - async, sync, quorum, potential
--   sent_lag_bytes: gauge [B] - log not yet sent
--   flush_lag_bytes: gauge [B] - log not yet durable there
--   replay_lag_bytes: gauge [B] - log not yet replayed there
--   replay_lag_s: gauge [s] - the same as time
SELECT coalesce(nullif(application_name, ''), 'replica') || '/' || pid AS replica,
       coalesce(state, '') AS state,
       coalesce(sync_state, '') AS sync,
       coalesce(pg_wal_lsn_diff(lsn, sent_lsn), 0)::bigint AS sent_lag_bytes,
       coalesce(pg_wal_lsn_diff(lsn, flush_lsn), 0)::bigint AS flush_lag_bytes,
       coalesce(pg_wal_lsn_diff(lsn, replay_lsn), 0)::bigint AS replay_lag_bytes,
       coalesce(extract(epoch FROM replay_lag), 0)::float8 AS replay_lag_s
FROM pg_stat_replication,
     (SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END AS lsn) AS position
ORDER BY 1
