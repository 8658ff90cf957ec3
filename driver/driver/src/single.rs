//! One connection on this thread, for what needs no more.

use std::rc::Rc;

use dyno_core::event::ErrorEvent;
use dyno_wire::Wire;

use crate::client::Connector;
use crate::executor::Executor;
use crate::failure;
use crate::stop::Stop;
use crate::worker::Shared;

/// An executor for one connection on this thread.
pub struct Single<'a> {
    shared: &'a Shared,
    executor: Rc<Executor>,
    stop: &'a Stop,
}

impl<'a> Single<'a> {
    pub fn new(shared: &'a Shared) -> Result<Single<'a>, ErrorEvent> {
        let executor = Executor::new(shared.clock, shared.origin_ns, &shared.stop);
        let executor = Rc::new(executor.map_err(|error| failure::io("epoll", &error))?);
        Ok(Single {
            shared,
            executor,
            stop: &shared.stop,
        })
    }

    /// Opens a connection without statements; `None` when the driver was stopped meanwhile.
    pub fn connect<C: Wire>(&self) -> Result<Option<C>, ErrorEvent> {
        let connector = Connector {
            plan: &self.shared.plan,
            statements: Vec::new().into(),
            session: Vec::new().into(),
            executor: self.executor.clone(),
            stop: &self.shared.stop,
        };
        self.wait(async { connector.connect().await.map_err(|error| failure::connect(&error)) })
    }

    /// Runs `future` to its end; `None` when the driver was stopped meanwhile.
    pub fn wait<T>(&self, future: impl Future<Output = Result<T, ErrorEvent>>) -> Result<Option<T>, ErrorEvent> {
        self.executor
            .block_on(self.stop, future)
            .map_err(|error| failure::io("epoll", &error))?
            .transpose()
    }
}
