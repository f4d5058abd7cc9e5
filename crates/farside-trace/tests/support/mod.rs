//! Made-up traces, and files of the own format made of them.

#![allow(dead_code, reason = "each test program uses its own part")]

use std::io::Cursor;

use farside_trace::{
    Access, Block, Mapping, MappingChange, Metadata, PageId, PageRange, Record, TraceError,
    TraceFormat, TraceReader, TraceWriter,
};
use proptest::prelude::*;

pub fn access(page: u64, write: bool, thread: u32, weight: u32) -> Access {
    Access { page: PageId(page), write, thread, weight }
}

/// Pages of a program with loops and jumps; deterministic.
pub fn program(accesses: usize) -> Vec<Access> {
    let mut state = 1u64;
    (0..accesses)
        .map(|i| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let i = i as u64;
            let page = if state >> 60 == 0 { state >> 40 } else { 0x5555_0000 + i / 3 % 700 };
            access(page, i % 3 < 1, (i / 100 % 3) as u32 * 7, 1 + (state >> 62) as u32)
        })
        .collect()
}

/// A file with `records` in it.
pub fn file_of(records: &[Record], metadata: &Metadata) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = TraceWriter::new(&mut bytes, "made", metadata).unwrap();
    for record in records {
        match record.clone() {
            Record::Access(access) => writer.write(access).unwrap(),
            Record::Mapping(MappingChange::Appeared(mapping)) => writer.map(mapping).unwrap(),
            Record::Mapping(MappingChange::Vanished(range)) => writer.unmap(range).unwrap(),
        }
    }
    writer.finish().unwrap();
    bytes
}

pub fn accesses_file(accesses: &[Access]) -> Vec<u8> {
    let records: Vec<_> = accesses.iter().copied().map(Record::Access).collect();
    file_of(&records, &Metadata::default())
}

/// Reads `bytes` as a stream.
pub fn stream(bytes: &[u8]) -> Result<TraceReader, TraceError> {
    TraceReader::new(Cursor::new(bytes.to_vec()), TraceFormat::Farside, "made")
}

/// What can be read of a trace, and how it ends.
pub struct Outcome {
    pub accesses: Vec<Access>,
    pub error: Option<TraceError>,
    pub cut: bool,
}

pub fn outcome(reader: Result<TraceReader, TraceError>) -> Outcome {
    let mut outcome = Outcome { accesses: Vec::new(), error: None, cut: false };
    let mut reader = match reader {
        Ok(reader) => reader,
        Err(error) => return Outcome { error: Some(error), ..outcome },
    };
    let mut block = Block::default();
    loop {
        match reader.next_block(&mut block) {
            Ok(true) => outcome.accesses.extend_from_slice(&block.accesses),
            Ok(false) => break,
            Err(error) => {
                outcome.error = Some(error);
                break;
            }
        }
    }
    assert!(!reader.next_block(&mut block).unwrap(), "something comes after the end");
    outcome.cut = reader.cut().is_some();
    outcome
}

/// Any record, with likely and unlikely numbers.
pub fn any_record() -> impl Strategy<Value = Record> {
    let page = prop_oneof![0..100u64, any::<u64>(), Just(u64::MAX)];
    let thread = prop_oneof![4 => 0..4u32, 1 => any::<u32>()];
    let weight = prop_oneof![4 => Just(1u32), 1 => any::<u32>()];
    let accesses =
        (page, any::<bool>(), thread, weight).prop_map(|(page, write, thread, weight)| {
            Record::Access(access(page, write, thread, weight))
        });
    let mapping = (any::<u64>(), any::<u64>(), ".{0,20}", any::<bool>());
    let mappings = mapping.prop_map(|(first, count, name, appears)| {
        let first = PageId(first);
        Record::Mapping(if appears {
            MappingChange::Appeared(Mapping { first, count, name })
        } else {
            MappingChange::Vanished(PageRange { first, count })
        })
    });
    prop_oneof![8 => accesses, 1 => mappings]
}
