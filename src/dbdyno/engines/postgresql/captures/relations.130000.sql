-- name: relations
-- title: Tables with the most dead rows
-- version_min: 130000
-- privilege:
-- cost: one row a table, the first hundred
-- timeout_s: 5
-- columns:
--   name: key - schema and table
--   live: gauge - rows alive
--   dead: gauge - dead rows
--   vacuumed: text - when it was vacuumed last
SELECT schemaname || '.' || relname AS name, n_live_tup AS live, n_dead_tup AS dead,
       coalesce(greatest(last_vacuum, last_autovacuum)::text, 'never') AS vacuumed
FROM pg_stat_all_tables ORDER BY n_dead_tup DESC LIMIT 100
