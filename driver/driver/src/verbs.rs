//! The verbs that need one connection only: `check` and `cleanup`, and the look at the marker before a run.

use dyno_core::event::{CheckEvent, ErrorEvent, Event, Progress, Verdict};
use dyno_core::session::Failure;
use dyno_core::workload::{Check, Workload};
use dyno_wire::Wire;
use dyno_workloads::Entry;

use crate::failure;
use crate::load::{drop_tables, refuse_unwritable};
use crate::marker::Markers;
use crate::output::Output;
use crate::single::Single;
use crate::worker::Shared;

/// Rows that a failed check shows.
const VIOLATIONS_MAX: usize = 10;

/// Looks at the marker before a run.
pub fn verify<W: Workload, C: Wire>(shared: &Shared, entry: &'static Entry) -> Result<(), ErrorEvent> {
    let single = Single::new(shared)?;
    let Some(mut wire) = single.connect::<C>()? else {
        return Ok(());
    };
    single.wait(async { Markers { wire: &mut wire, entry }.verify::<W>(&shared.settings).await })?;
    wire.close();
    Ok(())
}

/// Runs the consistency checks; true when none failed.
pub fn check<W: Workload, C: Wire>(
    shared: &Shared,
    entry: &'static Entry,
    output: &mut Output,
) -> Result<bool, ErrorEvent> {
    let workload = W::new(&shared.settings).map_err(|message| failure::own("plan", message, ""))?;
    if !shared.plan.adopt {
        verify::<W, C>(shared, entry)?;
    }
    let single = Single::new(shared)?;
    let Some(mut wire) = single.connect::<C>()? else {
        return Ok(true);
    };
    let mut passed = true;
    for check in workload.checks() {
        let Some(event) = single.wait(async { Ok(one_check(&mut wire, &check).await) })? else {
            return Ok(true);
        };
        passed &= event.verdict != Verdict::Fail;
        output.emit(&Event::Check(event));
    }
    wire.close();
    Ok(passed)
}

async fn one_check<C: Wire>(wire: &mut C, check: &Check) -> CheckEvent {
    let (verdict, says, violations) = match wire.simple(&check.sql).await {
        Ok(0) => (Verdict::Pass, "holds".to_string(), Vec::new()),
        Ok(count) => {
            let rows = (0..count.min(VIOLATIONS_MAX)).map(|row| {
                let cells: Vec<&str> = (0..wire.columns())
                    .map(|column| wire.cell(row, column).unwrap_or("NULL"))
                    .collect();
                cells.join(" | ")
            });
            (Verdict::Fail, format!("{count} rows violate it"), rows.collect())
        }
        Err(Failure::Lost(message)) => (Verdict::Unknown, format!("could not be asked: {message}"), Vec::new()),
        Err(Failure::Retry(error) | Failure::Fatal(error)) => (
            Verdict::Unknown,
            format!("could not be asked: {} ({})", error.message, error.code),
            Vec::new(),
        ),
    };
    CheckEvent {
        clause: check.clause.clone(),
        title: check.title.clone(),
        verdict,
        says,
        violations,
    }
}

/// Drops what the marker says is ours.
pub fn cleanup<W: Workload, C: Wire>(
    shared: &Shared,
    entry: &'static Entry,
    output: &mut Output,
) -> Result<(), ErrorEvent> {
    let single = Single::new(shared)?;
    let Some(mut wire) = single.connect::<C>()? else {
        return Ok(());
    };
    let dropped = single.wait(async {
        refuse_unwritable(&mut wire).await?;
        let mut markers = Markers { wire: &mut wire, entry };
        let Some(marker) = markers.read().await? else {
            return Ok(false);
        };
        let mut settings = shared.settings.clone();
        settings.scale = marker.scale;
        settings.options.extend(marker.options);
        drop_tables::<W, C>(&mut markers, &settings).await.map(|()| true)
    })?;
    let step = match dropped {
        None => return Ok(()),
        Some(true) => format!("dropped {}", entry.dataset),
        Some(false) => format!("nothing to drop: no marker of {}", entry.dataset),
    };
    output.emit(&Event::Progress(Progress {
        step,
        done: 1,
        total: 1,
        unit: "cleanup".into(),
    }));
    wire.close();
    Ok(())
}
