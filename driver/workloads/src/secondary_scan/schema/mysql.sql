-- Accounts, securities, and trades with two secondary indexes that the scans go by.

-- section: create
CREATE TABLE account (account int NOT NULL, balance bigint NOT NULL, PRIMARY KEY (account));
CREATE TABLE security (security int NOT NULL, volume bigint NOT NULL, PRIMARY KEY (security));
CREATE TABLE trade (trade_id bigint NOT NULL AUTO_INCREMENT, account int NOT NULL, security int NOT NULL, made_s int NOT NULL, quantity int NOT NULL, amount int NOT NULL, state char(1) NOT NULL, PRIMARY KEY (trade_id));

-- section: finish
CREATE INDEX trade_by_account ON trade (account, made_s);
CREATE INDEX trade_by_security ON trade (security, made_s);
UPDATE account JOIN (SELECT account, sum(amount) AS amount FROM trade WHERE state = 'C' GROUP BY account) AS sums ON sums.account = account.account SET balance = sums.amount;
UPDATE security JOIN (SELECT security, sum(quantity) AS quantity FROM trade WHERE state = 'C' GROUP BY security) AS sums ON sums.security = security.security SET volume = sums.quantity;
ANALYZE TABLE account;
ANALYZE TABLE security;
ANALYZE TABLE trade;

-- section: check_balance
SELECT a.account, a.balance, coalesce(sums.amount, 0) AS amount FROM account a LEFT JOIN (SELECT account, sum(amount) AS amount FROM trade WHERE state = 'C' GROUP BY account) AS sums ON sums.account = a.account WHERE a.balance <> coalesce(sums.amount, 0) LIMIT 10;

-- section: check_volume
SELECT s.security, s.volume, coalesce(sums.quantity, 0) AS quantity FROM security s LEFT JOIN (SELECT security, sum(quantity) AS quantity FROM trade WHERE state = 'C' GROUP BY security) AS sums ON sums.security = s.security WHERE s.volume <> coalesce(sums.quantity, 0) LIMIT 10;

-- section: check_state
SELECT t.trade_id, t.state FROM trade t LEFT JOIN account a ON a.account = t.account LEFT JOIN security s ON s.security = t.security WHERE t.state NOT IN ('P', 'C') OR a.account IS NULL OR s.security IS NULL LIMIT 10;
