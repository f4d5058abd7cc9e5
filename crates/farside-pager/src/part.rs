//! Parts of a run that are recorded, or follow a tape, while the rest does neither.
//!
//! A part may begin when the program has long been running: the names of its pages are kept from
//! the start, and told to whatever records or follows when that begins. Pages that have content
//! then are unmapped if the part is recorded, so that their uses are seen. If it follows a tape,
//! which begins with empty memory, what the tape does not fetch first leaves.

use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use farside_far::FarError;
use farside_os::OsError;
use farside_policy::batches::BATCH;
use thiserror::Error;

use crate::names::{Names, Renamed};
use crate::pager::{Outcome, Pager, Worker};
use crate::record::{Recorder, Recording};
use crate::replay::Replay;
use crate::service::Service;
use crate::start::{Hooks, Reader, recorder, replay};
use crate::word::State;

/// How often pages in transition are looked at again before they are left alone.
const LOOKS: u32 = 100;

/// How long that takes each time, in nanoseconds.
const LOOK_NS: u64 = 100_000;

/// Something that is there at times.
pub(crate) struct Switch<T> {
    /// Whether there has ever been one: most processes need not look closer.
    used: AtomicBool,
    now: RwLock<Option<Arc<T>>>,
}

impl<T> Switch<T> {
    pub fn new(first: Option<T>) -> Self {
        Self { used: AtomicBool::new(first.is_some()), now: RwLock::new(first.map(Arc::new)) }
    }

    /// What is there now.
    pub fn get(&self) -> Option<Arc<T>> {
        if !self.used.load(Ordering::Acquire) {
            return None;
        }
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts another in its place; returns what was there.
    fn set(&self, next: Option<Arc<T>>) -> Option<Arc<T>> {
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *now, next);
        self.used.store(true, Ordering::Release);
        before
    }
}

/// The names of all pages, kept from the start of the process.
pub struct KeptNames {
    hooks: Hooks,
    names: Mutex<Names>,
    /// Scratch memory for the thread that begins or ends a part; made for the first part.
    worker: Mutex<Option<Worker>>,
}

impl KeptNames {
    /// Of a process that has allocated nothing yet.
    pub fn new(hooks: Hooks) -> Self {
        Self { hooks, names: Mutex::default(), worker: Mutex::new(None) }
    }
}

/// What a part of the run is.
#[derive(Debug)]
pub enum Part {
    /// It is recorded, and told to the reader.
    Record(Recording, Reader),
    /// It follows the tape of this image.
    Follow(OwnedFd),
}

