//! The five transactions of clause 2, without the terminal: what only a screen would show (total amount, brand/generic)
//! is fetched but not computed.

use super::draw::{Customer, Line, NewOrder};
use super::random::{self, DISTRICTS};
use super::statements::{self, Fixed, fixed};
use dyno_core::session::{Failure, ServerError, Session, Value, integer};
use dyno_core::workload::Outcome;

/// Where a transaction runs: table set, warehouse, district.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub set: usize,
    pub w_id: i32,
    pub d_id: i32,
    /// The null server answers each query with one row: rows that are missing there say nothing about a dataset.
    pub rows_made_up: bool,
}

impl Place {
    fn id(self, statement: Fixed) -> usize {
        fixed(self.set, statement)
    }

    /// The parameters of most statements: warehouse, district and one more number.
    fn keyed(self, last: i32) -> [Value<'static>; 3] {
        [Value::Int(self.w_id), Value::Int(self.d_id), Value::Int(last)]
    }
}

pub async fn new_order<S: Session>(session: &mut S, place: Place, order: &NewOrder) -> Result<Outcome, Failure> {
    let district = [Value::Int(place.w_id), Value::Int(place.d_id)];
    session
        .query(place.id(Fixed::OrderCustomer), &place.keyed(order.c_id))
        .await?;
    session.query(place.id(Fixed::OrderDistrict), &district).await?;
    let o_id = number(session, 0, 0)?;
    let next = [Value::Int(o_id + 1), Value::Int(place.w_id), Value::Int(place.d_id)];
    session.execute(place.id(Fixed::OrderDistrictNext), &next).await?;
    let key = [Value::Int(o_id), Value::Int(place.d_id), Value::Int(place.w_id)];
    let count = Value::Int(order.lines_count as i32);
    let all_local = Value::Int(i32::from(order.all_local));
    let header = [key[0], key[1], key[2], Value::Int(order.c_id), count, all_local];
    session.execute(place.id(Fixed::OrderInsert), &header).await?;
    session.execute(place.id(Fixed::OrderInsertNew), &key).await?;

    let lines = order.valid_lines();
    let prices = item_prices(session, place, order).await?;
    let mut details = OrderDetails::default();
    for same_warehouse in lines.chunk_by(|one, other| one.supply_w_id == other.supply_w_id) {
        take_stock(session, place, same_warehouse, &mut details).await?;
    }
    for (line, price_hundredths) in lines.iter().zip(prices) {
        details.add_amount(i64::from(line.quantity) * price_hundredths);
    }
    let mut parameters = Vec::with_capacity(3 + 5 * lines.len());
    parameters.extend(key);
    for (index, line) in lines.iter().enumerate() {
        parameters.extend([
            Value::Int(line.i_id),
            Value::Int(line.supply_w_id),
            Value::Int(line.quantity),
        ]);
        parameters.extend([
            Value::Text(details.amount(index)),
            Value::Text(details.district_info(index)),
        ]);
    }
    if !order.unused_item {
        session.commit_follows();
    }
    session
        .execute(statements::lines(place.set, lines.len()), &parameters)
        .await?;
    if order.unused_item {
        session.simple("ROLLBACK").await?;
        return Ok(Outcome::RolledBack);
    }
    commit(session).await
}

/// Prices in hundredths of the items of all valid lines, in the order of the lines.
async fn item_prices<S: Session>(session: &mut S, place: Place, order: &NewOrder) -> Result<Vec<i64>, Failure> {
    let all = &order.lines[..order.lines_count];
    let ids: Vec<Value> = all.iter().map(|line| Value::Int(line.i_id)).collect();
    let found = session.query(statements::items(place.set, all.len()), &ids).await?;
    let mut prices = vec![None; order.valid_lines().len()];
    for row in 0..found {
        let i_id = number(session, row, 0)?;
        let price = hundredths(session, row, 1)?;
        if let Some(index) = order.valid_lines().iter().position(|line| line.i_id == i_id) {
            prices[index] = Some(price);
        }
    }
    if prices.contains(&None) && !place.rows_made_up {
        return Err(damaged(format!(
            "an order needs an item that the table item does not have ({found} rows found)"
        )));
    }
    Ok(prices.into_iter().map(|price| price.unwrap_or(0)).collect())
}

/// Texts that an order's lines need when they are inserted.
#[derive(Default)]
struct OrderDetails {
    text: String,
    district_info: Vec<(usize, usize)>,
    amounts: Vec<(usize, usize)>,
}

