//! The descriptors that UCX opens: they get high numbers, and are closed in programs that the process executes.
//!
//! Programs close the low ones that they do not know, or count on their being free, and what they execute is to have no
//! part in their connections. UCX takes what it gets.

use std::ffi::{c_int, c_void};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::sync::atomic::{AtomicPtr, Ordering};

use farside_os::descriptor;

/// Moves a descriptor that was just opened, if it was.
fn out_of_the_way(opened: c_int) -> c_int {
    if opened < 0 {
        return opened;
    }
    // SAFETY: it was just opened, and nobody knows it yet.
    let moved = descriptor::out_of_the_way(unsafe { OwnedFd::from_raw_fd(opened) });
    if moved.as_raw_fd() == opened {
        // There is no room up there.
        // SAFETY: takes no pointers.
        unsafe { libc::fcntl(opened, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    moved.into_raw_fd()
}

/// A function of the C library that was loaded with UCX: it says why it failed where UCX looks.
struct Real(AtomicPtr<c_void>);

impl Real {
    const fn new() -> Self {
        Self(AtomicPtr::new(std::ptr::null_mut()))
    }

    fn get(&self) -> *mut c_void {
        self.0.load(Ordering::Acquire)
    }
}

macro_rules! moved {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        $(
            #[doc = concat!("Stands for `", stringify!($name), "` in UCX.")]
            ///
            /// # Safety
            /// As the C library's function of that name, after [`install`].
            pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
                // SAFETY: the C library's function of this name has this type; the rest is the caller's contract.
                unsafe {
                    let real = std::mem::transmute::<
                        *mut c_void,
                        unsafe extern "C" fn($($type),*) -> c_int,
                    >(real::$name.get());
                    out_of_the_way(real($($argument),*))
                }
            }
        )*

        #[allow(non_upper_case_globals, reason = "named as the functions")]
        mod real {
            use super::Real;

            $(pub static $name: Real = Real::new();)*
            pub static pipe: Real = Real::new();
            pub static close: Real = Real::new();
        }

        /// Takes the functions of the C library that is loaded with UCX; the error is the name of one that it does not
        /// have.
        pub fn install(find: impl Fn(&str) -> *mut c_void) -> Result<(), &'static str> {
            let all = [
                $((stringify!($name), &real::$name),)*
                ("pipe", &real::pipe),
                ("close", &real::close),
            ];
            for (name, real) in all {
                let found = find(name);
                if found.is_null() {
                    return Err(name);
                }
                real.0.store(found, Ordering::Release);
            }
            Ok(())
        }
    };
}

moved! {
    socket(domain: c_int, kind: c_int, protocol: c_int);
    accept(listener: c_int, address: *mut libc::sockaddr, len: *mut libc::socklen_t);
    epoll_create(size: c_int);
    eventfd(value: libc::c_uint, flags: c_int);
    timerfd_create(clock: libc::clockid_t, flags: c_int);
}

/// Stands for `pipe` in UCX.
///
/// # Safety
/// As `pipe`, after [`install`].
pub unsafe extern "C" fn pipe(ends: *mut c_int) -> c_int {
    // SAFETY: as above; the caller has room for two descriptors, which are valid if the call succeeds.
    unsafe {
        let real = std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_int) -> c_int>(
            real::pipe.get(),
        );
        let made = real(ends);
        if made == 0 {
            *ends = out_of_the_way(*ends);
            *ends.add(1) = out_of_the_way(*ends.add(1));
        }
        made
    }
}

/// Stands for `close` in UCX.
///
/// # Safety
/// As `close`, after [`install`].
pub unsafe extern "C" fn close(number: c_int) -> c_int {
    descriptor::forget(number);
    // SAFETY: the C library's function of this name has this type; the rest is the caller's contract.
    unsafe {
        let real = std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> c_int>(
            real::close.get(),
        );
        real(number)
    }
}
