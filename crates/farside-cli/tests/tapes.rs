//! `farside tapes` on tapes that were made here.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use farside_cli::tapes::Store;
use farside_sim::plan::PlanPolicy;
use farside_trace::PageId;
use farside_trace::tape::{Step, StepKind, TapeInfo, TapeReader, TapeRegion, TapeWriter};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::{Farside, assert_refused, code, stderr, stdout};

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// A tape of two threads: one goes through a region, the other touches the ends of another one.
fn tape(path: &Path) -> String {
    let info = TapeInfo {
        program: Some("prog\x1b[2J".into()),
        arguments: vec!["big".into()],
        build_id: Some("00ff".into()),
        policy: "min".into(),
        capacity: 6,
        local_pages: 8,
        microset: 16,
        threads: 2,
        other: [("lookahead".to_owned(), json!(1)), ("batch".to_owned(), json!(1))].into(),
        ..TapeInfo::default()
    };
    let mut writer = TapeWriter::create(path, &info).unwrap();
    let mut push = |thread, kind, page| {
        writer.push(thread, Step { kind, page: PageId(page) }).unwrap();
    };
    for page in 1000..1004 {
        push(0, StepKind::Touch, page);
    }
    push(0, StepKind::Evict, 1000);
    push(0, StepKind::Fetch, 1000);
    push(5, StepKind::Touch, 1 << 40);
    push(5, StepKind::Touch, (1 << 40) + 999_999);
    let region = |site, nth, first, count| TapeRegion { site, nth, first: PageId(first), count };
    writer.region(region(0, 0, 0, 2000)).unwrap();
    writer.region(region(0xabc, 3, 1 << 40, 1_000_000)).unwrap();
    writer.finish().unwrap();
    text(path)
}

fn show(farside: &Farside, arguments: &[&str]) -> String {
    let output = farside.command([&["tapes", "show"], arguments].concat()).output().unwrap();
    assert_eq!((code(&output), stderr(&output).as_str()), (Some(0), ""));
    stdout(&output)
}

#[test]
fn a_tape_is_shown_in_words_and_drawn() {
    let farside = Farside::new();
    let tape = tape(&farside.path("a.tape"));
    let shown = show(&farside, &[&tape]);
    for line in [
        "program      prog [2J big",
        "build id     00ff",
        "planned      by min, for 8 pages (32 KiB) of local memory",
        "resident     at most 6 pages (24 KiB); lookahead 1, batch 1",
        "steps        8: 6 touches, 1 fetches, 1 evictions",
        "to fetch     4 KiB",
        "0           6        4        1          1",
        "5           2        2        0          0",
        "no known allocation              0      2,000     4",
        "0000000000000abc #3  1099511627776  1,000,000     2",
        // Six pages are used; those of the other thread are the upper two.
        "  |     |",
        "  |   # |",
        "  |  #  |",
        "  | #   |",
        "  |#   #|",
        "   0   5 uses",
    ] {
        assert!(shown.lines().any(|found| found == line), "no {line:?} in\n{shown}");
    }
    let other = show(&farside, &[&tape, "--thread", "5", "--steps", "1"]);
    assert!(other.contains("fetched by thread 5\n  | #|\n  |# |\n"), "{other}");
    assert!(other.ends_with("thread 0\n  touch  1000\n\nthread 5\n  touch  1099511627776\n"));
}

#[test]
fn a_tape_is_shown_to_programs() {
    let farside = Farside::new();
    let tape = tape(&farside.path("a.tape"));
    let shown: Value =
        serde_json::from_str(&show(&farside, &[&tape, "--json", "--steps", "2"])).unwrap();
    assert_eq!(shown["total"], json!({"touches": 6, "fetches": 1, "evictions": 1}));
    assert_eq!((&shown["verified"], &shown["pages"]), (&true.into(), &6.into()));
    assert_eq!(shown["info"]["program"], "prog\x1b[2J");
    assert_eq!((&shown["info"]["capacity"], &shown["info"]["batch"]), (&6.into(), &1.into()));
    assert_eq!(
        shown["threads"][1],
        json!({"thread": 5, "touches": 2, "fetches": 0, "evictions": 0})
    );
    let region = json!({
        "site": "0000000000000abc", "nth": 3, "first": 1_u64 << 40, "pages": 1_000_000, "used_pages": 2,
    });
    assert_eq!(shown["regions"][1], region);
    assert_eq!(shown["steps"][0]["steps"], json!([["touch", 1000], ["touch", 1001]]));
}

