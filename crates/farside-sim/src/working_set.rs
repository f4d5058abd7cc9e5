//! The working set over time (Denning, 1968): how many different pages each stretch of a run touches.

use farside_trace::Access;

use crate::page_map::PageMap;

/// Most stretches; when there would be more, two become one.
const MOST: usize = 1024;

/// Different pages by stretch of equally many accesses.
///
/// The stretches grow with the trace, so that there are about a thousand at most. What was put together
/// from two counts a page of both once, as long as they lay side by side; put together again and again,
/// it may count a page more than once.
#[derive(Clone, Debug)]
pub struct WorkingSet {
    /// By page: the stretch in which it was touched last, counted in stretches of the present length.
    last: PageMap,
    stretch: u64,
    seen: u64,
    /// Pages touched in each stretch, and those of them that were touched in the one before as well.
    counts: Vec<Stretch>,
}

#[derive(Copy, Clone, Debug, Default)]
struct Stretch {
    pages: u64,
    /// Of these, those that the stretch before touched as well.
    again: u64,
}

impl WorkingSet {
    /// Before the first access; a stretch has `stretch` accesses at first.
    pub fn new(stretch: u64) -> Self {
        Self { last: PageMap::new(), stretch: stretch.max(1), seen: 0, counts: Vec::new() }
    }

    /// Takes in an access.
    #[inline]
    pub fn add(&mut self, access: Access) {
        let now = (self.seen / self.stretch) as usize;
        self.seen += 1;
        if now >= self.counts.len() {
            if now == MOST {
                self.merge();
                self.seen -= 1;
                return self.add(access);
            }
            self.counts.push(Stretch::default());
        }
        let last = std::mem::replace(self.last.entry(access.page), now as u32);
        if last != now as u32 {
            self.counts[now].pages += 1;
            self.counts[now].again += u64::from(now > 0 && last == now as u32 - 1);
        }
    }

    /// Makes one stretch of every two.
    #[cold]
    fn merge(&mut self) {
        self.stretch *= 2;
        // What the new second half shares with the new first half before it is not known exactly: pages
        // of the half next to it are.
        self.counts = self
            .counts
            .chunks(2)
            .map(|pair| {
                let (first, second) = (pair[0], pair.get(1).copied().unwrap_or_default());
                Stretch { pages: first.pages + second.pages - second.again, again: first.again }
            })
            .collect();
        for last in self.last.values_mut().filter(|last| **last != crate::page_map::NONE) {
            *last /= 2;
        }
    }

    /// Accesses in a stretch, and the different pages of each stretch in order.
    pub fn stretches(&self) -> (u64, Vec<u64>) {
        (self.stretch, self.counts.iter().map(|stretch| stretch.pages).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farside_trace::PageId;

    fn of(pages: impl IntoIterator<Item = u64>) -> (u64, Vec<u64>) {
        let mut set = WorkingSet::new(4);
        pages.into_iter().for_each(|page| set.add(Access::from(PageId(page))));
        set.stretches()
    }

    #[test]
    fn each_stretch_counts_its_pages_once() {
        assert_eq!(of([1, 1, 2, 1, 3, 4, 5, 6, 1]), (4, vec![2, 4, 1]));
        assert_eq!(of([]), (4, vec![]));
    }

    #[test]
    fn stretches_are_put_together_when_there_are_many() {
        let (stretch, pages) = of((0..4 * 1024 + 8).map(|i| i % 4));
        assert_eq!((stretch, pages.len()), (8, 513));
        assert!(pages.iter().all(|pages| *pages == 4), "{pages:?}");
    }
}
