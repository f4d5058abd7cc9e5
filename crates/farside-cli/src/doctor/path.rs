//! `farside doctor --far`: how long pages take from and to memory nodes or a file, and what to expect of that.

use std::path::Path as FilePath;

use farside_far::file::check;
use farside_far::redis::{Redis, RedisCluster, forget_pool};
use farside_far::remote::{Cluster, NodeAddress, TcpNetwork};
use farside_far::{FarError, FarStore, File, Opening, Remote, open};
use farside_os::memory::PAGE;
use serde::Serialize;

use crate::Failure;
use crate::analysis::simulate::slowdowns;
use crate::fetching::{BATCH, Fetcher};
use crate::options::Options;
use crate::run::{describe_finding, examine, greet, nanoseconds};

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

/// A setting of a cluster that leads to the loss of pages.
#[derive(Debug, Serialize)]
struct Deviation {
    what: String,
    is_grave: bool,
}

/// All that was found.
#[derive(Debug, Serialize)]
struct Findings {
    /// What is not as it should be.
    profile: Vec<Deviation>,
    paths: Vec<Path>,
    /// What these figures are to `farside simulate`.
    network: String,
    /// By local memory: how many times longer the traced program takes.
    slowdowns: Vec<(String, f64)>,
}

/// Measures the way to far memory, and says what it means for the program of a trace; of a cluster also whether it is
/// set up so that no page is lost.
///
/// # Errors
/// If there are no nodes, one cannot be used, pages may be lost, or the trace cannot be read.
pub fn measure(
    options: &Options,
    trace: Option<&FilePath>,
    json: bool,
) -> Result<(String, bool), Failure> {
    let opening = open(&options.far, &options.credentials, options.insecure)
        .map_err(|error| Failure::usage(error.to_string()))?;
    let (paths, profile) = match opening {
        Opening::Nodes(cluster, protection) => {
            let alone = |node| Cluster { nodes: vec![node], copies: 1, ..cluster.clone() };
            let of = |node: &NodeAddress| {
                let cluster = alone(node.clone());
                let network = cluster.carrier.network(protection.clone());
                let host = node.address.to_string();
                greet(&cluster, &*network, node, &host)?;
                path(&host, || Ok(Box::new(Remote::alone(&cluster, network, PAGES.into())?)))
            };
            (cluster.nodes.iter().map(of).collect::<Result<Vec<_>, _>>()?, Vec::new())
        }
        Opening::Redis(cluster, network) => {
            let deviations = examine(&cluster, &network)?.into_iter().map(|finding| Deviation {
                what: describe_finding(&finding),
                is_grave: finding.is_grave,
            });
            let deviations: Vec<_> = deviations.collect();
            let measured = if deviations.iter().any(|deviation| deviation.is_grave) {
                Vec::new()
            } else {
                vec![path_to_cluster(&cluster, &network)?]
            };
            (measured, deviations)
        }
        Opening::File(url) => {
            let url = check(&url).map_err(|error| Failure::own(error.to_string()))?;
            let place = url.path.display().to_string();
            let measured = path(&place, || Ok(Box::new(File::alone(&url, PAGES.into())?)));
            (vec![measured?], Vec::new())
        }
        Opening::Embedded(_) => {
            return Err(Failure::usage(
                "--far: name memory nodes, such as tcp://host:port, a cluster, such as redis://host:port, or a file, \
                 such as file:/var/tmp",
            ));
        }
    };
    let is_sound = !profile.iter().any(|deviation| deviation.is_grave);
    // A page comes from any of them.
    let mean = |of: fn(&Path) -> f64| paths.iter().map(of).sum::<f64>() / paths.len().max(1) as f64;
    let latency = mean(|path| path.p50_ns - path.batched_ns).max(1.0);
    let bandwidth = mean(|path| path.bits_per_second);
    let network = format!("{:.1}us,{:.2}gbit", latency / 1e3, bandwidth / 1e9);
    let slowdowns = match trace {
        Some(trace) if is_sound => slowdowns(trace, &network)?,
        _ => Vec::new(),
    };
    let findings = Findings { profile, paths, network, slowdowns };
    if json {
        let text = serde_json::to_string_pretty(&findings);
        let text = text.map_err(|error| Failure::own(error.to_string()))?;
        return Ok((text + "\n", is_sound));
    }
    Ok((describe(&findings), is_sound))
}

fn path_to_cluster(cluster: &RedisCluster, network: &TcpNetwork) -> Result<Path, Failure> {
    let servers: Vec<_> = cluster.servers.iter().map(|server| server.address.to_string()).collect();
    let network = || Box::new(network.clone());
    let measured =
        path(&servers.join(","), || Ok(Box::new(Redis::alone(cluster, network(), PAGES.into())?)));
    // What is left of it is forgotten after a while.
    let _ = forget_pool(cluster, network());
    measured
}

fn path(
    name: &str,
    open: impl FnOnce() -> Result<Box<dyn FarStore>, FarError>,
) -> Result<Path, Failure> {
    let failed = |error| Failure::own(format!("far memory at {name}: {error}"));
    let fetcher = Fetcher::new(open().map_err(failed)?, PAGES).map_err(failed)?;
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
        node: name.to_owned(),
    })
}

fn describe(findings: &Findings) -> String {
    let ns = |ns: f64| nanoseconds(ns as u64);
    let mut text = String::new();
    for Deviation { what, is_grave } in &findings.profile {
        text += &format!("{}: {what}\n", if *is_grave { "pages may be lost" } else { "note" });
    }
    if findings.paths.is_empty() {
        return text
            + "the cluster does not keep to the strict profile; see the operators' guide\n";
    }
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
