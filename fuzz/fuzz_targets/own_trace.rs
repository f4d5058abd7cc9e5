//! Arbitrary bytes as a trace in Farside's own format, as a stream and after a good header: never a
//! panic, and after the first error nothing more.
#![no_main]

use std::io::Cursor;

use farside_trace::{Block, Metadata, TraceFormat, TraceReader, TraceWriter};
use libfuzzer_sys::fuzz_target;

/// Bytes of the index and the trailer of a trace without blocks.
const EMPTY_TAIL: usize = 88;

fn read(bytes: Vec<u8>) {
    let Ok(mut reader) = TraceReader::new(Cursor::new(bytes), TraceFormat::Farside, "fuzz") else {
        return;
    };
    let mut block = Block::default();
    loop {
        match reader.next_block(&mut block) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                let _ = error.to_string();
                break;
            }
        }
    }
    assert!(!reader.next_block(&mut block).expect("the end stays the end"));
}

fuzz_target!(|bytes: &[u8]| {
    read(bytes.to_vec());
    let mut headed = Vec::new();
    let writer = TraceWriter::new(&mut headed, "fuzz", &Metadata::default()).expect("a header");
    writer.finish().expect("a vector takes it");
    headed.truncate(headed.len() - EMPTY_TAIL);
    headed.extend_from_slice(bytes);
    read(headed);
});
