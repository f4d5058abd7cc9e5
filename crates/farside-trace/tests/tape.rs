//! Tapes: what is written is read, thread by thread, and what is not whole is refused.

#[path = "support/tapes.rs"]
mod tapes;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use farside_trace::tape::{
    BLOCK_STEPS, MAX_PAGES, Step, StepCounts, StepKind, TapeError, TapeInfo, TapeReader, TapeWriter,
};
use farside_trace::{Metadata, PageId, TraceWriter};
use proptest::prelude::*;
use tapes::{
    any_step, any_steps, by_thread, checksum, info, opened, region, sealed, step, tape, walk, write,
};

/// Bytes of the index and the trailer of a tape of one block.
const TAIL: usize = 16 + 32 + 12 + 8 + 16;

fn files_in(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).collect()
}

/// What is wrong with `bytes`, without the name of the file.
fn damage(bytes: &[u8]) -> String {
    let error = opened(bytes).and_then(|reader| reader.verify()).expect_err("an error");
    let text = error.to_string();
    text[text.find(": ").unwrap() + 2..].to_owned()
}

fn refusal(result: Result<impl Sized, TapeError>) -> String {
    result.err().expect("an error").to_string()
}

#[test]
fn the_description_comes_back_with_what_is_unknown() {
    let info = TapeInfo {
        page_shift: 21,
        program: Some("prog".into()),
        arguments: vec!["-x".into(), "a \"b\"\n\u{1f600}".into()],
        build_id: Some("00ff".into()),
        policy: "min".into(),
        capacity: u64::MAX,
        local_pages: 77,
        microset: 1024,
        threads: 3,
        other: BTreeMap::from([("host".into(), serde_json::json!({"cpus": 2}))]),
    };
    assert_eq!(opened(&tape(&info, &[], &[])).unwrap().info(), &info);
}

#[test]
fn steps_of_several_threads_come_back_whoever_is_read_first() {
    let threads = [(7, walk(3 * BLOCK_STEPS + 17, 1)), (0, walk(BLOCK_STEPS, 2)), (9, walk(1, 3))];
    let mut steps = Vec::new();
    for i in 0..threads[0].1.len() {
        let of = |(thread, steps): &(u32, Vec<Step>)| steps.get(i).map(|&step| (*thread, step));
        steps.extend(threads.iter().filter_map(of));
    }
    let reader = opened(&tape(&info(3), &[region(1, 0, 0, 2_000_000)], &steps)).unwrap();
    reader.verify().unwrap();
    let mut readers = threads.clone().map(|(thread, _)| reader.steps(thread));
    let mut read = [vec![], vec![], vec![]];
    for turn in 0..5 * BLOCK_STEPS {
        let place = turn * 7 / 5 % 3;
        read[place].extend(readers[place].next().map(Result::unwrap));
    }
    std::thread::scope(|scope| {
        for ((read, rest), (thread, steps)) in read.iter_mut().zip(readers).zip(&threads) {
            scope.spawn(move || {
                assert_eq!(rest.thread(), *thread);
                read.extend(rest.map(Result::unwrap));
                assert!(read == steps, "thread {thread}");
            });
        }
    });
    assert!(reader.steps(8).next().is_none());
}

