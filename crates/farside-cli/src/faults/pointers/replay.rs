//! Which faults a prefetcher would have foreseen: the faults of a run in which nothing was fetched ahead, told to it one
//! by one.

use std::collections::{HashMap, HashSet, VecDeque};

use farside_policy::prefetch::{FaultKind, PrefetchPlan, by_name};
use farside_trace::PageId;

/// Pages in a list of which it does not matter whether they are used already.
const FEW: usize = 1024;

/// What a prefetcher is played with.
#[derive(Copy, Clone, Debug)]
pub struct Room {
    /// Most pages that it may ask for with a fault.
    pub most: u32,
    /// Faults for which a page stays in memory.
    pub local: u64,
    /// Pages that may be there, foreseen and not used yet; the oldest gives way to one more.
    pub foreseen: usize,
}

impl Room {
    /// So many pages of local memory, and at most `most` foreseen with a fault.
    pub fn new(local: u64, most: u32) -> Self {
        let foreseen = usize::try_from(local / 4).unwrap_or(usize::MAX).max(1);
        Self { most, local: local.max(1), foreseen }
    }
}

/// Tells a prefetcher of faults on these pages; returns which of them it had foreseen. `None` if there is none of that
/// name.
pub fn foreseen(name: &str, pages: &[u64], room: Room) -> Option<Vec<bool>> {
    let mut prefetcher = by_name(name, room.most)?;
    let far: HashSet<u64> = pages.iter().copied().collect();
    let mut asked: HashMap<u64, u64> = HashMap::new();
    let mut order: VecDeque<(u64, u64)> = VecDeque::new();
    let mut used: HashMap<u64, u64> = HashMap::new();
    let mut plan = PrefetchPlan::new();
    let mut covered = Vec::with_capacity(pages.len());
    for (now, &page) in (0..).zip(pages) {
        let is_foreseen = asked.remove(&page).is_some();
        covered.push(is_foreseen);
        used.insert(page, now);
        plan.clear();
        let kind = if is_foreseen { FaultKind::Used } else { FaultKind::Demand };
        prefetcher.fault(PageId(page), kind, &mut plan);
        let wanted = plan.runs().flat_map(|run| run.first.0..run.end());
        for page in wanted.take(room.most as usize) {
            // What never faults has no content, or is not the program's.
            let is_resident = used.get(&page).is_some_and(|at| now - at < room.local);
            if far.contains(&page) && !is_resident && !asked.contains_key(&page) {
                asked.insert(page, now);
                order.push_back((now, page));
            }
        }
        while asked.len() > room.foreseen {
            let Some((at, unused)) = order.pop_front() else { break };
            // Unless it was used, or asked for again.
            if asked.get(&unused) == Some(&at) {
                asked.remove(&unused);
                prefetcher.unused(PageId(unused));
            }
        }
        // Most were used.
        if order.len() > 2 * asked.len() + FEW {
            order.retain(|(at, page)| asked.get(page) == Some(at));
        }
    }
    Some(covered)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(name: &str, pages: &[u64]) -> f64 {
        let covered = foreseen(name, pages, Room::new(64, 8)).expect("a prefetcher");
        covered.iter().filter(|covered| **covered).count() as f64 / pages.len() as f64
    }

    #[test]
    fn passes_are_foreseen_and_scattered_pages_are_not() {
        let passes: Vec<u64> = (0..2).flat_map(|_| 1000..3000).collect();
        let scattered: Vec<u64> = (0..4000u64).map(|i| i * i * 7919 % 100_003).collect();
        for name in ["readahead", "linux", "leap", "spatial"] {
            assert!(share(name, &passes) > 0.6, "{name}: {}", share(name, &passes));
            assert!(share(name, &scattered) < 0.1, "{name}: {}", share(name, &scattered));
        }
        assert_eq!(share("none", &passes), 0.0);
        assert!(foreseen("nobody", &passes, Room::new(64, 8)).is_none());
    }

    #[test]
    fn only_leap_follows_strides() {
        let strided: Vec<u64> = (0..2000).map(|i| i * 17).collect();
        assert!(share("leap", &strided) > 0.7);
        assert!(share("linux", &strided) < 0.1);
    }

    #[test]
    fn what_was_foreseen_long_ago_is_gone() {
        // What lies between the pages is used only after all have been passed.
        let pages: Vec<u64> = (0..500).map(|i| i * 2).chain((0..500).map(|i| i * 2 + 1)).collect();
        let covered = foreseen("readahead", &pages, Room { foreseen: 4, ..Room::new(64, 1) });
        assert_eq!(covered.map(|covered| covered.iter().any(|covered| *covered)), Some(false));
    }
}
