//! From the plan's workload to settings with every option present, and the list that the verb `list` prints.

use std::collections::BTreeMap;

use dyno_core::plan::{PROTOCOL, Plan};
use dyno_core::workload::Settings;
use dyno_workloads::ENTRIES;
use serde_json::{Value, json};

/// Settings of the plan's workload, defaults filled in; a message for an unknown workload or option.
pub fn of(plan: &Plan) -> Result<Settings, String> {
    let name = &plan.workload.name;
    let entry = ENTRIES
        .iter()
        .find(|entry| entry.name == name)
        .ok_or_else(|| unknown_workload(name))?;
    let mut options: BTreeMap<String, String> = entry
        .options
        .iter()
        .map(|option| (option.name.to_string(), option.default.to_string()))
        .collect();
    for (option, value) in &plan.workload.options {
        let text =
            text_of(value).ok_or_else(|| format!("option {option}: text, number or boolean is needed, got {value}"))?;
        match options.get_mut(option) {
            Some(slot) => *slot = text,
            None => {
                let known: Vec<&str> = entry.options.iter().map(|option| option.name).collect();
                return Err(format!(
                    "workload {name} has no option {option:?}; it has {}",
                    known.join(", ")
                ));
            }
        }
    }
    Ok(Settings {
        scale: plan.workload.scale,
        options,
        dialect: plan.target.dialect.clone(),
        seed: plan.seed,
    })
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(on) => Some(if *on { "on" } else { "off" }.to_string()),
        _ => None,
    }
}

/// The message for a name that no workload has.
pub fn unknown_workload(name: &str) -> String {
    let known: Vec<&str> = ENTRIES.iter().map(|entry| entry.name).collect();
    format!("workload.name: one of {} is needed, got {name:?}", known.join(", "))
}

/// Workloads, their options and the dialects, as JSON.
pub fn list() -> String {
    let workloads: Vec<Value> = ENTRIES
        .iter()
        .map(|entry| {
            let options: Vec<Value> = entry
                .options
                .iter()
                .map(|option| json!({"name": option.name, "default": option.default, "help": option.help}))
                .collect();
            json!({"name": entry.name, "dataset": entry.dataset, "about": entry.about, "options": options})
        })
        .collect();
    let dialects: Vec<&str> = dyno_wire::DIALECTS.iter().map(|dialect| dialect.name).collect();
    json!({"protocol": PROTOCOL, "dialects": dialects, "workloads": workloads}).to_string()
}
