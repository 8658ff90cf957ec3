//! The workload as the driver sees it, on a session that only records.

use super::*;
use dyno_core::session::Value;
use std::collections::HashMap;

fn settings(scale: u32, options: &[(&str, &str)]) -> Settings {
    let options = options
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    Settings {
        scale,
        options,
        dialect: "null".into(),
        seed: 42,
    }
}

fn workload(scale: u32, options: &[(&str, &str)]) -> Tpcc {
    Tpcc::new(&settings(scale, options)).unwrap()
}

/// Keeps what was bulk-loaded; answers queries as the null server does, with one row of ones.
#[derive(Default)]
struct Recording {
    tables: HashMap<String, Vec<u8>>,
}

impl Session for Recording {
    async fn execute(&mut self, _: usize, _: &[Value<'_>]) -> Result<u64, Failure> {
        Ok(0)
    }

    async fn query(&mut self, _: usize, _: &[Value<'_>]) -> Result<usize, Failure> {
        Ok(1)
    }

    async fn simple(&mut self, _: &str) -> Result<usize, Failure> {
        Ok(0)
    }

    fn cell(&self, _: usize, _: usize) -> Option<&str> {
        Some("1")
    }

    async fn bulk_load(&mut self, into: &str, produce: &mut dyn FnMut(&mut Vec<u8>) -> bool) -> Result<u64, Failure> {
        let mut loaded = Vec::new();
        while produce(&mut loaded) {}
        let rows = loaded.iter().filter(|byte| **byte == b'\n').count() as u64;
        let columns = into.split(',').count();
        let text = String::from_utf8(loaded.clone()).unwrap();
        assert!(text.lines().all(|line| line.split('\t').count() == columns), "{into}");
        self.tables
            .insert(into.split(' ').next().unwrap_or("").to_owned(), loaded);
        Ok(rows)
    }

    fn commit_follows(&mut self) {}

    fn first_sent_ns(&self) -> Option<u64> {
        None
    }
}

/// Polls a future that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("the recording session never waits"),
    }
}

fn loaded(workload: &Tpcc, task: &LoadTask) -> HashMap<String, Vec<u8>> {
    let mut session = Recording::default();
    now(workload.load(task, &mut session)).unwrap();
    session.tables
}

#[test]
fn options_out_of_range_are_refused_with_what_was_got_and_what_is_allowed() {
    type Refusal = (u32, &'static [(&'static str, &'static str)], &'static str);
    let refusals: [Refusal; 8] = [
        (0, &[], "1 to 100000, but got 0"),
        (100_001, &[], "but got 100001"),
        (
            1,
            &[("tables", "0")],
            "tables must be a number from 1 to 1000, but got \"0\"",
        ),
        (1, &[("tables", "two")], "but got \"two\""),
        (50_000, &[("tables", "3")], "50000 times 3"),
        (
            1,
            &[("text", "lorem")],
            "text must be one of random, compressible, but got \"lorem\"",
        ),
        (1, &[("isolation", "RC")], "isolation must be one of rc, rr, ser"),
        (1, &[("home", "")], "home must be one of fixed, random"),
    ];
    for (scale, options, expected) in refusals {
        let message = Tpcc::new(&settings(scale, options)).err().unwrap();
        assert!(message.starts_with("tpcc: ") && message.contains(expected), "{message}");
    }
    let mut unknown = settings(1, &[]);
    unknown.dialect = "dbase".into();
    assert!(
        Tpcc::new(&unknown)
            .err()
            .unwrap()
            .contains("no schema for the dialect \"dbase\"")
    );
}

#[test]
fn one_set_has_plain_names_and_several_have_numbers() {
    assert_eq!(workload(1, &[]).schema().tables[1], "new_orders");
    let several = workload(1, &[("tables", "2"), ("foreign_keys", "on")]).schema();
    assert_eq!(several.tables.len(), 18);
    assert_eq!(several.tables[17], "warehouse2");
    assert!(several.create.contains(" stock2 ("));
    let foreign = |step: &String| step.contains("order_line2 ADD ") && step.contains("FOREIGN KEY");
    assert!(several.finish.iter().any(foreign));
    assert!(
        !several
            .finish
            .iter()
            .any(|step| step.contains(';') || step.contains("{n}"))
    );
    assert!(
        !workload(1, &[])
            .schema()
            .finish
            .iter()
            .any(|step| step.contains("FOREIGN KEY"))
    );
}

#[test]
fn each_isolation_level_is_asked_for_by_the_connection_or_by_begin() {
    for dialect in SqlFile::dialects("tpcc") {
        let asked = |level| {
            let mut settings = settings(1, &[("isolation", level)]);
            settings.dialect = dialect.into();
            let workload = Tpcc::new(&settings).ok().unwrap();
            assert!(!workload.begin.is_empty());
            (workload.session(), workload.begin)
        };
        assert_ne!(asked("rc"), asked("rr"));
        assert_ne!(asked("rr"), asked("ser"));
    }
}

#[test]
fn tasks_cover_all_sets_and_warehouses_with_unique_names() {
    let tasks = workload(3, &[("tables", "2")]).load_tasks();
    assert_eq!(tasks.len(), 2 * (1 + 3 * 11));
    let names: std::collections::HashSet<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names.len(), tasks.len());
}

