-- name: waits
-- title: What busy clients do or wait for
-- version_min: 0
-- privilege: PROCESS
-- cost: reads the list of connections under its lock: a few microseconds for each
-- columns:
--   state: key - the server's word for it, running when there is none
--   count: gauge role:waiting - busy client connections
--   longest_s: gauge [s] - longest time in the statement
SELECT IF(COALESCE(STATE, '') = '', 'running', LOWER(STATE)) AS state, COUNT(*) AS count, MAX(TIME) AS longest_s
FROM information_schema.PROCESSLIST
WHERE ID <> CONNECTION_ID() AND USER <> 'system user'
  AND COMMAND NOT IN ('Sleep', 'Daemon', 'Binlog Dump', 'Binlog Dump GTID')
GROUP BY IF(COALESCE(STATE, '') = '', 'running', LOWER(STATE))
ORDER BY 1
