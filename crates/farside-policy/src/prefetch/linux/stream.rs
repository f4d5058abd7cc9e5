//! Streams and the table of them.

use farside_trace::PageId;

use super::super::PrefetchPlan;
use super::caution::Lesson;
use super::direction::Direction;

/// Number of streams that are kept apart; the one that fetched longest ago gives way to a new one.
const KEPT: usize = 32;

/// A stream that did not fetch while so many faults were told of, about, is silent.
const SILENT: u64 = 4096;

/// What is used later than so many faults after it was fetched, about, says nothing.
const SOON: u64 = 128;

/// Most pages that a stream may skip after its window.
const WIDEST_GAP: u64 = 8;

/// So many more pages may leave unused than were seen to be used.
const TOLERATED: u64 = 8;

/// A run of pages fetched window by window.
#[derive(Copy, Clone, Debug)]
pub(super) struct Stream {
    direction: Direction,
    /// Step of the fault that began the stream.
    origin: u64,
    /// First and last step of the last window.
    first: u64,
    last: u64,
    /// Pages that the next window is to have.
    window: u32,
    /// Went on after its first window.
    proven: bool,
    /// A page left unused since the last window was fetched, and that was not overlooked.
    wasteful: bool,
    /// Pages that left unused since then.
    wasted: u64,
    /// Pages that left unused since the stream began.
    ever_wasted: u64,
    /// Pages whose use was seen since then.
    used: u64,
    /// When the last window was fetched.
    fetched: u64,
}

impl Stream {
    /// A stream that begins with a fault on `page`.
    pub(super) const fn new(page: PageId, direction: Direction, window: u32) -> Self {
        let origin = direction.step(page);
        Self {
            direction,
            origin,
            first: origin,
            last: origin,
            window,
            proven: false,
            wasteful: false,
            wasted: 0,
            ever_wasted: 0,
            used: 0,
            fetched: 0,
        }
    }

    /// Overlooks that pages of the stream left unused.
    pub(super) const fn forgive(&mut self) {
        self.wasteful = false;
    }

    /// Whether a fault at some distance behind the window belongs to the stream.
    fn reaches(&self, gap: u64, now: u64) -> bool {
        if now - self.fetched > SILENT {
            gap == 0
        } else {
            4 * gap <= self.last - self.first + 1 || self.proven && gap <= WIDEST_GAP
        }
    }

    /// What the stream teaches when it is forgotten.
    const fn lesson(&self) -> Option<Lesson> {
        match (self.proven, self.used) {
            (true, _) => None,
            (false, 0) => Some(Lesson::Silence),
            (false, _) => Some(Lesson::WentOn),
        }
    }

    /// Begins anew with so small a window if it was silent.
    const fn wake(&mut self, now: u64, window: u32) {
        if now - self.fetched > SILENT {
            self.window = window;
            self.proven = false;
        }
    }

    /// Notes that the program came to the last window: the next is larger, up to `max` pages, unless
    /// pages were wasted. Tells whether that was the first window.
    pub(super) fn go_on(&mut self, max: u32) -> bool {
        if !self.wasteful {
            self.window = self.window.saturating_mul(2).min(max);
        }
        !std::mem::replace(&mut self.proven, true)
    }

    /// Halves the next window.
    pub(super) fn shrink(&mut self) {
        self.window = (self.window / 2).max(1);
    }

    /// Fetches a window that begins after `page`.
    pub(super) fn fetch_after(&mut self, page: PageId, plan: &mut PrefetchPlan) {
        self.fetch(self.direction.step(page), plan);
    }

    /// Fetches a window that begins after the last one.
    pub(super) fn fetch_ahead(&mut self, plan: &mut PrefetchPlan) {
        self.fetch(self.last, plan);
    }

    fn fetch(&mut self, after: u64, plan: &mut PrefetchPlan) {
        let count = self.direction.room_after(after, self.window);
        if count == 0 {
            return;
        }
        self.first = after + 1;
        self.last = after + u64::from(count);
        self.wasteful = false;
        self.wasted = 0;
        plan.push(self.direction.pages(self.first, self.last));
    }

    /// How far `page` lies behind the page that should follow the last window.
    fn gap_to(&self, page: PageId) -> Option<u64> {
        self.direction.step(page).checked_sub(self.last)?.checked_sub(1)
    }

