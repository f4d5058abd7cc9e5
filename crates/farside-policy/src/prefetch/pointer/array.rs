//! One array of pointers that the program goes through.

use super::{Identify, MOST_FETCHES, Memory, PAGE, Place, WORD};

/// How often the program must have followed pointers of an array before what comes next is sent for.
const BELIEVED: u8 = 3;

/// How far behind the place that a pointer names the program may come in, in bytes.
const BEHIND: u64 = 256;

/// How far from a pointer the next one of its array may lie before it is known how far that is, in bytes.
const NEAR: i64 = 256;

/// How far ahead of the program an array is looked at, in bytes and elements.
const AHEAD_BYTES: u64 = 4096;
const AHEAD: u64 = 128;

/// Pages that are sent for together at first. They become twice as many with each that is seen to be used.
const FIRST_BATCH: u8 = 2;

/// Words that are looked at together.
const PIECE: usize = 64;

/// How right an array is at first, at most, and what it loses by a page that was not used.
const FIRST_SCORE: u8 = 6;
const MOST_SCORE: u8 = 16;
const WRONG: u8 = 2;

/// Whether the program may come to `address` by following `pointer`.
pub(super) fn leads_to(pointer: u64, address: u64) -> bool {
    address.wrapping_sub(pointer) < BEHIND
}

/// Whether any of these pointers does. Nearly always none does, which is found out without a branch for each.
pub(super) fn any_leads_to(pointers: &[u64], address: u64) -> bool {
    pointers.iter().fold(false, |any, pointer| any | leads_to(*pointer, address))
}

/// Where the program comes in next, and the pointer to there.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Element {
    pub location: u64,
    pub target: u64,
}

/// Elements whose pages are to be sent for.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Elements {
    items: [Element; MOST_FETCHES],
    len: usize,
}

impl Elements {
    pub fn iter(&self) -> impl Iterator<Item = Element> + '_ {
        self.items[..self.len].iter().copied()
    }

    /// The one in the middle: when the program comes there, it is time for the next ones.
    pub fn middle(&self) -> Option<Element> {
        self.items[..self.len].get(self.len / 2).copied()
    }

    fn has(&self, page: u64) -> bool {
        self.iter().any(|element| element.target / PAGE == page)
    }
}

/// An array of pointers.
#[derive(Copy, Clone, Debug)]
pub(super) struct Array {
    /// By which it is known.
    pub number: u32,
    /// Where the pointer lies that was followed last.
    pub cursor: u64,
    /// When it was followed.
    pub used: u32,
    /// How far on the next one lies; 0 if that is not known.
    stride: i64,
    /// How often pointers were followed one after the other.
    hits: u8,
    /// Up to where it was looked at.
    reach: u64,
    /// The pointer to the page by which it is seen that the program comes nearer; the cursor if there is none.
    watched: u64,
    score: u8,
    /// Most pages that are sent for together.
    batch: u8,
}

impl Array {
    /// An array of which one pointer was followed.
    pub fn new(number: u32, cursor: u64, used: u32) -> Self {
        let (reach, watched) = (cursor, cursor);
        let (score, batch) = (FIRST_SCORE, FIRST_BATCH);
        Self { number, cursor, used, stride: 0, hits: 0, reach, watched, score, batch }
    }

    pub fn is_believed(&self) -> bool {
        self.hits >= BELIEVED
    }

    /// How far ahead it is looked at, in bytes.
    fn ahead(&self) -> i64 {
        let elements = AHEAD.min(AHEAD_BYTES / self.stride.unsigned_abs().max(1));
        elements as i64 * self.stride
    }

    /// Whether a place lies ahead of the cursor, and no farther than it is looked at.
    fn is_ahead(&self, location: u64) -> bool {
        let distance = location.wrapping_sub(self.cursor) as i64;
        distance.signum() == self.stride.signum()
            && distance.unsigned_abs() <= self.ahead().unsigned_abs()
    }

    /// Where the pointer to an address lies that comes next: rather one of the stride than another.
    pub fn find(&self, memory: &mut dyn Memory, address: u64) -> Option<u64> {
        let (from, to) = match self.stride {
            0 => (-NEAR, NEAR),
            1.. => (WORD as i64, self.ahead()),
            _ => (self.ahead(), -(WORD as i64)),
        };
        let end = self.cursor.wrapping_add_signed(to);
        let mut at = self.cursor.wrapping_add_signed(from);
        let mut words = [0; PIECE];
        let mut best: Option<(bool, u64, u64)> = None;
        while at <= end {
            let len = (((end - at) / WORD + 1).min((PAGE - at % PAGE) / WORD) as usize).min(PIECE);
            if memory.read(at, &mut words[..len]) && any_leads_to(&words[..len], address) {
                let places = (at..).step_by(WORD as usize);
                let leading = words[..len].iter().zip(places).filter(|(word, location)| {
                    leads_to(**word, address) && *location != self.cursor
                });
                best = leading.fold(best, |best, (_, location)| {
                    let distance = location.wrapping_sub(self.cursor) as i64;
                    let is_odd = self.stride != 0 && distance % self.stride != 0;
                    let found = (is_odd, distance.unsigned_abs(), location);
                    Some(best.map_or(found, |best| best.min(found)))
                });
            }
            at += len as u64 * WORD;
        }
        best.map(|(_, _, location)| location)
    }

