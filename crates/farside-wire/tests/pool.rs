//! Properties of what program and node tell each other.

use farside_wire::pool::{Block, LEN, Message, UNIT};
use proptest::prelude::*;

/// Bytes that are nearly a message: the parts that say what they are, most often right.
fn near_message() -> impl Strategy<Value = Vec<u8>> {
    let head = (
        prop_oneof![4 => Just(*b"FSPL"), 1 => any::<[u8; 4]>()],
        prop_oneof![4 => Just(1u16), 1 => any::<u16>()],
        prop_oneof![4 => 0u16..8, 1 => any::<u16>()],
    );
    let rest = prop_oneof![4 => Just(8), 1 => 0usize..64]
        .prop_flat_map(|len| prop::collection::vec(any::<u8>(), len));
    (head, rest).prop_map(|((magic, version, kind), rest)| {
        let mut bytes = magic.to_vec();
        bytes.extend(version.to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        bytes.extend(rest);
        bytes
    })
}

proptest! {
    #[test]
    fn what_is_understood_is_said_in_the_same_way(bytes in near_message()) {
        if let Ok(message) = Message::decode(&bytes) {
            prop_assert_eq!(bytes.len(), LEN);
            prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
        }
    }

    #[test]
    fn arbitrary_bytes_are_no_message(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        // Four bytes would have to be right by chance.
        prop_assert!(Message::decode(&bytes).is_err());
    }

    #[test]
    fn every_process_number_gets_through(pid: u32, fork_of: u32) {
        let message = Message::Attach { pid, fork_of };
        prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
    }

    #[test]
    fn entries_of_the_page_map_name_one_block(unit in 1u32..1 << 30, units in 1u32..=4) {
        let block = Block { unit, units };
        prop_assert_eq!(Block::unpack(block.pack()), Some(block));
        prop_assert_eq!(block.bytes() % UNIT as u64, 0);
        prop_assert!(block.bytes() <= 4096);
        prop_assert!(block.offset() + block.bytes() <= (u64::from(unit) + 4) * UNIT as u64);
    }
}
