//! Threads of the program that come with hints.

use std::sync::{Mutex, MutexGuard, PoisonError};

use farside_far::FarError;

use crate::hint::Hint;
use crate::lend::NotLent;
use crate::pager::{Pager, Worker};
use crate::service::Service;
use crate::stop::stop;

/// Scratch memory that no thread has at the moment.
#[derive(Default)]
pub struct Visitors {
    idle: Mutex<Vec<Worker>>,
}

impl Visitors {
    fn idle(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Service {
    /// Lets the calling thread act on the pager. Without scratch memory nothing is done: the program faults as it
    /// would without hints.
    pub(crate) fn visit<R: Default>(
        &self,
        act: impl FnOnce(&Pager, &mut Worker) -> Result<R, FarError>,
    ) -> R {
        let known = self.visitors.idle().pop();
        let Some(mut worker) = known.or_else(|| self.worker().ok()) else { return R::default() };
        let result = act(self.pager, &mut worker).unwrap_or_else(|error| stop(&error));
        self.visitors.idle().push(worker);
        result
    }

    /// The program is about to use something; see [`Pager::hint`].
    pub fn hint(&self, hint: &Hint) {
        self.visit(|pager, w| pager.hint(w, hint));
    }

    /// A task of the program is about to use something; see [`Pager::start`].
    pub fn start(&self, hint: &Hint) -> bool {
        self.visit(|pager, w| pager.start(w, hint))
    }

    /// The program will use a list of places; see [`Pager::foresee`].
    pub fn foresee(&self, addresses: &[usize], given_at: usize) {
        self.visit(|pager, w| pager.foresee(w, addresses, given_at));
    }

    /// Has pages stay here until they are unpinned as often; false if so many may not stay. See [`Pager::pin`].
    pub fn pin(&self, addr: usize, size: usize) -> bool {
        self.visit(|pager, w| pager.pin(w, addr, size))
    }

    /// Has pages stay here; see [`Pager::hold`].
    pub fn hold(&self, addr: usize, len: usize) -> u64 {
        self.visit(|pager, w| pager.hold(w, addr, len))
    }

    /// Takes frames out of the paged region for something else; see [`Pager::lend`].
    pub fn lend(&self, frames: u64) -> Result<(), NotLent> {
        self.visit(|pager, w| pager.lend(w, frames).map(Some))
            .unwrap_or(Err(NotLent { asked: frames, left: 0 }))
    }

    /// Whether a task still has to wait; see [`Pager::has_arrived`].
    pub fn is_awaited(&self, hint: &Hint) -> bool {
        self.visit(|pager, w| pager.has_arrived(w, hint).map(|arrived| !arrived))
    }
}
