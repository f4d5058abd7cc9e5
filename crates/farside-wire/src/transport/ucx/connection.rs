//! A connection over UCX: its bytes travel in active messages. Each begins with its number, since UCX does not promise
//! that messages arrive in the order in which they were sent.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::SocketAddr;
use std::ptr::null;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use farside_os::stream;
use farside_os::thread::now_ns;

use super::endpoint::{Origin, endpoint};
use super::ffi::{self, Endpoint, RequestParam, Status};
use super::inbox::{Arrived, Inbox, NUMBER, arrive, fail};
use super::library::{MESSAGE, Worker};
use crate::transport::{Interest, Stream};

/// Bytes of an active message at most: as many as most transports send in one piece.
const LARGEST: usize = 8000;

/// Messages under way at most: what is sent beyond that waits.
const UNFINISHED: usize = 64;

/// Who waits looks again after that many nanoseconds, whatever UCX tells him, while something is under way.
const LOOK_NS: u64 = 1_000_000;

/// A connection is closed within that many nanoseconds, or left as it is.
const CLOSE_NS: u64 = 200_000_000;

/// A message that has not been sent yet, and the bytes that it consists of.
struct Unfinished {
    request: *mut c_void,
    bytes: Vec<u8>,
}

/// What a lock keeps together. Fields are dropped in their order: the worker first, so that nothing refers to the
/// others any more.
struct Core {
    worker: Worker,
    endpoint: Endpoint,
    is_open: bool,
    /// The number of the next message that is sent.
    next: u64,
    unfinished: VecDeque<Unfinished>,
    /// Buffers for the next messages.
    spare: Vec<Vec<u8>>,
    arrived: Inbox,
}

// SAFETY: all pointers are to what the core itself keeps alive, and are used under its lock.
unsafe impl Send for Core {}

/// A connection over UCX.
pub struct Ucx {
    core: Mutex<Option<Core>>,
    /// Threads that wait for the worker's descriptor.
    waiting: AtomicU32,
}

impl Ucx {
    /// Connects to a node. If there is none, the connection ends soon.
    ///
    /// # Errors
    /// If there is no UCX here, or it has no way to such an address.
    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        Self::open(&Origin::Address(address))
    }

    pub(super) fn open(origin: &Origin) -> io::Result<Self> {
        let worker = Worker::new()?;
        let arrived = Inbox::default();
        // SAFETY: it is dropped after the worker.
        unsafe { worker.receive_by(arrive, arrived.raw().cast())? };
        let endpoint = endpoint(&worker, origin, fail, arrived.raw().cast())?;
        let core = Core {
            worker,
            endpoint,
            is_open: true,
            next: 0,
            unfinished: VecDeque::new(),
            spare: Vec::new(),
            arrived,
        };
        Ok(Self { core: Mutex::new(Some(core)), waiting: AtomicU32::new(0) })
    }

    fn lock(&self) -> Held<'_> {
        let guard = self.core.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(core) = &*guard {
            core.worker.library.enter();
        }
        Held(guard)
    }
}

/// The core, locked.
struct Held<'a>(MutexGuard<'a, Option<Core>>);

