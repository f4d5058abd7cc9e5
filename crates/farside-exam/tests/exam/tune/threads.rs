//! Sections that several threads use.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::{Stage, json, section};

/// Steps in which threads have something for themselves.
const COPIES: &str = "copies for threads that read";
const OWN: &str = "sections of each thread";

/// Tunes a program of two threads, which first waits for some seconds unless its section file has a key: so it is known
/// which step gains most, whatever else the machine does. That step, and what the section file says at the end.
fn tune_threads(stage: &Stage, name: &str, text: &str, what: &str, key: &str) -> (Value, String) {
    let waits = "__attribute__((constructor)) static void wait_first(void) { sleep(WAIT); }";
    stage.write(&format!("{name}.c"), &format!("#include <unistd.h>\n{waits}\n{text}"));
    let build = |compiler: &str, wait: &str| {
        format!("{compiler} -O2 -g -DWAIT={wait} -o {name} {name}.c -lpthread")
    };
    let has_key =
        format!("test \"$FARSIDE_SECTIONS\" && grep -q '{key} = true' \"$FARSIDE_SECTIONS\"");
    let command = format!("wait=3; if {has_key}; then wait=0; fi; {}", build("$CC", "$wait"));
    let program = [&*format!("./{name}"), "512", "20000", "200"];
    let options = ["--local", "30%", "--iterations", "5", "--repetitions", "1", "--json"];
    let journal = json(&stage.tune(&command, &options, &program));
    let steps = journal["tunings"][0]["steps"].as_array().expect("steps");
    let step = steps.iter().find(|it| it["what"] == what);
    let step = step.unwrap_or_else(|| panic!("no such step: {journal}")).clone();
    let file = fs::read_to_string(stage.path("sections.toml")).expect("a section file");
    // What is left is the tuned program.
    let printed = || {
        let mut run = Command::new(stage.path(name));
        String::from_utf8(run.args(&program[1..]).output().expect("it starts").stdout)
    };
    let tuned = printed();
    let plain =
        Command::new("sh").args(["-c", &build("cc", "0")]).current_dir(stage.home.path()).output();
    assert!(plain.is_ok_and(|it| it.status.success()));
    assert_eq!(printed(), tuned);
    // All caches together have no more than there is.
    let section = section(&step, "new_table");
    let number = |of: &Value| of.as_u64().expect("a number");
    let all = number(&section["capacity"]) * number(&section["each"]["caches"]);
    assert!(all < number(&journal["tunings"][0]["local"]), "{journal}");
    (step, file)
}

#[test]
fn threads_that_read_have_copies_of_what_main_writes() {
    let test = "threads_that_read_have_copies_of_what_main_writes";
    let Some(stage) = Stage::new(test) else { return };
    let text = include_str!("../../../programs/readers.c");
    let (step, file) = tune_threads(&stage, "readers", text, COPIES, "copies");
    let each = &section(&step, "new_table")["each"];
    assert_eq!(*each, serde_json::json!({"apart": "copies", "caches": 3}), "{step}");
    assert_eq!(step["outcome"], "kept", "{step}");
    assert!(file.contains("copies = true") && !file.contains("own = true"), "{file}");
}

#[test]
fn threads_have_sections_of_their_own_for_what_only_they_use() {
    let test = "threads_have_sections_of_their_own_for_what_only_they_use";
    let Some(stage) = Stage::new(test) else { return };
    let text = include_str!("../../../programs/workers.c");
    let (step, file) = tune_threads(&stage, "workers", text, OWN, "own");
    let each = &section(&step, "new_table")["each"];
    assert_eq!(*each, serde_json::json!({"apart": "own", "caches": 2}), "{step}");
    assert_eq!(step["outcome"], "kept", "{step}");
    assert!(file.contains("own = true") && !file.contains("copies = true"), "{file}");
}

#[test]
fn what_threads_cannot_have_for_themselves_is_told_and_not_run() {
    let test = "what_threads_cannot_have_for_themselves_is_told_and_not_run";
    let Some(stage) = Stage::new(test) else { return };
    // The threads change what main has made.
    let text = include_str!("../../../programs/readers.c");
    let changed = text
        .replace("table[at].value;", "table[at].value, table[at].rest[part]++;")
        .replace("look(unsigned long seed)", "look(unsigned long seed, int part)")
        .replace("look(part->seed)", "look(part->seed, (int)part->seed)");
    assert_eq!(changed.matches("part]++").count(), 1, "{changed}");
    let options = ["--local", "30%", "--iterations", "5", "--repetitions", "1", "--json"];
    let program = ["./changed", "512", "20000", "200"];
    stage.write("changed.c", &changed);
    let journal =
        json(&stage.tune("$CC -O2 -g -o changed changed.c -lpthread", &options, &program));
    let steps = journal["tunings"][0]["steps"].as_array().expect("steps");
    let is_tried = |what: &str| steps.iter().find(|it| it["what"] == what);
    assert!(is_tried(COPIES).is_none(), "others write: {journal}");
    let step = is_tried(OWN).unwrap_or_else(|| panic!("no such step: {journal}"));
    let why = step["outcome"]["stays"].as_str().unwrap_or_default();
    assert!(why.contains("by the variable 'table'"), "{step}");
    assert_eq!(step["times"], serde_json::json!([]), "{step}");
    let file = fs::read_to_string(stage.path("sections.toml")).expect("a section file");
    assert!(!file.contains("own = true") && !file.contains("copies = true"), "{file}");
}
