//! The control socket: one JSON object a line in, one out.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};

/// Longest question.
const LINE_BYTES_MAX: u64 = 1 << 20;
const CONNECTIONS_MAX: usize = 16;

/// Answers one question: fields of the answer, or what is wrong.
pub type Handler = dyn Fn(&str, &Value) -> Result<Value, String> + Send + Sync;

/// Listens on `folder/name`. The handler gets the value of `do` and the whole question.
pub fn listen(folder: &Path, name: &str, handler: Arc<Handler>) -> io::Result<()> {
    let path = folder.join(name);
    if path.exists() {
        std::fs::remove_file(&path)?;
    }
    // The path of a socket may have 107 bytes only; by way of the folder's descriptor any folder will do.
    let open = File::open(folder)?;
    let listener = UnixListener::bind(format!("/proc/self/fd/{}/{name}", open.as_raw_fd()))?;
    let active = Arc::new(AtomicUsize::new(0));
    thread::Builder::new().name("control".to_owned()).spawn(move || {
        for stream in listener.incoming().flatten() {
            if active.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS_MAX {
                active.fetch_sub(1, Ordering::Relaxed);
                let _ = write_line(&stream, &json!({"ok": false, "error": "too many connections"}));
                continue;
            }
            let (handler, counted) = (handler.clone(), active.clone());
            let serve = move || {
                let _ = converse(&stream, &*handler);
                counted.fetch_sub(1, Ordering::Relaxed);
            };
            if thread::Builder::new()
                .name("connection".to_owned())
                .spawn(serve)
                .is_err()
            {
                active.fetch_sub(1, Ordering::Relaxed);
            }
        }
    })?;
    Ok(())
}

fn converse(stream: &UnixStream, handler: &Handler) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if (&mut reader).take(LINE_BYTES_MAX).read_line(&mut line)? == 0 {
            return Ok(());
        }
        write_line(stream, &reply(&line, handler))?;
    }
}

fn reply(line: &str, handler: &Handler) -> Value {
    let result = serde_json::from_str::<Value>(line)
        .map_err(|error| format!("this is no JSON object: {error}"))
        .and_then(|question| {
            let verb = question
                .get("do")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned();
            handler(&verb, &question)
        });
    match result {
        Ok(Value::Object(mut fields)) => {
            fields.insert("ok".to_owned(), Value::Bool(true));
            Value::Object(fields)
        }
        Ok(other) => json!({"ok": true, "value": other}),
        Err(error) => json!({"ok": false, "error": error}),
    }
}

fn write_line(mut stream: &UnixStream, value: &Value) -> io::Result<()> {
    stream.write_all(format!("{value}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_gets_one_answer_and_nonsense_is_refused() {
        let handler = |verb: &str, _: &Value| match verb {
            "status" => Ok(json!({"events": 3})),
            other => Err(format!("no `{other}`")),
        };
        assert_eq!(reply(r#"{"do":"status"}"#, &handler), json!({"ok": true, "events": 3}));
        assert_eq!(
            reply(r#"{"do":"x"}"#, &handler),
            json!({"ok": false, "error": "no `x`"})
        );
        assert_eq!(reply("nonsense", &handler)["ok"], json!(false));
    }
}
