//! Blocks of far memory: which there are, and what becomes of them.

use std::collections::BTreeMap;

use farside_sections::{RemotePtr, SectionError, Shape, Structure};
use proptest::prelude::*;

use crate::support::{Process, read, write};

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn blocks_are_nobody_elses_and_keep_their_content(
        shift in 6..14u32,
        deeds in prop::collection::vec((0..4u8, 1..200_000u64, 0..5u32, any::<u8>()), 1..120),
    ) {
        let process = Process::new(true, 1 << 20);
        let (line, structure) = (1u64 << shift, Structure::Set(2));
        let section = process.open(Shape { structure, line, capacity: 8 * line });
        let mut known: BTreeMap<u64, (u64, u8)> = BTreeMap::new();
        for (what, size, align, byte) in deeds {
            // Small ones more often than large ones.
            let size = if what % 2 == 0 { size % 300 + 1 } else { size };
            if what < 3 {
                let align = 16 << align;
                let ptr = section.allocate(size, align).expect("there is far memory");
                let (start, end) = (ptr.offset(), ptr.offset() + size);
                prop_assert_eq!(start % align, 0);
                prop_assert!(section.size(ptr).is_some_and(|usable| usable >= size));
                let before = known.range(..end).next_back();
                prop_assert!(before.is_none_or(|(other, (len, _))| other + len <= start));
                if size <= line {
                    prop_assert_eq!(start / line, (end - 1) / line, "it lies in two lines");
                }
                write(&section, ptr, &vec![byte; size as usize]);
                known.insert(start, (size, byte));
            } else if let Some((start, _)) = known.clone().iter().nth(size as usize % known.len().max(1)) {
                let (size, byte) = known.remove(start).expect("it is there");
                let ptr = RemotePtr::new(1, *start);
                prop_assert!(read(&section, ptr, size as usize) == vec![byte; size as usize]);
                section.free(ptr).expect("it was allocated");
                let again = SectionError::NotAllocated { id: 1, offset: *start };
                prop_assert_eq!(section.free(ptr), Err(again));
            }
        }
        for (start, (size, byte)) in known {
            let ptr = RemotePtr::new(1, start);
            prop_assert!(read(&section, ptr, size as usize) == vec![byte; size as usize]);
            section.free(ptr).expect("it was allocated");
        }
        prop_assert_eq!(process.store.held_pages(), 0);
        prop_assert_eq!(process.footprint.load(std::sync::atomic::Ordering::Relaxed), 0);
    }
}

#[test]
fn what_cannot_be_allocated_is_refused() {
    let process = Process::new(true, 100);
    let section = process.open(Shape { structure: Structure::Direct, line: 64, capacity: 4096 });
    for (size, align) in [(u64::MAX, 16), (1 << 40, 16), (100, 3), (100, 1 << 20), (100, 0)] {
        assert_eq!(section.allocate(size, align), None, "{size} bytes at {align}");
    }
    assert!(section.allocate(0, 16).is_some());
}
