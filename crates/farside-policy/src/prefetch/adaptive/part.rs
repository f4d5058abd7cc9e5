//! Parts of memory, and what is worth it in each.

use farside_trace::PageId;

use super::super::Following;
use super::candidate::{CANDIDATES, Candidate, Candidates};
use super::foreseen::Foreseen;

/// Pages of a part of memory: 64 MiB.
const PART_SHIFT: u32 = 14;

/// Parts that are remembered at once.
const PARTS: usize = 256;

/// A share, in parts of 65,536.
type Rate = u16;

/// How many of the pages that a candidate alone foresees must be used for it to be worth it, and below how many it is no
/// longer. See [`Adaptive`](super::Adaptive) for what that follows from. Of the graph it is more: where most pages are here,
/// and are used by chance, many of those that are foreseen are used soon, and would be whatever was fetched.
const ON: [Rate; CANDIDATES] = [percent(50), percent(50), percent(50), percent(70)];
const OFF: [Rate; CANDIDATES] = [percent(40), percent(40), percent(40), percent(60)];

/// So much more often must a candidate be right to come before one that is listed before it.
const CLEARLY: Rate = percent(2);

/// Rates at first: read-ahead and pointers are on until they prove wrong, and the others are off until they prove right.
const FIRST: [Rate; CANDIDATES] = [percent(75), percent(25), percent(60), percent(25)];

/// A single answer changes a rate by 1/2^shift of what is left. What is right of all that a candidate foresees is taken
/// over long, so that the ends of arrays do not count for more than there are of them. Who is on is judged over about a
/// window, and who is off may come back after a few faults.
const OWN_SHIFT: u32 = 8;
const ON_SHIFT: u32 = 6;
const OFF_SHIFT: u32 = 4;

/// Plans that may be sent for of which nothing is heard, and how many of them one page makes up for that was used.
const UNHEARD: u16 = 64;
const HEARD: u16 = 16;

/// Faults that no pointer was of use for, after which pointers are looked for only now and then: to look takes as long as a
/// tenth of a fault or more.
const TIRED: u16 = 1024;

/// Then they are looked for at [`LOOK`] of [`REST`] faults.
const LOOK: u16 = 64;
const REST: u16 = 512;

/// A page that was used because of a pointer makes up for so many faults: of such pages only a few are seen to be used.
const POINTED: u16 = 32;

const fn percent(percent: u32) -> Rate {
    (percent * Rate::MAX as u32 / 100) as Rate
}

fn follow(rate: &mut Rate, right: bool, shift: u32) {
    let change = if right { (Rate::MAX - *rate) >> shift } else { *rate >> shift };
    *rate = if right { *rate + change } else { *rate - change };
}

/// A part of memory.
#[derive(Copy, Clone, Debug)]
pub(super) struct Part {
    /// Which part of all memory it is.
    number: u64,
    /// How many of the pages that each candidate foresaw were used.
    own: [Rate; CANDIDATES],
    /// The same of those that no better one foresaw that is on.
    worth: [Rate; CANDIDATES],
    /// Those whose pages are fetched.
    on: Candidates,
    /// Plans that were sent for, less those that were heard of.
    unheard: [u16; CANDIDATES],
    /// Who sent last.
    latest: Candidate,
    faults: u16,
    /// Faults that no pointer was of use for, less those that others make up for.
    pointless: u16,
}

impl Part {
    fn first(number: u64) -> Self {
        Self {
            number,
            own: FIRST,
            worth: FIRST,
            on: Candidates::of(Candidate::Window).with(Candidate::Pointers),
            unheard: [0; CANDIDATES],
            latest: Candidate::Window,
            faults: 0,
            pointless: 0,
        }
    }

    /// A part of which nothing is known but that the program came there from this one. Read-ahead begins anew: a part
    /// that is passed once, from end to end, is better off with it.
    fn next(&self, number: u64) -> Self {
        let window = Candidate::Window as usize;
        let mut next = Self { number, unheard: [0; CANDIDATES], ..*self };
        next.own[window] = next.own[window].max(FIRST[window]);
        next.worth[window] = next.worth[window].max(FIRST[window]);
        next.on = next.on.with(Candidate::Window);
        next
    }

    pub fn is_on(&self, candidate: Candidate) -> bool {
        self.on.has(candidate)
    }

    /// Whether what both foresee is the merit of `first`: it is right clearly more often, or as often and listed first.
    pub fn outranks(&self, first: Candidate, second: Candidate) -> bool {
        let [one, two] = [first, second].map(|candidate| self.own[candidate as usize]);
        if (first as u8) < second as u8 {
            one.saturating_add(CLEARLY) >= two
        } else {
            one > two.saturating_add(CLEARLY)
        }
    }

