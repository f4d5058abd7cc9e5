//! CLOCK-Pro against one circle with three hands, and on loops and scans.

use crate::support::misses;
use crate::support::naive::{self, Naive};
use farside_policy::replacement::{
    Arrival, ClockPro, ClockProOptions, Lru, ReplacementPolicy, Slot,
};
use farside_trace::PageId;

#[derive(Clone, Copy)]
struct Entry {
    page: PageId,
    hot: bool,
    resident: bool,
    in_test: bool,
    used: bool,
}

/// All pages in one circle, as the paper draws it: the hot hand is at the front, its list head at
/// the back, and a hand that moves on leaves the page it was at behind itself.
struct Circle {
    capacity: usize,
    least_cold: usize,
    cold_target: usize,
    adaptive: bool,
    circle: Vec<Entry>,
    /// Resident cold pages as the cold hand meets them.
    cold: Vec<PageId>,
}

impl Circle {
    fn new(capacity: usize, adaptive: bool) -> Self {
        let least_cold = (capacity / 100).max(2).min(capacity);
        let (circle, cold) = (Vec::new(), Vec::new());
        Self { capacity, least_cold, cold_target: least_cold, adaptive, circle, cold }
    }

    fn count(&self, which: impl Fn(&Entry) -> bool) -> usize {
        self.circle.iter().filter(|entry| which(entry)).count()
    }

    fn take(&mut self, page: PageId) -> Option<Entry> {
        let index = self.circle.iter().position(|entry| entry.page == page)?;
        Some(self.circle.remove(index))
    }

    fn adapt(&mut self, by: isize) {
        if self.adaptive {
            let target = self.cold_target as isize + by;
            self.cold_target =
                target.clamp(self.least_cold as isize, self.capacity as isize) as usize;
        }
    }

    /// Ends the test period of a cold page, and leaves it at the list head unless it is not
    /// resident.
    fn pass(&mut self, mut entry: Entry) {
        if entry.in_test && !entry.used {
            self.adapt(-1);
        }
        entry.in_test = false;
        if entry.resident {
            self.circle.push(entry);
        }
    }

    fn run_hot_hand(&mut self) {
        while self.count(|entry| entry.hot) > self.capacity - self.cold_target {
            let mut entry = self.circle.remove(0);
            if !entry.hot {
                self.pass(entry);
                continue;
            }
            if !entry.used {
                entry.hot = false;
                self.cold.push(entry.page);
            }
            entry.used = false;
            self.circle.push(entry);
        }
        while self.circle.iter().any(|entry| entry.hot) && !self.circle[0].hot {
            let entry = self.circle.remove(0);
            self.pass(entry);
        }
    }

    fn run_test_hand(&mut self) {
        while self.count(|entry| !entry.resident) > self.capacity {
            let index = self.circle.iter().position(|entry| entry.in_test).unwrap();
            if !self.circle[index].used {
                self.adapt(-1);
            }
            self.circle[index].in_test = false;
            if !self.circle[index].resident {
                self.circle.remove(index);
            }
        }
    }

    fn turn_hot(&mut self, page: PageId) {
        self.circle.push(Entry { page, hot: true, resident: true, in_test: false, used: false });
        self.adapt(1);
        self.run_hot_hand();
    }

    fn run_cold_hand(&mut self) -> PageId {
        loop {
            if self.cold.is_empty() {
                // Too few frames for a share of cold pages: the oldest unused hot page turns cold.
                let mut entry = self.circle.remove(0);
                match (entry.hot, entry.used) {
                    (true, false) => {
                        entry.hot = false;
                        self.cold.push(entry.page);
                        self.circle.push(entry);
                    }
                    (true, true) => self.circle.push(Entry { used: false, ..entry }),
                    (false, _) => self.pass(entry),
                }
                continue;
            }
            let page = self.cold.remove(0);
            let index = self.circle.iter().position(|entry| entry.page == page).unwrap();
            let entry = self.circle[index];
            match (entry.used, entry.in_test) {
                (true, true) => {
                    self.circle.remove(index);
                    self.turn_hot(page);
                }
                (true, false) => {
                    self.circle.remove(index);
                    self.circle.push(Entry { used: false, in_test: true, ..entry });
                    self.cold.push(page);
                }
                (false, true) => {
                    self.circle[index].resident = false;
                    self.run_test_hand();
                    return page;
                }
                (false, false) => {
                    self.circle.remove(index);
                    return page;
                }
            }
        }
    }
}

