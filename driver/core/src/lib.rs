//! What a load driver is made of, without any input or output: values and sessions (traits), workloads (traits),
//! schedules, the recorder, random numbers, the plan and the events.

pub mod clock;
pub mod distribution;
pub mod event;
pub mod histogram;
pub mod plan;
pub mod recorder;
pub mod rng;
pub mod schedule;
pub mod session;
pub mod workload;
