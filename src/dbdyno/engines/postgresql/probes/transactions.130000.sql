-- name: transactions
-- title: Age of open transactions
-- version_min: 130000
-- privilege: pg_read_all_stats
-- cost: scans pg_stat_activity: a few microseconds for each connection
-- columns:
--   oldest_s: gauge [s] role:oldest_transaction_s - age of the oldest open transaction of a client
--   idle_oldest_s: gauge [s] - the same among transactions that do nothing
--   horizon_age: gauge - transactions since the oldest snapshot: what they deleted cannot be cleaned
--   frozen_age: gauge - transactions since the oldest unfrozen one of this database; wrap-around nears at 2 billion
--   prepared: gauge - prepared transactions that wait for their end
SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)::float8 AS oldest_s,
       coalesce(max(extract(epoch FROM clock_timestamp() - xact_start))
                FILTER (WHERE state LIKE 'idle in transaction%'), 0)::float8 AS idle_oldest_s,
       coalesce(max(age(backend_xmin)), 0) AS horizon_age,
       (SELECT age(datfrozenxid) FROM pg_database WHERE datname = current_database()) AS frozen_age,
       (SELECT count(*) FROM pg_prepared_xacts) AS prepared
FROM pg_stat_activity
WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
