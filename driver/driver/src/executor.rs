//! A single-threaded executor over epoll. One task drives one connection, so that an event's token is the task's index
//! and no waker is needed: a task is polled when its socket has news, when its timer is due, or when it is woken by
//! index. Sockets are registered once, edge-triggered; timers go through one timerfd, which has no timer slack.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use dyno_core::clock::{Clock as _, SystemClock};
use dyno_wire::Runtime;

use crate::stop::Stop;

const TIMER_TOKEN: u64 = u64::MAX;
const STOP_TOKEN: u64 = u64::MAX - 1;
/// Events taken per call; more connections just need another call.
const EVENTS_MAX: usize = 256;

/// A task: the work of one connection.
pub type Task<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// What the caller of `run` wants next.
pub struct Step {
    /// When to look again at the latest.
    pub deadline_ns: Option<u64>,
    /// Leave unfinished tasks and return.
    pub abandon: bool,
}

pub struct Executor {
    epoll: OwnedFd,
    timer: OwnedFd,
    clock: SystemClock,
    /// CLOCK_MONOTONIC at the clock's origin, for absolute timers.
    origin_ns: u64,
    current: Cell<usize>,
    ready: RefCell<Vec<usize>>,
    sleepers: RefCell<BinaryHeap<Reverse<(u64, usize)>>>,
    armed_ns: Cell<u64>,
    direct: bool,
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

impl Executor {
    /// An executor that also wakes when `stop` is raised.
    pub fn new(clock: SystemClock, origin_ns: u64, stop: &Stop) -> io::Result<Executor> {
        // SAFETY: no pointers; descriptors are checked before they are owned.
        let (epoll, timer) = unsafe {
            let epoll = OwnedFd::from_raw_fd(checked(libc::epoll_create1(libc::EPOLL_CLOEXEC))?);
            let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
            (
                epoll,
                OwnedFd::from_raw_fd(checked(libc::timerfd_create(libc::CLOCK_MONOTONIC, flags))?),
            )
        };
        let executor = Executor {
            epoll,
            timer,
            clock,
            origin_ns,
            current: Cell::new(0),
            ready: RefCell::default(),
            sleepers: RefCell::default(),
            armed_ns: Cell::new(u64::MAX),
            direct: false,
        };
        executor.control(
            libc::EPOLL_CTL_ADD,
            executor.timer.as_raw_fd(),
            libc::EPOLLIN,
            TIMER_TOKEN,
        )?;
        executor.control(libc::EPOLL_CTL_ADD, stop.descriptor(), libc::EPOLLIN, STOP_TOKEN)?;
        Ok(executor)
    }

    /// For a single task: its socket blocks the thread, which saves the executor's own wait.
    pub fn direct(self) -> Executor {
        Executor { direct: true, ..self }
    }

