//! A nonblocking stream socket, Unix or TCP, that is read and written by one task: bytes as they are.

use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::rc::Rc;
use std::task::Poll;

use crate::Runtime;

/// How long a Unix socket waits for a place in the server's queue of connections.
const QUEUE_WAIT_S: libc::time_t = 5;

/// A connected socket.
pub struct Raw {
    fd: OwnedFd,
    runtime: Rc<dyn Runtime>,
    /// The last read emptied the socket: only an event of the executor can bring more.
    drained: bool,
    /// Blocking: one system call waits and reads, where the executor would need two.
    direct: bool,
}

/// Gives up the thread until the executor polls the task again.
pub async fn next_event() {
    let mut waited = false;
    poll_fn(|_| {
        if waited {
            return Poll::Ready(());
        }
        waited = true;
        Poll::Pending
    })
    .await;
}

impl Raw {
    /// Connects to a Unix socket at `path` (a path that begins with NUL is abstract).
    pub fn connect_unix(path: &[u8], runtime: Rc<dyn Runtime>) -> io::Result<Raw> {
        let fd = open(libc::AF_UNIX)?;
        // SAFETY: an all-zero sockaddr_un is valid.
        let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        if path.len() >= address.sun_path.len() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "the path of a Unix socket has at most {} bytes, got {}",
                    address.sun_path.len() - 1,
                    path.len()
                ),
            ));
        }
        for (to, from) in address.sun_path.iter_mut().zip(path) {
            *to = *from as libc::c_char;
        }
        let length = std::mem::offset_of!(libc::sockaddr_un, sun_path) + path.len() + usize::from(path[0] != 0);
        let connect =
            // SAFETY: the address lives through the call and `length` lies within it.
            || checked(unsafe { libc::connect(fd.as_raw_fd(), (&raw const address).cast(), length as libc::socklen_t) });
        match connect() {
            // The server's queue is full for the moment: only a blocking socket can wait for a place in it.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                set_blocking(&fd, QUEUE_WAIT_S)?;
                connect()?;
                set_blocking(&fd, 0)?;
            }
            result => result?,
        }
        Raw {
            fd,
            runtime,
            drained: true,
            direct: false,
        }
        .ready()
    }

    /// Connects over TCP, trying every address of `host`.
    pub async fn connect_tcp(host: &str, port: u16, runtime: Rc<dyn Runtime>) -> io::Result<Raw> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, format!("host {host:?} has no address"));
        for address in (host, port).to_socket_addrs()? {
            match Raw::connect_address(address, runtime.clone()).await {
                Ok(socket) => return Ok(socket),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    async fn connect_address(address: SocketAddr, runtime: Rc<dyn Runtime>) -> io::Result<Raw> {
        let fd = open(if address.is_ipv4() {
            libc::AF_INET
        } else {
            libc::AF_INET6
        })?;
        let one: libc::c_int = 1;
        // SAFETY: the option's value lives through the call.
        unsafe {
            libc::setsockopt(
                fd.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_NODELAY,
                (&raw const one).cast(),
                4,
            );
        }
        let result = connect_inet(fd.as_raw_fd(), address);
        let socket = Raw {
            fd,
            runtime,
            drained: true,
            direct: false,
        };
        if result != 0 {
            let error = io::Error::last_os_error();
            if error.raw_os_error() != Some(libc::EINPROGRESS) {
                return Err(error);
            }
            socket.runtime.register(socket.fd.as_raw_fd())?;
            socket.runtime.watch_write(socket.fd.as_raw_fd(), true)?;
            next_event().await;
            socket.pending_error()?;
            socket.runtime.forget(socket.fd.as_raw_fd())?;
        }
        socket.ready()
    }

    /// Readies a connected socket for the way in which its executor waits.
    fn ready(mut self) -> io::Result<Raw> {
        if !self.runtime.is_direct() {
            self.runtime.register(self.fd.as_raw_fd())?;
            return Ok(self);
        }
        // SAFETY: no pointers.
        if unsafe { libc::fcntl(self.fd.as_raw_fd(), libc::F_SETFL, 0) } != 0 {
            return Err(io::Error::last_os_error());
        }
        self.direct = true;
        Ok(self)
    }

    fn pending_error(&self) -> io::Result<()> {
        let mut code: libc::c_int = 0;
        let mut length = 4 as libc::socklen_t;
        // SAFETY: value and length live through the call.
        let result = unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ERROR,
                (&raw mut code).cast(),
                &raw mut length,
            )
        };
        match (result, code) {
            (0, 0) => Ok(()),
            (0, code) => Err(io::Error::from_raw_os_error(code)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Sends all of `bytes`.
    #[inline]
    pub async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut sent = 0;
        loop {
            let rest = &bytes[sent..];
            let result = send(&self.fd, rest, 0);
            if result >= 0 {
                sent += result as usize;
                if sent == bytes.len() {
                    return Ok(());
                }
            } else {
                self.wait_writable().await?;
            }
        }
    }

    /// Sends what fits without waiting: a farewell.
    pub fn send_now(&mut self, bytes: &[u8]) {
        // A failure does not matter: the connection is going away.
        send(&self.fd, bytes, libc::MSG_DONTWAIT);
    }

    #[cold]
    async fn wait_writable(&mut self) -> io::Result<()> {
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::Interrupted if self.direct => {
                self.runtime.again();
                next_event().await;
                Ok(())
            }
            io::ErrorKind::Interrupted => Ok(()),
            io::ErrorKind::WouldBlock => {
                self.runtime.watch_write(self.fd.as_raw_fd(), true)?;
                next_event().await;
                self.runtime.watch_write(self.fd.as_raw_fd(), false)?;
                // The event may have been about data: a read must look again.
                self.drained = false;
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// Reads what has arrived into `buffer`, waiting for the first byte; 0 at the end of the stream.
    #[inline]
    pub async fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.drained && !self.direct {
                next_event().await;
            }
            let result = receive(&self.fd, buffer);
            if result >= 0 {
                self.drained = (result as usize) < buffer.len();
                return Ok(result as usize);
            }
            let error = io::Error::last_os_error();
            match error.kind() {
                io::ErrorKind::Interrupted if self.direct => {
                    self.runtime.again();
                    next_event().await;
                }
                io::ErrorKind::WouldBlock => self.drained = true,
                io::ErrorKind::Interrupted => {}
                _ => return Err(error),
            }
        }
    }

    /// The clock of the executor.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.runtime.now_ns()
    }
}

