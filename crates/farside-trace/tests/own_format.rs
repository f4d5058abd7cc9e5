//! Farside's own format: what is written is read, from any place, and damage is told from the end.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};

use farside_trace::{
    BLOCK_ACCESSES, Block, Filter, MAX_NAME_BYTES, Mapping, MappingChange, Metadata, PageId,
    PageRange, Record, TraceError, TraceReader, TraceWriter,
};
use proptest::prelude::*;
use support::{access, accesses_file, any_record, file_of, outcome, program, stream};

/// Opens `bytes` as a file, so that it can seek.
fn opened(bytes: &[u8]) -> Result<TraceReader, TraceError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.fpt");
    fs::write(&path, bytes).unwrap();
    TraceReader::open(path)
}

fn damage(bytes: &[u8]) -> String {
    let text = outcome(opened(bytes)).error.expect("an error").to_string();
    text[text.find(": ").unwrap() + 2..].to_owned()
}

#[test]
fn metadata_comes_back_with_what_is_unknown() {
    let metadata = Metadata {
        page_shift: 21,
        program: Some("prog".into()),
        arguments: vec!["-x".into(), "a \"b\"\n\u{1f600}".into()],
        tool: Some("lackey".into()),
        merged: true,
        filters: vec![Filter {
            name: "lru".into(),
            parameters: BTreeMap::from([("entries".into(), 64)]),
        }],
        other: BTreeMap::from([("host".into(), serde_json::json!({"cpus": 2}))]),
    };
    let bytes = file_of(&[], &metadata);
    assert_eq!(stream(&bytes).unwrap().metadata(), Some(&metadata));
    assert_eq!(opened(&bytes).unwrap().metadata(), Some(&metadata));
}

#[test]
fn metadata_can_be_amended_by_a_few_digits() {
    let with = |microset: u64| Metadata {
        other: BTreeMap::from([("microset".into(), serde_json::json!(microset))]),
        ..Metadata::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.fpt");
    let mut writer = TraceWriter::create(&path, &with(1)).unwrap();
    writer.write(access(7, false, 0, 1)).unwrap();
    writer.amend(&with(1_048_576)).unwrap();
    writer.write(access(9, false, 0, 1)).unwrap();
    let long = Metadata { program: Some("a".repeat(100)), ..with(1) };
    let refused = writer.amend(&long).unwrap_err().to_string();
    assert!(refused.contains("takes more room than the old"), "{refused}");
    writer.finish().unwrap();
    let mut reader = TraceReader::open(&path).unwrap();
    assert_eq!(reader.metadata(), Some(&with(1_048_576)));
    let mut block = Block::default();
    assert!(reader.next_block(&mut block).unwrap());
    assert_eq!(block.accesses.iter().map(|access| access.page.0).collect::<Vec<_>>(), [7, 9]);
}

#[test]
fn many_blocks_come_back_and_are_summed_up() {
    let accesses = program(3 * BLOCK_ACCESSES + 17);
    let bytes = accesses_file(&accesses);
    let reader = opened(&bytes).unwrap();
    let summary = *reader.summary().unwrap();
    assert_eq!(summary.accesses, accesses.len() as u64);
    assert_eq!(summary.blocks, 4);
    assert_eq!(summary.writes, accesses.iter().filter(|access| access.write).count() as u64);
    assert_eq!(summary.weight, accesses.iter().map(|access| u64::from(access.weight)).sum::<u64>());
    assert_eq!(Some(summary.lowest), accesses.iter().map(|access| access.page).min());
    assert_eq!(Some(summary.highest), accesses.iter().map(|access| access.page).max());
    let read: Result<Vec<_>, _> = reader.accesses().collect();
    assert!(read.unwrap() == accesses);
    let pages: Result<Vec<_>, _> = stream(&bytes).unwrap().collect();
    assert!(pages.unwrap().into_iter().eq(accesses.iter().map(|access| access.page)));
}

#[test]
fn a_seek_reaches_every_access_and_nothing_behind_the_last() {
    let accesses = program(2 * BLOCK_ACCESSES + 5);
    let mut reader = opened(&accesses_file(&accesses)).unwrap();
    let block = BLOCK_ACCESSES as u64;
    let end = accesses.len() as u64;
    for place in [0, 1, block - 1, block, 2 * block + 4, 7, 2 * block, block + 1, end - 1, end] {
        reader.seek(place).unwrap();
        let next = reader.next().map(|page| page.unwrap());
        assert_eq!(next, accesses.get(place as usize).map(|access| access.page), "{place}");
        let mut block = Block::default();
        if reader.next_block(&mut block).unwrap() {
            assert_eq!(block.first, place + 1);
            assert_eq!(block.accesses[0], accesses[place as usize + 1]);
        }
    }
    let error = reader.seek(end + 1).unwrap_err();
    assert!(matches!(error, TraceError::BeyondEnd { .. }), "{error}");
    let error = stream(&accesses_file(&accesses)).unwrap().seek(1).unwrap_err();
    assert!(matches!(error, TraceError::NotSeekable { .. }), "{error}");
}

#[test]
fn mapping_events_keep_their_place_among_the_accesses() {
    let mapping = |name: &str| Mapping { first: PageId(5), count: 2, name: name.into() };
    let mut records = vec![Record::Mapping(MappingChange::Appeared(mapping("first")))];
    records.extend(program(BLOCK_ACCESSES).into_iter().map(Record::Access));
    records.push(Record::Mapping(MappingChange::Appeared(mapping("[heap]"))));
    records.push(Record::Access(access(1, true, 0, 1)));
    records.push(Record::Mapping(MappingChange::Vanished(PageRange::new(PageId(5), 1))));
    let mut reader = opened(&file_of(&records, &Metadata::default())).unwrap();
    assert_eq!(reader.summary().unwrap().mapping_events, 3);
    reader.seek(BLOCK_ACCESSES as u64).unwrap();
    let tail: Result<Vec<_>, _> = reader.records().collect();
    assert_eq!(tail.unwrap(), records[BLOCK_ACCESSES + 1..]);
}

#[test]
fn a_flushed_trace_is_read_though_it_was_never_finished() {
    let mut bytes = Vec::new();
    let mut writer = TraceWriter::new(&mut bytes, "made", &Metadata::default()).unwrap();
    for i in 0..10 {
        writer.write(access(i, false, 0, 1)).unwrap();
    }
    writer.flush().unwrap();
    writer.write(access(11, false, 0, 1)).unwrap();
    drop(writer);
    let reader = opened(&bytes).unwrap();
    let cut = reader.cut().unwrap();
    assert_eq!((cut.offset, cut.accesses), (bytes.len() as u64, 10));
    assert!(cut.to_string().ends_with("the 10 accesses before are read"), "{cut}");
    assert_eq!(reader.count(), 10);
}

/// Takes so many bytes and is full then.
struct Full<'a>(&'a mut Vec<u8>, usize);

