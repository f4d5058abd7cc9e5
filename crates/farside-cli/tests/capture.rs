//! `farside capture`: what a program does is in its trace, exactly and in order.

mod support;

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use farside_trace::{Access, MappingChange, Record, TraceReader};
use nix::sys::signal::Signal;
use support::capture::{build, plugin, works};
use support::{Farside, Running, assert_refused, code, stderr, stdout};

/// Pages of the test program's mapping.
const PAGES: u64 = 2048;

/// Records of the mapping: page within it, whether it was written, thread, weight.
type Seen = (u64, bool, u32, u32);

fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| build("access_pattern", &[], "tests/programs/access_pattern.c"))
}

/// `farside capture -o TRACE OPTIONS -- PROGRAM...`
fn capture<S: AsRef<std::ffi::OsStr>>(
    farside: &Farside,
    options: &[&str],
    program: impl IntoIterator<Item = S>,
) -> Command {
    let mut command = farside.command(["capture", "-o"]);
    command.arg(farside.path("t.fpt")).args(options).arg("--").args(program);
    command.env("FARSIDE_PAGETRACE", plugin());
    command
}

fn pattern(farside: &Farside, options: &[&str], what: &str) -> Command {
    capture(farside, options, [program().as_os_str(), what.as_ref()])
}

fn accesses(farside: &Farside) -> Vec<Access> {
    let reader = TraceReader::open(farside.path("t.fpt")).unwrap();
    reader.accesses().collect::<Result<_, _>>().unwrap()
}

/// The records that fall into the mapping that the program says it has.
fn in_mapping(farside: &Farside, output: &Output) -> Vec<Seen> {
    let first: u64 = stdout(output).lines().next().unwrap().parse().unwrap();
    let seen = |access: Access| {
        let page = access.page.0.checked_sub(first).filter(|&page| page < PAGES)?;
        Some((page, access.write, access.thread, access.weight))
    };
    accesses(farside).into_iter().filter_map(seen).collect()
}

fn run(farside: &Farside, options: &[&str], what: &str) -> (Output, Vec<Seen>) {
    let output = pattern(farside, options, what).output().unwrap();
    assert_eq!(code(&output), Some(7), "{}", stderr(&output));
    let seen = in_mapping(farside, &output);
    (output, seen)
}

/// What the function `pattern` of the test program does.
const PATTERN: [Seen; 10] = [
    (0, false, 0, 1),
    (3, true, 0, 2),
    (1, false, 0, 5),
    (7, true, 0, 1),
    (8, true, 0, 1),
    (7, false, 0, 1),
    (8, false, 0, 1),
    (2, true, 0, 2),
    (9, false, 0, 1),
    (0, true, 0, 2),
];

#[test]
fn a_known_pattern_is_in_the_trace_access_by_access() {
    if !works("a_known_pattern_is_in_the_trace_access_by_access") {
        return;
    }
    let farside = Farside::new();
    let (output, seen) = run(&farside, &[], "pattern");
    assert_eq!(seen, PATTERN);
    let line = stderr(&output);
    assert_eq!(line.lines().count(), 1, "{line}");
    for word in ["farside: captured", "accesses in", "records", "pages, 1 thread", "t.fpt"] {
        assert!(line.contains(word), "no {word:?} in: {line}");
    }
}

#[test]
fn a_static_program_is_captured_alike() {
    let test = "a_static_program_is_captured_alike";
    if !works(test) {
        return;
    }
    let farside = Farside::new();
    let program = build("access_pattern_static", &["-static"], "tests/programs/access_pattern.c");
    let output =
        capture(&farside, &[], [program.as_os_str(), "pattern".as_ref()]).output().unwrap();
    assert_eq!(code(&output), Some(7), "{}", stderr(&output));
    assert_eq!(in_mapping(&farside, &output), PATTERN);
}

#[test]
fn no_access_of_a_long_run_is_lost() {
    if !works("no_access_of_a_long_run_is_lost") {
        return;
    }
    let farside = Farside::new();
    let (_, seen) = run(&farside, &[], "heavy");
    let (last, run) = seen.split_last().unwrap();
    assert_eq!(*last, (1, true, 0, 1));
    assert!(run.iter().all(|&(page, write, thread, _)| (page, write, thread) == (0, false, 0)));
    assert_eq!(run.iter().map(|seen| seen.3).sum::<u32>(), 20_000);
}

