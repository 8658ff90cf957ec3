//! The null server: a thread inside the driver that answers every statement at once, or after a planted time. It shows
//! the driver's own ceiling and jitter, and it plants the stall that no honest driver may hide. It speaks just enough
//! of the one protocol that needs no schema: everything succeeds, every query has one row of ones.

use std::collections::HashMap;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dyno_core::plan;

/// Columns of the one row of each query: more than any workload reads.
const COLUMNS: u16 = 32;
/// Longest message that a client of ours sends.
const INPUT_BYTES_MAX: usize = 64 * 1024 * 1024;

static SERVERS: AtomicU64 = AtomicU64::new(0);

/// Starts a server; returns the `host` to connect to. It lives as long as the process.
pub fn start(config: plan::NullServer) -> io::Result<String> {
    let number = SERVERS.fetch_add(1, Ordering::Relaxed);
    let name = format!("dyno-null-{}-{number}", std::process::id());
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
    listener.set_nonblocking(true)?;
    std::thread::Builder::new().name("null-server".into()).spawn(move || {
        // SAFETY: no pointers. A slack of 1 ns makes planted service times precise.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
        Server {
            listener,
            clients: Vec::new(),
            config,
            started: Instant::now(),
        }
        .serve();
    })?;
    Ok(format!("\0{name}"))
}

struct Server {
    listener: UnixListener,
    clients: Vec<Client>,
    config: plan::NullServer,
    started: Instant,
}

struct Client {
    stream: UnixStream,
    input: Vec<u8>,
    output: Vec<u8>,
    /// When the output leaves.
    due: Option<Instant>,
    greeted: bool,
    /// Statements by name: does it return rows?
    statements: HashMap<Vec<u8>, bool>,
    bound_rows: bool,
    gone: bool,
}

impl Server {
    fn serve(mut self) {
        loop {
            self.stall();
            let mut polled: Vec<libc::pollfd> = std::iter::once(self.listener.as_raw_fd())
                .chain(self.clients.iter().map(|client| client.stream.as_raw_fd()))
                .map(|fd| libc::pollfd {
                    fd,
                    events: libc::POLLIN,
                    revents: 0,
                })
                .collect();
            let now = Instant::now();
            let wait = self
                .clients
                .iter()
                .filter_map(|client| client.due)
                .min()
                .map(|due| due.saturating_duration_since(now));
            wait_for(&mut polled, wait);
            self.stall();
            for (client, polled) in self.clients.iter_mut().zip(&polled[1..]) {
                if polled.revents != 0 {
                    client.read(self.config.service_us);
                }
                client.write();
            }
            self.clients.retain(|client| !client.gone);
            if polled[0].revents != 0 {
                self.accept();
            }
        }
    }

    /// The planted stall: the whole server stands still.
    fn stall(&self) {
        if let Some(at_s) = self.config.stall_at_s {
            let from = Duration::from_secs_f64(at_s.max(0.0));
            let until = from + Duration::from_secs_f64(self.config.stall_s.max(0.0));
            let age = self.started.elapsed();
            if age >= from && age < until {
                std::thread::sleep(until - age);
            }
        }
    }

    fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            if stream.set_nonblocking(true).is_ok() {
                self.clients.push(Client {
                    stream,
                    input: Vec::new(),
                    output: Vec::new(),
                    due: None,
                    greeted: false,
                    statements: HashMap::new(),
                    bound_rows: false,
                    gone: false,
                });
            }
        }
    }
}

fn wait_for(polled: &mut [libc::pollfd], wait: Option<Duration>) {
    let timeout = wait.map(|wait| libc::timespec {
        tv_sec: wait.as_secs() as libc::time_t,
        tv_nsec: libc::c_long::from(wait.subsec_nanos()),
    });
    let timeout_pointer = timeout.as_ref().map_or(std::ptr::null(), |timeout| timeout as *const _);
    // SAFETY: the array and the timeout live through the call.
    unsafe {
        libc::ppoll(
            polled.as_mut_ptr(),
            polled.len() as libc::nfds_t,
            timeout_pointer,
            std::ptr::null(),
        )
    };
}

impl Client {
    fn read(&mut self, service_us: u64) {
        let mut chunk = [0u8; 64 * 1024];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return self.gone = true,
                Ok(count) => {
                    self.input.extend_from_slice(&chunk[..count]);
                    if count < chunk.len() {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return self.gone = true,
            }
        }
        self.gone |= self.input.len() > INPUT_BYTES_MAX;
        let mut at = 0;
        while let Some(used) = self.message(at) {
            at += used;
        }
        self.input.drain(..at);
        if !self.output.is_empty() && self.due.is_none() {
            self.due = Some(Instant::now() + Duration::from_micros(service_us));
        }
    }

    fn write(&mut self) {
        if self.due.is_some_and(|due| due <= Instant::now()) {
            self.due = None;
            // Answers are far smaller than a socket's buffer: one that does not fit means that nobody reads.
            self.gone |= self.stream.write_all(&self.output).is_err();
            self.output.clear();
        }
    }

    /// Answers the message at `at`; returns its length, `None` when it is not whole yet.
    fn message(&mut self, at: usize) -> Option<usize> {
        let input = &self.input[at..];
        let tagged = usize::from(self.greeted);
        let length = u32::from_be_bytes(*input.get(tagged..)?.first_chunk()?) as usize;
        let whole = length + tagged;
        let body = input.get(tagged + 4..whole)?.to_vec();
        if !self.greeted {
            self.greeted = true;
            self.answer(b'R', &0u32.to_be_bytes());
            self.answer(b'Z', b"I");
            return Some(whole);
        }
        match input[0] {
            b'P' => {
                let mut parts = body.splitn(3, |byte| *byte == 0);
                let name = parts.next()?.to_vec();
                let sql = parts.next()?;
                self.statements.insert(name, has_rows(sql));
                self.answer(b'1', b"");
            }
            b'B' => {
                let name = body.split(|byte| *byte == 0).nth(1)?;
                self.bound_rows = self.statements.get(name).copied().unwrap_or(false);
                self.answer(b'2', b"");
            }
            b'E' => self.done(self.bound_rows),
            b'Q' => {
                self.done(has_rows(&body));
                self.answer(b'Z', b"I");
            }
            b'S' => self.answer(b'Z', b"I"),
            b'X' => self.gone = true,
            _ => {}
        }
        Some(whole)
    }

    fn done(&mut self, rows: bool) {
        if !rows {
            return self.answer(b'C', b"UPDATE 1\0");
        }
        let mut row = COLUMNS.to_be_bytes().to_vec();
        for _ in 0..COLUMNS {
            row.extend_from_slice(&[0, 0, 0, 1, b'1']);
        }
        self.answer(b'D', &row);
        self.answer(b'C', b"SELECT 1\0");
    }

    fn answer(&mut self, tag: u8, body: &[u8]) {
        self.output.push(tag);
        self.output.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        self.output.extend_from_slice(body);
    }
}

fn has_rows(sql: &[u8]) -> bool {
    let sql = String::from_utf8_lossy(sql).to_ascii_uppercase();
    sql.trim_start().starts_with("SELECT") || sql.contains("RETURNING")
}
