//! Policies of runs, where only the next access to a page that is watched can be seen.

use std::collections::VecDeque;

use crate::support::run::{Run, WATCH_BATCH};
use crate::support::{Traces, golden, rows};
use farside_policy::replacement::{Adaptive, Bimodal, SecondChance, in_run};
use farside_trace::PageId;

/// [`Bimodal`] as a description would have it; the front of a queue is its old end.
#[derive(Default)]
struct Model {
    fresh: VecDeque<PageId>,
    probation: VecDeque<PageId>,
    kept: VecDeque<PageId>,
    aged: VecDeque<PageId>,
    trial: usize,
    most_aged: usize,
    left: usize,
    refill: bool,
}

impl Model {
    fn new(pages: usize) -> Self {
        let trial = usize::max(pages / 64, usize::min(256, pages / 4));
        Self { trial, most_aged: usize::min(128, pages / 16), ..Self::default() }
    }

    fn len(&self) -> usize {
        self.fresh.len() + self.probation.len() + self.kept.len() + self.aged.len()
    }

    fn victim(&mut self) -> Option<PageId> {
        self.refill |= self.len() > 0;
        let few = self.fresh.len() + self.probation.len() <= self.trial / 2;
        let kept = if few { self.kept.pop_back().or_else(|| self.aged.pop_back()) } else { None };
        if kept.is_some() {
            return kept;
        }
        let oldest = self.probation.pop_front().or_else(|| self.fresh.pop_front())?;
        self.left = (self.left + 1) % 2048;
        if self.left >= 64 {
            return Some(oldest);
        }
        self.kept.push_back(oldest);
        self.aged.pop_front().or_else(|| self.kept.pop_front())
    }

    fn insert(&mut self, page: PageId) {
        self.fresh.push_back(page);
        if self.fresh.len() + self.probation.len() > self.trial {
            let oldest = self.probation.pop_front().or_else(|| self.fresh.pop_front());
            self.kept.extend(oldest);
        }
    }

    fn access(&mut self, page: PageId) {
        for list in [&mut self.probation, &mut self.aged] {
            if let Some(at) = list.iter().position(|other| *other == page) {
                list.remove(at);
                self.kept.push_back(page);
            }
        }
    }

    fn watch(&mut self, max: usize) -> Vec<PageId> {
        let mut watched = Vec::new();
        if !self.refill {
            return watched;
        }
        let mut full = true;
        let lists = [
            (&mut self.fresh, &mut self.probation, self.trial / 4),
            (&mut self.kept, &mut self.aged, self.most_aged),
        ];
        for (from, to, most) in lists {
            while to.len() < most && !from.is_empty() && watched.len() < max {
                to.extend(from.pop_front());
                watched.extend(to.back().copied());
            }
            full &= to.len() >= most || from.is_empty();
        }
        self.refill = !full;
        watched
    }
}

#[test]
fn bimodal_equals_the_model_on_the_golden_traces() {
    let Some(golden) = golden("bimodal_equals_the_model_on_the_golden_traces") else { return };
    let mut traces = Traces::new(&golden);
    let mut checked = 0;
    let all = rows(farside_golden::rows(include_str!("second_chance_misses.tsv")));
    for row in all.iter().step_by(5) {
        let Some(trace) = traces.get(&row.trace) else { continue };
        let mut real = Run::new(Bimodal::new(), row.pages);
        let mut model = Model::new(row.pages);
        // Here, and watched.
        let mut places = vec![(false, false); trace.len()];
        for (at, &page) in trace.iter().enumerate() {
            let (here, watched) = std::mem::replace(&mut places[page.0 as usize], (true, false));
            if watched {
                model.access(page);
            }
            let victim = if !here && model.len() == row.pages { model.victim() } else { None };
            if !here {
                victim.iter().for_each(|page| places[page.0 as usize] = (false, false));
                model.insert(page);
                for page in model.watch(WATCH_BATCH) {
                    places[page.0 as usize] = (true, true);
                }
            }
            assert_eq!(real.reference(page), (!here, victim), "{} {}: {at}", row.trace, row.pages);
        }
        checked += 1;
    }
    assert!(checked > 0, "no golden row has its trace");
}

#[test]
fn misses_are_what_they_were() {
    let Some(golden) = golden("misses_are_what_they_were") else { return };
    let mut traces = Traces::new(&golden);
    let mut changed = Vec::new();
    for row in rows(farside_golden::rows(include_str!("in_run_misses.tsv"))) {
        let Some(trace) = traces.get(&row.trace) else { continue };
        let policy = in_run(&row.policy).expect("a policy of runs");
        let mut run = match row.policy.as_str() {
            // Of a few pages all are tracked.
            "region" => Run::tracked(policy, row.pages, (row.pages / 512).max(1).ilog2()),
            _ => Run::new(policy, row.pages),
        };
        let found = run.misses(trace.iter().map(|page| page.0));
        if (found, trace.len()) != (row.misses, row.requests) {
            let (trace, requests) = (&row.trace, trace.len());
            changed.push(format!("{trace}\t{}\t{}\t{requests}\t{found}", row.policy, row.pages));
        }
    }
    assert!(changed.is_empty(), "rows of in_run_misses.tsv now read:\n{}", changed.join("\n"));
}

