-- name: metadata_locks
-- title: Statements that wait for a table's definition
-- version_min: 0
-- privilege: PROCESS
-- cost: reads the list of connections under its lock: a few microseconds for each
-- columns:
--   waiting: gauge - statements that wait
--   alone: gauge - of these, such as want a table for themselves (ALTER, DROP, TRUNCATE, LOCK …)
--   longest_s: gauge [s] - longest of these waits
--   holder: gauge - connection with the oldest transaction that does not wait itself, while others wait; 0 when none
--   wanted: text - the statement that wants a table for itself, cut to 200 characters; else the one that waits longest
SELECT COUNT(*) AS waiting,
       COALESCE(SUM(INFO REGEXP '^[[:space:]]*(alter|drop|truncate|rename|create|optimize|repair|analyze|lock|flush)'), 0)
           AS alone,
       COALESCE(MAX(TIME), 0) AS longest_s,
       IF(COUNT(*) = 0, 0, COALESCE((
           SELECT t.trx_mysql_thread_id
           FROM information_schema.INNODB_TRX t
           JOIN information_schema.PROCESSLIST p ON p.ID = t.trx_mysql_thread_id
           WHERE t.trx_state <> 'LOCK WAIT' AND COALESCE(p.STATE, '') NOT LIKE 'Waiting for % metadata lock'
           ORDER BY t.trx_started, t.trx_id LIMIT 1), 0)) AS holder,
       COALESCE((SELECT LEFT(INFO, 200) FROM information_schema.PROCESSLIST
                 WHERE STATE LIKE 'Waiting for % metadata lock' AND INFO IS NOT NULL
                 ORDER BY INFO REGEXP '^[[:space:]]*(alter|drop|truncate|rename|create|optimize|repair|analyze|lock|flush)' DESC,
                          TIME DESC, ID LIMIT 1), '') AS wanted
FROM information_schema.PROCESSLIST
WHERE STATE LIKE 'Waiting for % metadata lock'
