//! What is noted of each demand fault while the program runs.

use std::collections::HashMap;

use farside_os::fault_events::General;
use farside_os::memory::PAGE;
use farside_symbols::{Holders, Images, Place};
use farside_wire::fault_log::Answer;

use super::moves::{Move, Moves};
use crate::faults::tally::{Kind, Stream};

/// Most faults whose order is kept.
const MOST: usize = 8 << 20;

/// Stands for the stream of a fault whose instruction nobody saw.
pub const UNSEEN: u32 = u32::MAX;

/// A demand fault.
#[derive(Copy, Clone, Debug)]
pub struct Miss {
    /// The number of its page.
    pub page: u64,
    /// The number of its stream, or [`UNSEEN`].
    pub stream: u32,
    /// How it lay to the register with its address.
    pub moved: Move,
}

/// The demand faults of one stream that read, or that wrote.
#[derive(Clone, Debug)]
pub struct Noting {
    /// The stream.
    pub stream: Stream,
    /// Whether it wrote.
    pub write: bool,
    /// How many there were.
    pub faults: u64,
    /// How the register with the address moved.
    pub moves: Moves,
}

/// All demand faults of a process.
#[derive(Debug, Default)]
pub struct Noted {
    /// By stream.
    pub streams: Vec<Noting>,
    /// One after the other, as many as are kept.
    pub misses: Vec<Miss>,
    /// Those whose instruction nobody saw.
    pub unseen: u64,
    /// Numbers of streams.
    numbers: HashMap<(Stream, bool), u32>,
    holders: HashMap<(Place, bool), Option<Holders>>,
}

impl Noted {
    /// Takes note of a fault of a stream, with the registers if they are known.
    pub fn add(
        &mut self,
        images: &Images,
        stream: Stream,
        kind: Kind,
        address: u64,
        registers: Option<&General>,
    ) {
        if kind.answer != Answer::Demand {
            return;
        }
        let write = kind.write;
        let holders = stream.place.and_then(|place| {
            *self.holders.entry((place, write)).or_insert_with(|| images.holders(place, write))
        });
        let value = || holders?.closest(registers?, address);
        let register = value();
        let number = *self.numbers.entry((stream, write)).or_insert_with(|| {
            self.streams.push(Noting { stream, write, faults: 0, moves: Moves::default() });
            self.streams.len() as u32 - 1
        });
        let noting = &mut self.streams[number as usize];
        noting.faults += 1;
        let moved = noting.moves.add(address, register);
        self.keep(Miss { page: address / PAGE as u64, stream: number, moved });
    }

    /// Takes note of a fault whose instruction nobody saw.
    pub fn add_unseen(&mut self, address: u64, kind: Kind) {
        if kind.answer == Answer::Demand {
            self.unseen += 1;
            let page = address / PAGE as u64;
            self.keep(Miss { page, stream: UNSEEN, moved: Move::Unknown });
        }
    }

    fn keep(&mut self, miss: Miss) {
        if self.misses.len() < MOST {
            self.misses.push(miss);
        }
    }
}
