//! Start-up: what runs before the program's `main`.

use farside_pager::settings::{Settings, env};

use crate::far::{self, Pager};
use crate::thread::{self, RUNTIME};
use crate::{fork, heap, sys};

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
    sys::set_errno(errno);
    thread::set_state(before);
}

/// Joins the supervisor at `control` and starts the pager; the error is a line for the user.
fn open_far_memory(_control: &str) -> Result<(), String> {
    let _settings =
        Settings::from_env(|name| std::env::var(name).ok()).map_err(|bad| bad.to_string())?;
    let pager =
        Pager::start().map_err(|error| format!("cannot reserve far memory: errno {error}"))?;
    far::open(pager);
    Ok(())
}