    /// Whether a fault on `page` says that what the stream fetched last was of use.
    pub(super) fn is_met_at(&self, page: PageId) -> bool {
        self.gap_to(page).is_some_and(|gap| 4 * gap <= self.last - self.first + 1)
    }

    /// Notes that `page`, which the stream fetched, left unused.
    fn waste(&mut self, page: PageId) -> Unused {
        self.wasted += 1;
        self.ever_wasted += 1;
        if !self.wasteful {
            self.wasteful = true;
            self.shrink();
        }
        let passed = self.direction.step(page) - self.origin;
        let last_window = self.last - self.first + 1;
        let mostly_wasted =
            self.ever_wasted > passed / 2 + 1 || self.ever_wasted > self.used + TOLERATED;
        if !self.proven || mostly_wasted {
            Unused::Mistake
        } else if self.wasted > last_window / 2 {
            Unused::Over
        } else {
            Unused::Tolerable
        }
    }

    fn last_window_holds(&self, page: PageId) -> bool {
        (self.first..=self.last).contains(&self.direction.step(page))
    }

    fn holds(&self, page: PageId) -> bool {
        (self.origin..=self.last).contains(&self.direction.step(page))
    }
}

/// What a page that left unused tells of the stream that fetched it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Unused {
    /// No stream is known to have fetched it.
    Unknown,
    /// The stream goes on with a smaller window.
    Tolerable,
    /// The stream has ended.
    Over,
    /// It never was a stream.
    Mistake,
}

/// The latest streams.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    kept: [Option<Stream>; KEPT],
    clock: u64,
}

impl Streams {
    pub(super) const fn new() -> Self {
        Self { kept: [None; KEPT], clock: 0 }
    }

    /// Keeps a stream that has just fetched a window; tells what the one teaches that is forgotten for it.
    pub(super) fn add(&mut self, mut stream: Stream) -> Option<Lesson> {
        stream.fetched = self.tick();
        let oldest = (self.kept.iter_mut())
            .min_by_key(|place| place.as_ref().map_or(0, |stream| stream.fetched))?;
        oldest.replace(stream)?.lesson()
    }

    /// The stream that comes to `page` next, or nearly next; it is about to fetch, after long silence a window of `first`
    /// pages.
    pub(super) fn reaching(&mut self, page: PageId, first: u32) -> Option<&mut Stream> {
        let now = self.tick();
        let gap = |stream: &Stream| stream.gap_to(page).filter(|gap| stream.reaches(*gap, now));
        let stream = (self.kept.iter_mut().flatten())
            .filter_map(|stream| Some((gap(stream)?, stream)))
            .min_by_key(|(gap, stream)| (*gap, u64::MAX - stream.fetched))
            .map(|(_, stream)| stream)?;
        stream.wake(now, first);
        stream.fetched = now;
        Some(stream)
    }

    /// The stream whose last window holds `page`; it is about to fetch.
    pub(super) fn with_last_window_at(&mut self, page: PageId) -> Option<&mut Stream> {
        let now = self.tick();
        let stream = (self.kept.iter_mut().flatten())
            .filter(|stream| stream.last_window_holds(page))
            .max_by_key(|stream| stream.fetched)?;
        stream.fetched = now;
        Some(stream)
    }

    /// The place of the latest stream that came by `page`.
    fn holding(&mut self, page: PageId) -> Option<&mut Option<Stream>> {
        (self.kept.iter_mut())
            .filter(|place| place.as_ref().is_some_and(|stream| stream.holds(page)))
            .max_by_key(|place| place.as_ref().map_or(0, |stream| stream.fetched))
    }

    /// Takes note of a page that was used.
    pub(super) fn used(&mut self, page: PageId) {
        let now = self.clock;
        if let Some(stream) = self.holding(page).and_then(Option::as_mut)
            && now - stream.fetched <= SOON
        {
            stream.used += 1;
        }
    }

    /// Takes note of a page that left unused, and forgets its stream if that is the end of it.
    pub(super) fn unused(&mut self, page: PageId) -> Unused {
        let Some(place) = self.holding(page) else { return Unused::Unknown };
        let verdict = place.as_mut().map_or(Unused::Unknown, |stream| stream.waste(page));
        if matches!(verdict, Unused::Over | Unused::Mistake) {
            *place = None;
        }
        verdict
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }
}
