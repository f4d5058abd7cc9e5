//! Tracking which pages the program uses, and in which order, by unmapping some of them (PATH, sections 2 and 3, without
//! its hardware).
//!
//! What is tracked, and for how long a page stays mapped, is decided in [`farside_tracking`]. Here pages are unmapped when
//! it says so - their frames stay here - and it is told what faults. It begins when memory is short, and rests when nothing
//! has been evicted for a while.

use std::fmt;
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

use farside_policy::replacement::ReplacementPolicy;
use farside_trace::{PageId, PageSample};
use farside_tracking::{Budget, Tracker, TrackingOptions, Typical, Verdict};

use crate::counters::Counters;
use crate::curve::Fading;
use crate::kept::Kept;
use crate::pager::{Pager, Worker};
use crate::purpose::Purpose;
use crate::waiting::FAULT_NS;
use crate::word::State;

/// When it is seen which pages are used, and what that may cost.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Track {
    /// When.
    pub when: When,
    /// The share of the time that it may take, from 0 to 1.
    pub budget: f64,
}

/// When pages are tracked.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// Never.
    Off,
    /// While memory is short.
    Pressure,
    /// From the start to the end.
    Always,
}

impl Track {
    /// Never.
    pub const OFF: Self = Self { when: When::Off, budget: BUDGET };

    /// While memory is short.
    pub const PRESSURE: Self = Self { when: When::Pressure, budget: BUDGET };
}

/// The share of the time that tracking may take unless told otherwise.
const BUDGET: f64 = 0.02;

impl fmt::Display for Track {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = match self.when {
            When::Off => return f.write_str("off"),
            When::Pressure => "pressure",
            When::Always => "always",
        };
        write!(f, "{when}:{}%", self.budget * 100.0)
    }
}

impl FromStr for Track {
    type Err = &'static str;

    /// Reads `off`, `pressure` or `always`, and behind a colon a percentage if it is not to be the usual one.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (when, budget) = match text.split_once(':') {
            Some((when, budget)) => (when, Some(budget)),
            None => (text, None),
        };
        let when = match when {
            "off" if budget.is_none() => When::Off,
            "pressure" => When::Pressure,
            "always" => When::Always,
            _ => {
                return Err(
                    "not \"off\", \"pressure\" or \"always\"; a percentage may follow, as in pressure:2%",
                );
            }
        };
        let budget = match budget {
            Some(budget) => percentage(budget).ok_or("not a percentage from 0.01% to 50%")?,
            None => BUDGET,
        };
        Ok(Self { when, budget })
    }
}

fn percentage(text: &str) -> Option<f64> {
    let percent: f64 = text.strip_suffix('%')?.parse().ok()?;
    (0.01..=50.0).contains(&percent).then_some(percent / 100.0)
}

/// Pages that are unmapped together.
const UNMAP_BATCH: usize = 2;

/// What is taken to be spent when a fetched run is divided, because a page in its middle stays unmapped to be tracked: the
/// rest takes one move more.
const DIVIDE_NS: u64 = 2_000;

/// Of so many faults of a thread on pages that are not tracked, one looks at the clock.
const CLOCK_AFTER: u32 = 16;

/// How often is looked at what tracking costs.
const LOOK_NS: u64 = 50_000_000;

/// How often the curve is shown, and older uses begin to count for less.
const SHOW_NS: u64 = 250_000_000;

/// In so many shows, older uses come to count half.
const HALF_LIFE: f64 = 40.0;

/// In so many shows, they come to count half in what is shown as recent.
const RECENT_HALF_LIFE: f64 = 3.0;

/// How long tracking goes on without anything being evicted.
const REST_AFTER_NS: u64 = 2_000_000_000;

/// Tracking of a process.
pub struct Tracking {
    when: When,
    /// Which pages are tracked if all are, and how often their number is halved: for who has not the lock. [`NOTHING`] if
    /// none is.
    all: PageSample,
    halvings: AtomicU32,
    /// How often it is halved by what the policy was told; changed by who has the policy alone.
    told: AtomicU32,
    /// How many pages the policy keeps because they were used last, if it is told what is seen; else 0.
    kept_by_policy: AtomicU32,
    /// What was spent since the last look.
    spent_ns: AtomicU64,
    /// How many pages are to be unmapped: for who has not the lock.
    cooled: AtomicUsize,
    state: Mutex<Tracked>,
}

/// Stands for halvings when nothing is tracked.
const NOTHING: u32 = u32::MAX;

