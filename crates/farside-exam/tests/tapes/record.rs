//! What `farside record` notes of programs whose accesses are known.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use farside_exam::{compile, farside, skipped};
use farside_trace::{Access, MappingChange, PageId, TraceReader};
use tempfile::TempDir;

/// Pages of the program's large allocation.
const PAGES: u64 = 6000;

pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = PROGRAM.get_or_init(|| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = compile(directory.path(), "patterns.c", &[]);
        (directory, path)
    });
    path
}

pub fn record(trace: &Path, options: &[&str], pattern: &str) -> Output {
    let mut command = Command::new(farside());
    command.arg("record").args(options).arg("-o").arg(trace).arg("--").arg(program()).arg(pattern);
    command.output().expect("farside starts")
}

pub fn plain(pattern: &str) -> Output {
    Command::new(program()).arg(pattern).output().expect("the program starts")
}

/// What is in a trace of the program: the accesses to its large allocation, counted from its first page,
/// and the names of all regions.
struct Recorded {
    accesses: Vec<Access>,
    names: Vec<String>,
}

fn recorded(options: &[&str], pattern: &str) -> Recorded {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let trace = directory.path().join("trace.fpt");
    let output = record(&trace, options, pattern);
    let expected = plain(pattern);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.stdout, expected.stdout);
    read(&trace)
}

fn read(trace: &Path) -> Recorded {
    let mut reader = TraceReader::open(trace).expect("a trace");
    let mut block = farside_trace::Block::default();
    let (mut all, mut regions, mut names) = (Vec::new(), BTreeMap::new(), Vec::new());
    while reader.next_block(&mut block).expect("a whole trace") {
        all.extend_from_slice(&block.accesses);
        for event in &block.events {
            if let MappingChange::Appeared(mapping) = &event.change {
                regions.insert(mapping.first.0, mapping.count);
                names.push(mapping.name.clone());
            }
        }
    }
    // The allocation begins at the second page of its region or the first, whichever is on a border.
    let large = regions
        .iter()
        .filter(|(_, count)| **count >= PAGES)
        .map(|(first, count)| *first..first + count);
    let counted: Vec<u64> = all.iter().map(|access| access.page.0).collect();
    let uses =
        |range: &std::ops::Range<u64>| counted.iter().filter(|page| range.contains(page)).count();
    let region = large.max_by_key(uses).expect("a region of that size");
    let first = counted.iter().filter(|page| region.contains(page)).min().copied().unwrap_or(0);
    let inside = all.into_iter().filter(|access| region.contains(&access.page.0));
    let accesses = inside.map(|access| Access { page: PageId(access.page.0 - first), ..access });
    Recorded { accesses: accesses.collect(), names }
}

/// Pages in the order of their use, without repetitions.
fn order(accesses: &[Access]) -> Vec<u64> {
    let mut pages: Vec<u64> = accesses.iter().map(|access| access.page.0).collect();
    pages.dedup();
    pages
}

/// What the pattern `scan` does, and what comes after it.
fn scanned() -> Vec<u64> {
    let up = 0..PAGES;
    let mut pages: Vec<u64> = up
        .clone()
        .chain(up.clone().rev())
        .chain(up.clone().map(|i| i * 7 % PAGES))
        .chain(up)
        .collect();
    pages.dedup();
    pages
}

#[test]
fn every_use_is_noted_in_order_with_microsets_of_one_page() {
    let found = recorded(&["--microset", "1", "--exact"], "scan");
    let pages = order(&found.accesses);
    let expected = scanned();
    let wrong = pages.iter().zip(&expected).position(|(found, expected)| found != expected);
    let around = |all: &[u64]| {
        all[wrong.unwrap_or(5).saturating_sub(5)..].iter().take(10).copied().collect::<Vec<_>>()
    };
    assert_eq!((wrong, around(&pages)), (None, around(&expected)));
    assert_eq!(pages.len(), expected.len());
}

#[test]
fn microsets_leave_out_what_comes_again_soon() {
    let count =
        |microset: &str| recorded(&["--microset", microset, "--exact"], "few").accesses.len();
    assert_eq!(count("1"), 500);
    // The ten pages of a round, and what else the program uses, fit into a microset.
    assert_eq!(count("512"), 20);
}

#[test]
fn a_trace_in_runs_holds_all_pages_in_nearly_the_same_order() {
    let found = recorded(&[], "scan");
    let pages = order(&found.accesses);
    // Each of the four passes is longer than a microset, so that it is noted anew.
    assert!(
        (4 * PAGES - 3000..4 * PAGES + 3000).contains(&(pages.len() as u64)),
        "{}",
        pages.len()
    );
    let mut all = pages.clone();
    all.sort_unstable();
    all.dedup();
    // What lies behind the last page was taken to be used, too.
    assert!(all.iter().copied().take(PAGES as usize).eq(0..PAGES));
    assert!(all.len() <= PAGES as usize + 64, "{} different pages", all.len());
    let (first, expected) = (&pages[..PAGES as usize], scanned());
    let wrong = first.iter().zip(&expected).filter(|(found, expected)| found != expected).count();
    assert!(wrong < 300, "{wrong} pages at other places: {:?}", &first[..20]);
}