#[test]
fn a_tape_is_summed_up_by_kind_and_thread() {
    let steps = [
        (5, step(StepKind::Touch, 1)),
        (5, step(StepKind::Evict, 1)),
        (2, step(StepKind::Touch, 2)),
        (5, step(StepKind::Fetch, 1)),
        (5, step(StepKind::Evict, 1)),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tape");
    let written = write(&path, &info(2), &[region(3, 1, 0, 3)], &steps).unwrap();
    let reader = TapeReader::open(&path).unwrap();
    assert_eq!(reader.summary(), &written);
    let five = StepCounts { touches: 1, fetches: 1, evicts: 2 };
    let two = StepCounts { touches: 1, fetches: 0, evicts: 0 };
    assert_eq!(written.threads, BTreeMap::from([(2, two), (5, five)]));
    assert_eq!(written.total(), StepCounts { touches: 2, fetches: 1, evicts: 2 });
    assert_eq!((written.total().steps(), written.regions, written.blocks), (5, 1, 2));
    assert_eq!(written.bytes, fs::metadata(&path).unwrap().len());
}

#[test]
fn regions_come_back_in_the_order_of_their_pages() {
    let many = |i: u64| region(i * i % 7, (i / 7) as u32, 1000 + i * 10, i % 11);
    let mut regions: Vec<_> = (0..140_000).map(many).collect();
    // Numbers of each site must differ.
    regions.iter_mut().enumerate().for_each(|(i, region)| region.nth = i as u32);
    regions.push(region(u64::MAX, u32::MAX, MAX_PAGES - 5, 5));
    let mut shuffled = regions.clone();
    shuffled.reverse();
    shuffled.swap(3, 70_000);
    let reader = opened(&tape(&info(1), &shuffled, &[])).unwrap();
    assert!(reader.regions() == regions);
    let of = |page| reader.region_of(PageId(page)).map(|region| region.first.0);
    assert_eq!([of(999), of(1010), of(1011), of(1029)], [None, Some(1010), None, None]);
    assert_eq!([of(MAX_PAGES - 1), of(MAX_PAGES), of(u64::MAX)], [Some(MAX_PAGES - 5), None, None]);
}

#[test]
fn a_step_outside_all_regions_is_found() {
    let steps = [(0, step(StepKind::Touch, 4)), (0, step(StepKind::Touch, 5))];
    let bytes = tape(&info(1), &[region(0, 0, 0, 5)], &steps);
    assert!(opened(&bytes).unwrap().steps(0).all(|step| step.is_ok()));
    assert!(damage(&bytes).contains("a step has a page that is in no region"));
    opened(&tape(&info(1), &[region(0, 0, 0, 6)], &steps)).unwrap().verify().unwrap();
}

#[test]
fn blocks_and_single_steps_can_be_read_in_turns() {
    let steps = walk(2 * BLOCK_STEPS + 9, 4);
    let with_thread: Vec<_> = steps.iter().map(|&step| (0, step)).collect();
    let reader = opened(&tape(&info(1), &[], &with_thread)).unwrap();
    let (mut reading, mut read, mut block) = (reader.steps(0), Vec::new(), Vec::new());
    read.extend(reading.by_ref().take(100).map(Result::unwrap));
    while reading.next_block(&mut block).unwrap() {
        read.extend_from_slice(&block);
        read.extend(reading.by_ref().take(3).map(Result::unwrap));
    }
    assert!(block.is_empty() && read == steps);
}

#[test]
fn a_tape_cut_anywhere_is_refused() {
    let steps: Vec<_> = walk(300, 5).into_iter().map(|step| (0, step)).collect();
    let bytes = tape(&info(1), &[region(1, 0, 0, 2_000_000)], &steps);
    for length in 0..bytes.len() {
        let error = opened(&bytes[..length]).unwrap_err();
        let expected = match length {
            0 => matches!(error, TapeError::Foreign { .. }),
            _ => matches!(error, TapeError::Incomplete { .. }),
        };
        assert!(expected, "{length}: {error}");
    }
    let longer = [&bytes[..], b"\0"].concat();
    assert!(matches!(opened(&longer), Err(TapeError::Incomplete { .. })));
    let said = damage(&bytes[..100]);
    assert!(
        said.contains("100 bytes without the trailer that ends a tape; copy it again"),
        "{said}"
    );
}

#[test]
fn every_flipped_bit_is_noticed() {
    let steps: Vec<_> =
        walk(100, 6).into_iter().enumerate().map(|(i, s)| (i as u32 % 2, s)).collect();
    let bytes = tape(&info(2), &[region(1, 0, 0, 2_000_000)], &steps);
    let written = by_thread(&steps);
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let Ok(reader) = opened(&flipped) else { continue };
        assert!(reader.verify().is_err(), "bit {bit} goes unnoticed");
        for (&thread, steps) in &written {
            let read: Vec<_> = reader.steps(thread).map_while(Result::ok).collect();
            assert!(steps.starts_with(&read), "bit {bit} changes steps");
        }
    }
}

