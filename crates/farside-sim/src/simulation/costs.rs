//! What things take.

use super::Outcome;

/// Times of the timed model, in nanoseconds.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Costs {
    /// Work of the program for each data access, its own computing included.
    pub access_ns: f64,
    /// Entering and leaving a fault, without the wait for the page.
    pub fault_ns: f64,
    /// A first touch as a whole.
    pub first_touch_ns: f64,
    /// From sending for a page until its first byte arrives.
    pub latency_ns: f64,
    /// For each byte on the network.
    pub byte_ns: f64,
    /// A fault as a whole in PATH's formula.
    pub path_fault_ns: f64,
}

impl Default for Costs {
    /// One access a nanosecond, 5 us for a fault, 5 us and 25 Gbit/s for the network; PATH's fault is a
    /// million cycles of a processor with 1.5 GHz (section 5).
    fn default() -> Self {
        Self {
            access_ns: 1.0,
            fault_ns: 5_000.0,
            first_touch_ns: 500.0,
            latency_ns: 5_000.0,
            byte_ns: 8.0 / 25.0,
            path_fault_ns: 1e6 / 1.5,
        }
    }
}

impl Costs {
    /// The run time by PATH's formula (section 5): that without faults, and a fixed wait for each fault.
    pub fn path_time_ns(&self, outcome: &Outcome, data_accesses: u64) -> u64 {
        let work = self.access_ns * data_accesses as f64;
        (work + self.path_fault_ns * outcome.demand_faults() as f64).round() as u64
    }
}