/// The microset that a trace says it has.
pub fn microset_of(trace: &Path) -> u64 {
    let reader = TraceReader::open(trace).expect("a trace");
    let metadata = reader.metadata().expect("a trace of ours says what it is of");
    metadata.other["microset"].as_u64().expect("a number")
}

#[test]
fn microsets_grow_for_programs_that_come_back_to_more_pages() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let trace = directory.path().join("trace.fpt");
    let output = record(&trace, &[], "down");
    assert_eq!(output.stdout, plain("down").stdout);
    // 3,000 pages come again and again, 200 times.
    let (microset, noted) = (microset_of(&trace), read(&trace).accesses.len());
    assert!((3000..=8192).contains(&microset), "microsets of {microset} pages");
    assert!((6000..200_000).contains(&noted), "{noted} pages noted");
    let text = String::from_utf8_lossy(&output.stderr);
    let grouped = format!("{},{:03}", microset / 1000, microset % 1000);
    assert!(text.contains(&format!(", in microsets of up to {grouped} in ")), "{text}");
    // One that is given stays, and so does one that is large enough.
    record(&trace, &["--microset", "3500"], "down");
    assert_eq!(microset_of(&trace), 3500);
    record(&trace, &[], "scan");
    assert_eq!(microset_of(&trace), 1024);
}

#[test]
fn a_trace_is_not_recorded_into_a_pipe() {
    let shell = format!(
        "{} record -o /dev/stdout -- {} few | cat",
        farside().display(),
        program().display()
    );
    let output = Command::new("sh").args(["-c", &shell]).output().expect("sh starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("/dev/stdout: a trace cannot be recorded into a pipe"), "{text}");
    assert_eq!(output.stdout, b"");
}

#[test]
fn instructions_that_need_several_pages_get_them() {
    for microset in ["1", "2", "3"] {
        let found = recorded(&["--microset", microset, "--exact"], "straddle");
        assert!(found.accesses.len() > 400);
    }
}

#[test]
fn threads_are_told_apart_by_the_order_in_which_they_were_made() {
    let found = recorded(&["--microset", "64"], "threads");
    let mut pages: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for access in &found.accesses {
        pages.entry(access.thread).or_default().push(access.page.0);
    }
    for thread in 1..=3u64 {
        let its = &pages[&(thread as u32)];
        let own = its.iter().filter(|page| **page / 1000 == thread).count();
        assert!(own >= 5 * 1000, "thread {thread} used its pages {own} times");
        let strange =
            its.iter().filter(|page| (1000..4000).contains(*page) && **page / 1000 != thread);
        assert!(
            strange.count() < its.len() / 50,
            "thread {thread} is told to have used others' pages"
        );
    }
}

#[test]
fn regions_bear_the_same_names_in_every_run() {
    let names = || recorded(&[], "scan").names;
    let (first, second) = (names(), names());
    assert!(!first.is_empty() && first.iter().all(|name| name.starts_with("far:")));
    assert_eq!(first, second);
    assert!(!first[0].starts_with("far:0000000000000000"), "{}", first[0]);
}

#[test]
fn little_local_memory_makes_no_difference() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let config = directory.path().join("fifo.toml");
    // Evicts what is in use.
    std::fs::write(&config, "replacement = 'fifo'\n").expect("room");
    let fifo = ["--config", config.to_str().expect("a readable path")];
    let exact = ["--exact", "--microset", "64"];
    for pattern in ["scan", "hot", "straddle"] {
        let all = recorded(&exact, pattern);
        for (local, how) in [("1M", &[][..]), ("1M", &fifo[..]), ("4M", &fifo[..])] {
            let some = recorded(&[&exact, how, &["--local", local]].concat(), pattern);
            let pages = |recorded: &Recorded| -> Vec<(u64, bool)> {
                recorded.accesses.iter().map(|access| (access.page.0, access.write)).collect()
            };
            let (all_pages, some_pages) = (pages(&all), pages(&some));
            let mut both = all_pages.iter().zip(&some_pages);
            let wrong = both.position(|(one, other)| one != other);
            assert_eq!((wrong, all_pages.len()), (None, some_pages.len()), "{pattern}, {local}");
            assert_eq!(all.names, some.names);
        }
    }
}

#[test]
fn every_use_is_noted_though_most_memory_is_far() {
    let found = recorded(&["--microset", "1", "--exact", "--local", "1M"], "scan");
    assert!(order(&found.accesses) == scanned());
    // The far memory may be slow, and threads take turns.
    let slow = "embedded:latency=20us,bandwidth=10gbit";
    let found = recorded(&["--local", "2M", "--far", slow], "threads");
    assert!(found.accesses.iter().filter(|access| access.thread > 0).count() >= 3 * 5 * 1000);
}

