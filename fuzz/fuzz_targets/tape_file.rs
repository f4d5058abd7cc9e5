//! Arbitrary bytes as a tape, as the columns and tables of one whose checksums are right, and as
//! its index: never a panic, no more steps than there are said to be, and after the first error
//! nothing.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use farside_trace::tape::{TapeInfo, TapeReader, TapeWriter};
use libfuzzer_sys::fuzz_target;

/// Bytes of the index and the trailer of a tape without steps and regions.
const EMPTY_TAIL: usize = 40;

/// The header of a tape of one thread.
static HEADER: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let path = path();
    let writer = TapeWriter::create(&path, &TapeInfo::default()).expect("a header");
    writer.finish().expect("a small file");
    let mut bytes = std::fs::read(&path).expect("what was written");
    bytes.truncate(bytes.len() - EMPTY_TAIL);
    bytes
});

fn path() -> PathBuf {
    std::env::temp_dir().join(format!("fuzz-{}.tape", std::process::id()))
}

fn checksum(bytes: &[u8]) -> [u8; 8] {
    twox_hash::XxHash3_64::oneshot(bytes).to_le_bytes()
}

/// A block or a part of the table of regions.
fn block(magic: &[u8; 4], columns: &[u8], count: u16) -> Vec<u8> {
    let packed = zstd::bulk::compress(columns, 1).expect("a small block");
    let mut bytes = magic.to_vec();
    for number in [packed.len(), columns.len(), count.into(), 0, 0, 0, 0] {
        bytes.extend_from_slice(&(number as u32).to_le_bytes());
    }
    let sum = checksum(&[&bytes[..], &packed].concat());
    [bytes, sum.to_vec(), packed].concat()
}

/// An index with `content`, and the trailer.
fn index(content: &[u8], offset: usize) -> Vec<u8> {
    let mut bytes = [b"TIDX", content].concat();
    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum);
    bytes.extend_from_slice(&(offset as u64).to_le_bytes());
    bytes.extend_from_slice(b"TAP.END\n");
    bytes
}

/// The index of one block of thread 0, all of whose steps touch.
fn index_of(length: usize, steps: u16, regions: u16) -> Vec<u8> {
    let mut content = Vec::new();
    for number in [1, 1, regions.into(), 0, 0, steps.into(), 0, 0, 0, 0, 0] {
        content.extend_from_slice(&u32::to_le_bytes(number));
    }
    for number in [length as u32, 0, steps.into()] {
        content.extend_from_slice(&number.to_le_bytes());
    }
    content
}

fn read(file: &[u8]) {
    let path = path();
    std::fs::write(&path, file).expect("a small file");
    let reader = match TapeReader::open(&path) {
        Ok(reader) => reader,
        Err(error) => return drop(error.to_string()),
    };
    let whole = reader.verify();
    for (&thread, counts) in &reader.summary().threads {
        let mut steps = reader.steps(thread);
        let good = steps.by_ref().take_while(Result::is_ok).count() as u64;
        assert!(good <= counts.steps() && (whole.is_err() || good == counts.steps()));
        assert!(steps.next().is_none());
    }
}

fuzz_target!(|input: (&[u8], u16, &[u8], u16, &[u8])| {
    let (columns, steps, table, regions, content) = input;
    read(content);
    let header = &HEADER[..];
    read(&[header, content].concat());
    read(&[header, &index(content, header.len())].concat());
    let (block, table) = (block(b"TBLK", columns, steps), block(b"TREG", table, regions));
    let known = index_of(block.len(), steps, regions);
    let body = [header, &block, &table].concat();
    for content in [&known[..], content] {
        read(&[&body[..], &index(content, body.len())].concat());
    }
});
