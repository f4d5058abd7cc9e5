//! What lines that are shorter than pages take to come from a memory node and to go there, over TCP on this machine: as
//! parts of pages, and as pages that are read and written anew.
//!
//! `cargo run --release -p farside-far --example part_cost -- [LINE]`

use std::error::Error;
use std::time::{Duration, Instant};

use farside_far::remote::{Carrier, Cluster, TcpNetwork, Timing};
use farside_far::{FarStore, Part, PartStore, Remote};
use farside_node::network::{Node, Options};
use farside_os::memory::PAGE;
use farside_wire::transport::TcpListening;

/// Pages of data, and lines that are timed.
const PAGES: u64 = 4096;
const LINES: usize = 5000;

/// Reads that are under way at once, where they are not waited for one by one.
const AHEAD: usize = 16;

/// Where lines begin, here and there.
fn places(line: usize) -> impl Iterator<Item = u64> {
    let lines = PAGES * PAGE as u64 / line as u64;
    let next = |number: &u64| {
        Some(number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
    };
    let numbers = std::iter::successors(Some(1u64), next).skip(1).take(LINES);
    numbers.map(move |number| (number >> 33) % lines * line as u64)
}

fn tell(what: &str, took: Duration) {
    println!("{what}: {:.1} us a line", took.as_secs_f64() * 1e6 / LINES as f64);
}

fn by_pages(store: &Remote, line: usize, write: bool) -> Result<Duration, Box<dyn Error>> {
    let mut page = [0; PAGE];
    let begin = Instant::now();
    for place in places(line) {
        let (number, at) = (place / PAGE as u64, place as usize % PAGE);
        let ticket = store.begin_read(number, 1)?;
        store.finish_read(ticket, &mut page)?;
        if write {
            page[at..at + line].fill(place as u8);
            store.write(number, &page)?;
        }
    }
    Ok(begin.elapsed())
}

fn by_parts(store: &dyn PartStore, line: usize, ahead: usize) -> Result<Duration, Box<dyn Error>> {
    let mut into = vec![0; line];
    let begin = Instant::now();
    let parts: Vec<[Part; 1]> =
        places(line).map(|start| [Part { start, len: line as u32, place: 0 }]).collect();
    for some in parts.chunks(ahead) {
        let tickets: Vec<_> =
            some.iter().map(|part| store.begin_read_parts(part)).collect::<Result<_, _>>()?;
        for (ticket, part) in tickets.into_iter().zip(some) {
            store.finish_read_parts(ticket, part, &mut into)?;
        }
    }
    Ok(begin.elapsed())
}

fn main() -> Result<(), Box<dyn Error>> {
    let line = std::env::args().nth(1).map_or(Ok(128), |line| line.parse::<usize>())?;
    let node = Node::new(Options::default())?;
    let listening = TcpListening::bind("127.0.0.1:0".parse()?)?;
    let nodes = vec![listening.address()?.into()];
    std::thread::spawn(move || node.serve(&listening));
    let (carrier, timing) = (Carrier::Tcp, Timing::default());
    let cluster = Cluster { carrier, nodes, copies: 1, seal: false, timing };
    let store = Remote::alone(&cluster, Box::new(TcpNetwork::default()), 2 * PAGES)?;
    let by_part = store.parts().ok_or("the node moves no parts")?;

    for page in 0..PAGES {
        store.write(page, &[7; PAGE])?;
    }
    tell("page read", by_pages(&store, line, false)?);
    tell("page read and written", by_pages(&store, line, true)?);
    let all = [Part { start: 0, len: (PAGES as usize * PAGE) as u32, place: 0 }];
    store.discard(0, PAGES)?;
    by_part.write_parts(&all, &vec![7; PAGES as usize * PAGE], line)?;
    tell("part read", by_parts(by_part, line, 1)?);
    tell("parts read, 16 at once", by_parts(by_part, line, AHEAD)?);
    let begin = Instant::now();
    for start in places(line) {
        let part = [Part { start, len: line as u32, place: 0 }];
        by_part.write_parts(&part, &vec![start as u8; line], line)?;
    }
    tell("part written", begin.elapsed());
    Ok(())
}