/// What is tracked, and what it costs.
struct Tracked {
    tracker: Tracker,
    budget: Budget,
    /// What a fault takes that there is for tracking alone.
    fault: Typical,
    /// Pages that are to be unmapped.
    cooled: Vec<u64>,
    /// When it was looked at what was spent.
    looked_at: u64,
    shown_at: u64,
    /// The time that the curve is of; older time counts for less.
    span_ns: f64,
    /// Pages evicted so far, and when that was last seen to have changed.
    evicted: u64,
    pressed_at: u64,
}

impl Tracking {
    /// Tracks a process, if it is to be; `salt` chooses which pages.
    pub fn new(how: Track, salt: u64) -> Option<Self> {
        Self::with_options(how, TrackingOptions::default(), salt)
    }

    /// Likewise, if it is to track so many pages at a time.
    pub fn with_options(how: Track, options: TrackingOptions, salt: u64) -> Option<Self> {
        let state = Tracked {
            tracker: Tracker::new(options, salt),
            budget: Budget::new(how.budget),
            fault: Typical::new(2 * FAULT_NS),
            cooled: Vec::new(),
            looked_at: 0,
            shown_at: 0,
            span_ns: 0.0,
            evicted: 0,
            pressed_at: 0,
        };
        (how.when != When::Off).then(|| Self {
            when: how.when,
            all: PageSample::all(salt),
            halvings: AtomicU32::new(NOTHING),
            told: AtomicU32::new(0),
            kept_by_policy: AtomicU32::new(0),
            spent_ns: AtomicU64::new(0),
            cooled: AtomicUsize::new(0),
            state: Mutex::new(state),
        })
    }
}

impl Tracking {
    /// Which pages are tracked, if any are.
    pub(crate) fn sample(&self) -> Option<PageSample> {
        let halvings = self.halvings.load(Relaxed);
        (halvings != NOTHING).then(|| self.all.with_halvings(halvings))
    }

    /// Tracking took so much of the program's time.
    fn spend(&self, counters: &Counters, ns: u64) {
        self.spent_ns.fetch_add(ns, Relaxed);
        Counters::add(&counters.tracking_ns, ns);
    }

    /// Takes note of which pages are tracked.
    fn set_sample(&self, tracked: &Tracked) {
        self.halvings.store(tracked.tracker.sample().halvings(), Relaxed);
    }

    /// Whether there is nothing to be done about a fault on this page: most pages are not tracked, and neither lock nor
    /// clock is worth while for each of them.
    fn passes_over(&self, w: &mut Worker, page: u64) -> bool {
        if self.sample().is_some_and(|sample| sample.has(PageId(page))) {
            return false;
        }
        let looks = w.untracked.is_multiple_of(CLOCK_AFTER);
        w.untracked = w.untracked.wrapping_add(1);
        !looks && self.is_told()
    }

    /// Whether the policy knows which pages are tracked, if it wants to.
    fn is_told(&self) -> bool {
        let knows = |sample: PageSample| sample.halvings() == self.told.load(Relaxed);
        self.kept_by_policy.load(Relaxed) == 0 || self.sample().is_none_or(knows)
    }

    /// Tells the policy, which has no pages yet, what it will be told of, if it wants to know.
    pub(crate) fn introduce(&self, policy: &mut impl ReplacementPolicy) {
        policy.set_sample(self.all);
        self.told.store(self.all.halvings(), Relaxed);
        self.look_at_policy(policy);
    }

    /// There may be another policy, which wants to be told what is seen, or does not.
    pub(crate) fn look_at_policy(&self, policy: &impl ReplacementPolicy) {
        let kept = policy.wants_sample().map_or(0, |pages| pages.max(1) as u32);
        self.kept_by_policy.store(kept, Relaxed);
    }
}

impl Pager {
    /// Whether it is to be seen when this page is used.
    pub(crate) fn is_tracked(&self, page: u64) -> bool {
        let sample = self.tracking.as_ref().and_then(Tracking::sample);
        sample.is_some_and(|sample| sample.has(PageId(page)))
    }