impl Naive for Circle {
    fn reference(&mut self, page: PageId) -> Option<Option<PageId>> {
        if let Some(entry) = self.circle.iter_mut().find(|entry| entry.page == page)
            && entry.resident
        {
            entry.used = true;
            return None;
        }
        let full = self.count(|entry| entry.resident) == self.capacity;
        let victim = full.then(|| self.run_cold_hand());
        if self.take(page).is_some() {
            self.turn_hot(page);
        } else {
            let hot = self.count(|entry| entry.resident) < self.capacity - self.cold_target;
            self.circle.push(Entry { page, hot, resident: true, in_test: !hot, used: false });
            if !hot {
                self.cold.push(page);
            }
        }
        Some(victim)
    }
}

#[test]
fn clock_pro_equals_the_circle_on_the_golden_traces() {
    let test = "clock_pro_equals_the_circle_on_the_golden_traces";
    naive::compare(test, ClockPro::new, |capacity| Circle::new(capacity, true));
}

#[test]
fn clock_pro_with_a_fixed_share_equals_the_circle_on_the_golden_traces() {
    let test = "clock_pro_with_a_fixed_share_equals_the_circle_on_the_golden_traces";
    let options = ClockProOptions { adaptive: false, ..ClockProOptions::default() };
    let policy = || ClockPro::with_options(options);
    naive::compare(test, policy, |capacity| Circle::new(capacity, false));
}

#[test]
fn a_loop_over_more_than_fits_keeps_what_fits() {
    let trace: Vec<_> = (0..20_000).map(|i| PageId(i % 200)).collect();
    assert_eq!(misses(Lru::new(), 150, &trace), 20_000);
    // 148 hot pages stay, and 52 take turns in the two frames for cold pages.
    let fixed = ClockProOptions { adaptive: false, ..ClockProOptions::default() };
    assert_eq!(misses(ClockPro::with_options(fixed), 150, &trace), 200 + 99 * 52);
}

/// A memory full of hot pages 0 to 7 and cold pages 8 and 9.
fn full() -> (ClockPro, Vec<Slot>) {
    let mut policy = ClockPro::new();
    policy.set_capacity(10);
    let slots = (0..10).map(|page| policy.insert(PageId(page), Arrival::Demand)).collect();
    (policy, slots)
}

#[test]
fn a_page_that_comes_back_in_its_test_period_turns_an_unused_hot_page_cold() {
    let (mut policy, slots) = full();
    policy.access(slots[0]);
    assert_eq!(policy.victim(), Some(PageId(8)));
    policy.insert(PageId(8), Arrival::Demand);
    // The share of cold pages grew to three: 1 and 2 turned cold, 0 was spared.
    let leaving: Vec<_> = (0..3).map(|_| policy.victim().unwrap().0).collect();
    assert_eq!(leaving, [9, 1, 2]);
    policy.insert(PageId(1), Arrival::Demand);
    assert_eq!(policy.len(), 8);
    let rest: Vec<_> = std::iter::from_fn(|| policy.victim()).map(|page| page.0).collect();
    assert_eq!(rest, [1, 3, 4, 5, 6, 7, 8, 0], "1 was in no test period and arrived cold");
}

#[test]
fn a_prefetched_page_is_not_hot_before_it_was_used_twice() {
    let (mut policy, _) = full();
    assert_eq!([policy.victim(), policy.victim()], [Some(PageId(8)), Some(PageId(9))]);
    let slot = policy.insert(PageId(50), Arrival::Prefetch);
    policy.insert(PageId(51), Arrival::Prefetch);
    policy.access(slot);
    assert_eq!(policy.victim(), Some(PageId(51)), "used, 50 begins its test period");
    policy.insert(PageId(52), Arrival::Prefetch);
    policy.access(slot);
    let hot = policy.victim();
    assert_eq!(hot, Some(PageId(52)), "used in its test period, 50 turned hot");
}
