//! Parts of programs' runs (`farside.h`): recorded, planned when the run is over, and followed in
//! later runs.

use std::ffi::OsString;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use farside_pager::Recording;
use farside_pager::settings::Limit;
use farside_sim::plan::PlanPolicy;
use farside_trace::PAGE_SIZE;
use farside_wire::control::{BeginPart, PartMode, PartOrder};

use super::supervisor::complain;
use super::tape::Tape;
use crate::Failure;
use crate::options::Pace;
use crate::plan::{How, Wanted, plan_tapes, survey};
use crate::record::{Writer, metadata};
use crate::tapes::{Entry, Part, Store, TraceDraft};

/// Most parts of a process that are kept.
const MOST_PARTS: usize = 256;

/// Most pages in a microset, and the fewest. Four of them are to fit into local memory.
const MICROSET: u64 = 1024;
const LEAST_MICROSET: u64 = 16;

/// The parts of all processes of a run.
#[derive(Debug)]
pub struct Parts {
    store: Option<Store>,
    limit: Limit,
    /// Those under way, by process.
    open: Vec<(u32, Draft)>,
    recorded: Vec<(Entry, TraceDraft)>,
    /// How many parts each process has begun.
    begun: Vec<(u32, usize)>,
    /// What went wrong has been told.
    told: bool,
    /// The program has ended: what outlives it has no parts any more.
    over: bool,
}

/// A part that is being recorded.
#[derive(Debug)]
struct Draft {
    entry: Entry,
    writer: Writer,
    trace: TraceDraft,
}

/// What a process is to do with a part.
pub enum Order {
    Nothing,
    Record(OwnedFd, u32),
    Follow(OwnedFd),
}

impl Order {
    /// As it is told to the process.
    pub fn message(&self) -> (PartOrder, Option<&OwnedFd>) {
        match self {
            Self::Nothing => (PartOrder::Nothing, None),
            Self::Record(queue, microset) => {
                (PartOrder::Record { microset: *microset }, Some(queue))
            }
            Self::Follow(tape) => (PartOrder::Follow, Some(tape)),
        }
    }
}

impl Parts {
    /// Of a run under that limit.
    pub fn new(limit: Limit) -> Self {
        let (open, recorded, begun) = (Vec::new(), Vec::new(), Vec::new());
        Self { store: Store::of_user(), limit, open, recorded, begun, told: false, over: false }
    }

    /// The process `pid` begins a part.
    pub fn begin(&mut self, pid: u32, asked: BeginPart) -> Order {
        self.close(pid);
        let place = self.begun.iter().position(|(other, _)| *other == pid).unwrap_or_else(|| {
            self.begun.push((pid, 0));
            self.begun.len() - 1
        });
        self.begun[place].1 += 1;
        if self.over || self.begun[place].1 > MOST_PARTS {
            return Order::Nothing;
        }
        match self.order(pid, asked) {
            Ok(order) => order,
            Err(failure) => {
                if !std::mem::replace(&mut self.told, true) {
                    complain(&format!("a part of the run is left alone: {failure}"));
                }
                Order::Nothing
            }
        }
    }

    fn order(&mut self, pid: u32, asked: BeginPart) -> Result<Order, Failure> {
        let own = |error: std::io::Error| Failure::own(format!("no tape can be kept: {error}"));
        let Some(store) = &self.store else {
            return Err(Failure::own("no place for tapes: set XDG_STATE_HOME or HOME"));
        };
        let (program, arguments) = identity(pid).map_err(own)?;
        let part = Part { site: asked.site, nth: asked.nth };
        if asked.mode != PartMode::Record
            && let Some(entry) = store.find_part(&program, &arguments, part).map_err(own)?
            && let Some(tape) = self.tape(&entry)?
        {
            // That only decides how long it is kept.
            let _ = entry.mark_used();
            return Ok(Order::Follow(tape));
        }
        if asked.mode == PartMode::Prefetch {
            return Ok(Order::Nothing);
        }
        let entry = store.part_entry(&program, &arguments, part).map_err(own)?;
        let how = Recording { microset: microset(self.limit), exact: false, grows: false };
        let mut command = vec![program.clone().into_os_string()];
        command.extend(arguments);
        let trace = entry.trace_draft();
        let mut about = metadata(how, &program, &command);
        about.other.insert("part".to_owned(), part.to_string().into());
        let failed = |error: farside_trace::TraceError| Failure::own(error.to_string());
        let writer = Writer::new(trace.path(), about).map_err(failed)?;
        let queue = writer.begin().try_clone_to_owned().map_err(own)?;
        self.open.push((pid, Draft { entry, writer, trace }));
        Ok(Order::Record(queue, how.microset as u32))
    }

