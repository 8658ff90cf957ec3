-- name: sessions
-- title: New connections
-- version_min: 140000
-- privilege:
-- cost: cheap: shared memory
-- columns:
--   opened: counter role:sessions_opened - connections to the target's database that were made
--   busy_ms: counter [ms] - time that clients' statements took
--   idle_transaction_ms: counter [ms] - time that clients' open transactions did nothing
SELECT sessions AS opened, active_time AS busy_ms, idle_in_transaction_time AS idle_transaction_ms
FROM pg_stat_database
WHERE datname = current_database()
