//! `farside run --auto` (3PO's AUTO): the first run of a program is recorded, and later ones follow the tape that
//! was planned from that.
//!
//! Whatever goes wrong with what is kept, the program runs: on its tape, while it is recorded, or else without.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use farside_pager::Recording;
use farside_pager::settings::Limit;
use farside_trace::PAGE_SIZE;

use super::limit::{Basis, ChosenLimit};
use super::report::{Ending, Report};
use super::signals::Inherited;
use super::supervisor::complain;
use super::tape::Tape;
use super::{Along, limit_of, locate, run_recorded, run_with, unmanageable};
use crate::Failure;
use crate::options::{Options, Size};
use crate::plan::{How, Surveyed, Wanted, plan_tapes, survey};
use crate::record::{Recorded, Writer, largest, local_pages, metadata, set_up};
use crate::tapes::{Departures, Entry, KeptTape, Store, TraceDraft};

/// Runs `command` on its tape, or records it for the next time.
pub fn run(options: &Options, command: &[OsString]) -> Result<ExitCode, Failure> {
    let Some((name, arguments)) = command.split_first() else {
        return Err(Failure::usage("no program given"));
    };
    let path = locate(name)?;
    let limit = limit_of(options.local, &path, arguments);
    if limit.basis == Basis::None {
        return Err(Failure::usage(
            "--auto plans for so much local memory: say how much with --local",
        ));
    }
    let auto = Auto { options, command, path: &path };
    let entry = match unmanageable(&path) {
        Some(_) => None,
        None => auto.entry(),
    };
    let Some(entry) = entry else { return run_with(options, command, Along::Alone) };
    match auto.find(&entry, limit.planned()) {
        Found::Tape(tape) => auto.follow(&entry, tape),
        Found::Nothing => {
            let why = "there is no tape for this program and these arguments yet";
            auto.record(&entry, &limit, why)
        }
        Found::Outdated => {
            // Also a recording that comes to nothing is one.
            let _ = Departures::of(&entry).after_recording().keep(&entry);
            auto.record(&entry, &limit, "this program has left its tape")
        }
        Found::Unusable => run_with(options, command, Along::Alone),
    }
}

/// What there is for a run.
enum Found {
    Tape(Tape),
    /// It is to be recorded.
    Nothing,
    /// It is to be recorded again, since it does something else than its tape says.
    Outdated,
    /// There is something, but no tape can be made of it; why has been said.
    Unusable,
}

/// A run that looks after its tape itself.
struct Auto<'a> {
    options: &'a Options,
    command: &'a [OsString],
    path: &'a Path,
}

