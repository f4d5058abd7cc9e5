//! The table of regions.

use super::{MAX_PAGES, MAX_REGIONS, PART_REGIONS, TapeRegion};
use crate::PageId;
use crate::file::u64_at;
use crate::file::varint::{Cursor, put};

/// Bytes of the site of a region.
const SITE_BYTES: usize = 8;

/// Puts `regions` in the order of their pages.
///
/// # Errors
/// Why they are no table.
pub(super) fn arrange(regions: &mut [TapeRegion]) -> Result<(), String> {
    if regions.len() > MAX_REGIONS {
        return Err(format!("it has {} regions, {MAX_REGIONS} are allowed", regions.len()));
    }
    let end = |region: &TapeRegion| region.first.0.saturating_add(region.count);
    regions.sort_unstable_by_key(|region| (region.first, region.count));
    if let Some(region) = regions.iter().find(|region| end(region) > MAX_PAGES) {
        let name = name(region);
        return Err(format!("the pages of region {name} are not below {MAX_PAGES}"));
    }
    if let Some(pair) = regions.windows(2).find(|pair| end(&pair[0]) > pair[1].first.0) {
        return Err(format!("the regions {} and {} overlap", name(&pair[0]), name(&pair[1])));
    }
    match twin(regions) {
        Some(region) => Err(format!("there are two regions {}", name(&region))),
        None => Ok(()),
    }
}

fn name(region: &TapeRegion) -> String {
    format!("{:016x}:{}", region.site, region.nth)
}

/// A region whose site and number another one has too.
fn twin(regions: &[TapeRegion]) -> Option<TapeRegion> {
    let mut names: Vec<_> = regions.iter().map(|region| (region.site, region.nth)).collect();
    names.sort_unstable();
    let name = names.windows(2).find(|pair| pair[0] == pair[1])?[0];
    regions.iter().copied().find(|region| (region.site, region.nth) == name)
}

/// Writes the columns of a part of an arranged table; the region before it ends at page `end`.
pub(super) fn encode(part: &[TapeRegion], end: &mut u64, columns: &mut Vec<u8>) {
    columns.clear();
    part.iter().for_each(|region| columns.extend_from_slice(&region.site.to_le_bytes()));
    part.iter().for_each(|region| put(columns, u64::from(region.nth)));
    for region in part {
        put(columns, region.first.0 - *end);
        *end = region.first.0 + region.count;
    }
    part.iter().for_each(|region| put(columns, region.count));
}

/// Appends the `count` regions of a part of the table to those before it.
///
/// # Errors
/// What is wrong with the columns.
pub(super) fn decode(
    raw: &[u8],
    count: usize,
    regions: &mut Vec<TapeRegion>,
) -> Result<(), &'static str> {
    let mut end = regions.last().map_or(0, |region| region.first.0 + region.count);
    let before = regions.len();
    decode_columns(raw, count, regions).ok_or("the table of regions is cut short")?;
    for region in &mut regions[before..] {
        let first = end.checked_add(region.first.0);
        let after = first.and_then(|first| first.checked_add(region.count));
        let (Some(first), Some(after @ ..=MAX_PAGES)) = (first, after) else {
            return Err("a region has pages that cannot be");
        };
        (region.first, end) = (PageId(first), after);
    }
    Ok(())
}

/// Appends regions whose `first` is the distance to the end of the region before.
fn decode_columns(raw: &[u8], count: usize, regions: &mut Vec<TapeRegion>) -> Option<()> {
    debug_assert!(count <= PART_REGIONS);
    let mut cursor = Cursor::new(raw);
    let sites = cursor.bytes(count * SITE_BYTES)?;
    let mut nths = Vec::with_capacity(count);
    for _ in 0..count {
        nths.push(cursor.at_most(u64::from(u32::MAX))? as u32);
    }
    let mut gaps = Vec::with_capacity(count);
    for _ in 0..count {
        gaps.push(PageId(cursor.number()?));
    }
    for (i, (&nth, &first)) in nths.iter().zip(&gaps).enumerate() {
        let site = u64_at(sites, i * SITE_BYTES);
        regions.push(TapeRegion { site, nth, first, count: cursor.number()? });
    }
    cursor.is_empty().then_some(())
}

/// Checks what the columns of the parts cannot say wrong each for itself.
///
/// # Errors
/// What is wrong with the table.
pub(super) fn check(regions: &[TapeRegion]) -> Result<(), &'static str> {
    if twin(regions).is_some() { Err("two regions bear the same name") } else { Ok(()) }
}

/// The region that `page` lies in.
pub(super) fn of(regions: &[TapeRegion], page: PageId) -> Option<&TapeRegion> {
    let after = regions.partition_point(|region| region.first <= page);
    let region = regions[..after].last()?;
    (page.0 - region.first.0 < region.count).then_some(region)
}
