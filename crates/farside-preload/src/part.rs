//! `farside_begin` and `farside_end`: parts of the run that are recorded or follow tapes. See
//! `farside.h`.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use farside_pager::{Part, Reader, Recording};
use farside_wire::control::{self, BeginPart, Begun, PartMode};

use crate::lock::Lock;
use crate::{far, imports, site, start, sys, thread};

/// With `1`, the program may have parts although nothing that is loaded at start-up has; with `0`,
/// it has none.
const FORCED: &str = "FARSIDE_PARTS";

struct State {
    /// A part has begun and not ended.
    begun: bool,
    /// What the process got when it joined, for its first part.
    first: Option<Part>,
    /// Whether the run is about first parts: nothing is done with the others.
    only_first: bool,
    /// By place in the program: how many parts were begun there.
    counts: BTreeMap<u64, u32>,
    supervisor_pid: u32,
}

static STATE: Lock<State> = Lock::new(State {
    begun: false,
    first: None,
    only_first: false,
    counts: BTreeMap::new(),
    supervisor_pid: 0,
});

/// Whether parts can be recorded or follow tapes in this process.
static ENABLED: AtomicBool = AtomicBool::new(false);

/// Whether the program may have parts, as far as can be told at start-up.
pub fn expected() -> bool {
    match std::env::var(FORCED).as_deref() {
        Ok("1") => true,
        Ok("0") => false,
        _ => imports::wants(c"farside_begin"),
    }
}

/// The program may have parts. `companion` is what it got when it joined, to record into as `how`
/// says, or to follow; that is for the first part.
pub fn enable(how: Option<Recording>, companion: Option<OwnedFd>, supervisor_pid: u32) {
    let state = &mut *STATE.lock();
    state.supervisor_pid = supervisor_pid;
    state.only_first = how.is_some() || companion.is_some();
    state.first = companion.map(|file| match how {
        Some(how) => Part::Record(how, Reader { queue: file, pid: supervisor_pid }),
        None => Part::Follow(file),
    });
    ENABLED.store(true, Relaxed);
}

/// In a forked child, which is in no part and begins none.
pub fn leave_to_parent() {
    ENABLED.store(false, Relaxed);
    FORKED.store(true, Relaxed);
}

static FORKED: AtomicBool = AtomicBool::new(false);

fn begin(mode: c_int) -> Result<(), c_int> {
    let mode = match mode {
        1 => PartMode::Record,
        2 => PartMode::Prefetch,
        3 => PartMode::Auto,
        _ => return Err(libc::EINVAL),
    };
    if FORKED.load(Relaxed) {
        return Ok(());
    }
    let state = &mut *STATE.lock();
    if state.begun {
        return Err(libc::EBUSY);
    }
    state.begun = true;
    if ENABLED.load(Relaxed)
        && let Err(problem) = enter(state, mode)
    {
        sys::complain(&["farside: a part of the run is left alone: ", &problem, "\n"]);
    }
    Ok(())
}

/// Finds out what to do with a part, and does it; the error is a line for the user.
fn enter(state: &mut State, mode: PartMode) -> Result<(), String> {
    let Some(service) = far::service() else { return Ok(()) };
    let part = if state.only_first {
        state.first.take()
    } else {
        let site = site::of_caller();
        let count = state.counts.entry(site).or_default();
        let nth = *count;
        *count = count.saturating_add(1);
        let begun = control::begin_part(start::session(), BeginPart { mode, site, nth })
            .map_err(|error| error.to_string())?;
        match begun {
            Begun::Nothing => None,
            Begun::Record { queue, microset } => {
                let how = Recording { microset: microset as usize, exact: false, grows: false };
                Some(Part::Record(how, Reader { queue, pid: state.supervisor_pid }))
            }
            Begun::Follow(tape) => Some(Part::Follow(tape)),
        }
    };
    match part {
        Some(part) => service.begin_part(part).map_err(|error| error.to_string()),
        None => Ok(()),
    }
}

fn end() -> Result<(), c_int> {
    if FORKED.load(Relaxed) {
        return Ok(());
    }
    let state = &mut *STATE.lock();
    if !std::mem::replace(&mut state.begun, false) {
        return Err(libc::EINVAL);
    }
    if let (true, Some(service)) = (ENABLED.load(Relaxed), far::service()) {
        let ended = service.end_part().map_err(|error| error.to_string());
        // All that was noted has been told by now.
        let told = if state.only_first {
            Ok(())
        } else {
            control::end_part(start::session()).map_err(|error| error.to_string())
        };
        if let Err(problem) = ended.and(told) {
            sys::complain(&["farside: a part of the run has no proper end: ", &problem, "\n"]);
        }
    }
    Ok(())
}

/// Of the C interface: a part of the run begins.
#[unsafe(no_mangle)]
pub extern "C" fn farside_begin(mode: c_int) -> c_int {
    as_call(|| begin(mode))
}

/// Of the C interface: the part of the run ends.
#[unsafe(no_mangle)]
pub extern "C" fn farside_end() -> c_int {
    as_call(end)
}

/// A call by the program, which gets -1 and `errno` or 0.
fn as_call(act: impl FnOnce() -> Result<(), c_int>) -> c_int {
    if thread::in_runtime() {
        return 0;
    }
    crate::mmap::c_result(thread::as_runtime(act))
}
