//! How much memory is enough.

use crate::curve::Curve;
use crate::simulation::Costs;

/// The least memory with which a program is slowed down by at most a given share.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Need {
    /// The slowdown: 0.05 for 5 %.
    pub slowdown: f64,
    /// Pages of memory.
    pub pages: usize,
}

/// The memory that a program needs for each slowdown, by its curve and a cost model: work for each data
/// access, and a fixed wait for each page that has to be fetched. First touches cost the same in any
/// memory and are left out.
pub fn needs(curve: &Curve, data_accesses: u64, costs: &Costs, slowdowns: &[f64]) -> Vec<Need> {
    let work_ns = costs.access_ns * data_accesses as f64;
    let page_ns = costs.byte_ns * farside_trace::PAGE_SIZE as f64;
    let fault_ns = costs.fault_ns + costs.latency_ns + page_ns;
    let cold = curve.misses(usize::MAX);
    let need = |slowdown: f64| {
        let faults = (work_ns * slowdown / fault_ns).floor() as u64;
        let pages = curve.smallest_with(cold + faults).unwrap_or(0);
        Need { slowdown, pages: pages.max(1) }
    };
    slowdowns.iter().copied().map(need).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::Distances;

    #[test]
    fn less_memory_is_enough_where_more_waiting_is_allowed() {
        let mut distances = Distances::default();
        (0..100).for_each(|_| distances.add_cold());
        (0..900).for_each(|_| distances.add(10));
        (0..100).for_each(|_| distances.add(100));
        let curve = distances.curve();
        let costs = Costs {
            access_ns: 1e6,
            fault_ns: 1e6,
            latency_ns: 0.0,
            byte_ns: 0.0,
            ..Costs::default()
        };
        let pages: Vec<_> =
            needs(&curve, 1100, &costs, &[0.01, 0.1, 0.9, 1.0]).iter().map(|n| n.pages).collect();
        assert_eq!(pages, [100, 10, 10, 1]);
    }
}
