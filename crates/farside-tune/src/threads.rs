//! Sections that several threads use: what each of them may have for itself instead (Mira, section 6.7).

use serde::{Deserialize, Serialize};

use crate::configuration::Section;
use crate::profile::SectionProfile;

/// Seconds that an access takes longer where several threads use a section, since it pins its line.
const PIN: f64 = 10e-9;

/// The share of a run that pins have to take for it to be worth doing without.
const LEAST_SHARE: f64 = 0.01;

/// Capacities are multiples of this, and of a line.
const PAGE: u64 = 4096;

/// What threads have for themselves.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Apart {
    /// Each thread a section, for what it alone allocates and uses.
    Own,
    /// Each thread but the main one, which alone writes, a cache to read through.
    Copies,
}

/// Caches of threads for a section.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Each {
    /// What they are.
    pub apart: Apart,
    /// How many there are at the same time, that of the main thread among them.
    pub caches: u32,
}

/// The threads that use a section, as a run has told.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Users {
    /// Whether the main thread does.
    pub main: bool,
    /// How many others do, at the same time.
    pub others: u32,
    /// Whether one of these writes.
    pub others_write: bool,
    /// How often all of them look for a line.
    pub lookups: u64,
}

impl From<&SectionProfile> for Users {
    fn from(section: &SectionProfile) -> Self {
        let SectionProfile { main, other_threads: others, others_write, lookups, .. } = *section;
        Self { main, others, others_write, lookups }
    }
}

impl Users {
    /// Seconds that a run would save of which no access pins a line, if the threads share the work.
    pub fn gain(&self) -> f64 {
        PIN * self.lookups as f64 / f64::from((self.others + u32::from(self.main)).max(1))
    }

    /// What is worth trying in a program that runs for so long, the likeliest first: copies where nobody writes but the
    /// main thread, and sections of their own where others do, or it does not come there at all.
    pub fn worth(&self, seconds: f64) -> &'static [Apart] {
        if self.others == 0 || self.gain() < LEAST_SHARE * seconds {
            return &[];
        }
        match (self.others_write, self.main) {
            (true, _) => &[Apart::Own],
            (false, true) => &[Apart::Copies],
            (false, false) => &[Apart::Own, Apart::Copies],
        }
    }

    /// How many caches there would be at the same time. The main thread has that of which there are copies in any case.
    pub fn caches(&self, apart: Apart) -> u32 {
        self.others + u32::from(self.main || apart == Apart::Copies)
    }
}

impl Section {
    /// The same where threads have caches for themselves, which have so many bytes together; none if each had too few.
    pub fn divided(&self, each: Each, bytes: u64) -> Option<Self> {
        let unit = self.line.max(PAGE);
        let capacity = bytes / u64::from(each.caches.max(1)) / unit * unit;
        let least = self.line * u64::from(self.ways.max(2));
        let is_copied = each.apart == Apart::Copies;
        (capacity >= least).then(|| Self {
            capacity,
            each: Some(each),
            // A copy is of whole lines, and neither shares its memory.
            fields: self.fields && !is_copied,
            with: None,
            ..self.clone()
        })
    }

    /// Bytes of local memory of all its caches.
    pub fn bytes(&self) -> u64 {
        self.capacity * self.each.map_or(1, |it| u64::from(it.caches))
    }

    /// What each of its threads has for itself.
    pub fn apart(&self) -> Option<Apart> {
        self.each.map(|it| it.apart)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Used by main, if so, and others, for a second of pins.
    fn users(main: bool, others: u32, others_write: bool) -> Users {
        let threads = u64::from(others) + u64::from(main);
        Users { main, others, others_write, lookups: 100_000_000 * threads }
    }

    #[test]
    fn who_writes_decides_what_is_tried() {
        for (users, expected) in [
            (users(true, 0, false), &[][..]),
            (users(false, 0, false), &[]),
            (users(true, 2, false), &[Apart::Copies]),
            (users(true, 2, true), &[Apart::Own]),
            (users(false, 1, true), &[Apart::Own]),
            (users(false, 2, false), &[Apart::Own, Apart::Copies]),
        ] {
            assert!((users.gain() - 1.0).abs() < 1e-9 || users.others == 0, "{users:?}");
            assert_eq!(users.worth(50.0), expected, "{users:?}");
            // Pins that take a hundredth of the time are not worth a build.
            assert!(users.worth(200.0).is_empty(), "{users:?}");
        }
    }

    #[test]
    fn caches_of_all_threads_have_what_one_had() {
        let section = Section {
            name: "s".to_owned(),
            sites: Vec::new(),
            capacity: 1 << 20,
            line: 128,
            ways: 2,
            capacities: Vec::new(),
            holds: 0,
            ahead: None,
            batch: None,
            keep: false,
            with: Some("r".to_owned()),
            fields: true,
            each: None,
        };
        let users = users(true, 2, false);
        assert_eq!((users.caches(Apart::Own), users.caches(Apart::Copies)), (3, 3));
        let others = Users { main: false, ..users };
        assert_eq!((others.caches(Apart::Own), others.caches(Apart::Copies)), (2, 3));
        let divided = |apart, caches| section.divided(Each { apart, caches }, 1 << 20);
        let copies = divided(Apart::Copies, 3).expect("there is room");
        assert_eq!((copies.capacity, copies.bytes()), (340 << 10, 1020 << 10));
        assert_eq!((copies.apart(), copies.fields), (Some(Apart::Copies), false));
        assert_eq!(copies.with, None);
        assert!(divided(Apart::Own, 2).is_some_and(|it| it.fields));
        assert_eq!(divided(Apart::Own, 300), None, "less than a page for each");
        let long = Section { line: 1 << 18, ways: 4, ..section };
        assert_eq!(long.divided(Each { apart: Apart::Own, caches: 2 }, 1 << 20), None);
        assert_eq!(long.bytes(), 1 << 20);
    }
}
