//! Messages to what runs functions, and its answers.

#![no_main]

use farside_wire::offload::{HEADER, Reply, Request};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(request) = Request::decode(bytes) {
        assert_eq!(Request::decode(&request.encode()[HEADER..]), Ok(request));
    }
    if let Ok(reply) = Reply::decode(bytes) {
        assert_eq!(Reply::decode(&reply.encode()[HEADER..]), Ok(reply));
    }
});
