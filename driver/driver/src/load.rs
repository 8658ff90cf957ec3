//! The verb `load`: creates the tables, loads the tasks over all connections, finishes (keys, indexes, statistics).
//! Each task is one transaction with its line in the marker table, so that an interrupted load goes on.

use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use dyno_core::event::{ErrorEvent, Event, Progress};
use dyno_core::session::Failure;
use dyno_core::workload::{LoadTask, Schema, Settings, Workload};
use dyno_wire::Wire;
use dyno_workloads::Entry;

use crate::client::{Connector, lock};
use crate::executor::{Executor, Step, Task};
use crate::failure;
use crate::marker::{Markers, dataset_options, difference};
use crate::output::Output;
use crate::single::Single;
use crate::stop::Reason;
use crate::worker::Shared;

const PROGRESS_EVERY: Duration = Duration::from_secs(1);
/// Longest list of foreign tables in a message.
const TABLES_SHOWN_MAX: usize = 5;

/// Loads the dataset; returns at once when it is there.
pub fn load<W: Workload, C: Wire>(
    shared: &Shared,
    entry: &'static Entry,
    output: &mut Output,
) -> Result<(), ErrorEvent> {
    let workload = W::new(&shared.settings).map_err(|message| failure::own("plan", message, ""))?;
    let schema = workload.schema();
    let single = Single::new(shared)?;
    let mut wire: C = match single.connect()? {
        Some(wire) => wire,
        None => return Ok(()),
    };
    let begun = single.wait(begin::<W, C>(shared, entry, &mut wire, &schema))?;
    let Some(done) = begun else { return Ok(()) };
    let Begun::Missing(done) = done else {
        progress(
            output,
            &format!("{} is already loaded with these settings", entry.dataset),
            1,
            1,
            "load",
        );
        return Ok(());
    };
    let tasks: VecDeque<LoadTask> = workload
        .load_tasks()
        .into_iter()
        .filter(|task| !done.contains(&task.name))
        .collect();
    tables::<W, C>(shared, entry, tasks, workload.load_unit(), output)?;
    for (index, sql) in schema.finish.iter().enumerate() {
        if shared.stop.is_raised() {
            return Ok(());
        }
        let name = format!("finish:{index}");
        let label = sql.lines().next().unwrap_or_default();
        progress(
            output,
            &format!("finish: {label}"),
            index as u64,
            schema.finish.len() as u64,
            "steps",
        );
        if !done.contains(&name) && single.wait(finish(&mut wire, entry, &name, sql))?.is_none() {
            return Ok(());
        }
    }
    single.wait(async { Markers { wire: &mut wire, entry }.loaded().await })?;
    progress(output, "loaded", 1, 1, "load");
    wire.close();
    Ok(())
}

fn progress(output: &mut Output, step: &str, done: u64, total: u64, unit: &str) {
    output.emit(&Event::Progress(Progress {
        step: step.to_string(),
        done,
        total,
        unit: unit.to_string(),
    }));
}

enum Begun {
    Loaded,
    /// Names of the tasks that an earlier, interrupted load finished.
    Missing(HashSet<String>),
}

/// Finds out what is there, and creates marker and tables where the load starts from nothing.
async fn begin<W: Workload, C: Wire>(
    shared: &Shared,
    entry: &'static Entry,
    wire: &mut C,
    schema: &Schema,
) -> Result<Begun, ErrorEvent> {
    let options = dataset_options::<W>(&shared.settings);
    let scale = shared.settings.scale;
    refuse_unwritable(wire).await?;
    let mut markers = Markers { wire, entry };
    if let Some(marker) = markers.read().await? {
        let difference = difference(&marker, scale, &options);
        match difference {
            _ if shared.plan.restart => {
                let mut old = shared.settings.clone();
                old.scale = marker.scale;
                old.options.extend(marker.options);
                drop_tables::<W, C>(&mut markers, &old).await?;
            }
            None if marker.loaded => return Ok(Begun::Loaded),
            None => {
                let done = markers.tasks().await?.into_iter().collect();
                if !C::TRANSACTIONAL_DDL {
                    create(&mut markers, schema).await?;
                }
                return Ok(Begun::Missing(done));
            }
            Some(difference) => {
                let state = if marker.loaded {
                    "is loaded"
                } else {
                    "was partly loaded"
                };
                return Err(failure::own(
                    "schema",
                    format!(
                        "the dataset {:?} {state} with other settings: {difference}",
                        entry.dataset
                    ),
                    "Set \"restart\": true to drop it and load anew, or ask for what is there.",
                ));
            }
        }
    }
    refuse_foreign(&mut markers, schema).await?;
    markers.create_tables().await?;
    let session = |failure| failure::session(&failure);
    markers.wire.begin().await.map_err(session)?;
    markers.insert(scale, &options).await?;
    create(&mut markers, schema).await?;
    markers.wire.commit().await.map_err(session)?;
    Ok(Begun::Missing(HashSet::new()))
}

