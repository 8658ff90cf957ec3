-- name: horizon
-- title: Who keeps dead rows from being cleaned
-- version_min: 130000
-- privilege: pg_read_all_stats
-- cost: scans pg_stat_activity: a few microseconds for each connection
-- every_s: 5
-- columns:
--   holder: key - kind of holder: session, replica, slot, prepared
--   age: gauge - transactions since its oldest snapshot
--   since_s: gauge [s] - how long it has held it; 0 where that is not known
--   who: text - process, state and application, or the name
SELECT * FROM (
    (SELECT CASE backend_type WHEN 'walsender' THEN 'replica' ELSE 'session' END AS holder,
            age(backend_xmin) AS age,
            coalesce(extract(epoch FROM clock_timestamp() - xact_start), 0)::float8 AS since_s,
            'process ' || pid || ', ' || coalesce(state, backend_type) ||
                coalesce(', ' || nullif(application_name, ''), '') AS who
     FROM pg_stat_activity
     WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() AND backend_type <> 'autovacuum worker'
     ORDER BY age(backend_xmin) DESC LIMIT 1)
    UNION ALL
    (SELECT 'slot', greatest(age(xmin), age(catalog_xmin)), 0, slot_name::text
     FROM pg_replication_slots WHERE coalesce(xmin, catalog_xmin) IS NOT NULL ORDER BY 2 DESC LIMIT 1)
    UNION ALL
    (SELECT 'prepared', age(transaction), extract(epoch FROM clock_timestamp() - prepared)::float8, gid
     FROM pg_prepared_xacts ORDER BY 2 DESC LIMIT 1)
) AS holders