#[test]
fn what_a_thread_does_before_it_hands_over_comes_first() {
    if !works("what_a_thread_does_before_it_hands_over_comes_first") {
        return;
    }
    let farside = Farside::new();
    let (output, seen) = run(&farside, &[], "turns");
    let expected: Vec<Seen> = (0..2000).map(|page| (page, true, 1 + page as u32 % 2, 1)).collect();
    assert_eq!(seen, expected);
    assert!(stderr(&output).contains("3 threads"), "{}", stderr(&output));
}

#[test]
fn threads_side_by_side_are_told_apart_and_complete() {
    if !works("threads_side_by_side_are_told_apart_and_complete") {
        return;
    }
    let farside = Farside::new();
    let (_, seen) = run(&farside, &[], "sweep");
    let mut by_thread: HashMap<u32, Vec<u64>> = HashMap::new();
    for (page, write, thread, weight) in seen {
        assert_eq!((write, weight), (false, 1));
        by_thread.entry(thread).or_default().push(page);
    }
    assert_eq!(by_thread.len(), 4);
    for (thread, pages) in by_thread {
        let first = u64::from(thread - 1) * 100;
        let sweep = first..first + 100;
        let expected: Vec<u64> = std::iter::repeat_n(sweep, 300).flatten().collect();
        assert!(pages == expected, "thread {thread}: {} records", pages.len());
    }
}

#[test]
fn a_thread_that_stays_on_one_page_holds_up_nobody() {
    if !works("a_thread_that_stays_on_one_page_holds_up_nobody") {
        return;
    }
    let farside = Farside::new();
    let (output, seen) = run(&farside, &["--json"], "hold");
    let of = |thread| seen.iter().filter(move |seen| seen.2 == thread);
    let expected: Vec<u64> = std::iter::repeat_n(1..1001, 300).flatten().chain([0]).collect();
    assert!(of(2).all(|&(_, write, _, weight)| (write, weight) == (true, 1)));
    assert!(of(2).map(|seen| seen.0).eq(expected));
    assert!(of(1).all(|&(page, write, ..)| (page, write) == (0, false)));
    // What was told of a run before its end is not told again.
    let summary: serde_json::Value = serde_json::from_str(&stderr(&output)).unwrap();
    let all = accesses(&farside).iter().map(|access| u64::from(access.weight)).sum::<u64>();
    assert_eq!(summary["accesses"], all);
}

#[test]
fn threads_that_come_and_go_lose_nothing() {
    if !works("threads_that_come_and_go_lose_nothing") {
        return;
    }
    let farside = Farside::new();
    let (output, seen) = run(&farside, &["--json"], "many");
    let summary: serde_json::Value = serde_json::from_str(&stderr(&output)).unwrap();
    assert_eq!(summary["threads"], 1 + 99 * 16);
    assert_eq!(summary["untraced_threads"], 0);
    let expected: u64 = (1..100).map(|rounds| 16 * 100 * rounds).sum();
    assert_eq!(seen.iter().map(|seen| u64::from(seen.3)).sum::<u64>(), expected);
}

#[test]
fn the_summary_agrees_with_the_trace() {
    if !works("the_summary_agrees_with_the_trace") {
        return;
    }
    let farside = Farside::new();
    let (output, _) = run(&farside, &["--json"], "pattern");
    let summary: serde_json::Value = serde_json::from_str(&stderr(&output)).unwrap();
    let accesses = accesses(&farside);
    let pages: std::collections::HashSet<_> = accesses.iter().map(|access| access.page).collect();
    let weight: u64 = accesses.iter().map(|access| u64::from(access.weight)).sum();
    assert_eq!(summary["accesses"], weight);
    assert_eq!(summary["records"], accesses.len());
    assert_eq!(summary["pages"], pages.len());
    assert_eq!(summary["bytes"], fs::metadata(farside.path("t.fpt")).unwrap().len());
    assert_eq!(summary["ending"]["exited"], 7);
    let reader = TraceReader::open(farside.path("t.fpt")).unwrap();
    let metadata = reader.metadata().unwrap();
    assert_eq!(metadata.program.as_deref(), program().to_str());
    assert_eq!(metadata.arguments, ["pattern"]);
    assert!(metadata.merged && metadata.filters.is_empty());
}

