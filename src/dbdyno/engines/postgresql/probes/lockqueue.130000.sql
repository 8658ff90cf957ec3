-- name: lockqueue
-- title: Who waits for locks, and for whom
-- version_min: 130000
-- privilege: pg_read_all_stats
-- cost: scans pg_stat_activity; only while somebody waits it also looks at the lock table
-- columns:
--   waiting: gauge - client connections that wait for a lock
--   relation_waiting: gauge - of these, for a whole table
--   row_waiting: gauge - of these, for a row that another transaction changed
--   exclusive_waiting: gauge - of these, to have a whole table alone (ALTER, TRUNCATE, VACUUM FULL …)
--   longest_s: gauge [s] - how long the first of them has waited since its statement began
--   holder: text - process, state and age of the transaction that stands at the head of the queue
--   wanted: text - lock and table that the first waits for
WITH waiters AS MATERIALIZED (
    SELECT pid, wait_event, query_start FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND backend_type = 'client backend'
), asked AS MATERIALIZED (
    SELECT l.pid, l.mode, l.locktype, l.relation FROM pg_locks AS l
    -- This condition keeps the lock table untouched while nobody waits.
    WHERE NOT l.granted AND EXISTS (SELECT FROM waiters) AND l.pid IN (SELECT pid FROM waiters)
), heads AS MATERIALIZED (
    SELECT DISTINCT b.pid FROM (SELECT unnest(pg_blocking_pids(pid)) AS pid FROM
                                (SELECT pid FROM waiters ORDER BY query_start LIMIT 20) AS first) AS b
    WHERE b.pid NOT IN (SELECT pid FROM waiters)
)
SELECT (SELECT count(*) FROM waiters) AS waiting,
       (SELECT count(*) FROM waiters WHERE wait_event = 'relation') AS relation_waiting,
       (SELECT count(*) FROM waiters WHERE wait_event IN ('transactionid', 'tuple')) AS row_waiting,
       (SELECT count(*) FROM asked WHERE locktype = 'relation' AND mode = 'AccessExclusiveLock') AS exclusive_waiting,
       coalesce((SELECT max(extract(epoch FROM clock_timestamp() - query_start)) FROM waiters), 0)::float8 AS longest_s,
       coalesce((SELECT 'process ' || a.pid || ', ' || coalesce(a.state, a.backend_type) || ', transaction of '
                        || round(extract(epoch FROM clock_timestamp() - coalesce(a.xact_start, a.backend_start))) || ' s'
                        || coalesce(', ' || nullif(a.application_name, ''), '')
                 FROM pg_stat_activity AS a WHERE a.pid IN (SELECT pid FROM heads)
                 ORDER BY a.xact_start LIMIT 1), '') AS holder,
       coalesce((SELECT mode || ' on ' || coalesce(relation::regclass::text, locktype) FROM asked
                 ORDER BY mode = 'AccessExclusiveLock' DESC, pid LIMIT 1), '') AS wanted
