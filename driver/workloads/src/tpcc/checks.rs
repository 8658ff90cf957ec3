//! The consistency conditions of clause 3.3.2. They hold after the load and after any run.
//!
//! Each compares two sides that are summed by the same key. Both sides are put under each other with UNION ALL rather
//! than joined, so that a row that only one side has is a violation too, on servers without a full outer join as well.

use dyno_core::workload::Check;

const LIMIT: &str = "LIMIT 10";

/// One condition: sums of `left` and `right` by `key` must agree.
struct Balance {
    clause: &'static str,
    title: &'static str,
    key: &'static [&'static str],
    left: Side,
    right: Side,
}

/// `name` heads the column of sums; `parts` are (key expressions, summed expression, table and condition).
struct Side {
    name: &'static str,
    parts: &'static [Part],
}

struct Part {
    key: &'static str,
    value: &'static str,
    from: &'static str,
}

const WAREHOUSE: &[&str] = &["w_id"];
const DISTRICT: &[&str] = &["w_id", "d_id"];
const ORDER: &[&str] = &["w_id", "d_id", "o_id"];
const CUSTOMER: &[&str] = &["w_id", "d_id", "c_id"];

const HISTORY_BY_DISTRICT: &str = "h_w_id, h_d_id";
const LINES_WITH_ORDERS: &str = "order_line{n} JOIN orders{n} ON o_w_id = ol_w_id AND o_d_id = ol_d_id \
                                 AND o_id = ol_o_id WHERE ol_delivery_d IS NOT NULL";

const fn side(name: &'static str, parts: &'static [Part]) -> Side {
    Side { name, parts }
}

const fn part(key: &'static str, value: &'static str, from: &'static str) -> Part {
    Part { key, value, from }
}

const BALANCES: &[Balance] = &[
    Balance {
        clause: "3.3.2.1",
        title: "W_YTD is the sum of the districts' D_YTD",
        key: WAREHOUSE,
        left: side("w_ytd", &[part("w_id", "w_ytd", "warehouse{n}")]),
        right: side("d_ytd_sum", &[part("d_w_id", "d_ytd", "district{n}")]),
    },
    Balance {
        clause: "3.3.2.4",
        title: "the sum of O_OL_CNT of a district is the number of its order lines",
        key: DISTRICT,
        left: side("o_ol_cnt_sum", &[part("o_w_id, o_d_id", "o_ol_cnt", "orders{n}")]),
        right: side("line_count", &[part("ol_w_id, ol_d_id", "1", "order_line{n}")]),
    },
    Balance {
        clause: "3.3.2.5",
        title: "an order has no carrier if and only if it is a new order",
        key: ORDER,
        left: side(
            "without_carrier",
            &[part(
                "o_w_id, o_d_id, o_id",
                "1",
                "orders{n} WHERE o_carrier_id IS NULL",
            )],
        ),
        right: side("new_orders", &[part("no_w_id, no_d_id, no_o_id", "1", "new_orders{n}")]),
    },
    Balance {
        clause: "3.3.2.6",
        title: "O_OL_CNT of an order is the number of its lines",
        key: ORDER,
        left: side("o_ol_cnt", &[part("o_w_id, o_d_id, o_id", "o_ol_cnt", "orders{n}")]),
        right: side("line_count", &[part("ol_w_id, ol_d_id, ol_o_id", "1", "order_line{n}")]),
    },
    Balance {
        clause: "3.3.2.8",
        title: "W_YTD is the sum of the warehouse's payments in history",
        key: WAREHOUSE,
        left: side("w_ytd", &[part("w_id", "w_ytd", "warehouse{n}")]),
        right: side("h_amount_sum", &[part("h_w_id", "h_amount", "history{n}")]),
    },
    Balance {
        clause: "3.3.2.9",
        title: "D_YTD is the sum of the district's payments in history",
        key: DISTRICT,
        left: side("d_ytd", &[part("d_w_id, d_id", "d_ytd", "district{n}")]),
        right: side("h_amount_sum", &[part(HISTORY_BY_DISTRICT, "h_amount", "history{n}")]),
    },
    Balance {
        clause: "3.3.2.10",
        title: "C_BALANCE is the sum of the customer's delivered order lines minus that of his payments",
        key: CUSTOMER,
        left: side("c_balance", &[part("c_w_id, c_d_id, c_id", "c_balance", "customer{n}")]),
        right: side(
            "delivered_minus_paid",
            &[
                part("o_w_id, o_d_id, o_c_id", "ol_amount", LINES_WITH_ORDERS),
                part("h_c_w_id, h_c_d_id, h_c_id", "-h_amount", "history{n}"),
            ],
        ),
    },
    // The specification's constant 2,100 is the number of delivered orders after the load; each delivery adds one and
    // counts it in C_DELIVERY_CNT.
    Balance {
        clause: "3.3.2.11",
        title: "orders minus new orders of a district are 2,100 and its deliveries",
        key: DISTRICT,
        left: side(
            "orders_minus_new_orders",
            &[
                part("o_w_id, o_d_id", "1", "orders{n}"),
                part("no_w_id, no_d_id", "-1", "new_orders{n}"),
            ],
        ),
        right: side(
            "delivered",
            &[
                part("d_w_id, d_id", "2100", "district{n}"),
                part("c_w_id, c_d_id", "c_delivery_cnt", "customer{n}"),
            ],
        ),
    },
    Balance {
        clause: "3.3.2.12",
        title: "C_BALANCE and C_YTD_PAYMENT are together the sum of the customer's delivered order lines",
        key: CUSTOMER,
        left: side(
            "balance_and_paid",
            &[part("c_w_id, c_d_id, c_id", "c_balance + c_ytd_payment", "customer{n}")],
        ),
        right: side(
            "delivered",
            &[part("o_w_id, o_d_id, o_c_id", "ol_amount", LINES_WITH_ORDERS)],
        ),
    },
];

