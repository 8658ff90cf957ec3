-- name: redo
-- title: Size of the log and the age that it allows (the server does not say the limit)
-- version_min: 0
-- version_below: 1000000
-- privilege:
-- cost: cheap
-- every_s: 60
-- columns:
--   capacity_bytes: gauge [B] - size of the log
--   limit_bytes: gauge [B] role:checkpoint_age_limit_bytes - about 80 % of it: near this age clients are blocked
SELECT @@innodb_log_file_size * @@innodb_log_files_in_group AS capacity_bytes,
       ROUND(@@innodb_log_file_size * @@innodb_log_files_in_group * 0.8) AS limit_bytes
