-- name: cleaning
-- title: Tables that are due for cleaning
-- version_min: 130000
-- privilege:
-- cost: one look into shared memory for each table
-- every_s: 10
-- timeout_s: 5
-- columns:
--   due: gauge - tables with more dead rows than autovacuum waits for (settings of single tables left aside)
--   worst_dead_rows: gauge - dead rows of the worst of them
--   worst_since_s: gauge [s] - time since its last cleaning, or since the server's start when there was none
--   worst: text - its name
WITH due AS MATERIALIZED (
    SELECT schemaname || '.' || relname AS name, n_dead_tup,
           extract(epoch FROM clock_timestamp() - coalesce(greatest(last_vacuum, last_autovacuum),
                                                           pg_postmaster_start_time()))::float8 AS since_s
    FROM pg_stat_user_tables
    WHERE n_dead_tup > current_setting('autovacuum_vacuum_threshold')::bigint
                       + current_setting('autovacuum_vacuum_scale_factor')::float8 * n_live_tup
)
SELECT count(*) AS due,
       coalesce(max(n_dead_tup), 0) AS worst_dead_rows,
       coalesce((array_agg(since_s ORDER BY n_dead_tup DESC))[1], 0) AS worst_since_s,
       coalesce((array_agg(name ORDER BY n_dead_tup DESC))[1], '') AS worst
FROM due
