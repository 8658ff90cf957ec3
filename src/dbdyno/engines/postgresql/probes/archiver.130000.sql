-- name: archiver
-- title: Archiving of the log
-- version_min: 130000
-- privilege:
-- cost: cheap: shared memory
-- every_s: 5
-- columns:
--   archived: counter - log files archived
--   failed: counter - attempts to archive that failed
--   behind_files: gauge - finished log files not yet archived; 0 when archiving is off
--   failing: gauge - 1 when the last attempt failed
SELECT archived_count AS archived,
       failed_count AS failed,
       CASE WHEN current_setting('archive_mode') = 'off' OR pg_is_in_recovery() THEN 0
            -- The names of log files hold timeline, number of the 4 GB group and file in it, 8 hexadecimal digits each.
            -- Before the first one was archived only failures tell that anything is behind.
            ELSE greatest(pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint / size
                 - coalesce(CASE WHEN last_archived_wal ~ '^[0-9A-F]{24}$' THEN
                     ('x' || substr(last_archived_wal, 9, 8))::bit(32)::bigint * (4294967296 / size)
                     + ('x' || substr(last_archived_wal, 17, 8))::bit(32)::bigint + 1 END,
                     pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint / size - least(failed_count, 1)), 0) END AS behind_files,
       (coalesce(last_failed_time, '-infinity') > coalesce(last_archived_time, '-infinity'))::int AS failing
FROM pg_stat_archiver,
     (SELECT setting::bigint AS size FROM pg_settings WHERE name = 'wal_segment_size') AS files
