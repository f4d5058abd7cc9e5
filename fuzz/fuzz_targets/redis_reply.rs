//! Replies of servers that speak Redis's protocol.

#![no_main]

use farside_far::redis::resp::parse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match parse(bytes) {
        // More behind it changes nothing.
        Ok(Some((reply, len))) => {
            assert!(len <= bytes.len());
            assert_eq!(parse(&bytes[..len]), Ok(Some((reply, len))));
        }
        // What is refused is refused with more behind it, too.
        Err(nonsense) => assert_eq!(parse(&[bytes, b"\r\n"].concat()), Err(nonsense)),
        Ok(None) => {}
    }
});
