//! Memory whose words make no sense: the program can write to it. Whatever is in it, reading it ends,
//! with an error or with nonsense that stays bounded.

use std::sync::atomic::Ordering;

use farside_cli::capture::order::{Damaged, Listener, Order};
use farside_cli::capture::stream::{Run as Told, Stream};
use proptest::prelude::*;

use crate::memory::{Field, Header, LANES, LIVE, Memory, NO_PAGE, PAGE_SHIFT, RING_WORDS};
use crate::program::Run;

/// Counts what it is told.
#[derive(Debug, Default)]
struct Counted {
    events: u64,
    runs: Vec<(u32, Told)>,
    longest_message: usize,
}

impl Listener for Counted {
    fn run(&mut self, thread: u32, run: Told) {
        self.events += 1;
        if self.runs.len() < 100 {
            self.runs.push((thread, run));
        }
    }

    fn message(&mut self, _: u64, words: &[u64]) {
        self.events += 1;
        self.longest_message = self.longest_message.max(words.len());
    }
}

/// More events than `words` in rings and the open runs of so many lanes can be.
fn most_events(words: u64, lanes: u64) -> u64 {
    const PIECES_OF_AN_OPEN_RUN: u64 = 1 << 13;
    words + lanes * PIECES_OF_AN_OPEN_RUN
}

/// A stream with one thread's lane, and its memory.
fn one_lane() -> (Stream, Memory) {
    let stream = Stream::new().expect("memory for a stream");
    let memory = Memory::of(&stream);
    memory.claim();
    memory.set(0, Field::Base, NO_PAGE);
    (stream, memory)
}

/// Puts words into the ring of a lane.
fn put(memory: &Memory, lane: usize, words: &[u64]) {
    let head = memory.get(lane, Field::Head);
    for (position, word) in (head..).zip(words) {
        memory.ring(lane, position).store(*word, Ordering::Relaxed);
    }
    memory.set(lane, Field::Head, head + words.len() as u64);
}

fn open(memory: &Memory, lane: usize, place: u64, page: u64, weight: u64) {
    memory.set(lane, Field::Place, place);
    memory.set(lane, Field::Open, weight << 3);
    memory.set(lane, Field::Base, page << PAGE_SHIFT);
    memory.set(lane, Field::OpenHead, memory.get(lane, Field::Head));
}

fn run_word(page: u64, weight: u64) -> u64 {
    page << 16 | (weight - 1) << 3
}

fn ticket(place: u64) -> u64 {
    place << 2 | 1
}

fn stretch(place: u64) -> u64 {
    place << 2 | 2
}

fn message(kind: u64, count: u64) -> u64 {
    count << 8 | kind << 2 | 3
}

fn finish(stream: &Stream) -> (Result<(), Damaged>, Counted) {
    let mut counted = Counted::default();
    (Order::new().finish(stream, &mut counted), counted)
}

#[test]
fn the_rest_of_a_lent_run_comes_before_the_next_one_is_lent() {
    let (stream, memory) = one_lane();
    let (mut order, mut told) = (Order::new(), Counted::default());
    open(&memory, 0, 1, 100, 4);
    assert_eq!(order.advance(&stream, &mut told), Ok(0));
    assert!(order.lend(&stream, &mut told));
    // The run ends with more accesses, and another begins, before the reader looks again.
    put(&memory, 0, &[ticket(1), run_word(100, 10)]);
    open(&memory, 0, 2, 200, 7);
    assert!(!order.lend(&stream, &mut told), "what is in the ring comes first");
    assert_eq!(order.advance(&stream, &mut told), Ok(2));
    assert!(order.lend(&stream, &mut told));
    let runs: Vec<_> = told.runs.iter().map(|(_, run)| (run.page, run.weight)).collect();
    assert_eq!(runs, [(100, 4), (100, 6), (200, 7)]);
}

#[test]
fn all_accesses_of_a_very_long_run_are_told() {
    let accesses = (5_u64 << 32) + 3;
    for in_stretch in [false, true] {
        let (stream, memory) = one_lane();
        if in_stretch {
            put(&memory, 0, &[stretch(1)]);
            memory.set(0, Field::InStretch, 1);
        }
        open(&memory, 0, u64::from(!in_stretch), 7, accesses);
        let (result, told) = finish(&stream);
        assert_eq!(result, Ok(()));
        let weights = told.runs.iter().map(|(_, run)| u64::from(run.weight));
        assert_eq!(weights.sum::<u64>(), accesses);
    }
}

