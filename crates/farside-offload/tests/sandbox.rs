//! Code that was compiled on the spot, run as a memory node runs it.

use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use farside_offload::{CallError, Image, run};
use farside_os::memory::{PAGE, anonymous_file, write_at};
use farside_wire::offload::{Area, Call, Run};
use proptest::prelude::*;

const SOURCE: &str = r#"
#include <math.h>
#include <string.h>
extern int printf(const char *, ...);
unsigned long farside_bases[3];
static long counter = 5;
static const long table[4] = {10, 20, 30, 40};
__attribute__((noinline)) static long at(const long *place) { return *place; }

/* Adds what is in sections 0 and 2 at the places in the input. */
void farside_entry_0(const unsigned long *input, long *output) {
    output[0] = at((const long *)(input[0] + farside_bases[0])) + at((const long *)(input[1] + farside_bases[2]));
    output[1] = table[input[2] & 3] + counter++;
}
void farside_entry_1(const double *input, double *output) { output[0] = exp(input[0]) + pow(input[0], input[1]); }
void farside_entry_2(const unsigned long *input, long *output) { *(long *)(input[0] + farside_bases[0]) = 1; }
void farside_entry_3(const unsigned long *input, long *output) {
    __asm__ volatile("syscall" : "=a"(output[0]) : "a"(39L) : "rcx", "r11", "memory");
}
void farside_entry_4(const unsigned long *input, long *output) { for (;;) __asm__ volatile("pause"); }
void farside_entry_5(const unsigned long *input, long *output) {
    char copy[100];
    memset(copy, 7, input[0]);
    memcpy(output, copy, input[0]);
}
"#;

fn compile(source: &str) -> Vec<u8> {
    let place = tempfile::tempdir().expect("there is room");
    let object = place.path().join("code.o");
    let mut cc = Command::new("cc")
        .args([
            "-c",
            "-O1",
            "-fPIC",
            "-fno-plt",
            "-fno-stack-protector",
            "-fvisibility=hidden",
            "-x",
            "c",
            "-",
            "-o",
        ])
        .arg(&object)
        .stdin(Stdio::piped())
        .spawn()
        .expect("there is a C compiler");
    let mut input = cc.stdin.take().expect("it is a pipe");
    input.write_all(source.as_bytes()).expect("it reads");
    drop(input);
    assert!(cc.wait().expect("it ends").success());
    std::fs::read(object).expect("it is there")
}

/// Pages of which each holds its number in all places.
fn pages(count: u64) -> std::os::fd::OwnedFd {
    let file = anonymous_file(c"pages", count * PAGE as u64).expect("there is room");
    for page in 0..count {
        let content: Vec<u8> = page.to_le_bytes().repeat(PAGE / 8);
        write_at(file.as_fd(), page * PAGE as u64, &content, "pages").expect("there is room");
    }
    file
}

fn area(section: u64, runs: &[(u64, u64, u64)], len: u64) -> Area {
    let page = PAGE as u64;
    let run = |(offset, place, len): &(u64, u64, u64)| Run {
        offset: offset * page,
        place: place * page,
        len: len * page,
    };
    Area { tag: section << 56, len: len * page, runs: runs.iter().map(run).collect() }
}

fn values(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn numbers(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap())).collect()
}

fn call(entry: u32, input: Vec<u8>) -> Call {
    let areas =
        vec![area(9, &[(0, 3, 2), (5, 1, 1)], 8), Area::default(), area(200, &[(1, 7, 1)], 2)];
    Call { entry, areas, input, output: 16, most_ms: 60_000, ..Call::default() }
}

fn try_call(image: &mut Image, call: &Call) -> Result<Vec<u8>, CallError> {
    let pages = pages(10);
    let (ours, _theirs) = UnixStream::pair().expect("there are sockets");
    run(image, call, pages.as_fd(), ours.as_fd()).map(|(output, _)| output)
}

