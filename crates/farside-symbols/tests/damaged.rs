//! Programs whose files are damaged: whatever is said of their code, nobody panics.

use std::path::Path;

use farside_symbols::{Images, Names, Origins, Place};
use proptest::prelude::*;

/// A small program that every system has.
const PROGRAM: &str = "/bin/true";

/// Where a file is mapped.
const AT: u64 = 1 << 40;

/// Asks for all that can be known of some instructions of a file; returns whether it has any.
fn ask(path: &Path, addresses: &[u64]) -> bool {
    let mut images = Images::default();
    // Where its code lies is not known.
    let mut map = |offset| images.map(AT, 1 << 30, offset, path.as_os_str().as_encoded_bytes());
    if !(0..16).any(|page| map(page * 4096)) {
        return false;
    }
    let mut origins = Origins::new(&images);
    let mut names = Names::default();
    for address in addresses {
        let place = Place { image: 0, address: *address };
        let caller = Place { image: 0, address: address.wrapping_add(100) };
        for write in [false, true] {
            let _ = (origins.of(&[place, caller], write), images.holders(place, write));
        }
        let _ = (images.place(AT.wrapping_add(*address)), images.function_of(place));
        let _ = names.frames(&images, place).len();
    }
    true
}

#[test]
fn a_whole_program_has_code() {
    assert!(ask(Path::new(PROGRAM), &[0x2000, 0x3000]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_files_are_read_as_far_as_they_go(
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        in_headers in any::<bool>(),
        cut in any::<Option<prop::sample::Index>>(),
        addresses in proptest::collection::vec(prop_oneof![0..1u64 << 17, any::<u64>()], 8),
    ) {
        let mut bytes = std::fs::read(PROGRAM).expect("a program");
        // Tables of segments are at the beginning, those of sections at the end.
        let length = bytes.len();
        for (index, byte) in damage {
            let at = match in_headers {
                true => [index.index(0x400), length - 1 - index.index(0x800)][usize::from(byte & 1)],
                false => index.index(length),
            };
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(length));
        }
        let name = format!("farside-damaged-{}-{:?}", std::process::id(), std::thread::current().id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes).expect("a small file");
        ask(&path, &addresses);
        std::fs::remove_file(&path).expect("it is ours");
    }
}
