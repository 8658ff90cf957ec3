-- name: latches
-- title: Waits for InnoDB's latches, where performance_schema counts them; no rows where it does not
-- version_min: 50600
-- privilege: SELECT
-- cost: scans a table of performance_schema: some hundred rows
-- every_s: 5
-- columns:
--   latch: key - its instrument: mutex/innodb/trx_sys_mutex …
--   waits: counter - waits
--   time_ms: counter [ms] - time in them
SELECT REPLACE(REPLACE(EVENT_NAME, 'wait/synch/', ''), '/innodb/', ' ') AS latch, COUNT_STAR AS waits,
       SUM_TIMER_WAIT / 1e9 AS time_ms
FROM performance_schema.events_waits_summary_global_by_event_name
WHERE EVENT_NAME LIKE 'wait/synch/%/innodb/%' AND COUNT_STAR > 0
ORDER BY SUM_TIMER_WAIT DESC
LIMIT 20
