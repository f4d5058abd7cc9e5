//! The page proximity graph (PATH, sections 4.3 and 6.3).

mod in_run;
mod options;

use farside_trace::PageId;

use super::{FaultKind, PrefetchPlan, Prefetcher};
use crate::replacement::Slot;
use crate::replacement::list::{Lists, SlotPages};
use crate::replacement::page_index::PageIndex;

pub use in_run::ProximityInRun;
pub use options::ProximityOptions;

/// The only list: pages from the least to the most recently accessed.
const STACK: usize = 0;

/// A page that was accessed soon after another.
#[derive(Copy, Clone, Debug, Default)]
struct Edge {
    to: u32,
    /// Tells whether the slot still stands for the same page.
    generation: u16,
    weight: u16,
}

/// What is known of the page at a slot, besides its edges.
#[derive(Copy, Clone, Debug, Default)]
struct Node {
    edges: u16,
    generation: u16,
    /// The last round in which the page was met.
    round: u32,
    /// Its latest access is not known, but assumed: it proves nothing.
    assumed: bool,
}

/// Fetches the pages that followed a page the last times it faulted, and those that followed them.
///
/// On a fault, the window of the LRU stack above the page holds what was accessed after its last
/// access. Pages of its proximity set found there gain weight, others lose weight and leave the set
/// at zero, and pages of the window fill up the set, the nearest first, with a weight of one. Then
/// the graph is walked breadth first, along heavier edges first, and what it meets is asked for.
/// Pages of the plan that are resident are to be touched, so that they stay.
///
/// The prefetcher needs to be told of accesses; [`ProximityInRun`] does with those that a run can see. All memory is
/// allocated when it is made: for each page that can be known about 50 bytes, and 8 for each page of its set.
#[derive(Clone, Debug)]
pub struct Proximity {
    options: ProximityOptions,
    pages: SlotPages,
    stack: Lists<1>,
    slots: PageIndex,
    nodes: Vec<Node>,
    /// By slot, as many as a set has pages; by descending weight.
    edges: Vec<Edge>,
    round: u32,
    /// Pages met in the latest walk, and from which.
    queue: Vec<(Slot, Slot)>,
}

impl Proximity {
    /// A prefetcher that knows of no page yet.
    pub fn new(options: ProximityOptions) -> Self {
        let known = options.pages.clamp(1, u32::MAX as usize - 1);
        let set = options.set.min(usize::from(u16::MAX));
        let options = ProximityOptions { pages: known, set, ..options };
        let mut new = Self {
            options,
            pages: SlotPages::new(),
            stack: Lists::new(),
            slots: PageIndex::new(),
            nodes: Vec::with_capacity(known),
            edges: Vec::with_capacity(known.saturating_mul(set)),
            round: 0,
            queue: Vec::with_capacity(options.most as usize + 1),
        };
        new.pages.reserve(known);
        new.stack.reserve(known);
        new.slots.reserve(known);
        new
    }

