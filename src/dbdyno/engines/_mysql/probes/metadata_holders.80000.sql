-- name: metadata_holders
-- title: Who holds a table's definition that others wait for
-- version_min: 80000
-- version_below: 1000000
-- privilege: SELECT
-- cost: copies the table of metadata locks; some hundred rows on a busy server
-- every_s: 2
-- columns:
--   thread: key - connection that holds it, as KILL takes it
--   waiters: gauge - connections that wait for the same table
--   held_table: text - the table
SELECT CONCAT(t.PROCESSLIST_ID, '') AS thread,
       COUNT(DISTINCT w.OWNER_THREAD_ID) AS waiters,
       MAX(CONCAT(h.OBJECT_SCHEMA, '.', h.OBJECT_NAME)) AS held_table
FROM performance_schema.metadata_locks w
JOIN performance_schema.metadata_locks h
  ON h.OBJECT_TYPE = w.OBJECT_TYPE AND h.OBJECT_SCHEMA = w.OBJECT_SCHEMA AND h.OBJECT_NAME = w.OBJECT_NAME
 AND h.OWNER_THREAD_ID <> w.OWNER_THREAD_ID
JOIN performance_schema.threads t ON t.THREAD_ID = h.OWNER_THREAD_ID
WHERE w.LOCK_STATUS = 'PENDING' AND w.OBJECT_TYPE = 'TABLE' AND w.LOCK_TYPE IN ('EXCLUSIVE', 'SHARED_NO_READ_WRITE')
  AND h.LOCK_STATUS = 'GRANTED' AND h.LOCK_DURATION IN ('TRANSACTION', 'EXPLICIT')
GROUP BY CONCAT(t.PROCESSLIST_ID, '')
ORDER BY 2 DESC
LIMIT 20