#[test]
fn pictures_and_pages_are_written() {
    let farside = Farside::new();
    let tape = tape(&farside.path("a.tape"));
    let [png, svg, html] = ["a.png", "a.svg", "a.html"].map(|name| text(&farside.path(name)));
    show(&farside, &[&tape, "--png", &png, "--svg", &svg, "--html", &html]);
    assert!(fs::read(&png).unwrap().starts_with(b"\x89PNG\r\n"));
    let svg = fs::read_to_string(svg).unwrap();
    assert!(svg.contains("<svg") && svg.contains("fetched by thread 0"));
    let page = fs::read_to_string(html).unwrap();
    for word in ["prog", "Thread 0", "Thread 5", "0000000000000abc #3", "1,000,000"] {
        assert!(page.contains(word), "{word}");
    }
    assert!(!page.contains('\x1b'));
}

#[test]
fn an_empty_tape_has_nothing_to_draw() {
    let farside = Farside::new();
    let path = farside.path("empty.tape");
    TapeWriter::create(&path, &TapeInfo::default()).unwrap().finish().unwrap();
    let shown = show(&farside, &[&text(&path)]);
    assert!(shown.contains("steps        0: 0 touches") && !shown.contains('|'), "{shown}");
    let png = text(&farside.path("a.png"));
    let command = farside.command(["tapes", "show", &text(&path), "--png", &png]);
    assert_refused(command, 2, &["empty.tape", "nothing to draw"]);
    assert!(!Path::new(&png).exists());
}

/// Pages of a tape may be anywhere; notes of them have a limit.
#[test]
fn pages_far_apart_are_counted_but_not_drawn() {
    let farside = Farside::new();
    let path = farside.path("wide.tape");
    let mut writer = TapeWriter::create(&path, &TapeInfo::default()).unwrap();
    for page in 0..2_200_000_u64 {
        writer.push(0, Step { kind: StepKind::Touch, page: PageId(page << 9) }).unwrap();
    }
    let region = TapeRegion { site: 0, nth: 0, first: PageId(0), count: 1 << 40 };
    writer.region(region).unwrap();
    writer.finish().unwrap();
    let output = farside.command(["tapes", "show", &text(&path)]).output().unwrap();
    assert_eq!(code(&output), Some(0));
    assert!(stderr(&output).contains("too far apart to be drawn"), "{}", stderr(&output));
    assert!(stdout(&output).contains("2,200,000 touches"));
}

#[test]
fn what_is_no_whole_tape_is_refused_at_every_byte() {
    let farside = Farside::new();
    let whole = fs::read(tape(&farside.path("a.tape"))).unwrap();
    let bad = farside.path("bad.tape");
    let refused = |bytes: &[u8], words: &[&str]| {
        fs::write(&bad, bytes).unwrap();
        assert_refused(farside.command(["tapes", "show", &text(&bad)]), 2, words);
    };
    refused(b"", &["bad.tape"]);
    refused(b"no tape, just text", &["this is no tape"]);
    for length in (1..whole.len()).step_by(17) {
        refused(&whole[..length], &["bad.tape"]);
    }
    for at in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        refused(&bytes, &["bad.tape"]);
    }
    let mut newer = whole.clone();
    newer[8] = 3;
    refused(&newer, &["version 3", "newer farside"]);
}

