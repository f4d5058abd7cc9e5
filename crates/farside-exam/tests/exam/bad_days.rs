//! What happens when something dies, and when the command line makes no sense.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use farside_exam::{
    Exam, Place, Program, Running, compile, farside, has_program, plain_only, skipped,
    wait_for_file,
};

/// Processes below `root`, with the names they were started under.
fn descendants(root: libc::pid_t) -> Vec<(libc::pid_t, String)> {
    let mut all = Vec::new();
    for entry in fs::read_dir("/proc").expect("/proc is there").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&words).replace('\0', " ");
        // The fields after the name, which may itself hold spaces and parentheses.
        let after = stat.rsplit(") ").next().unwrap_or_default();
        let parent = after.split(' ').nth(1).and_then(|field| field.parse().ok()).unwrap_or(0);
        all.push((pid, parent, line));
    }
    let mut family = BTreeSet::from([root]);
    loop {
        let before = family.len();
        let new = all.iter().filter(|(_, parent, _)| family.contains(parent));
        let new: Vec<libc::pid_t> = new.map(|&(pid, ..)| pid).collect();
        family.extend(new);
        if family.len() == before {
            break;
        }
    }
    all.into_iter()
        .filter(|(pid, ..)| family.contains(pid))
        .map(|(pid, _, line)| (pid, line))
        .collect()
}

/// Whether a process is there and not a zombie.
fn alive(pid: libc::pid_t) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|after| after.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

fn kill(pid: libc::pid_t) {
    // SAFETY: kill touches no memory; the process is a descendant of this test.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

/// Names in a directory that speak of Farside: other programs come and go meanwhile.
fn names(directory: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(directory).map(|entries| entries.flatten().collect::<Vec<_>>());
    let entries = entries.unwrap_or_default().into_iter();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains("farside")).collect()
}

/// A program that goes over its memory for ever, started and filled, with a quarter of it local.
fn going_over_memory(exam: &Exam, directory: &Path) -> Running {
    let program = Program::new(compile(&exam.inputs(), "plain.c", &[])).arg("64");
    let mut running = exam.start(&program, Place::Far(25), directory);
    let files = directory.parent().expect("it has a parent").join("far-25-files/stdout");
    wait_for_file(&mut running, &files);
    assert_eq!(running.output_so_far().trim(), "filled");
    running
}

fn can_run(test: &str) -> bool {
    if plain_only() {
        skipped(test, "plain runs have no node");
        return false;
    }
    has_program(test, "gcc", "gcc")
}

#[test]
fn the_node_dies() {
    if !can_run("the_node_dies") {
        return;
    }
    let exam = Exam::new("the node dies");
    let directory = exam.fresh_directory(Place::Far(25));
    let running = going_over_memory(&exam, &directory);
    let family = descendants(running.pid());
    let node = family.iter().find(|(_, line)| line.contains("farside") && line.contains(" node"));
    let node = node.unwrap_or_else(|| panic!("no node among {family:?}")).0;
    kill(node);
    let finished = running.finish();
    let code = finished.code().expect("the program must stop when its memory is lost");
    assert!(code != 0 && code != 66, "exit code {code}: {}", finished.errors());
    let output = String::from_utf8_lossy(&finished.stdout).into_owned();
    assert!(!output.contains("garbage"), "the program saw other values than it wrote");
    let errors = finished.errors();
    assert!(errors.contains("farside") && errors.contains("node"), "what was lost? {errors}");
    for (pid, line) in family {
        assert!(gone(pid), "process {pid} ({line}) is left");
    }
}

