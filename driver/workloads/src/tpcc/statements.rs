//! The prepared statements of one table set. All sets have the same list, one after the other.
//!
//! Where the specification reads or writes one row of a list at a time, a statement here takes the list where the
//! field's tools do: items and stock of an order, its order lines, and the ten orders of a delivery. Each stock row is
//! still updated by a statement of its own.

use super::draw::LINES_MAX;
use dyno_core::session::{Statement, StatementId, StatementKind, Type};
use std::fmt::Write;

/// The fixed statements, in the order in which they are declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Fixed {
    OrderCustomer,
    OrderDistrict,
    OrderDistrictNext,
    OrderInsert,
    OrderInsertNew,
    OrderStockUpdate,
    PaymentWarehouseUpdate,
    PaymentWarehouse,
    PaymentDistrictUpdate,
    PaymentDistrict,
    PaymentCustomersByName,
    PaymentCustomer,
    PaymentCustomerData,
    PaymentCustomerUpdate,
    PaymentCustomerDataUpdate,
    PaymentHistory,
    StatusCustomersByName,
    StatusCustomer,
    StatusOrder,
    StatusLines,
    DeliveryOldest,
    DeliveryNewDelete,
    DeliveryCustomers,
    DeliveryOrders,
    DeliveryLines,
    DeliveryAmounts,
    DeliveryCustomerUpdate,
    StockDistrict,
    StockCount,
}

const FIXED_COUNT: usize = Fixed::StockCount as usize + 1;
/// Lists of 1 to 15 entries.
const ITEMS_FIRST: usize = FIXED_COUNT;
const STOCK_FIRST: usize = ITEMS_FIRST + LINES_MAX;
const LINES_FIRST: usize = STOCK_FIRST + LINES_MAX;
pub const PER_SET: usize = LINES_FIRST + LINES_MAX;

pub fn fixed(set: usize, statement: Fixed) -> StatementId {
    set * PER_SET + statement as usize
}

/// Items of an order by their ids.
pub fn items(set: usize, count: usize) -> StatementId {
    set * PER_SET + ITEMS_FIRST + count - 1
}

/// Stock rows of one warehouse, locked in the order of the items.
pub fn stock(set: usize, count: usize) -> StatementId {
    set * PER_SET + STOCK_FIRST + count - 1
}

/// Inserts the lines of an order.
pub fn lines(set: usize, count: usize) -> StatementId {
    set * PER_SET + LINES_FIRST + count - 1
}

use StatementKind::{Read, Write as Change};
use Type::{Int, Text};

/// The statements of a set whose tables have `suffix` behind their names.
pub fn declare(suffix: &str) -> Vec<Statement> {
    let mut declared = Vec::with_capacity(PER_SET);
    let mut add = |kind, sql: &str, parameters: &[Type]| {
        declared.push(Statement {
            sql: sql.replace("{n}", suffix),
            parameters: parameters.to_vec(),
            kind,
        });
    };
    new_order(&mut add);
    payment(&mut add);
    order_status(&mut add);
    delivery(&mut add);
    stock_level(&mut add);
    (1..=LINES_MAX).for_each(|count| add(Read, &items_sql(count), &vec![Int; count]));
    (1..=LINES_MAX).for_each(|count| add(Read, &stock_sql(count), &vec![Int; count + 2]));
    for count in 1..=LINES_MAX {
        let mut parameters = vec![Int; 3];
        (0..count).for_each(|_| parameters.extend([Int, Int, Int, Text, Text]));
        add(Change, &lines_sql(count), &parameters);
    }
    declared
}

type Add<'a> = dyn FnMut(StatementKind, &str, &[Type]) + 'a;

fn new_order(add: &mut Add<'_>) {
    add(
        Read,
        "SELECT c_discount, c_last, c_credit, w_tax FROM customer{n}, warehouse{n} \
         WHERE w_id = $1 AND c_w_id = w_id AND c_d_id = $2 AND c_id = $3",
        &[Int; 3],
    );
    add(
        Read,
        "SELECT d_next_o_id, d_tax FROM district{n} WHERE d_w_id = $1 AND d_id = $2 FOR UPDATE",
        &[Int; 2],
    );
    add(
        Change,
        "UPDATE district{n} SET d_next_o_id = $1 WHERE d_w_id = $2 AND d_id = $3",
        &[Int; 3],
    );
    add(
        Change,
        "INSERT INTO orders{n} (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
         VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP, $5, $6)",
        &[Int; 6],
    );
    add(
        Change,
        "INSERT INTO new_orders{n} (no_o_id, no_d_id, no_w_id) VALUES ($1, $2, $3)",
        &[Int; 3],
    );
    add(
        Change,
        "UPDATE stock{n} SET s_quantity = $1, s_ytd = s_ytd + $2, s_order_cnt = s_order_cnt + 1, \
         s_remote_cnt = s_remote_cnt + $3 WHERE s_w_id = $4 AND s_i_id = $5",
        &[Int; 5],
    );
}