impl Balance {
    fn sql(&self) -> String {
        let key = self.key.join(", ");
        let rows: Vec<String> = [(&self.left, true), (&self.right, false)]
            .into_iter()
            .flat_map(|(side, is_left)| side.parts.iter().map(move |part| (part, is_left)))
            .map(|(part, is_left)| {
                let aliased: Vec<String> = part
                    .key
                    .split(", ")
                    .zip(self.key)
                    .map(|(expression, name)| format!("{expression} AS {name}"))
                    .collect();
                let (left, right) = if is_left { (part.value, "0") } else { ("0", part.value) };
                format!(
                    "SELECT {}, {left} AS a, {right} AS b FROM {}",
                    aliased.join(", "),
                    part.from
                )
            })
            .collect();
        format!(
            "SELECT {key}, SUM(a) AS {}, SUM(b) AS {} FROM ({}) AS sides GROUP BY {key} HAVING SUM(a) <> SUM(b) \
             ORDER BY {key} {LIMIT}",
            self.left.name,
            self.right.name,
            rows.join(" UNION ALL ")
        )
    }
}

const NEXT_ORDER: &str = "\
    SELECT d_w_id, d_id, d_next_o_id - 1 AS last_o_id, o_id_max, no_o_id_max FROM district{n} \
    LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS o_id_max FROM orders{n} GROUP BY o_w_id, o_d_id) AS o \
    ON o_w_id = d_w_id AND o_d_id = d_id \
    LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS no_o_id_max FROM new_orders{n} GROUP BY no_w_id, no_d_id) \
    AS no ON no_w_id = d_w_id AND no_d_id = d_id \
    WHERE o_id_max IS NULL OR d_next_o_id IS NULL OR o_id_max <> d_next_o_id - 1 OR no_o_id_max <> d_next_o_id - 1 \
    ORDER BY d_w_id, d_id";

const GAPLESS_NEW_ORDERS: &str = "\
    SELECT no_w_id, no_d_id, MIN(no_o_id) AS no_o_id_min, MAX(no_o_id) AS no_o_id_max, COUNT(*) AS new_orders \
    FROM new_orders{n} GROUP BY no_w_id, no_d_id HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*) \
    ORDER BY no_w_id, no_d_id";

const DELIVERY_DATES: &str = "\
    SELECT ol_w_id, ol_d_id, ol_o_id, ol_number, ol_delivery_d, o_carrier_id FROM order_line{n} \
    JOIN orders{n} ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
    WHERE (ol_delivery_d IS NULL AND o_carrier_id IS NOT NULL) \
    OR (ol_delivery_d IS NOT NULL AND o_carrier_id IS NULL)";

/// Conditions that are not sums.
const OTHERS: &[(&str, &str, &str)] = &[
    (
        "3.3.2.2",
        "D_NEXT_O_ID - 1 is the highest order and the highest new order of the district",
        NEXT_ORDER,
    ),
    (
        "3.3.2.3",
        "the new orders of a district have no gap",
        GAPLESS_NEW_ORDERS,
    ),
    (
        "3.3.2.7",
        "an order line has no delivery date if and only if its order has no carrier",
        DELIVERY_DATES,
    ),
];

/// All conditions in the order of their clauses, for each table set.
pub fn checks(suffixes: &[String]) -> Vec<Check> {
    let mut conditions: Vec<(&str, &str, String)> = BALANCES
        .iter()
        .map(|balance| (balance.clause, balance.title, balance.sql()))
        .collect();
    conditions.extend(
        OTHERS
            .iter()
            .map(|(clause, title, sql)| (*clause, *title, format!("{sql} {LIMIT}"))),
    );
    conditions.sort_by_key(|(clause, _, _)| clause_number(clause));
    let of_set = |suffix: &String| {
        let set = if suffix.is_empty() {
            String::new()
        } else {
            format!(" set {suffix}")
        };
        conditions
            .iter()
            .map(|(clause, title, sql)| Check {
                clause: format!("{clause}{set}"),
                title: (*title).to_owned(),
                sql: sql.replace("{n}", suffix),
            })
            .collect::<Vec<Check>>()
    };
    suffixes.iter().flat_map(of_set).collect()
}

fn clause_number(clause: &str) -> u32 {
    clause
        .rsplit('.')
        .next()
        .and_then(|last| last.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clause_is_there_once_and_in_order() {
        let clauses: Vec<String> = checks(&[String::new()]).into_iter().map(|check| check.clause).collect();
        let expected: Vec<String> = (1..=12).map(|number| format!("3.3.2.{number}")).collect();
        assert_eq!(clauses, expected);
    }

    #[test]
    fn each_set_has_its_own_checks_on_its_own_tables() {
        let checks = checks(&["1".into(), "2".into()]);
        assert_eq!(checks.len(), 24);
        assert_eq!(checks[12].clause, "3.3.2.1 set 2");
        assert_eq!(
            checks[12].sql,
            "SELECT w_id, SUM(a) AS w_ytd, SUM(b) AS d_ytd_sum FROM (SELECT w_id AS w_id, w_ytd AS a, 0 AS b \
             FROM warehouse2 UNION ALL SELECT d_w_id AS w_id, 0 AS a, d_ytd AS b FROM district2) AS sides \
             GROUP BY w_id HAVING SUM(a) <> SUM(b) ORDER BY w_id LIMIT 10"
        );
    }
}
