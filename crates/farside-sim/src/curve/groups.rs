//! The LRU stack with group headers (PATH section 3, figures 3 and 4, algorithm 1).

use farside_trace::PageId;

use crate::page_map::{NONE, PageMap};

/// Where the stack is divided.
#[derive(Clone, Debug)]
enum Sizes {
    /// After every so many pages.
    Every(usize),
    /// At these depths, in ascending order.
    At(Vec<usize>),
}

impl Sizes {
    fn get(&self, group: usize) -> Option<usize> {
        match self {
            Self::Every(pages) => Some((group + 1) * pages),
            Self::At(sizes) => sizes.get(group).copied(),
        }
    }
}

/// All pages from the most to the least recently used, divided into groups of which each page knows its
/// own: the distance of a reference is known up to the group.
///
/// A reference moves one page over each border above it, so it costs as much as there are borders. With
/// borders at the sizes of interest that is a simulation of LRU at all of them at once.
#[derive(Clone, Debug)]
pub struct LruStack {
    ids: PageMap,
    older: Vec<u32>,
    younger: Vec<u32>,
    group: Vec<u32>,
    top: u32,
    bottom: u32,
    sizes: Sizes,
    /// The oldest page of each group that is full.
    headers: Vec<u32>,
    /// References by group.
    counts: Vec<u64>,
    cold: u64,
}

impl LruStack {
    /// An empty stack in groups of `pages` pages, at least one.
    pub fn in_groups_of(pages: usize) -> Self {
        Self::new(Sizes::Every(pages.max(1)))
    }

    /// An empty stack divided at the given sizes of memory; 0 is left out.
    pub fn at_sizes(sizes: &[usize]) -> Self {
        let mut sizes: Vec<_> = sizes.iter().copied().filter(|size| *size > 0).collect();
        sizes.sort_unstable();
        sizes.dedup();
        Self::new(Sizes::At(sizes))
    }

    fn new(sizes: Sizes) -> Self {
        Self {
            ids: PageMap::new(),
            older: Vec::new(),
            younger: Vec::new(),
            group: Vec::new(),
            top: NONE,
            bottom: NONE,
            sizes,
            headers: Vec::new(),
            counts: vec![0],
            cold: 0,
        }
    }

    /// Moves `page` to the top; the group it was in, or `None` if it is new.
    #[inline]
    pub fn reference(&mut self, page: PageId) -> Option<usize> {
        let place = self.ids.entry(page);
        if *place == NONE {
            let id = self.older.len() as u32;
            *place = id;
            self.add(id);
            return None;
        }
        let id = *place;
        let group = self.group[id as usize];
        self.counts[group as usize] += 1;
        if id != self.top {
            self.raise(id, group as usize);
        }
        Some(group as usize)
    }

    /// Misses of a memory of `pages` pages, if the stack is divided there.
    pub fn misses(&self, pages: usize) -> Option<u64> {
        let border =
            (0..).map_while(|group| self.sizes.get(group)).take_while(|size| *size < pages);
        let group = border.count();
        if self.sizes.get(group) != Some(pages) {
            return None;
        }
        Some(self.cold + self.counts.iter().skip(group + 1).sum::<u64>())
    }

    /// Number of different pages.
    pub fn pages(&self) -> usize {
        self.older.len()
    }

    fn add(&mut self, id: u32) {
        self.cold += 1;
        self.older.push(NONE);
        self.younger.push(NONE);
        self.group.push(0);
        self.link_top(id);
        if self.bottom == NONE {
            self.bottom = id;
        }
        self.shift(self.headers.len());
        if self.sizes.get(self.headers.len()) == Some(self.older.len()) {
            self.headers.push(self.bottom);
            self.counts.push(0);
        }
    }

    fn raise(&mut self, id: u32, group: usize) {
        let (older, younger) = (self.older[id as usize], self.younger[id as usize]);
        if self.headers.get(group) == Some(&id) {
            self.headers[group] = younger;
        }
        self.older[younger as usize] = older;
        match self.younger.get_mut(older as usize) {
            Some(link) => *link = younger,
            None => self.bottom = younger,
        }
        self.link_top(id);
        self.group[id as usize] = 0;
        self.shift(group);
    }

    fn link_top(&mut self, id: u32) {
        let below = std::mem::replace(&mut self.top, id);
        self.older[id as usize] = below;
        self.younger[id as usize] = NONE;
        if let Some(link) = self.younger.get_mut(below as usize) {
            *link = id;
        }
    }

    /// A page came to the top: the oldest page of each of the first `groups` groups moves to the next.
    fn shift(&mut self, groups: usize) {
        for header in &mut self.headers[..groups] {
            self.group[*header as usize] += 1;
            *header = self.younger[*header as usize];
        }
    }
}