#[test]
fn a_task_is_the_same_for_the_same_seed_and_another_for_another() {
    let one = workload(2, &[]);
    let mut other_settings = settings(2, &[]);
    other_settings.seed = 43;
    let other = Tpcc::new(&other_settings).unwrap();
    let tasks = one.load_tasks();
    assert_eq!(loaded(&one, &tasks[2]), loaded(&one, &tasks[2]));
    assert_ne!(loaded(&one, &tasks[2]), loaded(&other, &tasks[2]));
    assert_ne!(loaded(&one, &tasks[2])["customer"], loaded(&one, &tasks[3])["customer"]);
}

#[test]
fn a_district_has_the_specifications_rows() {
    for text in ["random", "compressible"] {
        let workload = workload(1, &[("text", text)]);
        let tables = loaded(&workload, &workload.load_tasks()[4]);
        let rows = |table: &str| -> Vec<Vec<String>> {
            let lines = String::from_utf8(tables[table].clone()).unwrap();
            lines
                .lines()
                .map(|line| line.split('\t').map(String::from).collect())
                .collect()
        };
        assert_eq!(rows("customer").len(), 3000);
        assert_eq!(rows("history").len(), 3000);
        assert_eq!(rows("new_orders").len(), 900);
        let orders = rows("orders");
        assert_eq!(orders.len(), 3000);
        let mut customers: Vec<i32> = orders.iter().map(|row| row[3].parse().unwrap()).collect();
        assert_ne!(customers[..5], [1, 2, 3, 4, 5]);
        customers.sort_unstable();
        assert!(customers.into_iter().eq(1..=3000));
        assert_eq!(orders.iter().filter(|row| row[5] == "\\N").count(), 900);
        let lines: usize = orders.iter().map(|row| row[6].parse::<usize>().unwrap()).sum();
        assert_eq!(rows("order_line").len(), lines);
        let bad_credit = rows("customer").iter().filter(|row| row[13] == "BC").count();
        assert!((220..380).contains(&bad_credit), "{bad_credit} of 3000");
        assert!(rows("customer").iter().all(|row| (300..=500).contains(&row[20].len())));
    }
}

#[test]
fn items_and_stock_have_a_hundred_thousand_rows() {
    let workload = workload(1, &[]);
    let tasks = workload.load_tasks();
    let count = |tables: &HashMap<String, Vec<u8>>, table: &str| tables[table].iter().filter(|b| **b == b'\n').count();
    assert_eq!(count(&loaded(&workload, &tasks[0]), "item"), 100_000);
    let stock = loaded(&workload, &tasks[1]);
    assert_eq!((count(&stock, "warehouse"), count(&stock, "stock")), (1, 100_000));
}

#[test]
fn every_transaction_runs_on_the_null_server_and_one_order_in_a_hundred_rolls_back() {
    let workload = workload(3, &[]);
    let mut client = workload.client(0, 1);
    let (mut rolled_back, mut session) = (0, Recording::default());
    for _ in 0..10_000 {
        let input = workload.draw(&mut client);
        let outcome = now(workload.run(&input, &mut session)).unwrap();
        rolled_back += i32::from(outcome == Outcome::RolledBack);
    }
    assert!((25..70).contains(&rolled_back), "{rolled_back} of 4500 orders");
}

#[test]
fn figures_are_rates_and_nopm_counts_committed_orders_only() {
    let figures = workload(1, &[]).figures(&[450, 430, 40, 40, 40], &[5, 0, 0, 0, 0], 10.0);
    assert_eq!(figures["nopm"], 2670.0);
    assert_eq!(figures["tps"], 100.0);
    assert_eq!(figures["new_order_share"], 0.45);
    assert_eq!(workload(1, &[]).figures(&[0; 5], &[0; 5], 0.0)["new_order_share"], 0.0);
}

#[test]
fn a_dialect_with_storage_engines_takes_the_one_asked_for_and_others_refuse_it() {
    let mut choices = 0;
    for dialect in SqlFile::dialects("tpcc") {
        let of = |options: &[(&str, &str)]| {
            let mut settings = settings(1, options);
            settings.dialect = dialect.into();
            Tpcc::new(&settings)
        };
        let usual = of(&[]).ok().unwrap().schema().create;
        assert!(
            usual.matches("CREATE TABLE ").count() == 9 && !usual.contains('{'),
            "{usual}"
        );
        let asked = of(&[("storage_engine", "abc")]);
        let file = SqlFile::find("tpcc", dialect).unwrap();
        let Some(name) = file.section("storage_engine", &[]).pop() else {
            let refused = asked.err().unwrap();
            assert!(refused.contains("has no choice of storage engines"), "{refused}");
            continue;
        };
        choices += 1;
        assert_eq!(usual.matches(&format!(" = {name}")).count(), 9, "{usual}");
        assert_eq!(asked.ok().unwrap().schema().create.matches(" = abc").count(), 9);
        for without in file.section("no_foreign_keys", &[]) {
            let refused = of(&[("storage_engine", &without), ("foreign_keys", "on")])
                .err()
                .unwrap();
            assert!(refused.contains(&format!("{without} has none")), "{refused}");
        }
        assert!(
            of(&[("storage_engine", "a b")])
                .err()
                .unwrap()
                .contains("a name is needed")
        );
    }
    assert!(choices > 0);
}
