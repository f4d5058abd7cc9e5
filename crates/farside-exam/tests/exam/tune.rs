//! `farside tune`: sections for a program that nobody told about them.

mod threads;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use farside_exam::{farside, has_program, skipped};
use serde_json::Value;
use tempfile::TempDir;

/// The graph of figure 3.1 of the thesis on Mira.
const GRAPH: [(&str, &str); 2] = [
    ("graph.c", include_str!("../../../farside-cli/src/bench/compile/sources/graph.c")),
    ("measured.h", include_str!("../../../farside-cli/src/bench/compile/sources/measured.h")),
];

const MAKEFILE: &str = "\
CFLAGS = -std=gnu11 -O2 -g
graph: graph.o
\t$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^
graph.o: graph.c measured.h
";

/// Nodes of 128 bytes, and edges of 16.
const SIZE: [&str; 2] = ["40000", "60000"];

/// How long a step may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// A directory with the program.
struct Stage {
    home: TempDir,
}

impl Stage {
    /// None, and counted as skipped, if there is no compiler.
    fn new(test: &str) -> Option<Self> {
        if !compiler().is_file() {
            skipped(test, "no farside-cc beside farside; build it: make compiler");
            return None;
        }
        if !has_program(test, "make", "make") {
            return None;
        }
        let home = tempfile::tempdir().expect("a temporary directory");
        let stage = Self { home };
        GRAPH.iter().for_each(|(name, text)| stage.write(name, text));
        stage.write("Makefile", MAKEFILE);
        Some(stage)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("a file");
    }

    fn tune(&self, build: &str, options: &[&str], program: &[&str]) -> Output {
        self.command(build, options, program).output().expect("farside starts")
    }

    fn command(&self, build: &str, options: &[&str], program: &[&str]) -> Command {
        self.command_over("10gbit", build, options, program)
    }

    /// The same over a network of another bandwidth.
    fn command_over(
        &self,
        bandwidth: &str,
        build: &str,
        options: &[&str],
        program: &[&str],
    ) -> Command {
        let mut command = Command::new(farside());
        let far = format!("embedded:latency=5us,bandwidth={bandwidth}");
        command.current_dir(self.home.path()).args(["tune", "--far", &far]);
        command.args(["--build", build]).args(options).arg("--").args(program);
        command
    }

    /// Everything that lies in the directory.
    fn files(&self) -> Vec<String> {
        let all = fs::read_dir(self.home.path()).expect("a directory");
        let mut all: Vec<_> = all
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        all.sort();
        all
    }

    /// What the program prints, run by itself.
    fn printed(&self) -> Vec<u8> {
        let output = Command::new(self.path("graph")).args(SIZE).output().expect("it starts");
        assert!(output.status.success(), "{output:?}");
        output.stdout
    }
}

fn compiler() -> PathBuf {
    farside().with_file_name("../compiler/bin/farside-cc")
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|why| panic!("{why}: {output:?}"))
}

/// The section of a configuration to which what a function allocates goes.
fn section<'a>(step: &'a Value, function: &str) -> &'a Value {
    let all = step["configuration"]["sections"].as_array().expect("sections");
    let is_it = |it: &&Value| {
        it["sites"]
            .as_array()
            .is_some_and(|sites| sites.iter().any(|site| site["function"] == function))
    };
    all.iter().find(is_it).unwrap_or_else(|| panic!("no section for {function}: {step}"))
}

