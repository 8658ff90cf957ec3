-- name: binlog
-- title: Position in the binary log; no row when it is off
-- version_min: 1000000
-- privilege: REPLICATION CLIENT | BINLOG MONITOR | SUPER
-- cost: cheap; waits for the lock of the binary log
-- every_s: 5
-- columns:
--   file: text - file of the binary log that is written
--   position: gauge [B] role:binlog_position - position in it
SHOW MASTER STATUS