impl OrderDetails {
    fn append(&mut self, text: &str) -> (usize, usize) {
        let start = self.text.len();
        self.text.push_str(text);
        (start, self.text.len())
    }

    fn add_amount(&mut self, amount_hundredths: i64) {
        let span = self.append(&decimal(amount_hundredths));
        self.amounts.push(span);
    }

    fn amount(&self, index: usize) -> &str {
        let (start, end) = self.amounts[index];
        &self.text[start..end]
    }

    fn district_info(&self, index: usize) -> &str {
        let (start, end) = self.district_info[index];
        &self.text[start..end]
    }
}

/// Locks, reads and updates the stock of lines that one warehouse supplies.
async fn take_stock<S: Session>(
    session: &mut S,
    place: Place,
    lines: &[Line],
    details: &mut OrderDetails,
) -> Result<(), Failure> {
    let supply_w_id = lines[0].supply_w_id;
    let mut parameters = Vec::with_capacity(2 + lines.len());
    parameters.extend([Value::Int(supply_w_id), Value::Int(place.d_id)]);
    parameters.extend(lines.iter().map(|line| Value::Int(line.i_id)));
    let found = session
        .query(statements::stock(place.set, lines.len()), &parameters)
        .await?;
    if found != lines.len() && !place.rows_made_up {
        return Err(damaged(format!(
            "warehouse {supply_w_id} has {found} of {} stock rows that an order needs",
            lines.len()
        )));
    }
    // Rows and lines are both in the order of the items.
    let mut quantities = Vec::with_capacity(lines.len());
    for row in 0..lines.len() {
        quantities.push(if row < found { number(session, row, 1)? } else { 0 });
        let span = details.append(session.cell(row, 2).unwrap_or(""));
        details.district_info.push(span);
    }
    let remote = Value::Int(i32::from(supply_w_id != place.w_id));
    for (line, before) in lines.iter().zip(quantities) {
        let quantity = Value::Int(quantity_after(before, line.quantity));
        let key = [Value::Int(supply_w_id), Value::Int(line.i_id)];
        let update = [quantity, Value::Int(line.quantity), remote, key[0], key[1]];
        session.execute(place.id(Fixed::OrderStockUpdate), &update).await?;
    }
    Ok(())
}

/// Clause 2.4.2.2: the stock is filled up when less than ten would remain.
fn quantity_after(stock: i32, ordered: i32) -> i32 {
    if stock >= ordered + 10 {
        stock - ordered
    } else {
        stock - ordered + 91
    }
}

/// A payment's own values.
#[derive(Clone, Copy, Debug)]
pub struct Payment {
    pub customer: Customer,
    pub c_w_id: i32,
    pub c_d_id: i32,
    pub amount_hundredths: i64,
}

pub async fn payment<S: Session>(session: &mut S, place: Place, payment: Payment) -> Result<Outcome, Failure> {
    let amount = decimal(payment.amount_hundredths);
    let amount = Value::Text(&amount);
    let warehouse = Value::Int(place.w_id);
    let district = Value::Int(place.d_id);
    session
        .execute(place.id(Fixed::PaymentWarehouseUpdate), &[amount, warehouse])
        .await?;
    session.query(place.id(Fixed::PaymentWarehouse), &[warehouse]).await?;
    let mut history = String::with_capacity(24);
    history.push_str(session.cell(0, 0).unwrap_or(""));
    session
        .execute(place.id(Fixed::PaymentDistrictUpdate), &[amount, warehouse, district])
        .await?;
    session
        .query(place.id(Fixed::PaymentDistrict), &[warehouse, district])
        .await?;
    history.push_str("    ");
    history.push_str(session.cell(0, 0).unwrap_or(""));

    let theirs = Place {
        w_id: payment.c_w_id,
        d_id: payment.c_d_id,
        ..place
    };
    let c_id = match payment.customer {
        Customer::Id(id) => id,
        Customer::LastName(name) => middle_customer(session, theirs, Fixed::PaymentCustomersByName, name).await?,
    };
    session
        .query(place.id(Fixed::PaymentCustomer), &theirs.keyed(c_id))
        .await?;
    let [c_w_id, c_d_id, c_id_value] = theirs.keyed(c_id);
    if session.cell(0, 0) == Some("BC") {
        session
            .query(place.id(Fixed::PaymentCustomerData), &theirs.keyed(c_id))
            .await?;
        let data = bad_credit_data(
            place,
            theirs,
            c_id,
            payment.amount_hundredths,
            session.cell(0, 0).unwrap_or(""),
        );
        let update = [amount, amount, Value::Text(&data), c_w_id, c_d_id, c_id_value];
        session
            .execute(place.id(Fixed::PaymentCustomerDataUpdate), &update)
            .await?;
    } else {
        let update = [amount, amount, c_w_id, c_d_id, c_id_value];
        session.execute(place.id(Fixed::PaymentCustomerUpdate), &update).await?;
    }
    let row = [
        c_d_id,
        c_w_id,
        c_id_value,
        district,
        warehouse,
        amount,
        Value::Text(&history),
    ];
    session.commit_follows();
    session.execute(place.id(Fixed::PaymentHistory), &row).await?;
    commit(session).await
}

