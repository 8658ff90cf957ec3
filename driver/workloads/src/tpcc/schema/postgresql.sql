-- The nine tables of the TPC-C-like workload. `{n}` is the number of the table set (empty when there is one set).
--
-- Widths follow the specification, which sets minima, with three exceptions that a driver without think times needs:
-- warehouse numbers are integers (smallint ends at 32,767), counters are integers, and the year-to-date sums of
-- warehouse and district have 16 digits (a single busy warehouse fills numeric(12,2) in less than two hours).

-- section: create
CREATE TABLE warehouse{n} (
    w_id integer NOT NULL,
    w_name varchar(10),
    w_street_1 varchar(20),
    w_street_2 varchar(20),
    w_city varchar(20),
    w_state char(2),
    w_zip char(9),
    w_tax numeric(4,4),
    w_ytd numeric(16,2)
);
CREATE TABLE district{n} (
    d_id smallint NOT NULL,
    d_w_id integer NOT NULL,
    d_name varchar(10),
    d_street_1 varchar(20),
    d_street_2 varchar(20),
    d_city varchar(20),
    d_state char(2),
    d_zip char(9),
    d_tax numeric(4,4),
    d_ytd numeric(16,2),
    d_next_o_id integer
);
CREATE TABLE customer{n} (
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
    c_since timestamp,
    c_credit char(2),
    c_credit_lim numeric(12,2),
    c_discount numeric(4,4),
    c_balance numeric(12,2),
    c_ytd_payment numeric(12,2),
    c_payment_cnt integer,
    c_delivery_cnt integer,
    c_data varchar(500)
);
CREATE TABLE history{n} (
    h_c_id integer,
    h_c_d_id smallint,
    h_c_w_id integer,
    h_d_id smallint,
    h_w_id integer,
    h_date timestamp,
    h_amount numeric(6,2),
    h_data varchar(24)
);
CREATE TABLE orders{n} (
    o_id integer NOT NULL,
    o_d_id smallint NOT NULL,
    o_w_id integer NOT NULL,
    o_c_id integer,
    o_entry_d timestamp,
    o_carrier_id smallint,
    o_ol_cnt smallint,
    o_all_local smallint
);
CREATE TABLE new_orders{n} (
    no_o_id integer NOT NULL,
    no_d_id smallint NOT NULL,
    no_w_id integer NOT NULL
);
CREATE TABLE order_line{n} (
    ol_o_id integer NOT NULL,
    ol_d_id smallint NOT NULL,
    ol_w_id integer NOT NULL,
    ol_number smallint NOT NULL,
    ol_i_id integer,
    ol_supply_w_id integer,
    ol_delivery_d timestamp,
    ol_quantity smallint,
    ol_amount numeric(6,2),
    ol_dist_info char(24)
);
CREATE TABLE item{n} (
    i_id integer NOT NULL,
    i_im_id integer,
    i_name varchar(24),
    i_price numeric(5,2),
    i_data varchar(50)
);
CREATE TABLE stock{n} (
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
    s_ytd numeric(8,0),
    s_order_cnt integer,
    s_remote_cnt integer,
    s_data varchar(50)
);

-- section: indexes
ALTER TABLE warehouse{n} ADD PRIMARY KEY (w_id);
ALTER TABLE district{n} ADD PRIMARY KEY (d_w_id, d_id);
ALTER TABLE item{n} ADD PRIMARY KEY (i_id);
ALTER TABLE stock{n} ADD PRIMARY KEY (s_w_id, s_i_id);
ALTER TABLE customer{n} ADD PRIMARY KEY (c_w_id, c_d_id, c_id);
CREATE INDEX idx_customer{n} ON customer{n} (c_w_id, c_d_id, c_last, c_first);
ALTER TABLE orders{n} ADD PRIMARY KEY (o_w_id, o_d_id, o_id);
CREATE INDEX idx_orders{n} ON orders{n} (o_w_id, o_d_id, o_c_id, o_id);
ALTER TABLE new_orders{n} ADD PRIMARY KEY (no_w_id, no_d_id, no_o_id);
ALTER TABLE order_line{n} ADD PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number);

-- The referencing columns get no index of their own: no transaction deletes or renumbers a referenced row.
-- section: foreign_keys
ALTER TABLE district{n} ADD FOREIGN KEY (d_w_id) REFERENCES warehouse{n} (w_id);
ALTER TABLE customer{n} ADD FOREIGN KEY (c_w_id, c_d_id) REFERENCES district{n} (d_w_id, d_id);
ALTER TABLE history{n} ADD FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) REFERENCES customer{n} (c_w_id, c_d_id, c_id);
ALTER TABLE history{n} ADD FOREIGN KEY (h_w_id, h_d_id) REFERENCES district{n} (d_w_id, d_id);
ALTER TABLE orders{n} ADD FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES customer{n} (c_w_id, c_d_id, c_id);
ALTER TABLE new_orders{n} ADD FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES orders{n} (o_w_id, o_d_id, o_id);
ALTER TABLE order_line{n} ADD FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES orders{n} (o_w_id, o_d_id, o_id);
ALTER TABLE stock{n} ADD FOREIGN KEY (s_w_id) REFERENCES warehouse{n} (w_id);
ALTER TABLE stock{n} ADD FOREIGN KEY (s_i_id) REFERENCES item{n} (i_id);
ALTER TABLE order_line{n} ADD FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES stock{n} (s_w_id, s_i_id);

-- VACUUM runs outside a transaction, so each step is one statement. It writes the hint bits and the visibility map
-- that the first minutes of the run would otherwise pay for.
-- section: statistics
VACUUM ANALYZE warehouse{n};
VACUUM ANALYZE district{n};
VACUUM ANALYZE item{n};
VACUUM ANALYZE stock{n};
VACUUM ANALYZE customer{n};
VACUUM ANALYZE history{n};
VACUUM ANALYZE orders{n};
VACUUM ANALYZE new_orders{n};
VACUUM ANALYZE order_line{n};

-- section: begin_rc
BEGIN ISOLATION LEVEL READ COMMITTED;
-- section: begin_rr
BEGIN ISOLATION LEVEL REPEATABLE READ;
-- section: begin_ser
BEGIN ISOLATION LEVEL SERIALIZABLE;
