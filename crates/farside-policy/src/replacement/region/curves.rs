//! Miss-rate curves around the present size of each region (PATH, section 3.2 and figure 4).

use std::ops::Range;

use super::super::Slot;
use super::super::list::Lists;
use super::map::MOST_REGIONS;

/// Groups of pages in a stack: up to one step below the size, up to the size, up to one step above.
/// Pages further down need not be known.
const GROUPS: usize = 3;

const LISTS: usize = GROUPS * MOST_REGIONS;

/// A replacement order whose misses are counted for all memory sizes at once.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// What was not used for longest leaves first.
    Lru,
    /// What was used last leaves first.
    Mru,
}

/// Misses since the last reset, had the region had so much memory.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Misses {
    /// One step less than the present size.
    pub less: u64,
    /// The present size.
    pub present: u64,
    /// One step more.
    pub more: u64,
}

impl Misses {
    /// Counts a reference to a page in a group, or in none of them.
    fn count(&mut self, group: Option<usize>) {
        let group = group.unwrap_or(GROUPS);
        self.less += u64::from(group > 0);
        self.present += u64::from(group > 1);
        self.more += u64::from(group > 2);
    }
}

/// Stacks of all regions, each divided into groups around the region's size. The young end of the
/// first group is the top of the stack.
#[derive(Clone, Debug)]
struct Stacks {
    lists: Lists<LISTS>,
    misses: [Misses; MOST_REGIONS],
}

/// LRU and MRU stacks of each region, cut off one step below its size, and the misses counted
/// there.
///
/// Both orders are stack algorithms in Mattson's sense: what fits in less memory is a subset of
/// what fits in more, so that one stack tells the misses for all sizes. To the LRU stack the page
/// moves from where it was to the top. In the MRU stack it changes places with the page at the top,
/// which is the one that leaves memories of any size in which the page was not. PATH ranks the LRU
/// stack from below instead, which counts a loop over any number of pages as hits; this is exact.
///
/// A page's two bits of rank are the list it is in. A reference costs a constant number of steps, a
/// change of a region's size as many as pages change their group.
#[derive(Clone, Debug)]
pub struct Curves {
    lru: Stacks,
    mru: Stacks,
    sizes: [usize; MOST_REGIONS],
    step: usize,
    /// Slots that are in no stack any more.
    gone: Vec<Slot>,
}

impl Stacks {
    fn new() -> Self {
        Self {
            lists: Lists::new(),
            misses: [Misses { less: 0, present: 0, more: 0 }; MOST_REGIONS],
        }
    }

    fn group_of(&self, slot: Slot) -> Option<usize> {
        self.lists.list_of(slot).map(|list| list % GROUPS)
    }

    /// The topmost slot in some groups of a region.
    fn top_of(&self, mut lists: Range<usize>) -> Option<Slot> {
        lists.find_map(|list| self.lists.youngest(list))
    }

    /// Fills groups that have become too small from those below them, and the other way round;
    /// `drop` gets what is left over.
    fn fit(&mut self, region: usize, sizes: [usize; GROUPS], mut drop: impl FnMut(Slot)) {
        let first = region * GROUPS;
        let upper = || sizes.into_iter().take(GROUPS - 1).enumerate();
        for (group, size) in upper() {
            while self.lists.len(first + group) > size
                && let Some(slot) = self.lists.pop_oldest(first + group)
            {
                self.lists.push_youngest(first + group + 1, slot);
            }
        }
        for (group, size) in upper() {
            while self.lists.len(first + group) < size
                && let Some(slot) = self.top_of(first + group + 1..first + GROUPS)
            {
                self.lists.remove(slot);
                self.lists.push_oldest(first + group, slot);
            }
        }
        while self.lists.len(first + GROUPS - 1) > sizes[GROUPS - 1]
            && let Some(slot) = self.lists.pop_oldest(first + GROUPS - 1)
        {
            drop(slot);
        }
    }

    /// Moves a page to the top.
    fn raise(&mut self, region: usize, slot: Slot, sizes: [usize; GROUPS]) -> Option<Slot> {
        let group = self.group_of(slot);
        self.misses[region].count(group);
        if group.is_some() {
            self.lists.remove(slot);
        }
        let first = region * GROUPS;
        self.lists.push_youngest(first, slot);
        for (group, size) in sizes.into_iter().enumerate() {
            if self.lists.len(first + group) <= size {
                return None;
            }
            let slot = self.lists.pop_oldest(first + group)?;
            if group + 1 == GROUPS {
                return Some(slot);
            }
            self.lists.push_youngest(first + group + 1, slot);
        }
        None
    }

    /// Lets a page and the one at the top change places; a new page sends that one to the bottom.
    fn exchange(&mut self, region: usize, slot: Slot, sizes: [usize; GROUPS]) -> Option<Slot> {
        let group = self.group_of(slot);
        self.misses[region].count(group);
        let first = region * GROUPS;
        let Some(top) = self.top_of(first..first + GROUPS) else {
            let group = sizes.iter().position(|size| *size > 0)?;
            self.lists.push_youngest(first + group, slot);
            return None;
        };
        let list = self.lists.list_of(top)?;
        if top == slot {
            return None;
        }
        self.lists.remove(top);
        if group.is_some() {
            self.lists.replace(slot, top);
            self.lists.push_youngest(list, slot);
            return None;
        }
        self.lists.push_youngest(list, slot);
        let room = (0..GROUPS).find(|group| self.lists.len(first + group) < sizes[*group]);
        let Some(group) = room else { return Some(top) };
        self.lists.push_oldest(first + group, top);
        None
    }
}

