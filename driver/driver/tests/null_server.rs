//! The binary against its own null server: the contract of `docs/reference/driver-protocol.md`, without a database.
//! Nothing here depends on how fast the machine is: only on order, on counts and on what cannot be faster than planted.

#![allow(clippy::unwrap_used)] // Helpers of tests are tests.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

fn start(plan: &Value) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dyno-driver"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(plan.to_string().as_bytes())
        .unwrap();
    child
}

fn events(output: &Output) -> Vec<Value> {
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn run(plan: &Value) -> (Vec<Value>, i32) {
    let output = start(plan).wait_with_output().unwrap();
    (events(&output), output.status.code().unwrap())
}

fn plan(phases: Value) -> Value {
    json!({
        "protocol": 1, "verb": "run", "threads": 4, "seed": 7, "interval_s": 0.1,
        "target": {"dialect": "null"},
        "workload": {"name": "oltp_read_write", "options": {"tables": 2, "table_size": 1000}},
        "phases": phases,
    })
}

fn named<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["event"] == name).collect()
}

#[test]
fn a_run_tells_its_story_in_order() {
    let (events, code) = run(&plan(json!([
        {"name": "warmup", "events": 50, "measured": false},
        {"name": "measure", "mode": "closed", "time_s": 0.35},
    ])));
    assert_eq!(code, 0);
    assert_eq!(events[0]["event"], "hello");
    assert_eq!(
        events.last().unwrap(),
        &json!({"event": "bye", "status": "done", "t_s": events.last().unwrap()["t_s"]})
    );
    let summaries = named(&events, "summary");
    assert_eq!(summaries.len(), 2);
    assert_eq!(summaries[0]["transactions"]["transaction"]["count"], 50);
    // sysbench's read_write: 14 reads, 4 writes, BEGIN and COMMIT.
    assert_eq!(
        summaries[0]["statements"],
        json!({"read": 700, "write": 200, "other": 100})
    );
    let intervals: Vec<&Value> = named(&events, "interval")
        .into_iter()
        .filter(|event| event["phase"] == "measure")
        .collect();
    let sum: u64 = intervals
        .iter()
        .map(|event| event["response"]["count"].as_u64().unwrap())
        .sum();
    assert_eq!(sum, summaries[1]["response"]["count"].as_u64().unwrap());
    // All intervals but the last are exactly as long as asked for.
    for interval in &intervals[..intervals.len() - 1] {
        assert!((interval["seconds"].as_f64().unwrap() - 0.1).abs() < 1e-9, "{interval}");
    }
}

#[test]
fn a_planted_stall_shows_in_open_loop_response_times() {
    let mut plan = plan(json!([{"name": "rate", "mode": "open", "rate_per_s": 500, "time_s": 2.5}]));
    plan["workload"]["name"] = json!("oltp_point_select");
    plan["null_server"] = json!({"stall_at_s": 1.0, "stall_s": 1.0});
    let (events, code) = run(&plan);
    assert_eq!(code, 0);
    let summary = named(&events, "summary")[0];
    let at = |field: &str, percentile: &str| summary[field][percentile].as_f64().unwrap();
    assert!(at("response", "p999_us") > 900_000.0, "{summary}");
    // About two fifths of the arrivals met the stall, and a slow machine only adds to that.
    assert!(at("response", "p90_us") > 100_000.0, "{summary}");
    // A service time cannot exceed its response time.
    assert!(at("service", "p90_us") <= at("response", "p90_us"));
}

#[test]
fn the_same_seed_sends_the_same_number_of_everything() {
    let (first, _) = run(&plan(json!([{"name": "m", "events": 40}])));
    let (second, _) = run(&plan(json!([{"name": "m", "events": 40}])));
    assert_eq!(
        named(&first, "summary")[0]["statements"],
        named(&second, "summary")[0]["statements"]
    );
}

#[test]
fn a_service_time_is_at_least_what_was_planted() {
    let mut plan = plan(json!([{"name": "m", "events": 20}]));
    plan["workload"]["name"] = json!("oltp_point_select");
    plan["null_server"] = json!({"service_us": 5000});
    let (events, _) = run(&plan);
    assert!(named(&events, "summary")[0]["service"]["p50_us"].as_f64().unwrap() >= 4_990.0);
}

#[test]
fn an_overfull_queue_is_counted() {
    let mut plan = plan(json!([{"name": "rate", "mode": "open", "rate_per_s": 10000, "time_s": 0.5}]));
    plan["null_server"] = json!({"service_us": 20000});
    plan["backlog_max"] = json!(10);
    let (events, code) = run(&plan);
    assert_eq!(code, 0);
    let summary = named(&events, "summary")[0];
    assert_eq!(summary["backlog_max"], 10);
    assert!(summary["dropped"].as_u64().unwrap() > 1000, "{summary}");
}

#[test]
fn an_interruption_ends_with_summary_and_bye() {
    let mut child = start(&plan(json!([{"name": "m", "time_s": 600}])));
    let mut stdout = child.stdout.take().unwrap();
    let mut seen = Vec::new();
    // The first interval shows that the run is under way.
    while !String::from_utf8_lossy(&seen).contains("\"interval\"") {
        let mut chunk = [0u8; 4096];
        let read = stdout.read(&mut chunk).unwrap();
        assert!(read > 0, "the driver ended early");
        seen.extend_from_slice(&chunk[..read]);
    }
    Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    stdout.read_to_end(&mut seen).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let events: Vec<Value> = String::from_utf8_lossy(&seen)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(named(&events, "summary")[0]["interrupted"], true);
    assert_eq!(events.last().unwrap()["status"], "interrupted");
}

#[test]
fn a_reader_that_goes_away_ends_the_run() {
    let mut child = start(&plan(json!([{"name": "m", "time_s": 600}])));
    drop(child.stdout.take());
    let mut waited = Duration::ZERO;
    while child.try_wait().unwrap().is_none() {
        assert!(waited < Duration::from_secs(60), "the driver goes on for nobody");
        std::thread::sleep(Duration::from_millis(50));
        waited += Duration::from_millis(50);
    }
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

#[test]
fn bad_plans_are_explained() {
    let cases = [
        (
            json!({"protocol": 2}),
            "protocol: this driver speaks 1, the plan asks for 2",
        ),
        (json!({"workload": {"name": "nope"}}), "workload.name: one of"),
        (
            json!({"workload": {"name": "oltp_insert", "options": {"tabels": 3}}}),
            "has no option \"tabels\"",
        ),
        (
            json!({"workload": {"name": "oltp_insert", "options": {"tables": 0}}}),
            "option tables: 1 to 10000 is possible",
        ),
        (json!({"target": {"dialect": "dbase"}}), "target.dialect: one of"),
        (json!({"verb": "load"}), "its only verb is run"),
        (json!({"phases": []}), "phases: a run needs at least one phase"),
    ];
    for (change, message) in cases {
        let mut plan = plan(json!([{"name": "m", "events": 1}]));
        for (name, value) in change.as_object().unwrap() {
            plan[name] = value.clone();
        }
        let (events, code) = run(&plan);
        assert_eq!(code, 2, "{change}");
        let error = named(&events, "error")[0];
        assert_eq!(error["class"], "plan", "{error}");
        assert!(error["message"].as_str().unwrap().contains(message), "{error}");
        assert_eq!(events.last().unwrap()["status"], "failed");
    }
}
