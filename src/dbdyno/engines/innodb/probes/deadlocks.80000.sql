-- name: deadlocks
-- title: Deadlocks, as errors that clients got (8.0.12 counts none in INNODB_METRICS)
-- version_min: 80000
-- version_below: 1000000
-- privilege: SELECT
-- cost: one row of a table of performance_schema
-- columns:
--   deadlocks: counter role:deadlocks - deadlocks
SELECT SUM_ERROR_RAISED AS deadlocks
FROM performance_schema.events_errors_summary_global_by_error
WHERE ERROR_NUMBER = 1213
