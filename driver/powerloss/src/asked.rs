//! What a recording is asked while it goes on, whether it is one of a disk or of a folder.

use std::io;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::control::Handler;
use crate::fault::Fault;
use crate::folder::record::Recorder;
use crate::session::Stop;
use crate::store::{Status, Store};

pub trait Asked: Send + Sync + 'static {
    fn status(&self) -> Status;
    /// What is there now is the start; an error number otherwise.
    fn base(&self) -> Result<u64, i32>;
    fn cut(&self);
    /// From now on; of a folder, `file` names the one file or folder whose fsyncs it means.
    fn set_fault(&self, fault: Fault, file: Option<&str>) -> Result<(), String>;
}

macro_rules! asked {
    ($recording:ty) => {
        impl Asked for $recording {
            fn status(&self) -> Status {
                self.status()
            }

            fn base(&self) -> Result<u64, i32> {
                self.base()
            }

            fn cut(&self) {
                self.cut();
            }

            fn set_fault(&self, fault: Fault, file: Option<&str>) -> Result<(), String> {
                self.set_fault(fault, file)
            }
        }
    };
}

asked!(Store);
asked!(Recorder);

/// Answers `status`, `base`, `cut`, `fault` and `stop`.
pub fn handler(recording: Arc<impl Asked>, stop: Stop) -> Arc<Handler> {
    Arc::new(move |verb, question| match verb {
        "status" => serde_json::to_value(recording.status()).map_err(|error| error.to_string()),
        "base" => recording.base().map(|seq| json!({"base_seq": seq})).map_err(|number| {
            let refused = recording.status().error;
            format!("{}; {refused}", io::Error::from_raw_os_error(number))
        }),
        "cut" => {
            recording.cut();
            Ok(empty())
        }
        "fault" => {
            let fault = Fault::parse(question["fault"].as_str().unwrap_or_default())?;
            let unheard = question["unheard"].as_bool().unwrap_or_default();
            recording.set_fault(Fault { unheard, ..fault }, question["file"].as_str())?;
            Ok(empty())
        }
        "stop" => {
            stop.set();
            Ok(empty())
        }
        other => Err(format!(
            "there is no `{other}`; there are status, base, cut, fault, stop"
        )),
    })
}

fn empty() -> Value {
    json!({})
}
