//! What is used of UCP's interface (`ucp/api/ucp.h`), by hand, and its functions as the library that was loaded has
//! them. A test holds the layouts against the headers where these are installed.

use std::ffi::{c_char, c_int, c_uint, c_void};

use libc::{sockaddr, sockaddr_storage, socklen_t};

/// `ucs_status_t`, an enumeration of one byte.
pub type Status = i8;
/// `ucs_status_ptr_t`: null, an error, or a request under way.
pub type StatusPointer = *mut c_void;
/// `ucp_context_h`.
pub type Context = *mut c_void;
/// `ucp_config_t *`.
pub type Config = *mut c_void;
/// `ucp_worker_h`.
pub type Worker = *mut c_void;
/// `ucp_ep_h`.
pub type Endpoint = *mut c_void;
/// `ucp_listener_h`.
pub type Listener = *mut c_void;
/// `ucp_conn_request_h`.
pub type Request = *mut c_void;

pub const OK: Status = 0;
pub const IN_PROGRESS: Status = 1;
pub const ERR_CANCELED: Status = -16;
pub const ERR_CONNECTION_RESET: Status = -25;
/// `UCS_ERR_LAST`: pointers from here on are errors.
pub const ERR_LAST: Status = -100;

pub const PARAM_FEATURES: u64 = 1 << 0;
pub const PARAM_MT_WORKERS_SHARED: u64 = 1 << 5;
pub const FEATURE_WAKEUP: u64 = 1 << 4;
pub const FEATURE_AM: u64 = 1 << 6;

pub const WORKER_PARAM_THREAD_MODE: u64 = 1 << 0;
pub const WORKER_PARAM_FLAGS: u64 = 1 << 5;
pub const WORKER_IGNORE_REQUEST_LEAK: u64 = 1 << 0;
pub const THREAD_MODE_SERIALIZED: c_int = 1;

pub const EP_PARAM_ERR_HANDLING_MODE: u64 = 1 << 1;
pub const EP_PARAM_ERR_HANDLER: u64 = 1 << 2;
pub const EP_PARAM_SOCK_ADDR: u64 = 1 << 4;
pub const EP_PARAM_FLAGS: u64 = 1 << 5;
pub const EP_PARAM_CONN_REQUEST: u64 = 1 << 6;
pub const EP_CLIENT_SERVER: c_uint = 1 << 0;
pub const ERR_HANDLING_PEER: c_int = 1;
pub const EP_CLOSE_FORCE: u32 = 1 << 0;

pub const LISTENER_PARAM_SOCK_ADDR: u64 = 1 << 0;
pub const LISTENER_PARAM_CONN_HANDLER: u64 = 1 << 2;
pub const LISTENER_ATTR_SOCKADDR: u64 = 1 << 0;

pub const AM_HANDLER_PARAM_ID: u64 = 1 << 0;
pub const AM_HANDLER_PARAM_CB: u64 = 1 << 2;
pub const AM_HANDLER_PARAM_ARG: u64 = 1 << 3;
pub const AM_RECV_RNDV: u64 = 1 << 17;
pub const AM_SEND_EAGER: u32 = 1 << 1;

pub const OP_FLAGS: u32 = 1 << 4;

/// `ucp_params_t`.
#[repr(C)]
pub struct Params {
    pub field_mask: u64,
    pub features: u64,
    pub request_size: usize,
    pub request_init: *mut c_void,
    pub request_cleanup: *mut c_void,
    pub tag_sender_mask: u64,
    pub mt_workers_shared: c_int,
    pub estimated_num_eps: usize,
    pub estimated_num_ppn: usize,
    pub name: *const c_char,
}

/// `ucp_worker_params_t`.
#[repr(C)]
pub struct WorkerParams {
    pub field_mask: u64,
    pub thread_mode: c_int,
    pub cpu_mask: [u64; 16],
    pub events: c_uint,
    pub user_data: *mut c_void,
    pub event_fd: c_int,
    pub flags: u64,
    pub name: *const c_char,
    pub am_alignment: usize,
    pub client_id: u64,
}

/// `ucs_sock_addr_t`.
#[repr(C)]
pub struct SockAddr {
    pub addr: *const sockaddr,
    pub addrlen: socklen_t,
}

/// `ucp_err_handler_t`.
#[repr(C)]
pub struct ErrHandler {
    pub cb: Option<unsafe extern "C" fn(*mut c_void, Endpoint, Status)>,
    pub arg: *mut c_void,
}