#[test]
fn nothing_follows_an_error() {
    let steps: Vec<_> = walk(3 * BLOCK_STEPS, 7).into_iter().map(|step| (0, step)).collect();
    let mut bytes = tape(&info(1), &[], &steps);
    let blocks: Vec<_> = (0..bytes.len() - 4).filter(|&i| &bytes[i..i + 4] == b"TBLK").collect();
    bytes[blocks[1] + 50] ^= 1;
    let mut reading = opened(&bytes).unwrap().steps(0);
    assert_eq!(reading.by_ref().take_while(Result::is_ok).count(), BLOCK_STEPS);
    assert!(reading.next().is_none());
    assert!(!reading.next_block(&mut vec![step(StepKind::Touch, 1)]).unwrap());
}

/// Version 1 knew no pages that are fetched to be written, and is the same otherwise.
#[test]
fn tapes_of_the_first_version_are_read() {
    let steps = [
        (3, step(StepKind::Touch, 7)),
        (3, step(StepKind::Evict, 7)),
        (3, step(StepKind::Fetch, 7)),
    ];
    let mut bytes = tape(&info(1), &[region(1, 2, 3, 9)], &steps);
    bytes[8] = 1;
    let header = 16 + u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let sum = checksum(&bytes[..header]);
    bytes[header..header + 8].copy_from_slice(&sum);
    let tape = opened(&bytes).unwrap();
    tape.verify().unwrap();
    let found: Vec<_> = tape.steps(3).map(Result::unwrap).collect();
    assert_eq!(found, steps.map(|(_, step)| step));
}

#[test]
fn what_is_no_tape_is_named() {
    let trace = tempfile::NamedTempFile::new().unwrap();
    TraceWriter::create(trace.path(), &Metadata::default()).unwrap().finish().unwrap();
    let said = refusal(TapeReader::open(trace.path()));
    assert!(
        said.ends_with("no tape: it is a trace; make a tape of it with `farside plan`"),
        "{said}"
    );
    assert_eq!(damage(b""), "this is no tape: it is empty");
    assert_eq!(damage(b"not a tape"), "this is no tape: it does not begin like one");
    let mut newer = tape(&info(1), &[], &[]);
    newer[8] = 3;
    assert!(
        damage(&newer).contains("format version 3, this program reads versions to 2; use a newer")
    );
    let folder = tempfile::tempdir().unwrap();
    assert!(refusal(TapeReader::open(folder.path())).ends_with("it is no regular file"));
    let missing = refusal(TapeReader::open(folder.path().join("missing.tape")));
    assert!(missing.contains("missing.tape: cannot open the tape: No such file"), "{missing}");
}

#[test]
fn damage_is_named_with_its_place() {
    let steps: Vec<_> = walk(50, 8).into_iter().map(|step| (0, step)).collect();
    let bytes = tape(&info(1), &[region(1, 0, 0, 2_000_000)], &steps);
    let place = |magic: &[u8]| bytes.windows(4).rposition(|window| window == magic).unwrap();
    let (block, regions, index) = (place(b"TBLK"), place(b"TREG"), place(b"TIDX"));
    assert_eq!(index, bytes.len() - TAIL);
    for (at, offset, words) in [
        (12, 0, "its description is too long"),
        (20, 0, "the checksum of its header does not match"),
        (block, block, "no block begins here"),
        (block + 4, block, "a block claims to be too long"),
        (block + 8, block, "a block claims to unpack to too much"),
        (block + 12, block, "a block claims too many steps"),
        (block + 24, block, "a block is not the one of the index"),
        (block + 32, block, "the checksum of a block does not match"),
        (regions, regions, "no part of the table of regions begins here"),
        (regions + 12, regions, "a part of the table of regions claims too many"),
        (regions + 24, regions, "the regions are not those of the index"),
        (index, index, "no index begins where it should"),
        (index + 20, index, "the checksum of the index does not match"),
        (bytes.len() - 16, bytes.len() - 16, "the trailer names no place of an index"),
    ] {
        let mut wrong = bytes.clone();
        wrong[at..at + 4].fill(0xff);
        let said = damage(&wrong);
        let expected = format!("the tape is damaged at byte {offset}: {words}; copy it again");
        assert!(said.starts_with(&expected), "{said}, not {expected}");
    }
}

