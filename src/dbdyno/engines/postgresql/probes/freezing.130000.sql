-- name: freezing
-- title: Distance to the wrap-around of transaction numbers
-- version_min: 130000
-- privilege:
-- cost: reads one catalogue row for each database
-- every_s: 30
-- columns:
--   age: gauge - transactions since the oldest unfrozen one of any database; writes stop near 2 billion
--   multixact_age: gauge - the same for groups of row lockers
--   database: text - the database with the oldest
SELECT max(age(datfrozenxid)) AS age,
       max(mxid_age(datminmxid)) AS multixact_age,
       (array_agg(datname::text ORDER BY age(datfrozenxid) DESC))[1] AS database
FROM pg_database
