-- sysbench's table (oltp_common.lua): the same columns, types and names of sequence, key and index, so that sysbench
-- runs on what is loaded here and the other way round. Keys are built after the load, which gives the same result.

-- section: create
CREATE TABLE sbtest{n} (
  id SERIAL,
  k INTEGER DEFAULT '0' NOT NULL,
  c CHAR(120) DEFAULT '' NOT NULL,
  pad CHAR(60) DEFAULT '' NOT NULL
);

-- section: finish
ALTER TABLE sbtest{n} ADD PRIMARY KEY (id);
CREATE INDEX k_{n} ON sbtest{n} (k);
SELECT setval('sbtest{n}_id_seq', {rows});
VACUUM ANALYZE sbtest{n};

-- section: check_text
SELECT 'sbtest{n}', id, c, pad FROM sbtest{n}
WHERE length(c) <> 119 OR translate(c, '0123456789', '') <> '---------'
   OR length(pad) <> 59 OR translate(pad, '0123456789', '') <> '----';

-- section: check_index
SELECT 'sbtest{n}', by_table.k, by_table.rows, by_index.rows
FROM (SELECT k, count(*) AS rows FROM (SELECT k, c FROM sbtest{n} OFFSET 0) AS t GROUP BY k) AS by_table
FULL JOIN (SELECT k, count(*) AS rows FROM sbtest{n} GROUP BY k) AS by_index USING (k)
WHERE by_table.rows IS DISTINCT FROM by_index.rows;