/// Creates the tables. Where that cannot be part of a transaction, the marker is written first, and what an interrupted
/// load created already stays (the dialect's SQL says IF NOT EXISTS).
async fn create<C: Wire>(markers: &mut Markers<'_, C>, schema: &Schema) -> Result<(), ErrorEvent> {
    let created = markers.wire.simple(&schema.create).await;
    created.map(|_| ()).map_err(|failure| failure::session(&failure))
}

/// A read-only server or a replica is refused before anything is written.
pub async fn refuse_unwritable<C: Wire>(wire: &mut C) -> Result<(), ErrorEvent> {
    match wire
        .writes_refused()
        .await
        .map_err(|failure| failure::session(&failure))?
    {
        None => Ok(()),
        Some(reason) => Err(failure::own(
            "schema",
            format!("nothing is written here: {reason}"),
            "Name the primary server, or one that accepts writes.",
        )),
    }
}

/// Tables of the workload's names without a marker are somebody else's.
async fn refuse_foreign<C: Wire>(markers: &mut Markers<'_, C>, schema: &Schema) -> Result<(), ErrorEvent> {
    let existing = markers.existing(&schema.tables).await?;
    if existing.is_empty() {
        return Ok(());
    }
    let more = if existing.len() > TABLES_SHOWN_MAX { ", …" } else { "" };
    let shown: Vec<&str> = existing.iter().take(TABLES_SHOWN_MAX).map(String::as_str).collect();
    Err(failure::own(
        "schema",
        format!(
            "{} tables of this workload exist and were not made by this driver: {}{more}",
            existing.len(),
            shown.join(", ")
        ),
        "Load into another database, drop them yourself, or run on them with \"adopt\": true.",
    ))
}

/// Drops the tables of `settings` and their marker.
pub async fn drop_tables<W: Workload, C: Wire>(
    markers: &mut Markers<'_, C>,
    settings: &Settings,
) -> Result<(), ErrorEvent> {
    let workload = W::new(settings).map_err(|message| failure::own("schema", message, ""))?;
    for table in workload.schema().tables {
        let sql = format!("DROP TABLE IF EXISTS {table}");
        markers
            .wire
            .simple(&sql)
            .await
            .map_err(|failure| failure::session(&failure))?;
    }
    markers.remove().await
}

fn task_line(entry: &Entry, task: &str) -> String {
    let quote = |text: &str| text.replace('\'', "''");
    format!(
        "INSERT INTO dyno_marker_task (dataset, task) VALUES ('{}', '{}')",
        quote(entry.dataset),
        quote(task)
    )
}

/// One step after the load, with its marker line in one transaction where the server can.
async fn finish<C: Wire>(wire: &mut C, entry: &Entry, name: &str, sql: &str) -> Result<(), ErrorEvent> {
    let whole = C::runs_in_transaction(sql);
    let result = async {
        if whole {
            wire.begin().await?;
        }
        match wire.simple(sql).await {
            // The load was interrupted between this step and its line.
            Err(Failure::Fatal(error)) if C::was_done_before(&error.code) => {}
            result => drop(result?),
        }
        wire.simple(&task_line(entry, name)).await?;
        if whole { wire.commit().await } else { Ok(()) }
    };
    result.await.map_err(|failure| failure::session(&failure))
}

