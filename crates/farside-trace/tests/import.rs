//! Other tools' traces: small samples by hand, and real ones where the tools are installed.

mod support;

use std::io::Cursor;
use std::path::Path;
use std::process::Command;

use farside_trace::import::{Column, ImportFormat, ImportOptions, Importer};
use farside_trace::{Access, TraceError};
use proptest::prelude::*;
use support::access;

fn importer(text: &[u8], format: ImportFormat, options: &ImportOptions) -> Importer {
    Importer::new(Box::new(Cursor::new(text.to_vec())), format, options, "in")
}

fn import(text: impl AsRef<[u8]>, format: ImportFormat) -> Result<Vec<Access>, TraceError> {
    importer(text.as_ref(), format, &ImportOptions::default()).collect()
}

/// What is read when repeats are kept apart.
fn single(text: impl AsRef<[u8]>, format: ImportFormat) -> Vec<Access> {
    let options = ImportOptions { merge: Some(false), ..ImportOptions::default() };
    importer(text.as_ref(), format, &options).collect::<Result<_, _>>().unwrap()
}

fn said(text: impl AsRef<[u8]>, format: ImportFormat) -> String {
    import(text, format).unwrap_err().to_string()
}

fn read(page: u64) -> Access {
    access(page, false, 0, 1)
}

fn write(page: u64) -> Access {
    access(page, true, 0, 1)
}

const LACKEY: &str = "==7== Lackey, an example Valgrind tool\n==7== \nI  0401ab70,3\n \
                      L 1fff000768,8\n S 04222c4,4\n M 04222ffc,8\nI  0401b770,1\n\n";

#[test]
fn lackey_counts_every_page_of_an_access_and_a_modification_twice() {
    assert_eq!(
        single(LACKEY, ImportFormat::Lackey),
        [read(0x1fff000), write(0x422), access(0x4222, true, 0, 2), access(0x4223, true, 0, 2)]
    );
    let error = said(" L 0400,8\nhello\n", ImportFormat::Lackey);
    assert!(error.starts_with("in:2: not a line of lackey's trace;"), "{error}");
    assert!(error.ends_with("at byte 10: 'hello'"), "{error}");
}

#[test]
fn repeats_are_merged_with_their_number_unless_they_are_kept() {
    let text = " L 1000,4\n S 1008,4\n L 1ffe,4\n L 2000,1\n";
    assert_eq!(
        import(text, ImportFormat::Lackey).unwrap(),
        [access(1, true, 0, 3), access(2, false, 0, 2)]
    );
    assert_eq!(single(text, ImportFormat::Lackey).len(), 5);
    let huge = ImportOptions { page_shift: 21, ..ImportOptions::default() };
    let pages: Vec<_> = importer(text.as_bytes(), ImportFormat::Lackey, &huge).collect();
    assert_eq!(pages.into_iter().map(Result::unwrap).collect::<Vec<_>>(), [access(0, true, 0, 4)]);
}

