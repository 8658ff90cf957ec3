-- Objects and their history. A partitioned history has its key over the column that it is partitioned by.

-- section: create
CREATE TABLE stress_object (ref int NOT NULL, section int NOT NULL, name char(40) NOT NULL, note char(90) NOT NULL);
CREATE TABLE stress_history (ref int NOT NULL, line int NOT NULL, changes int NOT NULL, note char(90) NOT NULL);

-- section: create_partitioned
CREATE TABLE stress_object (ref int NOT NULL, section int NOT NULL, name char(40) NOT NULL, note char(90) NOT NULL);
CREATE TABLE stress_history (ref int NOT NULL, line int NOT NULL, changes int NOT NULL, note char(90) NOT NULL) PARTITION BY HASH (ref);

-- section: partition
CREATE TABLE stress_history_{n} PARTITION OF stress_history FOR VALUES WITH (MODULUS {partitions}, REMAINDER {n});

-- section: finish
ALTER TABLE stress_object ADD PRIMARY KEY (ref);
ALTER TABLE stress_history ADD PRIMARY KEY (ref, line);
VACUUM ANALYZE stress_object;
VACUUM ANALYZE stress_history;

-- section: check_objects
SELECT count(*) AS objects FROM stress_object HAVING count(*) <> {objects};

-- section: check_history
SELECT ref, count(*) AS line_count FROM stress_history GROUP BY ref HAVING count(*) <> {lines} LIMIT 10;

-- section: check_orphans
SELECT h.ref, h.line FROM stress_history h LEFT JOIN stress_object o ON o.ref = h.ref WHERE o.ref IS NULL LIMIT 10;
