-- The nine tables of the TPC-C-like workload. `{n}` is the number of the table set (empty when there is one set).
--
-- Widths follow the specification, which sets minima, with three exceptions that a driver without think times needs:
-- warehouse numbers are integers, counters are integers, and the year-to-date sums of warehouse and district have 16
-- digits. Rows lie in the primary key, which is there from the start; the other indexes are built after the load. Names
-- compare by their bytes: some storage engines can index no text otherwise.

-- section: storage_engine
InnoDB;

-- Storage engines without foreign keys.
-- section: no_foreign_keys
rocksdb;

-- section: create
CREATE TABLE IF NOT EXISTS warehouse{n} (
    w_id integer NOT NULL,
    w_name varchar(10),
    w_street_1 varchar(20),
    w_street_2 varchar(20),
    w_city varchar(20),
    w_state char(2),
    w_zip char(9),
    w_tax decimal(4,4),
    w_ytd decimal(16,2),
    PRIMARY KEY (w_id)
) ENGINE = {storage_engine} COLLATE utf8mb4_bin;
CREATE TABLE IF NOT EXISTS district{n} (
    d_id smallint NOT NULL,
    d_w_id integer NOT NULL,
    d_name varchar(10),
    d_street_1 varchar(20),
    d_street_2 varchar(20),
    d_city varchar(20),
    d_state char(2),
    d_zip char(9),
    d_tax decimal(4,4),
    d_ytd decimal(16,2),
    d_next_o_id integer,
    PRIMARY KEY (d_w_id, d_id)
) ENGINE = {storage_engine} COLLATE utf8mb4_bin;
CREATE TABLE IF NOT EXISTS customer{n} (
    c_id integer NOT NULL,
    c_d_id smallint NOT NULL,
    c_w_id integer NOT NULL,
    c_first varchar(16),
    c_middle char(2),
    c_last varchar(16),
    c_street_1 varchar(20),
    c_street_2 varchar(20),
    c_city varchar(20),
    c_state char(2),
    c_zip char(9),
    c_phone char(16),
    c_since datetime,
    c_credit char(2),
    c_credit_lim decimal(12,2),
    c_discount decimal(4,4),
    c_balance decimal(12,2),
    c_ytd_payment decimal(12,2),
    c_payment_cnt integer,
    c_delivery_cnt integer,
    c_data varchar(500),
    PRIMARY KEY (c_w_id, c_d_id, c_id)
) ENGINE = {storage_engine} COLLATE utf8mb4_bin;
CREATE TABLE IF NOT EXISTS history{n} (
    h_c_id integer,
    h_c_d_id smallint,
    h_c_w_id integer,
    h_d_id smallint,
    h_w_id integer,
    h_date datetime,
    h_amount decimal(6,2),
    h_data varchar(24)
) ENGINE = {storage_engine} COLLATE utf8mb4_bin;
CREATE TABLE IF NOT EXISTS orders{n} (
    o_id integer NOT NULL,
    o_d_id smallint NOT NULL,
    o_w_id integer NOT NULL,
    o_c_id integer,
    o_entry_d datetime,
    o_carrier_id smallint,
    o_ol_cnt smallint,
    o_all_local smallint,
    PRIMARY KEY (o_w_id, o_d_id, o_id)
) ENGINE = {storage_engine} COLLATE utf8mb4_bin;
CREATE TABLE IF NOT EXISTS new_orders{n} (
    no_o_id integer NOT NULL,
    no_d_id smallint NOT NULL,
    no_w_id integer NOT NULL,
    PRIMARY KEY (no_w_id, no_d_id, no_o_id)
) ENGINE = {storage_engine} COLLATE utf8mb4_bin;
CREATE TABLE IF NOT EXISTS order_line{n} (
    ol_o_id integer NOT NULL,
    ol_d_id smallint NOT NULL,
    ol_w_id integer NOT NULL,
    ol_number smallint NOT NULL,
    ol_i_id integer,
    ol_supply_w_id integer,
    ol_delivery_d datetime,
    ol_quantity smallint,
    ol_amount decimal(6,2),
    ol_dist_info char(24),
    PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)
) ENGINE = {storage_engine} COLLATE utf8mb4_bin;
CREATE TABLE IF NOT EXISTS item{n} (
    i_id integer NOT NULL,
    i_im_id integer,
    i_name varchar(24),
    i_price decimal(5,2),
    i_data varchar(50),
    PRIMARY KEY (i_id)
) ENGINE = {storage_engine} COLLATE utf8mb4_bin;
CREATE TABLE IF NOT EXISTS stock{n} (
    s_i_id integer NOT NULL,
    s_w_id integer NOT NULL,
    s_quantity smallint,
    s_dist_01 char(24),
    s_dist_02 char(24),
    s_dist_03 char(24),
    s_dist_04 char(24),
    s_dist_05 char(24),
    s_dist_06 char(24),
    s_dist_07 char(24),
    s_dist_08 char(24),
    s_dist_09 char(24),
    s_dist_10 char(24),
    s_ytd decimal(8,0),
    s_order_cnt integer,
    s_remote_cnt integer,
    s_data varchar(50),
    PRIMARY KEY (s_w_id, s_i_id)
) ENGINE = {storage_engine} COLLATE utf8mb4_bin;

