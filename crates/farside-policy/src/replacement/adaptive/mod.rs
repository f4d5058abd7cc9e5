//! The better one of two policies, found out while the program runs.

mod duel;

use farside_trace::PageId;

use super::list::SlotPages;
use super::{Arrival, Bimodal, ReplacementPolicy, SecondChance, Slot};
use duel::{DEMANDED, Duel, FIRST, REST, SECOND, Second};

/// Pages beside one another that belong to the same group.
const BLOCK: u64 = 64;

/// Groups of blocks, one for each policy and the rest for the better one.
const GROUPS: u64 = 32;

/// In less memory than so many pages, a sample would be a block or two, and tell nothing: all of it is the first policy's.
const LEAST_CAPACITY: usize = 2048;

/// Pages that go over to the policy that is in force whenever one comes.
const STRIDE: usize = 16;

/// Rounds end when a part of all pages that are here has come: one in so many.
const ROUNDS: usize = 4;

/// Fewest pages that come in a round.
const LEAST_ROUND: usize = 256;

/// Whose a page is: the sample of either policy, or the rest, which first one and then the other one has.
const SAMPLES: [usize; 2] = [FIRST, SECOND];
const RESTS: [usize; 2] = [2, 3];

/// How many groups are the samples, and the rest.
const EXPECTED: [usize; 3] = [1, 1, GROUPS as usize - 2];

/// A sample has room for as many times its share.
const ROOM: usize = 8;

/// [`SecondChance`] or [`Bimodal`], whichever lets fewer pages leave that come back.
///
/// A small part of all pages, by blocks that are chosen by chance, is always second chance's, and another one bimodal's, each
/// with its share of memory. Where fewer pages come back, that policy is in force for all others. So nothing has to be
/// traced to know what another policy would do: it is seen, at the price of a 32nd of memory that does worse (set
/// dueling: Qureshi and others, ISCA 2007, for caches of processors).
///
/// In small memory it is second chance.
///
/// There are two for a reason. LIRS as a third is better than both beside scans, and fewer pages come on average; but it
/// keeps less of a loop than bimodal does, and samples of a few blocks tell it from the others so slowly that in some phases
/// of programs the wrong one stays in force, and up to 1.3 times as much comes. And what `region` decides comes from the uses
/// of a sample of pages, which have to be tracked, at a cost that a program would bear where neither is of use.
///
/// When the other one takes over, pages pass to it little by little, in the order in which the first one would have given
/// them up, and that one goes on to choose what leaves until it has none.
///
/// The parts know pages by their slots here, so that nothing has to be looked up: neither policy asks which page it is.
pub struct Adaptive {
    pages: SlotPages,
    /// By slot: whose the page is, and its slot there.
    places: Vec<(u8, Slot)>,
    parts: [Box<dyn ReplacementPolicy>; 4],
    /// Pages that are the first policy's sample, the second's, and all others, of those that the program came to.
    touched: [usize; 3],
    /// The shares of memory that these have.
    shares: [f64; 3],
    duel: Duel,
    capacity: usize,
    arrivals: usize,
}

impl Adaptive {
    /// What it is called.
    pub const NAME: &'static str = "adaptive";

    /// A policy without pages, which begins with second chance.
    pub fn new() -> Self {
        let mut policy = Self {
            pages: SlotPages::new(),
            places: Vec::new(),
            parts: [second_chance(), sample_of_bimodal(), second_chance(), bimodal()],
            touched: [0; 3],
            shares: [0.0; 3],
            duel: Duel::default(),
            capacity: 0,
            arrivals: 0,
        };
        policy.share_out();
        policy
    }

