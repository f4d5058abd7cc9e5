//! Sections that share local memory.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use farside_far::FarError;
use farside_sections::{
    Field, OpenError, Options, RemotePtr, Section, SectionError, Shape, Structure,
};
use proptest::prelude::*;

use crate::model::{Counted, Model};
use crate::support::{Lender, PAGE, Process, read, write};
use crate::{LINES, counted, structure};

/// Pages that a process has at first.
const PAGES: u64 = 1000;

fn direct(line: u64, capacity: u64) -> Shape {
    Shape { structure: Structure::Direct, line, capacity }
}

/// Two sections of 16 lines, the second of which shares the memory of the first, and a block of each.
fn pair(process: &Arc<Process>, line: u64) -> [(Arc<Section>, RemotePtr); 2] {
    let shape = direct(line, 16 * line);
    let first = process.open(shape);
    let second = process.open_with(2, shape, &first);
    [first, second].map(|section| {
        let base = section.allocate(32 * line, 16).expect("there is far memory");
        (section, base)
    })
}

#[test]
fn memory_is_as_much_as_the_largest_needs_and_counts_once() {
    let process = Process::new(true, PAGES);
    let used = || PAGES - process.left.load(Relaxed);
    let nodes = process.open(direct(4096, 40 * 4096));
    assert_eq!(used(), 40);
    let small = process.open_with(2, direct(64, 8192), &nodes);
    assert_eq!(used(), 40);
    let large = process.open_with(3, direct(64, 100 * 4096), &small);
    assert_eq!(used(), 100);
    // The last part of a page is its own.
    let odd = process.open_with(4, direct(64, 4096 + 64), &nodes);
    assert_eq!((used(), process.counted().section_bytes), (101, 101 * PAGE as u64));
    nodes.close().expect("it closes");
    assert_eq!(used(), 101);
    large.close().expect("it closes");
    assert_eq!(used(), 2 + 1);
    small.close().expect("it closes");
    assert_eq!(used(), 1 + 1);
    odd.close().expect("it closes");
    assert_eq!((used(), process.counted().section_bytes), (0, 0));
}

#[test]
fn what_is_beyond_the_limit_is_refused_and_changes_nothing() {
    let process = Process::new(true, 10);
    let first = process.open(direct(4096, 8 * 4096));
    let options = |capacity| Options { id: 2, shape: direct(4096, capacity) };
    let open = |capacity| {
        Section::open_with(Box::new(Lender(Arc::clone(&process))), options(capacity), &first)
    };
    assert!(matches!(open(11 * 4096), Err(OpenError::Limit(_))));
    assert_eq!(process.left.load(Relaxed), 2);
    let second = open(10 * 4096).expect("there is as much");
    assert_eq!(process.left.load(Relaxed), 0);
    first.close().expect("it closes");
    second.close().expect("it closes");
    assert_eq!(process.left.load(Relaxed), 10);
}

#[test]
fn the_one_that_needs_a_slot_takes_the_memory_over() {
    for line in [64, 4096] {
        let process = Process::new(true, PAGES);
        let [(nodes, node), (rest, other)] = pair(&process, line);
        write(&nodes, node, b"nodes");
        assert_eq!(process.counted().section_takeovers, 0);
        write(&rest, other, b"rest");
        let seen = process.counted();
        assert_eq!((seen.section_takeovers, seen.section_written, seen.section_evicted), (1, 1, 1));
        // Nothing of it is here any more, so that nothing has to be stored.
        nodes.flush(node, 32 * line).expect("it goes");
        nodes.evict_soon(node, 32 * line).expect("it goes");
        assert_eq!(nodes.store_all(), Ok(true));
        assert_eq!((nodes.address_here(node), nodes.unstored()), (None, 0));
        assert_eq!(process.counted().section_takeovers, 1);
        assert_eq!(read(&rest, other, 4), b"rest");
        assert_eq!(read(&nodes, node, 5), b"nodes");
        assert_eq!(read(&rest, other, 4), b"rest");
        assert_eq!(process.counted().section_takeovers, 3);
        // What is asked for ahead needs slots, too.
        nodes.fetch(node, 1).expect("it comes");
        assert_eq!(process.counted().section_takeovers, 4);
        assert_eq!(read(&nodes, node, 5), b"nodes");
        assert_eq!(process.counted().section_takeovers, 4);
    }
}