#[test]
fn sections_are_found_for_a_program_that_nobody_told_about_them() {
    let test = "sections_are_found_for_a_program_that_nobody_told_about_them";
    let Some(stage) = Stage::new(test) else { return };
    let options = ["--local", "40%", "--iterations", "2", "--json", "--html", "page.html"];
    let program = ["./graph", SIZE[0], SIZE[1]];
    let journal = json(&stage.tune("make -B", &options, &program));
    let tuning = &journal["tunings"][0];
    let functions: Vec<_> =
        tuning["suffering"].as_array().expect("functions").iter().map(|it| &it[0]).collect();
    assert!(functions.iter().any(|it| **it == "main"), "{functions:?}");
    // Nodes are used here and there, edges one after another.
    let first = &tuning["steps"][0];
    let (nodes, edges) = (section(first, "new_nodes"), section(first, "new_edges"));
    assert_ne!(nodes["name"], edges["name"], "{first}");
    let number = |of: &Value, key: &str| of[key].as_u64().expect("a number");
    assert!(number(nodes, "line") < number(edges, "line"), "{first}");
    assert!(number(edges, "line") >= 1024, "{edges}");
    assert!(number(nodes, "capacity") > number(edges, "capacity"), "{first}");
    let all: u64 = [nodes, edges].map(|it| number(it, "capacity")).iter().sum();
    assert!(all < number(tuning, "local"), "{first}");
    assert!(first["foreseen"].as_f64() > Some(0.0), "{first}");
    assert!(first["curves"].as_array().is_some_and(|it| it.len() == 2), "{first}");
    // The first step is run beside paged memory, and is what tuning converges to if nothing else gains.
    assert!(first["beside"].as_array().is_some_and(|it| !it.is_empty()), "{first}");
    let is_kept = |step: &Value| step["outcome"] == "kept";
    let steps = tuning["steps"].as_array().expect("steps");
    let last = steps.iter().rposition(is_kept).map_or(0, |at| at as u64 + 1);
    assert!(tuning["converged"].as_u64().is_some_and(|it| it <= last), "{tuning}");

    // What is left is the program, which does what it did, its section file, the page, and what was done.
    assert!(
        stage.files().iter().all(|it| !it.contains(".tune-") && !it.contains("draft")),
        "{:?}",
        stage.files()
    );
    let tuned = stage.printed();
    let plain = Command::new("make").args(["-B", "CC=cc"]).current_dir(stage.home.path()).output();
    assert!(plain.is_ok_and(|it| it.status.success()));
    assert_eq!(String::from_utf8_lossy(&stage.printed()), String::from_utf8_lossy(&tuned));
    let page = fs::read_to_string(stage.path("page.html")).expect("a page");
    assert!(page.contains("new_nodes") && page.contains("<svg"), "{page}");
    let file = fs::read_to_string(stage.path("sections.toml")).expect("a section file");
    assert!(file.starts_with("# Found by farside tune for ./graph"), "{file}");

    // It can go on, and does not begin anew.
    let options = ["--local", "40%", "--iterations", "2", "--json", "--resume"];
    let again = json(&stage.tune("make -B", &options, &program));
    assert_eq!(again["tunings"][0]["steps"], tuning["steps"]);
    let other = stage.tune("make", &options, &program);
    let said = String::from_utf8_lossy(&other.stderr);
    assert!(other.status.code() == Some(2) && said.contains("of another program, build"), "{said}");
}

#[test]
fn sections_of_different_phases_share_memory() {
    let test = "sections_of_different_phases_share_memory";
    let Some(stage) = Stage::new(test) else { return };
    let source = include_str!("../../programs/phased.c");
    stage.write("phased.c", source);
    stage.write("Makefile", "phased: phased.c\n\t$(CC) -O2 -g -o $@ $<\n");
    let program = ["./phased", "30000", "400000"];
    let options = ["--local", "50%", "--iterations", "4", "--repetitions", "1", "--json"];
    let journal = json(&stage.tune("make -B", &options, &program));
    let steps = journal["tunings"][0]["steps"].as_array().expect("steps");
    // It is tried when nothing is gained by what each has for itself, and is kept if it is faster.
    let is_shared = |it: &&Value| it["what"] == "sections that share memory";
    let step = steps.iter().find(is_shared).unwrap_or_else(|| panic!("{journal}"));
    let (nodes, rows) = (section(step, "new_nodes"), section(step, "new_rows"));
    let with = [nodes, rows].map(|it| it["with"].as_str());
    let names = [nodes, rows].map(|it| it["name"].as_str());
    assert!(with == [None, names[0]] || with == [names[1], None], "{step}");
    let told = step["changes"].to_string();
    assert!(told.contains("shares the memory of"), "{told}");
    // Both have what there is.
    let bytes: u64 = [nodes, rows].iter().filter_map(|it| it["capacity"].as_u64()).sum();
    assert!(Some(bytes) > journal["tunings"][0]["local"].as_u64(), "{step}");
    assert!(!step["outcome"].to_string().contains("roken"), "{step}");
}

