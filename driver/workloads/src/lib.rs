//! Workloads, one folder each.
