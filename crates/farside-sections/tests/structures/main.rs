//! Sections beside simple models of them: what is counted, and what is read.

mod blocks;
mod groups;
mod latency;
mod model;
#[path = "../support/mod.rs"]
mod support;

use std::sync::Arc;

use farside_pager::counters::Snapshot;
use farside_sections::{Field, OpenError, RemotePtr, Section, SectionError, Shape, Structure};
use proptest::prelude::*;

use model::{Counted, Model};
use support::{PAGE, Process, read, write};

/// What the program does with a line.
#[derive(Clone, Debug)]
enum Deed {
    Read(u32),
    Write(u32, u8),
    Fetch(u32),
    Flush(u32),
    Soon(u32),
    Done(u32),
    Pin(u32),
    Unpin(u8),
}

/// Lines that are used.
const LINES: u32 = 40;

fn deed() -> impl Strategy<Value = Deed> {
    let line = 0..LINES;
    prop_oneof![
        8 => line.clone().prop_map(Deed::Read),
        6 => (line.clone(), any::<u8>()).prop_map(|(line, byte)| Deed::Write(line, byte)),
        4 => line.clone().prop_map(Deed::Fetch),
        1 => line.clone().prop_map(Deed::Flush),
        1 => line.clone().prop_map(Deed::Soon),
        2 => line.clone().prop_map(Deed::Done),
        1 => line.prop_map(Deed::Pin),
        1 => any::<u8>().prop_map(Deed::Unpin),
    ]
}

fn structure() -> impl Strategy<Value = (Structure, u64)> {
    prop_oneof![
        (1..24u64).prop_map(|slots| (Structure::Direct, slots)),
        (1..8u32, 1..8u64).prop_map(|(ways, sets)| (Structure::Set(ways), u64::from(ways) * sets)),
        (1..24u64).prop_map(|slots| (Structure::Full, slots)),
    ]
}

fn counted(seen: &Snapshot) -> Counted {
    Counted {
        misses: seen.section_misses,
        ahead: seen.section_ahead,
        ahead_used: seen.section_ahead_used,
        ahead_unused: seen.section_ahead_unused,
        evicted: seen.section_evicted,
        clean: seen.section_evicted_clean,
        written: seen.section_written,
    }
}

/// A section, its model, and what its memory should hold.
struct Trial {
    process: Arc<Process>,
    section: Arc<Section>,
    model: Model,
    base: RemotePtr,
    content: Vec<u8>,
    pinned: Vec<(u32, usize)>,
}

impl Trial {
    fn new(structure: Structure, slots: u64, line: u64, by_part: bool) -> Self {
        let process = Process::new(by_part, 1 << 20);
        let section = process.open(Shape { structure, line, capacity: slots * line });
        let (ways, full) = match structure {
            Structure::Direct => (1, false),
            Structure::Set(ways) => (ways as usize, false),
            Structure::Full => (slots as usize, true),
        };
        let model = Model::new(slots as usize / ways, ways, full, by_part || line >= PAGE as u64);
        let len = u64::from(LINES) * line;
        let base = section.allocate(len, line.min(1 << 16)).expect("there is far memory");
        assert_eq!(base.offset(), 0);
        let content = vec![0; len as usize];
        Self { process, section, model, base, content, pinned: Vec::new() }
    }

    fn at(&self, line: u32) -> RemotePtr {
        RemotePtr(self.base.0 + u64::from(line) * self.section.line_len() as u64)
    }

