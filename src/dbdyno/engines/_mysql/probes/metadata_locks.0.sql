-- name: metadata_locks
-- title: Statements that wait for a table's definition
-- version_min: 0
-- privilege: PROCESS
-- cost: reads the list of connections under its lock: a few microseconds for each
-- columns:
--   waiting: gauge - statements that wait
--   alone: gauge - of these, such as want a table for themselves (ALTER, DROP, TRUNCATE, LOCK …)
--   longest_s: gauge [s] - longest of these waits
--   wanted: text - the statement that wants a table for itself, cut to 200 characters; else the one that waits longest
SELECT COUNT(*) AS waiting,
       COALESCE(SUM(INFO REGEXP '^[[:space:]]*(alter|drop|truncate|rename|create|optimize|repair|analyze|lock|flush)'), 0)
           AS alone,
       COALESCE(MAX(TIME), 0) AS longest_s,
       COALESCE((SELECT LEFT(INFO, 200) FROM information_schema.PROCESSLIST
                 WHERE STATE LIKE 'Waiting for % metadata lock' AND INFO IS NOT NULL
                 ORDER BY INFO REGEXP '^[[:space:]]*(alter|drop|truncate|rename|create|optimize|repair|analyze|lock|flush)' DESC,
                          TIME DESC, ID LIMIT 1), '') AS wanted
FROM information_schema.PROCESSLIST
WHERE STATE LIKE 'Waiting for % metadata lock'