fn payment(add: &mut Add<'_>) {
    add(
        Change,
        "UPDATE warehouse{n} SET w_ytd = w_ytd + $1 WHERE w_id = $2",
        &[Text, Int],
    );
    add(
        Read,
        "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse{n} WHERE w_id = $1",
        &[Int],
    );
    add(
        Change,
        "UPDATE district{n} SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3",
        &[Text, Int, Int],
    );
    add(
        Read,
        "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district{n} \
         WHERE d_w_id = $1 AND d_id = $2",
        &[Int; 2],
    );
    add(
        Read,
        "SELECT c_id FROM customer{n} WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first",
        &[Int, Int, Text],
    );
    add(
        Read,
        "SELECT c_credit, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, \
         c_credit_lim, c_discount, c_balance, c_since FROM customer{n} \
         WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3 FOR UPDATE",
        &[Int; 3],
    );
    add(
        Read,
        "SELECT c_data FROM customer{n} WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
        &[Int; 3],
    );
    add(
        Change,
        "UPDATE customer{n} SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $2, \
         c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = $3 AND c_d_id = $4 AND c_id = $5",
        &[Text, Text, Int, Int, Int],
    );
    add(
        Change,
        "UPDATE customer{n} SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $2, \
         c_payment_cnt = c_payment_cnt + 1, c_data = $3 WHERE c_w_id = $4 AND c_d_id = $5 AND c_id = $6",
        &[Text, Text, Text, Int, Int, Int],
    );
    add(
        Change,
        "INSERT INTO history{n} (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
         VALUES ($1, $2, $3, $4, $5, CURRENT_TIMESTAMP, $6, $7)",
        &[Int, Int, Int, Int, Int, Text, Text],
    );
}

fn order_status(add: &mut Add<'_>) {
    add(
        Read,
        "SELECT c_id, c_balance, c_first, c_middle FROM customer{n} \
         WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first",
        &[Int, Int, Text],
    );
    add(
        Read,
        "SELECT c_balance, c_first, c_middle, c_last FROM customer{n} \
         WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
        &[Int; 3],
    );
    add(
        Read,
        "SELECT o_id, o_carrier_id, o_entry_d FROM orders{n} \
         WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 ORDER BY o_id DESC LIMIT 1",
        &[Int; 3],
    );
    add(
        Read,
        "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line{n} \
         WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3",
        &[Int; 3],
    );
}

/// Parameters of the delivery's lists: warehouse, then (order, district) ten times.
const DELIVERY_PARAMETERS: usize = 11;

fn delivery(add: &mut Add<'_>) {
    add(
        Read,
        "SELECT no_o_id FROM new_orders{n} WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id LIMIT 1 FOR UPDATE",
        &[Int; 2],
    );
    let orders = delivery_orders(1);
    let lists = [Int; DELIVERY_PARAMETERS];
    add(
        Change,
        &format!("DELETE FROM new_orders{{n}} WHERE (no_w_id, no_d_id, no_o_id) IN {orders}"),
        &lists,
    );
    add(
        Read,
        &format!("SELECT o_d_id, o_c_id FROM orders{{n}} WHERE (o_w_id, o_d_id, o_id) IN {orders}"),
        &lists,
    );
    let after_carrier = delivery_orders(2);
    add(
        Change,
        &format!("UPDATE orders{{n}} SET o_carrier_id = $1 WHERE (o_w_id, o_d_id, o_id) IN {after_carrier}"),
        &[Int; DELIVERY_PARAMETERS + 1],
    );
    add(
        Change,
        &format!(
            "UPDATE order_line{{n}} SET ol_delivery_d = CURRENT_TIMESTAMP \
             WHERE (ol_w_id, ol_d_id, ol_o_id) IN {orders}"
        ),
        &lists,
    );
    add(
        Read,
        &format!(
            "SELECT ol_d_id, SUM(ol_amount) FROM order_line{{n}} \
             WHERE (ol_w_id, ol_d_id, ol_o_id) IN {orders} GROUP BY ol_d_id"
        ),
        &lists,
    );
    add(
        Change,
        "UPDATE customer{n} SET c_balance = c_balance + $1, c_delivery_cnt = c_delivery_cnt + 1 \
         WHERE c_w_id = $2 AND c_d_id = $3 AND c_id = $4",
        &[Text, Int, Int, Int],
    );
}