/// It would wait for ever for what is not there, and nobody knows whether it expects zeros.
#[test]
fn a_program_that_drops_memory_unseen_is_stopped() {
    if !has_program("a_program_that_drops_memory_unseen_is_stopped", "gcc", "gcc") {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let program = compile(directory.path(), "unseen.c", &[]);
    let plain = Command::new(&program).arg("4").status().expect("it starts");
    assert!(plain.success(), "{plain}");
    let mut command = Command::new(farside());
    command.args(["run", "--local", "64M", "--"]).arg(&program).arg("4");
    let output = command.output().expect("farside starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{errors}");
    assert!(errors.contains("vanished") && errors.contains("without"), "{errors}");
}

/// Whether a process goes away in reasonable time.
fn gone(pid: libc::pid_t) -> bool {
    let end = Instant::now() + Duration::from_secs(20);
    while alive(pid) {
        if Instant::now() > end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

#[test]
fn the_program_is_killed() {
    if !can_run("the_program_is_killed") {
        return;
    }
    let exam = Exam::new("the program is killed");
    let directory = exam.fresh_directory(Place::Far(25));
    let (shared, temporary) = (names("/dev/shm"), names("/tmp"));
    let running = going_over_memory(&exam, &directory);
    let family = descendants(running.pid());
    let program = family.iter().find(|(pid, line)| {
        *pid != running.pid() && line.contains("plain 64") && !line.contains("--local")
    });
    let program = program.unwrap_or_else(|| panic!("no program among {family:?}")).0;
    kill(program);
    assert_eq!(running.finish().code(), Some(137));
    for (pid, line) in family {
        assert!(gone(pid), "process {pid} ({line}) is left");
    }
    assert_eq!(names("/dev/shm"), shared, "shared memory is left");
    let left = names("/tmp");
    let ours = left.difference(&temporary).filter(|name| !name.starts_with("farside-exam-"));
    assert_eq!(ours.count(), 0, "files are left: {left:?}");
}

#[test]
fn farside_itself_is_killed() {
    if !can_run("farside_itself_is_killed") {
        return;
    }
    let exam = Exam::new("farside is killed");
    let directory = exam.fresh_directory(Place::Far(25));
    let shared = names("/dev/shm");
    let running = going_over_memory(&exam, &directory);
    let family = descendants(running.pid());
    kill(running.pid());
    // Like a child of `timeout`, the program may go on by itself; with it all must go.
    family.iter().filter(|(_, line)| line.contains("plain 64")).for_each(|&(pid, _)| kill(pid));
    let finished = running.finish();
    assert_eq!(finished.code(), Some(137));
    for (pid, line) in family {
        assert!(gone(pid), "process {pid} ({line}) is left");
    }
    assert_eq!(names("/dev/shm"), shared, "shared memory is left");
}

/// Runs farside with `args` and returns its exit code and what it said.
fn refused(args: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(farside()).args(args).output().expect("farside starts");
    assert!(output.stdout.is_empty(), "{args:?}: something was started");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn bad_command_lines_are_refused() {
    if plain_only() {
        return skipped("bad_command_lines_are_refused", "only with farside");
    }
    let started = ["--", "echo", "started"];
    for options in [
        &["run", "--no-such-flag"][..],
        &["run", "--local", "lots"],
        &["run", "--local", "-5M"],
        &["run", "--local", "0"],
        &["run", "--local", "4K"],
        &["run", "--local", "99999999999999999999G"],
        &["run", "--local", "64M", "--replacement", "clairvoyant"],
        &["run", "--local", "64M", "--prefetch", "guess"],
        &["run", "--local", "64M", "--readahead", "many"],
        &["run", "--local", "64M", "--far", "carrier-pigeon://loft"],
        &["run", "--local", "64M", "--far", "embedded:latency=soon"],
    ] {
        let (code, errors) = refused(&[options, &started].concat());
        assert_eq!(code, Some(2), "{options:?}: {errors}");
        assert!(!errors.trim().is_empty(), "{options:?}: no word about it");
        assert!(!errors.contains("panicked"), "{options:?}: {errors}");
    }
    assert_eq!(refused(&["run", "--local", "64M"]).0, Some(2), "no program at all");
}

#[test]
fn missing_programs_are_told_as_env_tells_them() {
    if plain_only() {
        return skipped("missing_programs_are_told_as_env_tells_them", "only with farside");
    }
    let exam = Exam::new("missing programs");
    let (code, errors) = refused(&["run", "--local", "64M", "--", "/no/such/program"]);
    assert_eq!(code, Some(127), "{errors}");
    assert!(errors.contains("/no/such/program"), "{errors}");
    let file = exam.input("not-executable");
    fs::write(&file, "text").expect("room");
    let name = file.to_str().expect("a plain path");
    let (code, errors) = refused(&["run", "--local", "64M", "--", name]);
    assert_eq!(code, Some(126), "{errors}");
}

#[test]
fn exit_codes_and_signals_are_the_programs_own() {
    if plain_only() {
        return skipped("exit_codes_and_signals_are_the_programs_own", "only with farside");
    }
    let run = |script: &str| {
        let mut command = Command::new(farside());
        command.args(["run", "--quiet", "--local", "64M", "--", "sh", "-c", script]);
        let output = command.output().expect("farside starts");
        (output.status, String::from_utf8_lossy(&output.stdout).into_owned())
    };
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(run("exit 0").0.code(), Some(0));
    assert_eq!(run("exit 41").0.code(), Some(41));
    let status = run("kill -TERM $$").0;
    assert!(status.code() == Some(143) || status.signal() == Some(15), "{status}");
    assert_eq!(
        run("pwd").1.trim(),
        std::env::current_dir().expect("there is one").to_string_lossy()
    );
}

#[test]
fn a_limit_beyond_all_memory_is_no_limit() {
    let mut command = Command::new(farside());
    command.args(["run", "--quiet", "--local", "64T", "--", "sh", "-c", "echo here"]);
    let output = command.output().expect("farside starts");
    let (text, complaint) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!((output.status.code(), &*text, &*complaint), (Some(0), "here\n", ""));
}
