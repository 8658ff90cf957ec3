-- name: locks
-- title: Locks by kind
-- version_min: 130000
-- privilege:
-- cost: holds each partition of the lock table for a moment
-- every_s: 10
-- columns:
--   kind: key - what is locked
--   granted: gauge - locks held
--   waiting: gauge - locks waited for
SELECT locktype AS kind,
       count(*) FILTER (WHERE granted) AS granted,
       count(*) FILTER (WHERE NOT granted) AS waiting
FROM pg_locks
WHERE pid IS DISTINCT FROM pg_backend_pid()
GROUP BY 1
ORDER BY 1