    fn act(&mut self, deed: &Deed) {
        let len = self.section.line_len();
        match *deed {
            Deed::Read(line) => {
                let place = line as usize * len;
                assert_eq!(read(&self.section, self.at(line), len), self.content[place..][..len]);
                self.model.touch(line, false, false);
            }
            Deed::Write(line, byte) => {
                // A part of the line, somewhere.
                let (from, some) = (usize::from(byte) % 7 * len / 7, len / 7 + 1);
                let some = some.min(len - from);
                let ptr = RemotePtr(self.at(line).0 + from as u64);
                write(&self.section, ptr, &vec![byte; some]);
                self.content[line as usize * len + from..][..some].fill(byte);
                self.model.touch(line, true, false);
            }
            Deed::Fetch(line) => {
                self.section.fetch(self.at(line), 1).expect("it comes");
                self.model.fetch(line);
            }
            Deed::Flush(line) => {
                self.section.flush(self.at(line), len as u64).expect("it goes");
                self.model.flush(line);
            }
            Deed::Soon(line) => {
                self.section.evict_soon(self.at(line), 1).expect("it goes");
                self.model.flush(line);
                self.model.let_leave(line);
            }
            Deed::Done(line) => {
                self.section.done_with(self.at(line), 1).expect("it may go");
                self.model.let_leave(line);
            }
            Deed::Pin(line) => {
                // One slot of each set stays free: lines beside their sets are another matter.
                let ways = match self.model.pinned_in_set_of(line) {
                    pinned if self.model.is_pinned(line) => pinned,
                    pinned => pinned + 1,
                };
                if ways < self.ways() {
                    let address = self.section.pin(self.at(line)).expect("it comes");
                    self.model.touch(line, false, true);
                    self.pinned.push((line, address));
                }
            }
            Deed::Unpin(which) => {
                if !self.pinned.is_empty() {
                    let which = usize::from(which) % self.pinned.len();
                    let (line, address) = self.pinned.swap_remove(which);
                    assert_eq!(self.section.address(self.at(line)), Ok(address), "it stayed");
                    self.model.touch(line, false, false);
                    assert!(self.section.unpin(address));
                    self.model.unpin(line);
                }
            }
        }
    }

    fn ways(&self) -> usize {
        self.model.ways()
    }

