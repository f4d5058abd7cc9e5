//! `farside bench nodes`: memory nodes across TCP on this machine, beside the least that an exchange can cost, and
//! programs on them beside the kernel's own swap.
//!
//! The client looks again and again for its answer, and so do node and partner, unless a row says otherwise.

mod cluster;
pub(super) mod echo;
mod process;
mod runs;
mod ucx;

use std::net::SocketAddr;

use clap::{Args, ValueEnum};
use farside_far::remote::{Carrier, Cluster, Timing};
use farside_far::{FarError, Remote};
use farside_wire::transport::{Files, Protection};

use super::launch::Scratch;
use super::row::{Goal, Row, median};
use super::{Failure, Shared};
use crate::fetching::{BATCH, Fetcher};
use crate::progress::Progress;
use process::Process;

/// Bytes of a page.
const PAGE: usize = 4096;

/// Options of `farside bench nodes`.
#[derive(Debug, Args)]
pub(crate) struct NodesArgs {
    /// Pages that a node keeps while it is measured
    #[arg(long, default_value_t = 32_768, value_parser = clap::value_parser!(u32).range(1024..=1 << 24))]
    pages: u32,
    /// Exchanges of one page that are timed, per repetition
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    exchanges: u32,
    /// Size of the array of the program that is run
    #[arg(long, default_value_t = 256, value_name = "MIB", value_parser = clap::value_parser!(u32).range(32..=65536))]
    mib: u32,
    /// Only these parts of the table
    #[arg(long, value_enum)]
    only: Vec<Section>,
}

/// A part of the table that can be asked for by itself.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum Section {
    /// One page at a time.
    Latency,
    /// One page at a time over UCX, by the transports that UCX_TLS names.
    Ucx,
    /// Many pages at a time.
    Batch,
    /// What a node costs its machine.
    Node,
    /// Programs on nodes.
    Runs,
    /// Pages from a Redis server.
    Cluster,
}

impl NodesArgs {
    fn wants(&self, section: Section) -> bool {
        self.only.is_empty() || self.only.contains(&section)
    }

    /// Bytes that a node needs.
    fn memory(&self) -> u64 {
        u64::from(self.pages) * PAGE as u64 + (64 << 20)
    }
}

fn far(error: FarError) -> Failure {
    Failure::new(format!("memory node: {error}"))
}

/// A client of one node, which looks again and again.
fn fetcher(
    node: &Process,
    seal: bool,
    protection: Protection,
    pages: u32,
) -> Result<Fetcher, Failure> {
    let plain = node.address.strip_prefix(Carrier::Ucx.scheme());
    let carrier = if plain.is_some() { Carrier::Ucx } else { Carrier::Tcp };
    let address = plain.unwrap_or(&node.address).parse::<SocketAddr>();
    let address = address.map_err(|_| Failure::new("a node has no address"))?;
    let timing = Timing { spin_ns: 100_000_000, ..Timing::default() };
    let cluster = Cluster { carrier, nodes: vec![address.into()], copies: 1, seal, timing };
    let network = carrier.network(protection);
    let store = Remote::alone(&cluster, network, pages.into()).map_err(far)?;
    Fetcher::new(Box::new(store), pages).map_err(far)
}

/// Measures the whole table, or the parts asked for.
pub(crate) fn run(
    args: &NodesArgs,
    shared: &Shared,
    progress: &Progress,
) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    if args.wants(Section::Latency) {
        latency(args, shared, progress, &mut rows)?;
    }
    if args.wants(Section::Ucx) {
        ucx::rows(args, shared, progress, &mut rows)?;
    }
    if args.wants(Section::Batch) {
        rows.push(batch(args, shared, progress)?);
    }
    if args.wants(Section::Node) {
        node(args, shared, progress, &mut rows)?;
    }
    if args.wants(Section::Runs) {
        runs::rows(args, shared, progress, &mut rows)?;
    }
    if args.wants(Section::Cluster) {
        cluster::rows(args, shared, progress, &mut rows)?;
    }
    Ok(rows)
}

fn of(what: &str, round: u32, shared: &Shared) -> String {
    format!("{what}, round {round} of {}", shared.repetitions)
}

