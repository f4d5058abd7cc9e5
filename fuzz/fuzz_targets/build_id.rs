//! Arbitrary bytes as a program, and as the program headers and notes of an ELF file: never a panic, always
//! a build id in hexadecimal digits, the same each time.
#![no_main]

use farside_cli::tapes::build_id;
use libfuzzer_sys::fuzz_target;

/// The header of an ELF file whose program headers follow.
fn header(count: u8) -> Vec<u8> {
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(64, 0);
    bytes[32] = 64;
    bytes[54] = 56;
    bytes[56] = count;
    bytes
}

/// One program header: notes that begin behind it.
fn notes(length: usize) -> Vec<u8> {
    let segment = [4, 120, 0, 0, length as u64, length as u64, 4];
    segment.iter().flat_map(|number: &u64| number.to_le_bytes()).collect()
}

fn check(file: &[u8]) {
    let path = std::env::temp_dir().join(format!("fuzz-{}.elf", std::process::id()));
    std::fs::write(&path, file).expect("a small file");
    let id = build_id(&path).expect("a readable file");
    assert!(!id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert_eq!(build_id(&path).expect("a readable file"), id);
}

fuzz_target!(|input: (u8, &[u8])| {
    let (count, content) = input;
    check(content);
    check(&[&header(count), content].concat());
    check(&[&header(1), &notes(content.len())[..], content].concat());
});
