-- name: blocking
-- title: Who waits for whom
-- version_min: 130000
-- privilege: pg_read_all_stats
-- cost: takes the lock manager's locks for a moment
-- timeout_s: 5
-- columns:
--   pid: key - process that waits
--   blocked_by: text - processes that hold it up
--   lock: text - kind and object of the lock
--   waits_s: gauge [s] - age of its statement
--   query: text - its statement, the first 2,000 characters
SELECT a.pid::text, array_to_string(pg_blocking_pids(a.pid), ',') AS blocked_by,
       coalesce((SELECT string_agg(l.locktype || ' ' || l.mode || coalesce(' ' || l.relation::regclass::text, ''), '; ')
                 FROM pg_locks l WHERE l.pid = a.pid AND NOT l.granted), '') AS lock,
       extract(epoch FROM clock_timestamp() - a.query_start)::float8 AS waits_s, left(a.query, 2000) AS query
FROM pg_stat_activity a WHERE cardinality(pg_blocking_pids(a.pid)) > 0