    /// The program has faulted on a page, which is about to be served: takes note of it. Returns when that was, if there is
    /// such a fault for tracking alone.
    pub(crate) fn track(&self, w: &mut Worker, page: u64) -> Option<u64> {
        let tracking = self.tracking.as_ref()?;
        if tracking.passes_over(w, page) {
            return None;
        }
        let state = self.table.load(page).state();
        // It is there, and is only to be written or found.
        if matches!(state, State::Resident | State::Foreign)
            || self.is_recorded()
            || self.follows_tape()
        {
            return None;
        }
        let now = self.space.now_ns();
        let mut tracked = self.lock(&tracking.state);
        if tracking.sample().is_none() && !self.begin_tracking(tracking, &mut tracked, now) {
            return None;
        }
        let is_tracked = tracked.tracker.sample().has(PageId(page));
        let kept = tracking.kept_by_policy.load(Relaxed) as usize;
        tracked.tracker.limit_active((kept > 0).then_some(kept));
        self.note_visit(&mut tracked, page, state);
        if now - tracked.looked_at > LOOK_NS {
            self.look_at_tracking(tracking, &mut tracked, now);
        }
        if tracking.sample().is_some() {
            tracking.set_sample(&tracked);
        }
        tracking.cooled.store(tracked.cooled.len(), Relaxed);
        drop(tracked);
        if is_tracked || !tracking.is_told() {
            self.tell_policy(tracking, page);
        }
        if is_tracked && state == State::Watched {
            return Some(now);
        }
        if is_tracked {
            tracking.spend(self.counters, self.space.now_ns() - now);
        }
        None
    }

    /// A fault has been served that there was for tracking alone, since a time: takes note of what that took.
    pub(crate) fn pay_for_fault(&self, since: u64) {
        let Some(tracking) = &self.tracking else { return };
        let waited = self.waited_since(since);
        let typical = self.lock(&tracking.state).fault.note(waited);
        Counters::add(&self.counters.tracked_faults, 1);
        tracking.spend(self.counters, typical);
    }

    /// A fault has been served, and the program goes on: unmaps pages that were used longer ago.
    pub(crate) fn unmap_cooled(&self, w: &mut Worker) {
        let Some(tracking) = self.tracking.as_ref().filter(|it| it.sample().is_some()) else {
            return;
        };
        if tracking.cooled.load(Relaxed) < UNMAP_BATCH {
            return;
        }
        let mut tracked = self.lock(&tracking.state);
        let mut cooled = std::mem::take(&mut tracked.cooled);
        tracking.cooled.store(0, Relaxed);
        drop(tracked);
        let now = self.space.now_ns();
        if self.try_unmap_to_watch(w, &cooled) {
            cooled.clear();
        }
        tracking.spend(self.counters, self.space.now_ns() - now);
        let mut tracked = self.lock(&tracking.state);
        tracked.cooled.append(&mut cooled);
        tracking.cooled.store(tracked.cooled.len(), Relaxed);
    }

    /// Tells the policy that the program came to a page, and which pages are tracked if these are others than it was told.
    fn tell_policy(&self, tracking: &Tracking, page: u64) {
        if tracking.kept_by_policy.load(Relaxed) == 0 {
            return;
        }
        let mut policy = self.lock_policy();
        if let Some(sample) = tracking.sample()
            && tracking.told.swap(sample.halvings(), Relaxed) != sample.halvings()
        {
            policy.set_sample(sample);
        }
        policy.come(PageId(page));
        tracking.look_at_policy(&*policy);
    }

    /// Takes note of a fault, if its page is tracked, and of what the program has not come to for a while.
    fn note_visit(&self, tracked: &mut Tracked, page: u64, state: State) {
        let page = PageId(page);
        if !tracked.tracker.sample().has(page) {
            return;
        }
        let is_new = state == State::Untouched;
        let touched = self.touched() + u64::from(is_new);
        tracked.tracker.visit(page, touched, is_new);
        while let Some(page) = tracked.tracker.leave(touched) {
            tracked.cooled.push(page.0);
        }
    }

    /// Begins to track, if it is time to; false if it is not.
    fn begin_tracking(&self, tracking: &Tracking, tracked: &mut Tracked, now: u64) -> bool {
        let evicted = self.counters.evicted_pages.load(Relaxed);
        if tracking.when == When::Pressure && evicted == tracked.evicted {
            return false;
        }
        (tracked.evicted, tracked.pressed_at) = (evicted, now);
        (tracked.looked_at, tracked.shown_at) = (now, now);
        tracking.spent_ns.store(0, Relaxed);
        tracked.tracker.begin(self.touched());
        self.learn_pages(tracked);
        tracking.set_sample(tracked);
        true
    }

    /// Lets the tracker know of the pages that the program has come to, and unmaps them to see when it comes again.
    fn learn_pages(&self, tracked: &mut Tracked) {
        let sample = tracked.tracker.sample();
        for (first, end) in self.table.touched_stretches(0, self.table.pages()) {
            for page in (first..end).filter(|page| sample.has(PageId(*page))) {
                let state = self.table.load(page).state();
                if state != State::Untouched && state != State::Foreign {
                    let is_new = tracked.tracker.learn(PageId(page));
                    if is_new && state == State::Resident {
                        tracked.cooled.push(page);
                    }
                }
            }
        }
    }