impl Held<'_> {
    fn core(&mut self) -> io::Result<&mut Core> {
        self.0.as_mut().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl Core {
    /// What callbacks have left. To be asked for anew whenever the worker has made progress.
    fn arrived(&mut self) -> &mut Arrived {
        // SAFETY: it lives as long as the core, which is locked; callbacks, which use it too, run only while the worker
        // makes progress, and this borrow has ended then.
        unsafe { &mut *self.arrived.raw() }
    }

    fn check_open(&mut self) -> io::Result<()> {
        let ended = self.arrived().ended;
        match ended {
            Some(status) => Err(self.ended(status)),
            None if self.is_open => Ok(()),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn ended(&self, status: Status) -> io::Error {
        io::Error::new(io::ErrorKind::ConnectionReset, self.worker.library.name(status))
    }

    /// Takes back the buffers of messages that have been sent.
    fn finish(&mut self) {
        let calls = &self.worker.library.calls;
        while let Some(first) = self.unfinished.front() {
            // SAFETY: the request is live until it is given back, which is only done here while the connection is open.
            unsafe {
                if (calls.ucp_request_check_status)(first.request) == ffi::IN_PROGRESS {
                    return;
                }
                (calls.ucp_request_free)(first.request);
            }
            self.spare.extend(self.unfinished.pop_front().map(|finished| finished.bytes));
        }
    }

    /// Sends the bytes, which are kept until they are sent.
    fn post(&mut self, bytes: Vec<u8>) -> io::Result<()> {
        // SAFETY: all fields may be zero; those that count are set and named.
        let mut parameters: RequestParam = unsafe { std::mem::zeroed() };
        parameters.op_attr_mask = ffi::OP_FLAGS;
        parameters.flags = ffi::AM_SEND_EAGER;
        let (at, len) = (bytes.as_ptr().cast(), bytes.len());
        let calls = &self.worker.library.calls;
        // SAFETY: the endpoint is open; the bytes stay where they are until the request is finished or the worker gone.
        let sent = unsafe {
            (calls.ucp_am_send_nbx)(self.endpoint, MESSAGE, null(), 0, at, len, &parameters)
        };
        if let Some(error) = ffi::error_of(sent) {
            self.arrived().ended.get_or_insert(error);
            return Err(self.ended(error));
        }
        if sent.is_null() {
            self.spare.push(bytes);
        } else {
            self.unfinished.push_back(Unfinished { request: sent, bytes });
        }
        Ok(())
    }

    /// Ends the connection: the other side learns of it.
    fn close(&mut self) {
        if !std::mem::take(&mut self.is_open) {
            return;
        }
        // SAFETY: all fields may be zero; those that count are set and named.
        let mut parameters: RequestParam = unsafe { std::mem::zeroed() };
        parameters.op_attr_mask = ffi::OP_FLAGS;
        parameters.flags = ffi::EP_CLOSE_FORCE;
        let calls = &self.worker.library.calls;
        // SAFETY: the endpoint is open, and is not used any more afterwards.
        let request = unsafe { (calls.ucp_ep_close_nbx)(self.endpoint, &parameters) };
        if request.is_null() || ffi::error_of(request).is_some() {
            return;
        }
        let until = now_ns() + CLOSE_NS;
        // SAFETY: the request is live until it is given back.
        while unsafe { (calls.ucp_request_check_status)(request) } == ffi::IN_PROGRESS
            && now_ns() < until
        {
            self.worker.progress();
        }
        // SAFETY: as above.
        unsafe { (calls.ucp_request_free)(request) };
    }
}

/// Fills `into` from the front of `parts`, of which `skip` bytes are done with.
fn gather(parts: &[IoSlice<'_>], mut skip: usize, into: &mut Vec<u8>) {
    for part in parts {
        let room = LARGEST - into.len();
        let rest = part.get(skip..).unwrap_or_default();
        into.extend_from_slice(&rest[..rest.len().min(room)]);
        skip = skip.saturating_sub(part.len());
    }
}

impl Stream for Ucx {
    fn send(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut held = self.lock();
        let core = held.core()?;
        core.check_open()?;
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let mut sent = 0;
        core.finish();
        if core.unfinished.len() >= UNFINISHED {
            while core.worker.progress() {}
            core.finish();
        }
        while sent < len && core.unfinished.len() < UNFINISHED {
            let mut bytes = core.spare.pop().unwrap_or_else(|| Vec::with_capacity(LARGEST));
            bytes.clear();
            bytes.extend_from_slice(&core.next.to_le_bytes());
            gather(parts, sent, &mut bytes);
            sent += bytes.len() - NUMBER;
            core.next += 1;
            core.post(bytes)?;
        }
        self.tell_who_waits(core);
        if sent == 0 && len > 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(sent) }
    }

    fn flush(&self) -> io::Result<()> {
        let mut held = self.lock();
        let core = held.core()?;
        core.finish();
        if core.unfinished.is_empty() {
            return Ok(());
        }
        core.check_open()?;
        while core.worker.progress() {}
        core.finish();
        self.tell_who_waits(core);
        if core.unfinished.is_empty() { Ok(()) } else { Err(io::ErrorKind::WouldBlock.into()) }
    }

    fn receive(&self, parts: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let mut held = self.lock();
        let core = held.core()?;
        if parts.iter().all(|part| part.is_empty()) {
            return Ok(0);
        }
        // SAFETY: the parts are the caller's until this returns.
        unsafe { core.arrived().begin(parts) };
        // What has come is handed out at once: to look for more may cost as much as to receive it.
        while !core.arrived().has_filled() && core.is_open && core.worker.progress() {}
        let (filled, ended) = (core.arrived().finish(), core.arrived().ended);
        match ended {
            _ if filled > 0 => Ok(filled),
            None if core.is_open => Err(io::ErrorKind::WouldBlock.into()),
            None | Some(ffi::ERR_CONNECTION_RESET) => Ok(0),
            Some(status) => Err(core.ended(status)),
        }
    }

    fn wait(&self, interest: Interest, until: u64) {
        let mut held = self.lock();
        let Ok(core) = held.core() else { return };
        let has_room = interest == Interest::Send && core.unfinished.is_empty();
        let arrived = core.arrived();
        if has_room || arrived.has_rest() || arrived.ended.is_some() || !core.is_open {
            return;
        }
        if !core.worker.arm() {
            return;
        }
        let until = if core.unfinished.is_empty() { until } else { until.min(now_ns() + LOOK_NS) };
        let descriptor = core.worker.descriptor();
        self.waiting.fetch_add(1, Ordering::Relaxed);
        drop(held);
        stream::wait(descriptor, false, until);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    fn shut(&self) {
        let mut held = self.lock();
        let Ok(core) = held.core() else { return };
        core.close();
        self.tell(core);
    }
}

impl Ucx {
    /// Wakes who waits for something that has arrived by the hands of this thread.
    fn tell_who_waits(&self, core: &mut Core) {
        if core.arrived().has_rest() || core.arrived().ended.is_some() {
            self.tell(core);
        }
    }

    fn tell(&self, core: &Core) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            core.worker.signal();
        }
    }
}

impl Drop for Ucx {
    fn drop(&mut self) {
        let core = self.core.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        match core {
            Some(mut core) if core.worker.is_own() => {
                core.worker.library.enter();
                core.close();
                let calls = &core.worker.library.calls;
                for unfinished in &core.unfinished {
                    // SAFETY: the request is not used any more; UCX keeps it until it is finished, and its bytes are
                    // kept until the worker is gone.
                    unsafe { (calls.ucp_request_free)(unfinished.request) };
                }
            }
            // The connection is that of the process that this one was forked from: none of it is touched.
            Some(core) => std::mem::forget(core),
            None => {}
        }
    }
}