#[test]
fn of_records_only_fields_come_where_bytes_are_dear() {
    let test = "of_records_only_fields_come_where_bytes_are_dear";
    let Some(stage) = Stage::new(test) else { return };
    stage.write("records.c", include_str!("../../programs/records.c"));
    let options = ["--local", "20%", "--iterations", "6", "--repetitions", "3", "--json"];
    let build = "$CC -O2 -g -o records records.c";
    let program = ["./records", "100000", "5"];
    let tuned = stage.command_over("500mbit", build, &options, &program).output();
    let journal = json(&tuned.expect("farside starts"));
    let steps = journal["tunings"][0]["steps"].as_array().expect("steps");
    let step = steps.iter().find(|it| it["what"] == "fields of records");
    let step = step.unwrap_or_else(|| panic!("no such step: {journal}"));
    assert_eq!(section(step, "new_records")["fields"], true, "{step}");
    assert_eq!(step["outcome"], "kept", "{step}");
    let file = fs::read_to_string(stage.path("sections.toml")).expect("a section file");
    assert!(file.contains("fields = true"), "{file}");
}

#[test]
fn what_has_room_is_tried_without_a_section() {
    let test = "what_has_room_is_tried_without_a_section";
    let Some(stage) = Stage::new(test) else { return };
    stage.write("roomy.c", include_str!("../../programs/roomy.c"));
    let options = ["--local", "40%", "--iterations", "2", "--repetitions", "1", "--json"];
    let build = "$CC -O2 -g -o roomy roomy.c";
    let program = ["./roomy", "60000", "65536", "100000"];
    let journal = json(&stage.tune(build, &options, &program));
    let [first, second] = [0, 1].map(|at| &journal["tunings"][0]["steps"][at]);
    let kinds = section(first, "new_kinds");
    assert_eq!(first["plain"], serde_json::json!([kinds["name"]]), "{first}");
    assert_eq!(second["what"], "no sections for what has room", "{second}");
    let sections = second["configuration"]["sections"].as_array().expect("sections");
    assert!(sections.len() == 1 && sections[0] == *section(first, "new_nodes"), "{second}");
    // What it holds is paged then, and the program prints what it did, or this would be told.
    let paged = |it: &Value| it["configuration"]["paged"].as_u64().expect("a number");
    assert_eq!(Some(paged(second) - paged(first)), kinds["holds"].as_u64(), "{second}");
    assert!(!second["outcome"].to_string().contains("roken"), "{second}");
}

#[test]
fn one_program_has_capacities_for_several_amounts_of_memory() {
    let test = "one_program_has_capacities_for_several_amounts_of_memory";
    let Some(stage) = Stage::new(test) else { return };
    let program = ["./graph", SIZE[0], SIZE[1]];
    let options = ["--local", "40%,70%", "--iterations", "1", "--repetitions", "1", "--json"];
    let journal = json(&stage.tune("make -B", &options, &program));
    let tunings = journal["tunings"].as_array().expect("tunings");
    assert_eq!(tunings.len(), 2, "{journal}");
    let sections = |of: &Value| of["best"]["sections"].as_array().map_or(0, Vec::len);
    let files = stage.files();
    if tunings.iter().all(|it| sections(it) == 2) {
        let file = fs::read_to_string(stage.path("sections.toml")).expect("a section file");
        // For each section and each amount of memory; and how often sections missed with each.
        assert_eq!(file.matches(", capacity = ").count(), 4, "{file}");
        assert_eq!(file.matches(", misses = ").count(), 2, "{file}");
        assert_eq!(file.matches("capacities = ").count(), 2, "{file}");
    } else {
        // Not all of them are faster here and now: each has a file of its own.
        assert_eq!(files.iter().filter(|it| it.starts_with("sections-")).count(), 2, "{files:?}");
    }
    stage.printed();
}

#[test]
fn what_is_stopped_leaves_nothing_behind_and_goes_on_later() {
    let test = "what_is_stopped_leaves_nothing_behind_and_goes_on_later";
    let Some(stage) = Stage::new(test) else { return };
    let program = ["./graph", SIZE[0], SIZE[1]];
    let options = ["--local", "40%", "--iterations", "30", "--repetitions", "1"];
    let mut command = stage.command("make -B", &options, &program);
    let mut tuning = command.stderr(Stdio::piped()).spawn().expect("farside starts");
    // Once a step is finished.
    let deadline = Instant::now() + PATIENCE;
    while !stage.path(".farside-tune/journal.json").is_file() {
        assert!(Instant::now() < deadline && tuning.try_wait().expect("a child").is_none());
        std::thread::sleep(Duration::from_millis(20));
    }
    // SAFETY: takes no pointers; the process is our child.
    unsafe { libc::kill(tuning.id() as i32, libc::SIGINT) };
    let output = tuning.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(130) && said.contains("--resume"), "{said}");
    assert!(stage.files().iter().all(|it| !it.contains(".tune-")), "{:?}", stage.files());
    let options =
        ["--local", "40%", "--iterations", "1", "--repetitions", "1", "--resume", "--json"];
    let journal = json(&stage.tune("make -B", &options, &program));
    assert!(
        journal["tunings"][0]["steps"].as_array().is_some_and(|it| !it.is_empty()),
        "{journal}"
    );
    stage.printed();
}