impl Write for Full<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match bytes.len().min(self.1) {
            0 => Err(io::ErrorKind::StorageFull.into()),
            room => {
                self.1 -= room;
                self.0.extend_from_slice(&bytes[..room]);
                Ok(room)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_leaves_what_was_written_and_nothing_follows() {
    let accesses = program(4 * BLOCK_ACCESSES);
    let room = accesses_file(&accesses[..2 * BLOCK_ACCESSES + 9]).len();
    let mut bytes = Vec::new();
    let mut writer =
        TraceWriter::new(Full(&mut bytes, room), "disk", &Metadata::default()).unwrap();
    let error = accesses.iter().find_map(|&access| writer.write(access).err()).unwrap();
    let said = error.to_string();
    assert!(said.starts_with("disk: cannot write the trace beyond byte "), "{said}");
    assert!(said.contains(&format!("the {} accesses before", 2 * BLOCK_ACCESSES)), "{said}");
    writer.write(access(1, false, 0, 1)).unwrap();
    assert!(writer.finish().is_err());
    assert_eq!(bytes.len(), room);
    let read = outcome(opened(&bytes));
    assert!(read.accesses == accesses[..2 * BLOCK_ACCESSES]);
    assert!(read.cut && read.error.is_none());
}

#[test]
fn a_file_cut_anywhere_gives_its_whole_blocks() {
    let accesses = program(BLOCK_ACCESSES + 100);
    let bytes = accesses_file(&accesses);
    let header = file_of(&[], &Metadata::default()).len() - 88;
    for length in (0..bytes.len()).filter(|i| i % 997 == 0 || i + 400 > bytes.len() || *i < 300) {
        let cut = &bytes[..length];
        for read in [outcome(stream(cut)), outcome(opened(cut))] {
            assert_eq!(read.error.is_some(), length < header, "{length}");
            assert_eq!(read.cut, length >= header, "{length}");
            assert!([0, BLOCK_ACCESSES, accesses.len()].contains(&read.accesses.len()), "{length}");
            assert!(accesses.starts_with(&read.accesses));
        }
    }
}

#[test]
fn every_flipped_bit_is_noticed() {
    let accesses = program(300);
    let bytes = accesses_file(&accesses);
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        for read in [outcome(stream(&flipped)), outcome(opened(&flipped))] {
            assert!(read.error.is_some() || read.cut, "bit {bit} goes unnoticed");
            assert!(accesses.starts_with(&read.accesses), "bit {bit} changes accesses");
        }
    }
}

#[test]
fn damage_is_named_with_its_place() {
    let bytes = accesses_file(&program(50));
    let header = file_of(&[], &Metadata::default()).len() - 88;
    assert_eq!(damage(b""), "the trace is damaged at byte 0: it is empty");
    assert!(damage(b"not a trace").ends_with("it does not begin like a Farside trace"));
    assert!(damage(&bytes[..12]).ends_with("its header is cut short"));
    let mut newer = bytes.clone();
    newer[8] = 2;
    assert!(damage(&newer).contains("format version 2, this program reads version 1"));
    let mut endless = bytes.clone();
    endless[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(damage(&endless).ends_with("at byte 12: its metadata is too long"));
    for (at, words) in [
        (0, "neither a block nor the index begins here"),
        (4, "a block claims to be too long"),
        (8, "a block claims to unpack to too much"),
        (12, "a block claims too many accesses"),
        (16, "a block claims too many mapping events"),
        (24, "a block is missing, or not in its place"),
        (32, "the checksum of a block does not match"),
    ] {
        let mut wrong = bytes.clone();
        wrong[header + at..header + at + 4].fill(0xff);
        assert_eq!(damage(&wrong), format!("the trace is damaged at byte {header}: {words}"));
    }
    let mut longer = bytes.clone();
    longer.push(0);
    let said = damage(&longer);
    assert!(
        said.ends_with(&format!("at byte {}: something follows its end", bytes.len())),
        "{said}"
    );
}

#[test]
fn what_does_not_fit_is_refused_and_costs_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept.fpt");
    fs::write(&path, "kept").unwrap();
    let long = Metadata { arguments: vec!["x".repeat(2 << 20)], ..Metadata::default() };
    let said = TraceWriter::create(&path, &long).unwrap_err().to_string();
    assert!(said.contains("metadata takes 2097"), "{said}");
    let strange = Metadata { page_shift: 64, ..Metadata::default() };
    assert!(TraceWriter::create(&path, &strange).is_err());
    assert_eq!(fs::read(&path).unwrap(), b"kept");
    let mut writer = TraceWriter::create(&path, &Metadata::default()).unwrap();
    let name = "n".repeat(MAX_NAME_BYTES + 1);
    assert!(writer.map(Mapping { first: PageId(0), count: 1, name }).is_err());
    assert!(TraceWriter::create(folder.path().join("no/file"), &Metadata::default()).is_err());
}

#[test]
fn the_name_need_not_tell_the_own_format() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    fs::write(&path, accesses_file(&program(3))).unwrap();
    assert_eq!(TraceReader::open(&path).unwrap().count(), 3);
}

