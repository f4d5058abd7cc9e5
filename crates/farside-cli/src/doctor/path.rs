//! `farside doctor --far`: how long pages take from and to memory nodes or a file, and what to expect of that.

use std::path::Path as FilePath;

use farside_far::remote::{Cluster, NodeAddress};
use farside_far::{FarError, FarUrl, NodesUrl};
use farside_os::memory::PAGE;
use serde::Serialize;

use crate::Failure;
use crate::analysis::simulate::slowdowns;
use crate::fetching::{BATCH, Fetcher};
use crate::options::Options;
use crate::run::{nanoseconds, reach};

/// Pages stored, and single fetches timed, on each node.
const PAGES: u32 = 8192;
const FETCHES: u32 = 5000;

/// What was measured of a node, or a file.
#[derive(Clone, Debug, Serialize)]
struct Path {
    node: String,
    /// Nanoseconds that a page takes by itself: half, 90, 99 and 99.9 of a hundred take no longer.
    p50_ns: f64,
    p90_ns: f64,
    p99_ns: f64,
    p999_ns: f64,
    /// Nanoseconds that a page takes among others in one request.
    batched_ns: f64,
    bits_per_second: f64,
    /// How many times faster pages come in batches.
    batch_gain: f64,
}

/// All that was found.
#[derive(Debug, Serialize)]
struct Findings {
    paths: Vec<Path>,
    /// What these figures are to `farside simulate`.
    network: String,
    /// By local memory: how many times longer the traced program takes.
    slowdowns: Vec<(String, f64)>,
}

/// Measures the way to the nodes, or the file, and says what it means for the program of a trace.
///
/// # Errors
/// If there are neither nodes nor a file, one cannot be used, or the trace cannot be read.
pub fn measure(options: &Options, trace: Option<&FilePath>, json: bool) -> Result<String, Failure> {
    let paths = match reach(options)? {
        FarUrl::Nodes(nodes) => paths(&nodes, options)?,
        FarUrl::File(file) => {
            vec![path(file.path.display().to_string(), || Fetcher::in_file(&file, PAGES))?]
        }
        FarUrl::Embedded { .. } => {
            let what = "--far: name memory nodes, such as tcp://host:port, or a file, such as file:/var/tmp";
            return Err(Failure::usage(what));
        }
    };
    // A page comes from any of them.
    let mean = |of: fn(&Path) -> f64| paths.iter().map(of).sum::<f64>() / paths.len() as f64;
    let latency = mean(|path| path.p50_ns - path.batched_ns).max(1.0);
    let bandwidth = mean(|path| path.bits_per_second);
    let network = format!("{:.1}us,{:.2}gbit", latency / 1e3, bandwidth / 1e9);
    let slowdowns = trace.map(|trace| slowdowns(trace, &network)).transpose()?.unwrap_or_default();
    let findings = Findings { paths, network, slowdowns };
    if json {
        let text = serde_json::to_string_pretty(&findings);
        return text.map(|text| text + "\n").map_err(|error| Failure::own(error.to_string()));
    }
    Ok(describe(&findings))
}

/// Measures each of several nodes by itself.
fn paths(nodes: &NodesUrl, options: &Options) -> Result<Vec<Path>, Failure> {
    let cluster = nodes.resolve(true).map_err(|error| Failure::usage(error.to_string()))?;
    let protection =
        options.credentials.read().map_err(|error| Failure::usage(error.to_string()))?;
    let measure = |node: &NodeAddress| {
        let alone = Cluster { nodes: vec![node.clone()], copies: 1, ..cluster.clone() };
        path(node.address.to_string(), || Fetcher::new(&alone, protection.clone(), PAGES))
    };
    cluster.nodes.iter().map(measure).collect()
}

fn path(
    name: String,
    fetcher: impl FnOnce() -> Result<Fetcher, FarError>,
) -> Result<Path, Failure> {
    let failed = |error| Failure::own(format!("far memory at {name}: {error}"));
    let fetcher = fetcher().map_err(failed)?;
    let batched_ns = fetcher.batched().map_err(failed)?;
    let mut took = fetcher.single(FETCHES).map_err(failed)?;
    took.sort_by(f64::total_cmp);
    let quantile = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
    Ok(Path {
        p50_ns: quantile(0.5),
        p90_ns: quantile(0.9),
        p99_ns: quantile(0.99),
        p999_ns: quantile(0.999),
        batched_ns,
        bits_per_second: PAGE as f64 * 8e9 / batched_ns,
        batch_gain: quantile(0.5) / batched_ns,
        node: name.clone(),
    })
}

fn describe(findings: &Findings) -> String {
    let ns = |ns: f64| nanoseconds(ns as u64);
    let mut text = String::new();
    for path in &findings.paths {
        text += &format!(
            "{}: a page takes {} (p90 {}, p99 {}, p99.9 {}); {BATCH} in one request {} each, {:.1}x faster, \
             {:.1} Gbit/s\n",
            path.node,
            ns(path.p50_ns),
            ns(path.p90_ns),
            ns(path.p99_ns),
            ns(path.p999_ns),
            ns(path.batched_ns),
            path.batch_gain,
            path.bits_per_second / 1e9,
        );
    }
    for (local, slowdown) in &findings.slowdowns {
        text += &format!(
            "with {local} of its memory local, the traced program takes {slowdown:.2}x as long\n"
        );
    }
    if findings.slowdowns.is_empty() {
        text += &format!(
            "what that means for a program: farside simulate TRACE --network {}, or --trace TRACE here\n",
            findings.network
        );
    }
    text
}
