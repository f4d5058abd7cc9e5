//! The page proximity graph itself.

use farside_trace::PageId;

use super::edges::{Edge, sort_by_weight};
use super::known::{Known, MOST_KNOWN};
use super::met::Met;
use super::{PrefetchPlan, ProximityOptions};
use crate::replacement::Slot;

/// The pages that are known, in the order of their last accesses, and edges between them.
///
/// All memory is allocated when it is made: for each page that can be known [so much](Self::bytes_each), which is taken
/// when the page comes. Pages beyond 2^37, which no address has, are not remembered.
#[derive(Clone, Debug)]
pub(super) struct Graph<E> {
    pub options: ProximityOptions,
    pub known: Known,
    /// By slot, as many as a set has pages; by descending weight, and what is left over has none.
    edges: Vec<E>,
    /// Pages in the window that is looked at.
    near: Met,
    /// Pages in the latest walk.
    met: Met,
    /// The same in their order, and from which it came to them.
    pub queue: Vec<(Slot, Slot)>,
    /// Of how many pages that have a set something of it came again, of late.
    pub again: Rate,
}

/// A share, in parts of 65,536.
pub(super) type Rate = u16;

/// One page changes the share of those of which something came again by 1/2^shift of what is left.
const AGAIN_SHIFT: u32 = 9;

impl<E: Edge> Graph<E> {
    /// A graph without pages.
    pub fn new(options: ProximityOptions) -> Self {
        let pages = options.pages.clamp(1, MOST_KNOWN);
        let most_weight = options.most_weight.clamp(1, E::MOST_WEIGHT);
        let options = ProximityOptions { pages, most_weight, ..options };
        Self {
            options,
            known: Known::new(pages),
            edges: Vec::with_capacity(pages.saturating_mul(options.set)),
            near: Met::new(options.window),
            // It comes to one more than it asks for, and to where it begins.
            met: Met::new(options.most as usize + 2),
            queue: Vec::with_capacity(options.most as usize + 1),
            again: Rate::MAX,
        }
    }

    /// Bytes for each page that is known, with sets of so many pages.
    pub const fn bytes_each(set: usize) -> usize {
        Known::EACH + set * size_of::<E>()
    }