#[test]
fn a_function_sees_its_data_where_its_pointers_lead() {
    let mut image = Image::link(&compile(SOURCE)).expect("it can be run");
    assert_eq!((image.entries(), image.sections()), (6, 3));
    let page = PAGE as u64;
    for (first, second, sum) in
        [(8, page, 3 + 7), (page + 16, page, 4 + 7), (5 * page, 8, 1), (2 * page, 0, 0)]
    {
        let input = values(&[9 << 56 | first, 200 << 56 | second, 2]);
        let output = try_call(&mut image, &call(0, input)).expect("it comes to its end");
        // What a call leaves in variables is gone with it.
        assert_eq!(numbers(&output), [sum, 30 + 5]);
    }
}

#[test]
fn functions_of_the_library_are_called() {
    let mut image = Image::link(&compile(SOURCE)).expect("it can be run");
    let input = [2.5f64, 3.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    let output = try_call(&mut image, &call(1, input)).expect("it comes to its end");
    let value = f64::from_le_bytes(output[..8].try_into().unwrap());
    assert_eq!(value, 2.5f64.exp() + 2.5f64.powf(3.0));
    let output = try_call(&mut image, &call(5, values(&[16]))).expect("it comes to its end");
    assert_eq!(output, [7; 16]);
}

#[test]
fn what_does_harm_is_ended_and_leaves_nothing() {
    let mut image = Image::link(&compile(SOURCE)).expect("it can be run");
    let killed = |error| match error {
        Err(CallError::Killed(signal)) => signal,
        other => panic!("{other:?}"),
    };
    // It writes to its data.
    assert_eq!(killed(try_call(&mut image, &call(2, values(&[9 << 56])))), libc::SIGSEGV);
    // It reads where nothing is, and what is another section's.
    for place in [(9 << 56) | (9 * PAGE as u64), 8 << 56, 0, u64::MAX] {
        let signal = killed(try_call(&mut image, &call(0, values(&[place, 200 << 56, 0]))));
        assert!([libc::SIGSEGV, libc::SIGBUS].contains(&signal), "{place:x}: {signal}");
    }
    // It asks the kernel for something.
    assert_eq!(killed(try_call(&mut image, &call(3, Vec::new()))), libc::SIGSYS);
    // It does not come to an end.
    let endless = Call { most_ms: 50, ..call(4, Vec::new()) };
    assert!(matches!(try_call(&mut image, &endless), Err(CallError::Late(_))));
}

#[test]
fn calls_that_cannot_be_are_refused() {
    let mut image = Image::link(&compile(SOURCE)).expect("it can be run");
    let unknown =
        [call(6, Vec::new()), Call { areas: vec![Area::default(); 4], ..call(0, Vec::new()) }];
    for call in unknown {
        assert!(matches!(try_call(&mut image, &call), Err(CallError::Unknown)));
    }
    let mut odd = call(0, Vec::new());
    odd.areas[0].runs[0].place = 17;
    assert!(matches!(try_call(&mut image, &odd), Err(CallError::NoPages)));
    odd.areas = vec![area(9, &vec![(0, 0, 1); 60_001], 8)];
    assert!(matches!(try_call(&mut image, &odd), Err(CallError::Scattered(60_001))));
}

#[test]
fn code_that_needs_what_is_not_offered_is_refused() {
    let prints = SOURCE.replace("output[0] = exp(input[0])", "output[0] = printf(\"\")");
    let why = Image::link(&compile(&prints)).expect_err("it needs printf").to_string();
    assert_eq!(why, "it needs 'printf'");
    let own =
        compile("static __thread long x; void farside_entry_0(long *a, long *b) { *b = x++; }");
    let why = Image::link(&own).expect_err("it has variables of threads").to_string();
    assert!(why.contains("thread") || why.contains("tls"), "{why}");
    let none = compile("void farside_entry_0(long *a, long *b) { *b = 1; }");
    let why = Image::link(&none).expect_err("it has no table").to_string();
    assert!(why.contains("farside_bases"), "{why}");
    assert!(Image::link(b"\x7fELF").is_err());
    assert!(Image::link(&std::fs::read("/proc/self/exe").expect("it is there")).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever is in a file is linked or refused; what is linked stays within its memory.
    #[test]
    fn damaged_code_is_linked_or_refused(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        static CODE: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
        let mut code = CODE.get_or_init(|| compile(SOURCE)).clone();
        for (at, byte) in changes {
            let at = at.index(code.len());
            code[at] = byte;
        }
        let _ = Image::link(&code);
    }
}
