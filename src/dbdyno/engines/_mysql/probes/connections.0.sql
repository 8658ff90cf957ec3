-- name: connections
-- title: Client connections by what they do
-- version_min: 0
-- privilege: PROCESS
-- cost: reads the list of connections under its lock: a few microseconds for each
-- columns:
--   state: key - command: sleep, query, execute, idle in transaction cannot be told here
--   count: gauge role:connections - connections
--   longest_s: gauge [s] - longest time in this state
SELECT LOWER(COMMAND) AS state, COUNT(*) AS count, MAX(TIME) AS longest_s
FROM information_schema.PROCESSLIST
WHERE ID <> CONNECTION_ID() AND USER <> 'system user' AND COMMAND NOT IN ('Daemon', 'Binlog Dump', 'Binlog Dump GTID')
GROUP BY LOWER(COMMAND)
ORDER BY 1
