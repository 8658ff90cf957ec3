-- pgbench's tables (pgbench.c of PostgreSQL 15): the same columns, types, fill factor and keys, so that pgbench runs on
-- what is loaded here and the other way round.

-- section: create
CREATE TABLE pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
CREATE TABLE pgbench_tellers (tid int NOT NULL, bid int, tbalance int, filler char(84)) WITH (fillfactor=100);
CREATE TABLE pgbench_accounts (aid int NOT NULL, bid int, abalance int, filler char(84)) WITH (fillfactor=100);
CREATE TABLE pgbench_branches (bid int NOT NULL, bbalance int, filler char(88)) WITH (fillfactor=100);

-- section: finish
ALTER TABLE pgbench_branches ADD PRIMARY KEY (bid);
ALTER TABLE pgbench_tellers ADD PRIMARY KEY (tid);
ALTER TABLE pgbench_accounts ADD PRIMARY KEY (aid);
VACUUM ANALYZE pgbench_branches;
VACUUM ANALYZE pgbench_tellers;
VACUUM ANALYZE pgbench_accounts;
VACUUM ANALYZE pgbench_history;

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