/// What the loading threads share.
struct Loading {
    tasks: Mutex<VecDeque<LoadTask>>,
    done: AtomicU64,
    running: AtomicUsize,
    error: Mutex<Option<ErrorEvent>>,
}

/// Loads all tasks over all connections; generating rows costs CPU, so that threads up to the cores help.
fn tables<W: Workload, C: Wire>(
    shared: &Shared,
    entry: &'static Entry,
    tasks: VecDeque<LoadTask>,
    unit: &str,
    output: &mut Output,
) -> Result<(), ErrorEvent> {
    let total: u64 = tasks.iter().map(|task| task.weight).sum();
    let connections = (shared.plan.threads as usize).min(tasks.len());
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(connections);
    let loading = Loading {
        tasks: Mutex::new(tasks),
        done: AtomicU64::new(0),
        running: AtomicUsize::new(threads),
        error: Mutex::new(None),
    };
    std::thread::scope(|scope| {
        for index in 0..threads {
            let mine = connections / threads + usize::from(index < connections % threads);
            let loading = &loading;
            scope.spawn(move || {
                if let Err(error) = load_thread::<W, C>(shared, entry, loading, mine) {
                    lock(&loading.error).get_or_insert(error);
                    shared.stop.raise(Reason::Failure);
                }
                loading.running.fetch_sub(1, Ordering::SeqCst);
            });
        }
        let mut told = std::time::Instant::now();
        while loading.running.load(Ordering::SeqCst) > 0 {
            std::thread::sleep(Duration::from_millis(10));
            if told.elapsed() >= PROGRESS_EVERY {
                told = std::time::Instant::now();
                progress(output, "load", loading.done.load(Ordering::Relaxed), total, unit);
            }
        }
    });
    progress(output, "load", loading.done.load(Ordering::Relaxed), total, unit);
    lock(&loading.error).take().map_or(Ok(()), Err)
}

fn load_thread<W: Workload, C: Wire>(
    shared: &Shared,
    entry: &'static Entry,
    loading: &Loading,
    connections: usize,
) -> Result<(), ErrorEvent> {
    let Shared {
        plan,
        settings,
        stop,
        clock,
        origin_ns,
    } = shared;
    let workload = W::new(settings).map_err(|message| failure::own("plan", message, ""))?;
    let executor = Rc::new(Executor::new(*clock, *origin_ns, stop).map_err(|error| failure::io("epoll", &error))?);
    let connector = Connector {
        plan,
        statements: Vec::new().into(),
        session: Vec::new().into(),
        executor: executor.clone(),
        stop,
    };
    let first_error = RefCell::new(None);
    let work = || async {
        if let Err(error) = load_connection::<W, C>(&connector, &workload, entry, loading).await {
            first_error.borrow_mut().get_or_insert(error);
            stop.raise(Reason::Failure);
        }
    };
    let mut tasks: Vec<Option<Task<'_>>> = (0..connections).map(|_| Some(Box::pin(work()) as Task<'_>)).collect();
    let step = |_| Step {
        deadline_ns: None,
        abandon: stop.is_raised(),
    };
    executor
        .run(&mut tasks, step)
        .map_err(|error| failure::io("epoll", &error))?;
    drop(tasks);
    first_error.into_inner().map_or(Ok(()), Err)
}

async fn load_connection<W: Workload, C: Wire>(
    connector: &Connector<'_>,
    workload: &W,
    entry: &Entry,
    loading: &Loading,
) -> Result<(), ErrorEvent> {
    let mut wire: C = connector.connect().await.map_err(|error| failure::connect(&error))?;
    loop {
        let Some(task) = lock(&loading.tasks).pop_front() else {
            break;
        };
        let result = async {
            wire.begin().await?;
            workload.load(&task, &mut wire).await?;
            wire.simple(&task_line(entry, &task.name)).await?;
            wire.commit().await
        };
        result.await.map_err(|failure| failure::session(&failure))?;
        loading.done.fetch_add(task.weight, Ordering::Relaxed);
    }
    wire.close();
    Ok(())
}
