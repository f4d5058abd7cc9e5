//! `farside explain`: what the compiler noted in a program, for people and for programs.

mod support;

use std::fs;

use proptest::prelude::*;
use serde_json::Value;

use farside_cli::explain::notes;
use support::{Farside, assert_refused, code, stdout};

const UNIT: &str = concat!(
    r#"{"version":1,"unit":"graph.c","threads":false,"sites":["#,
    r#"{"place":"graph.c:32","function":"make","section":"nodes","capacity":67108864,"line":128,"ways":2},"#,
    r#"{"place":"graph.c:7","function":"text","section":"texts","capacity":65536,"line":64,"ways":0,"#,
    r#""stays":"it is passed to 'puts'","because":"graph.c:9"}],"accesses":["#,
    r#"{"place":"graph.c:100","function":"walk","kind":"load","sites":[0],"held":true,"ahead":true},"#,
    r#"{"place":"graph.c:20","function":"walk","kind":"load","sites":[0]},"#,
    r#"{"place":"graph.c:20","function":"walk","kind":"load","sites":[0]},"#,
    r#"{"place":"graph.c:20","function":"walk","kind":"store","sites":[0],"shared":true},"#,
    r#"{"place":"graph.c:54","function":"main","kind":"free","sites":[0]}]}"#,
    "\n"
);

