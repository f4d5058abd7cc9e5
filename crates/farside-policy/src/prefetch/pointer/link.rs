//! Which pointers the program follows: learned from where it came in, and where it came in before.

/// Links that are remembered at once.
pub(super) const LINKS: usize = 15;

/// How a pointer that is followed is found.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// By its distance from where the program came in.
    Entry,
    /// By its distance from the pointer that was followed before from the same place: the elements of an array.
    Sibling,
}

/// A pointer that is followed, and where the program comes in behind it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub origin: Origin,
    /// Where the pointer lies, in bytes from its origin.
    pub distance: i64,
    /// Where the program comes in, in bytes from what the pointer names.
    pub behind: i64,
}

impl Link {
    /// What a place that is reached by this link is known by: a number from 1 to [`LINKS`], the same in all parts of
    /// memory. Links that share one are not told apart as what led somewhere.
    pub fn context(self) -> u8 {
        let mixed = (self.distance as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
            ^ (self.behind as u64).wrapping_mul(0xC2B2_AE3D_27D4_EB4F)
            ^ (self.origin as u64);
        1 + ((mixed ^ mixed >> 32) % LINKS as u64) as u8
    }
}

/// How often a link, or a pair of them, was right, in parts of 65,536.
type Rate = u16;

/// A single answer changes a rate by an eighth of what is left.
const SHIFT: u32 = 3;

/// How often a new link has to be seen before it is believed.
const LEAST_SEEN: u16 = 2;

/// Observations from one decay to the next.
const DECAY_EVERY: u32 = 256;

#[derive(Copy, Clone, Debug)]
struct Known {
    link: Link,
    /// How often it was seen, lately.
    seen: u16,
}

/// The links of one part of memory.
///
/// How likely a link is followed depends on the one that led to where it starts: from a list's node to the next, from a
/// node of a tree to one of its children, from an object to its array, and from the array to its elements.
#[derive(Clone, Debug)]
pub(super) struct Links {
    known: [Option<Known>; LINKS],
    /// By the context of the link that led there, 0 if none is known, and the number of the one that is followed.
    rates: [[Rate; LINKS]; LINKS + 1],
    observed: u32,
}

impl Default for Links {
    fn default() -> Self {
        Self { known: [None; LINKS], rates: [[0; LINKS]; LINKS + 1], observed: 0 }
    }
}

impl Links {
    /// All links that are believed, with their numbers.
    pub fn believed(&self) -> impl Iterator<Item = (u8, Link)> + '_ {
        let believed = |known: &Known| known.seen >= LEAST_SEEN;
        self.known
            .iter()
            .enumerate()
            .filter_map(move |(at, known)| Some((at as u8, known.filter(believed)?.link)))
    }

    /// Whether some link of this origin is believed.
    pub fn has(&self, origin: Origin) -> bool {
        self.believed().any(|(_, link)| link.origin == origin)
    }

    /// Whether a link is known.
    pub fn knows(&self, link: Link) -> bool {
        self.number(link).is_some()
    }

    fn number(&self, link: Link) -> Option<usize> {
        self.known.iter().position(|known| known.is_some_and(|known| known.link == link))
    }

    /// How likely `link` is followed by who came by `context`, in parts of 65,536.
    pub fn rate(&self, context: u8, link: u8) -> Rate {
        self.rates[context as usize][link as usize]
    }

    /// A link was followed by who came by `context`; returns its number.
    pub fn saw(&mut self, context: u8, link: Link) -> u8 {
        self.observed += 1;
        if self.observed.is_multiple_of(DECAY_EVERY) {
            self.known.iter_mut().flatten().for_each(|known| known.seen -= known.seen / 4);
        }
        let at = self.number(link).unwrap_or_else(|| self.replace(link));
        if let Some(known) = &mut self.known[at] {
            known.seen = known.seen.saturating_add(1);
        }
        self.answer(context, at as u8, true);
        at as u8
    }

    /// Takes the place of the link that was seen least.
    fn replace(&mut self, link: Link) -> usize {
        let seen = |known: &Option<Known>| known.map_or(0, |known| known.seen);
        let at = (0..LINKS).min_by_key(|at| seen(&self.known[*at])).unwrap_or(0);
        self.known[at] = Some(Known { link, seen: 0 });
        self.rates.iter_mut().for_each(|row| row[at] = 0);
        at
    }

    /// What was foreseen of a link was right or wrong.
    pub fn answer(&mut self, context: u8, link: u8, right: bool) {
        let rate = &mut self.rates[context as usize][link as usize];
        *rate =
            if right { *rate + ((Rate::MAX - *rate) >> SHIFT) } else { *rate - (*rate >> SHIFT) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(distance: i64) -> Link {
        Link { origin: Origin::Entry, distance, behind: 0 }
    }

    #[test]
    fn what_is_seen_again_is_believed() {
        let mut links = Links::default();
        links.saw(0, link(8));
        assert_eq!(links.believed().count(), 0);
        let number = links.saw(0, link(8));
        assert_eq!(links.believed().collect::<Vec<_>>(), [(number, link(8))]);
        assert!(links.rate(0, number) > Rate::MAX / 8 && links.rate(1, number) == 0);
    }

    #[test]
    fn what_is_seldom_seen_makes_room() {
        let mut links = Links::default();
        (0..3).for_each(|_| {
            links.saw(0, link(-8));
        });
        for distance in 0..100 {
            links.saw(0, link(distance * 8));
        }
        assert!(links.knows(link(-8)) && links.knows(link(792)) && !links.knows(link(0)));
    }

    #[test]
    fn a_rate_follows_the_answers() {
        let mut links = Links::default();
        let number = links.saw(2, link(16));
        (0..100).for_each(|_| links.answer(2, number, true));
        assert!(links.rate(2, number) > Rate::MAX / 100 * 99);
        (0..100).for_each(|_| links.answer(2, number, false));
        assert!(links.rate(2, number) < Rate::MAX / 100);
    }
}
