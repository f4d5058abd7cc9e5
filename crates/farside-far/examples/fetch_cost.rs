//! What a fetch from a memory node costs the client itself: the node is a few lines in the same thread, and the network
//! a buffer.
//!
//! `cargo run --release -p farside-far --example fetch_cost -- [PAGES]`

use std::io::{self, IoSlice, IoSliceMut};
use std::sync::Mutex;
use std::time::Instant;

use farside_far::remote::{Carrier, Cluster, Network, NodeAddress, Timing};
use farside_far::{FarStore, Remote};
use farside_os::memory::PAGE;
use farside_wire::frame::{HEADER, Header, Kind, MOST_HEAD, Record, Vitals, page_check};
use farside_wire::transport::{Interest, Stream};

/// Fetches that are timed.
const FETCHES: usize = 200_000;

/// The content of every page.
const CONTENT: [u8; PAGE] = [7; PAGE];

/// A node that has every page, at the other end of a connection.
struct Node {
    /// What it has answered, and from where on that has not been received.
    answered: Mutex<(Vec<u8>, usize)>,
    check: u32,
}

impl Node {
    fn answer(&self, request: &[u8]) -> io::Result<()> {
        let header = Header::decode(request[..HEADER].try_into().map_err(io::Error::other)?)?;
        let mut records: Vec<Record> = header.records(request)?.collect();
        let mut pages = 0;
        match header.kind {
            Kind::Read => {
                pages = records.len();
                records.iter_mut().for_each(|record| record.check = self.check);
            }
            Kind::Hello => {
                records = vec![
                    Vitals { total: 1 << 40, free: 1 << 39, can: 0, lease_ms: 1 << 20 }.record(),
                ]
            }
            _ => records.clear(),
        }
        let reply = Header { pages: pages as u16, epoch: 1, ..header.reply() };
        let mut answered = self.answered.lock().map_err(|_| io::ErrorKind::Other)?;
        let mut head = [0; MOST_HEAD];
        let len = reply.encode(&records, &mut head);
        answered.0.extend_from_slice(&head[..len]);
        (0..pages).for_each(|_| answered.0.extend_from_slice(&CONTENT));
        Ok(())
    }
}

impl Stream for Node {
    fn send(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.answer(&parts[0])?;
        Ok(parts.iter().map(|part| part.len()).sum())
    }

    fn receive(&self, parts: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let mut answered = self.answered.lock().map_err(|_| io::ErrorKind::Other)?;
        let (bytes, from) = &mut *answered;
        let mut count = 0;
        for part in parts {
            let len = part.len().min(bytes.len() - *from);
            part[..len].copy_from_slice(&bytes[*from..*from + len]);
            (*from, count) = (*from + len, count + len);
        }
        if *from == bytes.len() {
            bytes.clear();
            *from = 0;
        }
        if count == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(count) }
    }

    fn wait(&self, _interest: Interest, _until: u64) {}

    fn shut(&self) {}
}

struct Here;

impl Network for Here {
    fn connect(&self, _node: &NodeAddress, _timeout_ns: u64) -> io::Result<Box<dyn Stream>> {
        Ok(Box::new(Node { answered: Mutex::default(), check: page_check(&CONTENT) }))
    }

    fn now(&self) -> u64 {
        farside_os::thread::now_ns()
    }

    fn rest(&self, ns: u64) {
        farside_os::thread::sleep_ns(ns);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pages = std::env::args().nth(1).map_or(Ok(4096), |pages| pages.parse::<u64>())?;
    let cluster = Cluster {
        carrier: Carrier::Tcp,
        nodes: vec![std::net::SocketAddr::from(([127, 0, 0, 1], 1)).into()],
        copies: 1,
        seal: false,
        timing: Timing { spin_ns: 100_000_000, ..Timing::default() },
    };
    let store = Remote::alone(&cluster, Box::new(Here), pages)?;
    for page in 0..pages {
        store.write(page, &CONTENT)?;
    }
    let mut into = [0; PAGE];
    let (mut sending, mut receiving) = (Vec::new(), Vec::new());
    let mut number = 1u64;
    for _ in 0..FETCHES {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let begin = Instant::now();
        let ticket = store.begin_read((number >> 33) % pages, 1)?;
        let sent = Instant::now();
        store.finish_read(ticket, &mut into)?;
        sending.push((sent - begin).as_nanos());
        receiving.push(sent.elapsed().as_nanos());
    }
    for (what, took) in [("to send", &mut sending), ("to receive", &mut receiving)] {
        took.sort_unstable();
        println!("{what}: p50 {} ns, p90 {} ns", took[FETCHES / 2], took[FETCHES * 9 / 10]);
    }
    Ok(())
}