#[test]
fn what_is_built_wrong_is_not_kept() {
    let Some(stage) = Stage::new("what_is_built_wrong_is_not_kept") else { return };
    let program = ["./graph", SIZE[0], SIZE[1]];
    // It cannot be built with sections.
    let build = "make -B && if test \"$FARSIDE_SECTIONS\"; then echo 'error: no sections today' >&2; exit 1; fi";
    let journal =
        json(&stage.tune(build, &["--local", "40%", "--iterations", "3", "--json"], &program));
    let tuning = &journal["tunings"][0];
    let broken = tuning["steps"][0]["outcome"]["broken"].as_str().unwrap_or_default();
    assert!(broken.contains("no sections today"), "{tuning}");
    assert_eq!(tuning["best"]["sections"].as_array().map(Vec::len), Some(0));
    stage.printed();

    // With them it does something else.
    let text = GRAPH[0]
        .1
        .replace("int main", "#ifdef WRONG\n#define printf(...) puts(\"wrong\")\n#endif\nint main");
    stage.write("graph.c", &text);
    let build =
        "if test \"$FARSIDE_SECTIONS\"; then make -B CFLAGS='-O2 -g -DWRONG'; else make -B; fi";
    let journal =
        json(&stage.tune(build, &["--local", "40%", "--iterations", "2", "--json"], &program));
    let tuning = &journal["tunings"][0];
    let broken = tuning["steps"][0]["outcome"]["broken"].as_str().unwrap_or_default();
    assert!(broken.contains("something else"), "{tuning}");
    assert_eq!(tuning["best"]["sections"].as_array().map(Vec::len), Some(0));
}

/// The graph, which first waits for so many milliseconds as a build command says.
fn stage_that_waits(test: &str) -> Option<Stage> {
    let stage = Stage::new(test)?;
    let wait =
        "__attribute__((constructor)) static void wait_first(void) { usleep(WAIT * 1000); }\n";
    stage.write("graph.c", &format!("#include <unistd.h>\n{wait}{}", GRAPH[0].1));
    Some(stage)
}

const BUILD_WAITING: &str = "make -B CFLAGS=\"-std=gnu11 -O2 -g -DWAIT=$wait\"";

#[test]
fn what_is_far_slower_is_not_run_to_its_end() {
    let test = "what_is_far_slower_is_not_run_to_its_end";
    let Some(stage) = stage_that_waits(test) else { return };
    // All in paged memory waits; of builds with sections only the second does, and longer than anybody would.
    let build = "wait=2000; if test \"$FARSIDE_SECTIONS\"; then wait=0; fi; \
        if test \"$FARSIDE_SECTIONS\" && ! test \"$FARSIDE_PROFILE_BUILD\"; then \
        if test -e first && ! test -e second; then wait=200000; touch second; fi; \
        touch first; fi; ";
    let options = ["--local", "40%", "--iterations", "2", "--json"];
    let program = ["./graph", SIZE[0], SIZE[1]];
    let journal = json(&stage.tune(&format!("{build}{BUILD_WAITING}"), &options, &program));
    let steps = journal["tunings"][0]["steps"].as_array().expect("steps");
    assert_eq!(steps[0]["outcome"], "kept", "{journal}");
    assert_eq!(steps[1]["outcome"], "rolled_back", "{journal}");
    assert!(steps[0]["is_cut"] == false && steps[1]["is_cut"] == true, "{journal}");
}

#[test]
fn what_cannot_be_measured_with_little_room_is_measured_with_more() {
    let test = "what_cannot_be_measured_with_little_room_is_measured_with_more";
    let Some(stage) = stage_that_waits(test) else { return };
    // The first build with sections that measure themselves is as good as never done.
    let build = "wait=0; if test \"$FARSIDE_SECTIONS\" && ! test -e first; then wait=200000; touch first; fi; ";
    let options = ["--local", "40%", "--iterations", "1", "--repetitions", "1", "--json"];
    let program = ["./graph", SIZE[0], SIZE[1]];
    let journal = json(&stage.tune(&format!("{build}{BUILD_WAITING}"), &options, &program));
    let step = &journal["tunings"][0]["steps"][0];
    assert!(step["outcome"]["broken"].is_null(), "{journal}");
    assert!(step["times"].as_array().is_some_and(|it| !it.is_empty()), "{journal}");
    assert!(step["curves"].as_array().is_some_and(|it| !it.is_empty()), "{journal}");
}

