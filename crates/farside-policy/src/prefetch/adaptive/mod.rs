//! Of several prefetchers those that prove useful, part by part of memory.
//!
//! The rooms: [`candidate`] names them, [`foreseen`] remembers pages until their fate is known, [`clock`] tells how long
//! that may take, [`part`] keeps the rates, [`ledger`] joins these, and [`graph`] is the one of them that is not told of
//! everything.

mod candidate;
mod clock;
mod foreseen;
mod graph;
mod ledger;
mod part;

use farside_trace::PageId;

use super::{FaultKind, Following, Leap, LeapOptions, LinuxWindow, PrefetchPlan, Prefetcher};
use candidate::{CANDIDATES, Candidate, Candidates};
use graph::Graph;
use ledger::{Ledger, Planning};

/// Most pages that are fetched with a fault, whatever is asked for.
const MOST: u32 = 512;

/// Read-ahead, the majority trend, pointers, and PATH's page proximity graph (section 4.3) - each where it has earned it,
/// and nothing where none has.
///
/// # What is worth it
///
/// A fault costs as much as fetching five pages, if they lie side by side and come together, or three that lie scattered.
/// A page that is fetched and not used costs its own fetch, and has taken the place of another one, which in about one
/// case of five would have been used before it left: one fifth of a fault. If a share `r` of what a prefetcher foresees
/// is used, a page gains `r` faults and costs a fetch and `1 - r` times a fifth of a fault. That is even where `r` is a
/// third for pages side by side, and at 0.44 for scattered ones. So a prefetcher is on from half its pages on, and off
/// below two in five: to be on without gain costs more than to be off without loss, since pages that are not used are
/// seen late, when they leave.
///
/// # Who has earned it
///
/// For each part of memory (64 MiB) and each of the four there are two rates: how many of all pages that it foresees are
/// used, and how many of those that it alone foresees, or that it is the first to be thanked for. Of several who foresee
/// a page that is the one who is right clearly more often over all, or is named first above, if it is on. So who is not
/// needed beside another one costs nothing, and who fetches much that is not used, and besides what another one
/// foresees as well, is turned off.
///
/// Who is on fetches. Its pages are right when they are told to be [`Used`](FaultKind::Used) or
/// [`Late`](FaultKind::Late), or when the program faults where they go on, and wrong when they leave unused. In a run
/// only a sample is seen; who fetches too much without a word of it has to prove itself again. Who is off is followed all
/// the same: its pages are right if they fault soon, and else wrong. How soon is a quarter of the time that unused pages
/// are seen to stay, so that a page that would have been fetched and lost counts as wrong. Only far pages count, if the
/// caller can tell ([`Prefetcher::fault_seeing`]).
///
/// Read-ahead begins on, as without this, and again in each part of memory. The trend begins off: where it is of use it
/// is on after seven pages, and so does the graph. Pointers begin on: who follows them fetches only what is likely, and learns that before it
/// fetches anything. The other rates are, in a part that is new, those of the part from where the program came.
///
/// # Who sees what
///
/// Each of them is told of every fault as it would have been without the others. A page that another one fetched was a
/// [`Demand`](FaultKind::Demand) fault to all who had not foreseen it, and a page that one foresaw while it was off was
/// used. So nobody hides the pattern that another one needs: a stream goes on through pages that pointers brought,
/// read-ahead does not make Leap see the stride of its windows, and where only one of them is on it does exactly what it
/// does alone. Two things are kept from the trend, which looks at all faults in a row, unless it foresaw them too: pages
/// that pointers brought, since a list between them would hide a stride, and those where a stream goes on that is read
/// ahead, since their distance is that of its windows.
///
/// Pointers are followed by somebody else, who sees memory. It asks [`pointers`](Prefetcher::pointers) whether to, and
/// tells where they lead by [`foreseen_by_pointer`](Prefetcher::foreseen_by_pointer). Where pointers are seen to be of use at
/// fewer than one fault in 32, for a thousand faults and more, they are looked for at one in eight.
///
/// The graph is there for what nobody else foresees: of pages that others sent for it is told only if it foresaw them, too.
/// So a program that is read ahead well does not pay for it, neither by time nor by memory. Neither do those for long whose
/// faults come in no order: the graph knows a sample of their pages then, and all of them again when it is right, or an order
/// comes again. What it asks for comes page by page and from everywhere, so that seven in ten of its pages have to be used, and
/// it asks for no more at once than a tenth of the pages that come while one stays unused (section 6.3).
#[derive(Clone, Debug)]
pub struct Adaptive {
    max: u32,
    window: LinuxWindow,
    trend: Leap,
    graph: Graph,
    ledger: Ledger,
    /// What each of them foresees, at one fault; nothing for pointers.
    drafts: [PrefetchPlan; CANDIDATES],
}

