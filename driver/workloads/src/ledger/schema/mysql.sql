-- The tables stand in the server's default storage engine.

-- Engines without gap locks refuse a write to a row that changed since the snapshot of a stricter level.
-- section: session
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;

-- section: create
CREATE TABLE IF NOT EXISTS ledger_account (
  id int NOT NULL PRIMARY KEY, balance bigint NOT NULL, filler varchar(256) NOT NULL
) CHARACTER SET latin1 COLLATE latin1_bin;
CREATE TABLE IF NOT EXISTS ledger_journal (
  client int NOT NULL, seq bigint NOT NULL, kind int NOT NULL, a bigint NOT NULL, b bigint NOT NULL,
  amount bigint NOT NULL, PRIMARY KEY (client, seq)
) CHARACTER SET latin1 COLLATE latin1_bin;
CREATE TABLE IF NOT EXISTS ledger_entry (
  client int NOT NULL, seq bigint NOT NULL, part int NOT NULL, payload varchar(512) NOT NULL,
  PRIMARY KEY (client, seq, part)
) CHARACTER SET latin1 COLLATE latin1_bin;
CREATE TABLE IF NOT EXISTS ledger_page (
  id int NOT NULL PRIMARY KEY, client int NOT NULL, seq bigint NOT NULL, body mediumtext NOT NULL
) CHARACTER SET latin1 COLLATE latin1_bin;

-- section: finish
ANALYZE TABLE ledger_account;
ANALYZE TABLE ledger_page;

-- section: check_sum
SELECT * FROM (SELECT coalesce(sum(balance), 0) AS balances, {opening} * count(*) AS opened FROM ledger_account) AS s
WHERE balances <> opened;

-- section: check_accounts
SELECT o.id, o.balance, {opening} + coalesce(m.moved, 0) AS expected FROM ledger_account AS o
LEFT JOIN (SELECT id, sum(amount) AS moved FROM (
    SELECT b AS id, amount FROM ledger_journal WHERE kind = 2
    UNION ALL SELECT a AS id, -amount AS amount FROM ledger_journal WHERE kind = 2) AS x GROUP BY id) AS m ON m.id = o.id
WHERE o.balance <> {opening} + coalesce(m.moved, 0);

-- section: check_entries
SELECT j.client, j.seq, j.a AS written, count(e.part) AS found FROM ledger_journal AS j
LEFT JOIN ledger_entry AS e ON e.client = j.client AND e.seq = j.seq
LEFT JOIN (SELECT client, a, max(seq) AS seq FROM ledger_journal WHERE kind = 4 GROUP BY client, a) AS d
    ON d.client = j.client AND d.a = j.seq
WHERE j.kind = 1 GROUP BY j.client, j.seq, j.a, d.seq
HAVING count(e.part) <> CASE WHEN d.seq IS NULL THEN j.a ELSE 0 END;

-- section: check_orphans
SELECT e.client, e.seq, e.part FROM ledger_entry AS e
LEFT JOIN ledger_journal AS j ON j.client = e.client AND j.seq = e.seq AND j.kind = 1 WHERE j.seq IS NULL;

-- section: check_pages
SELECT p.id, p.client, p.seq FROM ledger_page AS p
LEFT JOIN ledger_journal AS j ON j.client = p.client AND j.seq = p.seq AND j.kind = 3 AND j.a = p.id
WHERE p.seq > 0 AND j.seq IS NULL;
