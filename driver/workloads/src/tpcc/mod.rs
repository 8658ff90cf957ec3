//! A workload like TPC-C (revision 5.11), without keying and think times: an order-entry mix of five transactions over
//! nine tables. Its figures are NOPM (new orders committed per minute) and the rate of all types; they are not
//! comparable with audited results.
//!
//! Where it departs from the specification, and whom it follows there:
//! * no terminals: no keying or think times, no screens, deliveries run like any other transaction (all peers);
//! * items and stock of an order are fetched with one statement each (stock: one for each supplying warehouse), its
//!   lines inserted with one, and the ten orders of a delivery changed together (go-tpc); stock rows are updated one
//!   by one;
//! * an item occurs once in an order (go-tpc), and lines are sorted by warehouse and item, so that all transactions
//!   lock stock in the same order;
//! * the customers of a name are fetched without counting them first;
//! * an order that must be rolled back does its whole work first, as clause 2.4.2.3 wants (peers stop at the item);
//! * `home = fixed` gives each connection its share of the warehouses; `random` is what sysbench-tpcc and go-tpc do.

mod checks;
mod draw;
mod load;
mod options;
mod random;
mod schema;
mod statements;
mod transactions;

use self::draw::{Client, Input, KINDS, Kind, Profile};
use self::options::Options;
use self::transactions::{Payment, Place};
use crate::schemas::{NULL_DIALECT, SqlFile};
use dyno_core::session::{Failure, Session, Statement};
use dyno_core::workload::{Check, LoadTask, Outcome, Schema, Settings, Workload};
use std::collections::BTreeMap;

pub use self::options::OPTIONS;

pub struct Tpcc {
    options: Options,
    seed: u64,
    begin: String,
    session: Vec<String>,
    rows_made_up: bool,
    schema: Schema,
}

impl Workload for Tpcc {
    type Client = Client;
    type Input = Input;

    fn new(settings: &Settings) -> Result<Self, String> {
        let options = Options::parse(settings)?;
        let file = SqlFile::find("tpcc", &settings.dialect)?;
        let storage_engine = file.storage_engine(settings)?;
        if options.foreign_keys {
            schema::refuse_foreign_keys(file, &storage_engine)?;
        }
        Ok(Tpcc {
            begin: schema::begin(file, options.isolation),
            session: schema::session(file, options.isolation),
            schema: schema::schema(file, &options, &storage_engine),
            seed: settings.seed,
            rows_made_up: settings.dialect == NULL_DIALECT,
            options,
        })
    }

    fn transaction_types(&self) -> &[&'static str] {
        &KINDS
    }

    fn statements(&self) -> Vec<Statement> {
        self.options
            .suffixes()
            .iter()
            .flat_map(|suffix| statements::declare(suffix))
            .collect()
    }

    fn session(&self) -> Vec<String> {
        self.session.clone()
    }

    fn client(&self, connection: u32, connections: u32) -> Client {
        Client::new(&self.options, self.seed, connection, connections)
    }

    fn draw(&self, client: &mut Client) -> Input {
        client.draw()
    }

    fn kind(&self, input: &Input) -> usize {
        input.kind() as usize
    }

    async fn run<S: Session>(&self, input: &Input, session: &mut S) -> Result<Outcome, Failure> {
        let place = Place {
            set: input.set,
            w_id: input.w_id,
            d_id: input.d_id,
            rows_made_up: self.rows_made_up,
        };
        session.simple(&self.begin).await?;
        match input.profile {
            Profile::NewOrder(ref order) => transactions::new_order(session, place, order).await,
            Profile::Payment {
                customer,
                c_w_id,
                c_d_id,
                amount_hundredths,
            } => {
                let payment = Payment {
                    customer,
                    c_w_id,
                    c_d_id,
                    amount_hundredths,
                };
                transactions::payment(session, place, payment).await
            }
            Profile::OrderStatus { customer } => transactions::order_status(session, place, customer).await,
            Profile::Delivery { carrier_id } => transactions::delivery(session, place, carrier_id).await,
            Profile::StockLevel { threshold } => transactions::stock_level(session, place, threshold).await,
        }
    }

    fn dataset_options() -> Option<&'static [&'static str]> {
        Some(options::OF_DATASET)
    }

    fn schema(&self) -> Schema {
        self.schema.clone()
    }

    fn load_unit(&self) -> &'static str {
        "rows"
    }

    fn load_tasks(&self) -> Vec<LoadTask> {
        load::tasks(&self.options)
    }

    async fn load<S: Session>(&self, task: &LoadTask, session: &mut S) -> Result<(), Failure> {
        load::load(session, &self.options, self.seed, task).await
    }

    fn checks(&self) -> Vec<Check> {
        checks::checks(&self.options.suffixes())
    }

    fn figures(&self, counts: &[u64], rolled_back: &[u64], seconds: f64) -> BTreeMap<String, f64> {
        let all: u64 = counts.iter().sum();
        let new_order = Kind::NewOrder as usize;
        let new_orders = counts[new_order] as f64;
        let committed = counts[new_order].saturating_sub(rolled_back[new_order]) as f64;
        let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        BTreeMap::from([
            ("nopm".to_owned(), 60.0 * ratio(committed, seconds)),
            ("tps".to_owned(), ratio(all as f64, seconds)),
            ("new_order_share".to_owned(), ratio(new_orders, all as f64)),
        ])
    }
}

#[cfg(test)]
mod tests;