-- section: indexes
CREATE INDEX idx_customer{n} ON customer{n} (c_w_id, c_d_id, c_last, c_first);
CREATE INDEX idx_orders{n} ON orders{n} (o_w_id, o_d_id, o_c_id, o_id);

-- The server adds an index where the referencing columns have none.
-- section: foreign_keys
ALTER TABLE district{n} ADD CONSTRAINT fk_1_{n} FOREIGN KEY (d_w_id) REFERENCES warehouse{n} (w_id);
ALTER TABLE customer{n} ADD CONSTRAINT fk_2_{n} FOREIGN KEY (c_w_id, c_d_id) REFERENCES district{n} (d_w_id, d_id);
ALTER TABLE history{n} ADD CONSTRAINT fk_3_{n} FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) REFERENCES customer{n} (c_w_id, c_d_id, c_id);
ALTER TABLE history{n} ADD CONSTRAINT fk_4_{n} FOREIGN KEY (h_w_id, h_d_id) REFERENCES district{n} (d_w_id, d_id);
ALTER TABLE orders{n} ADD CONSTRAINT fk_5_{n} FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES customer{n} (c_w_id, c_d_id, c_id);
ALTER TABLE new_orders{n} ADD CONSTRAINT fk_6_{n} FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES orders{n} (o_w_id, o_d_id, o_id);
ALTER TABLE order_line{n} ADD CONSTRAINT fk_7_{n} FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES orders{n} (o_w_id, o_d_id, o_id);
ALTER TABLE stock{n} ADD CONSTRAINT fk_8_{n} FOREIGN KEY (s_w_id) REFERENCES warehouse{n} (w_id);
ALTER TABLE stock{n} ADD CONSTRAINT fk_9_{n} FOREIGN KEY (s_i_id) REFERENCES item{n} (i_id);
ALTER TABLE order_line{n} ADD CONSTRAINT fk_10_{n} FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES stock{n} (s_w_id, s_i_id);

-- section: statistics
ANALYZE TABLE warehouse{n};
ANALYZE TABLE district{n};
ANALYZE TABLE item{n};
ANALYZE TABLE stock{n};
ANALYZE TABLE customer{n};
ANALYZE TABLE history{n};
ANALYZE TABLE orders{n};
ANALYZE TABLE new_orders{n};
ANALYZE TABLE order_line{n};

-- The level is the connection's, so that no transaction has to say it.
-- section: session_rc
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
-- section: session_rr
SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;
-- section: session_ser
SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE;
-- section: begin_rc
BEGIN;
-- section: begin_rr
BEGIN;
-- section: begin_ser
BEGIN;
