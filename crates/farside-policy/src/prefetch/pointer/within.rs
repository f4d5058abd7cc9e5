//! Chains of pointers within a page: the program goes along them without a fault, and out of the page from somewhere else
//! than where it came in.

use super::link::{Link, Origin};
use super::window::{self, Window};
use super::{Identify, PAGE, WORD};

/// Words of a page.
pub(super) const PAGE_WORDS: usize = (PAGE / WORD) as usize;

/// Places in a page that may lead out of it which are looked into.
const EXITS: usize = 4;

/// How the program went through a page.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Passage {
    /// The link that it followed again and again.
    pub link: Link,
    /// How often.
    pub hops: u32,
    /// Where the pointer lies by which it left.
    pub exit: u64,
}

/// Finds one link that leads through a page from where the program came in, and out of it to `address`.
pub(super) fn passage(
    identify: &dyn Identify,
    words: &[u64; PAGE_WORDS],
    entered: &Window,
    address: u64,
) -> Option<Passage> {
    let page = Page { identify, words, first: entered.entry / PAGE * PAGE };
    let mut exits = [None; EXITS];
    for location in (page.first..page.first + PAGE).step_by(WORD as usize) {
        let Some(behind) = page.target(location).and_then(|named| window::behind(named, address))
        else {
            continue;
        };
        let nearness =
            |exit: &Option<(u64, i64)>| exit.map_or(u64::MAX, |exit| exit.1.unsigned_abs());
        let farthest = exits.iter_mut().max_by_key(|exit| nearness(exit));
        if let Some(place) = farthest.filter(|place| nearness(place) > behind.unsigned_abs()) {
            *place = Some((location, behind));
        }
    }
    exits.into_iter().flatten().find_map(|(exit, behind)| {
        entered.locations().find_map(|start| page.pass(entered.entry, start, exit, behind))
    })
}

struct Page<'a> {
    identify: &'a dyn Identify,
    words: &'a [u64; PAGE_WORDS],
    first: u64,
}

impl Page<'_> {
    /// Where the pointer leads that lies at an aligned place of the page, if one does.
    fn target(&self, location: u64) -> Option<u64> {
        let offset = location.checked_sub(self.first).filter(|offset| *offset < PAGE)?;
        if !offset.is_multiple_of(WORD) {
            return None;
        }
        self.identify.target(location, self.words[(offset / WORD) as usize])
    }

    /// Goes from `entry` along pointers at the distance at which `start` is, and sees whether that comes by `exit`.
    fn pass(&self, entry: u64, start: u64, exit: u64, behind: i64) -> Option<Passage> {
        let distance = start.wrapping_sub(entry) as i64;
        let mut location = start;
        for hops in 1..=PAGE_WORDS as u32 {
            if location == exit {
                let link = Link { origin: Origin::Entry, distance, behind };
                return Some(Passage { link, hops, exit });
            }
            let next = self.target(location)?.wrapping_add_signed(behind);
            location = next.wrapping_add_signed(distance);
        }
        None
    }
}