/// The payment goes before the customer's old data, of which the first 500 characters are kept (clause 2.5.2.2).
fn bad_credit_data(place: Place, customer: Place, c_id: i32, amount_hundredths: i64, old: &str) -> String {
    const DATA_CHARACTERS_MAX: usize = 500;
    let mut data = Vec::with_capacity(DATA_CHARACTERS_MAX + 50);
    for number in [c_id, customer.d_id, customer.w_id, place.d_id, place.w_id] {
        random::put_integer(&mut data, i64::from(number));
        data.push(b' ');
    }
    random::put_hundredths(&mut data, amount_hundredths);
    data.push(b'|');
    data.extend_from_slice(old.as_bytes());
    let mut data = String::from_utf8(data).unwrap_or_default();
    if let Some((cut, _)) = data.char_indices().nth(DATA_CHARACTERS_MAX) {
        data.truncate(cut);
    }
    data
}

pub async fn order_status<S: Session>(session: &mut S, place: Place, customer: Customer) -> Result<Outcome, Failure> {
    let c_id = match customer {
        Customer::Id(id) => {
            session.query(place.id(Fixed::StatusCustomer), &place.keyed(id)).await?;
            id
        }
        Customer::LastName(name) => middle_customer(session, place, Fixed::StatusCustomersByName, name).await?,
    };
    session.query(place.id(Fixed::StatusOrder), &place.keyed(c_id)).await?;
    let o_id = number(session, 0, 0)?;
    session.query(place.id(Fixed::StatusLines), &place.keyed(o_id)).await?;
    commit(session).await
}

/// Of the customers with a last name, sorted by first name, the one in the middle, rounded up (clause 2.5.2.2). The
/// number of rows is known when they are here, so that no count is asked for.
async fn middle_customer<S: Session>(
    session: &mut S,
    place: Place,
    statement: Fixed,
    name: i32,
) -> Result<i32, Failure> {
    let name = random::last_name(name).concat();
    let parameters = [Value::Int(place.w_id), Value::Int(place.d_id), Value::Text(&name)];
    let found = session.query(place.id(statement), &parameters).await?;
    if found == 0 {
        return Err(damaged(format!(
            "warehouse {} district {} has no customer {name}",
            place.w_id, place.d_id
        )));
    }
    number(session, (found - 1) / 2, 0)
}

pub async fn delivery<S: Session>(session: &mut S, place: Place, carrier_id: i32) -> Result<Outcome, Failure> {
    // A district without new orders is skipped (clause 2.7.4.2): no order has the number 0.
    let mut keys = [Value::Int(0); DISTRICTS as usize + 1];
    keys[0] = Value::Int(place.w_id);
    let mut waiting = [false; DISTRICTS as usize];
    for d_id in 1..=DISTRICTS {
        let district = [Value::Int(place.w_id), Value::Int(d_id)];
        if session.query(place.id(Fixed::DeliveryOldest), &district).await? > 0 {
            keys[d_id as usize] = Value::Int(number(session, 0, 0)?);
            waiting[d_id as usize - 1] = true;
        }
    }
    if !waiting.contains(&true) {
        return commit(session).await;
    }
    session.execute(place.id(Fixed::DeliveryNewDelete), &keys).await?;
    let found = session.query(place.id(Fixed::DeliveryCustomers), &keys).await?;
    let mut customers = [0; DISTRICTS as usize];
    for row in 0..found {
        customers[district_index(session, row)?] = number(session, row, 1)?;
    }
    let mut with_carrier = [Value::Int(carrier_id); DISTRICTS as usize + 2];
    with_carrier[1..].copy_from_slice(&keys);
    session.execute(place.id(Fixed::DeliveryOrders), &with_carrier).await?;
    session.execute(place.id(Fixed::DeliveryLines), &keys).await?;
    let found = session.query(place.id(Fixed::DeliveryAmounts), &keys).await?;
    let mut amounts = [const { String::new() }; DISTRICTS as usize];
    for row in 0..found {
        amounts[district_index(session, row)?] = session.cell(row, 1).unwrap_or("").to_owned();
    }
    for index in (0..DISTRICTS as usize).filter(|index| waiting[*index]) {
        let key = [
            Value::Int(place.w_id),
            Value::Int(index as i32 + 1),
            Value::Int(customers[index]),
        ];
        let amount = if amounts[index].is_empty() {
            "0"
        } else {
            &amounts[index]
        };
        let update = [Value::Text(amount), key[0], key[1], key[2]];
        if !waiting[index + 1..].contains(&true) {
            session.commit_follows();
        }
        session
            .execute(place.id(Fixed::DeliveryCustomerUpdate), &update)
            .await?;
    }
    commit(session).await
}