/// The keys of ten orders, one in each district, whose first placeholder (the warehouse) has the number `first`.
fn delivery_orders(first: usize) -> String {
    let keys: Vec<String> = (1..DELIVERY_PARAMETERS)
        .map(|district| format!("(${first}, {district}, ${})", first + district))
        .collect();
    format!("({})", keys.join(", "))
}

fn stock_level(add: &mut Add<'_>) {
    add(
        Read,
        "SELECT d_next_o_id FROM district{n} WHERE d_w_id = $1 AND d_id = $2",
        &[Int; 2],
    );
    add(
        Read,
        "SELECT COUNT(DISTINCT s_i_id) FROM order_line{n}, stock{n} \
         WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id < $3 AND ol_o_id >= $4 \
         AND s_w_id = $5 AND s_i_id = ol_i_id AND s_quantity < $6",
        &[Int; 6],
    );
}

fn items_sql(count: usize) -> String {
    format!(
        "SELECT i_id, i_price, i_name, i_data FROM item{{n}} WHERE i_id IN ({})",
        placeholders(1, count)
    )
}

/// `$1` is the warehouse, `$2` the district of the order, whose own column of ten is the one that is read.
fn stock_sql(count: usize) -> String {
    let mut district_info = String::from("CASE $2");
    for district in 1..=10 {
        // Writing to a String cannot fail.
        let _ = write!(district_info, " WHEN {district} THEN s_dist_{district:02}");
    }
    format!(
        "SELECT s_i_id, s_quantity, {district_info} END, s_data FROM stock{{n}} \
         WHERE s_w_id = $1 AND s_i_id IN ({}) ORDER BY s_i_id FOR UPDATE",
        placeholders(3, count)
    )
}

/// `$1` to `$3` are order, district and warehouse; each line has item, warehouse, quantity, amount, district text.
fn lines_sql(count: usize) -> String {
    let rows: Vec<String> = (0..count)
        .map(|index| {
            let first = 4 + 5 * index;
            format!("($1, $2, $3, {}, {})", index + 1, placeholders(first, 5))
        })
        .collect();
    format!(
        "INSERT INTO order_line{{n}} (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, \
         ol_amount, ol_dist_info) VALUES {}",
        rows.join(", ")
    )
}

fn placeholders(first: usize, count: usize) -> String {
    let numbered: Vec<String> = (first..first + count).map(|number| format!("${number}")).collect();
    numbered.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_name_the_statements_they_mean() {
        let declared: Vec<Statement> = ["1", "2"].iter().flat_map(|suffix| declare(suffix)).collect();
        assert_eq!(declared.len(), 2 * PER_SET);
        let sql = |id: StatementId| declared[id].sql.as_str();
        assert!(sql(fixed(1, Fixed::StockCount)).starts_with("SELECT COUNT(DISTINCT s_i_id) FROM order_line2, stock2"));
        assert!(sql(fixed(0, Fixed::PaymentHistory)).starts_with("INSERT INTO history1 "));
        assert!(sql(fixed(0, Fixed::DeliveryOrders)).contains("o_carrier_id = $1"));
        assert!(sql(items(1, 5)).ends_with("FROM item2 WHERE i_id IN ($1, $2, $3, $4, $5)"));
        assert!(sql(stock(0, 1)).ends_with("s_i_id IN ($3) ORDER BY s_i_id FOR UPDATE"));
        assert!(
            sql(lines(0, 2)).ends_with("($1, $2, $3, 1, $4, $5, $6, $7, $8), ($1, $2, $3, 2, $9, $10, $11, $12, $13)")
        );
    }

    #[test]
    fn every_statement_declares_as_many_parameters_as_it_uses() {
        for statement in declare("") {
            let highest = statement.sql.split('$').skip(1).map(|rest| {
                let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
                digits.parse::<usize>().unwrap_or(0)
            });
            assert_eq!(
                highest.max().unwrap_or(0),
                statement.parameters.len(),
                "{}",
                statement.sql
            );
        }
    }
}
