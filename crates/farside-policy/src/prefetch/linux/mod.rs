//! The adaptive window that Linux uses for read-ahead, for several streams at once.

mod approach;
mod caution;
mod direction;
mod stream;

use farside_trace::PageId;

use super::{FaultKind, PrefetchPlan, Prefetcher};
use approach::Approaches;
use caution::{Caution, Lesson};
use stream::{Stream, Streams, Unused};

/// Pages of a stream's first window.
const INITIAL_WINDOW: u32 = 4;

/// A window per sequential stream, doubled while the stream goes on and shrunk while it wastes pages.
///
/// It follows two mechanisms of Linux:
/// - *On-demand read-ahead* of files (`mm/readahead.c`): a miss at the end of the last window
///   continues the stream, the window grows to twice its size up to a limit, and the first use
///   of a page of the last window, which Linux notices by a marker on one page, lets the
///   following window be fetched before anyone waits for it. Isolated misses fetch nothing besides
///   their page.
/// - *VMA-based swap read-ahead* (`mm/swap_state.c`): neighbouring faults are looked for by
///   virtual address in either direction, and how many pages are fetched depends on how many of
///   those fetched before were of use.
///
/// Unlike Linux, which keeps one window for each open file or mapping, it tells streams apart by
/// where they are, since all far memory is one range: a table of the latest streams is searched on
/// every fault.
///
/// How a stream lives:
/// - Two faults on neighbouring pages, ascending or descending, begin a stream with a window of four
///   pages.
/// - A demand fault right after the window brings the next window, of twice the size; one that lies
///   further by up to a quarter of the window does, too (pages in between may have been resident).
///   If it lies further still, by no more than eight pages, the next window of a stream that has gone
///   on before is half as large.
/// - A stream that was silent for long goes on only with the very page that follows it, and from a first
///   window again: a random access comes near to some old stream more often than that.
/// - A [`Late`](FaultKind::Late) or [`Used`](FaultKind::Used) fault in the last window brings one of
///   twice the size, which follows the last.
/// - A demand fault inside the last window (the page was not fetched, or was lost again) brings a
///   window of half the size from there.
/// - A page of the stream that leaves unused halves the next window, once per window. When more than
///   half a window leaves unused before the next is fetched, the stream is over and forgotten.
/// - Pages count as used if that is soon: any page is used at some time, where half of all are here.
/// - A stream was a mistake if its first window goes to waste, or most of what it fetched up to some
///   page, or if clearly more pages left unused than were seen to be used. Then it is forgotten too,
///   and beginning one takes a longer run, up to six faults, as it does, more slowly, when streams are
///   forgotten of which nothing was heard; each stream that goes on after its first window, or a page of
///   which was used, makes it shorter again. So random accesses, some of which are neighbours by chance, come to
///   cause no prefetch at all.
#[derive(Clone, Debug)]
pub struct LinuxWindow {
    max: u32,
    streams: Streams,
    approaches: Approaches,
    caution: Caution,
}

impl LinuxWindow {
    /// Fetches at most `max_pages` pages with a fault.
    pub const fn new(max_pages: u32) -> Self {
        Self {
            max: max_pages,
            streams: Streams::new(),
            approaches: Approaches::new(),
            caution: Caution::new(),
        }
    }

    fn demand(&mut self, page: PageId, plan: &mut PrefetchPlan) {
        if let Some(stream) = self.streams.reaching(page, INITIAL_WINDOW.min(self.max)) {
            // What uses one page in eight comes to the next windows, too.
            if !stream.is_met_at(page) {
                stream.shrink();
            } else if stream.go_on(self.max) {
                self.caution.learn(Lesson::WentOn);
            }
            stream.fetch_after(page, plan);
        } else if let Some(stream) = self.streams.with_last_window_at(page) {
            stream.shrink();
            stream.fetch_after(page, plan);
        } else if let Some(direction) = self.approaches.extend(page, self.caution.approach()) {
            let mut stream = Stream::new(page, direction, INITIAL_WINDOW.min(self.max));
            stream.fetch_after(page, plan);
            if let Some(forgotten) = self.streams.add(stream) {
                self.caution.learn(forgotten);
            }
        }
    }

    fn foreseen(&mut self, page: PageId, kind: FaultKind, plan: &mut PrefetchPlan) {
        if kind == FaultKind::Used {
            self.streams.used(page);
        }
        let Some(stream) = self.streams.with_last_window_at(page) else { return };
        if kind == FaultKind::Late {
            stream.forgive();
        }
        if stream.go_on(self.max) {
            self.caution.learn(Lesson::WentOn);
        }
        stream.fetch_ahead(plan);
    }
}

impl Prefetcher for LinuxWindow {
    fn name(&self) -> &'static str {
        "linux"
    }

    fn fault(&mut self, page: PageId, kind: FaultKind, plan: &mut PrefetchPlan) {
        if self.max == 0 {
            return;
        }
        match kind {
            FaultKind::Demand => self.demand(page, plan),
            FaultKind::Late | FaultKind::Used => self.foreseen(page, kind, plan),
        }
    }

    fn unused(&mut self, page: PageId) {
        if self.streams.unused(page) == Unused::Mistake {
            self.caution.learn(Lesson::Mistake);
        }
    }
}
