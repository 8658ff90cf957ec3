//! The dataset of the sysbench family: `sbtest1` to `sbtestN`, filled as `sysbench prepare` does, in independent tasks.

use dyno_core::rng::Rng;
use dyno_core::session::{Failure, Session};
use dyno_core::workload::LoadTask;

use super::options::Options;

/// Rows of a task: a second or so of work, so that progress moves and little is lost by an interruption.
const TASK_ROWS: u32 = 100_000;
/// Ten groups of eleven digits: 119 characters.
pub const C_TEMPLATE: &[u8] = b"###########-###########-###########-###########-###########-###########-###########-\
###########-###########-###########";
/// Five groups of eleven digits: 59 characters.
pub const PAD_TEMPLATE: &[u8] = b"###########-###########-###########-###########-###########";
/// Random streams of tasks lie above those of connections.
const TASK_STREAMS: u64 = 1 << 40;

/// Tasks by table and range of rows.
pub fn tasks(options: &Options) -> Vec<LoadTask> {
    let chunks = options.table_size.div_ceil(TASK_ROWS);
    (1..=options.tables)
        .flat_map(|table| {
            (0..chunks).map(move |chunk| {
                let first = chunk * TASK_ROWS + 1;
                let last = options.table_size.min((chunk + 1).saturating_mul(TASK_ROWS));
                LoadTask {
                    name: format!("sbtest{table}:{first}-{last}"),
                    weight: u64::from(last - first + 1),
                }
            })
        })
        .collect()
}

/// Loads one task of `tasks`.
pub async fn load<S: Session>(options: &Options, seed: u64, task: &LoadTask, session: &mut S) -> Result<(), Failure> {
    let parts = task.name.strip_prefix("sbtest").and_then(|name| {
        let (table, range) = name.split_once(':')?;
        let (first, last) = range.split_once('-')?;
        Some((
            table.parse::<u32>().ok()?,
            first.parse::<u32>().ok()?,
            last.parse::<u32>().ok()?,
        ))
    });
    let Some((table, first, last)) = parts else {
        unreachable!("the task {:?} is not one of ours", task.name)
    };
    // A function of seed, table and first row: the same rows whoever loads them, in whatever order.
    let mut rng = Rng::new(seed, TASK_STREAMS + (u64::from(table) << 32) + u64::from(first));
    let mut id = first;
    session
        .bulk_load(&format!("sbtest{table} (id, k, c, pad)"), &mut |out: &mut Vec<u8>| {
            number(out, id);
            out.push(b'\t');
            number(out, options.keys.draw(&mut rng));
            out.push(b'\t');
            rng.digits(C_TEMPLATE, out);
            out.push(b'\t');
            rng.digits(PAD_TEMPLATE, out);
            out.push(b'\n');
            id += 1;
            id <= last
        })
        .await
        .map(|_| ())
}

fn number(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(number.to_string().as_bytes());
}