#[test]
fn golden_traces_take_at_most_two_bytes_per_access() {
    let name = "golden_traces_take_at_most_two_bytes_per_access";
    let Some(golden) = farside_golden::folder(name) else { return };
    let mut traces = 0;
    for entry in fs::read_dir(golden.join("traces")).unwrap() {
        let path = entry.unwrap().path();
        if !path.file_name().unwrap().to_string_lossy().starts_with("real_") {
            continue;
        }
        let accesses: Result<Vec<_>, _> = TraceReader::open(&path).unwrap().accesses().collect();
        let accesses = accesses.unwrap();
        let bytes = accesses_file(&accesses);
        assert!(bytes.len() <= 2 * accesses.len(), "{}: {} bytes", path.display(), bytes.len());
        assert!(outcome(stream(&bytes)).accesses == accesses);
        traces += 1;
    }
    assert!(traces > 0);
}

proptest! {
    #[test]
    fn any_records_come_back(records in prop::collection::vec(any_record(), 0..300)) {
        let bytes = file_of(&records, &Metadata::default());
        for reader in [stream(&bytes), opened(&bytes)] {
            let read: Result<Vec<_>, _> = reader.unwrap().records().collect();
            prop_assert_eq!(&read.unwrap(), &records);
        }
    }

    #[test]
    fn any_place_can_be_sought(
        records in prop::collection::vec(any_record(), 1..200),
        place in any::<prop::sample::Index>(),
    ) {
        let accesses = records.iter().filter(|record| matches!(record, Record::Access(_))).count();
        let place = place.index(accesses + 1);
        let mut reader = opened(&file_of(&records, &Metadata::default())).unwrap();
        reader.seek(place as u64).unwrap();
        let tail: Result<Vec<_>, _> = reader.accesses().collect();
        let expected = records.iter().filter_map(|record| match record {
            Record::Access(access) => Some(*access),
            Record::Mapping(_) => None,
        });
        prop_assert_eq!(tail.unwrap(), expected.skip(place).collect::<Vec<_>>());
    }

    #[test]
    fn arbitrary_bytes_after_the_header_never_panic(tail: Vec<u8>, magic in 0..3u8) {
        let mut bytes = file_of(&[], &Metadata::default());
        bytes.truncate(bytes.len() - 88);
        bytes.extend_from_slice([&b"FBLK"[..], b"FIDX", b""][usize::from(magic)]);
        bytes.extend(&tail);
        for read in [outcome(stream(&bytes)), outcome(opened(&bytes))] {
            prop_assert!(read.accesses.is_empty());
            prop_assert!(read.error.is_some() || read.cut);
        }
    }

    #[test]
    fn changed_bytes_never_panic_nor_change_accesses(
        at in any::<prop::sample::Index>(),
        new in prop::collection::vec(any::<u8>(), 1..9),
    ) {
        let accesses = program(500);
        let bytes = accesses_file(&accesses);
        let mut changed = bytes.clone();
        let at = at.index(bytes.len());
        let end = (at + new.len()).min(bytes.len());
        changed[at..end].copy_from_slice(&new[..end - at]);
        for read in [outcome(stream(&changed)), outcome(opened(&changed))] {
            prop_assert!(accesses.starts_with(&read.accesses));
            prop_assert!(changed == bytes || read.error.is_some() || read.cut);
        }
    }
}