#[test]
fn what_cannot_be_shown_or_removed_is_refused() {
    let farside = Farside::new();
    let tape = tape(&farside.path("a.tape"));
    let folder = text(&farside.path(""));
    for (arguments, words) in [
        (vec!["show"], vec!["TAPE"]),
        (vec!["show", "/no/such.tape"], vec!["/no/such.tape"]),
        (vec!["show", &folder], vec!["regular file"]),
        (vec!["show", &tape, "--thread", "1"], vec!["--thread 1", "a.tape"]),
        (vec!["show", &tape, "--png", &tape], vec!["a.tape", "input"]),
        (vec!["show", &tape, "--svg", &folder], vec!["directory"]),
        (vec!["prune", "--older-than", "soon"], vec!["soon", "30d"]),
        (vec!["prune", "--older-than", "99999999999999999999d"], vec!["30d"]),
        (vec!["prune", "--older-than", "3\u{e9}"], vec!["30d"]),
        (vec!["prune", "--older-than", "1d", "--all"], vec!["--all"]),
        (vec!["forget"], vec!["forget"]),
    ] {
        assert_refused(farside.command([&["tapes"], &arguments[..]].concat()), 2, &words);
    }
    assert!(TapeReader::open(&tape).is_ok());
    let mut command = farside.command(["tapes"]);
    command.env_remove("XDG_STATE_HOME").env_remove("HOME");
    assert_refused(command, 2, &["XDG_STATE_HOME"]);
}

/// The store that the command uses, and a program.
fn store(farside: &Farside) -> (Store, PathBuf) {
    let program = farside.path("program");
    fs::write(&program, "#!/bin/sh\n").unwrap();
    (Store::at(&farside.path("state")), program)
}

fn list(farside: &Farside) -> Value {
    let output = farside.command(["tapes", "--json"]).output().unwrap();
    assert_eq!((code(&output), stderr(&output).as_str()), (Some(0), ""));
    serde_json::from_str(&stdout(&output)).unwrap()
}

#[test]
fn entries_are_told_apart_by_program_and_arguments() {
    let farside = Farside::new();
    let (store, program) = store(&farside);
    let entry = |program: &Path, arguments: &[&str]| {
        let arguments: Vec<_> = arguments.iter().map(Into::into).collect();
        store.entry(program, &arguments).unwrap()
    };
    let first = entry(&program, &["a", "b"]);
    assert_eq!(entry(&program, &["a", "b"]).folder(), first.folder());
    assert_eq!(entry(&program, &["a", "b"]).about(), first.about());
    let folder = |program: &Path, arguments: &[&str]| entry(program, arguments).folder().to_owned();
    let same = farside.path("elsewhere");
    fs::create_dir(&same).unwrap();
    let (moved, other) = (same.join("program"), farside.path("other"));
    fs::copy(&program, &moved).unwrap();
    fs::copy(&program, &other).unwrap();
    assert_eq!(folder(&moved, &["a", "b"]), first.folder());
    for (program, arguments) in [
        (&program, &["ab"][..]),
        (&program, &["a"]),
        (&program, &["a", "b", ""]),
        (&other, &["a", "b"]),
    ] {
        assert_ne!(folder(program, arguments), first.folder(), "{arguments:?}");
    }
    fs::write(&program, "#!/bin/sh\n# changed\n").unwrap();
    assert_ne!(folder(&program, &["a", "b"]), first.folder());
    assert!(store.entry(&farside.path("missing"), &[]).is_err());
}