#[test]
fn functions_that_are_inlined_are_tried_where_their_data_is() {
    let test = "functions_that_are_inlined_are_tried_where_their_data_is";
    let Some(stage) = Stage::new(test) else { return };
    let text = include_str!("../../../farside-cli/src/bench/compile/sources/filter.c");
    let inlined = text.replace("__attribute__((noinline)) static", "static");
    assert_ne!(text, inlined);
    stage.write("filter.c", &inlined);
    let options = ["--local", "30%", "--iterations", "5", "--repetitions", "1", "--json"];
    let journal = json(&stage.tune(
        "$CC -std=gnu11 -O2 -g -o filter filter.c",
        &options,
        &["./filter", "300000", "10"],
    ));
    let steps = journal["tunings"][0]["steps"].as_array().expect("steps");
    let tried = steps
        .iter()
        .find(|it| it["what"] == "functions where their data is")
        .unwrap_or_else(|| panic!("no such step: {journal}"));
    assert_eq!(tried["configuration"]["offload"], serde_json::json!(["length", "pay"]), "{tried}");
    // It was built, and printed the same.
    assert!(tried["times"].as_array().is_some_and(|it| !it.is_empty()), "{tried}");
}

#[test]
fn it_is_told_what_cannot_go_to_sections() {
    let Some(stage) = Stage::new("it_is_told_what_cannot_go_to_sections") else { return };
    // The C library looks for it.
    let text = "#include <search.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
        static int order(const void *one, const void *other) {\n\
        return *(const int *)one - *(const int *)other;\n}\n\
        int main(void) {\n\
        int *all = malloc(1 << 22);\n\
        for (int i = 0; i < 1 << 20; i++) all[i] = i * 7919 % 65536;\n\
        size_t count = 1 << 20;\n\
        int *found = lfind(&all[50000], all, &count, sizeof *all, order);\n\
        printf(\"%d\\n\", *found);\n\
        return 0;\n}\n";
    stage.write("sorted.c", text);
    let options = ["--local", "60%", "--iterations", "1", "--repetitions", "1"];
    let output = stage.tune("$CC -O2 -g -o sorted sorted.c", &options, &["./sorted"]);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(printed.contains("nothing was found in 0 steps"), "{printed}");
    assert!(
        printed.contains("stays in paged memory: sorted.c:8, 4 MiB") && printed.contains("'lfind'"),
        "{printed}"
    );
}

#[test]
fn what_cannot_be_tuned_is_refused() {
    let Some(stage) = Stage::new("what_cannot_be_tuned_is_refused") else { return };
    let program = ["./graph", SIZE[0], SIZE[1]];
    stage.write("changing.c", "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\nint main(void) { char *all = calloc(1 << 20, 1); printf(\"%d %d\\n\", all[5], getpid()); return 0; }\n");
    for (build, options, program, code, word) in [
        ("exit 3", &[][..], &program[..], 125, "the build failed"),
        ("make -B CC=cc", &[], &program, 2, "CC and CXX"),
        ("printf '#!/bin/sh\\n' > graph; chmod +x graph", &[], &program, 2, "no script"),
        ("make -B", &["--local", "50"], &program, 2, "too little"),
        ("make -B", &["--local", "1M"], &program, 2, "no room for sections"),
        ("make -B", &["--gain", "200%"], &program, 2, "percentage"),
        ("make -B", &["--resume"], &program, 2, "nothing to resume"),
        ("make -B", &[], &["graph"], 2, "./graph"),
        ("make -B", &["--input", "no.txt"], &program, 2, "--input: cannot read no.txt"),
        ("true", &[], &["./missing"], 2, "the build made no program ./missing"),
        ("$CC -O2 -g -o changing changing.c", &[], &["./changing"], 2, "something else each time"),
    ] {
        let output = stage.tune(build, options, program);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(code) && said.contains(word),
            "{build} {options:?}: {said}"
        );
        assert!(!said.contains("panicked"), "{said}");
    }
}