#[test]
fn columns_that_make_no_sense_are_named() {
    // One region of ten pages: site, nth, gap, count.
    let table = |gap, count| [&[0; 8][..], &[0, gap, count]].concat();
    let region = table(0, 10);
    let steps =
        |columns: &[u8], kinds| opened(&sealed(columns, kinds, &region, 1)).unwrap().verify();
    // No touches, one fetch in a byte; the kinds of a fetch and an evict; page 5; page 6.
    let good = [0, 1, 0b1001, 5 << 2, 6 << 2];
    steps(&good, [0, 1, 1]).unwrap();
    let endless = [&[0, 10, 0b01][..], &[0xff; 10]].concat();
    for (columns, kinds, words) in [
        (&[][..], [0, 1, 1], "the columns of a block are cut short"),
        (&good[..2], [0, 1, 1], "the columns of a block are cut short"),
        (&[0, 3, 0b1001, 20, 24], [0, 1, 1], "the columns of a block are cut short"),
        (&good[..4], [0, 1, 1], "a page of a block makes no sense"),
        (&endless, [0, 1, 0], "a page of a block makes no sense"),
        (&[0, 1, 0b1001, 2, 24], [0, 1, 1], "a page of a block makes no sense"),
        (&[0, 1, 0b1101, 20, 24], [0, 2, 0], "a page of a block makes no sense"),
        (&[0, 1, 0b1_1001, 20, 24], [0, 1, 1], "a block has more kinds than steps"),
        (&[0, 1, 0b1001, 20, 24, 24], [0, 1, 1], "a block has pages left over"),
        (&[0, 2, 0b1001, 21, 0, 24], [0, 1, 1], "a block has pages left over"),
        (&good, [0, 2, 0], "the index belongs to other blocks"),
    ] {
        let said = refusal(steps(columns, kinds));
        assert!(said.contains(words), "{said}, not {words}");
    }
    let far = [&[0; 8][..], &[0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 9]];
    for (table, regions, words) in [
        (&region[..9], 1, "the table of regions is cut short"),
        (&[&region[..], &[0]].concat(), 1, "the table of regions is cut short"),
        (&region, 2, "the table of regions is cut short"),
        (&far.concat(), 1, "a region has pages that cannot be"),
        (&[&[0; 18][..], &[0, 0, 1, 1]].concat(), 2, "two regions bear the same name"),
    ] {
        let said = refusal(opened(&sealed(&good, [0, 1, 1], table, regions)));
        assert!(said.contains(words), "{said}, not {words}");
    }
}

