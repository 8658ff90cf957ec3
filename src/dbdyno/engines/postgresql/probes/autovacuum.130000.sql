-- name: autovacuum
-- title: Background cleaning
-- version_min: 130000
-- privilege: pg_read_all_stats
-- cost: scans pg_stat_activity: a few microseconds for each connection
-- columns:
--   workers: gauge role:maintenance_workers - autovacuum workers at work
--   workers_max: gauge - most workers that may run
--   longest_s: gauge [s] - age of the oldest worker's transaction
SELECT count(*) AS workers,
       current_setting('autovacuum_max_workers')::int AS workers_max,
       coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)::float8 AS longest_s
FROM pg_stat_activity
WHERE backend_type = 'autovacuum worker'
