//! Arbitrary words in the memory that a captured program shares with `farside capture`: they are put
//! into an order or refused, and either ends.
#![no_main]

use std::fs::File;
use std::os::unix::fs::FileExt;

use farside_cli::capture::order::{Listener, Order};
use farside_cli::capture::stream::{RING_WORDS, Run, Stream};
use libfuzzer_sys::fuzz_target;

/// The layout of `capture/stream.h`, in bytes.
const HEADER: u64 = 4096;
const LANES_USED: u64 = 9 * 8;
const LANE: u64 = 4096 + RING_WORDS as u64 * 8;
const LANES: u64 = 3;
const RING: u64 = 4096;
const HEAD: u64 = 4 * 8;
const STATE: u64 = 8 * 8;

/// Words of a lane before its ring that mean anything.
const FIELDS: u64 = 17;

#[derive(Default)]
struct Counted(u64);

impl Listener for Counted {
    fn run(&mut self, _: u32, run: Run) {
        assert!(run.weight > 0 && run.page < 1 << 48);
        self.0 += 1;
    }

    fn message(&mut self, _: u64, words: &[u64]) {
        assert!(words.len() < RING_WORDS);
        self.0 += 1;
    }
}

/// Does what one record of the input says.
fn act(file: &File, heads: &mut [u64; LANES as usize], action: u8, value: u64) {
    let write = |at: u64, word: u64| {
        file.write_all_at(&word.to_le_bytes(), at).expect("a word of the memory");
    };
    let lane = u64::from(action >> 2) % LANES;
    let at = HEADER + lane * LANE;
    if action & 1 == 0 {
        let head = &mut heads[lane as usize];
        write(at + RING + *head % RING_WORDS as u64 * 8, value);
        *head += 1;
        write(at + HEAD, *head);
    } else {
        write(at + u64::from(action >> 2) / LANES % FIELDS * 8, value);
    }
}

fuzz_target!(|records: &[u8]| {
    let stream = Stream::new().expect("memory for a stream");
    let file = File::from(stream.descriptor().try_clone_to_owned().expect("a descriptor"));
    file.write_all_at(&LANES.to_le_bytes(), LANES_USED).expect("a word of the memory");
    for lane in 0..LANES {
        file.write_all_at(&1_u64.to_le_bytes(), HEADER + lane * LANE + STATE).expect("a word");
    }
    let (mut order, mut told, mut reads) = (Order::new(), Counted::default(), 1);
    let mut heads = [0; LANES as usize];
    for record in records.chunks_exact(9) {
        let value = record[1..].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        match record[0] {
            0xfe if order.advance(&stream, &mut told).is_err() => return,
            0xff => drop(order.lend(&stream, &mut told)),
            action => act(&file, &mut heads, action, value),
        }
        reads += u64::from(record[0] >= 0xfe);
    }
    let _ = order.finish(&stream, &mut told);
    // All words of the rings, and the pieces of as many long runs as there are lanes.
    assert!(told.0 <= reads * LANES * (RING_WORDS as u64 + (1 << 13)), "{} events", told.0);
});
