//! The floor of the driver's cost: a bare loop that sends the same bytes and receives what comes back, over the same
//! kind of socket, with as many connections on one thread. No schedule, no random numbers, no histograms, no looking at
//! what arrives. Used by `benchmarks/driver.py`; only for servers that trust us.
//!
//! Arguments: socket path, user, database, SQL without parameters (several statements: one a line, one round trip each;
//! `{n}` is the number of the connection), connections, seconds. Prints how often the statements were gone through.

use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

fn message(tag: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let length = 4 + parts.iter().map(|part| part.len()).sum::<usize>() as u32;
    [tag, &length.to_be_bytes(), &parts.concat()].concat()
}

/// Connects and prepares the statements `s0`, `s1` ….
fn connect(path: &str, user: &str, database: &str, sql: &str) -> io::Result<UnixStream> {
    let mut stream = UnixStream::connect(path)?;
    let parameters = format!("user\0{user}\0database\0{database}\0\0");
    stream.write_all(&message(b"", &[&196_608u32.to_be_bytes(), parameters.as_bytes()]))?;
    until_ready(&mut stream)?;
    for (number, statement) in sql.lines().enumerate() {
        let name = format!("s{number}\0");
        stream.write_all(&message(b"P", &[name.as_bytes(), statement.as_bytes(), b"\0\0\0"]))?;
        stream.write_all(&message(b"S", &[]))?;
        until_ready(&mut stream)?;
    }
    stream.set_nonblocking(true)?;
    Ok(stream)
}

fn until_ready(stream: &mut UnixStream) -> io::Result<()> {
    loop {
        let mut head = [0u8; 5];
        stream.read_exact(&mut head)?;
        let mut body = vec![0; u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize - 4];
        stream.read_exact(&mut body)?;
        match head[0] {
            b'Z' => return Ok(()),
            b'E' => return Err(io::Error::other(String::from_utf8_lossy(&body).into_owned())),
            _ => {}
        }
    }
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, user, database, sql, connections, seconds] = arguments.as_slice() else {
        return Err(io::Error::other(
            "usage: floor SOCKET USER DATABASE SQL CONNECTIONS SECONDS",
        ));
    };
    let number = |text: &str| text.parse::<u64>().map_err(io::Error::other);
    let mut streams = Vec::new();
    for n in 1..=number(connections)? {
        streams.push(connect(path, user, database, &sql.replace("{n}", &n.to_string()))?);
    }
    let request = |number: usize| {
        [
            message(b"B", &[format!("\0s{number}\0\0\0\0\0\0\0").as_bytes()]),
            message(b"E", &[b"\0\0\0\0\0"]),
            message(b"S", &[]),
        ]
        .concat()
    };
    let requests: Vec<Vec<u8>> = (0..sql.lines().count()).map(request).collect();
    let rounds = run(&mut streams, &requests, Duration::from_secs(number(seconds)?))?;
    writeln!(io::stdout(), "{rounds}")
}

fn run(streams: &mut [UnixStream], requests: &[Vec<u8>], time: Duration) -> io::Result<u64> {
    // SAFETY: no pointers; a failure shows in the next call.
    let epoll = unsafe { libc::epoll_create1(0) };
    for (index, stream) in streams.iter().enumerate() {
        let mut event = libc::epoll_event {
            events: (libc::EPOLLIN | libc::EPOLLET) as u32,
            u64: index as u64,
        };
        // SAFETY: the event lives through the call.
        if unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, stream.as_raw_fd(), &raw mut event) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    for stream in streams.iter_mut() {
        stream.write_all(&requests[0])?;
    }
    let mut next = vec![1 % requests.len(); streams.len()];
    let end = Instant::now() + time;
    let mut buffer = vec![0u8; 32 * 1024];
    let mut rounds = 0;
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; 64];
    while Instant::now() < end {
        // SAFETY: pointer and length describe `events`.
        let count = unsafe { libc::epoll_wait(epoll, events.as_mut_ptr(), 64, 1000) };
        for event in &events[..count.max(0) as usize] {
            let index = event.u64 as usize;
            let (stream, next) = (&mut streams[index], &mut next[index]);
            match stream.read(&mut buffer) {
                // ReadyForQuery ends an answer; a longer answer goes on in the next event.
                Ok(read) if read >= 6 && buffer[read - 6] == b'Z' => {
                    rounds += u64::from(*next == 0);
                    stream.write_all(&requests[*next])?;
                    *next = (*next + 1) % requests.len();
                }
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(rounds)
}
