-- name: sessions
-- title: All sessions with their statements
-- version_min: 130000
-- privilege: pg_read_all_stats
-- cost: one row a session
-- timeout_s: 5
-- columns:
--   pid: key - process of the session
--   kind: text - client or background
--   state: text - what it does
--   wait: text - what it waits for
--   transaction_s: gauge [s] - age of its transaction
--   statement_s: gauge [s] - age of its statement
--   xmin_age: gauge - transactions since its snapshot
--   application: text - name that it gave
--   query: text - its statement, the first 2,000 characters
SELECT pid::text, backend_type AS kind, coalesce(state, '') AS state,
       coalesce(wait_event_type || '/' || wait_event, '') AS wait,
       extract(epoch FROM clock_timestamp() - xact_start)::float8 AS transaction_s,
       extract(epoch FROM clock_timestamp() - query_start)::float8 AS statement_s,
       age(backend_xmin)::bigint AS xmin_age, application_name AS application, left(query, 2000) AS query
FROM pg_stat_activity WHERE pid <> pg_backend_pid() ORDER BY xact_start NULLS LAST