#[test]
fn what_one_has_used_is_the_kernels_before_another_one_uses_as_much() {
    let process = Process::new(true, PAGES);
    let [(nodes, node), (rest, other)] = pair(&process, 4096);
    let is_here = |address| farside_os::memory::is_present(address, PAGE, "a test").unwrap();
    write(&nodes, node, &[1; 4096]);
    let address = nodes.address_here(node).expect("it is here");
    assert!(is_here(address));
    write(&rest, other, &[2; 4096]);
    assert!(!is_here(address));
    assert!(is_here(rest.address_here(other).expect("it is here")));
}

#[test]
fn lines_are_beside_a_structure_whose_memory_another_one_has_pinned() {
    for line in [64, 4096] {
        let process = Process::new(true, PAGES);
        let [(nodes, node), (rest, other)] = pair(&process, line);
        write(&nodes, RemotePtr(node.0 + line), b"dirty");
        // Nothing leaves because another line is pinned later in the structure.
        let there = RemotePtr(node.0 + 3 * line);
        let pinned = nodes.pin(there).expect("it comes");
        nodes.note_written(pinned, 4);
        for i in 0..32 {
            write(&rest, RemotePtr(other.0 + i * line), &[i as u8; 8]);
            // SAFETY: a word of a line that is pinned, and nobody else is here.
            unsafe { *(pinned as *mut u32) = i as u32 };
        }
        rest.fetch(other, 32 * line).expect("what cannot come does not");
        let seen = process.counted();
        assert_eq!((seen.section_takeovers, seen.section_beside), (0, 32));
        assert_eq!((nodes.address(there), nodes.unstored()), (Ok(pinned), 2));
        assert_eq!(read(&nodes, RemotePtr(node.0 + line), 5), b"dirty");
        assert!(nodes.unpin(pinned));
        for i in 0..32 {
            assert_eq!(read(&rest, RemotePtr(other.0 + i * line), 8), [i as u8; 8]);
        }
        let seen = process.counted();
        assert_eq!((seen.section_takeovers, seen.section_beside), (1, 32));
        assert_eq!(read(&nodes, there, 4), 31u32.to_le_bytes());
        assert_eq!(read(&nodes, RemotePtr(node.0 + line), 5), b"dirty");
    }
}

#[test]
fn where_nothing_can_be_borrowed_one_line_beside_the_structure_leaves_for_another() {
    let process = Process::new(true, 3);
    let [(nodes, node), (rest, other)] = pair(&process, 512);
    let pinned = nodes.pin(node).expect("it comes");
    // Eight lines are a page, which is all that is left.
    assert_eq!(process.left.load(Relaxed), 1);
    for i in 0..32 {
        write(&rest, RemotePtr(other.0 + i * 512), &[i as u8; 8]);
    }
    for i in 0..32 {
        assert_eq!(read(&rest, RemotePtr(other.0 + i * 512), 8), [i as u8; 8]);
    }
    assert_eq!((process.left.load(Relaxed), process.counted().section_takeovers), (0, 0));
    assert!(nodes.unpin(pinned));
}

#[test]
fn what_cannot_be_stored_stays_where_it_is() {
    let process = Process::new(true, PAGES);
    let [(nodes, node), (rest, other)] = pair(&process, 128);
    for i in 0..16 {
        write(&nodes, RemotePtr(node.0 + i * 128), &[i as u8; 128]);
    }
    process.store.is_full.store(true, Relaxed);
    assert_eq!(rest.address(other), Err(SectionError::Far(FarError::Full)));
    assert_eq!((nodes.unstored(), process.counted().section_takeovers), (16, 0));
    let misses = process.counted().section_misses;
    for i in 0..16 {
        assert_eq!(read(&nodes, RemotePtr(node.0 + i * 128), 128), [i as u8; 128]);
    }
    assert_eq!(process.counted().section_misses, misses, "they were here");
    process.store.is_full.store(false, Relaxed);
    // It still has the memory for others.
    write(&nodes, RemotePtr(node.0 + 20 * 128), b"more");
    assert_eq!((nodes.unstored(), process.counted().section_takeovers), (16, 0));
    write(&rest, other, b"rest");
    assert_eq!(process.counted().section_takeovers, 1);
    for i in 0..16 {
        assert_eq!(read(&nodes, RemotePtr(node.0 + i * 128), 128), [i as u8; 128]);
    }
}