impl Curves {
    /// Regions without pages and without memory, whose curves are known `step` pages around their
    /// size; at least one.
    pub fn new(step: usize) -> Self {
        Self {
            lru: Stacks::new(),
            mru: Stacks::new(),
            sizes: [0; MOST_REGIONS],
            step: step.max(1),
            gone: Vec::new(),
        }
    }

    /// Makes room for the slots below `slots`.
    pub fn reserve(&mut self, slots: usize) {
        self.lru.lists.reserve(slots);
        self.mru.lists.reserve(slots);
        self.gone.reserve_exact(slots.saturating_sub(self.gone.len()));
    }

    /// Most slots in the stacks of `regions` regions with `pages` pages of memory together.
    pub fn most_slots(pages: usize, step: usize, regions: usize) -> usize {
        pages.saturating_add(step.saturating_mul(regions)).saturating_mul(2)
    }

    fn group_sizes(&self, region: usize) -> [usize; GROUPS] {
        let size = self.sizes[region];
        let less = size.saturating_sub(self.step);
        [less, size - less, self.step]
    }

    /// Memory of a region, in pages.
    pub const fn size(&self, region: usize) -> usize {
        self.sizes[region]
    }

    /// Changes a region's memory.
    pub fn resize(&mut self, region: usize, pages: usize) {
        self.sizes[region] = pages;
        self.fit(region);
    }

    /// Changes the distance between the points of all curves.
    pub fn set_step(&mut self, step: usize) {
        self.step = step.max(1);
        (0..MOST_REGIONS).for_each(|region| self.fit(region));
    }

    fn fit(&mut self, region: usize) {
        let sizes = self.group_sizes(region);
        let Self { lru, mru, gone, .. } = self;
        lru.fit(region, sizes, |slot| {
            if mru.group_of(slot).is_none() {
                gone.push(slot);
            }
        });
        mru.fit(region, sizes, |slot| {
            if lru.group_of(slot).is_none() {
                gone.push(slot);
            }
        });
    }

    /// Counts a reference to the page at `slot`, which belongs to `region`.
    pub fn access(&mut self, region: usize, slot: Slot) {
        let sizes = self.group_sizes(region);
        let left = self.lru.raise(region, slot, sizes);
        let left = [left, self.mru.exchange(region, slot, sizes)];
        for slot in left.into_iter().flatten() {
            // A page that left both stacks is told once: both cannot be the same page otherwise.
            if !self.holds(slot) && self.gone.last() != Some(&slot) {
                self.gone.push(slot);
            }
        }
    }

    /// Forgets the page at `slot`.
    pub fn remove(&mut self, region: usize, slot: Slot) {
        for stacks in [&mut self.lru, &mut self.mru] {
            if stacks.group_of(slot).is_some() {
                stacks.lists.remove(slot);
            }
        }
        self.fit(region);
    }

    /// Whether the page at `slot` is in a stack.
    pub fn holds(&self, slot: Slot) -> bool {
        self.lru.group_of(slot).is_some() || self.mru.group_of(slot).is_some()
    }

    /// A slot that was in a stack and is in none any more, each one once.
    pub fn next_gone(&mut self) -> Option<Slot> {
        self.gone.pop()
    }

    /// The misses of a region in one order.
    pub const fn misses(&self, region: usize, order: Order) -> Misses {
        match order {
            Order::Lru => self.lru.misses[region],
            Order::Mru => self.mru.misses[region],
        }
    }

    /// Forgets the pages and the misses of a region, whose memory stays as it is.
    pub fn clear(&mut self, region: usize) {
        let Self { lru, mru, gone, .. } = self;
        for list in region * GROUPS..(region + 1) * GROUPS {
            while let Some(slot) = lru.lists.pop_oldest(list) {
                if mru.group_of(slot).is_none() {
                    gone.push(slot);
                }
            }
        }
        for list in region * GROUPS..(region + 1) * GROUPS {
            gone.extend(std::iter::from_fn(|| mru.lists.pop_oldest(list)));
        }
        self.reset(region);
    }

    /// Begins to count anew.
    pub fn reset(&mut self, region: usize) {
        self.lru.misses[region] = Misses::default();
        self.mru.misses[region] = Misses::default();
    }

    /// Makes the MRU stack that of a memory which holds what LRU keeps, and is MRU from now on.
    pub fn restart_mru(&mut self, region: usize) {
        let Self { lru, mru, gone, .. } = self;
        let lists = region * GROUPS..(region + 1) * GROUPS;
        for list in lists.clone() {
            while let Some(slot) = mru.lists.pop_oldest(list) {
                if lru.group_of(slot).is_none() {
                    gone.push(slot);
                }
            }
        }
        for list in lists {
            lru.lists.iter(list).for_each(|slot| mru.lists.push_youngest(list, slot));
        }
    }
}
