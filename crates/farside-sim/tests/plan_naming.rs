//! From pages of a trace to pages of tape space.

use farside_sim::plan::{PlanError, REGION_PAGES, RegionName, RegionNames};
use farside_trace::{Mapping, MappingChange, MappingEvent, PageId, PageRange};
use proptest::prelude::*;

fn appeared(first: u64, count: u64, name: &str) -> MappingEvent {
    let mapping = Mapping { first: PageId(first), count, name: name.to_owned() };
    MappingEvent { access: 0, change: MappingChange::Appeared(mapping) }
}

fn vanished(first: u64, count: u64) -> MappingEvent {
    let change = MappingChange::Vanished(PageRange::new(PageId(first), count));
    MappingEvent { access: 0, change }
}

fn apply(names: &mut RegionNames, event: &MappingEvent) -> Vec<(u64, u64)> {
    let mut gone = Vec::new();
    names.apply(event, &mut gone).expect("a good event");
    gone.iter().map(|range| (range.first.0, range.count)).collect()
}

fn page(names: &mut RegionNames, page: u64) -> u64 {
    names.translate(PageId(page)).expect("a page of the trace").0
}

const A: &str = "far:00000000000000aa:0+0";
const B: &str = "far:00000000000000aa:1+0";

#[test]
fn only_names_written_exactly_so_are_regions() {
    let name = RegionName { site: 0x0123_4567_89ab_cdef, nth: 12, offset: 0, kept: false };
    assert_eq!(RegionName::parse("far:0123456789abcdef:12+0"), Some(name));
    let kept = RegionName { kept: true, ..name };
    assert_eq!(RegionName::parse("far:0123456789abcdef:12+0,kept"), Some(kept));
    for bad in [
        "",
        "[heap]",
        "far:",
        "far:0123456789abcdef:12",
        "far:0123456789abcdef:12+",
        "far:0123456789abcdef:+1",
        "far:0123456789abcde:12+0",
        "far:0123456789abcdef0:12+0",
        "far:0123456789abcdeg:12+0",
        "far:+123456789abcdef:12+0",
        "far:0123456789abcdef:-1+0",
        "far:0123456789abcdef:1++1",
        "far:0123456789abcdef:01+1",
        "far:0123456789abcdef:1+00",
        "far:0123456789abcdef:1+0 ",
        "far:0123456789abcdef:1+0,",
        "far:0123456789abcdef:1+0,kept,kept",
        " far:0123456789abcdef:1+0",
        "Far:0123456789abcdef:1+0",
        "far:0123456789abcdef:4294967296+0",
        "far:0123456789abcdef:1+18446744073709551616",
    ] {
        assert_eq!(RegionName::parse(bad), None, "{bad:?}");
    }
}

#[test]
fn regions_have_ranges_of_their_own_and_grow_in_them() {
    let mut names = RegionNames::new();
    assert!(apply(&mut names, &appeared(1_000, 10, A)).is_empty());
    assert!(apply(&mut names, &appeared(2_000, 10, B)).is_empty());
    assert!(apply(&mut names, &appeared(5_000, 7, "far:00000000000000aa:0+20")).is_empty());
    assert!(apply(&mut names, &appeared(0, 1 << 20, "[anon]")).is_empty(), "no region");
    let [a, b] = names.regions()[..] else { panic!("{:?}", names.regions()) };
    assert_eq!((a.site, a.nth, a.count), (0xaa, 0, 27));
    assert_eq!((b.site, b.nth, b.count), (0xaa, 1, 10));
    assert!(b.first.0 >= a.first.0 + REGION_PAGES);
    assert_eq!(page(&mut names, 1_009), a.first.0 + 9);
    assert_eq!(page(&mut names, 5_006), a.first.0 + 26);
    assert_eq!(page(&mut names, 2_003), b.first.0 + 3);
    // Between them pages have no names.
    assert_eq!(page(&mut names, 1_010), 1_010);
    let [unnamed, ..] = names.regions()[..] else { panic!() };
    assert_eq!((unnamed.site, unnamed.nth, unnamed.first.0, unnamed.count), (0, 0, 0, 1_011));
}