    /// The name of the policy that is in force.
    pub fn in_force(&self) -> &'static str {
        self.parts[self.rest()].name()
    }

    /// The part that has those pages that are in no sample.
    fn rest(&self) -> usize {
        RESTS[usize::from(self.duel.second() == Second::InForce)]
    }

    /// A part that has pages which are not its own any more.
    fn former(&self) -> Option<usize> {
        let former = RESTS[usize::from(self.duel.second() != Second::InForce)];
        let is_out = matches!(self.duel.second(), Second::Out(_));
        let formers = [Some(former), is_out.then_some(SECOND)].into_iter().flatten();
        formers.into_iter().find(|part| !self.parts[*part].is_empty())
    }

    fn part_of(&self, page: PageId) -> usize {
        match self.group_of(page) {
            FIRST => FIRST,
            SECOND if !matches!(self.duel.second(), Second::Out(_)) => SECOND,
            _ => self.rest(),
        }
    }

    /// Whether the page is of one of the samples, or of the rest.
    fn group_of(&self, page: PageId) -> usize {
        let hash = (page.0 / BLOCK).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let group = ((hash >> 32) % GROUPS) as usize;
        if self.capacity < LEAST_CAPACITY { REST } else { group.min(REST) }
    }

    /// The share that the sample of a policy, or the rest, has of all pages; more than nothing.
    fn share(&self, group: usize) -> f64 {
        // As if there had been a page of each group before.
        let touched = |group: usize| (self.touched[group] + EXPECTED[group]) as f64;
        touched(group) / (0..3).map(touched).sum::<f64>()
    }

    fn put(&mut self, slot: Slot, part: usize, inner: Slot) {
        let place = (part as u8, inner);
        match self.places.get_mut(slot.0 as usize) {
            Some(old) => *old = place,
            None => self.places.resize(slot.0 as usize + 1, place),
        }
    }

    fn place(&self, slot: Slot) -> (usize, Slot) {
        let (part, inner) = self.places[slot.0 as usize];
        (usize::from(part), inner)
    }

    /// Passes some pages on to the policy in force.
    fn pass_on(&mut self) {
        let Some(former) = self.former() else { return };
        let rest = self.rest();
        for _ in 0..STRIDE {
            let Some(page) = self.parts[former].victim() else { return };
            let inner = self.parts[rest].insert(page, Arrival::Demand);
            self.put(slot_of(page), rest, inner);
        }
    }

    /// Takes note of an arrival.
    fn count(&mut self, page: PageId, arrival: Arrival) {
        let group = self.group_of(page);
        match arrival {
            Arrival::FirstTouch => {
                self.touched[group] += 1;
                self.share_out();
            }
            Arrival::Demand => self.duel.returned(group, DEMANDED),
            Arrival::Prefetch => self.duel.returned(group, 1.0),
        }
        self.arrivals += 1;
        if self.arrivals >= (self.capacity / ROUNDS).max(LEAST_ROUND) {
            self.arrivals = 0;
            let shares = [FIRST, SECOND, REST].map(|group| self.share(group));
            // Pages that are not where they belong tell nothing.
            if self.former().is_none() {
                self.duel.end_round(shares);
            }
            self.set_shares();
        }
    }

    /// Finds the shares that the first policy's sample, the second's and the rest have of memory.
    fn share_out(&mut self) {
        self.shares = [FIRST, SECOND, REST].map(|group| self.share(group));
        if matches!(self.duel.second(), Second::Out(_)) {
            self.shares[REST] += std::mem::take(&mut self.shares[SECOND]);
        }
    }

    /// Tells each policy how much memory it has.
    fn set_shares(&mut self) {
        self.share_out();
        for (part, policy) in self.parts.iter_mut().enumerate() {
            let share = self.shares[part.min(REST)] * self.capacity as f64;
            policy.set_capacity((share as usize).max(1));
        }
    }

    /// The part that has most beyond its share.
    fn giving(&self) -> usize {
        let shares = &self.shares;
        let len = |part: usize| self.parts[part].len();
        let rest = self.len() - len(FIRST) - len(SECOND);
        let lens = [len(FIRST), len(SECOND), rest].map(|len| len as f64);
        let over = |group: usize| lens[group] / shares[group].max(f64::MIN_POSITIVE);
        // What is left of a sample that is none goes over, and does not leave for that.
        let groups = (0..=REST).filter(|group| lens[*group] > 0.0 && shares[*group] > 0.0);
        let most = groups.max_by(|a, b| over(*a).total_cmp(&over(*b)));
        match most {
            Some(sample) if sample < REST => sample,
            _ => self.former().unwrap_or(self.rest()),
        }
    }
}