impl Auto<'_> {
    fn say(&self, line: &str) {
        if !self.options.quiet {
            complain(line);
        }
    }

    /// What is kept of the program with its arguments.
    fn entry(&self) -> Option<Entry> {
        let Some(store) = Store::of_user() else {
            self.say(
                "no place for tapes, so there is none: set XDG_STATE_HOME or HOME to an absolute path",
            );
            return None;
        };
        let entry = store.entry(self.path, &self.command[1..]);
        let failed = |error| {
            self.say(&format!(
                "no tape for {}: cannot keep any in {}: {error}",
                self.path.display(),
                store.folder().display()
            ));
        };
        entry.map_err(failed).ok()
    }

    /// The tape to follow under a limit, made of the kept trace if need be.
    fn find(&self, entry: &Entry, limit: Limit) -> Found {
        // Which share of the program's memory that is shows when it has run.
        let Limit::Bytes(bytes) = limit else { return Found::Nothing };
        if Departures::of(entry).is_due() {
            return Found::Outdated;
        }
        if let Some(tape) = self.kept_tape(entry, bytes) {
            return Found::Tape(tape);
        }
        let trace = entry.trace_path();
        if !trace.exists() {
            return Found::Nothing;
        }
        let surveyed = match survey(&trace) {
            Ok(surveyed) if !surveyed.partial => surveyed,
            Ok(_) => return self.remove(&trace, "its end is missing"),
            Err(failure) => return self.remove(&trace, &failure.message),
        };
        if is_too_coarse(&surveyed, bytes) {
            self.say("what was recorded before is too coarse for so little local memory");
            return Found::Nothing;
        }
        let planned = self.plan(entry, &surveyed, bytes);
        match planned.and_then(|path| Tape::open(&path)) {
            Ok(tape) => Found::Tape(tape),
            Err(failure) => {
                self.say(&format!("cannot make a tape of {}: {failure}", trace.display()));
                Found::Unusable
            }
        }
    }

    /// The whole tape for the most memory that is not more than there is.
    fn kept_tape(&self, entry: &Entry, bytes: u64) -> Option<Tape> {
        let fits =
            |tape: &KeptTape| tape.policy == How::default().policy && tape.local_bytes <= bytes;
        entry.tapes().into_iter().rev().filter(fits).find_map(|kept| {
            let opened = Tape::open(&kept.path).and_then(|tape| {
                tape.check(Limit::Bytes(bytes))?;
                tape.check_program(self.path).map(|()| tape)
            });
            let bad = |failure: Failure| _ = self.remove(&kept.path, &failure.message);
            opened.map_err(bad).ok()
        })
    }

    /// Removes a kept file that is of no use.
    fn remove(&self, file: &Path, why: &str) -> Found {
        let name = file.display().to_string();
        let why = if why.contains(&name) { why.to_owned() } else { format!("{name}: {why}") };
        match fs::remove_file(file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                self.say(&format!("{why}; cannot remove it: {error}"));
            }
            _ => self.say(&format!("{why}; it was kept for this program, and is removed")),
        }
        Found::Nothing
    }

    /// Plans for so much local memory; where the tape is.
    fn plan(
        &self,
        entry: &Entry,
        surveyed: &Surveyed,
        bytes: u64,
    ) -> Result<std::path::PathBuf, Failure> {
        let how = How::default();
        let local_pages = steady(bytes / PAGE_SIZE as u64);
        let tape = entry.tape_path(local_pages * PAGE_SIZE as u64, how.policy);
        let wanted = Wanted { local_pages, tape: tape.clone() };
        plan_tapes(&entry.trace_path(), surveyed, &how, &[wanted])?;
        Ok(tape)
    }

    /// Has the program follow its tape, and takes note of whether it did.
    fn follow(&self, entry: &Entry, tape: Tape) -> Result<ExitCode, Failure> {
        // That it is used now only matters to what is removed first.
        let _ = entry.mark_used();
        let note = |report: &Report| {
            let (Ending::Exited(0), Some(following)) = (&report.ending, &report.tape) else {
                return;
            };
            let kept = Departures::of(entry).after_run(following.is_outdated()).keep(entry);
            if let Err(error) = kept {
                self.say(&format!("cannot note whether the program was on its tape: {error}"));
            }
        };
        run_with(self.options, self.command, Along::Tape(tape, Box::new(note)))
    }

    /// Has this run recorded, and plans what the next one follows; says `why`.
    fn record(&self, entry: &Entry, limit: &ChosenLimit, why: &str) -> Result<ExitCode, Failure> {
        let microset = microset(local_pages(limit.for_process()));
        let how = Recording { microset, exact: false, grows: true };
        let draft = entry.trace_draft();
        let writer = match Writer::new(draft.path(), metadata(how, self.path, self.command)) {
            Ok(writer) => writer,
            Err(error) => {
                self.say(&format!("{why}, and this run is not recorded: {error}"));
                return run_with(self.options, self.command, Along::Alone);
            }
        };
        self.say(&format!("{why}: recording this run"));
        let mut options = self.options.clone();
        set_up(&mut options, how);
        let inherited = Inherited::current().map_err(|error| Failure::own(error.to_string()))?;
        let mut peak = None;
        let code = run_recorded(&options, self.command, writer, |recorded, report| {
            peak = self.keep(draft, &recorded, report);
        })?;
        if let Some(peak) = peak {
            // Planning takes a while; whoever does not want to wait may end it.
            let _ = inherited.restore();
            self.plan_next(entry, peak);
        }
        Ok(code)
    }

    /// Keeps the trace of a run if it is of use to later ones; the peak footprint of that run.
    fn keep(&self, draft: TraceDraft, recorded: &Recorded, report: &Report) -> Option<u64> {
        let why = match (&report.ending, &recorded.problem) {
            (Ending::Exited(0), None) if recorded.summary.accesses > 0 => match draft.keep() {
                Ok(_) => return Some(report.counter("footprint_peak_bytes")),
                Err(error) => error.to_string(),
            },
            (_, Some(problem)) => problem.to_string(),
            (Ending::Exited(0), None) => "it used no far memory".to_owned(),
            (Ending::Exited(code), None) => format!("the program ended with exit code {code}"),
            _ => "the program was killed".to_owned(),
        };
        self.say(&format!("the recording of this run is not kept: {why}"));
        None
    }

    /// Plans for the limit that the next run will have.
    fn plan_next(&self, entry: &Entry, peak: u64) {
        let limit = ChosenLimit::choose(self.options.local, Some(peak)).planned();
        let Limit::Bytes(bytes) = limit else { return };
        // Tapes of an older recording would be preferred otherwise.
        for old in entry.tapes() {
            let _ = fs::remove_file(old.path);
        }
        let planned =
            survey(&entry.trace_path()).and_then(|surveyed| self.plan(entry, &surveyed, bytes));
        match planned {
            Ok(_) => self.say(&format!(
                "the next run with {} of local memory, or more, follows a tape of this one",
                Size(bytes)
            )),
            Err(failure) => self.say(&format!("this run is kept, but no tape yet: {failure}")),
        }
    }
}

/// Pages to plan for, so that limits that are shares of a footprint that is not quite the same in each run have
/// one tape: up to one in 128 fewer.
fn steady(local_pages: u64) -> u64 {
    let grain = (local_pages.next_power_of_two() / 256).max(1);
    local_pages - local_pages % grain
}

/// Pages in a microset of a run with so many local pages: the plan needs room for two of them.
fn microset(local_pages: u64) -> usize {
    largest(How::default().capacity(local_pages))
}

/// Whether what was recorded in large microsets says too little about a run with so little local memory, and a
/// new recording under that limit would say more.
fn is_too_coarse(surveyed: &Surveyed, bytes: u64) -> bool {
    let local_pages = bytes / PAGE_SIZE as u64;
    let threads = (surveyed.footprint.threads.len() as u64).max(1);
    let share = How::default().capacity(local_pages) / threads;
    let better = (microset(local_pages) as u64) < surveyed.microset;
    better && surveyed.microset.saturating_mul(2) > share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_differ_by_little_have_one_tape() {
        for pages in [256, 300, 1 << 14, 20_479, 1 << 30] {
            let planned = steady(pages);
            assert!(planned <= pages && planned * 128 >= pages * 127, "{planned} of {pages}");
        }
        assert_eq!(steady(20_480), steady(20_500));
    }
}
