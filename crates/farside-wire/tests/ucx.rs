//! Bytes over UCX, where it is installed.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use farside_wire::transport::ucx::{self, Ucx, UcxListening};
use farside_wire::transport::{Patience, Stream, receive_all, send_all};

/// Whether there is something to test.
fn is_there(test: &str) -> bool {
    match ucx::check() {
        Ok(()) => true,
        Err(error) => {
            println!("skipped: {test}: {error}");
            false
        }
    }
}

fn patience() -> Patience {
    Patience::of(20_000, 5_000_000_000)
}

fn send(stream: &dyn Stream, parts: &[&[u8]]) -> io::Result<()> {
    let mut parts: Vec<_> = parts.iter().map(|part| IoSlice::new(part)).collect();
    send_all(stream, &mut parts, patience(), || Ok(()))
}

fn receive(stream: &dyn Stream, len: usize) -> io::Result<Vec<u8>> {
    let mut into = vec![0; len];
    receive_all(stream, &mut [IoSliceMut::new(&mut into)], patience())?;
    Ok(into)
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 + at / 251) as u8).collect()
}

/// Both ends of a connection.
fn pair() -> (Ucx, Ucx) {
    let listening = UcxListening::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listening.address();
    let client = Ucx::connect(address).unwrap();
    let accepting = std::thread::spawn(move || {
        let node = listening.accept().unwrap();
        send(&node, &[b"!"]).unwrap();
        node
    });
    // A connection is made while both ends look after it.
    assert_eq!(receive(&client, 1).unwrap(), b"!");
    (client, accepting.join().unwrap())
}

#[test]
fn bytes_arrive_in_order_whatever_their_number() {
    if !is_there("bytes_arrive_in_order_whatever_their_number") {
        return;
    }
    let (client, node) = pair();
    let echoing = std::thread::spawn(move || {
        while let Ok(len) = receive(&node, 4) {
            let len = u32::from_le_bytes(len.try_into().unwrap());
            let body = receive(&node, len as usize).unwrap();
            send(&node, &[&body]).unwrap();
        }
    });
    for len in [1usize, 7, 4096, 7999, 8000, 8001, 65_536, 300_000, 5_000_000] {
        let bytes = pattern(len);
        let (one, other) = bytes.split_at(len / 3);
        send(&client, &[&(len as u32).to_le_bytes(), one, &[], other]).unwrap();
        assert!(receive(&client, len).unwrap() == bytes, "{len} bytes");
    }
    client.shut();
    echoing.join().unwrap();
}

#[test]
fn one_thread_sends_while_another_receives() {
    if !is_there("one_thread_sends_while_another_receives") {
        return;
    }
    let (client, node) = pair();
    let bytes = pattern(20_000_000);
    std::thread::scope(|scope| {
        for stream in [&client, &node] {
            scope.spawn(|| bytes.chunks(60_000).for_each(|part| send(stream, &[part]).unwrap()));
            scope.spawn(|| {
                for part in bytes.chunks(33_333) {
                    assert!(receive(stream, part.len()).unwrap() == part);
                }
            });
        }
    });
}

#[test]
fn who_waits_learns_that_the_other_side_hung_up() {
    if !is_there("who_waits_learns_that_the_other_side_hung_up") {
        return;
    }
    for shuts in [true, false] {
        let (client, node) = pair();
        send(&client, &[b"x"]).unwrap();
        assert_eq!(receive(&node, 1).unwrap(), b"x");
        let waiting = std::thread::spawn(move || receive(&node, 1).unwrap_err().kind());
        std::thread::sleep(Duration::from_millis(50));
        let began = Instant::now();
        if shuts {
            client.shut();
        }
        drop(client);
        let kind = waiting.join().unwrap();
        assert!(
            matches!(kind, io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset),
            "{kind}"
        );
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    }
}

#[test]
fn a_thread_that_waits_goes_on_when_another_one_shuts() {
    if !is_there("a_thread_that_waits_goes_on_when_another_one_shuts") {
        return;
    }
    let (client, _node) = pair();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| receive(&client, 1).is_err());
        std::thread::sleep(Duration::from_millis(50));
        client.shut();
        assert!(waiting.join().unwrap());
    });
}

#[test]
fn nobody_there_is_said_soon() {
    if !is_there("nobody_there_is_said_soon") {
        return;
    }
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address: SocketAddr = free.local_addr().unwrap();
    drop(free);
    let client = Ucx::connect(address).unwrap();
    let error = receive(&client, 1).unwrap_err();
    assert_ne!(error.kind(), io::ErrorKind::TimedOut, "{error}");
}

#[test]
fn connections_come_and_go() {
    if !is_there("connections_come_and_go") {
        return;
    }
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let mut before = 0;
    for round in 0..30 {
        let (client, node) = pair();
        send(&client, &[&pattern(100_000)]).unwrap();
        assert!(receive(&node, 100_000).unwrap() == pattern(100_000));
        drop((client, node));
        if round == 5 {
            before = descriptors();
        }
    }
    assert!(descriptors() < before + 200, "{before} descriptors, and {} later", descriptors());
}
