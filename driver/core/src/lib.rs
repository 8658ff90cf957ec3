//! What a load driver is made of, without any input or output: values and sessions (traits), workloads (traits),
//! schedules, the recorder, random numbers, the plan and the events.

pub mod session;
pub mod workload;
