//! One end of a connection, as UCX makes it.

use std::ffi::c_void;
use std::io;
use std::net::SocketAddr;
use std::ptr::null_mut;

use super::address::Address;
use super::ffi::{self, Endpoint, Status};
use super::library::Worker;

/// From where an endpoint is to be made.
pub enum Origin {
    /// A client's: where the node is.
    Address(SocketAddr),
    /// A node's: what a client asked for.
    Request(ffi::Request),
}

/// Makes an endpoint. `failed` is called with `argument`, which is to live as long as the worker, when it ends.
///
/// # Errors
/// If UCX has no way to such an address.
pub fn endpoint(
    worker: &Worker,
    origin: &Origin,
    failed: unsafe extern "C" fn(*mut c_void, Endpoint, Status),
    argument: *mut c_void,
) -> io::Result<Endpoint> {
    // SAFETY: all fields may be zero; those that count are set and named.
    let mut parameters: ffi::EpParams = unsafe { std::mem::zeroed() };
    parameters.field_mask = ffi::EP_PARAM_ERR_HANDLING_MODE | ffi::EP_PARAM_ERR_HANDLER;
    parameters.err_mode = ffi::ERR_HANDLING_PEER;
    parameters.err_handler = ffi::ErrHandler { cb: Some(failed), arg: argument };
    let address;
    match origin {
        Origin::Address(to) => {
            address = Address::from(*to);
            parameters.field_mask |= ffi::EP_PARAM_FLAGS | ffi::EP_PARAM_SOCK_ADDR;
            parameters.flags = ffi::EP_CLIENT_SERVER;
            parameters.sockaddr = address.as_ffi();
        }
        Origin::Request(request) => {
            parameters.field_mask |= ffi::EP_PARAM_CONN_REQUEST;
            parameters.conn_request = *request;
        }
    }
    let library = worker.library;
    let mut endpoint = null_mut();
    // SAFETY: what the parameters point to lives until the call returns, or as long as the worker.
    let made = unsafe { (library.calls.ucp_ep_create)(worker.handle, &parameters, &mut endpoint) };
    library.check(made)?;
    Ok(endpoint)
}