impl Adaptive {
    /// The name a user selects it by.
    pub const NAME: &'static str = "adaptive";

    /// Fetches at most `max_pages` pages with a fault, and never more than 512.
    pub fn new(max_pages: u32) -> Self {
        let max = max_pages.min(MOST);
        Self {
            max,
            window: LinuxWindow::new(max),
            trend: Leap::new(LeapOptions { most: max, ..LeapOptions::default() }),
            graph: Graph::new(max),
            ledger: Ledger::new(),
            drafts: [const { PrefetchPlan::new() }; CANDIDATES],
        }
    }

    /// Asks each of them, as if it were alone, what it foresees of a fault.
    fn foresee(&mut self, page: PageId, kind: FaultKind, is_far: &dyn Fn(PageId) -> bool) {
        let kind = self.ledger.judge(page, kind);
        self.drafts.iter_mut().for_each(PrefetchPlan::clear);
        let [window, trend, _, graph] = &mut self.drafts;
        if let Some(kind) = kind(Candidate::Window) {
            self.window.fault(page, kind, window);
        }
        if let Some(kind) = kind(Candidate::Trend) {
            self.trend.fault(page, kind, trend);
        }
        if let Some(kind) = kind(Candidate::Graph) {
            self.graph.fault(page, kind, self.ledger.room().min(self.max), is_far, graph);
        }
    }

    /// What the graph asks for besides pages, if its pages are fetched here: those that are here are to stay, and it is
    /// told when one of the others is used.
    fn ask_for_graph(&self, plan: &mut PrefetchPlan) {
        let draft = &self.drafts[Candidate::Graph as usize];
        if draft.is_empty() || !self.ledger.is_on(Candidate::Graph) {
            return;
        }
        plan.touch_resident();
        if let Some(page) = draft.leads_on() {
            plan.lead_on(page);
        }
    }
}

impl Prefetcher for Adaptive {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn fault(&mut self, page: PageId, kind: FaultKind, plan: &mut PrefetchPlan) {
        self.fault_seeing(page, kind, &|_| true, plan);
    }

    fn fault_seeing(
        &mut self,
        page: PageId,
        kind: FaultKind,
        is_far: &dyn Fn(PageId) -> bool,
        plan: &mut PrefetchPlan,
    ) {
        if self.max == 0 {
            return;
        }
        let (window, graph) = (&mut self.window, &mut self.graph);
        self.ledger.begin(page, kind, |page, by| {
            if by.has(Candidate::Window) {
                window.unused(page);
            }
            if by.has(Candidate::Graph) {
                graph.unused(page);
            }
        });
        self.foresee(page, kind, is_far);
        let mut planning = Planning { page, is_far, plan, left: self.max, before: 0 };
        for candidate in self.ledger.order() {
            self.ledger.add(candidate, &self.drafts[candidate as usize], &mut planning);
        }
        self.ask_for_graph(plan);
    }

    fn unused(&mut self, page: PageId) {
        let by = self.ledger.unused(page);
        if by.is_none_or(|by: Candidates| by.has(Candidate::Window)) {
            self.window.unused(page);
        }
        if by.is_some_and(|by| by.has(Candidate::Graph)) {
            self.graph.unused(page);
        }
    }

    fn pointers(&self, page: PageId) -> Following {
        if self.max == 0 { Following::Off } else { self.ledger.pointers(page) }
    }

    fn foreseen_by_pointer(&mut self, page: PageId, sent: bool) {
        self.ledger.foreseen_by_pointer(page, sent);
    }
}
