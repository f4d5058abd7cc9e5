//! What is counted while the program runs.

use std::collections::{BTreeMap, HashMap};
use std::ops::AddAssign;

use farside_wire::fault_log::{Deed, LoggedDeed};

use crate::faults::tally::Stream;

/// Bytes of a part of memory that is counted for itself: as much as the prefetcher learns of separately.
pub const PART: u64 = 64 << 20;

/// Chains that are remembered by number at once; the others are counted with where they began.
const CHAINS: usize = 1 << 14;

/// How often each thing was done.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct Deeds([f64; Deed::ALL.len()]);

impl Deeds {
    /// How often one thing was done.
    pub fn get(&self, deed: Deed) -> u64 {
        self.0[deed as usize].round() as u64
    }

    fn add(&mut self, deed: Deed) {
        self.0[deed as usize] += 1.0;
    }

    /// A share of them.
    pub fn times(self, share: f64) -> Self {
        Self(self.0.map(|count| count * share))
    }
}

impl AddAssign for Deeds {
    fn add_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(ours, theirs)| *ours += theirs);
    }
}

/// A chain of pages.
#[derive(Debug, Default)]
struct Chain {
    /// Where the program was when it began, once that has been told.
    began: Option<Stream>,
    deeds: Deeds,
    /// When it was met last, in events.
    met: u64,
}

/// What following pointers did in a process.
#[derive(Debug, Default)]
pub struct Tally {
    /// By where chains began; `None` is not known.
    streams: HashMap<Option<Stream>, Deeds>,
    /// By part of memory.
    pub parts: BTreeMap<u64, Deeds>,
    chains: HashMap<u32, Chain>,
    events: u64,
}

impl Tally {
    /// Something was done.
    pub fn add(&mut self, logged: LoggedDeed) {
        self.parts.entry(logged.page / PART).or_default().add(logged.deed);
        self.meet(logged.chain).deeds.add(logged.deed);
    }

    /// A fault of a stream begins a chain or goes on with it.
    pub fn fault(&mut self, chain: u32, stream: Option<Stream>) {
        if chain != 0 {
            let chain = self.meet(chain);
            chain.began = chain.began.or(stream);
        }
    }

    fn meet(&mut self, number: u32) -> &mut Chain {
        self.events += 1;
        if self.chains.len() >= CHAINS && !self.chains.contains_key(&number) {
            self.settle();
        }
        let chain = self.chains.entry(number).or_default();
        chain.met = self.events;
        chain
    }

    /// Counts the half of the chains that were not met for longest with where they began.
    fn settle(&mut self) {
        let mut met: Vec<u64> = self.chains.values().map(|chain| chain.met).collect();
        let middle = met.len() / 2;
        let (_, middle, _) = met.select_nth_unstable(middle);
        let streams = &mut self.streams;
        self.chains.retain(|_, chain| {
            let stays = chain.met >= *middle;
            if !stays {
                *streams.entry(chain.began).or_default() += chain.deeds;
            }
            stays
        });
    }

    /// What was done by where chains began.
    pub fn streams(&self) -> HashMap<Option<Stream>, Deeds> {
        let mut streams = self.streams.clone();
        for chain in self.chains.values() {
            *streams.entry(chain.began).or_default() += chain.deeds;
        }
        streams
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(depth: u64) -> Stream {
        Stream { place: None, depth: (1, depth) }
    }

    #[test]
    fn deeds_are_counted_where_their_chain_began_however_many_chains_there_are() {
        let mut tally = Tally::default();
        let chains = 3 * CHAINS as u32;
        for chain in 1..=chains {
            // What is done while a fault is served is told before the fault; a chain that goes on is met again and again.
            for (deed, number) in [(Deed::Fetched, chain), (Deed::Used, 1), (Deed::Scanned, 0)] {
                tally.add(LoggedDeed { deed, page: PART * u64::from(chain % 2), chain: number });
            }
            tally.fault(chain, Some(stream(u64::from(chain % 3))));
            tally.fault(1, Some(stream(9)));
        }
        let streams = tally.streams();
        let of = |depth, deed| streams[&Some(stream(depth))].get(deed);
        assert_eq!((of(0, Deed::Fetched), of(2, Deed::Fetched)), (16_384, 16_384));
        assert_eq!((of(1, Deed::Fetched), of(1, Deed::Used)), (16_384, u64::from(chains)));
        assert_eq!(streams[&None].get(Deed::Scanned), u64::from(chains));
        assert!(!streams.contains_key(&Some(stream(9))), "it did not begin there");
        let parts: Vec<u64> = tally.parts.values().map(|deeds| deeds.get(Deed::Used)).collect();
        assert_eq!(parts, [u64::from(chains) / 2, u64::from(chains) / 2]);
    }
}
