//! The processes of a run as one program that has one limit: how it is divided, and what they miss together.

use farside_os::memory::PAGE;
use farside_pager::counters::Snapshot;
use farside_pager::curve::{CURVE_POINTS, Curve};
use farside_pager::ordered::least_limit;
use farside_pager::settings::LEAST_LIMIT;
use farside_sharing::{Claim, fair};

/// What a process has, or needs.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Its limit in force.
    pub limit: u64,
    /// What it has.
    pub resident: u64,
    /// What it has touched.
    pub footprint: u64,
    /// The least limit that it can run with.
    pub least: u64,
}

impl Standing {
    /// By what a process says of itself.
    pub fn of(counters: &Snapshot) -> Self {
        let held = counters.held_pages.saturating_mul(PAGE as u64);
        Self {
            limit: counters.limit_bytes,
            resident: counters.resident_bytes,
            footprint: counters.footprint_bytes,
            least: least_limit(held, counters.section_bytes),
        }
    }

    /// What it uses, and a little more, so that it may grow.
    fn most(&self) -> u64 {
        self.footprint.saturating_add(self.footprint / 8).saturating_add(LEAST_LIMIT)
    }
}

/// Divides a limit: each process has the same, but those that use less have what they use, and a little more.
pub fn divide(bytes: u64, processes: &[Standing]) -> Vec<u64> {
    let claim =
        |it: &Standing| Claim { least: it.least as usize, most: it.most() as usize, weight: 1.0 };
    let claims: Vec<Claim> = processes.iter().map(claim).collect();
    let shares = fair(bytes as usize, &claims);
    // Processes may have become more since it was ordered.
    let shares = shares.unwrap_or_else(|| claims.iter().map(|claim| claim.least).collect());
    shares.into_iter().map(|share| share as u64).collect()
}

/// A process that lives, and what is known of its misses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Living {
    standing: Standing,
    curve: Curve,
    recent: Curve,
}

impl Living {
    /// By what it says of itself.
    pub fn of(counters: &Snapshot) -> Self {
        let (curve, recent) = (counters.curve.clone(), counters.recent.clone());
        Self { standing: Standing::of(counters), curve, recent }
    }
}

/// The sum of the limits of processes.
pub fn limit(living: &[Living]) -> u64 {
    living.iter().fold(0, |sum: u64, it| sum.saturating_add(it.standing.limit))
}

/// What processes would miss together with each limit for all of them, divided as it would be.
pub fn curve(living: &[Living]) -> Option<Curve> {
    added(living, |it| &it.curve)
}

/// The same as it was in the last seconds.
pub fn recent(living: &[Living]) -> Option<Curve> {
    added(living, |it| &it.recent)
}

fn added(living: &[Living], of: impl Fn(&Living) -> &Curve) -> Option<Curve> {
    if let [one] = living {
        return Some(of(one).clone()).filter(Curve::is_known);
    }
    let known = || living.iter().map(&of).enumerate().filter(|(_, curve)| curve.is_known());
    let span_ns = known().map(|(_, curve)| curve.span_ns).max()?;
    let standings: Vec<Standing> = living.iter().map(|it| it.standing).collect();
    let all = standings.iter().fold(0, |sum: u64, it| sum.saturating_add(it.most()));
    let mut added = Curve { pages: all / PAGE as u64, span_ns, misses: [0; CURVE_POINTS] };
    let sizes: Vec<u64> = added.points().map(|(pages, _)| pages).collect();
    for (misses, pages) in added.misses.iter_mut().zip(sizes) {
        let shares = divide(pages * PAGE as u64, &standings);
        let rate: f64 = known().map(|(at, curve)| curve.rate(shares[at] / PAGE as u64)).sum();
        *misses = (rate * span_ns as f64 / 1e9).round() as u64;
    }
    Some(added)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(mib: u64) -> Standing {
        let bytes = mib << 20;
        Standing { limit: bytes, resident: bytes / 2, footprint: bytes, least: LEAST_LIMIT }
    }

    /// A process that goes over so much again and again, so many times a second.
    fn goes_over(mib: u64, rounds: u64) -> Living {
        let pages = mib << 8;
        let mut misses = [pages * rounds; CURVE_POINTS];
        misses[CURVE_POINTS - 1] = 0;
        let curve = Curve { pages, span_ns: 1_000_000_000, misses };
        Living { standing: uses(mib), recent: curve.clone(), curve }
    }

    #[test]
    fn a_small_process_leaves_the_rest_to_a_large_one() {
        let shares = divide(100 << 20, &[uses(2), uses(500)]);
        assert!(shares[0] > 2 << 20 && shares[0] < 4 << 20, "{shares:?}");
        assert_eq!(shares.iter().sum::<u64>(), 100 << 20);
        assert_eq!(divide(100 << 20, &[uses(500), uses(500)]), [50 << 20, 50 << 20]);
        assert_eq!(divide(5, &[uses(9), uses(9)]), [LEAST_LIMIT, LEAST_LIMIT]);
        assert!(divide(5, &[]).is_empty());
    }

    #[test]
    fn what_two_processes_miss_is_added_up_where_their_limit_is_divided() {
        let two = [goes_over(20, 3), goes_over(40, 1)];
        let curve = curve(&two).expect("it is known");
        let rate = |mib: u64| curve.rate(mib << 8);
        let (small, large) = (3.0 * 5120.0, 10240.0);
        // Each has half: the small one fits from there on, and the large one into what that leaves.
        assert!((rate(36) - small - large).abs() < 9.0, "{}", rate(36));
        assert!((rate(46) - large).abs() < 9.0, "{}", rate(46));
        assert!(rate(66) < 9.0, "{}", rate(66));
        assert_eq!(limit(&two), 60 << 20);
    }

    #[test]
    fn of_one_process_it_is_its_own_and_of_none_there_is_none() {
        let one = goes_over(20, 3);
        assert_eq!(curve(std::slice::from_ref(&one)), Some(one.curve.clone()));
        assert_eq!(recent(&[]), None);
        let nothing = Curve { pages: 0, span_ns: 0, misses: [0; CURVE_POINTS] };
        let unknown = Living { curve: nothing.clone(), recent: nothing, ..one.clone() };
        assert_eq!(curve(&[unknown.clone(), unknown.clone()]), None);
        // Nobody knows what it misses, but it has its share.
        let both = curve(&[unknown, one]).expect("one is known");
        assert!(both.rate(36 << 8) > 10_000.0 && both.rate(46 << 8) < 9.0, "{both:?}");
    }
}
