//! git gc, which runs a tree of git processes.

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use farside_exam::{Exam, Place, Program, Random, has_program, pick};

/// A history of changes to a few files, as `git fast-import` reads it.
fn history(commits: u64) -> String {
    let mut random = Random::new(3);
    let mut stream = String::new();
    let mut text: Vec<String> = (0..400).map(|i| format!("line {i} {:x}", random.draw())).collect();
    for commit in 0..commits {
        for _ in 0..10 {
            let line = random.below(400) as usize;
            text[line] = format!("line {line} of {commit}: {:x}", random.draw());
        }
        let body = text.join("\n");
        let (file, time) = (commit % 40, 1_600_000_000 + commit);
        let _ = write!(
            stream,
            "commit refs/heads/main\ncommitter E <e@example.org> {time} +0000\ndata 6\nchange\n\
             M 100644 inline file{file}\ndata {}\n{body}\n\n",
            body.len()
        );
    }
    stream
}

fn git(directory: &Path, args: &[&str], stdin: Stdio) -> String {
    let output = Command::new("git")
        .current_dir(directory)
        .args(args)
        .stdin(stdin)
        .output()
        .expect("git starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn git_gc() {
    if !has_program("git_gc", "git", "git") {
        return;
    }
    let exam = Exam::new("git gc");
    let stream = exam.input("stream");
    std::fs::write(&stream, history(pick(400, 30_000))).expect("room");
    let config = "[user]\nname = E\nemail = e@example.org\n[pack]\nthreads = 2\nwindow = 50\n\
                  [gc]\nauto = 0\n";
    let home = exam.input("home");
    std::fs::create_dir(&home).expect("room");
    std::fs::write(home.join(".gitconfig"), config).expect("room");
    let program = Program::new("git").args(["gc", "--aggressive", "--quiet", "--prune=now"]);
    let program = program.env("HOME", home.as_os_str());
    let mut plain = None;
    for place in Place::all() {
        let directory = exam.fresh_directory(place);
        git(&directory, &["init", "-q", "-b", "main"], Stdio::null());
        let input = std::fs::File::open(&stream).expect("just written");
        git(&directory, &["fast-import", "--quiet", "--force"], input.into());
        exam.run(&program, place, &directory);
        // The order of work between threads decides which deltas a pack has; the objects in it, and
        // their contents, are what must be the same.
        git(&directory, &["fsck", "--full", "--strict"], Stdio::null());
        let all = ["cat-file", "--batch-all-objects", "--batch-check"];
        let objects = git(&directory, &all, Stdio::null());
        let loose = git(&directory, &["count-objects"], Stdio::null());
        let found = (objects, loose, git(&directory, &["rev-parse", "main"], Stdio::null()));
        assert!(found.1.starts_with("0 objects"), "not everything was packed: {}", found.1);
        match &plain {
            None => plain = Some(found),
            Some(plain) => assert!(*plain == found, "{place:?}: the repository differs"),
        }
    }
}
