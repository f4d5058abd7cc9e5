//! Pages on their way.

use std::collections::VecDeque;

use farside_trace::PageId;

use super::{Costs, PAGE};

/// A link that transfers one page after the other, and the prefetched pages on it.
pub struct Flights {
    costs: Costs,
    /// When the link has sent all that was asked for.
    free_ns: f64,
    /// In order of arrival.
    pages: VecDeque<(f64, PageId)>,
}

impl Flights {
    pub fn new(costs: Costs) -> Self {
        Self { costs, free_ns: 0.0, pages: VecDeque::new() }
    }

    /// Sends for `pages` pages at `now_ns`; returns when the last of them arrives.
    pub fn send(&mut self, now_ns: f64, pages: u64) -> f64 {
        let bytes = (pages * PAGE) as f64;
        self.free_ns = self.free_ns.max(now_ns) + bytes * self.costs.byte_ns;
        self.free_ns + self.costs.latency_ns
    }

    /// Sends for a page that nobody waits for yet.
    pub fn send_page(&mut self, now_ns: f64, page: PageId) {
        let arrival = self.send(now_ns, 1);
        self.pages.push_back((arrival, page));
    }

    /// Whether a page has arrived by `now_ns`.
    #[inline]
    pub fn landed_by(&self, now_ns: f64) -> bool {
        self.pages.front().is_some_and(|(arrival, _)| *arrival <= now_ns)
    }

    /// Takes the next page that has arrived by `now_ns`.
    pub fn pop_landed(&mut self, now_ns: f64) -> Option<PageId> {
        if !self.landed_by(now_ns) {
            return None;
        }
        self.pages.pop_front().map(|(_, page)| page)
    }

    /// When `page` arrives.
    pub fn arrival_of(&self, page: PageId) -> Option<f64> {
        self.pages.iter().find(|(_, other)| *other == page).map(|(arrival, _)| *arrival)
    }
}