#[test]
fn what_is_kept_is_listed_and_pruned() {
    let farside = Farside::new();
    assert_eq!(list(&farside), json!([]));
    let (store, program) = store(&farside);
    let [old, new] = ["old", "new"].map(|name| store.entry(&program, &[name.into()]).unwrap());
    let draft = old.trace_draft();
    fs::write(draft.path(), [0; 100]).unwrap();
    assert_eq!(old.trace_bytes(), None);
    assert_eq!(draft.keep().unwrap(), old.trace_path());
    let dropped = new.trace_draft();
    fs::write(dropped.path(), "unfinished").unwrap();
    drop(dropped);
    tape(&old.tape_path(40 << 20, PlanPolicy::Min));
    tape(&old.tape_path(20 << 20, PlanPolicy::Lru));
    fs::write(old.folder().join("x-min.tape"), "no size").unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(40 * 86_400);
    for file in fs::read_dir(old.folder()).unwrap() {
        let file = fs::File::options().write(true).open(file.unwrap().path()).unwrap();
        file.set_modified(long_ago).unwrap();
    }
    let found = list(&farside);
    assert_eq!(found[0]["arguments"], json!(["new"]), "the one used last comes first");
    assert_eq!((&found[0]["trace_bytes"], &found[0]["tapes"]), (&Value::Null, &json!([])));
    assert_eq!(
        (&found[1]["program"], &found[1]["trace_bytes"]),
        (&text(&program).into(), &100.into())
    );
    let tapes = found[1]["tapes"].as_array().unwrap();
    let tapes = tapes.iter().map(|tape| (tape["local_bytes"].as_u64().unwrap(), &tape["policy"]));
    let (lru, min) = ("lru".into(), "min".into());
    assert_eq!(tapes.collect::<Vec<_>>(), [(20 << 20, &lru), (40 << 20, &min)]);
    let table = stdout(&farside.command(["tapes"]).output().unwrap());
    for word in ["program old", "20 MiB lru, 40 MiB min", "100 B", "40 days ago"] {
        assert!(table.contains(word), "no {word:?} in {table}");
    }
    old.mark_used().unwrap();
    let prune = |arguments: &[&str]| -> Value {
        let output = farside.command([&["tapes", "prune", "--json"], arguments].concat()).output();
        serde_json::from_str(&stdout(&output.unwrap())).unwrap()
    };
    assert_eq!(prune(&[])["entries"], 0, "used again");
    let about = fs::File::options().write(true).open(old.folder().join("about.json")).unwrap();
    about.set_modified(long_ago).unwrap();
    assert_eq!(prune(&["--older-than", "41d"])["kept"], 2);
    let removed = prune(&[]);
    assert_eq!((&removed["entries"], &removed["kept"]), (&1.into(), &1.into()));
    assert!(removed["bytes"].as_u64().unwrap() > 100);
    assert!(!old.folder().exists() && new.folder().exists());
    assert_eq!(prune(&["--all"])["entries"], 1);
    assert_eq!(fs::read_dir(store.folder()).unwrap().count(), 0);
}

#[test]
fn what_was_killed_is_swept_away_and_strangers_stay() {
    let farside = Farside::new();
    let (store, program) = store(&farside);
    let entry = store.entry(&program, &[]).unwrap();
    let [old, young] = [".1.tape-draft", ".2.tape-draft"].map(|name| entry.folder().join(name));
    fs::write(&old, "").unwrap();
    fs::write(&young, "").unwrap();
    let stranger = store.folder().join("notes");
    fs::create_dir(&stranger).unwrap();
    fs::write(stranger.join("about.json"), "no entry").unwrap();
    let days = SystemTime::now() - Duration::from_secs(2 * 86_400);
    fs::File::options().write(true).open(&old).unwrap().set_modified(days).unwrap();
    let output = farside.command(["tapes", "prune"]).output().unwrap();
    assert_eq!((code(&output), stderr(&output).as_str()), (Some(0), ""));
    assert_eq!(stdout(&output), "removed what was kept for 0 programs, 0 B; 1 left\n");
    assert!(!old.exists() && young.exists() && stranger.exists());
    assert_eq!(list(&farside).as_array().unwrap().len(), 1);
}

