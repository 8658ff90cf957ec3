-- name: tables
-- title: Rows of all user tables
-- version_min: 130000
-- privilege:
-- cost: one look into shared memory for each table
-- every_s: 5
-- columns:
--   live_rows: gauge role:live_rows - rows alive, as last estimated
--   dead_rows: gauge role:dead_rows - rows dead and not yet cleaned, as last estimated
--   changed_rows: gauge - rows changed since the last ANALYZE
--   hot_updates: counter - updates that touched no index
--   sequential_scans: counter - scans of whole tables
--   index_scans: counter - scans of indexes
--   cleanings: counter - vacuums done by autovacuum
--   analyses: counter - analyses done by autovacuum
SELECT coalesce(sum(n_live_tup), 0)::bigint AS live_rows,
       coalesce(sum(n_dead_tup), 0)::bigint AS dead_rows,
       coalesce(sum(n_mod_since_analyze), 0)::bigint AS changed_rows,
       coalesce(sum(n_tup_hot_upd), 0)::bigint AS hot_updates,
       coalesce(sum(seq_scan), 0)::bigint AS sequential_scans,
       coalesce(sum(idx_scan), 0)::bigint AS index_scans,
       coalesce(sum(autovacuum_count), 0)::bigint AS cleanings,
       coalesce(sum(autoanalyze_count), 0)::bigint AS analyses
FROM pg_stat_user_tables
