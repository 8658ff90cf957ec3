//! What a transaction needs, drawn before it begins: type, warehouse, district, customer, items.

use super::options::{Home, Options};
use super::random::{self, Constants, DISTRICTS, ITEMS, Random};

pub const LINES_MAX: usize = 15;
const LINES_MIN: i32 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

/// Names of the transaction types, in the order of `Kind`.
pub const KINDS: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];

/// Cards of each type in the deck: the minimum mix of clause 5.2.3, with the rest to New-Order.
const DECK: [(Kind, usize); 5] = [
    (Kind::NewOrder, 45),
    (Kind::Payment, 43),
    (Kind::OrderStatus, 4),
    (Kind::Delivery, 4),
    (Kind::StockLevel, 4),
];
const DECK_CARDS: usize = 100;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    pub supply_w_id: i32,
    pub i_id: i32,
    pub quantity: i32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOrder {
    pub c_id: i32,
    pub all_local: bool,
    /// Sorted by warehouse and item, so that all transactions lock stock in the same order.
    pub lines: [Line; LINES_MAX],
    pub lines_count: usize,
    /// The item of the last line does not exist, and the order is rolled back (clause 2.4.1.4).
    pub unused_item: bool,
}

impl NewOrder {
    /// Lines whose items exist.
    pub fn valid_lines(&self) -> &[Line] {
        &self.lines[..self.lines_count - usize::from(self.unused_item)]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Customer {
    Id(i32),
    /// Number of a last name.
    LastName(i32),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Profile {
    NewOrder(NewOrder),
    Payment {
        customer: Customer,
        c_w_id: i32,
        c_d_id: i32,
        amount_hundredths: i64,
    },
    OrderStatus {
        customer: Customer,
    },
    Delivery {
        carrier_id: i32,
    },
    StockLevel {
        threshold: i32,
    },
}

/// One transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    pub set: usize,
    pub w_id: i32,
    pub d_id: i32,
    pub profile: Profile,
}

impl Input {
    pub fn kind(&self) -> Kind {
        match self.profile {
            Profile::NewOrder(_) => Kind::NewOrder,
            Profile::Payment { .. } => Kind::Payment,
            Profile::OrderStatus { .. } => Kind::OrderStatus,
            Profile::Delivery { .. } => Kind::Delivery,
            Profile::StockLevel { .. } => Kind::StockLevel,
        }
    }
}

/// State of one connection.
#[derive(Clone, Debug)]
pub struct Client {
    random: Random,
    constants: Constants,
    deck: [Kind; DECK_CARDS],
    cards_left: usize,
    warehouses: i32,
    table_sets: i32,
    /// This connection draws from warehouses `home_first`, `home_first + home_step`, … (`home_count` of them).
    home_first: i32,
    home_step: i32,
    home_count: i32,
}

impl Client {
    pub fn new(options: &Options, seed: u64, connection: u32, connections: u32) -> Client {
        let mut deck = [Kind::NewOrder; DECK_CARDS];
        let cards = DECK.iter().flat_map(|(kind, count)| std::iter::repeat_n(*kind, *count));
        deck.iter_mut().zip(cards).for_each(|(slot, card)| *slot = card);
        let warehouses = options.warehouses as i32;
        let (home_first, home_step, home_count) = match options.home {
            Home::Random => (1, 1, warehouses),
            Home::Fixed => home_share(warehouses, connection as i32, connections.max(1) as i32),
        };
        Client {
            random: Random::new(seed, &[u64::from(b'R'), u64::from(connection)]),
            constants: Constants::for_run(seed),
            deck,
            cards_left: 0,
            warehouses,
            table_sets: options.table_sets as i32,
            home_first,
            home_step,
            home_count,
        }
    }

    pub fn draw(&mut self) -> Input {
        let kind = self.draw_kind();
        let set = self.random.range(0, self.table_sets - 1) as usize;
        let w_id = self.home_first + self.home_step * self.random.range(0, self.home_count - 1);
        let d_id = self.random.range(1, DISTRICTS);
        let profile = match kind {
            Kind::NewOrder => Profile::NewOrder(self.draw_new_order(w_id)),
            Kind::Payment => self.draw_payment(w_id, d_id),
            Kind::OrderStatus => Profile::OrderStatus {
                customer: self.draw_customer(),
            },
            Kind::Delivery => Profile::Delivery {
                carrier_id: self.random.range(1, 10),
            },
            Kind::StockLevel => Profile::StockLevel {
                threshold: self.random.range(10, 20),
            },
        };
        Input {
            set,
            w_id,
            d_id,
            profile,
        }
    }

    /// Takes a card; an empty deck is filled and shuffled again (clause 5.2.4.2), so that each hundred transactions of
    /// a connection have the exact mix.
    fn draw_kind(&mut self) -> Kind {
        if self.cards_left == 0 {
            self.random.shuffle(&mut self.deck);
            self.cards_left = DECK_CARDS;
        }
        self.cards_left -= 1;
        self.deck[self.cards_left]
    }

    fn draw_new_order(&mut self, w_id: i32) -> NewOrder {
        let random = &mut self.random;
        let c_id = random::customer_id(random, &self.constants);
        let lines_count = random.range(LINES_MIN, LINES_MAX as i32) as usize;
        let unused_item = random.percent(1);
        let mut lines = [Line::default(); LINES_MAX];
        for index in 0..lines_count {
            let i_id = loop {
                // The specification allows an item twice in an order; one row for each item lets the rows of all
                // items be fetched together.
                let i_id = random::item_id(random, &self.constants);
                if !lines[..index].iter().any(|line| line.i_id == i_id) {
                    break i_id;
                }
            };
            let remote = self.warehouses > 1 && random.percent(1);
            let supply_w_id = if remote {
                other_warehouse(random, self.warehouses, w_id)
            } else {
                w_id
            };
            lines[index] = Line {
                supply_w_id,
                i_id,
                quantity: random.range(1, 10),
            };
        }
        let all_local = lines[..lines_count].iter().all(|line| line.supply_w_id == w_id);
        let valid = lines_count - usize::from(unused_item);
        if unused_item {
            lines[valid].i_id = ITEMS + 1;
        }
        lines[..valid].sort_unstable_by_key(|line| (line.supply_w_id, line.i_id));
        NewOrder {
            c_id,
            all_local,
            lines,
            lines_count,
            unused_item,
        }
    }

    fn draw_payment(&mut self, w_id: i32, d_id: i32) -> Profile {
        let customer = self.draw_customer();
        let remote = self.warehouses > 1 && self.random.percent(15);
        let (c_w_id, c_d_id) = if remote {
            (
                other_warehouse(&mut self.random, self.warehouses, w_id),
                self.random.range(1, DISTRICTS),
            )
        } else {
            (w_id, d_id)
        };
        Profile::Payment {
            customer,
            c_w_id,
            c_d_id,
            amount_hundredths: i64::from(self.random.range(100, 500_000)),
        }
    }

    fn draw_customer(&mut self) -> Customer {
        if self.random.percent(60) {
            Customer::LastName(random::last_name_number(&mut self.random, self.constants.last_name))
        } else {
            Customer::Id(random::customer_id(&mut self.random, &self.constants))
        }
    }
}

/// The share of a connection: with fewer connections than warehouses every warehouse belongs to one connection, so that
/// the whole dataset is worked on; with more, connections are spread evenly and share.
fn home_share(warehouses: i32, connection: i32, connections: i32) -> (i32, i32, i32) {
    if connections >= warehouses {
        return (connection % warehouses + 1, 1, 1);
    }
    let own = connection % connections;
    (own + 1, connections, (warehouses - own - 1) / connections + 1)
}

fn other_warehouse(random: &mut Random, warehouses: i32, w_id: i32) -> i32 {
    let other = random.range(1, warehouses - 1);
    if other < w_id { other } else { other + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::options::{Isolation, Text};

    fn options(warehouses: u32, home: Home) -> Options {
        Options {
            warehouses,
            table_sets: 3,
            foreign_keys: false,
            text: Text::Random,
            isolation: Isolation::ReadCommitted,
            home,
        }
    }

    fn draws(warehouses: u32, home: Home, seed: u64, count: usize) -> Vec<Input> {
        let mut client = Client::new(&options(warehouses, home), seed, 0, 2);
        (0..count).map(|_| client.draw()).collect()
    }

    #[test]
    fn each_hundred_transactions_have_the_mix_of_the_deck() {
        for hundred in draws(4, Home::Random, 5, 1000).chunks(100) {
            for (kind, count) in DECK {
                assert_eq!(hundred.iter().filter(|input| input.kind() == kind).count(), count);
            }
        }
    }

    #[test]
    fn the_same_seed_draws_the_same_transactions() {
        assert_eq!(draws(4, Home::Random, 5, 500), draws(4, Home::Random, 5, 500));
        assert_ne!(draws(4, Home::Random, 5, 500), draws(4, Home::Random, 6, 500));
    }

    #[test]
    fn remote_rolled_back_and_by_name_shares_are_the_specifications() {
        let inputs = draws(10, Home::Random, 9, 100_000);
        let share = |part: usize, whole: usize| part as f64 / whole as f64;
        let orders: Vec<&NewOrder> = inputs
            .iter()
            .filter_map(|input| {
                if let Profile::NewOrder(order) = &input.profile {
                    Some(order)
                } else {
                    None
                }
            })
            .collect();
        let rolled_back = share(orders.iter().filter(|order| order.unused_item).count(), orders.len());
        assert!((0.008..0.012).contains(&rolled_back), "{rolled_back}");
        let lines: usize = orders.iter().map(|order| order.lines_count).sum();
        assert!((9.9..10.1).contains(&share(lines, orders.len())));
        let payments = inputs.iter().filter(|input| input.kind() == Kind::Payment).count();
        let (mut remote, mut by_name) = (0, 0);
        for input in &inputs {
            if let Profile::Payment { customer, c_w_id, .. } = input.profile {
                remote += usize::from(c_w_id != input.w_id);
                by_name += usize::from(matches!(customer, Customer::LastName(_)));
            }
        }
        assert!((0.14..0.16).contains(&share(remote, payments)));
        assert!((0.59..0.61).contains(&share(by_name, payments)));
    }

    #[test]
    fn order_lines_are_distinct_sorted_and_local_unless_said() {
        let mut remote_lines = 0;
        let inputs = draws(10, Home::Random, 11, 20_000);
        for input in &inputs {
            let Profile::NewOrder(order) = &input.profile else {
                continue;
            };
            assert!((LINES_MIN as usize..=LINES_MAX).contains(&order.lines_count));
            let valid = order.valid_lines();
            assert!(
                valid
                    .windows(2)
                    .all(|pair| { (pair[0].supply_w_id, pair[0].i_id) < (pair[1].supply_w_id, pair[1].i_id) })
            );
            assert!(valid.iter().all(|line| (1..=ITEMS).contains(&line.i_id)));
            let all = &order.lines[..order.lines_count];
            assert_eq!(order.all_local, all.iter().all(|line| line.supply_w_id == input.w_id));
            assert!(all.iter().all(|line| (1..=10).contains(&line.supply_w_id)));
            remote_lines += all.iter().filter(|line| line.supply_w_id != input.w_id).count();
            assert_eq!(order.unused_item, all[all.len() - 1].i_id == ITEMS + 1);
        }
        assert!((700..1100).contains(&remote_lines), "{remote_lines} of about 90,000");
    }

    #[test]
    fn one_warehouse_has_no_remote_work() {
        for input in draws(1, Home::Fixed, 2, 5000) {
            assert_eq!(input.w_id, 1);
            match input.profile {
                Profile::NewOrder(order) => assert!(order.all_local),
                Profile::Payment { c_w_id, .. } => assert_eq!(c_w_id, 1),
                _ => {}
            }
        }
    }

    #[test]
    fn fixed_homes_cover_every_warehouse_once_or_evenly() {
        for (warehouses, connections) in [(10, 3), (8, 8), (100, 7), (1, 1), (2, 1)] {
            let mut owners = vec![0; warehouses as usize + 1];
            for connection in 0..connections {
                let (first, step, count) = home_share(warehouses, connection, connections);
                (0..count).for_each(|index| owners[(first + step * index) as usize] += 1);
            }
            assert!(
                owners[1..].iter().all(|count| *count == 1),
                "{warehouses} {connections} {owners:?}"
            );
        }
        let homes: Vec<i32> = (0..8).map(|connection| home_share(4, connection, 8).0).collect();
        assert_eq!(homes, [1, 2, 3, 4, 1, 2, 3, 4]);
    }
}
