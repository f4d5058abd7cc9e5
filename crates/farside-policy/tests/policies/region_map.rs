//! Which region a page lies in, found by gaps or given.

use farside_policy::replacement::region::{Begun, MOST_REGIONS, RegionMap, RegionMapError};
use farside_trace::{PageId, PageRange};
use proptest::prelude::*;

#[test]
fn regions_are_found_by_gaps() {
    let mut map = RegionMap::by_gap(10, 3);
    assert!(map.is_empty());
    let regions = [100, 110, 121, 115, 90, 1000, 132, 5000, 700, 95, u64::MAX, 126]
        .map(|page| map.region_of(PageId(page)));
    // 121 is more than 10 from 110; 115 is nearer to 110. There is no fourth region: 132 joins 121,
    // 5000 and the last page 1000, and 700 too.
    assert_eq!(regions, [0, 0, 1, 0, 0, 2, 1, 2, 2, 0, 2, 1]);
    assert_eq!((map.len(), map.most()), (3, 3));
}

#[test]
fn regions_are_taken_as_given() {
    let range = |first, count| PageRange::new(PageId(first), count);
    let mut map = RegionMap::given(&[(range(50, 10), 1), (range(0, 10), 0), (range(10, 5), 1)])
        .expect("ranges without overlap");
    let regions = [0, 9, 10, 14, 15, 49, 50, 59, 60, u64::MAX].map(|p| map.region_of(PageId(p)));
    assert_eq!(regions, [0, 0, 1, 1, 2, 2, 1, 1, 2, 2]);
    assert_eq!(map.len(), 3);

    let overlap = RegionMap::given(&[(range(0, 10), 0), (range(9, 5), 1)]).unwrap_err();
    assert_eq!(overlap, RegionMapError::Overlap(range(0, 10), range(9, 5)));
    assert!(overlap.to_string().contains("pages in common"));
    let many = RegionMap::given(&[(range(0, 1), MOST_REGIONS - 1)]).unwrap_err();
    assert_eq!(many.to_string(), "region number 31 is too high; number regions from 0 to 30");
}

fn range(first: u64, count: u64) -> PageRange {
    PageRange::new(PageId(first), count)
}

/// The regions of some pages.
fn regions<const N: usize>(map: &mut RegionMap, pages: [u64; N]) -> [usize; N] {
    pages.map(|page| map.region_of(PageId(page)))
}

#[test]
fn regions_are_told_as_they_begin() {
    let mut map = RegionMap::told();
    let begin = |map: &mut RegionMap, first, count| map.begin(range(first, count), |_| true);
    assert_eq!(map.len(), 1);
    assert_eq!(begin(&mut map, 1000, 255), None, "it is too small");
    assert_eq!(begin(&mut map, 1000, 1000), Some(Begun { region: 1, is_renewed: false }));
    assert_eq!(begin(&mut map, 5000, 1000), Some(Begun { region: 2, is_renewed: false }));
    assert_eq!(regions(&mut map, [0, 999, 1000, 1999, 2000, 5999, 6000]), [0, 0, 1, 1, 0, 2, 0]);
    // It grows; part of another one is given back; a third one takes the place of part of the first.
    assert_eq!(begin(&mut map, 1000, 2000), Some(Begun { region: 1, is_renewed: false }));
    map.end(range(5400, 200));
    assert_eq!(begin(&mut map, 500, 1000), Some(Begun { region: 3, is_renewed: false }));
    let pages = [499, 500, 1499, 1500, 2999, 3000, 5399, 5400, 5599, 5600, 5999];
    assert_eq!(regions(&mut map, pages), [0, 3, 3, 1, 1, 0, 2, 0, 0, 2, 2]);
    // What is over leaves its number, when it has no pages any more.
    map.end(range(0, 5000));
    assert_eq!(map.begin(range(0, 300), |region| region == 3).map(|it| it.region), Some(3));
    assert_eq!(begin(&mut map, 8000, 300), Some(Begun { region: 1, is_renewed: true }));
    assert_eq!(begin(&mut map, 9000, 300).map(|it| it.region), Some(4));
    map.end(range(0, u64::MAX));
    assert_eq!(regions(&mut map, [0, 5000, 8000]), [0; 3]);
}

#[test]
fn many_regions_share_numbers_with_those_of_their_size() {
    let mut map = RegionMap::told();
    let begun = (0..100).map(|at| {
        let pages = if at % 2 == 0 { 300 } else { 5000 };
        map.begin(range(at * 10_000, pages), |_| false).expect("it is large enough").region
    });
    let begun: Vec<usize> = begun.collect();
    assert_eq!(begun[..23], (1..24).collect::<Vec<_>>());
    assert!(begun[23..].iter().zip(23..).all(|(it, at)| *it == if at % 2 == 0 { 24 } else { 28 }));
    assert!(map.len() <= MOST_REGIONS);
    // No more than there is room for.
    let more = (100..3000).filter(|at| map.begin(range(at * 10_000, 300), |_| false).is_some());
    assert_eq!(more.count(), 1023 - 100);
}

proptest! {
    #[test]
    fn told_regions_are_those_told_last(
        changes in prop::collection::vec((0..3000_u64, 1..1500_u64, any::<bool>()), 0..40),
    ) {
        let (mut map, mut model) = (RegionMap::told(), vec![0; 4500]);
        for (first, count, is_begin) in changes {
            let range = range(first, count);
            let region = match is_begin {
                true => map.begin(range, |_| false).map_or(0, |begun| begun.region),
                false => { map.end(range); 0 }
            };
            model[first as usize..(first + count) as usize].fill(region);
            for (page, region) in model.iter().enumerate() {
                prop_assert_eq!(map.region_of(PageId(page as u64)), *region, "page {}", page);
            }
        }
    }

    #[test]
    fn a_page_keeps_its_region(
        pages in prop::collection::vec(prop_oneof![0..300_u64, any::<u64>()], 0..200),
        gap in 0..40_u64,
        most in 0..40_usize,
    ) {
        let mut map = RegionMap::by_gap(gap, most);
        let regions: Vec<_> = pages.iter().map(|&page| map.region_of(PageId(page))).collect();
        for (&page, region) in pages.iter().zip(regions) {
            prop_assert_eq!(map.region_of(PageId(page)), region);
            prop_assert!(region < map.len() && map.len() <= map.most());
        }
    }
}