#[test]
fn what_does_not_fit_is_refused_and_leaves_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept.tape");
    fs::write(&path, "kept").unwrap();
    let described = |info: TapeInfo| refusal(TapeWriter::create(&path, &info));
    let long = TapeInfo { arguments: vec!["x".repeat(2 << 20)], ..TapeInfo::default() };
    assert!(described(long).contains("description takes 2097"));
    assert!(described(TapeInfo { page_shift: 64, ..TapeInfo::default() }).contains("page shift"));
    assert!(described(info(0)).contains("0 threads do not fit"));
    assert!(described(info(65_537)).contains("65537 threads do not fit"));
    let twice = BTreeMap::from([("policy".into(), "min".into())]);
    let twice = TapeInfo { other: twice, ..TapeInfo::default() };
    assert!(described(twice).contains("says \"policy\" twice"));
    let table = |regions: &[_]| refusal(write(&path, &info(1), regions, &[]));
    let said = table(&[region(1, 0, 5, 5), region(0xab, 2, 9, 1)]);
    assert!(said.contains("0000000000000001:0 and 00000000000000ab:2 overlap"), "{said}");
    assert!(
        table(&[region(1, 7, 0, 5), region(1, 7, 9, 1)]).contains("two regions 0000000000000001:7")
    );
    assert!(table(&[region(1, 0, MAX_PAGES, 1)]).contains("are not below"));
    assert!(table(&[region(1, 0, u64::MAX, 1)]).contains("are not below"));
    let pushed = |steps: &[_]| refusal(write(&path, &info(1), &[], steps));
    assert!(pushed(&[(0, step(StepKind::Touch, MAX_PAGES))]).contains("is not below"));
    let two = [(4, step(StepKind::Touch, 0)), (5, step(StepKind::Touch, 0))];
    assert!(pushed(&two).contains("thread 5 has steps, and so have 1 others"));
    assert_eq!(fs::read(&path).unwrap(), b"kept");
    assert_eq!(files_in(folder.path()), ["kept.tape"]);
}

#[test]
fn after_a_refusal_no_tape_comes_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = TapeWriter::create(folder.path().join("a.tape"), &info(1)).unwrap();
    assert!(writer.push(0, step(StepKind::Touch, MAX_PAGES)).is_err());
    writer.push(0, step(StepKind::Touch, 0)).unwrap();
    assert!(writer.finish().is_err());
    assert!(files_in(folder.path()).is_empty());
}

#[test]
fn a_tape_has_its_name_only_when_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("late.tape");
    let begin = || TapeWriter::create(&path, &info(1)).unwrap();
    let (first, mut second) = (begin(), begin());
    second.push(0, step(StepKind::Touch, 0)).unwrap();
    assert!(!path.exists());
    drop(first);
    second.finish().unwrap();
    assert_eq!(files_in(folder.path()), ["late.tape"]);
    // Others may read it as they may read any new file.
    let plain = folder.path().join("plain");
    fs::write(&plain, "").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&path), mode(&plain));
}

#[test]
fn only_a_file_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    for place in
        [folder.path(), Path::new("/dev/null"), Path::new("/"), &folder.path().join("no/a")]
    {
        let error = TapeWriter::create(place, &info(1)).unwrap_err();
        assert!(matches!(error, TapeError::Create { .. }), "{error}");
        assert!(error.to_string().starts_with(place.to_str().unwrap()), "{error}");
    }
    assert!(files_in(folder.path()).is_empty());
}

/// Set for the program that is to run out of room: where it writes.
const FULL: &str = "FARSIDE_TEST_FULL_TAPE";

