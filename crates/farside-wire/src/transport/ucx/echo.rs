//! The least that a page over UCX can cost: a request goes there, a page comes back, both sides look again and again.
//! Nothing is named, checked or kept. Benchmarks hold connections against it.

use std::ffi::c_void;
use std::io;
use std::net::SocketAddr;
use std::ptr::null;
use std::time::Instant;

use super::UcxListening;
use super::endpoint::{Origin, endpoint};
use super::ffi::{self, AmRecvParam, Endpoint, Status};
use super::library::{MESSAGE, Worker};

/// Bytes of a request: as many as one of a memory node's.
const REQUEST: usize = 56;

/// Bytes of a page.
const PAGE: usize = 4096;

/// What has arrived.
struct Seen {
    messages: u64,
    failed: bool,
    bytes: [u8; PAGE],
}

struct Side {
    worker: Worker,
    endpoint: Endpoint,
    /// Leaked: a benchmark has one or two.
    seen: *mut Seen,
}

unsafe extern "C" fn arrive(
    seen: *mut c_void,
    _header: *const c_void,
    _header_len: usize,
    data: *mut c_void,
    len: usize,
    _about: *const AmRecvParam,
) -> Status {
    // SAFETY: the argument is what the worker was given, and the data are valid during the call.
    unsafe {
        let seen = &mut *seen.cast::<Seen>();
        seen.bytes.as_mut_ptr().copy_from_nonoverlapping(data.cast(), len.min(PAGE));
        seen.messages += 1;
    }
    ffi::OK
}

unsafe extern "C" fn fail(seen: *mut c_void, _endpoint: Endpoint, _status: Status) {
    // SAFETY: as above.
    unsafe { (*seen.cast::<Seen>()).failed = true };
}

impl Side {
    fn open(origin: &Origin) -> io::Result<Self> {
        let worker = Worker::new()?;
        let seen = Box::into_raw(Box::new(Seen { messages: 0, failed: false, bytes: [0; PAGE] }));
        // SAFETY: it is never given back.
        unsafe { worker.receive_by(arrive, seen.cast())? };
        let endpoint = endpoint(&worker, origin, fail, seen.cast())?;
        Ok(Self { worker, endpoint, seen })
    }

    /// Sends the bytes, and waits until they are sent.
    fn send(&self, bytes: &'static [u8]) -> io::Result<()> {
        // SAFETY: all fields may be zero; those that count are set and named.
        let mut parameters: ffi::RequestParam = unsafe { std::mem::zeroed() };
        parameters.op_attr_mask = ffi::OP_FLAGS;
        parameters.flags = ffi::AM_SEND_EAGER;
        let (at, len) = (bytes.as_ptr().cast(), bytes.len());
        let calls = &self.worker.library.calls;
        // SAFETY: the endpoint is open, and the bytes live for ever.
        let sent = unsafe {
            (calls.ucp_am_send_nbx)(self.endpoint, MESSAGE, null(), 0, at, len, &parameters)
        };
        if ffi::error_of(sent).is_some() {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        if !sent.is_null() {
            // SAFETY: the request is live until it is given back.
            unsafe {
                while (calls.ucp_request_check_status)(sent) == ffi::IN_PROGRESS {
                    self.worker.progress();
                }
                (calls.ucp_request_free)(sent);
            }
        }
        Ok(())
    }

    /// Looks again and again until so many messages have arrived.
    fn spin(&self, messages: u64) -> io::Result<()> {
        loop {
            // SAFETY: callbacks run only while the worker makes progress, which it does not do now.
            let (seen, failed) = unsafe { ((*self.seen).messages, (*self.seen).failed) };
            if seen >= messages {
                return Ok(());
            }
            if failed {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.worker.progress();
        }
    }
}

/// Answers the next client until it hangs up.
///
/// # Errors
/// If there is no connection to be had.
pub fn answer(listening: &UcxListening) -> io::Result<()> {
    let side = listening.accept_by(Side::open)?;
    for message in 1.. {
        if side.spin(message).and_then(|()| side.send(&[7; PAGE])).is_err() {
            break;
        }
    }
    Ok(())
}

/// How long each of `count` exchanges with the echo at `address` takes, in nanoseconds.
///
/// # Errors
/// If the other side is not there.
pub fn exchanges(address: SocketAddr, count: usize) -> io::Result<Vec<f64>> {
    let side = Side::open(&Origin::Address(address))?;
    let mut took = Vec::with_capacity(count);
    for message in 1..=count as u64 {
        let begin = Instant::now();
        side.send(&[1; REQUEST])?;
        side.spin(message)?;
        took.push(begin.elapsed().as_nanos() as f64);
    }
    Ok(took)
}
