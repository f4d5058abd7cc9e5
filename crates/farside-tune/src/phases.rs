//! When sections are used, and which are not used at the same time: these can share local memory (Mira, section 3.4).
//!
//! Time is cut into equal *windows*, and the accesses of a trace are counted in each. Sections are *apart* if hardly any
//! window has accesses to both, and their uses do not alternate often: whenever one is used after the other, its lines
//! have to come anew.

/// Windows that the time of a run is cut into.
const WINDOWS: usize = 1024;

/// Of the accesses to the section that has fewer, so many may be in windows in which the other one is used as well.
const OVERLAP: f64 = 0.02;

/// So often the uses of sections that are apart may alternate.
const ALTERNATIONS: usize = 16;

/// How often each section was used in each window of time.
#[derive(Clone, Debug)]
pub struct Uses {
    /// For each section, by window.
    counts: Vec<Vec<u64>>,
    /// Nanoseconds of a window.
    window: u64,
    /// Sections that were accessed since `from`, in this order.
    stretch: Vec<u8>,
    /// When the stretch began, in nanoseconds.
    from: u64,
}

impl Uses {
    /// No uses of so many sections yet, in a run of so many seconds.
    pub fn new(sections: usize, seconds: f64) -> Self {
        let window = (seconds.max(0.0) * 1e9 / WINDOWS as f64) as u64 + 1;
        let counts = vec![vec![0; WINDOWS]; sections];
        Self { counts, window, stretch: Vec::new(), from: 0 }
    }

    /// A section, by its number, is accessed.
    pub fn access(&mut self, section: usize) {
        if section < self.counts.len()
            && let Ok(section) = u8::try_from(section)
        {
            self.stretch.push(section);
        }
    }

    /// It is so many nanoseconds after the start. Accesses since it was last told are spread evenly; those of another thread
    /// may have been earlier.
    pub fn time(&mut self, now: u64) {
        let (from, len) = (self.from, self.stretch.len() as u64);
        let passed = now.saturating_sub(from);
        for (at, section) in (0..).zip(&self.stretch) {
            let when = from + (u128::from(passed) * at / u128::from(len)) as u64;
            let window = ((when / self.window) as usize).min(WINDOWS - 1);
            self.counts[usize::from(*section)][window] += 1;
        }
        self.stretch.clear();
        self.from = now;
    }

    /// Sections that can share memory with each other, in groups of two or more, of those in `among`; whoever comes first in
    /// it is the first of its group. Call [`time`](Self::time) before, or the last accesses are left out.
    pub fn groups(&self, among: &[usize]) -> Vec<Vec<usize>> {
        let used =
            |it: &&usize| self.counts.get(**it).is_some_and(|all| all.iter().any(|n| *n > 0));
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for section in among.iter().filter(used) {
            let suits = |group: &&mut Vec<usize>| self.suits(group, *section);
            match groups.iter_mut().find(suits) {
                Some(group) => group.push(*section),
                None => groups.push(vec![*section]),
            }
        }
        groups.retain(|group| group.len() > 1);
        groups
    }

    /// Whether a section is apart from all of a group, whose uses do not alternate too often with it, either.
    fn suits(&self, group: &[usize], section: usize) -> bool {
        let all: Vec<usize> = group.iter().copied().chain([section]).collect();
        group.iter().all(|other| self.overlap(*other, section) <= OVERLAP)
            && self.alternations(&all) <= ALTERNATIONS
    }

    /// The part of the accesses to one of two sections, of that with fewer, in windows in which the other is used as well.
    fn overlap(&self, one: usize, other: usize) -> f64 {
        let (one, other) = (&self.counts[one], &self.counts[other]);
        let both: u64 = one.iter().zip(other).map(|(a, b)| a.min(b)).sum();
        let fewer = one.iter().sum::<u64>().min(other.iter().sum());
        both as f64 / fewer.max(1) as f64
    }

    /// How often another one of some sections is the one that is used most.
    fn alternations(&self, among: &[usize]) -> usize {
        let most = |window: usize| {
            let used = among.iter().filter(|it| self.counts[**it][window] > 0);
            used.max_by_key(|it| self.counts[**it][window]).copied()
        };
        let mut order: Vec<usize> = (0..WINDOWS).filter_map(most).collect();
        order.dedup();
        order.len().saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a run of a second does: in each of some stretches of equal length, accesses to sections by turns.
    fn uses(sections: usize, stretches: &[&[usize]]) -> Uses {
        let mut uses = Uses::new(sections, 1.0);
        for (at, used) in (1..).zip(stretches) {
            for _ in 0..1000 {
                used.iter().for_each(|section| uses.access(*section));
            }
            uses.time(1_000_000_000 * at / stretches.len() as u64);
        }
        uses
    }

    #[test]
    fn sections_of_different_phases_are_a_group() {
        // Nodes with edges, then rows with edges (thesis, figure 3.7).
        let found = uses(3, &[&[0, 1], &[0, 1], &[2, 1], &[2, 1]]);
        assert_eq!(found.groups(&[0, 1, 2]), [[0, 2]]);
        assert_eq!(found.groups(&[2, 1, 0]), [[2, 0]], "the first is what comes first");
        assert_eq!(found.groups(&[0, 1]), [[0; 0]; 0]);
        assert_eq!(found.groups(&[0, 7]), [[0; 0]; 0], "there is none of this number");
        let three = uses(4, &[&[0], &[1], &[2], &[3, 0]]);
        assert_eq!(three.groups(&[0, 1, 2, 3]), [vec![0, 1, 2]]);
        assert_eq!(uses(2, &[&[0], &[0]]).groups(&[0, 1]), [[0; 0]; 0], "one is never used");
    }

    #[test]
    fn phases_may_come_back_but_not_too_often() {
        let alternating = |phases: usize| {
            let stretches: Vec<&[usize]> =
                (0..phases).map(|at| if at % 2 == 0 { &[0][..] } else { &[1] }).collect();
            uses(2, &stretches).groups(&[0, 1]).len()
        };
        assert_eq!(alternating(2), 1);
        assert_eq!(alternating(ALTERNATIONS + 1), 1);
        assert_eq!(alternating(ALTERNATIONS + 2), 0);
    }

    #[test]
    fn hardly_any_access_in_the_phase_of_another_one_is_none() {
        let stray = |count: usize| {
            let mut uses = Uses::new(2, 1.0);
            (0..10_000).for_each(|_| uses.access(0));
            uses.time(500_000_000);
            (0..10_000).for_each(|at| {
                uses.access(1);
                if at < count {
                    uses.access(0);
                }
            });
            uses.time(1_000_000_000);
            uses.groups(&[0, 1]).len()
        };
        assert_eq!((stray(0), stray(150), stray(300)), (1, 1, 0));
    }

    #[test]
    fn times_of_several_threads_are_not_in_order() {
        let mut uses = Uses::new(2, 1.0);
        for (from, to, section) in [(0, 500, 0), (500, 1000, 1), (0, 500, 0), (500, 1000, 1)] {
            uses.time(from * 1_000_000);
            (0..100).for_each(|_| uses.access(section));
            uses.time(to * 1_000_000);
        }
        assert_eq!(uses.groups(&[0, 1]), [[0, 1]]);
        // What is later than the run was long is at its end.
        uses.access(0);
        uses.time(5_000_000_000);
    }
}
