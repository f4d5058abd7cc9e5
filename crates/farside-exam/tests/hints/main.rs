//! Programs that say what they are about to use (`farside.h`).

use std::path::{Path, PathBuf};
use std::process::Command;

use farside_exam::{compile_with, farside, has_program, source};
use serde_json::Value;
use tempfile::TempDir;

/// Megabytes that the programs use, and their local memory.
const MEGABYTES: &str = "16";
const LOCAL: &str = "4M";

/// Nodes that answer at once, and after some time.
const NODES: [&str; 2] = ["embedded:", "embedded:latency=15us,bandwidth=25gbit"];

/// A compiled program, and a place for what its runs write.
struct Place {
    directory: TempDir,
    program: PathBuf,
}

impl Place {
    fn new(test: &str, name: &str, compiler: &'static str, flags: &[&str]) -> Option<Self> {
        if !has_program(test, compiler, "gcc g++") {
            return None;
        }
        let directory = tempfile::tempdir().expect("a temporary directory");
        let program = directory.path().join("program");
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
        let mut command = Command::new(compiler);
        command.args(["-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"]).arg(include);
        compile_with(command.args(flags).arg(source(name)).arg("-o").arg(&program));
        Some(Self { directory, program })
    }

    fn plain(&self, arguments: &[&str]) -> Vec<u8> {
        let output = Command::new(&self.program).args(arguments).output().expect("it starts");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        output.stdout
    }

    /// Runs the program on far memory, insists that it prints what it prints without, and returns what was counted.
    fn run(&self, far: &str, arguments: &[&str]) -> Value {
        self.run_with(far, "second-chance", arguments)
    }

    /// The same with a replacement policy.
    fn run_with(&self, far: &str, replacement: &str, arguments: &[&str]) -> Value {
        let stats = self.directory.path().join("stats.json");
        let mut command = Command::new(farside());
        command.args(["run", "--local", LOCAL, "--prefetch", "none", "--far", far]);
        command.args(["--replacement", replacement, "--stats"]);
        let output = command.arg(&stats).arg("--").arg(&self.program).args(arguments).output();
        let output = output.expect("farside starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?} on {far}: {errors}");
        assert_eq!(output.stdout, self.plain(arguments), "{arguments:?} on {far}");
        let text = std::fs::read_to_string(&stats).expect("there are counters");
        let counted: Value = serde_json::from_str(&text).expect("valid JSON");
        assert!(counter(&counted, "resident_peak_bytes") <= 4 << 20, "{counted}");
        counted
    }
}

fn counter(counted: &Value, name: &str) -> u64 {
    counted["counters"][name].as_u64().unwrap_or_else(|| panic!("there is no counter {name}"))
}

/// Runs one of the passes of `hints.c` on all nodes.
fn pass(test: &str, what: &str, check: impl Fn(&Value)) {
    let Some(place) = Place::new(test, "hints.c", "gcc", &["-std=gnu99"]) else { return };
    for far in NODES {
        let counted = place.run(far, &[MEGABYTES, what]);
        check(&counted);
    }
}

/// One of the threads may lose to others what it was about to use.
fn few_faults(counted: &Value) {
    let (faults, hinted) = (counter(counted, "demand_faults"), counter(counted, "hinted_pages"));
    assert!(hinted > 4000 && faults * 20 < hinted, "{faults} faults, {hinted} hinted pages");
}

/// Pages that were read ahead came in time, or the hint at them did the rest.
fn read_ahead(counted: &Value) {
    assert!(counter(counted, "demand_faults") < 10, "{counted}");
    let (ahead, hinted) = (counter(counted, "prefetched_pages"), counter(counted, "hinted_pages"));
    assert!(ahead > 3000 && hinted < 10, "{ahead} pages read ahead, {hinted} not");
}

#[test]
fn what_is_hinted_needs_no_fault() {
    for what in ["scattered", "objects", "written"] {
        pass("what_is_hinted_needs_no_fault", what, few_faults);
    }
}

#[test]
fn what_follows_is_read_ahead() {
    for what in ["forwards", "backwards"] {
        pass("what_follows_is_read_ahead", what, read_ahead);
    }
}

#[test]
fn a_hint_reads_many_pages_ahead() {
    // Beside a node that answers at once, as no hint then finds that its page is on its way.
    let test = "a_hint_reads_many_pages_ahead";
    let Some(place) = Place::new(test, "hints.c", "gcc", &["-std=gnu99"]) else { return };
    for what in ["forwards", "backwards"] {
        let counted = place.run(NODES[0], &[MEGABYTES, what]);
        let (hints, ahead) = (counter(&counted, "hints"), counter(&counted, "prefetched_pages"));
        // Each hint brought half of a window of 32.
        assert!(hints * 8 < ahead, "{what}: {hints} hints, {ahead} pages");
    }
}

#[test]
fn new_memory_is_populated() {
    pass("new_memory_is_populated", "new", |counted| {
        // What is read afterwards without hints is another matter.
        assert!(counter(counted, "first_touch_faults") < 400, "{counted}");
        assert!(counter(counted, "hinted_pages") > 4000, "{counted}");
    });
}

#[test]
fn what_is_listed_comes_without_waiting() {
    pass("what_is_listed_comes_without_waiting", "listed", |counted| {
        assert!(counter(counted, "prefetched_pages") > 4000, "{counted}");
        assert!(counter(counted, "demand_faults") < 100, "{counted}");
    });
}

