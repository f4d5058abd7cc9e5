//! A look at the whole state, for tests that compare it with the world around it.

use farside_policy::replacement::ReplacementPolicy;
use farside_trace::PageSample;

use crate::pager::Pager;
use crate::track::Tracking;
use crate::word::State;

/// Where a page is, and what is known of it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Never written.
    Untouched,
    /// Known to hold zeros only.
    Zero,
    /// In the far store.
    Far,
    /// In transition.
    Busy,
    /// Mapped; the program can write to it unseen if `writable`.
    Resident {
        /// Whether writes go unseen.
        writable: bool,
    },
    /// Unmapped; the frame lies at `position` of the frame area.
    Watched {
        /// Position in the frame area.
        position: u32,
    },
    /// Not managed.
    Foreign,
}

/// The state of a pager at one moment.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// Where each page is.
    pub pages: Vec<Place>,
    /// Positions in the frame area that hold spare frames.
    pub spare: Vec<u32>,
    /// Positions in the frame area that are taken.
    pub taken: u64,
    /// Frames taken from the budget.
    pub used: u64,
    /// Pages that the replacement policy knows of.
    pub known: usize,
    /// Which pages are tracked, if the replacement policy wants to know when the program comes to them.
    pub sample: Option<PageSample>,
}

impl Pager {
    /// Looks at everything. It is of one moment only if no other thread is inside.
    pub fn inspect(&self) -> Inspection {
        let pages = (0..self.table.pages())
            .map(|page| {
                let word = self.table.load(page);
                match word.state() {
                    State::Untouched => Place::Untouched,
                    State::Zero => Place::Zero,
                    State::Far => Place::Far,
                    State::Busy | State::Leaving => Place::Busy,
                    State::Resident => {
                        Place::Resident { writable: word.writable() || word.exposed() }
                    }
                    State::Watched => Place::Watched { position: word.position() },
                    State::Foreign => Place::Foreign,
                }
            })
            .collect();
        let (spare, taken) = self.area.positions();
        let used = self.budget.used();
        let policy = self.lock_policy();
        let (known, wants) = (policy.len(), policy.wants_sample().is_some());
        let sample = self.tracking.as_ref().filter(|_| wants).and_then(Tracking::sample);
        Inspection { pages, spare, taken, used, known, sample }
    }
}