#[test]
fn a_full_disk_names_the_file_and_leaves_nothing_behind() {
    if let Some(path) = std::env::var_os(FULL) {
        let steps: Vec<_> = (0..4 * BLOCK_STEPS as u64)
            .map(|i| (0, step(StepKind::Fetch, (i * i).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20)))
            .collect();
        let error = write(Path::new(&path), &info(1), &[], &steps).unwrap_err();
        assert!(matches!(error, TapeError::Write { .. }), "{error}");
        println!("said: {error}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("full.tape");
    fs::write(&path, "kept").unwrap();
    // A limit on the length of files stands for the disk; the block that does not fit is cut by it.
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 600 && exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "a_full_disk_names_the_file_and_leaves_nothing_behind", "--nocapture"])
        .env(FULL, &path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let expected = format!("said: {}: cannot write the tape beyond byte ", path.display());
    assert!(said.contains(&expected) && said.contains("nothing of it is left behind"), "{said}");
    assert_eq!(fs::read(&path).unwrap(), b"kept");
    assert_eq!(files_in(folder.path()), ["full.tape"]);
}

#[test]
fn regular_patterns_take_less_than_a_hundredth_of_a_byte() {
    let pass =
        |_| (0..40_000).flat_map(|page| [(StepKind::Evict, page), (StepKind::Fetch, page + 9)]);
    let steps: Vec<_> = (0..8).flat_map(pass).map(|(kind, page)| (0, step(kind, page))).collect();
    let bytes = tape(&info(1), &[], &steps).len();
    assert!(bytes * 100 < steps.len(), "{bytes} bytes for {} steps", steps.len());
}

proptest! {
    #[test]
    fn any_steps_come_back_however_they_are_split(
        threads in prop::collection::vec((any::<u32>(), any_steps()), 0..5),
        turns in prop::collection::vec((any::<prop::sample::Index>(), 1..9usize), 0..200),
    ) {
        let mut threads = BTreeMap::from_iter(threads);
        threads.retain(|_, steps| !steps.is_empty());
        let mut left: Vec<_> =
            threads.iter().map(|(&thread, steps)| (thread, &steps[..])).collect();
        let mut order = Vec::new();
        for (index, count) in turns.iter().filter(|_| !threads.is_empty()) {
            let (thread, steps) = &mut left[index.index(threads.len())];
            let (now, later) = steps.split_at((*count).min(steps.len()));
            order.extend(now.iter().map(|&step| (*thread, step)));
            *steps = later;
        }
        for (thread, steps) in left {
            order.extend(steps.iter().map(|&step| (thread, step)));
        }
        let reader = opened(&tape(&info(5), &[region(0, 0, 0, MAX_PAGES)], &order)).unwrap();
        reader.verify().unwrap();
        prop_assert!(reader.summary().threads.keys().eq(threads.keys()));
        for (&thread, steps) in &threads {
            let read: Result<Vec<_>, _> = reader.steps(thread).collect();
            prop_assert_eq!(&read.unwrap(), steps);
            prop_assert_eq!(reader.summary().threads[&thread].steps(), steps.len() as u64);
        }
    }

    #[test]
    fn arbitrary_columns_behind_good_checksums_never_panic(
        columns: Vec<u8>,
        kinds: [u8; 3],
        table: Vec<u8>,
        regions in 0..3u32,
    ) {
        let kinds = kinds.map(u32::from);
        if let Ok(reader) = opened(&sealed(&columns, kinds, &table, regions)) {
            let whole = reader.steps(0).all(|step| step.is_ok());
            let read = reader.steps(0).map_while(Result::ok).count() as u32;
            let all = kinds.iter().sum();
            prop_assert!(read <= all && (!whole || read == all));
            let _ = reader.verify();
        }
    }

    #[test]
    fn any_regions_come_back(
        parts in prop::collection::vec((any::<u64>(), 0..1u64 << 40, 0..1u64 << 40), 0..50),
    ) {
        let mut end = 0;
        let regions: Vec<_> = parts.iter().enumerate().map(|(i, &(site, gap, count))| {
            let first = end + gap;
            end = first + count;
            region(site, i as u32, first, count)
        }).collect();
        let reader = opened(&tape(&info(1), &regions, &[])).unwrap();
        prop_assert_eq!(reader.regions(), &regions);
    }

    #[test]
    fn any_damage_is_an_error_or_changes_nothing(
        steps in prop::collection::vec((0..3u32, any_step()), 0..200),
        at in any::<prop::sample::Index>(),
        put: Vec<u8>,
        gone in 0..50usize,
    ) {
        let bytes = tape(&info(3), &[region(0, 0, 0, MAX_PAGES)], &steps);
        let at = at.index(bytes.len());
        let rest = (at + gone).min(bytes.len());
        let damaged = [&bytes[..at], &put, &bytes[rest..]].concat();
        if let Ok(reader) = opened(&damaged) && reader.verify().is_ok() {
            prop_assert_eq!(damaged, bytes);
        }
    }
}