#[test]
fn words_that_cannot_be_are_damage() {
    let cases: [&[u64]; 9] = [
        // A run without a place, and places without anything.
        &[run_word(1, 1)],
        &[ticket(1)],
        &[ticket(1), ticket(2)],
        // Longer than what there is.
        &[ticket(1), message(3, 2), 0],
        &[ticket(1), message(3, 0xff_ffff), 0],
        // A place that was before, or is had twice.
        &[ticket(1), run_word(1, 1), ticket(1), run_word(1, 1)],
        &[ticket(2), run_word(1, 1), ticket(2), run_word(1, 1)],
        &[ticket(1), run_word(1, 1), stretch(1)],
        // A stretch is of runs, up to its end.
        &[stretch(1), run_word(1, 1), ticket(2), run_word(1, 1)],
    ];
    for words in cases {
        let (stream, memory) = one_lane();
        put(&memory, 0, words);
        assert_eq!(finish(&stream).0, Err(Damaged), "{words:x?}");
    }
}

#[test]
fn positions_that_cannot_be_are_damage() {
    for head in [RING_WORDS + 1, 1 << 60, u64::MAX] {
        let (stream, memory) = one_lane();
        memory.set(0, Field::Head, head);
        assert_eq!(finish(&stream).0, Err(Damaged), "head {head}");
    }
    // Where it reads, the reader knows by itself.
    let (stream, memory) = one_lane();
    memory.set(0, Field::Tail, u64::MAX - 100);
    put(&memory, 0, &[ticket(1), run_word(1, 1)]);
    let (result, told) = finish(&stream);
    assert_eq!((result, told.events), (Ok(()), 1));
}

#[test]
fn a_head_that_went_back_is_damage() {
    let (stream, memory) = one_lane();
    let (mut order, mut told) = (Order::new(), Counted::default());
    put(&memory, 0, &[ticket(1), run_word(1, 1)]);
    assert_eq!(order.advance(&stream, &mut told), Ok(2));
    memory.set(0, Field::Head, 1);
    assert_eq!(order.advance(&stream, &mut told), Err(Damaged));
}

#[test]
fn fewer_lanes_than_before_are_no_reason_to_panic() {
    let (stream, memory) = one_lane();
    let (mut order, mut told) = (Order::new(), Counted::default());
    put(&memory, 0, &[stretch(1), run_word(1, 1)]);
    assert_eq!(order.advance(&stream, &mut told), Ok(2));
    memory.header(Header::LanesUsed).store(0, Ordering::Relaxed);
    assert_eq!(order.finish(&stream, &mut told), Ok(()));
    assert_eq!(told.events, 1);
}

#[test]
fn open_runs_that_cannot_be_are_left_out() {
    for (place, page, weight) in [(u64::MAX, 1, 1), (1 << 62, 1, 1), (1, 1 << 48, 1), (1, 1, 0)] {
        let (stream, memory) = one_lane();
        open(&memory, 0, place, page, weight);
        let (result, told) = finish(&stream);
        assert_eq!((result, told.events), (Ok(()), 0), "{place} {page} {weight}");
    }
    let (stream, memory) = one_lane();
    open(&memory, 0, 1, 1, u64::MAX >> 3);
    let (result, told) = finish(&stream);
    assert_eq!(result, Ok(()));
    assert!(told.events <= most_events(0, 1), "{} events", told.events);
}

#[test]
fn messages_that_come_early_take_no_memory() {
    let (stream, memory) = one_lane();
    let (mut order, mut told) = (Order::new(), Counted::default());
    let words = RING_WORDS - 2;
    let longest: Vec<u64> = [ticket(2), message(3, words)].into_iter().chain(0..words).collect();
    put(&memory, 0, &longest);
    assert_eq!(order.advance(&stream, &mut told), Ok(0), "it waits in the ring");
    assert_eq!((order.finish(&stream, &mut told), told.longest_message as u64), (Ok(()), words));
}

