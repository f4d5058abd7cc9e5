//! Arbitrary bytes as a message to or from the supervisor, or to the node: never a panic, and what is
//! understood is written back as it was.
#![no_main]

use farside_wire::control::{MAX_FIGURES, MAX_MESSAGE, Message, Refusal, VERSION};
use farside_wire::pool;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(message) = Message::decode(bytes) {
        let mut buffer = vec![0; MAX_MESSAGE + MAX_FIGURES];
        let again = message.encode(&mut buffer).expect("what was read can be written");
        let again = Message::decode(again);
        // The version in a refusal is that of whoever writes it.
        if matches!(message, Message::Refusal(Refusal::Version(_))) {
            assert_eq!(again, Ok(Message::Refusal(Refusal::Version(VERSION))));
        } else {
            assert_eq!(again, Ok(message));
        }
    }
    if let Ok(message) = pool::Message::decode(bytes) {
        assert_eq!(pool::Message::decode(&message.encode()), Ok(message));
    }
});
