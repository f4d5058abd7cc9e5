//! Following pointers ahead of a program: structures in a small memory, walked as programs do.

use std::collections::{BTreeMap, VecDeque};

use farside_policy::prefetch::{
    Conservative, FaultKind, Fetches, Memory, Place, Pointer, PointerOptions, Walk,
};
use proptest::prelude::*;

const PAGE: u64 = 4096;
const BASE: u64 = 1 << 40;

/// Memory of which only some pages are here: those that came last.
struct Sim {
    words: BTreeMap<u64, Box<[u64; 512]>>,
    here: VecDeque<u64>,
    /// Those of them that stay unmapped until they are used.
    watched: Vec<u64>,
    /// Prefetched and not used since.
    unused: Vec<u64>,
    capacity: usize,
    /// Pages full of pointers that came lately, the newest first.
    array_pages: VecDeque<u64>,
}

impl Memory for Sim {
    fn place(&self, page: u64) -> Place {
        match () {
            () if self.here.contains(&page) => Place::Here,
            () if self.words.contains_key(&page) => Place::Far,
            () => Place::Elsewhere,
        }
    }

    fn read(&mut self, address: u64, into: &mut [u64]) -> bool {
        if !self.here.contains(&(address / PAGE)) {
            return false;
        }
        assert!(address % PAGE + into.len() as u64 * 8 <= PAGE, "only one page is read");
        let at = (address % PAGE / 8) as usize;
        into.copy_from_slice(&self.words[&(address / PAGE)][at..at + into.len()]);
        true
    }

    fn array_page(&self, age: usize) -> Option<u64> {
        self.array_pages.get(age).copied()
    }
}

/// A program whose faults are seen by the prefetcher.
struct Program {
    sim: Sim,
    pointer: Pointer,
    demand: u64,
    used: u64,
    fetched: u64,
}

impl Program {
    fn new(pages: u64, capacity: usize, options: PointerOptions) -> Self {
        let identify = Box::new(Conservative { first: BASE, len: pages * PAGE });
        let (words, here) = (BTreeMap::new(), VecDeque::new());
        let sim = Sim {
            words,
            here,
            watched: Vec::new(),
            unused: Vec::new(),
            capacity,
            array_pages: VecDeque::new(),
        };
        let pointer = Pointer::new(options, identify);
        Self { sim, pointer, demand: 0, used: 0, fetched: 0 }
    }

    fn set(&mut self, address: u64, word: u64) {
        let page = self.sim.words.entry(address / PAGE).or_insert_with(|| Box::new([0; 512]));
        page[(address % PAGE / 8) as usize] = word;
    }

    fn get(&self, address: u64) -> u64 {
        self.sim.words[&(address / PAGE)][(address % PAGE / 8) as usize]
    }

    /// Brings a page here, and the last one away.
    fn bring(&mut self, page: u64) {
        self.sim.here.push_back(page);
        if self.sim.here.len() > self.sim.capacity {
            let gone = self.sim.here.pop_front().unwrap();
            self.sim.watched.retain(|page| *page != gone);
            if self.sim.unused.contains(&gone) {
                self.sim.unused.retain(|page| *page != gone);
                self.pointer.unused(gone);
            }
        }
    }

    /// Uses an address.
    fn touch(&mut self, address: u64) -> u64 {
        let page = address / PAGE;
        let is_here = self.sim.here.contains(&page);
        let was_unused = self.sim.unused.contains(&page);
        self.sim.unused.retain(|unused| *unused != page);
        self.used += u64::from(was_unused);
        if !is_here || self.sim.watched.contains(&page) {
            let kind = if is_here { FaultKind::Used } else { FaultKind::Demand };
            let (walk, resumed) = self.pointer.fault(address, kind);
            self.sim.watched.retain(|watched| *watched != page);
            if !is_here {
                self.demand += 1;
                self.bring(page);
            }
            let mut fetches = Fetches::default();
            self.pointer.enter(&mut self.sim, walk, &mut fetches);
            let mut todo: VecDeque<_> = resumed.into_iter().chain(fetches.iter()).collect();
            while let Some(send) = todo.pop_front() {
                let page = send.walk.entry / PAGE;
                if self.sim.place(page) == Place::Far {
                    self.fetched += 1;
                    self.bring(page);
                    self.sim.unused.push(page);
                    if send.watch {
                        self.sim.watched.push(page);
                    }
                }
                todo.extend(self.arrive(send.walk));
            }
        }
        self.get(address)
    }

