//! `farside import` and `farside export`, through files.

mod support;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use farside_trace::{Access, Block, Mapping, Metadata, PageId, TraceReader, TraceWriter};
use support::{Farside, assert_refused, code, stderr, stdout};

const LACKEY: &str = "==7== Lackey\nI  0401ab70,3\n L 1000,8\n S 1008,8\n L 5000,8\n";

fn file(farside: &Farside, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = farside.path(name);
    fs::write(&path, content).unwrap();
    path
}

/// Runs a conversion that has to succeed; what it says on stderr.
fn convert(farside: &Farside, verb: &str, options: &[&str], from: &Path, to: &Path) -> String {
    let mut command = farside.command([verb]);
    let output = command.args(options).arg(from).arg("-o").arg(to).output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    stderr(&output)
}

fn accesses(path: &Path) -> Vec<(u64, bool, u32)> {
    let accesses = TraceReader::open(path).unwrap().accesses();
    accesses.map(Result::unwrap).map(|a| (a.page.0, a.write, a.weight)).collect()
}

/// A trace of the own format, whole or not.
fn own_trace(farside: &Farside, name: &str, finished: bool) -> PathBuf {
    let path = farside.path(name);
    let metadata = Metadata { program: Some("made".into()), ..Metadata::default() };
    let mut writer = TraceWriter::create(&path, &metadata).unwrap();
    let mapping = Mapping { first: PageId(1), count: 2, name: "[heap]".into() };
    writer.map(mapping).unwrap();
    for i in 0..5 {
        let access = Access { page: PageId(i % 2 + 1), write: i == 3, thread: 9, weight: 2 };
        writer.write(access).unwrap();
    }
    writer.flush().unwrap();
    if finished {
        writer.finish().unwrap();
    }
    path
}

#[test]
fn a_guessed_format_is_imported_and_summed_up() {
    let farside = Farside::new();
    let log = file(&farside, "log", LACKEY);
    let out = farside.path("out.fpt");
    let said = convert(&farside, "import", &[], &log, &out);
    assert!(said.ends_with("out.fpt: 2 accesses (3 merged), pages 0x1 to 0x5\n"), "{said}");
    assert_eq!(accesses(&out), [(1, true, 2), (5, false, 1)]);
    let reader = TraceReader::open(&out).unwrap();
    let metadata = reader.metadata().unwrap();
    assert_eq!((metadata.tool.as_deref(), metadata.merged), (Some("lackey"), true));
    let said = convert(&farside, "import", &["-q", "--keep-repeats"], &log, &out);
    assert_eq!((said.as_str(), accesses(&out).len()), ("", 3));
    convert(&farside, "import", &["-q", "--page-size", "2M"], &log, &out);
    assert_eq!(accesses(&out), [(0, true, 3)]);
    assert_eq!(TraceReader::open(&out).unwrap().metadata().unwrap().page_shift, 21);
}

