-- name: lock_waits
-- title: Who holds row locks that others wait for
-- version_min: 80001
-- version_below: 1000000
-- privilege: PROCESS
-- cost: copies the table of locks under its lock: costly with very many row locks
-- every_s: 2
-- columns:
--   thread: key - connection that holds the lock, as KILL takes it
--   waiters: gauge - transactions that wait for it
--   longest_s: gauge [s] - longest of these waits
--   holder_age_s: gauge [s] - age of its transaction
--   locked_table: text - table of one of the locks
--   holder_query: text - its statement, cut to 200 characters; empty when it runs none
SELECT CONCAT(b.trx_mysql_thread_id, '') AS thread,
       COUNT(DISTINCT r.trx_id) AS waiters,
       COALESCE(MAX(TIMESTAMPDIFF(SECOND, r.trx_wait_started, NOW())), 0) AS longest_s,
       COALESCE(MAX(TIMESTAMPDIFF(SECOND, b.trx_started, NOW())), 0) AS holder_age_s,
       COALESCE(MAX(CONCAT(l.OBJECT_SCHEMA, '.', l.OBJECT_NAME)), '') AS locked_table,
       COALESCE(MAX(LEFT(b.trx_query, 200)), '') AS holder_query
FROM performance_schema.data_lock_waits w
/* Without CONCAT, 8.0.12 looks a word up in an index of numbers and finds nothing. */
JOIN information_schema.INNODB_TRX b ON b.trx_id = CONCAT(w.BLOCKING_ENGINE_TRANSACTION_ID, '')
JOIN information_schema.INNODB_TRX r ON r.trx_id = CONCAT(w.REQUESTING_ENGINE_TRANSACTION_ID, '')
LEFT JOIN performance_schema.data_locks l ON l.ENGINE_LOCK_ID = w.REQUESTING_ENGINE_LOCK_ID
GROUP BY CONCAT(b.trx_mysql_thread_id, '')
ORDER BY 2 DESC
LIMIT 20
