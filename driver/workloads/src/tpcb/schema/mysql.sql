-- pgbench's tables (pgbench.c of PostgreSQL 15) with the same columns and keys. The history has no key, as there; a
-- storage engine that orders rows by a key makes one of its own.

-- section: storage_engine
InnoDB;

-- This one has no gap locks: at REPEATABLE READ each write to a row that changed since the snapshot is an error.
-- section: session rocksdb
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;

-- section: create
CREATE TABLE IF NOT EXISTS pgbench_history (
  tid int, bid int, aid int, delta int, mtime datetime, filler char(22)
) ENGINE = {storage_engine};
CREATE TABLE IF NOT EXISTS pgbench_tellers (
  tid int NOT NULL PRIMARY KEY, bid int, tbalance int, filler char(84)
) ENGINE = {storage_engine};
CREATE TABLE IF NOT EXISTS pgbench_accounts (
  aid int NOT NULL PRIMARY KEY, bid int, abalance int, filler char(84)
) ENGINE = {storage_engine};
CREATE TABLE IF NOT EXISTS pgbench_branches (
  bid int NOT NULL PRIMARY KEY, bbalance int, filler char(88)
) ENGINE = {storage_engine};

-- section: finish
ANALYZE TABLE pgbench_branches;
ANALYZE TABLE pgbench_tellers;
ANALYZE TABLE pgbench_accounts;
ANALYZE TABLE pgbench_history;

-- section: check_accounts
SELECT * FROM (SELECT
    (SELECT coalesce(sum(abalance), 0) FROM pgbench_accounts) AS accounts,
    (SELECT coalesce(sum(bbalance), 0) FROM pgbench_branches) AS branches) AS sums
WHERE accounts <> branches;

-- section: check_tellers
SELECT * FROM (SELECT
    (SELECT coalesce(sum(tbalance), 0) FROM pgbench_tellers) AS tellers,
    (SELECT coalesce(sum(bbalance), 0) FROM pgbench_branches) AS branches) AS sums
WHERE tellers <> branches;

-- section: check_history
SELECT * FROM (SELECT
    (SELECT coalesce(sum(delta), 0) FROM pgbench_history) AS history,
    (SELECT coalesce(sum(bbalance), 0) FROM pgbench_branches) AS branches) AS sums
WHERE history <> branches;