/// An object file for x86-64 that holds nothing but a part with these bytes.
fn object(part: &str, content: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    bytes.extend([1, 0, 62, 0, 1, 0, 0, 0]);
    let names = format!("\0{part}\0.shstrtab\0").into_bytes();
    let (at, names_at) = (64, 64 + content.len());
    let headers = (names_at + names.len()) as u64;
    for number in [0, 0, headers] {
        bytes.extend(u64::to_le_bytes(number));
    }
    for number in [0, 0, 64, 0, 0, 64, 3, 2] {
        bytes.extend(u16::to_le_bytes(number));
    }
    bytes.extend(content);
    bytes.extend(&names);
    let mut header = |name: u32, kind: u32, offset: usize, len: usize| {
        bytes.extend(name.to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        for number in [0, 0, offset as u64, len as u64, 0, 1, 0] {
            bytes.extend(u64::to_le_bytes(number));
        }
    };
    header(0, 0, 0, 0);
    header(1, 1, at, content.len());
    header(2 + part.len() as u32, 3, names_at, names.len());
    bytes
}

fn written(farside: &Farside, part: &str, content: &[u8]) -> String {
    let path = farside.path("program");
    fs::write(&path, object(part, content)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn copies_of_an_allocation_are_told_once() {
    let farside = Farside::new();
    let site = r#"{"place":"graph.c:32","function":"make","section":"nodes","capacity":67108864,"line":128,"ways":2},"#;
    let copied =
        UNIT.replacen(site, &site.repeat(2), 1).replace(r#""sites":[0]"#, r#""sites":[0,1]"#);
    let program = written(&farside, ".farside.notes", copied.as_bytes());
    let text = stdout(&farside.command(["explain", &program]).output().unwrap());
    assert_eq!(text.matches("graph.c:32").count(), 1, "{text}");
    assert!(text.contains("graph.c:32  in make  (2 copies)"), "{text}");
}

#[test]
fn allocations_are_told_with_the_lines_that_come_to_them() {
    let farside = Farside::new();
    let program = written(&farside, ".farside.notes", UNIT.as_bytes());
    let output = farside.command(["explain", &program]).output().unwrap();
    assert_eq!(code(&output), Some(0));
    let text = stdout(&output);
    let lines: Vec<_> = text.lines().map(|line| line.trim().to_owned()).collect();
    assert!(
        lines.contains(&"section 'nodes': 64 MiB in lines of 128 B, sets of 2".to_owned()),
        "{text}"
    );
    assert!(
        lines.contains(
            &"4 accesses converted: 2 by lookup, 1 shared, 1 held by loops, 1 sent for ahead"
                .to_owned()
        ),
        "{text}"
    );
    let at = |words: &str| {
        let fits = |line: &String| line.split_whitespace().collect::<Vec<_>>().join(" ") == words;
        lines.iter().position(fits).unwrap_or_else(|| panic!("no '{words}' in {text}"))
    };
    let order = [
        at("graph.c:20 walk 2 loads by lookup"),
        at("graph.c:20 walk store shared"),
        at("graph.c:54 main free"),
        at("graph.c:100 walk load held, ahead"),
    ];
    assert!(order.is_sorted(), "{text}");
    assert!(lines.contains(&"it is passed to 'puts' (graph.c:9)".to_owned()), "{text}");
    let output = farside.command(["explain", "--summary", &program]).output().unwrap();
    assert!(!stdout(&output).contains("by lookup,\n") && !stdout(&output).contains("graph.c:100"));
}

#[test]
fn sections_of_several_threads_are_told_from_others() {
    let farside = Farside::new();
    let told = [
        ("", "sets of 2"),
        (",\"threads\":true", "sets of 2, for several threads, which makes accesses dearer"),
        (",\"own\":true", "sets of 2, of which each thread has its own"),
    ];
    for (key, words) in told {
        let unit = UNIT.replacen("\"ways\":2", &format!("\"ways\":2{key}"), 1);
        let program = written(&farside, ".farside.notes", unit.as_bytes());
        let text = stdout(&farside.command(["explain", &program]).output().unwrap());
        let line = text.lines().find(|line| line.contains("section 'nodes'")).expect(&text);
        assert!(line.ends_with(words), "{line}");
    }
}

#[test]
fn whose_memory_a_section_shares_and_which_lines_leave_first_is_told() {
    let farside = Farside::new();
    let unit = UNIT.replacen("\"ways\":2", "\"ways\":2,\"with\":\"rows\"", 1);
    let unit = unit.replace("\"ahead\":true", "\"ahead\":true,\"done\":true");
    let program = written(&farside, ".farside.notes", unit.as_bytes());
    let text = stdout(&farside.command(["explain", &program]).output().unwrap());
    let has = |words: &str| text.lines().any(|line| line.trim_end().ends_with(words));
    assert!(has("sets of 2, in the memory of 'rows'"), "{text}");
    assert!(has("1 sent for ahead, 1 let lines leave first"), "{text}");
    assert!(has("held, ahead, leaves first"), "{text}");
}

#[test]
fn functions_are_told_with_where_they_run() {
    let farside = Farside::new();
    let offload = r#"{"offload":[{"function":"total","place":"graph.c:70"},{"function":"log","place":"graph.c:80","stays":"it calls 'printf'","because":"graph.c:81"}],"#;
    let unit = UNIT.replacen('{', offload, 1);
    let program = written(&farside, ".farside.notes", unit.as_bytes());
    let output = farside.command(["explain", "--summary", &program]).output().unwrap();
    let text = stdout(&output);
    let told = "  graph.c:70  total\n    can run where its data is\n\n  graph.c:80  log\n    \
                runs in the program, not where its data is:\n    it calls 'printf' (graph.c:81)\n";
    assert!(text.ends_with(told), "{text}");
    let output = farside.command(["explain", "--json", &program]).output().unwrap();
    let units: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(units[0]["offload"][1]["stays"], "it calls 'printf'");
}

#[test]
fn programs_get_all_of_it() {
    let farside = Farside::new();
    let program = written(&farside, ".farside.notes", UNIT.as_bytes());
    let output = farside.command(["explain", "--json", &program]).output().unwrap();
    let units: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(units, serde_json::from_str::<Value>(&format!("[{UNIT}]")).unwrap());
}

#[test]
fn what_has_no_notes_is_refused() {
    let farside = Farside::new();
    let refused = |file: &str, word: &str| {
        assert_refused(farside.command(["explain", file]), 2, &[word]);
    };
    refused("/no/such/file", "/no/such/file");
    refused(&written(&farside, ".other", UNIT.as_bytes()), "farside-cc -fsections");
    refused(&written(&farside, ".farside.notes", b""), "farside-cc -fsections");
    refused(&written(&farside, ".farside.notes", b"{}\n"), "damaged");
    let text = farside.path("text");
    fs::write(&text, UNIT).unwrap();
    refused(text.to_str().unwrap(), "no program");
}

proptest! {
    #[test]
    fn damaged_notes_are_refused_or_read(
        at in 0..UNIT.len(),
        bytes in proptest::collection::vec(any::<u8>(), 0..6),
        cut in 0..40usize,
    ) {
        let mut damaged = UNIT.as_bytes().to_vec();
        let end = (at + cut).min(damaged.len());
        damaged.splice(at..end, bytes);
        if let Ok(units) = notes::read(&damaged) {
            for unit in units {
                let known = |site: &usize| *site < unit.sites.len();
                let all = unit.accesses.iter().all(|access| access.sites.iter().all(known));
                prop_assert!(all);
            }
        }
    }
}

#[test]
fn objects_that_the_linker_converts_are_told_from_others() {
    let farside = Farside::new();
    let program = written(&farside, ".llvm.lto", b"BC");
    let command = farside.command(["explain", &program]);
    assert_refused(command, 2, &["is converted when it is linked"]);
}