#[test]
fn mappings_come_with_names_before_they_are_used() {
    if !works("mappings_come_with_names_before_they_are_used") {
        return;
    }
    let farside = Farside::new();
    let output = pattern(&farside, &[], "unmap").output().unwrap();
    let first: u64 = stdout(&output).trim().parse().unwrap();
    let reader = TraceReader::open(farside.path("t.fpt")).unwrap();
    let mut names: Vec<(std::ops::Range<u64>, String)> = Vec::new();
    let (mut mapped, mut unmapped) = (false, false);
    for record in reader.records() {
        match record.unwrap() {
            Record::Access(access) => {
                let page = access.page.0;
                assert!(names.iter().any(|(range, _)| range.contains(&page)), "page {page:#x}");
            }
            Record::Mapping(change) => match change {
                MappingChange::Appeared(mapping) => {
                    let range = mapping.first.0..mapping.first.0 + mapping.count;
                    mapped |= range.contains(&first) && mapping.name == "[anon]";
                    names.push((range, mapping.name));
                }
                MappingChange::Vanished(range) => {
                    unmapped |= (range.first.0, range.count) == (first, PAGES);
                }
            },
        }
    }
    assert!(mapped && unmapped);
    for name in ["[stack]", "[heap]", program().to_str().unwrap()] {
        assert!(names.iter().any(|(_, other)| other == name), "no {name} in {names:?}");
    }
    assert!(names.iter().any(|(_, name)| name.contains("libc.so")), "{names:?}");
}

#[test]
fn the_filter_holds_back_what_it_has() {
    if !works("the_filter_holds_back_what_it_has") {
        return;
    }
    let farside = Farside::new();
    let (_, seen) = run(&farside, &["--pab", "2048,ways=4,filter=64"], "pattern");
    let pages: Vec<u64> = seen.iter().map(|seen| seen.0).collect();
    assert_eq!(pages, [0, 3, 1, 7, 8, 2, 9]);
    let reader = TraceReader::open(farside.path("t.fpt")).unwrap();
    let filters = &reader.metadata().unwrap().filters;
    let names: Vec<&str> = filters.iter().map(|filter| filter.name.as_str()).collect();
    assert_eq!(names, ["pab", "lru"]);
}

#[test]
fn a_translation_buffer_hides_accesses_but_no_first_write_and_no_weight() {
    if !works("a_translation_buffer_hides_accesses_but_no_first_write_and_no_weight") {
        return;
    }
    let farside = Farside::new();
    let (_, all) = run(&farside, &[], "pattern");
    let whole = accesses(&farside);
    let (_, seen) = run(&farside, &["--tlb", "64"], "pattern");
    let passed = accesses(&farside);
    assert!(passed.len() < whole.len() / 2, "{} of {}", passed.len(), whole.len());
    let written = |seen: &[Seen]| {
        let pages = seen.iter().filter(|seen| seen.1).map(|seen| seen.0);
        pages.collect::<std::collections::BTreeSet<u64>>()
    };
    assert_eq!(written(&seen), written(&all));
    let weight = |accesses: &[Access]| accesses.iter().map(|a| u64::from(a.weight)).sum::<u64>();
    let (passed, whole) = (weight(&passed), weight(&whole));
    // What is held back after the last miss is lost; runs differ a little by where the stack is.
    assert!(passed <= whole + whole / 20 && passed > whole / 2, "{passed} of {whole}");
    let reader = TraceReader::open(farside.path("t.fpt")).unwrap();
    let filters = &reader.metadata().unwrap().filters;
    assert_eq!((filters[0].name.as_str(), filters[0].parameters["entries"]), ("tlb", 64));
}

#[test]
fn children_and_replacements_are_named_as_gaps() {
    if !works("children_and_replacements_are_named_as_gaps") {
        return;
    }
    let farside = Farside::new();
    let (output, seen) = run(&farside, &[], "fork");
    assert_eq!(seen, [(0, true, 0, 1), (2, true, 0, 1)]);
    let text = stderr(&output);
    assert!(text.contains("not traced: 1 child process, nor 1 program that"), "{text}");
    let output = capture(&farside, &[], ["sh", "-c", "exec echo there"]).output().unwrap();
    assert_eq!((code(&output), stdout(&output).as_str()), (Some(0), "there\n"));
    assert!(stderr(&output).contains("replaced itself by exec"), "{}", stderr(&output));
    let output = capture(&farside, &[], ["sh", "-c", "exec /no/such/program"]).output().unwrap();
    assert_eq!(code(&output), Some(127));
    assert!(!stderr(&output).contains("replaced itself"), "{}", stderr(&output));
}