fn district_index<S: Session>(session: &S, row: usize) -> Result<usize, Failure> {
    let d_id = number(session, row, 0)?;
    if !(1..=DISTRICTS).contains(&d_id) {
        return Err(damaged(format!(
            "districts have the numbers 1 to {DISTRICTS}, but a row says {d_id}"
        )));
    }
    Ok(d_id as usize - 1)
}

pub async fn stock_level<S: Session>(session: &mut S, place: Place, threshold: i32) -> Result<Outcome, Failure> {
    let warehouse = Value::Int(place.w_id);
    let district = Value::Int(place.d_id);
    session
        .query(place.id(Fixed::StockDistrict), &[warehouse, district])
        .await?;
    let next = number(session, 0, 0)?;
    let last_orders = [Value::Int(next), Value::Int(next - 20)];
    let count = [
        warehouse,
        district,
        last_orders[0],
        last_orders[1],
        warehouse,
        Value::Int(threshold),
    ];
    session.query(place.id(Fixed::StockCount), &count).await?;
    commit(session).await
}

async fn commit<S: Session>(session: &mut S) -> Result<Outcome, Failure> {
    session.simple("COMMIT").await?;
    Ok(Outcome::Committed)
}

/// A cell as a 32-bit number, which all identifiers and counters of this schema are.
fn number<S: Session>(session: &S, row: usize, column: usize) -> Result<i32, Failure> {
    let wide = integer(session, row, column)?;
    i32::try_from(wide).map_err(|_| damaged(format!("a number does not fit into 32 bits: {wide}")))
}

/// A cell with a decimal number of two places, in hundredths.
fn hundredths<S: Session>(session: &S, row: usize, column: usize) -> Result<i64, Failure> {
    let text = session.cell(row, column);
    text.and_then(parse_hundredths).ok_or_else(|| {
        damaged(format!(
            "row {row}, column {column}: a price was expected, got {text:?}"
        ))
    })
}

fn parse_hundredths(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "00"));
    if fraction.len() != 2 {
        return None;
    }
    Some(whole.parse::<i64>().ok()? * 100 + fraction.parse::<i64>().ok()?)
}

/// The dataset is not as loaded: no retry helps.
fn damaged(message: String) -> Failure {
    Failure::Fatal(ServerError {
        code: "DYNO1".into(),
        message,
        hint: "check the dataset (verb check) or load it anew".into(),
        ..ServerError::default()
    })
}

/// A number of hundredths as the decimal text of a parameter.
fn decimal(hundredths: i64) -> String {
    let mut written = Vec::with_capacity(12);
    random::put_hundredths(&mut written, hundredths);
    String::from_utf8(written).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stock_is_filled_up_when_less_than_ten_would_remain() {
        assert_eq!(quantity_after(20, 10), 10);
        assert_eq!(quantity_after(19, 10), 100);
        assert_eq!(quantity_after(100, 1), 99);
    }

    #[test]
    fn prices_are_exact() {
        assert_eq!(parse_hundredths("99.05"), Some(9905));
        assert_eq!(parse_hundredths("7"), Some(700));
        assert_eq!(parse_hundredths("7.5"), None);
        assert_eq!(parse_hundredths("x.00"), None);
        assert_eq!(decimal(9905 * 3), "297.15");
    }

    #[test]
    fn bad_credit_data_keeps_500_characters() {
        let place = Place {
            set: 0,
            w_id: 1,
            d_id: 2,
            rows_made_up: false,
        };
        let data = bad_credit_data(
            place,
            Place {
                w_id: 3,
                d_id: 4,
                ..place
            },
            5,
            1234,
            &"x".repeat(500),
        );
        assert_eq!(data.len(), 500);
        assert!(data.starts_with("5 4 3 2 1 12.34|xxx"), "{data}");
    }
}