    fn arrive(&mut self, walk: Walk) -> Vec<farside_policy::prefetch::Fetch> {
        let mut fetches = Fetches::default();
        if self.sim.place(walk.entry / PAGE) == Place::Here {
            self.pointer.arrived(&mut self.sim, walk, &mut fetches);
        }
        fetches.iter().collect()
    }

    /// Parts of a hundred of the faults that there would have been which are covered.
    fn coverage(&self) -> u64 {
        self.used * 100 / (self.used + self.demand).max(1)
    }
}

/// Numbers from 0 to before `count` in an order by chance.
fn shuffled(count: u64, seed: u64) -> Vec<u64> {
    let mut order: Vec<u64> = (0..count).collect();
    let mut state = seed;
    for at in (1..order.len()).rev() {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.swap(at, (state >> 33) as usize % (at + 1));
    }
    order
}

/// A list of nodes of so many bytes, whose pointer to the next lies somewhere in them; returns the first.
fn list(program: &mut Program, nodes: u64, size: u64, next: u64, seed: u64) -> u64 {
    let order = shuffled(nodes, seed);
    for (at, node) in order.iter().enumerate() {
        let following = order[(at + 1) % order.len()];
        program.set(BASE + node * size + next, BASE + following * size);
        program.set(BASE + node * size, *node);
    }
    BASE + order[0] * size
}

#[test]
fn a_list_of_pages_is_followed() {
    let mut program = Program::new(4000, 2000, PointerOptions::default());
    let mut node = list(&mut program, 4000, PAGE, 8, 1);
    for _ in 0..8000 {
        program.touch(node);
        node = program.touch(node + 8);
    }
    assert_eq!((program.demand, program.fetched, program.coverage()), (25, 8004, 99));
}

#[test]
fn a_list_of_small_nodes_is_followed_through_pages_that_are_here() {
    let mut program = Program::new(500, 250, PointerOptions::default());
    let mut node = list(&mut program, 500 * 64, 64, 48, 2);
    for _ in 0..32_000 {
        program.touch(node + 16);
        node = program.touch(node + 48);
    }
    assert_eq!((program.demand, program.fetched, program.coverage()), (857, 20348, 95));
}

#[test]
fn the_elements_of_an_array_of_pointers_are_fetched() {
    let mut program = Program::new(3000, 1000, PointerOptions::default());
    let order = shuffled(2000, 3);
    for (at, object) in order.iter().enumerate() {
        program.set(BASE + at as u64 * 8, BASE + (100 + object) * PAGE);
        program.set(BASE + (100 + object) * PAGE + 24, at as u64);
    }
    for _ in 0..2 {
        for at in 0..2000 {
            let object = program.touch(BASE + at * 8);
            program.touch(object + 24);
        }
    }
    assert_eq!((program.demand, program.fetched, program.coverage()), (74, 3934, 98));
}

/// Elements of 32 bytes, each of which points to a text: what is sorted.
struct Lines {
    /// Where they end: they are gone through backwards.
    end: u64,
}

impl Lines {
    /// Makes lines that point to texts on these pages, at any byte.
    fn new(program: &mut Program, end: u64, pages: &[u64]) -> Self {
        let lines = Self { end };
        for (at, page) in pages.iter().enumerate() {
            program.set(lines.place(at as u64), BASE + page * PAGE + 17 + page % 3000);
            program.set(lines.place(at as u64) + 8, 40);
            program.set(BASE + page * PAGE, *page);
        }
        lines
    }