    /// The program followed a pointer that was [found](Self::find).
    pub fn followed(&mut self, location: u64, now: u32) {
        let distance = location.wrapping_sub(self.cursor) as i64;
        self.stride = match self.stride {
            0 => distance,
            stride => gcd(distance.unsigned_abs(), stride.unsigned_abs()) as i64 * stride.signum(),
        };
        self.hits = self.hits.saturating_add(1);
        (self.cursor, self.used) = (location, now);
    }

    /// The program came to a page that was sent for because of a pointer.
    pub fn passed(&mut self, location: u64, now: u32) {
        if self.is_ahead(location) {
            self.cursor = location;
        }
        self.used = now;
    }

    /// The program goes on elsewhere in the array.
    pub fn jump(&mut self, location: u64, now: u32) {
        (self.cursor, self.used) = (location, now);
        (self.reach, self.watched) = (location, location);
    }

    /// A page that was sent for was used, or not. Says whether it is worth going on.
    pub fn answer(&mut self, right: bool) -> bool {
        (self.score, self.batch) = if right {
            ((self.score + 1).min(MOST_SCORE), (2 * self.batch).min(MOST_FETCHES as u8))
        } else {
            (self.score.saturating_sub(WRONG), (self.batch / 2).max(1))
        };
        self.score > 0
    }

    /// What is to be sent for next, at most so many pages: nothing as long as the program has not come to the middle of
    /// what was sent for last, so that it is seen at one page in sixteen where it is.
    pub fn next(
        &mut self,
        memory: &mut dyn Memory,
        identify: &dyn Identify,
        most: usize,
    ) -> Elements {
        let mut elements = Elements::default();
        if !self.is_believed() || self.is_ahead(self.watched) {
            return elements;
        }
        let most = most.min(MOST_FETCHES).min(self.batch as usize);
        let end = self.cursor.wrapping_add_signed(self.ahead());
        let mut at = if self.is_ahead(self.reach) { self.reach } else { self.cursor };
        let (mut start, mut len, mut words) = (0, 0, [0; PIECE]);
        // After a jump the place that was reached may lie between two elements.
        for _ in 0..end.wrapping_sub(at) as i64 / self.stride {
            if elements.len == most {
                break;
            }
            let location = at.wrapping_add_signed(self.stride);
            if location.wrapping_sub(start) / WORD >= len as u64 {
                (start, len) = self.piece(location);
                if !memory.read(start, &mut words[..len]) {
                    break;
                }
            }
            at = location;
            let word = words[(location.wrapping_sub(start) / WORD) as usize];
            let Some(target) = identify.names(location, word) else { continue };
            if memory.place(target / PAGE) == Place::Far && !elements.has(target / PAGE) {
                elements.items[elements.len] = Element { location, target };
                elements.len += 1;
            }
        }
        self.reach = at;
        self.watched = elements.middle().map_or(self.cursor, |element| element.location);
        elements
    }

    /// The words of a page that are looked at together, from a place on: where they begin, and how many they are.
    fn piece(&self, location: u64) -> (u64, usize) {
        let bytes = PIECE as u64 * WORD;
        let page = location / PAGE * PAGE;
        let (from, to) = if self.stride > 0 {
            (location, (location + bytes).min(page + PAGE))
        } else {
            let to = location + WORD;
            (page.max(to.saturating_sub(bytes)), to)
        };
        (from, ((to - from) / WORD) as usize)
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::super::Conservative;
    use super::*;

    /// Memory that is all here, and holds nothing.
    struct Everywhere {
        reads: u32,
    }

    impl Memory for Everywhere {
        fn place(&self, _page: u64) -> Place {
            Place::Here
        }

        fn read(&mut self, _address: u64, into: &mut [u64]) -> bool {
            self.reads += 1;
            assert!(self.reads < 1000, "it is looked at without end");
            into.fill(0);
            true
        }

        fn array_page(&self, _age: usize) -> Option<u64> {
            None
        }
    }

    #[test]
    fn an_array_is_looked_at_no_farther_than_that_after_a_jump_between_two_elements() {
        let (mut memory, identify) = (Everywhere { reads: 0 }, Conservative { first: 0, len: 0 });
        for stride in [-32, 32] {
            let at = |elements: i64| (1_u64 << 40).wrapping_add_signed(elements * stride);
            let mut array = Array::new(1, at(0), 0);
            (1..=3).for_each(|element| array.followed(at(element), 0));
            array.next(&mut memory, &identify, MOST_FETCHES);
            array.jump(at(3) + 8, 0);
            array.next(&mut memory, &identify, MOST_FETCHES);
            array.passed(at(9), 0);
            array.next(&mut memory, &identify, MOST_FETCHES);
        }
        assert!(memory.reads > 0);
    }
}
