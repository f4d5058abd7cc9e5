//! Where faults come from (`farside faults`).

mod pointers;
mod study;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use farside_exam::{compile_with, farside, has_program, skipped, source};
use serde_json::Value;
use tempfile::TempDir;

/// Megabytes that the program uses, and its local memory.
const MEGABYTES: &str = "16";
const LOCAL: &str = "4M";

/// Pages of the program's memory.
const PAGES: u64 = 16 * 256;

/// A folder with a compiled program.
struct Place {
    directory: TempDir,
    program: PathBuf,
}

impl Place {
    fn new(test: &str, name: &str, flags: &[&str]) -> Option<Self> {
        if !has_program(test, "gcc", "gcc") {
            return None;
        }
        let directory = tempfile::tempdir().expect("a temporary directory");
        let program = directory.path().join("program");
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
        let mut command = Command::new("gcc");
        command.args(["-std=gnu99", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"]).arg(include);
        compile_with(command.args(flags).arg(source(name)).arg("-o").arg(&program));
        Some(Self { directory, program })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn plain(&self, arguments: &[&str]) -> Vec<u8> {
        let output = Command::new(&self.program).args(arguments).output().expect("it starts");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        output.stdout
    }

    /// Runs `farside faults` and insists that the program prints what it prints without.
    fn run(&self, options: &[&str], arguments: &[&str]) -> Found {
        self.run_by(Command::new(farside()), options, arguments)
    }

    /// Runs it until the kernel drops no events: where others keep the machine busy, whoever reads them comes too late.
    fn run_seen(&self, arguments: &[&str]) -> Found {
        for _ in 0..10 {
            let found = self.run(&[], arguments);
            if found.number("lost_events") == 0 {
                return found;
            }
        }
        panic!("{arguments:?}: events are lost each time");
    }

    fn run_by(&self, mut command: Command, options: &[&str], arguments: &[&str]) -> Found {
        let (found, stats) = (self.path("found.json"), self.path("stats.json"));
        command.env("FARSIDE_STATS", &stats).args(["faults", "--local", LOCAL, "--json", "-o"]);
        command.arg(&found).args(options).arg("--").arg(&self.program).args(arguments);
        let output = command.output().expect("farside starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        assert_eq!(output.stdout, self.plain(arguments), "{errors}");
        let read = |path| {
            let text = fs::read_to_string(path).expect("it was written");
            serde_json::from_str(&text).expect("valid JSON")
        };
        Found { json: read(&found), counters: read(&stats) }
    }
}

/// What was found, and what was counted.
struct Found {
    json: Value,
    counters: Value,
}

impl Found {
    fn number(&self, name: &str) -> u64 {
        self.json[name].as_u64().unwrap_or_else(|| panic!("no {name} in {}", self.json))
    }

    fn counter(&self, name: &str) -> u64 {
        self.counters["counters"][name].as_u64().unwrap_or_else(|| panic!("no counter {name}"))
    }

    fn sites(&self) -> &[Value] {
        self.json["sites"].as_array().expect("sites")
    }

    /// Faults that were answered in this way, at sites of which this is true.
    fn faults(&self, answer: &str, is: impl Fn(&Value) -> bool) -> u64 {
        let kinds = self.sites().iter().filter(|site| is(site));
        let kinds = kinds.flat_map(|site| site["kinds"].as_array().expect("kinds"));
        let its = kinds.filter(|kind| kind["answer"] == answer);
        its.map(|kind| kind["faults"].as_u64().expect("a number")).sum()
    }

    /// The site at the line of `sites.c` with this name.
    fn site(&self, name: &str) -> &Value {
        self.site_of("sites.c", name)
    }

    /// The site at the line of a program with this name.
    fn site_of(&self, source: &str, name: &str) -> &Value {
        let line = lines_of(source)[name];
        let at = |site: &&Value| {
            site["line"] == line && site["file"].as_str().is_some_and(|file| file.ends_with(source))
        };
        self.sites().iter().find(at).unwrap_or_else(|| panic!("no {name} at {line}: {}", self.json))
    }
}

/// The lines of a program that are marked, by name.
fn lines_of(program: &str) -> BTreeMap<String, u64> {
    let text = fs::read_to_string(source(program)).expect("the source");
    let named = text.lines().zip(1..).filter_map(|(line, number)| {
        let name = line.split_once("/* SITE ")?.1.split_once(' ')?.0;
        Some((name.to_owned(), number))
    });
    named.collect()
}

/// Whether the kernel tells of faults here; says so if not.
fn has_events(test: &str) -> bool {
    match farside_os::fault_events::allowed() {
        Ok(true) => true,
        Ok(false) => {
            skipped(test, "faults in system calls may not be looked at");
            false
        }
        Err(error) => {
            skipped(test, &error.to_string());
            false
        }
    }
}

/// All that is counted is found, and known.
fn complete(found: &Found) {
    for (answer, counter) in
        [("demand", "demand_faults"), ("late", "late_hits"), ("first-touch", "first_touch_faults")]
    {
        // Those of the child are counted, too.
        let all = found.faults(answer, |_| true);
        let counted = found.counter(counter);
        assert!(all <= counted && counted <= all + PAGES, "{answer}: {all} of {counted}");
    }
    let (all, unseen) = (found.number("faults"), found.number("unseen"));
    assert!(unseen * 200 < all && found.number("lost_events") == 0, "{}", found.json);
}

#[test]
fn lines_are_found_however_a_program_is_compiled() {
    let test = "lines_are_found_however_a_program_is_compiled";
    if !has_events(test) {
        return;
    }
    for flags in [
        &["-g", "-O2"][..],
        &["-g", "-O0", "-fno-omit-frame-pointer"],
        &["-g", "-O2", "-fomit-frame-pointer", "-no-pie", "-fno-pie"],
    ] {
        let Some(place) = Place::new(test, "sites.c", flags) else { return };
        let file = place.path("file");
        fs::write(&file, [7; 64]).expect("a file");
        let found = place.run_seen(&[MEGABYTES, file.to_str().expect("a name")]);
        complete(&found);
        let demand = |name: &str| {
            let line = lines_of("sites.c")[name];
            found.faults("demand", |site| site["line"] == line)
        };
        let stride = |name: &str| found.site(name)["stride"]["pages"].as_i64();
        // Twice: once in a thread.
        let most = |pages: u64| pages / 4 * 3..=pages;
        assert!(most(2 * PAGES).contains(&demand("forwards")), "{flags:?}: {}", found.json);
        assert!(most(PAGES).contains(&demand("backwards")), "{flags:?}: {}", found.json);
        assert_eq!((stride("forwards"), stride("backwards")), (Some(1), Some(-1)));
        assert!(demand("scattered") > 2000, "{flags:?}: {}", found.json);
        assert!(most(PAGES).contains(&demand("looked")), "{flags:?}: {}", found.json);
        assert!(most(PAGES).contains(&demand("copied")), "{flags:?}: {}", found.json);
        assert!(found.site("copied")["inside"].to_string().contains("mem"), "{}", found.json);
        assert!(most(PAGES).contains(&demand("received")), "{flags:?}: {}", found.json);
        let line = lines_of("sites.c")["changed"];
        let protection = found.faults("protection", |site| site["line"] == line);
        assert!(protection > 0 && demand("changed") < 100, "{flags:?}: {}", found.json);
        let fill = lines_of("sites.c")["fill"];
        assert!(found.faults("first-touch", |site| site["line"] == fill) > 50, "{}", found.json);
        assert!(found.number("sites_for_95_percent") <= lines_of("sites.c").len() as u64);
        if flags.contains(&"-O2") {
            deserved(&found);
        }
    }
}

/// The hints that the lines of `sites.c` deserve are suggested.
fn deserved(found: &Found) {
    let hints = |name: &str| -> Vec<&str> {
        let hints = found.site(name)["hints"].as_array().expect("hints");
        hints.iter().map(|hint| hint["call"].as_str().expect("a call")).collect()
    };
    let read = "farside_hint(ADDRESS, .ahead = 32, .sequential = 1)";
    let written = "farside_hint(ADDRESS, .mut = 1, .ahead = 32, .sequential = 1)";
    assert_eq!(hints("forwards"), [read]);
    assert_eq!(hints("backwards"), ["farside_hint(ADDRESS, .ahead = -32, .sequential = 1)"]);
    assert_eq!(hints("copied"), [read, written]);
    assert_eq!(hints("received"), [written]);
    assert_eq!(hints("linked"), [written]);
    assert_eq!(hints("scattered"), ["farside_hint(ADDRESS, .mut = 1)"]);
    assert_eq!(hints("fill"), ["farside_hint(ADDRESS, .mut = 1, .ahead = 64, .sequential = 1)"]);
    assert_eq!(hints("chased"), ["farside_hint(ADDRESS)"]);
    let chased = &found.site("chased")["hints"][0]["reason"];
    assert!(chased.as_str().is_some_and(|reason| reason.contains("pointers")), "{chased}");
}

#[test]
fn programs_without_symbols_have_sites_too() {
    let test = "programs_without_symbols_have_sites_too";
    if !has_events(test) {
        return;
    }
    let Some(place) = Place::new(test, "sites.c", &["-O2", "-s"]) else { return };
    let found = place.run_seen(&[MEGABYTES]);
    complete(&found);
    let ours = |site: &Value| site["image"] == "program";
    let all = found.faults("demand", |_| true);
    assert!(found.faults("demand", ours) * 100 > all * 99, "{}", found.json);
    let addresses: Vec<_> = found.sites().iter().filter(|site| ours(site)).collect();
    assert!((5..30).contains(&addresses.len()), "{}", found.json);
    assert!(found.number("incomplete_stacks") * 10 < found.number("stacks"), "{}", found.json);
}

#[test]
fn without_events_instructions_are_looked_up() {
    let test = "without_events_instructions_are_looked_up";
    let Some(place) = Place::new(test, "sites.c", &["-g", "-O2"]) else { return };
    let Some(wrapper) = Place::new(test, "refused.c", &["-O2"]) else { return };
    let mut command = Command::new(&wrapper.program);
    command.arg(farside());
    let found = place.run_by(command, &[], &[MEGABYTES]);
    complete(&found);
    assert!(
        found.json["refused"].as_str().is_some_and(|reason| reason.contains("perf_event_open"))
    );
    assert_eq!(found.number("stacks"), 0);
    let line = lines_of("sites.c")["backwards"];
    assert!(found.faults("demand", |site| site["line"] == line) > PAGES / 2, "{}", found.json);
}

#[test]
fn faults_in_a_library_without_lines_are_shown_where_it_is_called() {
    let test = "faults_in_a_library_without_lines_are_shown_where_it_is_called";
    if !has_events(test) || !has_program(test, "gcc", "gcc") {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let library = directory.path().join("libweigh.so");
    let mut command = Command::new("gcc");
    command.args(["-std=gnu99", "-O2", "-DLIBRARY", "-shared", "-fPIC", "-o"]).arg(&library);
    compile_with(command.arg(source("library.c")));
    let library = library.to_str().expect("a plain path");
    let path = format!("-Wl,-rpath,{}", directory.path().display());
    let flags = ["-O2", "-g", "-Wl,--no-as-needed", library, &path];
    let Some(place) = Place::new(test, "library.c", &flags) else { return };
    let found = place.run(&[], &[MEGABYTES]);
    let site = found.site_of("library.c", "weighs");
    assert!(site["share"].as_f64() > Some(0.8), "{site}");
    assert_eq!(site["inside"][0], "weigh", "{site}");
    let hint = site["hints"][0]["call"].as_str();
    assert_eq!(hint, Some("farside_hint(ADDRESS, .size = 8192)"), "{site}");
}

#[test]
fn what_is_hinted_is_not_shown() {
    let test = "what_is_hinted_is_not_shown";
    if !has_events(test) {
        return;
    }
    let Some(place) = Place::new(test, "hints.c", &["-g", "-O2"]) else { return };
    let found = place.run(&["--kinds", "demand,late"], &[MEGABYTES, "written"]);
    let hinted =
        |site: &Value| ["written", "forwards"].iter().any(|name| site["function"] == **name);
    assert!(found.counter("hinted_pages") > PAGES / 2);
    let faults = found.faults("demand", hinted) + found.faults("late", hinted);
    assert!(faults < 20, "{faults}: {}", found.json);
}

#[test]
fn hints_in_vain_are_told_from_others() {
    let test = "hints_in_vain_are_told_from_others";
    for flags in [&["-g", "-O2"], &["-g", "-O0"]] {
        let Some(place) = Place::new(test, "hints.c", flags) else { return };
        let found = place.run(&["--hints"], &[MEGABYTES, "vain"]);
        let hints = found.json["hints"].as_array().expect("hints");
        let of = |function: &str| -> Vec<&Value> {
            hints.iter().filter(|hint| hint["at"]["function"] == function).collect()
        };
        let number = |hint: &Value, name: &str| hint[name].as_u64().expect("a number");
        for (function, given, misplaced) in [
            ("needless", 10_000, "never-needed"),
            ("strayed", 1000, "astray"),
            ("overshot", 2000, "ahead-unused"),
        ] {
            let [hint] = of(function)[..] else { panic!("{function}: {hints:?}") };
            assert_eq!((number(hint, "given"), &hint["misplaced"]), (given, &misplaced.into()));
        }
        assert_eq!(number(of("strayed")[0], "astray"), 875);
        // Three ways to list what comes, and three hints at what was listed.
        let listed = of("listed");
        assert_eq!(listed.len(), 6, "{hints:?}");
        assert!(listed.iter().all(|hint| number(hint, "given") == 6000), "{hints:?}");
        let ahead = listed.iter().filter(|hint| number(hint, "ahead") > 2000);
        assert!(ahead.clone().all(|hint| hint["misplaced"].is_null()), "{hints:?}");
        assert_eq!(ahead.count(), 3, "{hints:?}");
        let sum = |name: &str| hints.iter().map(|hint| number(hint, name)).sum::<u64>();
        assert_eq!(sum("brought"), found.counter("hinted_pages"));
        assert_eq!(sum("astray"), found.counter("hints_astray"));
        let ended = sum("ahead_used") + sum("ahead_unused");
        assert!(ended > 0 && ended <= sum("ahead"), "{hints:?}");
    }
}

#[test]
fn stacks_are_written_in_all_formats() {
    let test = "stacks_are_written_in_all_formats";
    if !has_events(test) {
        return;
    }
    let Some(place) = Place::new(test, "sites.c", &["-g", "-O2"]) else { return };
    let names = ["page.html", "stacks.txt", "stacks.json", "stacks.pb.gz"];
    let files = names.map(|name| place.path(name));
    let options = ["--html", "--folded", "--speedscope", "--pprof"];
    let options: Vec<&str> = options
        .iter()
        .zip(&files)
        .flat_map(|(option, file)| [*option, file.to_str().expect("a name")])
        .collect();
    let found = place.run(&options, &[MEGABYTES]);
    let all = found.number("faults");
    let [page, folded, speedscope, pprof] = files.map(|file| fs::read(file).expect("written"));
    let folded = String::from_utf8(folded).expect("text");
    let counts = folded.lines().map(|line| {
        let (stack, count) = line.rsplit_once(' ').expect("a count");
        (stack, count.parse::<u64>().expect("a number"))
    });
    assert_eq!(counts.clone().map(|(_, count)| count).sum::<u64>(), all);
    let forwards: Vec<_> = counts.filter(|(stack, _)| stack.contains(";forwards;")).collect();
    let called = |caller: &str| {
        let its = forwards.iter().filter(|(stack, _)| stack.contains(caller));
        its.map(|(_, count)| count).sum::<u64>()
    };
    // Once in the first thread, once in another.
    assert!(called("main;forwards") > PAGES / 4, "{folded}");
    assert!(called("thread;forwards") > PAGES / 4, "{folded}");
    assert!(folded.contains("[read]") && folded.contains("[write]"), "{folded}");
    assert!(folded.contains("[protection]"), "{folded}");
    let speedscope: Value = serde_json::from_slice(&speedscope).expect("valid JSON");
    assert_eq!(speedscope["profiles"][0]["endValue"].as_u64(), Some(all));
    assert_eq!(pprof[..2], [0x1f, 0x8b]);
    let page = String::from_utf8(page).expect("text");
    assert!(page.contains("<svg") && page.contains("forwards") && page.contains("sites.c"));
    for outside in ["src=", "href=\"http", "@import"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn a_program_that_is_executed_later_is_the_one_that_is_watched() {
    let test = "a_program_that_is_executed_later_is_the_one_that_is_watched";
    if !has_events(test) {
        return;
    }
    let Some(place) = Place::new(test, "sites.c", &["-g", "-O2"]) else { return };
    let found = place.path("found.json");
    let mut command = Command::new(farside());
    command.args(["faults", "--local", LOCAL, "--json", "--output"]).arg(&found);
    command.args(["--", "sh", "-c", "exec \"$0\" 16"]).arg(&place.program);
    let output = command.output().expect("farside starts");
    assert!(output.status.success(), "{output:?}");
    let json = serde_json::from_slice(&fs::read(found).expect("written")).expect("valid JSON");
    let found = Found { json, counters: Value::Null };
    assert!(found.site("backwards")["faults"].as_u64() > Some(PAGES / 2), "{}", found.json);
}

#[test]
fn programs_keep_their_exit_code() {
    let output = Command::new(farside())
        .args(["faults", "--local", LOCAL, "-q", "--", "sh", "-c", "echo out; exit 7"])
        .output()
        .expect("farside starts");
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert_eq!(output.stdout, b"out\n");
}

fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    let output: Output =
        Command::new(farside()).arg("faults").args(arguments).output().expect("farside starts");
    assert_eq!(output.stdout, b"");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_starts() {
    for (arguments, code, word) in [
        (&["--kinds", "sorrow", "--", "true"][..], 2, "sorrow"),
        (&["--html", "/nowhere/at/all.html", "--", "true"], 2, "/nowhere/at/all.html"),
        (&["--local", "much", "--", "true"], 2, "much"),
        (&["--", "no-such-program"], 127, "no-such-program"),
        (&[], 2, "PROGRAM"),
    ] {
        let (status, errors) = refused(arguments);
        assert_eq!(status, Some(code), "{arguments:?}: {errors}");
        assert!(errors.contains(word) && errors.lines().count() <= 2, "{arguments:?}: {errors}");
    }
}