#[test]
fn what_is_replaced_or_given_back_is_gone() {
    let mut names = RegionNames::new();
    apply(&mut names, &appeared(100, 10, A));
    let a = names.regions()[0].first.0;
    assert_eq!(apply(&mut names, &appeared(103, 2, "far:00000000000000aa:0+3")), [(a + 3, 2)]);
    assert_eq!(page(&mut names, 109), a + 9);
    let mut gone = apply(&mut names, &appeared(108, 4, B));
    gone.sort_unstable();
    assert_eq!(gone, [(a + 8, 2)]);
    let b = names.regions()[1].first.0;
    assert_eq!((page(&mut names, 107), page(&mut names, 108)), (a + 7, b));
    let mut gone = apply(&mut names, &vanished(0, 109));
    gone.sort_unstable();
    assert_eq!(gone, [(a, 3), (a + 3, 2), (a + 5, 3), (b, 1)]);
    assert_eq!((page(&mut names, 100), page(&mut names, 109)), (100, b + 1));
    assert!(apply(&mut names, &vanished(0, 100)).is_empty());
}

#[test]
fn pages_and_regions_without_room_are_refused() {
    let mut names = RegionNames::new();
    assert_eq!(page(&mut names, u64::MAX), u64::MAX);
    let mut gone = Vec::new();
    let error = names.apply(&appeared(1, 1, A), &mut gone);
    assert!(matches!(error, Err(PlanError::PageBeyond { .. })), "{error:?}");
    let mut names = RegionNames::new();
    for (first, count, name) in [
        (1, REGION_PAGES + 1, A),
        (u64::MAX - 1, 3, A),
        (1, 1, "far:00000000000000aa:0+4294967296"),
        (1, 1, "far:00000000000000aa:0+18446744073709551615"),
    ] {
        let error = names.apply(&appeared(first, count, name), &mut gone);
        assert!(matches!(error, Err(PlanError::RegionTooLarge { .. })), "{error:?}");
    }
    apply(&mut names, &appeared(REGION_PAGES * 5, 3, A));
    assert_eq!(page(&mut names, REGION_PAGES * 5 + 2), names.regions()[0].first.0 + 2);
    let error = names.translate(PageId(REGION_PAGES));
    assert_eq!(error, Err(PlanError::PageBeyond { page: PageId(REGION_PAGES) }));
    assert_eq!(page(&mut names, REGION_PAGES - 1), REGION_PAGES - 1);
}

proptest! {
    /// Against a list of all pages.
    #[test]
    fn translations_are_those_of_a_page_by_page_list(
        operations in prop::collection::vec(
            (0..600_u64, 1..300_u64, prop::option::of((1..4_u64, 0..2_u32, 0..100_u64))), 0..20),
        looked_at in prop::collection::vec(0..1_000_u64, 20),
    ) {
        let mut names = RegionNames::new();
        let mut list = vec![None; 1_000];
        for (first, count, name) in operations {
            let range = first as usize..(first + count) as usize;
            let mut expected: Vec<_> = list[range.clone()].iter().copied().flatten().collect();
            let event = match name {
                Some((site, nth, offset)) => {
                    let text = format!("far:{site:016X}:{nth}+{offset}");
                    (offset..).zip(range).for_each(|(at, i)| list[i] = Some((site, nth, at)));
                    appeared(first, count, &text)
                }
                None => {
                    list[range].fill(None);
                    vanished(first, count)
                }
            };
            let gone = apply(&mut names, &event);
            let regions = names.regions();
            let identity = |page: u64| {
                let region = regions.iter().find(|r| (r.first.0..r.first.0 + r.count).contains(&page));
                let region = region.expect("pages have regions");
                (region.site, region.nth, page - region.first.0)
            };
            let gone = gone.iter().flat_map(|(first, count)| (*first..first + count).map(identity));
            let mut gone: Vec<_> = gone.collect();
            gone.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(gone, expected);
            for number in &looked_at {
                let page = page(&mut names, *number);
                match list[*number as usize] {
                    Some(expected) => prop_assert_eq!(identity(page), expected),
                    None => prop_assert_eq!(page, *number),
                }
            }
        }
    }
}
