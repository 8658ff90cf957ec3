//! `dyno-powerloss`: the disk that forgets (docs/reference/powerloss.md). Only this file makes the real clock.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use dyno_powerloss::arguments::Arguments;
use dyno_powerloss::asked::{self, Asked};
use dyno_powerloss::classify::Classifier;
use dyno_powerloss::control::{self, Handler};
use dyno_powerloss::fault::Fault;
use dyno_powerloss::folder::actions::FolderFs;
use dyno_powerloss::folder::record::Recorder;
use dyno_powerloss::folder::{self, op, rebuild};
use dyno_powerloss::image_fs::ImageFs;
use dyno_powerloss::images::Presenter;
use dyno_powerloss::plan::Planner;
use dyno_powerloss::replay::Recording;
use dyno_powerloss::session::{self, Access, Stop};
use dyno_powerloss::state::{Kind, State};
use dyno_powerloss::store::Store;
use fuser::Filesystem;
use serde_json::{Value, json};

const USAGE: &str = "\
usage: dyno-powerloss serve --store DIR --mount DIR --size BYTES [--fault FAULT] [--log-max BYTES]
       dyno-powerloss plan --store DIR --seed NUMBER --states NUMBER [--kinds flush,prefix,...]
       dyno-powerloss present --store DIR --mount DIR [--state JSON]
       dyno-powerloss dir-serve --store DIR --behind DIR --mount DIR [--fault FAULT] [--log-max BYTES]
       dyno-powerloss dir-plan --store DIR --seed NUMBER --states NUMBER [--kinds flush,prefix,...]
       dyno-powerloss dir-present --store DIR --state JSON --target DIR
(docs/reference/powerloss.md)
";
/// Room that the log leaves on its disk.
const LEAVE_FREE_BYTES: u64 = 256 << 20;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let verb = words.next().unwrap_or_default();
    let result = match verb.as_str() {
        "serve" => serve(words),
        "plan" => plan(words),
        "present" => present(words),
        "dir-serve" => dir_serve(words),
        "dir-plan" => dir_plan(words),
        "dir-present" => dir_present(words),
        _ => {
            let _ = io::stderr().write_all(USAGE.as_bytes());
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "dyno-powerloss {verb}: {error}");
            ExitCode::from(2)
        }
    }
}

fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills a structure of ours; this clock is always there.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// What the log of data may grow to.
fn log_limit(arguments: &Arguments, folder: &Path) -> Result<u64, String> {
    match arguments.number("log-max")? {
        Some(limit) => Ok(limit),
        None => Ok(free_bytes(folder).map_err(text)?.saturating_sub(LEAVE_FREE_BYTES)),
    }
}

fn kinds(arguments: &Arguments) -> Result<Vec<Kind>, String> {
    match arguments.text("kinds") {
        Some(names) => names.split(',').map(Kind::parse).collect(),
        None => Ok(Kind::ALL.to_vec()),
    }
}

fn serve(words: impl Iterator<Item = String>) -> Result<(), String> {
    let arguments = Arguments::parse(words, &["store", "mount", "size", "fault", "log-max"])?;
    let folder = PathBuf::from(arguments.required("store")?);
    let limit = log_limit(&arguments, &folder)?;
    let size = arguments.required_number("size")?;
    let store = Arc::new(Store::create(&folder, size, limit, monotonic_ns).map_err(text)?);
    let stop = Stop::default();
    let handler = asked_from_now(&arguments, &store, &stop)?;
    session::declare_io_flusher();
    let served = Served {
        filesystem: ImageFs::new(store),
        access: Access::Owner,
        stop,
        handler,
    };
    served.run(&arguments, &folder, "control.sock")
}

/// Sets the fault that the command line asks for; what answers on the socket.
fn asked_from_now(arguments: &Arguments, recording: &Arc<impl Asked>, stop: &Stop) -> Result<Arc<Handler>, String> {
    if let Some(fault) = arguments.text("fault") {
        recording.set_fault(Fault::parse(fault)?, None)?;
    }
    Ok(asked::handler(recording.clone(), stop.clone()))
}

/// A file system and who answers for it.
struct Served<F> {
    filesystem: F,
    access: Access,
    stop: Stop,
    handler: Arc<Handler>,
}

impl<F: Filesystem> Served<F> {
    /// Until it is stopped; the socket is there once it is mounted.
    fn run(self, arguments: &Arguments, folder: &Path, socket: &str) -> Result<(), String> {
        let point = PathBuf::from(arguments.required("mount")?);
        let listen = || control::listen(folder, socket, self.handler);
        session::serve(
            self.filesystem,
            &point,
            "dyno-powerloss",
            self.access,
            &self.stop,
            listen,
        )
        .map_err(text)
    }
}

