//! What a trace needs, before it is planned.

use farside_sim::plan::{Footprint, Survey};
use farside_trace::{Access, Block, Mapping, MappingChange, MappingEvent, PageId, PageRange};

/// Four pages of a region, given back; then two others in the same place, and one outside.
#[test]
fn threads_and_pages_are_counted() {
    let access = |(thread, page)| Access { thread, ..Access::from(PageId(page)) };
    let appeared = |access, name: &str| {
        let mapping = Mapping { first: PageId(10), count: 4, name: name.to_owned() };
        MappingEvent { access, change: MappingChange::Appeared(mapping) }
    };
    let gone = MappingChange::Vanished(PageRange::new(PageId(10), 4));
    let blocks = [
        Block {
            first: 0,
            accesses: [(5, 10), (1, 11), (5, 12), (5, 13), (1, 13)].map(access).to_vec(),
            events: vec![appeared(0, "far:0000000000000001:0+0")],
        },
        Block {
            first: 5,
            accesses: [(5, 10), (1, 13), (1, 99)].map(access).to_vec(),
            events: vec![
                MappingEvent { access: 5, change: gone },
                appeared(5, "far:0000000000000001:1+0"),
            ],
        },
    ];
    let mut survey = Survey::new();
    blocks.iter().for_each(|block| survey.feed(block).expect("a good trace"));
    let expected = Footprint { threads: vec![1, 5], records: 8, pages: 7, peak: 4 };
    assert_eq!(survey.finish(), expected);
}
