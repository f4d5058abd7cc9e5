//! Which region a page lies in, found by gaps or given.

use farside_policy::replacement::region::{MOST_REGIONS, RegionMap, RegionMapError};
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

proptest! {
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