fn plan(words: impl Iterator<Item = String>) -> Result<(), String> {
    let arguments = Arguments::parse(words, &["store", "seed", "states", "kinds"])?;
    let folder = PathBuf::from(arguments.required("store")?);
    let kinds = kinds(&arguments)?;
    let recording = Recording::open(&folder).map_err(text)?;
    let mut classifier = Classifier::of_store(&folder).map_err(|error| format!("hints.json: {error}"))?;
    let seed = arguments.required_number("seed")?;
    let planner = Planner::new(&recording, &mut classifier, &kinds, seed).map_err(text)?;
    let states = planner
        .states(arguments.required_number("states")? as usize)
        .map_err(text)?;
    print_states(&states)
}

fn print_states(states: &[State]) -> Result<(), String> {
    let mut lines = String::new();
    for state in states {
        lines += &serde_json::to_string(state).map_err(text)?;
        lines.push('\n');
    }
    io::stdout().write_all(lines.as_bytes()).map_err(text)
}

fn present(words: impl Iterator<Item = String>) -> Result<(), String> {
    let arguments = Arguments::parse(words, &["store", "mount", "state"])?;
    let folder = PathBuf::from(arguments.required("store")?);
    let presenter = Arc::new(Presenter::open(&folder).map_err(text)?);
    if let Some(state) = arguments.text("state") {
        let state: State = serde_json::from_str(state).map_err(|error| format!("--state: {error}"))?;
        presenter.present(&state).map_err(text)?;
    }
    let stop = Stop::default();
    let handler = present_handler(presenter.clone(), stop.clone());
    session::declare_io_flusher();
    let served = Served {
        filesystem: ImageFs::new(presenter),
        access: Access::Owner,
        stop,
        handler,
    };
    served.run(&arguments, &folder, "present.sock")
}

fn present_handler(presenter: Arc<Presenter>, stop: Stop) -> Arc<Handler> {
    Arc::new(move |verb, question: &Value| match verb {
        "status" => Ok(json!({"images": presenter.count(), "error": presenter.error()})),
        "present" => {
            let state: State = serde_json::from_value(question["state"].clone()).map_err(text)?;
            presenter
                .present(&state)
                .map(|file| json!({"file": file}))
                .map_err(text)
        }
        "drop" => {
            presenter
                .drop_image(question["file"].as_str().unwrap_or_default())
                .map_err(text)?;
            Ok(json!({"error": presenter.error()}))
        }
        "stop" => {
            stop.set();
            Ok(json!({}))
        }
        other => Err(format!("there is no `{other}`; there are status, present, drop, stop")),
    })
}

fn dir_serve(words: impl Iterator<Item = String>) -> Result<(), String> {
    let arguments = Arguments::parse(words, &["store", "behind", "mount", "fault", "log-max"])?;
    let folder = PathBuf::from(arguments.required("store")?);
    let behind = PathBuf::from(arguments.required("behind")?);
    session::allow_many_files();
    let limit = log_limit(&arguments, &folder)?;
    let recorder = Arc::new(Recorder::create(&folder, &behind, limit, monotonic_ns).map_err(text)?);
    let stop = Stop::default();
    let handler = asked_from_now(&arguments, &recorder, &stop)?;
    // SAFETY: both only read or set a number of this process.
    let root = unsafe {
        libc::umask(0);
        libc::geteuid() == 0
    };
    let access = if root { Access::All } else { Access::Owner };
    let served = Served {
        filesystem: FolderFs::new(recorder),
        access,
        stop,
        handler,
    };
    served.run(&arguments, &folder, "control.sock")
}

fn dir_plan(words: impl Iterator<Item = String>) -> Result<(), String> {
    let arguments = Arguments::parse(words, &["store", "seed", "states", "kinds"])?;
    let (base, ops) = op::read(Path::new(arguments.required("store")?)).map_err(text)?;
    let (fates, kinds) = (rebuild::fates(&base, &ops), kinds(&arguments)?);
    let planner = folder::plan::Planner::new(&base, &ops, &fates, &kinds, arguments.required_number("seed")?);
    print_states(&planner.states(arguments.required_number("states")? as usize))
}

fn dir_present(words: impl Iterator<Item = String>) -> Result<(), String> {
    let arguments = Arguments::parse(words, &["store", "state", "target"])?;
    let folder = Path::new(arguments.required("store")?);
    let state: State =
        serde_json::from_str(arguments.required("state")?).map_err(|error| format!("--state: {error}"))?;
    let (base, ops) = op::read(folder).map_err(text)?;
    let fates = rebuild::fates(&base, &ops);
    let tree = rebuild::Tree::of_state(&base, &ops, &fates, &state);
    tree.build(folder, Path::new(arguments.required("target")?))
        .map_err(text)
}

fn free_bytes(folder: &Path) -> io::Result<u64> {
    let path = std::ffi::CString::new(folder.as_os_str().as_encoded_bytes())?;
    // SAFETY: a plain structure that statvfs fills.
    let mut found: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are ours.
    match unsafe { libc::statvfs(path.as_ptr(), &mut found) } {
        0 => Ok(found.f_bavail * found.f_frsize),
        _ => Err(io::Error::last_os_error()),
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
