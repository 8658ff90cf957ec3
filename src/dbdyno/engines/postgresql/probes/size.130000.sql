-- name: size
-- title: Size of the database
-- version_min: 130000
-- privilege:
-- cost: looks at every file of the database: tens of milliseconds for thousands of tables
-- every_s: 30
-- timeout_s: 5
-- columns:
--   database_bytes: gauge [B] role:database_bytes - size of the target's database
SELECT pg_database_size(current_database()) AS database_bytes
