//! Pages by the region they belong to, so that a plan fits a process in which regions lie elsewhere.

use std::collections::BTreeMap;

use farside_trace::tape::TapeRegion;
use farside_trace::{Mapping, MappingChange, MappingEvent, PageId, PageRange};
use rustc_hash::FxHashMap;

use super::PlanError;

/// Pages of tape space that each region has for itself, and most pages of a region: 16 TiB.
pub const REGION_PAGES: u64 = 1 << 32;

/// Ranges that are found without searching: those of 1 GiB at least.
const RECENT: usize = 1 << 10;

/// Binary logarithm of the pages that share one of these places.
const RECENT_SHIFT: u32 = 8;

/// The name of a mapping that `farside record` makes: `far:SITE:NTH+OFFSET`, or `far:SITE:NTH+OFFSET,kept`.
///
/// SITE is 16 hexadecimal digits, the hash of the call site; NTH tells in decimal how many regions came
/// from there before; OFFSET is in decimal the offset of the mapping in its region, in pages. The pages of
/// a mapping have no content when it appears, but with `,kept` they have: it is older than the trace.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct RegionName {
    /// Hash of the call site.
    pub site: u64,
    /// How many regions came from that site before.
    pub nth: u32,
    /// Offset of the mapping's first page in the region.
    pub offset: u64,
    /// Whether its pages have content that is older than the trace.
    pub kept: bool,
}

impl RegionName {
    /// Parses a name; `None` for every name that is not written exactly so.
    pub fn parse(name: &str) -> Option<Self> {
        let (name, kept) = match name.strip_suffix(",kept") {
            Some(name) => (name, true),
            None => (name, false),
        };
        let (site, rest) = name.strip_prefix("far:")?.split_once(':')?;
        let (nth, offset) = rest.split_once('+')?;
        if site.len() != 16 || !site.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        Some(Self {
            site: u64::from_str_radix(site, 16).ok()?,
            nth: decimal(nth)?.try_into().ok()?,
            offset: decimal(offset)?,
            kept,
        })
    }
}

/// A number as it is printed: digits only, and no zeros before it.
fn decimal(text: &str) -> Option<u64> {
    let printed = text.bytes().all(|byte| byte.is_ascii_digit());
    let plain = text == "0" || !text.starts_with('0');
    if printed && plain { text.parse().ok() } else { None }
}

/// Pages that lie in tape space as they lie in the trace.
#[derive(Copy, Clone, Debug)]
struct Piece {
    first: u64,
    count: u64,
    /// What to add, modulo 2^64, to get from the trace to tape space.
    shift: u64,
    /// Whether a mapping says so.
    named: bool,
}

impl Piece {
    const NONE: Self = Self { first: 0, count: 0, shift: 0, named: true };

    #[inline]
    const fn contains(&self, page: u64) -> bool {
        page.wrapping_sub(self.first) < self.count
    }

    const fn end(&self) -> u64 {
        self.first.saturating_add(self.count)
    }
}

/// The regions of a trace: translates its pages to *tape space*, where each region has a range of
/// [`REGION_PAGES`] of its own, in order of appearance, into which it may grow.
///
/// Pages outside of all regions keep their numbers: they are the region with site 0 and `nth` 0, which
/// begins at page 0. A trace without regions may have any page numbers; one with regions has no page
/// outside of them beyond [`REGION_PAGES`].
#[derive(Clone, Debug)]
pub struct RegionNames {
    /// Mapped pieces by first page, none of which overlap.
    pieces: BTreeMap<u64, Piece>,
    /// By page, without the lowest bits: the piece found there last.
    recent: Vec<Piece>,
    /// By site and `nth`: place among the regions.
    places: FxHashMap<(u64, u32), usize>,
    regions: Vec<TapeRegion>,
    /// After the highest page of the region with site 0 and `nth` 0.
    unnamed: u64,
}

impl Default for RegionNames {
    fn default() -> Self {
        Self::new()
    }
}

impl RegionNames {
    /// Before the first event.
    pub fn new() -> Self {
        Self {
            pieces: BTreeMap::new(),
            recent: vec![Piece::NONE; RECENT],
            places: FxHashMap::default(),
            regions: Vec::new(),
            unnamed: 0,
        }
    }

    /// Takes in an event; appends to `gone` the ranges of tape space whose content is gone with it, and returns
    /// the range that has content now, which is older than the trace. Mappings that are no regions are ignored,
    /// and so are pages outside of regions that vanish.
    ///
    /// # Errors
    /// [`PlanError::RegionTooLarge`] and [`PlanError::TooManyRegions`] if the region finds no room,
    /// [`PlanError::PageBeyond`] if a page outside of all regions lay there.
    pub fn apply(
        &mut self,
        event: &MappingEvent,
        gone: &mut Vec<PageRange>,
    ) -> Result<Option<PageRange>, PlanError> {
        match &event.change {
            MappingChange::Appeared(mapping) => match RegionName::parse(&mapping.name) {
                Some(name) if mapping.count > 0 => {
                    let range = self.appear(mapping, name, event.access, gone)?;
                    Ok(name.kept.then_some(range))
                }
                _ => Ok(None),
            },
            MappingChange::Vanished(range) => {
                self.cut(range.first.0, range.end(), gone);
                Ok(None)
            }
        }
    }