#[test]
fn what_the_program_is_done_with_leaves_first() {
    pass("what_the_program_is_done_with_leaves_first", "done", |counted| {
        // Four passes over 14 MiB; what is used again and again stayed.
        let fetched = counter(counted, "fetched_bytes") >> 12;
        assert!(fetched < 4 * 3584, "{fetched} pages");
    });
}

#[test]
fn what_has_a_high_priority_leaves_first() {
    let test = "what_has_a_high_priority_leaves_first";
    let Some(place) = Place::new(test, "hints.c", "gcc", &["-std=gnu99"]) else { return };
    for policy in ["priority", "eden"] {
        let fetched = |what| {
            let counted = place.run_with(NODES[0], policy, &[MEGABYTES, what]);
            counter(&counted, "fetched_bytes") >> 12
        };
        let (ranked, unranked) = (fetched("ranked"), fetched("unranked"));
        assert!(
            ranked * 10 < unranked * 9,
            "{policy}: {ranked} pages, {unranked} without priorities"
        );
    }
}

#[test]
fn what_is_pinned_stays() {
    pass("what_is_pinned_stays", "pinned", |counted| {
        few_faults(counted);
        assert!(counter(counted, "demand_faults") < 20, "{counted}");
        assert_eq!(counter(counted, "held_pages"), 0, "{counted}");
    });
}

#[test]
fn threads_and_children_give_hints_at_the_same_pages() {
    for what in ["threads", "fork"] {
        pass("threads_and_children_give_hints_at_the_same_pages", what, few_faults);
    }
}

#[test]
fn hints_that_cannot_be_meant_are_counted_and_harmless() {
    pass("hints_that_cannot_be_meant_are_counted_and_harmless", "misuse", |counted| {
        assert!(counter(counted, "hints_astray") > 0, "{counted}");
    });
}

#[test]
fn tasks_wait_while_others_run() {
    // With a hook their stacks are far memory, too: what gives hints there must not wait for itself.
    let test = "tasks_wait_while_others_run";
    let Some(place) = Place::new(test, "tasks.c", "gcc", &["-std=gnu99"]) else { return };
    for far in NODES {
        for how in ["steps", "hook"] {
            few_faults(&place.run(far, &[MEGABYTES, how]));
        }
    }
}

#[test]
fn the_header_suits_all_languages_and_linkages() {
    let test = "the_header_suits_all_languages_and_linkages";
    for (compiler, flags) in [
        ("gcc", &["-std=gnu89", "-fno-pie", "-no-pie"][..]),
        ("gcc", &["-std=c99", "-D_GNU_SOURCE", "-pedantic", "-fPIC"]),
        ("gcc", &["-std=c11", "-D_GNU_SOURCE", "-O0"]),
        ("g++", &["-x", "c++", "-std=c++20", "-pedantic"]),
        ("g++", &["-x", "c++", "-std=gnu++11", "-Wno-error"]),
    ] {
        let Some(place) = Place::new(test, "hint.c", compiler, flags) else { return };
        let counted = place.run(NODES[0], &[MEGABYTES]);
        few_faults(&counted);
    }
    // A program without a dynamic linker has no Farside, and hints that do nothing.
    if let Some(place) = Place::new(test, "hint.c", "gcc", &["-std=gnu99", "-static"]) {
        place.plain(&[MEGABYTES]);
    }
}

/// Runs a command, which must succeed, and returns what it printed.
fn output_of(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).expect("readable output").trim().to_owned()
}

/// A directory in which the header is installed.
fn installed() -> TempDir {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let prefix = tempfile::tempdir().expect("a temporary directory");
    let mut make = Command::new("make");
    let variable = format!("PREFIX={}", prefix.path().display());
    output_of(make.arg("-C").arg(root).args(["--silent", "install-header", &variable]));
    prefix
}

const PKG_CONFIG: &str = "pkg-config";

#[test]
fn pkg_config_finds_the_header() {
    let test = "pkg_config_finds_the_header";
    if !has_program(test, PKG_CONFIG, PKG_CONFIG) {
        return;
    }
    let prefix = installed();
    let search = prefix.path().join("share/pkgconfig");
    let ask = |what| {
        output_of(Command::new(PKG_CONFIG).env("PKG_CONFIG_PATH", &search).args([what, "farside"]))
    };
    assert_eq!(ask("--modversion"), env!("CARGO_PKG_VERSION"));
    assert_eq!(ask("--cflags"), format!("-I{}/include", prefix.path().display()));
    assert!(prefix.path().join("include/farside.h").exists());
}

#[test]
fn cmake_finds_the_header() {
    let test = "cmake_finds_the_header";
    if !has_program(test, "cmake", "cmake") {
        return;
    }
    let prefix = installed();
    let project = tempfile::tempdir().expect("a temporary directory");
    let text = format!(
        "cmake_minimum_required(VERSION 3.13)\nproject(hint C)\nfind_package(farside {} REQUIRED)\n\
         add_executable(hint {})\ntarget_link_libraries(hint PRIVATE farside::farside)\n",
        env!("CARGO_PKG_VERSION"),
        source("hint.c").display()
    );
    std::fs::write(project.path().join("CMakeLists.txt"), text).expect("a file can be written");
    let build = project.path().join("build");
    let mut configure = Command::new("cmake");
    let prefix = format!("-DCMAKE_PREFIX_PATH={}", prefix.path().display());
    output_of(configure.arg("-S").arg(project.path()).arg("-B").arg(&build).arg(prefix));
    output_of(Command::new("cmake").arg("--build").arg(&build));
    let sum = output_of(Command::new(build.join("hint")).arg("1"));
    assert!(!sum.is_empty());
}
