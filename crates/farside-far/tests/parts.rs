//! Parts of pages in the embedded node: gathered and scattered together, they are what they are one by one.

mod pool;

use farside_far::{FarStore, Part};
use farside_os::memory::PAGE;

const PAGES: usize = 3;

/// Fields of records over three pages, from some byte on.
fn fields(record: usize, start: usize, len: usize, from: usize) -> Vec<Part> {
    let places = (from..PAGES * PAGE - record).step_by(record).map(|at| at + start);
    let part = |place| Part { start: (PAGE + place) as u64, len: len as u32, place: place as u32 };
    places.map(part).collect()
}

#[test]
fn parts_are_gathered_and_scattered() {
    let (store, _node, _data) = pool::connect();
    let by_part = store.parts().expect("it moves parts");

    let mut model = vec![0; PAGES * PAGE];
    // Few in a page, many, and such that lie across the end of one.
    for (round, (record, start, len, from)) in
        [(3000, 8, 8, 0), (128, 8, 8, 0), (24, 3, 5, 7), (100, 0, 90, 1), (4096, 4090, 20, 0)]
            .into_iter()
            .enumerate()
    {
        let parts = fields(record, start, len, from);
        let written: Vec<u8> = (0..PAGES * PAGE).map(|at| (at * 7 + round) as u8).collect();
        by_part.write_parts(&parts, &written, 128).unwrap();
        parts.iter().for_each(|part| model[part.range()].copy_from_slice(&written[part.range()]));
        let whole = [Part { start: PAGE as u64, len: (PAGES * PAGE) as u32, place: 0 }];
        for parts in [&whole[..], &parts] {
            let mut read = vec![0xee; PAGES * PAGE];
            let ticket = by_part.begin_read_parts(parts).unwrap();
            by_part.finish_read_parts(ticket, parts, &mut read).unwrap();
            for part in parts {
                assert!(read[part.range()] == model[part.range()], "{round}: {part:?}");
            }
            let touched = |at: usize| parts.iter().any(|part| part.range().contains(&at));
            let rest = (0..read.len()).step_by(13).filter(|at| !touched(*at));
            assert!(rest.map(|at| read[at]).all(|byte| byte == 0xee), "{round}: more was read");
        }
    }
}
