//! Holds what is written by hand against UCX's headers, where these are installed.

use std::mem::offset_of;
use std::process::Command;

use super::ffi;

/// C expressions, and what they have to be.
fn expected() -> Vec<(&'static str, i64)> {
    macro_rules! layouts {
        ($($kind:ident as $name:literal: $($field:ident as $c:literal),*;)*) => {
            vec![$(
                (concat!("sizeof(", $name, ")"), size_of::<ffi::$kind>() as i64),
                $((concat!("offsetof(", $name, ", ", $c, ")"), offset_of!(ffi::$kind, $field) as i64),)*
            )*]
        };
    }
    let mut all = layouts! {
        Params as "ucp_params_t": field_mask as "field_mask", features as "features", name as "name",
            mt_workers_shared as "mt_workers_shared", estimated_num_eps as "estimated_num_eps";
        WorkerParams as "ucp_worker_params_t": thread_mode as "thread_mode", cpu_mask as "cpu_mask",
            events as "events", event_fd as "event_fd", flags as "flags", client_id as "client_id";
        SockAddr as "ucs_sock_addr_t": addr as "addr", addrlen as "addrlen";
        ErrHandler as "ucp_err_handler_t": cb as "cb", arg as "arg";
        EpParams as "ucp_ep_params_t": err_mode as "err_mode", err_handler as "err_handler", flags as "flags",
            sockaddr as "sockaddr", conn_request as "conn_request", local_sockaddr as "local_sockaddr";
        ListenerParams as "ucp_listener_params_t": sockaddr as "sockaddr", conn_cb as "conn_handler.cb",
            conn_arg as "conn_handler.arg";
        ListenerAttr as "ucp_listener_attr_t": sockaddr as "sockaddr";
        AmHandlerParam as "ucp_am_handler_param_t": id as "id", flags as "flags", cb as "cb", arg as "arg";
        AmRecvParam as "ucp_am_recv_param_t": recv_attr as "recv_attr", reply_ep as "reply_ep";
        RequestParam as "ucp_request_param_t": flags as "flags", cb as "cb", datatype as "datatype",
            user_data as "user_data", memory_type as "memory_type", memh as "memh";
    };
    all.push(("sizeof(ucs_status_t)", size_of::<ffi::Status>() as i64));
    all.extend([
        ("UCS_OK", i64::from(ffi::OK)),
        ("UCS_INPROGRESS", i64::from(ffi::IN_PROGRESS)),
        ("UCS_ERR_CANCELED", i64::from(ffi::ERR_CANCELED)),
        ("UCS_ERR_CONNECTION_RESET", i64::from(ffi::ERR_CONNECTION_RESET)),
        ("UCS_ERR_LAST", i64::from(ffi::ERR_LAST)),
        ("UCS_THREAD_MODE_SERIALIZED", i64::from(ffi::THREAD_MODE_SERIALIZED)),
        ("UCP_ERR_HANDLING_MODE_PEER", i64::from(ffi::ERR_HANDLING_PEER)),
        ("UCP_EP_CLOSE_FLAG_FORCE", i64::from(ffi::EP_CLOSE_FORCE)),
        ("UCP_EP_PARAMS_FLAGS_CLIENT_SERVER", i64::from(ffi::EP_CLIENT_SERVER)),
        ("UCP_AM_SEND_FLAG_EAGER", i64::from(ffi::AM_SEND_EAGER)),
        ("UCP_OP_ATTR_FIELD_FLAGS", i64::from(ffi::OP_FLAGS)),
    ]);
    all.extend(
        [
            ("UCP_PARAM_FIELD_FEATURES", ffi::PARAM_FEATURES),
            ("UCP_PARAM_FIELD_MT_WORKERS_SHARED", ffi::PARAM_MT_WORKERS_SHARED),
            ("UCP_FEATURE_AM", ffi::FEATURE_AM),
            ("UCP_FEATURE_WAKEUP", ffi::FEATURE_WAKEUP),
            ("UCP_WORKER_PARAM_FIELD_THREAD_MODE", ffi::WORKER_PARAM_THREAD_MODE),
            ("UCP_WORKER_PARAM_FIELD_FLAGS", ffi::WORKER_PARAM_FLAGS),
            ("UCP_WORKER_FLAG_IGNORE_REQUEST_LEAK", ffi::WORKER_IGNORE_REQUEST_LEAK),
            ("UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE", ffi::EP_PARAM_ERR_HANDLING_MODE),
            ("UCP_EP_PARAM_FIELD_ERR_HANDLER", ffi::EP_PARAM_ERR_HANDLER),
            ("UCP_EP_PARAM_FIELD_SOCK_ADDR", ffi::EP_PARAM_SOCK_ADDR),
            ("UCP_EP_PARAM_FIELD_FLAGS", ffi::EP_PARAM_FLAGS),
            ("UCP_EP_PARAM_FIELD_CONN_REQUEST", ffi::EP_PARAM_CONN_REQUEST),
            ("UCP_LISTENER_PARAM_FIELD_SOCK_ADDR", ffi::LISTENER_PARAM_SOCK_ADDR),
            ("UCP_LISTENER_PARAM_FIELD_CONN_HANDLER", ffi::LISTENER_PARAM_CONN_HANDLER),
            ("UCP_LISTENER_ATTR_FIELD_SOCKADDR", ffi::LISTENER_ATTR_SOCKADDR),
            ("UCP_AM_HANDLER_PARAM_FIELD_ID", ffi::AM_HANDLER_PARAM_ID),
            ("UCP_AM_HANDLER_PARAM_FIELD_CB", ffi::AM_HANDLER_PARAM_CB),
            ("UCP_AM_HANDLER_PARAM_FIELD_ARG", ffi::AM_HANDLER_PARAM_ARG),
            ("UCP_AM_RECV_ATTR_FLAG_RNDV", ffi::AM_RECV_RNDV),
        ]
        .map(|(name, value)| (name, value as i64)),
    );
    all
}

#[test]
fn what_is_written_by_hand_is_what_the_headers_say() {
    const NAME: &str = "what_is_written_by_hand_is_what_the_headers_say";
    if !std::path::Path::new("/usr/include/ucp/api/ucp.h").exists() {
        println!("skipped: {NAME}: the headers are not installed (libucx-dev)");
        return;
    }
    let checks: String = expected()
        .iter()
        .map(|(what, value)| {
            format!("_Static_assert((long)({what}) == {value}L, \"{what} is not {value}\");\n")
        })
        .collect();
    let program = format!("#include <stddef.h>\n#include <ucp/api/ucp.h>\n{checks}");
    let file = std::env::temp_dir().join(format!("farside-ucx-layout-{}.c", std::process::id()));
    std::fs::write(&file, program).unwrap();
    let compiled = Command::new("cc").args(["-std=c11", "-fsyntax-only"]).arg(&file).output();
    std::fs::remove_file(&file).unwrap();
    match compiled {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr))
        }
        Err(error) => println!("skipped: {NAME}: no C compiler: {error}"),
    }
}
