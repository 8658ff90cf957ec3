-- name: engine_status
-- title: InnoDB's own report, whole
-- version_min: 0
-- privilege: PROCESS
-- cost: takes InnoDB's mutexes for a moment
-- timeout_s: 10
-- columns:
--   status: text - the report; dyno explain --status reads it
SHOW ENGINE INNODB STATUS
