-- name: transactions
-- title: Open transactions, and the oldest
-- version_min: 0
-- privilege: PROCESS
-- cost: copies the list of transactions under its lock, at most every 0.1 s
-- columns:
--   active: gauge - open transactions
--   lock_waiting: gauge - of these, waiting for a lock
--   rolling_back: gauge - of these, rolling back
--   rows_modified_max: gauge - most rows changed by one
--   oldest_s: gauge [s] role:oldest_transaction_s - age of the oldest
--   oldest_thread: gauge - its connection, as KILL takes it; 0 when there is none
--   oldest_idle: gauge - 1 when it runs no statement
--   oldest_query: text - its statement, cut to 200 characters; empty when it runs none
SELECT COUNT(*) AS active,
       COALESCE(SUM(trx_state = 'LOCK WAIT'), 0) AS lock_waiting,
       COALESCE(SUM(trx_state = 'ROLLING BACK'), 0) AS rolling_back,
       COALESCE(MAX(trx_rows_modified), 0) AS rows_modified_max,
       COALESCE(TIMESTAMPDIFF(SECOND, MIN(trx_started), NOW()), 0) AS oldest_s,
       COALESCE(SUBSTRING_INDEX(GROUP_CONCAT(trx_mysql_thread_id ORDER BY trx_started, trx_id SEPARATOR ','), ',', 1), 0) + 0
           AS oldest_thread,
       COALESCE(SUBSTRING_INDEX(GROUP_CONCAT(trx_query IS NULL ORDER BY trx_started, trx_id SEPARATOR ','), ',', 1), 0) + 0
           AS oldest_idle,
       COALESCE((SELECT LEFT(trx_query, 200) FROM information_schema.INNODB_TRX ORDER BY trx_started, trx_id LIMIT 1), '')
           AS oldest_query
FROM information_schema.INNODB_TRX