#[test]
fn microsets_fit_into_local_memory() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let trace = directory.path().join("t.fpt");
    let record = |options: &[&str]| {
        let output = record(&trace, options, "few");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let microset = || {
        let reader = TraceReader::open(&trace).expect("a trace");
        let metadata = reader.metadata().expect("a description");
        metadata.other["microset"].as_u64().expect("a number")
    };
    let (code, text) = record(&["--local", "2M", "--microset", "257"]);
    assert!(code == Some(2) && text.contains("--microset 128"), "{text}");
    let (code, text) = record(&["--local", "2M"]);
    assert!(code == Some(3) && text.contains("microsets of 128 pages"), "{text}");
    assert_eq!(microset(), 128);
    let (code, text) = record(&["--local", "2M", "--microset", "256", "--quiet"]);
    assert_eq!((code, text.as_str(), microset()), (Some(3), "", 256));
    let (code, text) = record(&["--local", "8M"]);
    assert!(code == Some(3) && !text.contains("microsets"), "{text}");
    assert_eq!(microset(), 1024);
}

#[test]
fn children_are_not_recorded_and_go_on() {
    let found = recorded(&[], "child");
    assert!(order(&found.accesses).len() >= 4 * PAGES as usize);
}

#[test]
fn what_cannot_be_recorded_is_refused() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let refuse = |arguments: &[&str], words: &str| {
        let output =
            Command::new(farside()).arg("record").args(arguments).output().expect("farside starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(words), "no {words:?} in {text}");
    };
    let trace = directory.path().join("t.fpt");
    let trace = trace.to_str().expect("a readable path");
    refuse(&["--microset", "0", "-o", trace, "--", "true"], "is no number from 1 to 1048576");
    refuse(&["-o", "/nowhere/t.fpt", "--", "true"], "/nowhere/t.fpt");
    assert!(!Path::new(trace).exists());
}

#[test]
fn a_full_disk_stops_the_recording_and_not_the_program() {
    let output = record(Path::new("/dev/full"), &["--microset", "1", "--exact"], "scan");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    // The header does not fit either: nothing is started.
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("/dev/full"), "{text}");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let Some(_disk) = SmallDisk::mount(directory.path(), "256k") else {
        skipped("a_full_disk_stops_the_recording_and_not_the_program", "cannot mount a small disk");
        return;
    };
    let trace = directory.path().join("trace.fpt");
    let output = record(&trace, &["--microset", "1", "--exact"], "shuffle");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert_eq!(output.stdout, plain("shuffle").stdout);
    assert!(text.contains("holds the first") && text.contains("No space left"), "{text}");
    let mut reader = TraceReader::open(&trace).expect("a trace");
    let mut block = farside_trace::Block::default();
    assert!(reader.next_block(&mut block).expect("a whole block") && !block.accesses.is_empty());
}

/// A file system that is soon full.
pub struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    /// Mounts one of that size at `path`, if this user may.
    pub fn mount(path: &'a Path, size: &str) -> Option<Self> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(path);
        mount.output().is_ok_and(|output| output.status.success()).then_some(Self(path))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        // Left behind it is seen by whoever cleans up.
        let _ = Command::new("umount").arg(self.0).output();
    }
}

/// Each page of a large program is noted as often as it is used: 4.3 GiB, twice.
#[test]
fn pages_are_noted_in_programs_of_more_than_4_gib() {
    const MEBIBYTES: u64 = 4400;
    let test = "pages_are_noted_in_programs_of_more_than_4_gib";
    if !has_memory(test, 2 * MEBIBYTES) {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let program = compile(directory.path(), "sweep.c", &[]);
    let arguments = [MEBIBYTES.to_string(), "2".to_owned()];
    let expected = Command::new(&program).args(&arguments).output().expect("the program starts");
    let pages = (MEBIBYTES << 8) as usize;
    // With 24 GiB of address space less can be unmapped than there is, so that the rest has to leave.
    for limit in ["unlimited", "25165824"] {
        let trace = directory.path().join(format!("{limit}.fpt"));
        let mut sh = Command::new("sh");
        sh.args(["-c", &format!("ulimit -v {limit}; exec \"$@\""), "sh"]).arg(farside());
        sh.args(["record", "--quiet", "--microset", "1024", "-o"]).arg(&trace).arg("--");
        let output = sh.arg(&program).args(&arguments).output().expect("sh starts");
        assert!(output.status.success(), "{limit}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.stdout, expected.stdout, "{limit}");
        // What lies behind the last page may be noted, too.
        let mut times = vec![0_u8; pages + 128];
        for access in read(&trace).accesses {
            let times = &mut times[access.page.0 as usize];
            *times = times.saturating_add(1);
        }
        let seldom = times[..pages].iter().filter(|times| **times < 2).count();
        assert_eq!(seldom, 0, "{limit}: pages that are noted less than twice");
    }
}

/// Whether so many MiB are available; if not, the test is reported as skipped.
fn has_memory(test: &str, mebibytes: u64) -> bool {
    let info = std::fs::read_to_string("/proc/meminfo").expect("the kernel tells of its memory");
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    let found = kibibytes.is_some_and(|available| available >> 10 >= mebibytes);
    if !found {
        skipped(test, &format!("it takes {mebibytes} MiB of memory"));
    }
    found
}