    fn place(&self, at: u64) -> u64 {
        self.end - 32 * (at + 1)
    }

    /// Uses the text of a line; the pages that the lines lie in have come ahead of the program.
    fn touch(&self, program: &mut Program, at: u64) {
        let page = self.place(at) / PAGE;
        if !program.sim.here.contains(&page) {
            program.bring(page);
            program.sim.array_pages.push_front(page);
        }
        let text = program.touch(self.place(at));
        program.touch(text + at % 8);
    }
}

#[test]
fn what_arrays_point_to_that_are_here_is_fetched() {
    let mut program = Program::new(4000, 1000, PointerOptions::default());
    let pages: Vec<_> = shuffled(3000, 6).into_iter().map(|page| 100 + page).collect();
    let (first, second) = pages.split_at(1500);
    let first = Lines::new(&mut program, BASE + 40 * PAGE, first);
    let second = Lines::new(&mut program, BASE + 80 * PAGE, second);
    // As if they were merged.
    let (mut one, mut two) = (0, 0);
    for step in shuffled(3000, 7) {
        if step % 2 == 0 && one < 1500 || two == 1500 {
            first.touch(&mut program, one);
            one += 1;
        } else {
            second.touch(&mut program, two);
            two += 1;
        }
    }
    assert_eq!((program.demand, program.fetched, program.coverage()), (37, 2963, 98));
}

#[test]
fn an_array_is_left_when_its_pointers_are_not_followed_any_more() {
    let mut program = Program::new(9000, 500, PointerOptions::default());
    let pages: Vec<_> = shuffled(4000, 8).into_iter().map(|page| 100 + page).collect();
    let lines = Lines::new(&mut program, BASE + 64 * PAGE, &pages);
    (0..100).for_each(|at| lines.touch(&mut program, at));
    let fetched = program.fetched;
    // Of what the lines point to no more is used than of anything else.
    for page in shuffled(4000, 9) {
        program.set(BASE + (5000 + page) * PAGE, page);
        program.touch(BASE + (5000 + page) * PAGE + 8);
    }
    assert_eq!((fetched, program.fetched - fetched), (110, 0));
}

#[test]
fn random_numbers_are_not_followed() {
    let mut program = Program::new(2000, 500, PointerOptions::default());
    for (page, number) in shuffled(2000, 4).into_iter().enumerate() {
        for word in 0..512 {
            let scattered = number.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(word as u32);
            program.set(BASE + page as u64 * PAGE + word * 8, BASE + scattered % (2000 * PAGE));
        }
    }
    program.sim.array_pages = (BASE / PAGE..BASE / PAGE + 128).collect();
    for page in shuffled(2000, 5).into_iter().cycle().take(8000) {
        program.touch(BASE + page * PAGE + 64);
    }
    assert_eq!((program.demand, program.fetched), (8000, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever lies in memory and wherever the program goes, only far pages are sent for, and only so many.
    #[test]
    fn nothing_wild_is_done(
        words in prop::collection::vec((0..64u64, 0..512u64, 0..80 * PAGE), 1..2000),
        touches in prop::collection::vec((0..64u64, 0..PAGE), 1..400),
        capacity in 4..40usize,
        count in 1..20u32,
        depth in 0..40u32,
        least_percent in 0..100u32,
        (before, behind) in (0..600u32, 0..600u32),
    ) {
        let options = PointerOptions { count, depth, before, behind, least_percent };
        let mut program = Program::new(64, capacity, options);
        for page in 0..64 {
            program.set(BASE + page * PAGE, 0);
        }
        program.sim.array_pages = (BASE / PAGE..BASE / PAGE + 64).collect();
        for (page, word, value) in words {
            program.set(BASE + page * PAGE + word * 8, BASE + value);
        }
        for (page, offset) in touches {
            program.touch(BASE + page * PAGE + offset);
        }
        prop_assert!(program.used <= program.fetched);
    }
}
