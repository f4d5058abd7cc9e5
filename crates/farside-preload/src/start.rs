//! Start-up: what runs before the program's `main`.

use std::os::fd::{AsFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI32, AtomicU32};

use farside_far::FarUrl;
use farside_os::descriptor::Room;
use farside_os::memory;
use farside_pager::counters::Counters;
use farside_pager::service::Service;
use farside_pager::settings::{Settings, env};
use farside_pager::{Hooks, Reader};
use farside_wire::control::{self, Hello, Joined, ProgramName};
use farside_wire::transport::Files;

use crate::far;
use crate::thread::{self, RUNTIME};
use crate::{fork, heap, hint, loader, offload, part, section, signals, site, sys};

/// Exit code for a program that was not started because its far memory could not be set up, as `env`
/// and `timeout` use it.
const CANNOT_START: i32 = 125;

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    fork::register();
    let before = thread::state();
    thread::set_state(RUNTIME);
    let errno = sys::errno();
    match std::env::var(env::CONTROL) {
        Err(_) => heap::decide(heap::LOCAL),
        Ok(control) => match open_far_memory(&control) {
            Ok(()) => heap::decide(heap::FAR),
            Err(reason) => {
                sys::complain(&["farside: ", &reason, "\n"]);
                // SAFETY: ends the process before the program ran, without its destructors.
                unsafe { libc::_exit(CANNOT_START) };
            }
        },
    }
    heap::begin();
    fork::register_streams();
    sys::set_errno(errno);
    thread::set_state(before);
}

/// Joins the supervisor at `control` and starts the pager; the error is a line for the user.
fn open_far_memory(control: &str) -> Result<(), String> {
    let lookup = |name: &str| std::env::var(name).ok();
    let settings = Settings::from_env(lookup).map_err(|bad| bad.to_string())?;
    let url: FarUrl = match lookup(env::FAR) {
        Some(text) => text.parse().map_err(|error| format!("{}: {error}", env::FAR))?,
        None => FarUrl::default(),
    };
    let _room = Room::make();
    // The supervisor has looked up the names, and seen to it that this is allowed.
    let far =
        farside_far::open(&url, &credentials(lookup), true).map_err(|error| error.to_string())?;
    PROCESS.store(std::process::id(), Relaxed);
    site::prepare();
    signals::find();
    loader::find();
    let joined = join(control, None)?;
    let counters = map_counters(&joined)?;
    SESSION.store(joined.session.into_raw_fd(), Relaxed);
    CONTROL.get_or_init(|| control.to_owned());
    let link = joined.node;
    let store = |pages| far.connect(link, pages);
    let parts = part::expected() && settings.log_faults.is_none();
    let (queue, tape) = match settings.record {
        _ if parts => {
            part::enable(settings.record, joined.companion, joined.supervisor_pid);
            (None, None)
        }
        Some(_) => (joined.companion, None),
        None if settings.log_faults.is_some() => (joined.companion, None),
        None => (None, joined.companion),
    };
    let watches = queue.is_some() && settings.log_faults.is_some_and(|how| how.hints);
    let reader = queue.map(|queue| Reader { queue, pid: joined.supervisor_pid });
    let hooks = Hooks { thread: thread::join_runtime, site: site::of_caller, parts };
    let service = farside_pager::start(&settings, counters, store, reader, tape, hooks)
        .map_err(|error| error.to_string())?;
    far::open(service);
    if watches {
        hint::watch();
    }
    hint::open();
    offload::open(settings.offload);
    section::open(settings.sections);
    Ok(())
}

/// Whether this process has joined the supervisor, and is no child that uses its memory.
pub fn is_own_process() -> bool {
    PROCESS.load(Relaxed) == std::process::id()
}

/// Files that say which memory nodes we talk to, and who we are.
fn credentials(lookup: impl Fn(&str) -> Option<String>) -> Files {
    let file = |name| lookup(name).map(PathBuf::from);
    Files {
        authority: file(env::TLS_CA),
        certificate: file(env::TLS_CERT),
        key: file(env::TLS_KEY),
        secret: file(env::PSK),
        password: file(env::PASSWORD),
    }
}

/// The supervisor's name, kept because the program may change its environment.
static CONTROL: OnceLock<String> = OnceLock::new();

/// The connection that tells the supervisor that this process lives.
static SESSION: AtomicI32 = AtomicI32::new(-1);

/// The connection to the supervisor, once there is far memory.
pub fn session() -> BorrowedFd<'static> {
    // SAFETY: it is open while the process lives; a forked child, which replaces it, does not use it.
    unsafe { BorrowedFd::borrow_raw(SESSION.load(Relaxed)) }
}

/// The name by which the kernel lists this process.
fn thread_name(name: &mut [u8; 16]) -> &[u8] {
    // SAFETY: the kernel writes at most 16 bytes, ending in a zero byte.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Presents this process to the supervisor.
fn join(control: &str, fork_of: Option<u32>) -> Result<Joined, String> {
    let mut name = [0u8; 16];
    let hello = Hello {
        pid: std::process::id(),
        parent_pid: std::os::unix::process::parent_id(),
        fork_of,
        program: ProgramName::new(thread_name(&mut name)),
    };
    control::join(control, &hello).map_err(|error| error.to_string())
}

/// Maps the counters that the supervisor made for this process.
fn map_counters(joined: &Joined) -> Result<&'static Counters, String> {
    let len = joined.counters_len as usize;
    if len < size_of::<Counters>() {
        return Err("the supervisor comes from another build: its counters are too few".into());
    }
    let at = memory::map_shared(joined.counters.as_fd(), len, "the counters")
        .map_err(|error| error.to_string())?;
    // SAFETY: the mapping is long enough, page-aligned, never unmapped, and atomics are valid for any
    // content.
    Ok(unsafe { &*(at as *const Counters) })
}

/// In a forked child: joins the supervisor as a process of its own and lets the pager go on.
///
/// A child that cannot have its memory must not run: it would see wrong data.
pub fn go_on_in_child(service: &'static Service) {
    if let Err(reason) = rejoin(service) {
        sys::complain(&["farside: a forked process cannot have its memory: ", &reason, "\n"]);
        // SAFETY: ends the process without running anything of it.
        unsafe { libc::_exit(CANNOT_START) };
    }
}

fn rejoin(service: &'static Service) -> Result<(), String> {
    part::leave_to_parent();
    let control = CONTROL.get().ok_or("there is no run to join")?;
    let parent = PROCESS.load(Relaxed);
    PROCESS.store(std::process::id(), Relaxed);
    // SAFETY: the inherited session is the parent's; its number is not used again.
    drop(unsafe { OwnedFd::from_raw_fd(SESSION.load(Relaxed)) });
    let joined = join(control, Some(parent))?;
    let counters = map_counters(&joined)?;
    SESSION.store(joined.session.into_raw_fd(), Relaxed);
    service.pager().counters().hand_over(counters);
    let at = std::ptr::from_ref(service.pager().counters()) as usize;
    memory::move_mapping(std::ptr::from_ref(counters) as usize, at, joined.counters_len as usize)
        .map_err(|error| error.to_string())?;
    service.after_fork_in_child(joined.node).map_err(|error| error.to_string())
}

/// The process that joined, for its children to name as their origin.
static PROCESS: AtomicU32 = AtomicU32::new(0);
