//! How long lines take that are sent for, as loops ask that go by it.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use farside_sections::{RemotePtr, Section, Shape, Structure};

use crate::support::{Lender, PAGE, Process, write};

const LINE: u64 = PAGE as u64;
const SLOTS: u64 = 4;

struct Lines {
    process: Arc<Process>,
    section: Arc<Section>,
    block: RemotePtr,
    line: u64,
}

fn shape(line: u64) -> Shape {
    Shape { structure: Structure::Direct, line, capacity: SLOTS * line }
}

impl Lines {
    /// Eight lines that were written, of which the last four are here.
    fn new(by_part: bool, line: u64) -> Self {
        let process = Process::new(by_part, 64);
        let section = process.open(shape(line));
        let block = section.allocate(2 * SLOTS * line, line).expect("there is room");
        let lines = Self { process, section, block, line };
        for at in 0..2 * SLOTS {
            write(&lines.section, lines.ptr(at), &vec![at as u8 + 1; line as usize]);
        }
        lines
    }

    fn ptr(&self, line: u64) -> RemotePtr {
        RemotePtr(self.block.0 + line * self.line)
    }

    fn take(&self, ns: u64) {
        self.process.store.latency.store(ns, Relaxed);
    }

    fn use_line(&self, line: u64) {
        self.section.address(self.ptr(line)).expect("it comes");
    }

    fn send_for(&self, line: u64) {
        self.section.fetch(self.ptr(line), self.line).expect("it is asked for");
    }
}

#[test]
fn it_is_not_known_before_a_line_has_come() {
    let lines = Lines::new(true, LINE);
    lines.take(9000);
    assert_eq!(lines.section.latency_ns(), 0);
    lines.use_line(7);
    assert_eq!(lines.section.latency_ns(), 0, "the line was here");
    lines.use_line(0);
    assert_eq!(lines.section.latency_ns(), 9000);
}

#[test]
fn what_is_late_took_as_long_as_since_it_was_sent_for() {
    let lines = Lines::new(true, LINE);
    lines.take(9000);
    lines.send_for(1);
    lines.process.store.now.fetch_add(8000, Relaxed);
    assert_eq!(lines.section.latency_ns(), 0);
    lines.use_line(1);
    assert_eq!(lines.section.latency_ns(), 9000, "the program waited for 1000 of it");
}

#[test]
fn of_what_had_come_when_it_was_used_it_is_not_known_how_long_it_took() {
    let lines = Lines::new(true, LINE);
    lines.take(9000);
    lines.send_for(1);
    lines.process.store.now.fetch_add(50_000, Relaxed);
    lines.use_line(1);
    assert_eq!(lines.section.latency_ns(), 0);
}

#[test]
fn a_copy_tells_its_section_and_asks_it() {
    let lines = Lines::new(true, LINE);
    let host = Box::new(Lender(Arc::clone(&lines.process)));
    let copy = Section::open_copy(host, shape(LINE), &lines.section).expect("there is room");
    lines.take(9000);
    let read = |line| _ = copy.address(lines.ptr(line)).expect("it comes");
    read(7);
    assert_eq!(copy.latency_ns(), 0, "the line was in its section");
    read(0);
    assert_eq!((copy.latency_ns(), lines.section.latency_ns()), (9000, 9000));
    lines.take(17_000);
    copy.fetch(lines.ptr(1), LINE).expect("it is asked for");
    read(1);
    assert_eq!(copy.latency_ns(), 10_000, "an eighth of the difference more");
}

#[test]
fn where_lines_come_with_their_pages_nothing_is_sent_for_ahead_and_nobody_asks() {
    let lines = Lines::new(false, LINE / 16);
    lines.take(9000);
    lines.use_line(0);
    assert_eq!(lines.section.latency_ns(), 0);
}
