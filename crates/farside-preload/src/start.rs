//! Start-up: what runs before the program's `main`, and again in a forked child.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use farside_far::{Embedded, FarStore, FarUrl};
use farside_pager::counters::Counters;
use farside_pager::settings::{Settings, env};
use farside_wire::control::{self, Hello, Joined, ProgramName};

use crate::lock::Lock;
use crate::thread::{self, RUNTIME};
use crate::{far, fork, heap, sys};

/// Exit code for a program that was not started because its far memory could not be set up, as `env`
/// and `timeout` use it.
const CANNOT_START: i32 = 125;

/// The run this process is a member of.
struct Membership {
    /// Name of the supervisor's socket: the program may change its environment.
    control: String,
    program: ProgramName,
    counters: &'static Counters,
    counters_len: usize,
}

static MEMBERSHIP: OnceLock<Membership> = OnceLock::new();
/// The connection whose end tells the supervisor that this process is gone.
static SESSION: Lock<Option<OwnedFd>> = Lock::new(None);
/// The process that joined last: after a fork, the parent.
static MEMBER: AtomicU32 = AtomicU32::new(0);

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
        Ok(control) => match open_far_memory(control) {
            Ok(()) => heap::decide(heap::FAR),
            Err(reason) => give_up(&reason),
        },
    }
    sys::set_errno(errno);
    thread::set_state(before);
}

/// Ends the process before the program ran, or before it ran on in a child.
fn give_up(reason: &str) -> ! {
    sys::complain(&["farside: ", reason, "\n"]);
    // SAFETY: ends the process, without the program's destructors.
    unsafe { libc::_exit(CANNOT_START) }
}

/// Joins the supervisor at `control` and starts the pager; the error is a line for the user.
fn open_far_memory(control: String) -> Result<(), String> {
    let lookup = |name: &str| std::env::var(name).ok();
    let settings = Settings::from_env(lookup).map_err(|bad| bad.to_string())?;
    let url = lookup(env::FAR).unwrap_or_else(|| "embedded:".into());
    let url: FarUrl = url.parse().map_err(|bad| format!("{}={url}: {bad}", env::FAR))?;
    let program = program_name();
    let joined = join(&control, program, None)?;
    let (counters, counters_len) = map_counters(&joined, None)?;
    let store = |pages| {
        let store = Embedded::connect(joined.node, &url, pages)?;
        Ok(Box::new(store) as Box<dyn FarStore>)
    };
    let service = farside_pager::start(&settings, counters, store, thread::join_runtime)
        .map_err(|error| error.to_string())?;
    *SESSION.lock() = Some(joined.session);
    MEMBERSHIP.get_or_init(|| Membership { control, program, counters, counters_len });
    far::open(service);
    Ok(())
}

fn program_name() -> ProgramName {
    let path = std::env::current_exe().unwrap_or_default();
    ProgramName::new(path.file_name().unwrap_or_default().as_encoded_bytes())
}

fn join(control: &str, program: ProgramName, fork_of: Option<u32>) -> Result<Joined, String> {
    let pid = std::process::id();
    let parent_pid = std::os::unix::process::parent_id();
    let joined = control::join(control, &Hello { pid, parent_pid, fork_of, program })
        .map_err(|error| error.to_string())?;
    MEMBER.store(pid, Relaxed);
    Ok(joined)
}

/// Maps the counters block that came with `joined`, in place of an old one if there is one.
fn map_counters(
    joined: &Joined,
    old: Option<&Membership>,
) -> Result<(&'static Counters, usize), String> {
    let len = joined.counters_len as usize;
    if len < size_of::<Counters>() {
        return Err("the supervisor's counters are of another release".into());
    }
    let (at, fixed) = match old {
        Some(old) if old.counters_len == len => {
            (std::ptr::from_ref(old.counters) as usize, libc::MAP_FIXED)
        }
        Some(_) => return Err("the supervisor's counters changed their size".into()),
        None => (0, 0),
    };
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | fixed;
    // SAFETY: a fixed address is that of the block being replaced, which nobody else uses: the other
    // threads of the parent do not exist here.
    let mapped = unsafe { sys::mmap(at, len, prot, flags, joined.counters.as_raw_fd(), 0) };
    let at = mapped.map_err(|errno| format!("cannot map the counters: errno {errno}"))?;
    // SAFETY: the block is long enough, consists of integers, and stays mapped for ever.
    Ok((unsafe { &*(at as *const Counters) }, len))
}

/// Makes a forked child a member of its parent's run; returns its connection to the memory node. A
/// child that cannot join ends.
pub fn rejoin() -> OwnedFd {
    let Some(membership) = MEMBERSHIP.get() else { give_up("a child without a run to join") };
    let parent = MEMBER.load(Relaxed);
    let joined = join(&membership.control, membership.program, Some(parent));
    let joined = joined.and_then(|joined| {
        map_counters(&joined, Some(membership))?;
        Ok(joined)
    });
    match joined {
        Ok(joined) => {
            *SESSION.lock() = Some(joined.session);
            joined.node
        }
        Err(reason) => give_up(&reason),
    }
}