    /// The pages that followed `page`, and the weight of each; the heaviest first.
    pub fn set_of(&self, page: PageId) -> impl Iterator<Item = (PageId, u16)> + '_ {
        let slot = self.slot_of(page);
        let edges = slot.map_or(&[][..], |slot| &self.edges[self.edges_of(slot)]);
        edges.iter().filter_map(|edge| Some((self.pages.get(self.end(edge)?)?, edge.weight)))
    }

    /// Where a page is that is known.
    fn slot_of(&self, page: PageId) -> Option<Slot> {
        self.slots.find(page, |slot| self.pages.get(slot))
    }

    fn edges_of(&self, slot: Slot) -> std::ops::Range<usize> {
        let first = slot.0 as usize * self.options.set;
        first..first + usize::from(self.nodes[slot.0 as usize].edges)
    }

    /// The page an edge leads to, unless it was forgotten.
    fn end(&self, edge: &Edge) -> Option<Slot> {
        let known = self.nodes[edge.to as usize].generation == edge.generation;
        known.then_some(Slot(edge.to))
    }

    /// Begins a round in which no page has been met.
    fn next_round(&mut self) {
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.nodes.iter_mut().for_each(|node| node.round = 0);
            self.round = 1;
        }
    }

    /// Notes that a page is met; tells whether it is for the first time in this round.
    fn meet(&mut self, slot: Slot) -> bool {
        let round = &mut self.nodes[slot.0 as usize].round;
        std::mem::replace(round, self.round) != self.round
    }

    /// Puts a page on top of the stack.
    fn raise(&mut self, page: PageId) {
        if let Some(slot) = self.slot_of(page) {
            self.stack.make_youngest(slot);
            self.nodes[slot.0 as usize].assumed = false;
            return;
        }
        if self.pages.len() == self.options.pages {
            self.forget_oldest();
        }
        let slot = self.pages.insert(page);
        self.slots.insert(page, slot);
        self.stack.push_youngest(STACK, slot);
        let index = slot.0 as usize;
        if index >= self.nodes.len() {
            self.nodes.push(Node::default());
            self.edges.resize((index + 1) * self.options.set, Edge::default());
        }
    }

    fn forget_oldest(&mut self) {
        let Some(slot) = self.stack.pop_oldest(STACK) else { return };
        if let Some(page) = self.pages.get(slot) {
            self.slots.remove(page, |slot| self.pages.get(slot));
        }
        self.pages.release(slot);
        let node = &mut self.nodes[slot.0 as usize];
        let generation = node.generation.wrapping_add(1);
        *node = Node { generation, round: node.round, ..Node::default() };
    }

    /// Compares the proximity set of a page with what followed its last access.
    fn update(&mut self, slot: Slot) {
        self.next_round();
        let mut above = self.stack.younger(slot);
        for _ in 0..self.options.window {
            let Some(near) = above else { break };
            self.meet(near);
            above = self.stack.younger(near);
        }
        self.weigh(slot);
        self.fill(slot);
        let range = self.edges_of(slot);
        sort_by_weight(&mut self.edges[range]);
    }

    /// Adds to the weights of pages met in this round and takes from the others.
    fn weigh(&mut self, slot: Slot) {
        let range = self.edges_of(slot);
        let mut kept = range.start;
        for index in range.clone() {
            let mut edge = self.edges[index];
            let Some(end) = self.end(&edge) else { continue };
            let round = &mut self.nodes[end.0 as usize].round;
            if *round == self.round {
                // In the set already, it is no candidate for it.
                *round = 0;
                if !self.nodes[end.0 as usize].assumed {
                    let most = self.options.most_weight.max(1);
                    edge.weight = edge.weight.saturating_add(1).min(most);
                }
            } else {
                edge.weight -= 1;
            }
            if edge.weight > 0 {
                self.edges[kept] = edge;
                kept += 1;
            }
        }
        self.nodes[slot.0 as usize].edges = (kept - range.start) as u16;
    }

    /// Fills a set up with pages of the window that are not in it.
    fn fill(&mut self, slot: Slot) {
        let mut above = self.stack.younger(slot);
        for _ in 0..self.options.window {
            let len = usize::from(self.nodes[slot.0 as usize].edges);
            let Some(near) = above.filter(|_| len < self.options.set) else { return };
            let node = self.nodes[near.0 as usize];
            if node.round == self.round && !node.assumed {
                let edge = Edge { to: near.0, generation: node.generation, weight: 1 };
                self.edges[slot.0 as usize * self.options.set + len] = edge;
                self.nodes[slot.0 as usize].edges += 1;
            }
            above = self.stack.younger(near);
        }
    }

    /// Takes away the edge from one page to another, if it is still there.
    fn cut(&mut self, from: Slot, to: Slot) {
        let range = self.edges_of(from);
        let Some(at) = range.clone().find(|at| self.end(&self.edges[*at]) == Some(to)) else {
            return;
        };
        self.edges.copy_within(at + 1..range.end, at);
        self.nodes[from.0 as usize].edges -= 1;
    }

    /// Asks for the pages around one in the graph.
    fn walk(&mut self, from: Slot, plan: &mut PrefetchPlan) {
        self.next_round();
        self.meet(from);
        self.queue.clear();
        self.queue.push((from, from));
        let mut level = 0..1;
        for _ in 0..self.options.depth {
            for index in level.clone() {
                let by = self.queue[index].0;
                for edge in self.edges_of(by) {
                    if self.edges[edge].weight < self.options.least_weight {
                        break;
                    }
                    let Some(end) = self.end(&self.edges[edge]) else { continue };
                    if !self.meet(end) {
                        continue;
                    }
                    if self.queue.len() > self.options.most as usize {
                        return;
                    }
                    let Some(page) = self.pages.get(end) else { continue };
                    if !plan.push_page(page) {
                        return;
                    }
                    self.queue.push((end, by));
                }
            }
            level = level.end..self.queue.len();
        }
    }
}

/// Sorts by descending weight; equals keep their order.
fn sort_by_weight(edges: &mut [Edge]) {
    for end in 1..edges.len() {
        let mut index = end;
        while index > 0 && edges[index - 1].weight < edges[index].weight {
            edges.swap(index - 1, index);
            index -= 1;
        }
    }
}

impl Prefetcher for Proximity {
    fn name(&self) -> &'static str {
        "proximity"
    }

    fn fault(&mut self, page: PageId, kind: FaultKind, plan: &mut PrefetchPlan) {
        if kind == FaultKind::Used {
            self.raise(page);
            return;
        }
        let known = self.slot_of(page);
        if let Some(slot) = known {
            self.update(slot);
        }
        self.raise(page);
        if let Some(slot) = known {
            self.walk(slot, plan);
            plan.touch_resident();
        }
    }

    fn access(&mut self, page: PageId) {
        self.raise(page);
    }

    fn most_unused(&self, local_pages: u64) -> u64 {
        super::share(local_pages, self.options.unused_permille)
    }
}