#[test]
fn standard_input_and_compressed_files_are_imported() {
    let farside = Farside::new();
    let out = farside.path("out.fpt");
    let mut command = farside.command(["import", "-q", "-", "-o"]);
    let mut child = command.arg(&out).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(LACKEY.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(accesses(&out).len(), 2);
    let list = own_trace(&farside, "list.fpt", true);
    let packed = farside.path("list.u64.zst");
    convert(&farside, "export", &[], &list, &packed);
    convert(&farside, "import", &["-q"], &packed, &out);
    assert_eq!(accesses(&out).iter().map(|access| access.0).collect::<Vec<_>>(), [1, 2, 1, 2, 1]);
}

#[test]
fn every_format_is_exported() {
    let farside = Farside::new();
    let trace = own_trace(&farside, "trace.fpt", true);
    for (name, options, begins, bytes) in [
        ("a.csv", &[][..], &b"access,page,write,thread,weight\n0,1,0,9,2\n"[..], 82),
        ("a.txt", &[], b"1\n2\n1\n2\n1\n", 10),
        ("a.u64", &[], b"\x01\0\0\0\0\0\0\0\x02", 40),
        ("a.u64.zst", &[], b"\x28\xb5\x2f\xfd", 0),
        ("a.oracleGeneral.bin", &[], b"\0\0\0\0\x01\0\0\0\0\0\0\0\0\x10\0\0\x02\0", 120),
        ("a.parquet", &[], b"PAR1", 0),
        ("a.arrow", &[], b"ARROW1", 0),
        ("a", &["--to", "csv"], b"access,", 82),
    ] {
        let out = farside.path(name);
        let said = convert(&farside, "export", options, &trace, &out);
        assert!(said.contains("1 mapping events are left out"), "{said}");
        let content = fs::read(&out).unwrap();
        assert!(content.starts_with(begins), "{name}: {content:x?}");
        assert!(bytes == 0 || content.len() == bytes, "{name}: {} bytes", content.len());
    }
    let mut command = farside.command(["export", "--to", "pages", "-o", "-"]);
    let output = command.arg(&trace).output().unwrap();
    assert_eq!(stdout(&output), "1\n2\n1\n2\n1\n");
}

#[test]
fn a_cut_trace_is_exported_as_far_as_it_goes_and_that_is_said() {
    let farside = Farside::new();
    let trace = own_trace(&farside, "cut.fpt", false);
    let out = farside.path("out.txt");
    let said = convert(&farside, "export", &[], &trace, &out);
    assert!(said.contains("was cut at byte ") && said.contains("the 5 accesses before"), "{said}");
    assert_eq!(accesses(&out).len(), 5);
}

#[test]
fn a_trace_survives_the_way_through_csv() {
    let farside = Farside::new();
    let trace = own_trace(&farside, "trace.fpt", true);
    let (csv, back) = (farside.path("a.csv"), farside.path("back.fpt"));
    convert(&farside, "export", &[], &trace, &csv);
    convert(&farside, "import", &["-q"], &csv, &back);
    let read = |path: &Path| {
        let mut reader = TraceReader::open(path).unwrap();
        let mut block = Block::default();
        assert!(reader.next_block(&mut block).unwrap());
        block.accesses
    };
    assert_eq!(read(&trace), read(&back));
}

#[test]
fn bad_command_lines_and_files_end_with_code_2() {
    let farside = Farside::new();
    let lackey = file(&farside, "log", LACKEY);
    let numbers = file(&farside, "numbers", "1\n2\n");
    let bad = file(&farside, "bad", " L 1000,8\nrubbish\n");
    let empty = file(&farside, "empty", "");
    let trace = own_trace(&farside, "trace.fpt", true);
    let mut damaged = fs::read(&trace).unwrap();
    let middle = damaged.len() - 120;
    damaged[middle] ^= 1;
    let damaged = file(&farside, "damaged.fpt", damaged);
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let (fpt, csv) = (text(&farside.path("o.fpt")), text(&farside.path("o.csv")));
    let absent = text(&farside.path("no/such.fpt"));
    for (arguments, words) in [
        (vec!["import"], vec!["IN"]),
        (vec!["import", &text(&lackey)], vec!["--output"]),
        (vec!["import", &text(&lackey), "-o", &csv], vec!["o.csv", "farside export"]),
        (vec!["import", &text(&lackey), "-o", "-"], vec!["-o -"]),
        (vec!["import", &text(&lackey), "-o", &text(&lackey)], vec!["the input"]),
        (vec!["import", &text(&numbers), "-o", &fpt], vec!["--from", "addresses", "pages"]),
        (vec!["import", "--from", "magic", &text(&lackey), "-o", &fpt], vec!["magic", "lackey"]),
        (vec!["import", "--page-size", "5K", &text(&lackey), "-o", &fpt], vec!["5K"]),
        (vec!["import", "--object-column", "1", &text(&lackey), "-o", &fpt], vec!["csv"]),
        (
            vec!["import", "--keep-repeats", "--merge-repeats", &text(&lackey), "-o", &fpt],
            vec!["--merge-repeats"],
        ),
        (vec!["import", &text(&trace), "-o", &fpt], vec!["already"]),
        (vec!["import", &text(&bad), "-o", &fpt], vec!["bad:2:", "byte 10", "rubbish"]),
        (vec!["import", "--from", "lackey", &text(&empty), "-o", &fpt], vec!["no data access"]),
        (vec!["import", "--from", "lackey", "/no/such", "-o", &fpt], vec!["/no/such"]),
        (vec!["import", "--from", "lackey", "/", "-o", &fpt], vec!["/: cannot read"]),
        (vec!["import", &text(&lackey), "-o", &absent], vec!["no/such.fpt", "cannot create"]),
        (vec!["export", &text(&trace), "-o", &text(&farside.path("o"))], vec!["--to", "parquet"]),
        (vec!["export", &text(&trace), "-o", &fpt], vec!["--to"]),
        (vec!["export", "--to", "csv", &text(&trace), "-o", &fpt], vec!["farside import"]),
        (vec!["export", "--to", "arrow", &text(&trace), "-o", &csv], vec!["arrow", "means csv"]),
        (vec!["export", "--to", "x", &text(&trace), "-o", &csv], vec!["--to x", "csv"]),
        (vec!["export", "--to", "csv", &text(&trace), "-o", &text(&trace)], vec![]),
        (vec!["export", &text(&damaged), "-o", &csv], vec!["damaged.fpt", "at byte", "checksum"]),
        (vec!["export", &text(&lackey), "-o", &csv], vec!["cannot tell the trace format"]),
        (vec!["export", "--to", "oracle-general", &text(&trace), "-o", "-"], vec!["regular file"]),
    ] {
        assert_refused(farside.command(&arguments), 2, &words);
        for output in [&fpt, &csv] {
            assert!(!Path::new(output).exists(), "{arguments:?} leaves {output}");
        }
    }
}

#[test]
fn a_file_that_is_no_trace_does_not_cost_the_output_that_is_there() {
    let farside = Farside::new();
    let out = file(&farside, "out.fpt", "precious");
    let rubbish = file(&farside, "log", "rubbish\n");
    let mut command = farside.command(["import", "--from", "lackey"]);
    command.arg(&rubbish).arg("-o").arg(&out);
    assert_refused(command, 2, &["log:1:"]);
    assert_eq!(fs::read(&out).unwrap(), b"precious");
}

#[test]
fn a_full_disk_is_the_machines_fault() {
    let farside = Farside::new();
    let log = file(&farside, "log", LACKEY);
    let trace = own_trace(&farside, "trace.fpt", true);
    if !Path::new("/dev/full").exists() {
        println!("skipped: a_full_disk_is_the_machines_fault: no /dev/full");
        return;
    }
    let mut command = farside.command(["import"]);
    command.arg(log).args(["-o", "/dev/full"]);
    assert_refused(command, 125, &["/dev/full: cannot write"]);
    for format in ["csv", "parquet", "arrow", "pages-u64-zst"] {
        let mut command = farside.command(["export", "--to", format]);
        command.arg(&trace).args(["-o", "/dev/full"]);
        assert_refused(command, 125, &["/dev/full: cannot write"]);
    }
    assert!(Path::new("/dev/full").exists());
}

#[test]
fn help_names_every_format() {
    let farside = Farside::new();
    for (verb, words) in [
        (
            "import",
            vec!["lackey", "dynamorio", "oracle-general", "csv", "perf-script", "addresses"],
        ),
        ("export", vec!["csv", "oracle-general", "parquet", "arrow", "pages-u64-zst"]),
    ] {
        let help = stdout(&farside.command([verb, "--help"]).output().unwrap());
        for word in words {
            assert!(help.contains(word), "{verb}: {word}");
        }
    }
}