    /// The pages of a mapping belong to a region; returns them in tape space.
    fn appear(
        &mut self,
        mapping: &Mapping,
        name: RegionName,
        access: u64,
        gone: &mut Vec<PageRange>,
    ) -> Result<PageRange, PlanError> {
        let Mapping { first, count, .. } = *mapping;
        let end = name.offset.saturating_add(count);
        if end > REGION_PAGES || first.0.checked_add(count).is_none() {
            let name = mapping.name.clone();
            return Err(PlanError::RegionTooLarge { name, count, access });
        }
        let begin = self.begin_of(name, end)?;
        self.cut(first.0, first.0 + count, gone);
        let shift = begin.wrapping_add(name.offset).wrapping_sub(first.0);
        self.pieces.insert(first.0, Piece { first: first.0, count, shift, named: true });
        Ok(PageRange::new(PageId(begin + name.offset), count))
    }

    /// Where the region begins in tape space; it reaches as far as `end` at least.
    fn begin_of(&mut self, name: RegionName, end: u64) -> Result<u64, PlanError> {
        if self.unnamed > REGION_PAGES {
            return Err(PlanError::PageBeyond { page: PageId(self.unnamed - 1) });
        }
        if (name.site, name.nth) == (0, 0) {
            self.unnamed = self.unnamed.max(end);
            return Ok(0);
        }
        let next = self.regions.len();
        let place = *self.places.entry((name.site, name.nth)).or_insert(next);
        if place == next {
            let number = u32::try_from(next + 1).map_err(|_| PlanError::TooManyRegions)?;
            let first = PageId(u64::from(number) * REGION_PAGES);
            self.regions.push(TapeRegion { site: name.site, nth: name.nth, first, count: 0 });
        }
        let region = &mut self.regions[place];
        region.count = region.count.max(end);
        Ok(region.first.0)
    }

    /// Forgets what was found in `first..end`: only those pages look there.
    fn forget_recent(&mut self, first: u64, end: u64) {
        let blocks = first >> RECENT_SHIFT..=end.saturating_sub(1) >> RECENT_SHIFT;
        // What lies between pieces ends elsewhere when there are any.
        if self.pieces.is_empty() || blocks.end().saturating_sub(*blocks.start()) >= RECENT as u64 {
            self.recent.fill(Piece::NONE);
        } else {
            blocks.for_each(|block| self.recent[block as usize % RECENT] = Piece::NONE);
        }
    }

    /// Takes `first..end` out of all pieces.
    fn cut(&mut self, first: u64, end: u64, gone: &mut Vec<PageRange>) {
        self.forget_recent(first, end);
        while let Some((_, piece)) = self.pieces.range(..end).next_back()
            && piece.end() > first
        {
            let piece = *piece;
            self.pieces.remove(&piece.first);
            let mut keep = |first: u64, end: u64| {
                if first < end {
                    let part = Piece { first, count: end - first, ..piece };
                    self.pieces.insert(first, part);
                }
            };
            keep(piece.first, first);
            keep(end, piece.end());
            let from = first.max(piece.first);
            let count = end.min(piece.end()) - from;
            gone.push(PageRange::new(PageId(from.wrapping_add(piece.shift)), count));
        }
    }

    /// The page in tape space.
    ///
    /// # Errors
    /// [`PlanError::PageBeyond`] if there are regions and the page is in none, and not below
    /// [`REGION_PAGES`].
    #[inline]
    pub fn translate(&mut self, page: PageId) -> Result<PageId, PlanError> {
        let mut piece = self.recent[(page.0 >> RECENT_SHIFT) as usize % RECENT];
        if !piece.contains(page.0) {
            piece = self.find(page)?;
        }
        let found = page.0.wrapping_add(piece.shift);
        if !piece.named {
            self.unnamed = self.unnamed.max(found.saturating_add(1));
        }
        Ok(PageId(found))
    }

    /// The piece that `page` lies in; what lies between pieces is one too.
    #[cold]
    fn find(&mut self, page: PageId) -> Result<Piece, PlanError> {
        let below = self.pieces.range(..=page.0).next_back().map(|(_, piece)| *piece);
        let piece = match below {
            Some(piece) if piece.contains(page.0) => piece,
            _ => {
                let above = self.pieces.range(page.0..).next().map(|(first, _)| *first);
                let first = below.map_or(0, |piece| piece.end());
                let mut end = above.unwrap_or(u64::MAX);
                if !self.regions.is_empty() || !self.pieces.is_empty() {
                    end = end.min(REGION_PAGES);
                }
                let between =
                    Piece { first, count: end.saturating_sub(first), shift: 0, named: false };
                if !between.contains(page.0) && (end < u64::MAX || page.0 < u64::MAX) {
                    return Err(PlanError::PageBeyond { page });
                }
                between
            }
        };
        self.recent[(page.0 >> RECENT_SHIFT) as usize % RECENT] = piece;
        Ok(piece)
    }

    /// The regions so far, in the order of tape space. That with site 0 and `nth` 0 comes first, if there are
    /// pages in it.
    pub fn regions(&self) -> Vec<TapeRegion> {
        let unnamed = TapeRegion { site: 0, nth: 0, first: PageId(0), count: self.unnamed };
        let unnamed = (self.unnamed > 0).then_some(unnamed);
        unnamed.into_iter().chain(self.regions.iter().copied()).collect()
    }
}