    /// Looks at what tracking costs, whether it is still needed, and shows what it found.
    fn look_at_tracking(&self, tracking: &Tracking, tracked: &mut Tracked, now: u64) {
        let elapsed = now - tracked.looked_at;
        let spent = tracking.spent_ns.swap(0, Relaxed);
        tracked.looked_at = now;
        match tracked.budget.look(spent, elapsed) {
            Verdict::Fewer => drop(tracked.tracker.fewer()),
            Verdict::More if tracked.tracker.more() => self.learn_pages(tracked),
            Verdict::More | Verdict::Same => {}
        }
        let evicted = self.counters.evicted_pages.load(Relaxed);
        if evicted != tracked.evicted {
            (tracked.evicted, tracked.pressed_at) = (evicted, now);
        } else if tracking.when == When::Pressure && now - tracked.pressed_at > REST_AFTER_NS {
            tracking.halvings.store(NOTHING, Relaxed);
        }
        if now - tracked.shown_at > SHOW_NS {
            self.show_curve(tracked, now);
        }
        // The program waits for all of this.
        tracking.spend(self.counters, self.space.now_ns() - now);
    }

    /// Shows the curve to whoever reads the counters; older uses count for less from now on.
    fn show_curve(&self, tracked: &mut Tracked, now: u64) {
        let weight = (-1.0 / HALF_LIFE).exp2();
        tracked.span_ns = tracked.span_ns * weight + (now - tracked.shown_at) as f64;
        tracked.shown_at = now;
        let curve = tracked.tracker.curve();
        // A page that was never used before is made, and not fetched.
        let all = self.touched();
        let misses = |pages| match pages < all {
            true => (curve.misses(pages) - curve.cold()).max(0.0) as u64,
            // Distances are rounded.
            false => 0,
        };
        let fading = Fading { all: weight, recent: (-1.0 / RECENT_HALF_LIFE).exp2() };
        self.counters.curve.show(all, tracked.span_ns as u64, fading, misses);
        self.counters.tracked_pages.store(tracked.tracker.tracked() as u64, Relaxed);
        tracked.tracker.age(weight);
    }

    /// Adds those of a fetched run that are tracked to those that stay unmapped, to see when they are used; not those that
    /// somebody waits for.
    pub(crate) fn keep_tracked(&self, first: u64, count: u64, purpose: Purpose, kept: &mut Kept) {
        let Some(tracking) = &self.tracking else { return };
        let Some(sample) = tracking.sample() else { return };
        let awaited = purpose.among(first, count);
        let mut divided = 0;
        for index in (0..count).filter(|index| !awaited.contains(index)) {
            if sample.has(PageId(first + index)) {
                kept.add(index);
                divided += u64::from(count > 1);
            }
        }
        if divided > 0 {
            tracking.spend(self.counters, divided * DIVIDE_NS);
        }
    }

    /// The program gave pages back.
    pub(crate) fn track_forgotten(&self, first: u64, end: u64) {
        let Some(tracking) = &self.tracking else { return };
        let Some(sample) = tracking.sample() else { return };
        let mut tracked = self.lock(&tracking.state);
        for page in (first..end).map(PageId).filter(|page| sample.has(*page)) {
            tracked.tracker.forget(page);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_are_not_tracked_are_passed_over_and_others_never() {
        let tracking = Tracking::new(Track::PRESSURE, 7).expect("it is to track");
        let mut w = Worker::new(0, 0);
        let mut looked = |pages: &[u64]| {
            pages.iter().filter(|page| !tracking.passes_over(&mut w, **page)).count() as u32
        };
        let pages: Vec<u64> = (0..10 * u64::from(CLOCK_AFTER)).collect();
        assert_eq!(
            looked(&pages),
            10,
            "nothing is tracked yet, and somebody has to see that it is time"
        );
        tracking.halvings.store(3, Relaxed);
        let sample = tracking.sample().expect("some are tracked");
        let (tracked, others): (Vec<u64>, _) =
            (0..4_096).partition(|page| sample.has(PageId(*page)));
        assert_eq!(looked(&tracked), tracked.len() as u32);
        assert_eq!(looked(&others), (others.len() as u32).div_ceil(CLOCK_AFTER));
        tracking.kept_by_policy.store(1, Relaxed);
        assert_eq!(looked(&others), others.len() as u32, "the policy is to be told first");
        tracking.told.store(3, Relaxed);
        assert!(looked(&others) <= (others.len() as u32).div_ceil(CLOCK_AFTER));
    }
}
