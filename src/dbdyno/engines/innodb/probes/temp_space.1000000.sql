-- name: temp_space
-- title: The shared space of temporary tables
-- version_min: 1000000
-- privilege: PROCESS
-- cost: goes through the list of tablespaces; half a millisecond with three hundred tables
-- every_s: 5
-- columns:
--   allocated_bytes: gauge [B] - size of its file, which does not become smaller before a restart
SELECT SUM(FILE_SIZE) AS allocated_bytes
FROM information_schema.INNODB_SYS_TABLESPACES
WHERE NAME = 'innodb_temporary'
