-- name: waits
-- title: What busy clients wait for
-- version_min: 130000
-- privilege: pg_read_all_stats
-- cost: scans pg_stat_activity: a few microseconds for each connection
-- columns:
--   kind: key - class of the wait, CPU when the client's backend does not wait
--   event: key - what is waited for, running when it does not wait
--   count: gauge role:waiting - busy client connections
SELECT coalesce(wait_event_type, 'CPU') AS kind,
       coalesce(wait_event, 'running') AS event,
       count(*) AS count
FROM pg_stat_activity
WHERE backend_type = 'client backend' AND state = 'active' AND pid <> pg_backend_pid()
GROUP BY 1, 2
ORDER BY 1, 2
