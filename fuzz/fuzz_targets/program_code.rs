//! Arbitrary bytes as the code of a function, and as a program with such code: never a panic, and the same answer each
//! time to how the address of each instruction came about.
#![no_main]

use farside_symbols::{Derivation, Images, Origins, Place};
use libfuzzer_sys::fuzz_target;

/// Where the code of the program is mapped.
const AT: u64 = 1 << 40;

/// An ELF file with one segment, all of which is executed, and whose sections are among the content.
fn program(sections: (u16, u16), content: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    // A shared library for x86-64.
    bytes.extend([3, 0, 62, 0, 1, 0, 0, 0]);
    let length = (120 + content.len()) as u64;
    for number in [0, 64, 120] {
        bytes.extend(u64::to_le_bytes(number));
    }
    for number in [0, 0, 64, 56, 1, 64, sections.0, sections.1] {
        bytes.extend(u16::to_le_bytes(number));
    }
    for number in [1 | 5 << 32, 0, 0, 0, length, length, 4096] {
        bytes.extend(u64::to_le_bytes(number));
    }
    bytes.extend(content);
    bytes
}

fn look_at(file: &[u8]) {
    let path = std::env::temp_dir().join(format!("fuzz-{}.code", std::process::id()));
    std::fs::write(&path, file).expect("a small file");
    let mut images = Images::default();
    if images.map(AT, 1 << 20, 0, path.as_os_str().as_encoded_bytes()) {
        let mut origins = Origins::new(&images);
        for offset in (0..file.len() as u64).step_by(7) {
            let Some(place) = images.place(AT + offset) else { continue };
            let caller = Place { image: place.image, address: place.address.wrapping_add(64) };
            let _ = (images.holders(place, false), origins.of(&[place, caller], false));
        }
    }
}

fuzz_target!(|input: (u64, bool, (u16, u16), &[u8])| {
    let (start, write, sections, content) = input;
    for at in (0..content.len() as u64).take(64) {
        let of = || Derivation::in_function(content, start, start.wrapping_add(at), write);
        assert_eq!(of(), of());
    }
    look_at(content);
    look_at(&program(sections, content));
});
