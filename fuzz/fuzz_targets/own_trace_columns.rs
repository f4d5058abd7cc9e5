//! Arbitrary bytes as the columns of a block whose checksum is right, and as an index whose checksum
//! is right, in a file that can seek: never a panic.
#![no_main]

use std::io::Write;

use farside_trace::{Block, Metadata, TraceReader, TraceWriter};
use libfuzzer_sys::fuzz_target;

/// Bytes of the index and the trailer of a trace without blocks.
const EMPTY_TAIL: usize = 88;

fn checksum(bytes: &[u8]) -> [u8; 8] {
    twox_hash::XxHash3_64::oneshot(bytes).to_le_bytes()
}

fn block(columns: &[u8], accesses: u16, events: u8) -> Vec<u8> {
    let packed = zstd::bulk::compress(columns, 1).expect("a small block");
    let mut bytes = b"FBLK".to_vec();
    for number in [packed.len(), columns.len(), accesses.into(), events.into(), 0, 0, 0] {
        bytes.extend_from_slice(&(number as u32).to_le_bytes());
    }
    let sum = checksum(&[&bytes[..], &packed].concat());
    bytes.extend_from_slice(&sum);
    bytes.extend_from_slice(&packed);
    bytes
}

/// `rest` is the index behind its number of entries.
fn index(rest: &[u8], offset: u64) -> Vec<u8> {
    let mut bytes = b"FIDX".to_vec();
    bytes.extend_from_slice(&((rest.len().saturating_sub(56) / 16) as u32).to_le_bytes());
    let mut rest = rest.to_vec();
    rest.resize(56 + rest.len().saturating_sub(56) / 16 * 16, 0);
    bytes.extend_from_slice(&rest);
    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum);
    bytes.extend_from_slice(&offset.to_le_bytes());
    bytes.extend_from_slice(b"FPT.END\n");
    bytes
}

fuzz_target!(|input: (&[u8], u16, u8, u64, &[u8])| {
    let (columns, accesses, events, place, rest) = input;
    let mut file = Vec::new();
    let writer = TraceWriter::new(&mut file, "fuzz", &Metadata::default()).expect("a header");
    writer.finish().expect("a vector takes it");
    file.truncate(file.len() - EMPTY_TAIL);
    file.extend(block(columns, accesses, events));
    let offset = file.len() as u64;
    file.extend(index(rest, offset));
    let path = std::env::temp_dir().join(format!("fuzz-{}.fpt", std::process::id()));
    std::fs::File::create(&path).and_then(|mut f| f.write_all(&file)).expect("a small file");
    let Ok(mut reader) = TraceReader::open(&path) else { return };
    let mut read = Block::default();
    while let Ok(true) = reader.next_block(&mut read) {
        assert!(read.accesses.len() <= usize::from(accesses));
    }
    if reader.seek(place).is_ok() {
        while let Ok(true) = reader.next_block(&mut read) {
            assert!(read.first >= place);
        }
    }
});
