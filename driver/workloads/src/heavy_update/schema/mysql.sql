-- Objects and their history.

-- section: create
CREATE TABLE stress_object (ref int NOT NULL, section int NOT NULL, name char(40) NOT NULL, note char(90) NOT NULL, PRIMARY KEY (ref));
CREATE TABLE stress_history (ref int NOT NULL, line int NOT NULL, changes int NOT NULL, note char(90) NOT NULL, PRIMARY KEY (ref, line));

-- section: create_partitioned
CREATE TABLE stress_object (ref int NOT NULL, section int NOT NULL, name char(40) NOT NULL, note char(90) NOT NULL, PRIMARY KEY (ref));
CREATE TABLE stress_history (ref int NOT NULL, line int NOT NULL, changes int NOT NULL, note char(90) NOT NULL, PRIMARY KEY (ref, line)) PARTITION BY KEY (ref) PARTITIONS {partitions};

-- section: partition

-- section: finish
ANALYZE TABLE stress_object;
ANALYZE TABLE stress_history;

-- section: check_objects
SELECT count(*) AS objects FROM stress_object HAVING count(*) <> {objects};

-- section: check_history
SELECT ref, count(*) AS line_count FROM stress_history GROUP BY ref HAVING count(*) <> {lines} LIMIT 10;

-- section: check_orphans
SELECT h.ref, h.line FROM stress_history h LEFT JOIN stress_object o ON o.ref = h.ref WHERE o.ref IS NULL LIMIT 10;
