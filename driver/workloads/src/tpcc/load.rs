//! The initial population of clause 4.3.3, in tasks that can be loaded in any order and each in one transaction. A task
//! draws from (seed, task) only, so that an interrupted load that goes on gives the same rows.

use super::options::{Options, Text};
use super::random::{
    self, CUSTOMERS, DISTRICTS, ITEMS, LAST_NAME_LOAD, Random, put_data, put_hundredths, put_integer, put_last_name,
    put_phone, put_state, put_text, put_text_exact, put_zip,
};
use dyno_core::session::{Failure, ServerError, Session};
use dyno_core::workload::LoadTask;

/// Orders below this number are delivered; the 900 from it on wait in `new_orders`.
const UNDELIVERED_FIRST: i32 = 2101;
const LINES_MEAN: u64 = 10;
/// All dates of the load. The specification wants the time of the load; a constant keeps the rows a function of the
/// seed.
const LOADED_AT: &[u8] = b"2020-01-01 00:00:00";
/// Bytes after which a buffer goes to the server.
const CHUNK_BYTES: usize = 64 * 1024;

/// One task, as its name in the marker table says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Items,
    /// The row of a warehouse and its stock.
    Stock {
        w_id: i32,
    },
    /// A district with its customers, their history and their orders.
    District {
        w_id: i32,
        d_id: i32,
    },
}

impl Part {
    fn name(self, set: usize) -> String {
        match self {
            Part::Items => format!("set {set} items"),
            Part::Stock { w_id } => format!("set {set} warehouse {w_id} stock"),
            Part::District { w_id, d_id } => format!("set {set} warehouse {w_id} district {d_id}"),
        }
    }

    fn parse(name: &str) -> Option<(usize, Part)> {
        let words: Vec<&str> = name.split(' ').collect();
        let (set, part) = match words[..] {
            ["set", set, "items"] => (set, Part::Items),
            ["set", set, "warehouse", w_id, "stock"] => (
                set,
                Part::Stock {
                    w_id: w_id.parse().ok()?,
                },
            ),
            ["set", set, "warehouse", w_id, "district", d_id] => (
                set,
                Part::District {
                    w_id: w_id.parse().ok()?,
                    d_id: d_id.parse().ok()?,
                },
            ),
            _ => return None,
        };
        Some((set.parse().ok()?, part))
    }

    /// Rows, as many as can be known without drawing them.
    fn rows(self) -> u64 {
        match self {
            Part::Items => ITEMS as u64,
            Part::Stock { .. } => 1 + ITEMS as u64,
            Part::District { .. } => {
                let undelivered = (CUSTOMERS - UNDELIVERED_FIRST + 1) as u64;
                1 + CUSTOMERS as u64 * (3 + LINES_MEAN) + undelivered
            }
        }
    }

    fn random(self, seed: u64, set: usize) -> Random {
        let path = match self {
            Part::Items => [0, 0],
            Part::Stock { w_id } => [w_id as u64, 0],
            Part::District { w_id, d_id } => [w_id as u64, d_id as u64],
        };
        Random::new(seed, &[u64::from(b'L'), set as u64, path[0], path[1]])
    }
}

/// All tasks, set by set and warehouse by warehouse. Sets are counted from 1, as their tables are.
pub fn tasks(options: &Options) -> Vec<LoadTask> {
    let mut tasks = Vec::new();
    for set in 1..=options.table_sets as usize {
        let mut add = |part: Part| {
            tasks.push(LoadTask {
                name: part.name(set),
                weight: part.rows(),
            })
        };
        add(Part::Items);
        for w_id in 1..=options.warehouses as i32 {
            add(Part::Stock { w_id });
            (1..=DISTRICTS).for_each(|d_id| add(Part::District { w_id, d_id }));
        }
    }
    tasks
}

pub async fn load<S: Session>(session: &mut S, options: &Options, seed: u64, task: &LoadTask) -> Result<(), Failure> {
    let Some((set, part)) = Part::parse(&task.name) else {
        return Err(Failure::Fatal(ServerError {
            code: "DYNO1".into(),
            message: format!("tpcc has no load task {:?}", task.name),
            hint: "the dataset was begun by another version: clean up and load anew".into(),
            ..ServerError::default()
        }));
    };
    let suffix = if options.table_sets == 1 {
        String::new()
    } else {
        set.to_string()
    };
    let random = part.random(seed, set);
    let mut loader = Loader {
        session,
        suffix,
        random,
        text: options.text,
    };
    match part {
        Part::Items => loader.items().await,
        Part::Stock { w_id } => {
            loader.warehouse(w_id).await?;
            loader.stock(w_id).await
        }
        Part::District { w_id, d_id } => {
            loader.district(w_id, d_id).await?;
            loader.customers(w_id, d_id).await?;
            loader.history(w_id, d_id).await?;
            loader.orders(w_id, d_id).await
        }
    }
}

