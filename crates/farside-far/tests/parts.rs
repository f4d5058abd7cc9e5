//! Parts of pages in the embedded node: gathered and scattered together, they are what they are one by one.

use std::os::fd::AsFd;

use farside_far::{Embedded, FarStore, FarUrl, Part};
use farside_os::memory::{PAGE, anonymous_file};
use farside_os::socket;
use farside_wire::pool::{DATA_BYTES, MAX_PAGES, Message, REFS_BYTES};

const PAGES: usize = 3;

/// Fields of records over three pages, from some byte on.
fn fields(record: usize, start: usize, len: usize, from: usize) -> Vec<Part> {
    let places = (from..PAGES * PAGE - record).step_by(record).map(|at| at + start);
    let part = |place| Part { start: (PAGE + place) as u64, len: len as u32, place: place as u32 };
    places.map(part).collect()
}

#[test]
fn parts_are_gathered_and_scattered() {
    let (client, node) = socket::pair().unwrap();
    let data = anonymous_file(c"data", DATA_BYTES).unwrap();
    let refs = anonymous_file(c"refs", REFS_BYTES).unwrap();
    let map = anonymous_file(c"map", MAX_PAGES * 4).unwrap();
    let files = [data.as_fd(), refs.as_fd(), map.as_fd()];
    socket::send(node.as_fd(), &Message::Pool.encode(), &files).unwrap();
    let url: FarUrl = "embedded:".parse().unwrap();
    let store = Embedded::connect(client, &url, 1 << 20).unwrap();
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
        by_part.write_parts(&parts, &written).unwrap();
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