/// A word that a lane may have, or nearly.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => (1..40_u64).prop_map(ticket),
        4 => (0..8_u64, 1..=1_u64 << 13).prop_map(|(page, weight)| run_word(page, weight)),
        1 => (1..40_u64).prop_map(stretch),
        1 => (0..7_u64, 0..20_u64).prop_map(|(kind, count)| message(kind, count)),
        1 => Just(message(0, 0)),
        1 => any::<u64>(),
    ]
}

/// A number that a field may have, or that is at some edge.
fn number() -> impl Strategy<Value = u64> {
    let edges = [0, 1, 2, NO_PAGE, RING_WORDS, RING_WORDS + 1, 1 << 16, 1 << 48, 1 << 62, 1 << 63];
    prop_oneof![0..100_u64, prop::sample::select(edges.to_vec()), any::<u64>()]
}

#[derive(Clone, Debug)]
enum Op {
    Put(usize, Vec<u64>),
    Set(usize, Field, u64),
    Lanes(u64),
    Advance,
    Lend,
}

fn op() -> impl Strategy<Value = Op> {
    use Field::*;
    let fields = vec![Base, Open, Place, OpenHead, Head, InStretch, State, Tail];
    prop_oneof![
        4 => (0..3_usize, prop::collection::vec(word(), 0..12)).prop_map(|(l, w)| Op::Put(l, w)),
        2 => (0..3_usize, prop::sample::select(fields), number())
            .prop_map(|(lane, field, value)| Op::Set(lane, field, value)),
        1 => number().prop_map(Op::Lanes),
        3 => Just(Op::Advance),
        2 => Just(Op::Lend),
    ]
}

proptest! {
    #[test]
    fn nonsense_stays_bounded(ops in prop::collection::vec(op(), 0..60)) {
        let stream = Stream::new().expect("memory for a stream");
        let memory = Memory::of(&stream);
        memory.header(Header::LanesUsed).store(3, Ordering::Relaxed);
        (0..3).for_each(|lane| memory.set(lane, Field::State, LIVE));
        let (mut order, mut told) = (Order::new(), Counted::default());
        let mut reads = 1;
        for op in ops {
            match op {
                Op::Put(lane, words) => {
                    let head = memory.get(lane, Field::Head);
                    for (offset, word) in (0..).zip(&words) {
                        let position = head.wrapping_add(offset);
                        memory.ring(lane, position).store(*word, Ordering::Relaxed);
                    }
                    memory.set(lane, Field::Head, head.wrapping_add(words.len() as u64));
                }
                Op::Set(lane, field, value) => memory.set(lane, field, value),
                Op::Lanes(count) => memory.header(Header::LanesUsed).store(count, Ordering::Relaxed),
                Op::Advance if order.advance(&stream, &mut told).is_err() => return Ok(()),
                Op::Advance => reads += 1,
                Op::Lend => {
                    order.lend(&stream, &mut told);
                    reads += 1;
                }
            }
        }
        let _ = order.finish(&stream, &mut told);
        prop_assert!(told.events <= reads * most_events(3 * RING_WORDS, 3), "{}", told.events);
        prop_assert!(told.longest_message as u64 <= RING_WORDS);
    }

    /// A program runs as ever, and then a word here and there is something else.
    #[test]
    fn damage_in_the_middle_stays_bounded(
        seed: u64,
        damage in prop::collection::vec((0..7_usize, 0..600_u64, word()), 1..8),
        fields in prop::collection::vec((0..7_usize, 0..17_usize, number()), 0..3),
    ) {
        let mut run = Run::new(seed, true);
        run.play();
        let mut told = Counted::default();
        for (lane, back, word) in damage {
            let position = run.memory().get(lane, Field::Head).wrapping_sub(back);
            run.memory().ring(lane, position).store(word, Ordering::Relaxed);
        }
        for (lane, index, value) in fields {
            run.memory().set_word(lane, index, value);
        }
        let _ = run.order.finish(&run.stream, &mut told);
        prop_assert!(told.events <= most_events(LANES as u64 * RING_WORDS, LANES as u64));
    }
}
