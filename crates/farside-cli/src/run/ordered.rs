//! The limit of a run that is ordered while it goes on, divided among its processes.

use std::time::{Duration, Instant};

use farside_pager::settings::LEAST_LIMIT;
use farside_wire::control::LimitState;

use crate::together::{Standing, divide};

/// How long a run waits for the limit that `farside balance` gives it before it goes on with its own.
const HOLD: Duration = Duration::from_secs(2);

/// The limit that was ordered for all processes together, if one was.
#[derive(Debug, Default)]
pub struct Ordered {
    bytes: Option<u64>,
    /// Until when processes that join wait for an order.
    hold: Option<Instant>,
}

impl Ordered {
    /// Lets processes wait for the first order for a while.
    pub fn hold(&mut self) {
        self.hold = Some(Instant::now() + HOLD);
    }

    /// How long they may still have to wait; `None` if they have not.
    pub fn held_for(&self) -> Option<Duration> {
        self.hold.map(|until| until.saturating_duration_since(Instant::now()))
    }

    /// Whether processes that join have to wait; no more once that is over.
    pub fn is_held(&mut self) -> bool {
        if self.held_for().is_some_and(|left| left.is_zero()) {
            self.hold = None;
        }
        self.hold.is_some()
    }

    /// What was ordered.
    pub fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    /// Takes an order for the processes that stand so, and says how it is with the limit then.
    pub fn take(&mut self, order: Option<u64>, processes: &[Standing]) -> LimitState {
        let least = least(processes);
        let refused = order.is_some_and(|bytes| bytes < least);
        if let Some(bytes) = order.filter(|_| !refused) {
            self.bytes = Some(bytes);
            self.hold = None;
        }
        let sum = |of: fn(&Standing) -> u64| {
            processes.iter().map(of).fold(0, |sum: u64, it| sum.saturating_add(it))
        };
        LimitState {
            ordered: self.bytes.unwrap_or(0),
            limit: sum(|it| it.limit),
            resident: sum(|it| it.resident),
            least,
            refused,
        }
    }

    /// What each of the processes is to have; `None` if nothing was ordered.
    pub fn divided(&self, processes: &[Standing]) -> Option<Vec<u64>> {
        self.bytes.map(|bytes| divide(bytes, processes))
    }
}

/// The least limit that processes together can run with.
fn least(processes: &[Standing]) -> u64 {
    let all = processes.iter().fold(0, |sum: u64, it| sum.saturating_add(it.least));
    all.max(LEAST_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(mib: u64) -> Standing {
        let bytes = mib << 20;
        Standing { limit: bytes, resident: bytes / 2, footprint: bytes, least: LEAST_LIMIT }
    }

    #[test]
    fn too_little_is_refused_with_the_least() {
        let mut ordered = Ordered::default();
        let two = [uses(30), uses(30)];
        let state = ordered.take(Some(LEAST_LIMIT), &two);
        assert!(state.refused && state.ordered == 0, "{state:?}");
        assert_eq!(state.least, 2 * LEAST_LIMIT);
        assert_eq!(ordered.divided(&two), None);
        let state = ordered.take(Some(state.least), &two);
        assert!(!state.refused, "{state:?}");
        assert_eq!((state.ordered, state.limit, state.resident), (2 << 20, 60 << 20, 30 << 20));
        assert_eq!(ordered.take(None, &[]).least, LEAST_LIMIT);
    }

    #[test]
    fn processes_wait_until_the_first_order() {
        let mut ordered = Ordered::default();
        assert!(!ordered.is_held());
        ordered.hold();
        assert!(ordered.is_held() && ordered.held_for().is_some());
        ordered.take(None, &[]);
        assert!(ordered.is_held());
        ordered.take(Some(5 << 20), &[]);
        assert!(!ordered.is_held() && ordered.held_for().is_none());
    }
}