    /// The pages that followed `page`, and the weight of each; the heaviest first.
    pub fn set_of(&self, page: PageId) -> impl Iterator<Item = (PageId, u16)> + '_ {
        let edges = self.known.find(page).map_or(&[][..], |slot| &self.edges[self.edges_of(slot)]);
        let edges = edges.iter().take_while(|edge| edge.weight() > 0);
        edges.filter_map(|edge| Some((self.known.page(self.end(*edge)?), edge.weight())))
    }

    /// Where there is room for the edges of a page.
    fn edges_of(&self, slot: Slot) -> std::ops::Range<usize> {
        let first = slot.0 as usize * self.options.set;
        first..first + self.options.set
    }

    /// The page an edge leads to, unless it was forgotten.
    fn end(&self, edge: E) -> Option<Slot> {
        edge.is_to(self.known.page(edge.slot())).then_some(edge.slot())
    }

    /// Puts a page on top of the stack.
    pub fn raise(&mut self, page: PageId) {
        if let Some(slot) = self.known.find(page) {
            self.known.make_youngest(slot);
            self.known.assume(slot, false);
        } else if Known::can_be_known(page) {
            let slot = self.known.add(page);
            let range = self.edges_of(slot);
            if range.end > self.edges.len() {
                self.edges.resize(range.end, E::default());
            } else {
                self.edges[range].fill(E::default());
            }
        }
    }

    /// Compares the proximity set of a page with what followed its last access.
    pub fn update(&mut self, slot: Slot) {
        self.near.next_round();
        let mut above = self.known.younger(slot);
        for _ in 0..self.options.window {
            let Some(near) = above else { break };
            self.near.meet(near);
            above = self.known.younger(near);
        }
        let len = self.weigh(slot);
        self.fill(slot, len);
        let range = self.edges_of(slot);
        sort_by_weight(&mut self.edges[range]);
    }

    /// Adds to the weights of pages met in this round and takes from the others; tells how many edges there are then. Of a
    /// set with pages it is noted whether any of them was met.
    fn weigh(&mut self, slot: Slot) -> usize {
        let range = self.edges_of(slot);
        let (mut kept, mut met, mut known) = (range.start, false, false);
        for index in range.clone() {
            let edge = self.edges[index];
            if edge.weight() == 0 {
                break;
            }
            let Some(end) = self.end(edge) else { continue };
            // In the set already, it is no candidate for it.
            let is_near = self.near.take(end);
            (met, known) = (met || is_near, true);
            let weight = match is_near {
                true if self.known.is_assumed(end) => edge.weight(),
                true => (edge.weight() + 1).min(self.options.most_weight),
                false => edge.weight() - 1,
            };
            if weight > 0 {
                self.edges[kept] = edge.with_weight(weight);
                kept += 1;
            }
        }
        self.edges[kept..range.end].fill(E::default());
        if known {
            self.note_again(met);
        }
        kept - range.start
    }

    fn note_again(&mut self, is_again: bool) {
        self.again = match is_again {
            true => self.again + ((Rate::MAX - self.again) >> AGAIN_SHIFT),
            false => self.again - (self.again >> AGAIN_SHIFT),
        };
    }

    /// Fills a set of `len` pages up with pages of the window that are not in it.
    fn fill(&mut self, slot: Slot, mut len: usize) {
        let range = self.edges_of(slot);
        let mut above = self.known.younger(slot);
        for _ in 0..self.options.window {
            let Some(near) = above.filter(|_| len < self.options.set) else { return };
            if self.near.has(near) && !self.known.is_assumed(near) {
                self.edges[range.start + len] = E::new(near, self.known.page(near), 1);
                len += 1;
            }
            above = self.known.younger(near);
        }
    }

    /// Takes away the edge from one page to another, if it is still there.
    pub fn cut(&mut self, from: Slot, to: Slot) {
        let page = self.known.page(to);
        let range = self.edges_of(from);
        let edges = &mut self.edges[range];
        let is_it = |edge: &E| edge.weight() > 0 && edge.slot() == to && edge.is_to(page);
        if let Some(at) = edges.iter().position(is_it) {
            edges[at..].rotate_left(1);
            edges[edges.len() - 1] = E::default();
        }
    }

    /// Asks for the pages around one in the graph; `learns` if what is asked for counts as accessed, so that before the walk
    /// goes on from a page its set is compared with what followed its last access, if that was seen.
    pub fn walk(&mut self, from: Slot, learns: bool, plan: &mut PrefetchPlan) {
        self.met.next_round();
        self.met.meet(from);
        self.queue.clear();
        self.queue.push((from, from));
        let least = self.options.least_weight.max(1);
        let (mut level, mut is_full) = (0..1, false);
        for depth in 0..=self.options.depth {
            for index in level.clone() {
                let by = self.queue[index].0;
                if learns && index > 0 && !self.known.is_assumed(by) {
                    self.update(by);
                }
                is_full =
                    is_full || depth == self.options.depth || !self.ask_beside(by, least, plan);
            }
            level = level.end..self.queue.len();
        }
    }

    /// Asks for what has edges of so much weight from a page; false if there is room for no more.
    fn ask_beside(&mut self, by: Slot, least: u16, plan: &mut PrefetchPlan) -> bool {
        for edge in self.edges_of(by) {
            let edge = self.edges[edge];
            if edge.weight() < least {
                break;
            }
            let Some(end) = self.end(edge).filter(|end| self.met.meet(*end)) else { continue };
            let has_room = self.queue.len() <= self.options.most as usize;
            if !has_room || !plan.push_page(self.known.page(end)) {
                return false;
            }
            self.queue.push((end, by));
        }
        true
    }
}
