-- sysbench's table (oltp_common.lua): the same columns, types and names of keys, so that sysbench runs on what is loaded
-- here and the other way round. The rows lie in the primary key, which is there from the start; the other index is
-- built after the load, as sysbench does.

-- section: storage_engine
InnoDB;

-- This one has no gap locks: at REPEATABLE READ each write to a row that changed since the snapshot is an error.
-- section: session rocksdb
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;

-- section: create
CREATE TABLE IF NOT EXISTS sbtest{n} (
  id INTEGER NOT NULL AUTO_INCREMENT,
  k INTEGER DEFAULT '0' NOT NULL,
  c CHAR(120) DEFAULT '' NOT NULL,
  pad CHAR(60) DEFAULT '' NOT NULL,
  PRIMARY KEY (id)
) ENGINE = {storage_engine};

-- section: finish
CREATE INDEX k_{n} ON sbtest{n} (k);
ANALYZE TABLE sbtest{n};

-- section: check_text
SELECT 'sbtest{n}', id, c, pad FROM sbtest{n}
WHERE NOT c REGEXP '^([0-9]{11}-){9}[0-9]{11}$' OR NOT pad REGEXP '^([0-9]{11}-){4}[0-9]{11}$';

-- section: check_index
SELECT 'sbtest{n}', k, SUM(in_table) AS in_table, SUM(in_index) AS in_index
FROM (SELECT k, COUNT(*) AS in_table, 0 AS in_index FROM sbtest{n} FORCE INDEX (PRIMARY) GROUP BY k
      UNION ALL
      SELECT k, 0, COUNT(*) FROM sbtest{n} FORCE INDEX (k_{n}) GROUP BY k) AS both_ways
GROUP BY k
HAVING SUM(in_table) <> SUM(in_index);
