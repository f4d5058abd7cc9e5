//! Pages on their way.

use std::collections::VecDeque;

use farside_policy::replacement::Slot;
use farside_trace::PageId;

use super::{Costs, PAGE};

/// A link that transfers one page after the other, and the prefetched pages on it.
pub struct Flights {
    costs: Costs,
    /// When the link has sent all that was asked for.
    free_ns: f64,
    /// In order of arrival: when, which, and the slot it had in the policy.
    pages: VecDeque<(f64, PageId, Slot)>,
    /// When the first of them arrives; never, if there is none.
    next_ns: f64,
}

impl Flights {
    pub fn new(costs: Costs) -> Self {
        Self { costs, free_ns: 0.0, pages: VecDeque::new(), next_ns: f64::INFINITY }
    }

    /// Sends for `pages` pages at `now_ns`; returns when the last of them arrives.
    pub fn send(&mut self, now_ns: f64, pages: u64) -> f64 {
        let bytes = (pages * PAGE) as f64;
        self.free_ns = self.free_ns.max(now_ns) + bytes * self.costs.byte_ns;
        self.free_ns + self.costs.latency_ns
    }

    /// Sends for a page that nobody waits for yet, and that had the slot `was`.
    pub fn send_page(&mut self, now_ns: f64, page: PageId, was: Slot) {
        let arrival = self.send(now_ns, 1);
        self.pages.push_back((arrival, page, was));
        self.next_ns = self.next_ns.min(arrival);
    }

    /// Whether a page has arrived by `now_ns`.
    #[inline]
    pub fn landed_by(&self, now_ns: f64) -> bool {
        self.next_ns <= now_ns
    }

    /// Takes the next page that has arrived by `now_ns`.
    pub fn pop_landed(&mut self, now_ns: f64) -> Option<(PageId, Slot)> {
        if !self.landed_by(now_ns) {
            return None;
        }
        let (_, page, was) = self.pages.pop_front()?;
        self.next_ns = self.pages.front().map_or(f64::INFINITY, |(arrival, ..)| *arrival);
        Some((page, was))
    }

    /// When `page` arrives.
    pub fn arrival_of(&self, page: PageId) -> Option<f64> {
        self.pages.iter().find(|(_, other, _)| *other == page).map(|(arrival, ..)| *arrival)
    }
}