/// Why a part could not be begun or ended.
#[derive(Debug, Error)]
pub enum PartError {
    /// The process was started without names being kept.
    #[error("the names of this process's pages have not been kept")]
    NoNames,
    /// The kernel refuses something that is needed.
    #[error(transparent)]
    Os(#[from] OsError),
    /// The far store failed.
    #[error(transparent)]
    Far(#[from] FarError),
}

impl Service {
    /// Begins a part; whatever was recorded or followed before is not any more.
    ///
    /// The calling thread belongs to the runtime while it is in here.
    ///
    /// # Errors
    /// If the queue or the tape cannot be used, or the far store fails. The program goes on without
    /// the part.
    pub fn begin_part(&self, part: Part) -> Result<(), PartError> {
        let kept = self.pager.names.as_ref().ok_or(PartError::NoNames)?;
        self.with_worker(kept, |w| match part {
            Part::Record(how, reader) => {
                let recorder = recorder(Some(how), Some(reader), kept.hooks)?;
                Ok(self.pager.begin_recording(w, kept, recorder)?)
            }
            Part::Follow(tape) => {
                let replay = replay(Some(tape), kept.hooks)?;
                self.pager.begin_following(w, kept, replay)?;
                Ok(self.pager.prepare_aside(self.space.uffd().lend())?)
            }
        })
    }

    /// Ends the part that was begun last. All that was noted has been told when this returns.
    ///
    /// # Errors
    /// If the far store fails.
    pub fn end_part(&self) -> Result<(), PartError> {
        let kept = self.pager.names.as_ref().ok_or(PartError::NoNames)?;
        self.with_worker(kept, |w| Ok(self.pager.end_part(w, kept)?))
    }

    fn with_worker(
        &self,
        kept: &KeptNames,
        act: impl FnOnce(&mut Worker) -> Result<(), PartError>,
    ) -> Result<(), PartError> {
        let worker = &mut *kept.worker.lock().unwrap_or_else(PoisonError::into_inner);
        if worker.is_none() {
            *worker = Some(self.worker()?);
        }
        worker.as_mut().map_or(Ok(()), act)
    }
}

impl Pager {
    /// As [`rename`](Self::rename), where names are kept from the start.
    pub(crate) fn rename_kept(
        &self,
        kept: &KeptNames,
        change: impl FnOnce(&mut Names, u64, &mut dyn FnMut(Renamed)),
    ) {
        let site = (kept.hooks.site)();
        let names = &mut *self.lock(&kept.names);
        let (recorder, replay) = (self.recorder.get(), self.replay.get());
        let mut changes = Vec::new();
        change(names, site, &mut |renamed| changes.push(renamed));
        if let Some(recorder) = recorder.filter(|recorder| recorder.is_on()) {
            recorder.tell_names(changes.iter().map(|renamed| (*renamed, false)));
        }
        if let Some(replay) = replay {
            replay.bind(changes);
        }
    }

    fn begin_recording(
        &self,
        w: &mut Worker,
        kept: &KeptNames,
        recorder: Option<Recorder>,
    ) -> Outcome {
        let Some(recorder) = recorder.map(Arc::new) else { return Ok(()) };
        self.end_part(w, kept)?;
        {
            let names = self.lock(&kept.names);
            for named in names.all() {
                recorder.tell_names([(named, false)]);
                recorder.tell_names(self.contents(named).into_iter().map(|some| (some, true)));
            }
            self.recorder.set(Some(recorder));
        }
        let touched = self.touched_pages(kept);
        self.settle_pages(w, touched, |w, pages| {
            self.unmap_to_watch(w, pages);
            Ok(())
        })
    }

    fn begin_following(&self, w: &mut Worker, kept: &KeptNames, replay: Option<Replay>) -> Outcome {
        let Some(replay) = replay.map(Arc::new) else { return Ok(()) };
        self.end_part(w, kept)?;
        {
            let names = self.lock(&kept.names);
            replay.bind(names.all());
            self.replay.set(Some(Arc::clone(&replay)));
        }
        let (beginning, batch) = replay.beginning();
        let needed: HashSet<u64> = beginning.iter().flatten().copied().collect();
        let others = self.touched_pages(kept).filter(|page| !needed.contains(page));
        self.settle_pages(w, others, |w, pages| self.evict_pages(w, pages))?;
        // The uses of pages that are here already are seen as those of others are.
        let keys = beginning.iter().flat_map(|pages| pages.iter().step_by(batch)).copied();
        self.settle_pages(w, keys, |w, pages| {
            self.unmap_to_watch(w, pages);
            Ok(())
        })?;
        self.flights.poke();
        Ok(())
    }

    /// Records and follows no more.
    fn end_part(&self, w: &mut Worker, kept: &KeptNames) -> Outcome {
        let recorder = {
            let _names = self.lock(&kept.names);
            self.replay.set(None);
            self.recorder.set(None)
        };
        let Some(recorder) = recorder else { return Ok(()) };
        recorder.stop();
        let _inside = self.enter();
        self.release_held(w, &recorder)
    }

    /// All pages that have or had content.
    fn touched_pages(&self, kept: &KeptNames) -> impl Iterator<Item = u64> {
        let named: Vec<Renamed> = self.lock(&kept.names).all().collect();
        let range = |renamed| match renamed {
            Renamed::Appeared { first, count, .. } => (first, first + count),
            Renamed::Vanished { first, .. } => (first, first),
        };
        let stretches = |(first, end)| self.table.touched_stretches(first, end);
        named.into_iter().map(range).flat_map(stretches).flat_map(|(start, end)| start..end)
    }

    /// Those of the named pages that have content, in runs.
    fn contents(&self, named: Renamed) -> Vec<Renamed> {
        let Renamed::Appeared { first, count, name, offset } = named else { return Vec::new() };
        let mut runs: Vec<Renamed> = Vec::new();
        let stretches = self.table.touched_stretches(first, first + count);
        for page in stretches.flat_map(|(start, end)| start..end) {
            let state = self.table.load(page).state();
            if matches!(state, State::Untouched | State::Zero | State::Foreign) {
                continue;
            }
            match runs.last_mut() {
                Some(Renamed::Appeared { first, count, .. }) if *first + *count == page => {
                    *count += 1;
                }
                _ => {
                    let offset = offset + (page - first);
                    runs.push(Renamed::Appeared { first: page, count: 1, name, offset });
                }
            }
        }
        runs
    }

    /// Has `act` deal with those of `pages` that are here, mapped or not, some at a time. Pages in
    /// transition are looked at again.
    fn settle_pages(
        &self,
        w: &mut Worker,
        pages: impl Iterator<Item = u64>,
        mut act: impl FnMut(&mut Worker, &[u64]) -> Outcome,
    ) -> Outcome {
        let mut busy = self.settle_some(w, pages, &mut act)?;
        for _ in 0..LOOKS {
            if busy.is_empty() {
                break;
            }
            self.space.rest(LOOK_NS);
            busy = self.settle_some(w, busy.into_iter(), &mut act)?;
        }
        Ok(())
    }

    /// One look at `pages`; returns those in transition.
    fn settle_some(
        &self,
        w: &mut Worker,
        pages: impl Iterator<Item = u64>,
        act: &mut impl FnMut(&mut Worker, &[u64]) -> Outcome,
    ) -> Result<Vec<u64>, FarError> {
        let (mut busy, mut some) = (Vec::new(), Vec::with_capacity(BATCH));
        for page in pages {
            match self.table.load(page).state() {
                State::Busy | State::Leaving => busy.push(page),
                State::Resident | State::Watched => some.push(page),
                _ => {}
            }
            if some.len() == BATCH {
                let _inside = self.enter();
                act(w, &some)?;
                some.clear();
            }
        }
        let _inside = self.enter();
        act(w, &some)?;
        while self.complete_oldest(w)? {}
        Ok(busy)
    }
}