#[test]
fn fields_are_those_of_each_section() {
    let process = Process::new(true, PAGES);
    let [(nodes, node), (rest, other)] = pair(&process, 128);
    write(&nodes, node, &[1; 128]);
    write(&rest, other, &[2; 128]);
    // What is selected of one that does not hold the memory is nothing to the other.
    nodes.select(64, &[Field { start: 8, len: 8 }]).expect("it goes").expect("they make sense");
    assert_eq!((process.counted().section_takeovers, rest.unstored()), (1, 1));
    write(&nodes, RemotePtr(node.0 + 8), &[3; 8]);
    assert_eq!(read(&rest, other, 128), [2; 128]);
    nodes.select(0, &[]).expect("it goes").expect("that is all");
    let all = read(&nodes, node, 128);
    assert_eq!((&all[..8], &all[8..16], &all[16..]), (&[1; 8][..], &[3; 8][..], &[1; 112][..]));
}

/// What the program does with a line of a section.
#[derive(Clone, Debug)]
enum Deed {
    Read,
    Write(u8),
    Fetch,
    Soon,
    Fork,
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        8 => Just(Deed::Read),
        6 => any::<u8>().prop_map(Deed::Write),
        4 => Just(Deed::Fetch),
        2 => Just(Deed::Soon),
        1 => Just(Deed::Fork),
    ]
}

struct Member {
    section: Arc<Section>,
    model: Model,
    base: RemotePtr,
    content: Vec<u8>,
}

impl Member {
    fn act(&mut self, line: u32, deed: &Deed) {
        let len = self.section.line_len();
        let place = line as usize * len;
        let ptr = RemotePtr(self.base.0 + place as u64);
        match *deed {
            Deed::Read => {
                assert_eq!(read(&self.section, ptr, len), self.content[place..][..len]);
                self.model.touch(line, false, false);
            }
            Deed::Write(byte) => {
                write(&self.section, ptr, &vec![byte; len / 2]);
                self.content[place..][..len / 2].fill(byte);
                self.model.touch(line, true, false);
            }
            Deed::Fetch => {
                self.section.fetch(ptr, 1).expect("it comes");
                self.model.fetch(line);
            }
            Deed::Soon => {
                self.section.evict_soon(ptr, 1).expect("it goes");
                self.model.flush(line);
                self.model.let_leave(line);
            }
            Deed::Fork => {
                self.section.before_fork().expect("it comes");
                self.model.land();
            }
        }
    }
}

fn open(process: &Arc<Process>, shapes: &[(Structure, u64)], line: u64) -> Vec<Member> {
    let mut members: Vec<Member> = Vec::new();
    for (id, (structure, slots)) in (1..).zip(shapes) {
        let shape = Shape { structure: *structure, line, capacity: slots * line };
        let section = match members.first() {
            None => process.open(shape),
            Some(first) => process.open_with(id, shape, &first.section),
        };
        let (ways, full) = match structure {
            Structure::Direct => (1, false),
            Structure::Set(ways) => (*ways as usize, false),
            Structure::Full => (*slots as usize, true),
        };
        let model = Model::new(*slots as usize / ways, ways, full, true);
        let base = section.allocate(u64::from(LINES) * line, 64).expect("there is far memory");
        let content = vec![0; LINES as usize * line as usize];
        members.push(Member { section, model, base, content });
    }
    members
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_group_does_what_its_sections_do_that_are_emptied_when_another_one_comes(
        shapes in prop::collection::vec(structure(), 2..4),
        shift in 6..13u32,
        phases in prop::collection::vec(
            (any::<prop::sample::Index>(), prop::collection::vec((0..LINES, deed()), 1..40)),
            1..20,
        ),
    ) {
        let process = Process::new(true, 1 << 20);
        let mut members = open(&process, &shapes, 1 << shift);
        let (mut holder, mut takeovers) = (0, 0);
        for (at, deeds) in &phases {
            let at = at.index(members.len());
            for (line, deed) in deeds {
                let needs = !matches!(deed, Deed::Soon | Deed::Fork);
                if needs && at != holder {
                    members[holder].model.leave();
                    (holder, takeovers) = (at, takeovers + 1);
                }
                members[at].act(*line, deed);
                let mut all = Counted::default();
                members.iter().for_each(|member| all.add(&member.model.counted));
                let seen = process.counted();
                prop_assert_eq!(counted(&seen), all, "after {:?}", deed);
                prop_assert_eq!((seen.section_beside, seen.section_takeovers), (0, takeovers));
            }
        }
        for member in &members {
            prop_assert_eq!(&read(&member.section, member.base, member.content.len()), &member.content);
        }
        for member in members {
            member.section.close().expect("it closes");
        }
        prop_assert_eq!((process.left.load(Relaxed), process.counted().section_bytes), (1 << 20, 0));
    }
}