    /// What is stored in the end is what was written.
    fn end(mut self) {
        for (_, address) in std::mem::take(&mut self.pinned) {
            assert!(self.section.unpin(address));
        }
        self.section.select(0, &[]).expect("it goes").expect("that is all");
        assert_eq!(self.section.unstored(), 0);
        let all = read(&self.section, self.base, self.content.len());
        assert!(all == self.content, "what comes back is not what was written");
        self.section.free(self.base).expect("it was allocated");
        assert_eq!(self.process.store.held_pages(), 0);
        let section = self.section;
        section.close().expect("it closes");
        let process = &self.process;
        let left = process.left.load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!((left, process.counted().section_bytes), (1 << 20, 0));
        assert_eq!(process.numbers.load(std::sync::atomic::Ordering::Relaxed), 0);
        assert_eq!(process.footprint.load(std::sync::atomic::Ordering::Relaxed), 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn what_is_counted_is_what_the_model_says(
        (structure, slots) in structure(),
        shift in 6..15u32,
        by_part in any::<bool>(),
        deeds in prop::collection::vec(deed(), 1..300),
    ) {
        let mut trial = Trial::new(structure, slots, 1 << shift, by_part);
        for deed in &deeds {
            trial.act(deed);
            let seen = trial.process.counted();
            prop_assert_eq!(counted(&seen), trial.model.counted.clone(), "after {:?}", deed);
            prop_assert_eq!((seen.section_beside, seen.section_late), (0, 0));
        }
        trial.end();
    }
}

#[test]
fn all_lines_of_a_set_may_be_pinned_and_another_one_still_comes() {
    for structure in [Structure::Direct, Structure::Set(2), Structure::Full] {
        let process = Process::new(true, 1 << 10);
        let section = process.open(Shape { structure, line: 128, capacity: 256 });
        let base = section.allocate(40 * 128, 16).expect("there is far memory");
        let line = |i: u64| RemotePtr(base.0 + i * 128);
        for i in 0..40 {
            write(&section, line(i), &[i as u8; 128]);
        }
        let pinned: Vec<usize> = (0..40).map(|i| section.pin(line(i)).expect("it comes")).collect();
        for (i, address) in pinned.iter().enumerate() {
            assert_eq!(read(&section, line(i as u64), 128), [i as u8; 128]);
            assert_eq!(section.address(line(i as u64)), Ok(*address), "{structure:?}: it stayed");
            section.note_written(*address, 1);
            // SAFETY: the line is pinned, and nobody else is here.
            unsafe { *(*address as *mut u8) = 100 + i as u8 };
        }
        pinned.iter().for_each(|address| assert!(section.unpin(*address)));
        assert!(!section.unpin(pinned[0]), "it was pinned once");
        for i in 0..40 {
            assert_eq!(read(&section, line(i), 2), [100 + i as u8, i as u8]);
        }
        assert!(process.counted().section_beside >= 38, "{structure:?}");
        section.close().expect("it closes");
        assert_eq!(process.left.load(std::sync::atomic::Ordering::Relaxed), 1 << 10);
    }
}

#[test]
fn more_than_there_is_room_for_is_refused() {
    let process = Process::new(true, 2);
    let section = process.open(Shape { structure: Structure::Full, line: 2048, capacity: 4096 });
    let base = section.allocate(10 * 2048, 16).expect("there is far memory");
    let pins = (0..10).map(|i| section.pin(RemotePtr(base.0 + i * 2048)));
    // Two lines beside the section, for which there is one page.
    let pins: Vec<_> = pins.collect();
    assert!(pins[..4].iter().all(Result::is_ok));
    assert!(pins[4..].iter().all(|pin| *pin == Err(SectionError::Pinned(1))));
    // What is here can be pinned often, not endlessly.
    let often = (0..1000).filter(|_| section.pin(base).is_ok()).count();
    assert_eq!(often, 511);
}

#[test]
fn a_section_beyond_the_limit_is_refused() {
    let process = Process::new(true, 10);
    let host = Box::new(support::Lender(Arc::clone(&process)));
    let shape = Shape { structure: Structure::Direct, line: 64, capacity: 11 * PAGE as u64 };
    let refused = Section::open(host, farside_sections::Options { id: 1, shape });
    let Err(error @ OpenError::Limit(_)) = refused else { panic!("it fits") };
    assert_eq!(
        error.to_string(),
        "its lines take 44 KiB of local memory, and 40 KiB of it can be had; raise --local, or make sections smaller"
    );
}

#[test]
fn pointers_that_lead_nowhere_are_refused() {
    let process = Process::new(true, 10);
    let section = process.open(Shape { structure: Structure::Direct, line: 64, capacity: 4096 });
    let beyond = |ptr: RemotePtr| matches!(section.address(ptr), Err(SectionError::Beyond { .. }));
    assert!(beyond(RemotePtr::new(1, 0)), "nothing was allocated");
    // Who only guesses that one is followed is not told.
    let nowhere = [RemotePtr::new(1, 0), RemotePtr::new(1, (1 << 56) - 1), RemotePtr(0)];
    assert!(section.want(&nowhere).is_ok());
    section.allocate(100, 16).expect("there is far memory");
    assert!(!beyond(RemotePtr::new(1, 0)));
    assert!(beyond(RemotePtr::new(2, 0)) && beyond(RemotePtr::new(1, (1 << 56) - 1)));
    assert!(section.free(RemotePtr::new(1, 16)).is_err());
}

#[test]
fn only_selected_fields_come_and_go() {
    let process = Process::new(true, 100);
    let section = process.open(Shape { structure: Structure::Full, line: 256, capacity: 1024 });
    let base = section.allocate(1 << 16, 16).expect("there is far memory");
    let record = |i: u64| RemotePtr(base.0 + i * 32);
    for i in 0..2048 {
        write(&section, record(i), &[i as u8; 32]);
    }
    let fields = [Field { start: 4, len: 4 }];
    section.select(32, &fields).expect("it goes").expect("they make sense");
    let before = process.counted();
    for i in 0..2048 {
        assert_eq!(read(&section, RemotePtr(record(i).0 + 4), 4), [i as u8; 4]);
        write(&section, RemotePtr(record(i).0 + 4), &[!(i as u8); 4]);
    }
    section.select(0, &[]).expect("it goes").expect("that is all");
    let after = process.counted();
    assert_eq!(after.section_fetched_bytes - before.section_fetched_bytes, 2048 * 4);
    assert_eq!(after.section_written_bytes - before.section_written_bytes, 2048 * 4);
    for i in 0..2048 {
        let byte = i as u8;
        let all = read(&section, record(i), 32);
        assert_eq!(
            (&all[..4], &all[4..8], &all[8..]),
            (&[byte; 4][..], &[!byte; 4][..], &[byte; 24][..])
        );
    }
    assert!(section.select(48, &fields).expect("it goes").is_err());
}

#[test]
fn metadata_is_a_small_part_of_what_is_cached() {
    for (structure, most) in [
        (Structure::Direct, 4.7),
        (Structure::Set(2), 5.5),
        (Structure::Set(16), 4.8),
        (Structure::Full, 8.7),
    ] {
        let process = Process::new(true, 1 << 20);
        let section = process.open(Shape { structure, line: 128, capacity: 8 << 20 });
        let percent = section.metadata() as f64 * 100.0 / (8 << 20) as f64;
        assert!(percent <= most, "{structure:?}: {percent} %");
    }
}
