-- name: connections
-- title: Client connections by state
-- version_min: 130000
-- privilege: pg_read_all_stats
-- cost: scans pg_stat_activity: a few microseconds for each connection
-- columns:
--   state: key - what the connection is doing
--   count: gauge role:connections - connections
--   longest_s: gauge [s] - longest time in this state
SELECT coalesce(state, 'unknown') AS state,
       count(*) AS count,
       coalesce(max(extract(epoch FROM clock_timestamp() - state_change)), 0)::float8 AS longest_s
FROM pg_stat_activity
WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
GROUP BY 1
ORDER BY 1
