//! All that a node says of itself in numbers.

use std::sync::atomic::Ordering;

use farside_wire::figures::COUNT;

use crate::network::Node;

impl Node {
    /// The values of [`FIGURES`](farside_wire::figures::FIGURES), in that order.
    pub fn figures(&self) -> [u64; COUNT] {
        let (pools, connections) = self.occupancy();
        let vitals = self.vitals();
        let counters = self.counters();
        let counts = [
            &counters.pages_read,
            &counters.pages_written,
            &counters.requests,
            &counters.pages_missed,
            &counters.pages_refused,
            &counters.pages_damaged,
            &counters.bad_messages,
            &counters.refused_connections,
            &counters.leases_ended,
            &counters.parts_read,
            &counters.parts_written,
        ]
        .map(|counter| counter.load(Ordering::Relaxed));
        let [
            read,
            written,
            requests,
            missed,
            refused,
            damaged,
            bad,
            turned_away,
            leases,
            parts_read,
            parts_written,
        ] = counts;
        [
            vitals.total,
            vitals.free,
            pools as u64,
            connections as u64,
            self.is_draining().into(),
            read,
            written,
            requests,
            missed,
            refused,
            damaged,
            bad,
            turned_away,
            leases,
            parts_read,
            parts_written,
        ]
    }
}