#[test]
fn many_may_make_the_same_entry_at_once() {
    let farside = Farside::new();
    let (store, program) = store(&farside);
    let make = || {
        let entry = store.entry(&program, &["x".into()]).unwrap();
        let draft = entry.trace_draft();
        fs::write(draft.path(), [7; 4096]).unwrap();
        draft.keep().unwrap();
        tape(&entry.tape_path(1 << 20, PlanPolicy::Min));
        // Whoever looks sees all of it.
        assert_eq!(fs::read(entry.trace_path()).unwrap(), [7; 4096]);
        TapeReader::open(&entry.tapes()[0].path).unwrap().verify().unwrap();
        entry.folder().to_owned()
    };
    let folders: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(make)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(folders.iter().all(|folder| *folder == folders[0]));
    assert_eq!(fs::read_dir(&folders[0]).unwrap().count(), 3, "no drafts are left");
}

mod build_id {
    use super::*;
    use farside_cli::tapes::build_id;

    #[test]
    fn recordings_bear_the_build_id_of_their_program() {
        let farside = Farside::new();
        let program = fs::canonicalize("/bin/ls").unwrap();
        let trace = farside.path("ls.fpt");
        let mut command = farside.command(["record", "-q", "-o"]);
        command.arg(&trace).arg("--").arg(&program).arg("/dev/null");
        let output = command.output().unwrap();
        assert_eq!(code(&output), Some(0), "{}", stderr(&output));
        let trace = farside_trace::TraceReader::open(&trace).unwrap();
        let noted = &trace.metadata().unwrap().other["build_id"];
        assert_eq!(noted, &json!(build_id(&program).unwrap()));
    }

    /// An ELF file with a segment of notes: one of another kind, then the build id.
    fn elf(id: &[u8], align: u64) -> Vec<u8> {
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(64, 0);
        file[32..40].copy_from_slice(&64_u64.to_le_bytes());
        file[54..56].copy_from_slice(&56_u16.to_le_bytes());
        file[56..58].copy_from_slice(&1_u16.to_le_bytes());
        let mut notes = Vec::new();
        for (kind, id) in [(1_u32, &[9; 5][..]), (3, id)] {
            for word in [4, id.len() as u32, kind] {
                notes.extend_from_slice(&word.to_le_bytes());
            }
            notes.extend_from_slice(b"GNU\0");
            notes.extend_from_slice(id);
            notes.resize(notes.len().next_multiple_of(align as usize), 0);
        }
        let segment = [4, 120, 0, 0, notes.len() as u64, notes.len() as u64, align];
        segment.iter().for_each(|number: &u64| file.extend_from_slice(&number.to_le_bytes()));
        file.extend_from_slice(&notes);
        file
    }

    fn id_of(bytes: &[u8]) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), bytes).unwrap();
        build_id(file.path()).unwrap()
    }

    #[test]
    fn the_linkers_note_is_found_or_else_the_file_is_hashed() {
        for align in [4, 8] {
            assert_eq!(id_of(&elf(b"\x01\xfe\x80", align)), "01fe80");
            assert_eq!(id_of(&elf(&[0xab; 20], align)), "ab".repeat(20));
        }
        // Of the empty file, and of "abc", as the standard tells them.
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(id_of(b""), empty);
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(id_of(b"abc"), abc);
        // Too long to be believed, or none at all.
        assert_eq!(id_of(&elf(&[1; 65], 4)).len(), 64);
        assert_eq!(id_of(&elf(&[], 4)).len(), 64);
        assert!(build_id(Path::new("/")).is_err());
    }

    proptest! {
        #[test]
        fn damaged_files_have_a_build_id_all_the_same(
            changes in prop::collection::vec((0..172_usize, any::<u8>()), 1..8),
            length in 0..200_usize,
        ) {
            let mut file = elf(&[0xab; 20], 4);
            for (at, byte) in changes {
                file[at] = byte;
            }
            file.truncate(length);
            let id = id_of(&file);
            prop_assert!(!id.is_empty() && id.len() <= 128);
            prop_assert!(id.bytes().all(|byte| byte.is_ascii_hexdigit()));
            prop_assert_eq!(id, id_of(&file));
        }
    }
}