    /// A candidate sends for what it planned. Who sends and sends, and nothing is heard of it, is off until it has proved
    /// right again: in a run few uses are seen, and what is not used is known only when it leaves.
    pub fn sends(&mut self, candidate: Candidate) {
        self.latest = candidate;
        let at = candidate as usize;
        self.unheard[at] += 1;
        if self.unheard[at] > UNHEARD {
            self.unheard[at] = 0;
            self.worth[at] = OFF[at];
            self.on = self.on.without(candidate);
        }
    }

    /// Takes note of whether a page was used that these candidates foresaw.
    pub fn answer(&mut self, by: Candidates, right: bool) {
        for candidate in by.iter() {
            let at = candidate as usize;
            follow(&mut self.own[at], right, OWN_SHIFT);
            if right {
                self.unheard[at] = self.unheard[at].saturating_sub(HEARD);
            }
        }
        let on = self.on;
        for candidate in by.iter() {
            let is_better = |other| on.has(other) && self.outranks(other, candidate);
            if !by.iter().any(|other| other != candidate && is_better(other)) {
                self.value(candidate, right);
            }
        }
        if right && by.has(Candidate::Pointers) {
            self.pointless = self.pointless.saturating_sub(POINTED);
        }
    }

    fn value(&mut self, candidate: Candidate, right: bool) {
        let shift = if self.is_on(candidate) { ON_SHIFT } else { OFF_SHIFT };
        let at = candidate as usize;
        follow(&mut self.worth[at], right, shift);
        if self.worth[at] >= ON[at] {
            self.on = self.on.with(candidate);
        } else if self.worth[at] < OFF[at] {
            self.on = self.on.without(candidate);
        }
    }

    fn pointers(&self) -> Following {
        if self.pointless >= TIRED && self.faults % REST >= LOOK {
            Following::Off
        } else if self.is_on(Candidate::Pointers) {
            Following::On
        } else {
            Following::Shadow
        }
    }
}

/// The latest parts of memory.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    parts: Box<[Option<Part>]>,
    /// Where the last fault was.
    here: u8,
}

impl Parts {
    pub fn new() -> Self {
        Self { parts: vec![None; PARTS].into(), here: 0 }
    }

    fn place(page: PageId) -> (u8, u64) {
        let number = page.0 >> PART_SHIFT;
        (number as u8, number)
    }

    /// The place of the part that the last fault was in.
    pub fn number(&self) -> u8 {
        self.here
    }

    /// The part that the last fault was in.
    pub fn here(&self) -> Option<&Part> {
        self.part(self.here)
    }

    pub fn here_mut(&mut self) -> Option<&mut Part> {
        self.part_mut(self.here)
    }

    /// A page faulted.
    pub fn enter(&mut self, page: PageId) {
        let (at, number) = Self::place(page);
        if self.part(at).is_none_or(|part| part.number != number) {
            let next = self.part(self.here).map(|part| part.next(number));
            self.parts[at as usize] = Some(next.unwrap_or_else(|| Part::first(number)));
        }
        self.here = at;
        if let Some(part) = self.part_mut(at) {
            part.faults = part.faults.wrapping_add(1);
            part.pointless = (part.pointless + 1).min(TIRED + POINTED);
        }
    }

    fn part(&self, at: u8) -> Option<&Part> {
        self.parts[at as usize].as_ref()
    }

    fn part_mut(&mut self, at: u8) -> Option<&mut Part> {
        self.parts[at as usize].as_mut()
    }

    /// What was foreseen came true or not.
    pub fn answer(&mut self, foreseen: &Foreseen, right: bool) {
        let by = match foreseen.sent {
            Some(candidate) if foreseen.by.is_empty() => Candidates::of(candidate),
            _ => foreseen.by,
        };
        if let Some(part) = self.part_mut(foreseen.part) {
            part.answer(by, right);
        }
    }

    /// A page left unused that somebody sent for, nobody knows who: probably the one who sent last.
    pub fn unused(&mut self, page: PageId) {
        let (at, number) = Self::place(page);
        if let Some(part) = self.part_mut(at).filter(|part| part.number == number) {
            part.answer(Candidates::of(part.latest), false);
        }
    }

    /// What is to be done about pointers in a page.
    pub fn pointers(&self, page: PageId) -> Following {
        let (at, number) = Self::place(page);
        let known = self.part(at).filter(|part| part.number == number);
        let like = known.or_else(|| self.part(self.here));
        like.map_or(Following::On, Part::pointers)
    }
}