/// `send` without libc's wrapper, which would turn thread cancellation on and off around each call.
#[inline]
fn send(fd: &OwnedFd, bytes: &[u8], flags: libc::c_int) -> libc::c_long {
    // SAFETY: pointer and length describe `bytes`; there is no address.
    unsafe {
        libc::syscall(
            libc::SYS_sendto,
            fd.as_raw_fd(),
            bytes.as_ptr(),
            bytes.len(),
            libc::MSG_NOSIGNAL | flags,
            std::ptr::null::<libc::sockaddr>(),
            0,
        )
    }
}

/// `recv` without libc's wrapper.
#[inline]
fn receive(fd: &OwnedFd, buffer: &mut [u8]) -> libc::c_long {
    // SAFETY: pointer and length describe `buffer`; no address is asked for.
    unsafe {
        libc::syscall(
            libc::SYS_recvfrom,
            fd.as_raw_fd(),
            buffer.as_mut_ptr(),
            buffer.len(),
            0,
            std::ptr::null_mut::<libc::sockaddr>(),
            std::ptr::null_mut::<libc::socklen_t>(),
        )
    }
}

fn checked(result: libc::c_int) -> io::Result<()> {
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Makes a socket wait up to so many seconds when it connects; 0 makes it nonblocking again.
fn set_blocking(fd: &OwnedFd, seconds: libc::time_t) -> io::Result<()> {
    let wait = libc::timeval {
        tv_sec: seconds,
        tv_usec: 0,
    };
    let flags = if seconds == 0 { libc::O_NONBLOCK } else { 0 };
    // SAFETY: the option's value lives through the call and the size is its own.
    unsafe {
        checked(libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_SNDTIMEO,
            (&raw const wait).cast(),
            size_of_val(&wait) as libc::socklen_t,
        ))?;
        checked(libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags))
    }
}

fn open(family: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: no pointers; the descriptor is checked before it is owned.
    unsafe {
        let fd = libc::socket(family, libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0);
        if fd < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(OwnedFd::from_raw_fd(fd))
        }
    }
}

fn connect_inet(fd: libc::c_int, address: SocketAddr) -> libc::c_int {
    match address {
        SocketAddr::V4(v4) => {
            let raw = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr {
                    s_addr: u32::from_ne_bytes(v4.ip().octets()),
                },
                sin_zero: [0; 8],
            };
            // SAFETY: the address lives through the call and the size is its own.
            unsafe { libc::connect(fd, (&raw const raw).cast(), size_of_val(&raw) as libc::socklen_t) }
        }
        SocketAddr::V6(v6) => {
            let raw = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr {
                    s6_addr: v6.ip().octets(),
                },
                sin6_scope_id: v6.scope_id(),
            };
            // SAFETY: as above.
            unsafe { libc::connect(fd, (&raw const raw).cast(), size_of_val(&raw) as libc::socklen_t) }
        }
    }
}