/// Writes the cells of one row.
struct Row<'a> {
    out: &'a mut Vec<u8>,
    random: &'a mut Random,
    text: Text,
}

impl Row<'_> {
    fn tab(&mut self) -> &mut Self {
        self.out.push(b'\t');
        self
    }

    fn integer(&mut self, value: i32) -> &mut Self {
        put_integer(self.out, i64::from(value));
        self.tab()
    }

    fn raw(&mut self, value: &[u8]) -> &mut Self {
        self.out.extend_from_slice(value);
        self.tab()
    }

    fn text(&mut self, low: i32, high: i32) -> &mut Self {
        put_text(self.out, self.random, self.text, low, high);
        self.tab()
    }

    fn with(&mut self, put: impl FnOnce(&mut Vec<u8>, &mut Random)) -> &mut Self {
        put(self.out, self.random);
        self.tab()
    }

    /// A random number of ten-thousandths below one, e.g. a tax.
    fn fraction(&mut self, high_ten_thousandths: i32) -> &mut Self {
        let value = self.random.range(0, high_ten_thousandths) as u32;
        self.out.extend_from_slice(b"0.");
        [1000, 100, 10, 1]
            .iter()
            .for_each(|divisor| self.out.push(b'0' + (value / divisor % 10) as u8));
        self.tab()
    }

    fn hundredths(&mut self, value: i64) -> &mut Self {
        put_hundredths(self.out, value);
        self.tab()
    }

    /// Two street lines, city, state and zip code.
    fn address(&mut self) -> &mut Self {
        self.text(10, 20)
            .text(10, 20)
            .text(10, 20)
            .with(put_state)
            .with(put_zip)
    }

    /// Ends the row in place of the tab that follows the last cell.
    fn end(&mut self) {
        if let Some(last) = self.out.last_mut() {
            *last = b'\n';
        }
    }
}

struct Loader<'a, S: Session> {
    session: &'a mut S,
    suffix: String,
    random: Random,
    text: Text,
}