fn passes(pages: u64, count: u64) -> impl Iterator<Item = u64> {
    (0..count * pages).map(move |at| at % pages)
}

#[test]
fn of_a_loop_over_more_than_fits_a_part_stays() {
    for policy in ["mru", "bimodal", "lirs"] {
        let mut run = Run::new(in_run(policy).expect("a policy of runs"), 8000);
        run.misses(passes(10_000, 5));
        let misses = run.misses(passes(10_000, 20));
        // 2,000 of each pass would be least; all of them are missed in order of arrival.
        assert!(misses < 20 * 3500, "{policy}: {misses}");
    }
    let misses = Run::new(SecondChance::new(), 8000).misses(passes(10_000, 20));
    assert_eq!(misses, 200_000);
}

#[test]
fn a_loop_is_found_out() {
    let mut run = Run::new(Adaptive::new(), 8000);
    run.misses(passes(10_000, 10));
    assert_eq!(run.policy.in_force(), "bimodal");
    let misses = run.misses(passes(10_000, 20));
    assert!(misses < 20 * 3500, "{misses}");
}

/// Pages by chance of a stretch of 6,000, which moves on by half of its length after each has been used 20 times.
fn wandering(steps: u64) -> impl Iterator<Item = u64> {
    let mut state = 1_u64;
    (0..steps * 120_000).map(move |at| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (at / 120_000 * 3000 + (state >> 33) % 6000) % 60_000
    })
}

#[test]
fn where_what_came_last_is_used_most_adaptive_does_as_second_chance() {
    let misses = |policy: &str| {
        Run::new(in_run(policy).expect("a policy of runs"), 8000).misses(wandering(60))
    };
    let [usual, adaptive, bimodal] = ["second-chance", "adaptive", "bimodal"].map(misses);
    assert!(bimodal > usual * 2, "{bimodal} beside {usual}: the trace does not tell them apart");
    assert!(adaptive < usual * 103 / 100, "{adaptive} beside {usual}");
}

#[test]
fn after_a_loop_adaptive_goes_back_to_second_chance() {
    let mut run = Run::new(Adaptive::new(), 8000);
    run.misses(passes(10_000, 20));
    assert_eq!(run.policy.in_force(), "bimodal");
    run.misses(wandering(40));
    assert_eq!(run.policy.in_force(), "second-chance");
}

#[test]
fn what_came_last_is_not_given_up_even_by_mru() {
    let mut run = Run::new(in_run("mru").expect("a policy of runs"), 64);
    run.misses(0..64);
    for page in 64..640 {
        let (_, victim) = run.reference(PageId(page));
        assert!(victim.is_some_and(|victim| victim.0 + 32 <= page), "{victim:?} for {page}");
    }
}

#[test]
fn a_loop_in_an_order_by_chance_is_found_out() {
    let mut order: Vec<u64> = (0..20_000).collect();
    let mut state = 1_u64;
    for at in (1..order.len()).rev() {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        order.swap(at, (state >> 33) as usize % (at + 1));
    }
    let mut run = Run::new(Adaptive::new(), 16_384);
    run.misses(0..20_000);
    for _ in 0..5 {
        run.misses(order.iter().copied());
    }
    assert_eq!(run.policy.in_force(), "bimodal");
    let misses = run.misses(order.iter().copied());
    assert!(misses < 4500, "{misses}");
}

#[test]
fn golden_traces_miss_hardly_more_by_adaptive_than_by_second_chance() {
    let test = "golden_traces_miss_hardly_more_by_adaptive_than_by_second_chance";
    let Some(golden) = golden(test) else { return };
    let mut traces = Traces::new(&golden);
    let mut checked = 0;
    for row in rows(farside_golden::rows(include_str!("in_run_misses.tsv"))) {
        let Some(trace) = traces.get(&row.trace).filter(|_| row.policy == "adaptive") else {
            continue;
        };
        let usual = Run::new(SecondChance::new(), row.pages).misses(trace.iter().map(|it| it.0));
        let (name, pages, misses) = (&row.trace, row.pages, row.misses);
        assert!(misses <= usual * 103 / 100, "{name} {pages}: {misses} beside {usual}");
        checked += 1;
    }
    assert!(checked > 0, "no row has its trace");
}