    /// The kept tape that fits the limit best; made from the kept trace if there is none.
    fn tape(&self, entry: &Entry) -> Result<Option<OwnedFd>, Failure> {
        let fits = |bytes: u64| match self.limit {
            Limit::Bytes(limit) => bytes <= limit,
            Limit::PercentOfTouched(_) => true,
        };
        let kept = entry.tapes().into_iter().rfind(|tape| fits(tape.local_bytes));
        let path = match (kept, self.limit) {
            (Some(tape), _) => tape.path,
            (None, Limit::Bytes(limit)) if entry.trace_path().exists() => plan(entry, limit)?,
            _ => return Ok(None),
        };
        let image = Tape::open(&path).and_then(|tape| tape.image(self.limit, Pace::default()));
        match image {
            Ok((image, _)) => Ok(Some(image)),
            Err(failure) => {
                complain(&format!("a kept tape is of no use and removed: {failure}"));
                let _ = fs::remove_file(&path);
                Ok(None)
            }
        }
    }

    /// The process `pid` ends its part.
    pub fn end(&mut self, pid: u32) {
        for draft in self.take(pid) {
            let Draft { entry, writer, trace } = draft;
            match writer.finish() {
                Some(recorded) if recorded.problem.is_none() => {
                    if recorded.summary.accesses > 0 {
                        self.recorded.push((entry, trace));
                    } else {
                        // Nothing can be done ahead of it.
                        drop(trace);
                        self.drop_empty(&entry);
                    }
                }
                Some(recorded) => {
                    complain(&recorded.describe(&entry.trace_path()));
                    self.drop_empty(&entry);
                }
                None => complain("the trace of a part of the run could not be written"),
            }
        }
    }

    /// The process `pid` has ended.
    pub fn gone(&mut self, pid: u32) {
        self.close(pid);
        self.begun.retain(|(other, _)| *other != pid);
    }

    /// What the process `pid` has not finished is dropped.
    fn close(&mut self, pid: u32) {
        for Draft { entry, writer, trace } in self.take(pid) {
            let _ = writer.finish();
            // Its file goes with it.
            drop(trace);
            self.drop_empty(&entry);
        }
    }

    /// Removes an entry in which nothing is kept.
    fn drop_empty(&self, entry: &Entry) {
        if entry.trace_bytes().is_none()
            && entry.tapes().is_empty()
            && let Some(store) = &self.store
        {
            // One that stays is pruned later.
            let _ = store.remove(entry);
        }
    }

    fn take(&mut self, pid: u32) -> Vec<Draft> {
        self.open.extract_if(.., |(other, _)| *other == pid).map(|(_, draft)| draft).collect()
    }

    /// Plans what was recorded, for the limit that the run had, or that `peak` bytes of footprint
    /// give. Returns how many parts have tapes now.
    pub fn plan(&mut self, peak: u64) -> usize {
        self.over = true;
        while let Some((pid, _)) = self.open.last() {
            self.close(*pid);
        }
        let local = match self.limit {
            Limit::Bytes(bytes) => bytes,
            Limit::PercentOfTouched(percent) => (peak as f64 * percent / 100.0) as u64,
        };
        let local = local.max(farside_pager::settings::LEAST_LIMIT);
        let mut planned = 0;
        for (entry, trace) in std::mem::take(&mut self.recorded) {
            let kept = trace.keep().map_err(|error| Failure::own(error.to_string()));
            // They were planned from another trace.
            entry.tapes().iter().for_each(|old| _ = fs::remove_file(&old.path));
            match kept.and_then(|_| plan(&entry, local)) {
                Ok(_) => planned += 1,
                Err(failure) => {
                    complain(&format!("no tape for a part of the run: {failure}"));
                    let _ = fs::remove_file(entry.trace_path());
                    self.drop_empty(&entry);
                }
            }
        }
        planned
    }
}

/// Plans the trace that an entry keeps, for a local limit in bytes; the path of the tape.
fn plan(entry: &Entry, local: u64) -> Result<PathBuf, Failure> {
    let trace = entry.trace_path();
    let tape = entry.tape_path(local, PlanPolicy::Min);
    let surveyed = survey(&trace)?;
    let wanted = Wanted { local_pages: local / PAGE_SIZE as u64, tape: tape.clone() };
    plan_tapes(&trace, &surveyed, &How::default(), &[wanted])?;
    Ok(tape)
}

/// The largest power of two, up to the usual one, of which four fit into the local memory.
fn microset(limit: Limit) -> usize {
    let pages = match limit {
        Limit::Bytes(bytes) => bytes / PAGE_SIZE as u64,
        limit if limit.is_none() => u64::MAX,
        // At first that is the least limit.
        Limit::PercentOfTouched(_) => farside_pager::settings::LEAST_LIMIT / PAGE_SIZE as u64,
    };
    let quarter = (pages / 4).max(1);
    (1 << quarter.ilog2()).clamp(LEAST_MICROSET, MICROSET) as usize
}

/// The program that a process runs, and its arguments.
fn identity(pid: u32) -> std::io::Result<(PathBuf, Vec<OsString>)> {
    let program = fs::read_link(format!("/proc/{pid}/exe"))?;
    let line = fs::read(format!("/proc/{pid}/cmdline"))?;
    let line = line.strip_suffix(b"\0").unwrap_or(&line);
    let words = line.split(|byte| *byte == 0).skip(1);
    Ok((program, words.map(|word| OsString::from_vec(word.to_vec())).collect()))
}