impl<S: Session> Loader<'_, S> {
    /// Sends one row for each of `ids` to `table`, in chunks.
    async fn rows(
        &mut self,
        table: &str,
        columns: &str,
        ids: std::ops::RangeInclusive<i32>,
        mut write: impl FnMut(&mut Row<'_>, i32),
    ) -> Result<(), Failure> {
        let into = format!("{table}{} ({columns})", self.suffix);
        let (random, text) = (&mut self.random, self.text);
        let mut rest = ids;
        let mut produce = |out: &mut Vec<u8>| {
            let start = out.len();
            while out.len() - start < CHUNK_BYTES {
                let Some(id) = rest.next() else { return false };
                write(&mut Row { out, random, text }, id);
            }
            true
        };
        self.session.bulk_load(&into, &mut produce).await.map(|_| ())
    }

    async fn items(&mut self) -> Result<(), Failure> {
        self.rows(
            "item",
            "i_id, i_im_id, i_name, i_price, i_data",
            1..=ITEMS,
            |row, i_id| {
                let image = row.random.range(1, 10_000);
                let price = i64::from(row.random.range(100, 10_000));
                let text = row.text;
                row.integer(i_id).integer(image).text(14, 24).hundredths(price);
                row.with(|out, random| put_data(out, random, text)).end();
            },
        )
        .await
    }

    async fn warehouse(&mut self, w_id: i32) -> Result<(), Failure> {
        let columns = "w_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_tax, w_ytd";
        self.rows("warehouse", columns, w_id..=w_id, |row, w_id| {
            row.integer(w_id)
                .text(6, 10)
                .address()
                .fraction(2000)
                .hundredths(30_000_000)
                .end();
        })
        .await
    }

    async fn stock(&mut self, w_id: i32) -> Result<(), Failure> {
        let columns = "s_i_id, s_w_id, s_quantity, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, \
                       s_dist_07, s_dist_08, s_dist_09, s_dist_10, s_ytd, s_order_cnt, s_remote_cnt, s_data";
        self.rows("stock", columns, 1..=ITEMS, |row, i_id| {
            let quantity = row.random.range(10, 100);
            let text = row.text;
            row.integer(i_id).integer(w_id).integer(quantity);
            (0..DISTRICTS).for_each(|_| {
                row.text(24, 24);
            });
            row.raw(b"0\t0\t0")
                .with(|out, random| put_data(out, random, text))
                .end();
        })
        .await
    }

    async fn district(&mut self, w_id: i32, d_id: i32) -> Result<(), Failure> {
        let columns = "d_id, d_w_id, d_name, d_street_1, d_street_2, d_city, d_state, d_zip, d_tax, d_ytd, d_next_o_id";
        self.rows("district", columns, d_id..=d_id, |row, d_id| {
            row.integer(d_id).integer(w_id).text(6, 10).address();
            row.fraction(2000).hundredths(3_000_000).integer(CUSTOMERS + 1).end();
        })
        .await
    }

    async fn customers(&mut self, w_id: i32, d_id: i32) -> Result<(), Failure> {
        let columns = "c_id, c_d_id, c_w_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, \
                       c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance, c_ytd_payment, \
                       c_payment_cnt, c_delivery_cnt, c_data";
        self.rows("customer", columns, 1..=CUSTOMERS, |row, c_id| {
            // The first thousand customers have all thousand names, so that each name exists in each district.
            let name = if c_id <= 1000 {
                c_id - 1
            } else {
                random::last_name_number(row.random, LAST_NAME_LOAD)
            };
            let credit: &[u8] = if row.random.percent(10) { b"BC" } else { b"GC" };
            row.integer(c_id).integer(d_id).integer(w_id).text(8, 16).raw(b"OE");
            row.with(|out, _| put_last_name(out, name))
                .address()
                .with(put_phone)
                .raw(LOADED_AT)
                .raw(credit);
            row.raw(b"50000.00")
                .fraction(5000)
                .raw(b"-10.00\t10.00\t1\t0")
                .text(300, 500)
                .end();
        })
        .await
    }

    async fn history(&mut self, w_id: i32, d_id: i32) -> Result<(), Failure> {
        let columns = "h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data";
        self.rows("history", columns, 1..=CUSTOMERS, |row, c_id| {
            row.integer(c_id)
                .integer(d_id)
                .integer(w_id)
                .integer(d_id)
                .integer(w_id);
            row.raw(LOADED_AT).raw(b"10.00").text(12, 24).end();
        })
        .await
    }

    /// Orders, their lines and the new orders. Each customer has one order, in random order.
    async fn orders(&mut self, w_id: i32, d_id: i32) -> Result<(), Failure> {
        let mut customers: Vec<i32> = (1..=CUSTOMERS).collect();
        self.random.shuffle(&mut customers);
        let line_counts: Vec<i32> = (0..CUSTOMERS).map(|_| self.random.range(5, 15)).collect();
        let columns = "o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local";
        self.rows("orders", columns, 1..=CUSTOMERS, |row, o_id| {
            let index = o_id as usize - 1;
            row.integer(o_id)
                .integer(d_id)
                .integer(w_id)
                .integer(customers[index])
                .raw(LOADED_AT);
            if o_id < UNDELIVERED_FIRST {
                let carrier = row.random.range(1, 10);
                row.integer(carrier);
            } else {
                row.raw(b"\\N");
            }
            row.integer(line_counts[index]).integer(1).end();
        })
        .await?;
        let columns = "ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, \
                       ol_amount, ol_dist_info";
        self.rows("order_line", columns, 1..=CUSTOMERS, |row, o_id| {
            for number in 1..=line_counts[o_id as usize - 1] {
                let item = row.random.range(1, ITEMS);
                row.integer(o_id)
                    .integer(d_id)
                    .integer(w_id)
                    .integer(number)
                    .integer(item)
                    .integer(w_id);
                if o_id < UNDELIVERED_FIRST {
                    row.raw(LOADED_AT).integer(5).hundredths(0);
                } else {
                    let amount = i64::from(row.random.range(1, 999_999));
                    row.raw(b"\\N").integer(5).hundredths(amount);
                }
                let text = row.text;
                row.with(|out, random| put_text_exact(out, random, text, 24)).end();
            }
        })
        .await?;
        self.rows(
            "new_orders",
            "no_o_id, no_d_id, no_w_id",
            UNDELIVERED_FIRST..=CUSTOMERS,
            |row, o_id| {
                row.integer(o_id).integer(d_id).integer(w_id).end();
            },
        )
        .await
    }
}