/// `ucp_ep_params_t`.
#[repr(C)]
pub struct EpParams {
    pub field_mask: u64,
    pub address: *const c_void,
    pub err_mode: c_int,
    pub err_handler: ErrHandler,
    pub user_data: *mut c_void,
    pub flags: c_uint,
    pub sockaddr: SockAddr,
    pub conn_request: Request,
    pub name: *const c_char,
    pub local_sockaddr: SockAddr,
}

/// `ucp_listener_params_t`.
#[repr(C)]
pub struct ListenerParams {
    pub field_mask: u64,
    pub sockaddr: SockAddr,
    pub accept_cb: *mut c_void,
    pub accept_arg: *mut c_void,
    pub conn_cb: Option<unsafe extern "C" fn(Request, *mut c_void)>,
    pub conn_arg: *mut c_void,
}

/// `ucp_listener_attr_t`.
#[repr(C)]
pub struct ListenerAttr {
    pub field_mask: u64,
    pub sockaddr: sockaddr_storage,
}

/// `ucp_am_handler_param_t`.
#[repr(C)]
pub struct AmHandlerParam {
    pub field_mask: u64,
    pub id: c_uint,
    pub flags: u32,
    pub cb: Option<AmCallback>,
    pub arg: *mut c_void,
}

/// `ucp_am_recv_param_t`.
#[repr(C)]
pub struct AmRecvParam {
    pub recv_attr: u64,
    pub reply_ep: Endpoint,
}

/// `ucp_am_recv_callback_t`: argument, header and its length, data and its length, and what they are.
pub type AmCallback = unsafe extern "C" fn(
    *mut c_void,
    *const c_void,
    usize,
    *mut c_void,
    usize,
    *const AmRecvParam,
) -> Status;

/// `ucp_request_param_t`.
#[repr(C)]
pub struct RequestParam {
    pub op_attr_mask: u32,
    pub flags: u32,
    pub request: *mut c_void,
    pub cb: *mut c_void,
    pub datatype: u64,
    pub user_data: *mut c_void,
    pub reply_buffer: *mut c_void,
    pub memory_type: c_int,
    pub recv_info: *mut c_void,
    pub memh: *mut c_void,
}

/// The error that a pointer is, if it is one.
pub fn error_of(pointer: StatusPointer) -> Option<Status> {
    let is_error = pointer as usize >= ERR_LAST as isize as usize;
    is_error.then_some(pointer as usize as Status)
}

macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions of a loaded library.
        pub struct Calls {
            $($(#[$doc])* pub $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Calls {
            /// Looks them up; the error is the name of the one that is not there.
            pub fn find(look_up: impl Fn(&str) -> *mut c_void) -> Result<Self, &'static str> {
                $(
                    let $name = look_up(stringify!($name));
                    if $name.is_null() {
                        return Err(stringify!($name));
                    }
                )*
                // SAFETY: the library's functions of these names have these types.
                Ok(unsafe { Self { $($name: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn($($argument),*) $(-> $result)?,
                >($name),)* } })
            }
        }
    };
}

calls! {
    ucp_get_version: fn(*mut c_uint, *mut c_uint, *mut c_uint);
    ucs_status_string: fn(Status) -> *const c_char;
    ucp_config_read: fn(*const c_char, *const c_char, *mut Config) -> Status;
    ucp_config_release: fn(Config);
    ucp_init_version: fn(c_uint, c_uint, *const Params, Config, *mut Context) -> Status;
    ucp_worker_create: fn(Context, *const WorkerParams, *mut Worker) -> Status;
    ucp_worker_destroy: fn(Worker);
    ucp_worker_progress: fn(Worker) -> c_uint;
    ucp_worker_get_efd: fn(Worker, *mut c_int) -> Status;
    ucp_worker_arm: fn(Worker) -> Status;
    ucp_worker_signal: fn(Worker) -> Status;
    ucp_worker_set_am_recv_handler: fn(Worker, *const AmHandlerParam) -> Status;
    ucp_listener_create: fn(Worker, *const ListenerParams, *mut Listener) -> Status;
    ucp_listener_destroy: fn(Listener);
    ucp_listener_query: fn(Listener, *mut ListenerAttr) -> Status;
    ucp_listener_reject: fn(Listener, Request) -> Status;
    ucp_ep_create: fn(Worker, *const EpParams, *mut Endpoint) -> Status;
    ucp_ep_close_nbx: fn(Endpoint, *const RequestParam) -> StatusPointer;
    ucp_am_send_nbx: fn(
        Endpoint, c_uint, *const c_void, usize, *const c_void, usize, *const RequestParam
    ) -> StatusPointer;
    ucp_request_check_status: fn(*mut c_void) -> Status;
    ucp_request_free: fn(*mut c_void);
}
