//! Waiting for connections over UCX.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::io;
use std::net::SocketAddr;
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

use farside_os::stream;
use farside_os::thread::now_ns;

use super::address::{self, Address};
use super::connection::Ucx;
use super::endpoint::Origin;
use super::ffi::{self, Request};
use super::library::Worker;

/// How long it sleeps at most before it looks again.
const LOOK_NS: u64 = 1_000_000_000;

/// What the callback has a pointer to: clients that want to connect.
type Asked = VecDeque<Request>;

struct Core {
    worker: Worker,
    listener: ffi::Listener,
    asked: *mut Asked,
}

// SAFETY: the pointers are to what the core keeps alive, and are used under its lock.
unsafe impl Send for Core {}

/// Waits for connections.
pub struct UcxListening {
    core: Mutex<Core>,
    address: SocketAddr,
}

unsafe extern "C" fn ask(request: Request, argument: *mut c_void) {
    // SAFETY: the argument is what the listener was given; nobody else looks at it while the worker makes progress.
    unsafe { (*argument.cast::<Asked>()).push_back(request) };
}

impl UcxListening {
    /// Listens at an address.
    ///
    /// # Errors
    /// If there is no UCX here, or somebody else listens there, or it is no address of this machine.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let worker = Worker::new()?;
        let asked = Box::into_raw(Box::<Asked>::default());
        let mut core = Core { worker, listener: null_mut(), asked };
        let address = Address::from(address);
        // SAFETY: all fields may be zero; those that count are set and named.
        let mut parameters: ffi::ListenerParams = unsafe { std::mem::zeroed() };
        parameters.field_mask = ffi::LISTENER_PARAM_SOCK_ADDR | ffi::LISTENER_PARAM_CONN_HANDLER;
        parameters.sockaddr = address.as_ffi();
        parameters.conn_cb = Some(ask);
        parameters.conn_arg = asked.cast();
        let library = core.worker.library;
        let calls = &library.calls;
        // SAFETY: the address lives until the call returns, the rest as long as the listener.
        library.check(unsafe {
            (calls.ucp_listener_create)(core.worker.handle, &parameters, &mut core.listener)
        })?;
        // SAFETY: all fields may be zero.
        let mut about: ffi::ListenerAttr = unsafe { std::mem::zeroed() };
        about.field_mask = ffi::LISTENER_ATTR_SOCKADDR;
        // SAFETY: the listener is live, and there is room for the answer.
        library.check(unsafe { (calls.ucp_listener_query)(core.listener, &mut about) })?;
        let address = address::read(&about.sockaddr);
        let address =
            address.ok_or_else(|| io::Error::other("UCX does not say where it listens"))?;
        Ok(Self { core: Mutex::new(core), address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The next connection.
    ///
    /// # Errors
    /// If a client wants one but there is none to be had. The next one may be all right.
    pub fn accept(&self) -> io::Result<Ucx> {
        self.accept_by(Ucx::open)
    }

    /// Has `open` make something of the next client's request.
    pub(super) fn accept_by<T>(
        &self,
        open: impl FnOnce(&Origin) -> io::Result<T>,
    ) -> io::Result<T> {
        loop {
            let core = self.core.lock().unwrap_or_else(PoisonError::into_inner);
            core.worker.library.enter();
            while core.worker.progress() {}
            let asked = core.asked;
            // SAFETY: nobody makes progress now, for the core is locked.
            let asked = unsafe { (*asked).pop_front() };
            if let Some(request) = asked {
                return open(&Origin::Request(request));
            }
            if !core.worker.arm() {
                continue;
            }
            let descriptor = core.worker.descriptor();
            drop(core);
            stream::wait(descriptor, false, now_ns() + LOOK_NS);
        }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        if !self.worker.is_own() {
            return;
        }
        let calls = &self.worker.library.calls;
        self.worker.library.enter();
        // SAFETY: nobody uses the listener any more; clients that were not let in are told so first. Once it is gone
        // nobody knows the list.
        unsafe {
            if !self.listener.is_null() {
                for request in (*self.asked).drain(..) {
                    (calls.ucp_listener_reject)(self.listener, request);
                }
                (calls.ucp_listener_destroy)(self.listener);
            }
            drop(Box::from_raw(self.asked));
        }
    }
}