    fn control(&self, operation: libc::c_int, fd: RawFd, events: libc::c_int, token: u64) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: (events | libc::EPOLLET) as u32,
            u64: token,
        };
        // SAFETY: the event lives through the call.
        checked(unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), operation, fd, &raw mut event) }).map(|_| ())
    }

    /// Polls task `index` in the next round.
    pub fn wake(&self, index: usize) {
        self.ready.borrow_mut().push(index);
    }

    /// Lets `step` look, and goes on in the next round.
    pub async fn pause(&self) {
        let mut paused = false;
        std::future::poll_fn(|_| {
            if std::mem::replace(&mut paused, true) {
                return Poll::Ready(());
            }
            self.wake(self.current.get());
            Poll::Pending
        })
        .await;
    }

    /// Waits until `at_ns` or until `over` says so; the task may be polled for other reasons meanwhile.
    pub async fn sleep_until(&self, at_ns: u64, over: impl Fn() -> bool) {
        self.sleepers.borrow_mut().push(Reverse((at_ns, self.current.get())));
        std::future::poll_fn(|_| {
            if self.clock.now_ns() >= at_ns || over() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    /// The result of `future`, or `None` when it takes longer than until `at_ns`.
    pub async fn within<F: Future>(&self, at_ns: u64, future: F) -> Option<F::Output> {
        self.sleepers.borrow_mut().push(Reverse((at_ns, self.current.get())));
        let mut future = pin!(future);
        std::future::poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if self.clock.now_ns() >= at_ns => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        })
        .await
    }

    /// Runs the tasks until all are done. Before each wait `step` is told the time and says when to look again.
    pub fn run(&self, tasks: &mut [Option<Task<'_>>], mut step: impl FnMut(u64) -> Step) -> io::Result<()> {
        let mut context = Context::from_waker(Waker::noop());
        let mut live = tasks.iter().flatten().count();
        let mut batch: Vec<usize> = (0..tasks.len()).collect();
        // SAFETY: an all-zero event is valid.
        let mut events: [libc::epoll_event; EVENTS_MAX] = unsafe { std::mem::zeroed() };
        loop {
            for &index in &batch {
                let Some(task) = tasks.get_mut(index) else { continue };
                self.current.set(index);
                if task
                    .as_mut()
                    .is_some_and(|task| task.as_mut().poll(&mut context).is_ready())
                {
                    *task = None;
                    live -= 1;
                }
            }
            batch.clear();
            if live == 0 {
                return Ok(());
            }
            let now_ns = self.clock.now_ns();
            let next = step(now_ns);
            if next.abandon {
                return Ok(());
            }
            self.wake_sleepers(now_ns);
            self.arm(next.deadline_ns)?;
            std::mem::swap(&mut batch, &mut self.ready.borrow_mut());
            let timeout = if batch.is_empty() { -1 } else { 0 };
            let count = self.wait(&mut events, timeout)?;
            for event in &events[..count] {
                match event.u64 {
                    TIMER_TOKEN => self.armed_ns.set(u64::MAX),
                    STOP_TOKEN => batch.extend(0..tasks.len()),
                    token => batch.push(token as usize),
                }
            }
        }
    }

    fn wait(&self, events: &mut [libc::epoll_event; EVENTS_MAX], timeout_ms: libc::c_int) -> io::Result<usize> {
        // SAFETY: pointer and length describe `events`.
        let result = unsafe {
            libc::epoll_wait(
                self.epoll.as_raw_fd(),
                events.as_mut_ptr(),
                EVENTS_MAX as i32,
                timeout_ms,
            )
        };
        match checked(result) {
            Ok(count) => Ok(count as usize),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            Err(error) => Err(error),
        }
    }

    fn wake_sleepers(&self, now_ns: u64) {
        let mut sleepers = self.sleepers.borrow_mut();
        while sleepers.peek().is_some_and(|Reverse((at_ns, _))| *at_ns <= now_ns) {
            if let Some(Reverse((_, index))) = sleepers.pop() {
                self.ready.borrow_mut().push(index);
            }
        }
    }

    /// Sets the timer for the earliest deadline. A timer that is set for later or is over is set anew; one that is set
    /// for earlier fires once for nothing, which is cheaper than setting it back and forth.
    fn arm(&self, deadline_ns: Option<u64>) -> io::Result<()> {
        let sleeper_ns = self.sleepers.borrow().peek().map(|Reverse((at_ns, _))| *at_ns);
        let earliest_ns = deadline_ns.unwrap_or(u64::MAX).min(sleeper_ns.unwrap_or(u64::MAX));
        if earliest_ns >= self.armed_ns.get() {
            return Ok(());
        }
        self.armed_ns.set(earliest_ns);
        let at_ns = self.origin_ns.saturating_add(earliest_ns);
        let value = libc::itimerspec {
            it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: libc::timespec {
                tv_sec: (at_ns / 1_000_000_000) as libc::time_t,
                tv_nsec: (at_ns % 1_000_000_000) as libc::c_long,
            },
        };
        // SAFETY: the value lives through the call; the old value is not asked for.
        checked(unsafe {
            libc::timerfd_settime(
                self.timer.as_raw_fd(),
                libc::TFD_TIMER_ABSTIME,
                &raw const value,
                std::ptr::null_mut(),
            )
        })
        .map(|_| ())
    }

    /// Runs one future to its end; `None` when `stop` was raised before.
    pub fn block_on<T>(&self, stop: &Stop, future: impl Future<Output = T>) -> io::Result<Option<T>> {
        let result = RefCell::new(None);
        let task: Task<'_> = Box::pin(async {
            let output = future.await;
            *result.borrow_mut() = Some(output);
        });
        self.run(&mut [Some(task)], |_| Step {
            deadline_ns: None,
            abandon: stop.is_raised(),
        })?;
        Ok(result.into_inner())
    }
}

impl Runtime for Executor {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn register(&self, fd: RawFd) -> io::Result<()> {
        self.control(
            libc::EPOLL_CTL_ADD,
            fd,
            libc::EPOLLIN | libc::EPOLLRDHUP,
            self.current.get() as u64,
        )
    }

    fn watch_write(&self, fd: RawFd, on: bool) -> io::Result<()> {
        let write = if on { libc::EPOLLOUT } else { 0 };
        self.control(
            libc::EPOLL_CTL_MOD,
            fd,
            libc::EPOLLIN | libc::EPOLLRDHUP | write,
            self.current.get() as u64,
        )
    }

    fn forget(&self, fd: RawFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, fd, 0, 0)
    }

    fn is_direct(&self) -> bool {
        self.direct
    }

    fn again(&self) {
        self.wake(self.current.get());
    }

    fn entropy(&self) -> [u8; 18] {
        let mut bytes = [0u8; 18];
        // SAFETY: pointer and length describe `bytes`. Requests below 256 bytes are never cut short.
        unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
        bytes
    }
}
