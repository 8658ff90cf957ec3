-- name: lock_waits
-- title: Who holds row locks that others wait for
-- version_min: 0
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
       COALESCE(MAX(REPLACE(l.lock_table, '`', '')), '') AS locked_table,
       COALESCE(MAX(LEFT(b.trx_query, 200)), '') AS holder_query
FROM information_schema.INNODB_LOCK_WAITS w
JOIN information_schema.INNODB_TRX b ON b.trx_id = w.blocking_trx_id
JOIN information_schema.INNODB_TRX r ON r.trx_id = w.requesting_trx_id
LEFT JOIN information_schema.INNODB_LOCKS l ON l.lock_id = w.requested_lock_id
GROUP BY CONCAT(b.trx_mysql_thread_id, '')
ORDER BY 2 DESC
LIMIT 20