#[test]
fn accesses_that_cannot_be_are_refused() {
    let top = " L ffffffffffffffff,1\n";
    assert_eq!(import(top, ImportFormat::Lackey).unwrap(), [read(u64::MAX >> 12)]);
    for (text, words) in [
        (" L ffffffffffffffff,2\n", "beyond the end of the address space"),
        (" L 10000000000000000,1\n", "does not fit in 64 bits"),
        (" L 1000,99999999\n", "more than 1 MiB"),
        (" L 1000,18446744073709551616\n", "not a line of lackey's trace"),
        (" L 1000\n", "not a line of lackey's trace"),
        (" L ,8\n", "not a line of lackey's trace"),
        ("", "no data access in it; is it really lackey?"),
        ("I  1000,3\n", "no data access in it"),
    ] {
        let error = said(text, ImportFormat::Lackey);
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn a_line_without_end_is_refused_in_bounded_memory() {
    let error = said(vec![b'1'; 1 << 20], ImportFormat::Addresses);
    assert!(error.starts_with("in:1: a line that is too long, at byte 0: '1111"), "{error}");
    assert!(error.len() < 200);
}

#[test]
fn dynamorio_view_tells_threads_and_leaves_instructions_out() {
    let text = "Output format:\n<--record#-> <--instr#->: <---tid---> <record details>\n\
        ------------------------------------------------------------\n\
        \x20          1           0:     3264758 <marker: version 3>\n\
        \x20          2           1:     3264758 ifetch       3 byte(s) @ 0x00007f6fdd3ec100 48 89 e7 mov %rsp, %rdi\n\
        \x20          3           1:     3264758 read         8 byte(s) @ 0x00007ffe0d4b5b68 by PC 0x00007f6fdd3ec100\n\
        \x20          4           2: W0.T3264759 write        4 byte(s) @ 0x00007ffe0d4b6ffe by PC 0x00007f6fdd3ec100\n\
        \x20          5           2:     3264759 pref-r-L1    1 byte(s) @ 0x0000000000001000 by PC 0x00007f6fdd3ec100\n\
        \x20          5           2:     3264759                                          e7 e8\n\
        \x20          6           2:     3264759 <thread 3264759 exited>\n\
        View tool results:\n              2 : total instructions\n";
    assert_eq!(
        single(text, ImportFormat::DynamoRio),
        [
            access(0x7ffe0d4b5, false, 3264758, 1),
            access(0x7ffe0d4b6, true, 3264759, 1),
            access(0x7ffe0d4b7, true, 3264759, 1)
        ]
    );
    let error = said("  1 2: 9 read x byte(s) @ 0x10 by PC 0x1\n", ImportFormat::DynamoRio);
    assert!(error.starts_with("in:1: not a line of a DynamoRIO"), "{error}");
    for text in [
        "read 8 byte(s)\n",
        "byte(s)\n",
        "8 byte(s) @\n",
        "1 2: T99999999999 read 8 byte(s) @ 0x1\n",
    ] {
        assert!(import(text, ImportFormat::DynamoRio).is_err(), "{text}");
    }
}

#[test]
fn dynamorio_samples_are_read_in_both_forms() {
    let simple = "Format: <data address>: <data size>, <(r)ead/(w)rite/opcode>\n\
                  0x00007f59c2d002d3:  5, call\n0x00007ffeacab0ec8:  8, w\n0x1000:  2, r\n";
    assert_eq!(single(simple, ImportFormat::DynamoRio), [write(0x7ffeacab0), read(1)]);
    let x86 = "Format: <instr address>,<(r)ead/(w)rite>,<data size>,<data address>\n\
               0x00007f59c2d002d3,r,8,0x0000000000001ffc\n0x00007f59c2d002d3,w,1,0x3000\n";
    assert_eq!(single(x86, ImportFormat::DynamoRio), [read(1), read(2), write(3)]);
    assert!(import("0x1,x,8,0x2\n", ImportFormat::DynamoRio).is_err());
    assert!(import("0x1 r\n", ImportFormat::DynamoRio).is_err());
}

fn oracle(records: &[(u64, i64)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (time, (object, next)) in records.iter().enumerate() {
        bytes.extend((time as u32).to_le_bytes());
        bytes.extend(object.to_le_bytes());
        bytes.extend(4096u32.to_le_bytes());
        bytes.extend(next.to_le_bytes());
    }
    bytes
}

#[test]
fn oracle_general_gives_objects_as_pages_and_repeats_stay() {
    let bytes = oracle(&[(7, 2), (u64::MAX, -1), (7, 3), (7, i64::MAX)]);
    let expected = [read(7), read(u64::MAX), read(7), read(7)];
    assert_eq!(import(&bytes, ImportFormat::OracleGeneral).unwrap(), expected);
    let error = said(&bytes[..50], ImportFormat::OracleGeneral);
    assert!(error.contains("cut short") && error.ends_with("at byte 48"), "{error}");
    let error = said(oracle(&[(7, -1), (8, 1)]), ImportFormat::OracleGeneral);
    assert!(error.contains("no oracleGeneral") && error.ends_with("at byte 24"), "{error}");
    assert!(import(oracle(&[(7, -2)]), ImportFormat::OracleGeneral).is_err());
    assert!(import([], ImportFormat::OracleGeneral).is_err());
}

#[test]
fn csv_columns_are_found_by_their_names() {
    let block = "version,time,op,size,lbn\n1,33898,2a,512,42932745\n1,33898,28,512,5\n";
    assert_eq!(import(block, ImportFormat::Csv).unwrap(), [write(42932745), read(5)]);
    let own = "access,page,write,thread,weight\n0,3,1,9,4\n1,3,0,9,1\n";
    let expected = [access(3, true, 9, 4), access(3, false, 9, 1)];
    assert_eq!(import(own, ImportFormat::Csv).unwrap(), expected);
    let quoted = "# time | obj-id\n1 | \"12\"\n# a comment\n\n2|12\r\n";
    assert_eq!(import(quoted, ImportFormat::Csv).unwrap(), [read(12), read(12)]);
    let text = import("key\nuser:1\nuser:2\nuser:1\n", ImportFormat::Csv).unwrap();
    assert!(text[0] == text[2] && text[0] != text[1]);
    for (text, words) in [
        ("1,2,3\n", "say which with --object-column"),
        ("time,size\n1,2\n", "say which with --object-column"),
        ("time,id\n1\n", "in:2: too few columns"),
        ("time,id\n1,\n", "no object in its column"),
        ("time,id\n1,18446744073709551616\n", "does not fit in 64 bits"),
        ("id,thread\n1,4294967296\n", "a thread number that does not fit"),
        ("id,weight\n1,x\n", "a weight that does not fit"),
        ("id\n", "no data access in it"),
    ] {
        let error = said(text, ImportFormat::Csv);
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn csv_columns_can_be_given() {
    let given = |column, text: &str| {
        let options = ImportOptions { object_column: Some(column), ..ImportOptions::default() };
        importer(text.as_bytes(), ImportFormat::Csv, &options).collect::<Result<Vec<_>, _>>()
    };
    assert_eq!(given(Column::Number(3), "1,2,3\n4,5,6\n").unwrap(), [read(3), read(6)]);
    assert_eq!(given(Column::Number(1), "a,b\n4,5\n").unwrap(), [read(4)]);
    assert_eq!(given(Column::Name("B".into()), "a;b\n4;5\n").unwrap(), [read(5)]);
    assert!(given(Column::Name("c".into()), "a,b\n4,5\n").is_err());
    assert!(given(Column::Number(0), "4,5\n").is_err());
    assert!(given(Column::Number(usize::MAX), "4,5\n").is_err());
}

#[test]
fn address_lists_are_read_as_text_and_binary() {
    let text =
        "# comment\n0x7f001fff\n4096\nR 0x2000\nw 0x3ffc 8\n0x5000 W\n\n0x401000: R 0x6000\n";
    assert_eq!(
        single(text, ImportFormat::Addresses),
        [read(0x7f001), read(1), read(2), write(3), write(4), write(5), read(6)]
    );
    for text in ["7fff\u{e9}\n", "7fab\n", "0x\n", "R\n", "0x1 R 1 1\n", "R 0x1 W\n", "-1\n"] {
        let error = said(text, ImportFormat::Addresses);
        assert!(error.starts_with("in:1: not an address;"), "{error}");
    }
    let error = said("18446744073709551616\n", ImportFormat::Addresses);
    assert!(error.contains("does not fit in 64 bits"), "{error}");
    let mut binary: Vec<u8> = [0x1fffu64, u64::MAX].map(u64::to_le_bytes).concat();
    let expected = [read(1), read(u64::MAX >> 12)];
    assert_eq!(import(&binary, ImportFormat::AddressesU64).unwrap(), expected);
    let pages = [read(0x1fff), read(u64::MAX)];
    assert_eq!(import(&binary, ImportFormat::PagesU64).unwrap(), pages);
    binary.pop();
    assert!(said(&binary, ImportFormat::AddressesU64).contains("at byte 8 is cut short"));
    assert_eq!(import("5\n5\n", ImportFormat::Pages).unwrap(), [read(5), read(5)]);
}

#[test]
fn perf_script_is_read_in_its_layouts() {
    let lines = [
        "21721     55f679b8e020 ",
        "21720/21721     55f679b8e020 ",
        "my prog 21721     55f679b8e020 ",
        "21720/21721 14482.059842:     55f679b8e020 ffffffff817554ea ",
        "   t 21721 14482.059842:          1 page-faults:      55f679b8e020 ffffffff817554ea elf_load+0x28a ([kernel.kallsyms])",
        "   t 21721 [001] 14482.059842:   1 cpu/mem-loads,ldlat=30/P:  55f679b8e020  5080021 |OP LOAD|LVL L1 hit|SNP None  34  55a4 main+0x1 (/t)",
        "t 21721 page-faults:  55f679b8e020",
    ];
    for line in lines {
        let read = import(line, ImportFormat::PerfScript);
        assert_eq!(read.unwrap(), [access(0x55f679b8e, false, 21721, 1)], "{line}");
    }
    let store = "t 9 [001] 1.5:  1 cpu/mem-stores/P:  1000 5080021 |OP STORE|LVL L1 hit";
    assert_eq!(import(store, ImportFormat::PerfScript).unwrap(), [access(1, true, 9, 1)]);
    let alone = import("55f679b8e020\n0\n", ImportFormat::PerfScript);
    assert_eq!(alone.unwrap(), [read(0x55f679b8e)]);
    let instruction = "t 21721 14482.059842:   1 page-faults:  ffffffff817554ea elf_load+0x28a (k)";
    let error = said(instruction, ImportFormat::PerfScript);
    assert!(error.contains("without a data address"), "{error}");
    for line in ["hello", "t 1.5: 1 x:", "t x 1.5: 1000", "1.5:", "99999999999 1000"] {
        assert!(import(line, ImportFormat::PerfScript).is_err(), "{line}");
    }
}

#[test]
fn perf_mem_dumps_are_read_with_the_slip_in_their_first_address() {
    let header = "# PID, TID, IP, ADDR, LOCAL WEIGHT, DSRC, SYMBOL\n";
    let blanks = format!(
        "{header}21720 21721 0xffffffff817554ea 0x01655f679b8e020     0 0x1e05080021 [k]:elf_load\n\
         21720 21721 0x7f254f319b70 0x7f254f319b70 0 0x1e05080024 /usr/lib/a b.so:_start\n"
    );
    let commas = blanks.replace("0x016", "0x").replace("     0 ", " 0 ");
    let (_, rest) = commas.split_once('\n').unwrap();
    let commas = format!("{header}{}", rest.replace("a b", "ab").replace(' ', ","));
    for text in [blanks, commas] {
        assert_eq!(
            import(&text, ImportFormat::PerfScript).unwrap(),
            [access(0x55f679b8e, false, 21721, 1), access(0x7f254f319, true, 21721, 1)],
            "{text}"
        );
    }
    let wide = "# PID, TID, IP, ADDR, PHYS ADDR, DATA PAGE SIZE, LOCAL WEIGHT, DSRC, SYMBOL\n\
                1 2 0x1 0x2000 0x9000 4K 0 0x4 a:b\n";
    assert_eq!(import(wide, ImportFormat::PerfScript).unwrap(), [access(2, true, 2, 1)]);
    assert!(import("# PID, TID, IP\n1 2 3\n", ImportFormat::PerfScript).is_err());
}

#[test]
fn formats_are_guessed_only_where_there_is_no_doubt() {
    let guess = |name: &str, head: &str| ImportFormat::guess(Path::new(name), head.as_bytes());
    assert_eq!(guess("log", LACKEY), Some(ImportFormat::Lackey));
    assert_eq!(guess("a.oracleGeneral.bin.zst", ""), Some(ImportFormat::OracleGeneral));
    assert_eq!(guess("a.oracleGeneral", ""), Some(ImportFormat::OracleGeneral));
    assert_eq!(guess("a.u64.zst", ""), Some(ImportFormat::PagesU64));
    let view = "x\n 3  1: 9 read 8 byte(s) @ 0x1 by PC 0x2\n";
    assert_eq!(guess("a", view), Some(ImportFormat::DynamoRio));
    assert_eq!(guess("a", "Format: <data address>: <\n"), Some(ImportFormat::DynamoRio));
    assert_eq!(guess("a", "# PID, TID, IP, ADDR, L\n"), Some(ImportFormat::PerfScript));
    assert_eq!(guess("a", "0x1000\n0x2000\n"), Some(ImportFormat::Addresses));
    assert_eq!(guess("a.csv", "time,obj_id,size\n1,2,3\n"), Some(ImportFormat::Csv));
    for head in ["", "1\n2\n", "7fff0000 8\n", "1,2,3\n", "\0\0\0"] {
        assert_eq!(guess("a", head), None, "{head:?}");
    }
    for (format, name, _) in ImportFormat::ALL {
        assert_eq!((ImportFormat::by_name(name), format.name()), (Some(format), name));
    }
}

/// Whether `program` can be run; says that `test` is skipped if not.
fn installed(program: &str, test: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success());
    if !there {
        println!("skipped: {test}: no {program}");
    }
    there
}

/// A program that writes 64 pages in order and reads them in reverse.
fn sample_program(folder: &Path) -> std::path::PathBuf {
    let source = folder.join("sample.c");
    let program = folder.join("sample");
    std::fs::write(
        &source,
        "static volatile char area[64 * 4096] __attribute__((aligned(4096)));\n\
         int main(void) { for (int i = 0; i < 64; i++) area[i * 4096] = 1; int s = 0;\n\
         for (int i = 63; i >= 0; i--) s += area[i * 4096]; return s != 64; }\n",
    )
    .unwrap();
    let mut gcc = Command::new("gcc");
    let built = gcc.args(["-O1", "-no-pie", "-o"]).arg(&program).arg(&source).status();
    assert!(built.unwrap().success());
    program
}

/// The longest run of pages that rises by one, of accesses with this `write`.
fn longest_rise(accesses: &[Access], write: bool, step: i64) -> usize {
    let pages: Vec<_> = accesses.iter().filter(|a| a.write == write).map(|a| a.page.0).collect();
    pages.chunk_by(|a, b| b.wrapping_sub(*a) as i64 == step).map(<[_]>::len).max().unwrap_or(0)
}

#[test]
fn a_real_lackey_trace_shows_the_loops_of_the_program() {
    let test = "a_real_lackey_trace_shows_the_loops_of_the_program";
    if !installed("gcc", test) || !installed("valgrind", test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let traced = Command::new("valgrind")
        .args(["--tool=lackey", "--trace-mem=yes"])
        .arg(format!("--log-file={}", log.display()))
        .arg(sample_program(folder.path()))
        .status();
    assert!(traced.unwrap().success());
    let text = std::fs::read(&log).unwrap();
    assert_eq!(ImportFormat::guess(&log, &text), Some(ImportFormat::Lackey));
    let accesses = import(&text, ImportFormat::Lackey).unwrap();
    assert!(longest_rise(&accesses, true, 1) >= 64);
    assert!(longest_rise(&accesses, false, -1) >= 63);
}

#[test]
fn real_perf_samples_show_the_faults_of_the_program() {
    let test = "real_perf_samples_show_the_faults_of_the_program";
    if !installed("gcc", test) || !installed("perf", test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("perf.data");
    let recorded = Command::new("perf")
        .args(["record", "-q", "-e", "page-faults", "-c", "1", "-d", "-o"])
        .arg(&data)
        .arg(sample_program(folder.path()))
        .output()
        .unwrap();
    if !recorded.status.success() {
        println!("skipped: {test}: perf may not record here");
        return;
    }
    let printed = |arguments: &[&str]| {
        let output = Command::new("perf").args(arguments).arg("-i").arg(&data).output().unwrap();
        output.stdout
    };
    let script = import(printed(&["script", "-F", "tid,addr"]), ImportFormat::PerfScript).unwrap();
    let timed = printed(&["script", "-F", "comm,pid,tid,time,event,addr"]);
    let timed = import(timed, ImportFormat::PerfScript).unwrap();
    let dumped = import(printed(&["mem", "-D", "report"]), ImportFormat::PerfScript).unwrap();
    assert!(longest_rise(&script, false, 1) >= 60, "{script:x?}");
    assert_eq!(script, timed);
    assert_eq!(script, dumped);
    let default = import(printed(&["script"]), ImportFormat::PerfScript).unwrap_err();
    assert!(default.to_string().contains("without a data address"), "{default}");
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic_and_errors_are_final(bytes: Vec<u8>) {
        for (format, ..) in ImportFormat::ALL {
            let mut importer = importer(&bytes, format, &ImportOptions::default());
            let mut count = 0;
            for item in importer.by_ref() {
                if let Err(error) = item {
                    prop_assert!(error.to_string().starts_with("in:"));
                    break;
                }
                count += 1;
            }
            prop_assert!(importer.next().is_none());
            prop_assert!(count <= 257 * bytes.len());
        }
        ImportFormat::guess(Path::new("x"), &bytes);
    }

    #[test]
    fn likely_lines_never_panic(text in "([ILSMrw0-9a-fx:,./|#=T \\[\\]-]|byte\\(s\\) @|read|\n){0,80}") {
        for (format, ..) in ImportFormat::ALL {
            let _ = import(&text, format);
        }
    }

    #[test]
    fn lackey_gives_back_the_touched_pages(touches in prop::collection::vec(
        (any::<u64>(), 1..=64u64, any::<bool>()), 1..50)) {
        let mut text = String::new();
        let mut expected = Vec::new();
        for (address, size, write) in touches {
            let address = address.min(u64::MAX - size + 1);
            text += &format!(" {} {address:08x},{size}\n", if write { 'S' } else { 'L' });
            let last = address + (size - 1);
            expected.extend((address >> 12..=last >> 12).map(|page| access(page, write, 0, 1)));
        }
        prop_assert_eq!(single(&text, ImportFormat::Lackey), expected);
    }

    #[test]
    fn merging_loses_no_access(pages in prop::collection::vec(0..3u64, 1..60)) {
        let text: String = pages.iter().map(|page| format!("{:#x}\n", page << 12)).collect();
        let merged = import(&text, ImportFormat::Addresses).unwrap();
        prop_assert!(merged.windows(2).all(|pair| pair[0].page != pair[1].page));
        let apart: Vec<u64> = merged
            .iter()
            .flat_map(|access| std::iter::repeat_n(access.page.0, access.weight as usize))
            .collect();
        prop_assert_eq!(apart, pages);
    }
}