#[test]
fn scripts_run_under_their_interpreters() {
    if !works("scripts_run_under_their_interpreters") {
        return;
    }
    let farside = Farside::new();
    let script = farside.path("script");
    fs::write(&script, "#!/bin/sh -e\necho \"$0 $1\"\nfalse\nexit 9\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let output = capture(&farside, &["-q"], [script.as_os_str(), "x".as_ref()]).output().unwrap();
    assert_eq!(stdout(&output), format!("{} x\n", script.display()));
    assert_eq!((code(&output), stderr(&output).as_str()), (Some(1), ""));
}

#[test]
fn input_output_name_and_descriptors_are_the_programs_own() {
    if !works("input_output_name_and_descriptors_are_the_programs_own") {
        return;
    }
    let farside = Farside::new();
    let script = "read line; echo \"got $line\"; echo complaint >&2; echo $0; exit 42";
    let mut child = capture(&farside, &["-q"], ["sh", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"words\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(stdout(&output), "got words\nsh\n");
    assert_eq!((code(&output), stderr(&output).as_str()), (Some(42), "complaint\n"));
    // The first free descriptor is the one that it would be without the emulator's help.
    let script = "import os; print(os.open('/', os.O_RDONLY))";
    let python = ["python3", "-S", "-E", "-c", script];
    if Command::new("python3").arg("-V").output().is_ok() {
        let plain = Command::new("qemu-x86_64").args(["/usr/bin/env"]).args(python).output();
        let plain = plain.map(|output| stdout(&output)).unwrap();
        let traced = capture(&farside, &["-q"], python).output().unwrap();
        assert_eq!(stdout(&traced), plain);
    }
}

#[test]
fn signals_reach_the_program_and_its_death_is_told() {
    use std::os::unix::process::ExitStatusExt;
    if !works("signals_reach_the_program_and_its_death_is_told") {
        return;
    }
    let farside = Farside::new();
    let script = "trap 'echo caught; exit 3' TERM; echo ready; while :; do sleep 0.1; done";
    let mut running = Running::start(capture(&farside, &["-q"], ["sh", "-c", script]));
    assert_eq!(running.line(), "ready");
    running.signal(Signal::SIGTERM);
    assert_eq!(running.line(), "caught");
    assert_eq!(running.child.wait().unwrap().code(), Some(3));
    let output = capture(&farside, &["-q"], ["sh", "-c", "kill -9 $$"]).output().unwrap();
    assert_eq!(output.status.signal(), Some(9));
    assert!(!accesses(&farside).is_empty());
}

#[test]
fn a_killed_capture_leaves_a_readable_trace_and_the_program_goes_on() {
    if !works("a_killed_capture_leaves_a_readable_trace_and_the_program_goes_on") {
        return;
    }
    let farside = Farside::new();
    let mut command = pattern(&farside, &["-q"], "wait");
    command.stdin(Stdio::piped());
    let mut running = Running::start(command);
    let first: u64 = running.line().parse().unwrap();
    assert_eq!(running.line(), "ready");
    // While the program waits for input, what it did is written.
    let trace = farside.path("t.fpt");
    let last = loop {
        let reader = TraceReader::open(&trace).unwrap();
        let pages: Vec<u64> = reader.filter_map(|page| Some(page.ok()?.0)).collect();
        let ours: Vec<u64> =
            pages.into_iter().filter(|page| (first..first + PAGES).contains(page)).collect();
        if let Some(last) = ours.last() {
            break *last;
        }
        std::thread::yield_now();
    };
    assert_eq!(last, first);
    running.signal(Signal::SIGKILL);
    running.child.wait().unwrap();
    let mut reader = TraceReader::open(&trace).unwrap();
    let seen: Vec<u64> = reader.by_ref().map(|page| page.unwrap().0).collect();
    assert!(seen.contains(&(first + 9)) && reader.cut().is_some());
    // The program still has its input, and ends by itself at the end of it.
    drop(running.child.stdin.take());
    assert_eq!(running.line(), "");
}

#[test]
fn a_full_disk_ends_the_trace_and_not_the_program() {
    if !works("a_full_disk_ends_the_trace_and_not_the_program") {
        return;
    }
    let farside = Farside::new();
    // A reader that goes away does what a full disk does, without a file system of its own.
    let pipe = farside.path("t.fpt");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut command = pattern(&farside, &[], "flood");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut reader = File::open(&pipe).unwrap();
    let mut start = [0; 4096];
    reader.read_exact(&mut start).unwrap();
    drop(reader);
    let output = child.wait_with_output().unwrap();
    let text = stderr(&output);
    assert_eq!(code(&output), Some(125), "{text}");
    assert!(text.contains("the trace ends before the program did"), "{text}");
    assert!(text.contains("t.fpt"), "{text}");
    assert!(stdout(&output).lines().count() == 1, "the program ran: {}", stdout(&output));
}

#[test]
fn what_cannot_be_captured_is_refused() {
    let farside = Farside::new();
    let command = capture(&farside, &[], ["no-such-program-anywhere"]);
    assert_refused(command, 127, &["no-such-program-anywhere"]);
    let text = farside.path("text");
    fs::write(&text, "no program").unwrap();
    assert_refused(capture(&farside, &[], [&text]), 126, &["not executable"]);
    fs::set_permissions(&text, fs::Permissions::from_mode(0o755)).unwrap();
    assert_refused(capture(&farside, &[], [&text]), 126, &["neither a program nor a script"]);
    let mut foreign = fs::read(program()).unwrap();
    foreign[18] = 183;
    fs::write(&text, foreign).unwrap();
    assert_refused(capture(&farside, &[], [&text]), 2, &["64-bit x86"]);
    assert!(!farside.path("t.fpt").exists(), "a refused capture leaves no file");
    if nix::unistd::geteuid().is_root() {
        fs::copy(program(), &text).unwrap();
        chown(&text, Some(1), Some(1)).unwrap();
        fs::set_permissions(&text, fs::Permissions::from_mode(0o4755)).unwrap();
        assert_refused(capture(&farside, &[], [&text]), 2, &["setuid", "copy"]);
    }
}

#[test]
fn what_is_missing_is_named_with_its_repair() {
    let farside = Farside::new();
    let with = |name: &str, value: &Path| {
        let mut command = pattern(&farside, &[], "pattern");
        command.env(name, value);
        command
    };
    let nothing = Path::new("/no/such/place");
    assert_refused(with("PATH", nothing), 2, &["qemu-x86_64", "apt-get install qemu-user"]);
    assert_refused(with("FARSIDE_QEMU", nothing), 2, &["FARSIDE_QEMU=/no/such/place"]);
    if works("what_is_missing_is_named_with_its_repair") {
        assert_refused(with("FARSIDE_PAGETRACE", nothing), 2, &["FARSIDE_PAGETRACE"]);
        let output = with("FARSIDE_PAGETRACE", program()).output().unwrap();
        assert_eq!(code(&output), Some(125), "{}", stderr(&output));
        assert!(stderr(&output).contains("could not load its plugin"), "{}", stderr(&output));
    }
}

#[test]
fn bad_command_lines_end_with_code_2() {
    let farside = Farside::new();
    let capture = |arguments: &[&str]| {
        let mut command = farside.command(["capture"]);
        command.args(arguments).env("FARSIDE_PAGETRACE", plugin());
        command
    };
    for (arguments, words) in [
        (&["true"][..], &["--output"][..]),
        (&["-o", "t.fpt"], &["PROGRAM"]),
        (&["-o", "t.fpt", "--pab", "7,ways=2", "true"], &["--pab", "divide"]),
        (&["-o", "t.fpt", "--pab", "many", "true"], &["many"]),
        (&["-o", "t.fpt", "--tlb", "0", "true"], &["--tlb", "from 1 to"]),
        (&["-o", "t.fpt", "--quiet", "--json", "true"], &["--json"]),
    ] {
        assert_refused(capture(arguments), 2, words);
    }
    if works("bad_command_lines_end_with_code_2") {
        assert_refused(capture(&["-o", "/no/such/place/t", "true"]), 2, &["/no/such/place/t"]);
    }
}
