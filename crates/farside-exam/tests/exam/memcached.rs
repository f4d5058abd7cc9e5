//! memcached under load from several connections, every value checked.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

use farside_exam::{Exam, Place, Program, Random, Running, connect, has_program, pick};

fn value(key: u64, turn: u64) -> Vec<u8> {
    let mut random = Random::new(key * 31 + turn);
    let words = 8 + random.below(250);
    (0..words).flat_map(|_| random.draw().to_le_bytes()).collect()
}

/// One connection's work on keys of its own; returns how many values were found.
fn client(mut to: std::os::unix::net::UnixStream, own: u64, count: u64) -> u64 {
    let mut from = BufReader::new(to.try_clone().expect("a socket can be cloned"));
    let mut line = String::new();
    let mut found = 0;
    for turn in 0..3 {
        for i in 0..count {
            let value = value(own + i, turn);
            let mut request = format!("set k{} 0 0 {}\r\n", own + i, value.len()).into_bytes();
            request.extend_from_slice(&value);
            request.extend_from_slice(b"\r\n");
            to.write_all(&request).expect("the server reads");
            line.clear();
            from.read_line(&mut line).expect("the server answers");
            assert_eq!(line, "STORED\r\n");
        }
        for i in (0..count).rev() {
            to.write_all(format!("get k{}\r\n", own + i).as_bytes()).expect("the server reads");
            line.clear();
            from.read_line(&mut line).expect("the server answers");
            // A cache may forget, but it may not make anything up.
            if line == "END\r\n" {
                continue;
            }
            let size = line.trim_end().rsplit(' ').next().and_then(|n| n.parse::<usize>().ok());
            let mut bytes = vec![0; size.unwrap_or_else(|| panic!("answer {line:?}")) + 2];
            from.read_exact(&mut bytes).expect("the server sends the whole value");
            bytes.truncate(bytes.len() - 2);
            assert!(bytes == value(own + i, turn), "key {} has another value", own + i);
            line.clear();
            from.read_line(&mut line).expect("the server answers");
            assert_eq!(line, "END\r\n");
            found += 1;
        }
    }
    found
}

fn load(server: &mut Running, socket: &Path, count: u64) -> u64 {
    let streams: Vec<_> = (0..4).map(|_| connect(server, socket)).collect();
    let threads: Vec<_> = streams
        .into_iter()
        .enumerate()
        .map(|(n, stream)| std::thread::spawn(move || client(stream, n as u64 * 10_000_000, count)))
        .collect();
    threads.into_iter().map(|thread| thread.join().expect("all values are right")).sum()
}

#[test]
fn memcached_under_load() {
    if !has_program("memcached_under_load", "memcached", "memcached") {
        return;
    }
    let exam = Exam::new("memcached");
    let count = pick(10_000, 300_000);
    for place in Place::all() {
        let directory = exam.fresh_directory(place);
        let socket = directory.join("memcached.sock");
        let memory = pick("128", "4096");
        let program = Program::new("memcached").args(["-u", "root", "-t", "2", "-m", memory, "-s"]);
        let mut running = exam.start(&program.arg(&socket), place, &directory);
        let found = load(&mut running, &socket, count);
        assert_eq!(found, 3 * 4 * count, "{place:?}: it forgot although there was room");
        running.signal(libc::SIGTERM);
        let finished = running.finish();
        assert!(matches!(finished.code(), Some(0 | 143)), "{place:?}: {finished:?}");
        exam.check_limit(place);
    }
}