/// What the parts know a page by.
fn name_of(slot: Slot) -> PageId {
    PageId(u64::from(slot.0))
}

/// The slot of a page that the parts know by that name.
fn slot_of(name: PageId) -> Slot {
    Slot(name.0 as u32)
}

fn second_chance() -> Box<dyn ReplacementPolicy> {
    Box::new(SecondChance::new())
}

fn bimodal() -> Box<dyn ReplacementPolicy> {
    Box::new(Bimodal::new())
}

fn sample_of_bimodal() -> Box<dyn ReplacementPolicy> {
    Box::new(Bimodal::of_sample(BLOCK as usize))
}

impl Default for Adaptive {
    fn default() -> Self {
        Self::new()
    }
}

impl ReplacementPolicy for Adaptive {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn set_capacity(&mut self, pages: usize) {
        self.capacity = pages;
        self.pages.reserve(pages);
        self.places.reserve_exact(pages.saturating_sub(self.places.len()));
        for (part, policy) in self.parts.iter_mut().enumerate() {
            let is_sample = SAMPLES.contains(&part);
            policy.set_capacity(if is_sample { pages * ROOM / GROUPS as usize } else { pages });
        }
        self.set_shares();
    }

    fn insert(&mut self, page: PageId, arrival: Arrival) -> Slot {
        self.count(page, arrival);
        self.pass_on();
        let (part, slot) = (self.part_of(page), self.pages.insert(page));
        let inner = self.parts[part].insert(name_of(slot), arrival);
        self.put(slot, part, inner);
        slot
    }

    fn access(&mut self, slot: Slot) {
        let (part, inner) = self.place(slot);
        self.parts[part].access(inner);
    }

    fn prioritize(&mut self, slot: Slot, priority: u8) {
        let (part, inner) = self.place(slot);
        self.parts[part].prioritize(inner, priority);
    }

    fn dismiss(&mut self, slot: Slot) {
        let (part, inner) = self.place(slot);
        self.parts[part].dismiss(inner);
    }

    fn reach(&mut self, page: PageId, slot: Option<Slot>) {
        let place = slot.map(|slot| self.place(slot));
        let part = place.map_or_else(|| self.part_of(page), |(part, _)| part);
        let name = slot.map_or(page, name_of);
        self.parts[part].reach(name, place.map(|(_, inner)| inner));
    }

    fn remove(&mut self, slot: Slot) {
        let (part, inner) = self.place(slot);
        self.parts[part].remove(inner);
        self.pages.release(slot);
    }

    fn victim(&mut self) -> Option<PageId> {
        let name = self.parts[self.giving()].victim()?;
        Some(self.pages.release(slot_of(name)))
    }

    fn restore(&mut self, page: PageId) -> Slot {
        let (part, slot) = (self.part_of(page), self.pages.insert(page));
        let inner = self.parts[part].restore(name_of(slot));
        self.put(slot, part, inner);
        slot
    }

    fn watch(&mut self, max: usize, out: &mut Vec<(PageId, Slot)>) {
        let all = self.len().max(1);
        for part in self.parts.iter_mut().filter(|part| !part.is_empty()) {
            let (known, most) = (out.len(), max * part.len() / all);
            part.watch(most, out);
            for (page, slot) in &mut out[known..] {
                *slot = slot_of(*page);
                *page = self.pages.get(*slot).unwrap_or(*page);
            }
        }
    }

    fn len(&self) -> usize {
        self.pages.len()
    }
}