/// One page at a time, beside an exchange of as many bytes.
fn latency(
    args: &NodesArgs,
    shared: &Shared,
    progress: &Progress,
    rows: &mut Vec<Row>,
) -> Result<(), Failure> {
    let scratch = Scratch::new()?;
    let secret = scratch.join("secret");
    std::fs::write(&secret, "the secret of a benchmark").map_err(|e| Failure::io("secret", &e))?;
    let secret_path = secret.to_string_lossy().into_owned();
    let files = Files { secret: Some(secret), ..Files::default() };
    let protection = files.read().map_err(|error| Failure::new(error.to_string()))?;
    let plain = Process::node(shared, args.memory(), &[])?;
    let sealed = Process::node(shared, args.memory(), &["--psk", &secret_path])?;
    let (mut ours, mut protected, mut raw) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=shared.repetitions {
        progress.say(of("one page at a time", round, shared));
        let client = fetcher(&plain, false, Protection::None, args.pages)?;
        ours.push(median(&client.single(args.exchanges).map_err(far)?));
        drop(client);
        let echo = Process::echo()?;
        let took = echo::exchanges(&echo.address, args.exchanges as usize);
        raw.push(median(&took.map_err(|error| Failure::io("echo", &error))?));
        drop(echo);
        let client = fetcher(&sealed, true, protection.clone(), args.pages)?;
        protected.push(median(&client.single(args.exchanges).map_err(far)?));
    }
    for (work, figures, goal) in [
        ("4 KiB fetch over tcp://, p50, both sides polling, beside a raw exchange", ours, 1.15),
        ("the same with TLS and sealing", protected, 1.5),
    ] {
        rows.push(Row {
            work: work.into(),
            ours: median(&figures),
            partner: Some(median(&raw)),
            unit: "ns",
            goal: Some(Goal::AtMost(goal)),
        });
    }
    Ok(())
}

/// Many pages in one request, beside one.
fn batch(args: &NodesArgs, shared: &Shared, progress: &Progress) -> Result<Row, Failure> {
    let process = Process::node(shared, args.memory(), &[])?;
    let client = fetcher(&process, false, Protection::None, args.pages)?;
    let (mut ours, mut single) = (Vec::new(), Vec::new());
    for round in 1..=shared.repetitions {
        progress.say(of("batches", round, shared));
        ours.push(client.batched().map_err(far)?);
        let took = client.single(args.exchanges).map_err(far)?;
        single.push(took.iter().sum::<f64>() / took.len() as f64);
    }
    Ok(Row {
        work: format!("{BATCH} pages fetched in one request, beside one by one"),
        ours: median(&ours),
        partner: Some(median(&single)),
        unit: "ns/page",
        goal: Some(Goal::Faster(5.0)),
    })
}

/// What a page costs a node: processor time, and memory.
fn node(
    args: &NodesArgs,
    shared: &Shared,
    progress: &Progress,
    rows: &mut Vec<Row>,
) -> Result<(), Failure> {
    let process = Process::node(shared, args.memory(), &["--spin", "0us"])?;
    let empty = process.resident()?;
    let client = fetcher(&process, false, Protection::None, args.pages)?;
    let full = process.resident()?;
    let mut ours = Vec::new();
    for round in 1..=shared.repetitions {
        progress.say(of("processor time of a node", round, shared));
        let before = process.processor_ns()?;
        client.batched().map_err(far)?;
        ours.push((process.processor_ns()? - before) / f64::from(args.pages));
    }
    rows.push(Row {
        work: "processor time of a node for a page in a batch (node sleeps when idle), beside 1 us"
            .into(),
        ours: median(&ours),
        partner: Some(1000.0),
        unit: "ns/page",
        goal: Some(Goal::AtMost(1.0)),
    });
    rows.push(Row {
        work: "memory of a node beside that of the pages it keeps".into(),
        ours: (full - empty) / f64::from(args.pages),
        partner: Some(PAGE as f64),
        unit: "bytes/page",
        goal: Some(Goal::AtMost(1.02)),
    });
    Ok(())
}
