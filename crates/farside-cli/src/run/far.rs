//! Finding the far memory of a run before the program starts, and cleaning up what it left there.

use std::io;

use farside_far::file::check;
use farside_far::redis::{Finding, RedisCluster, check_profile, forget_pool};
use farside_far::remote::{Carrier, Cluster, Network, NodeAddress, TcpNetwork, probe};
use farside_far::{FarUrl, Opening, open};

use super::complain;
use crate::Failure;
use crate::options::Options;

/// Far memory by addresses, or by a path from the root, which the program need not look up, and reaches.
///
/// # Errors
/// If a node has no address, cannot be reached, is not whom we take, or would get pages unprotected; a cluster may
/// lose pages; or a file cannot be made, or has no room.
pub fn reach(options: &Options) -> Result<FarUrl, Failure> {
    let opening = open(&options.far, &options.credentials, options.insecure)
        .map_err(|error| Failure::usage(error.to_string()))?;
    match (&options.far, opening) {
        (FarUrl::Nodes(nodes), Opening::Nodes(cluster, protection)) => {
            let network = cluster.carrier.network(protection);
            for (host, node) in nodes.hosts.iter().zip(&cluster.nodes) {
                greet(&cluster, &*network, node, &host.to_string())?;
            }
            Ok(FarUrl::Nodes(cluster.into()))
        }
        (FarUrl::Redis(url), Opening::Redis(cluster, network)) => {
            let findings = examine(&cluster, &network)?;
            let grave: Vec<String> =
                findings.iter().filter(|finding| finding.is_grave).map(describe).collect();
            if url.is_strict && !grave.is_empty() {
                return Err(Failure::own(format!(
                    "the cluster may lose pages: {}; see the strict profile in the operators' guide, or allow it with \
                     ?profile=none",
                    grave.join("; ")
                )));
            }
            Ok(FarUrl::Redis(url.clone().settled(&cluster)))
        }
        (FarUrl::File(file), _) => {
            let failed = |error| Failure::own(format!("cannot keep far memory in a file: {error}"));
            check(file).map(FarUrl::File).map_err(failed)
        }
        (far, _) => Ok(far.clone()),
    }
}

/// Whether a node, which the user calls `host`, can be used.
///
/// # Errors
/// If it cannot be reached, or is not whom we take.
pub fn greet(
    cluster: &Cluster,
    network: &dyn Network,
    node: &NodeAddress,
    host: &str,
) -> Result<(), Failure> {
    let failed = |error: io::Error| {
        let mut text = format!("cannot use memory node {host}: {error}");
        // Of others that do not let us in, there is one.
        if error.kind() == io::ErrorKind::ConnectionRefused {
            let carrier = cluster.carrier;
            let scheme = if carrier == Carrier::Tcp { "" } else { carrier.scheme() };
            text += &format!("; `farside node --listen {scheme}{host} --memory SIZE` starts one");
        }
        Failure::own(text)
    };
    probe(network, node, &cluster.timing).map(drop).map_err(failed)
}

/// What is not as it should be in a cluster.
///
/// # Errors
/// If it cannot be reached.
pub fn examine(cluster: &RedisCluster, network: &TcpNetwork) -> Result<Vec<Finding>, Failure> {
    check_profile(cluster, Box::new(network.clone())).map_err(|error| {
        let servers: Vec<_> =
            cluster.servers.iter().map(|server| server.address.to_string()).collect();
        Failure::own(format!(
            "cannot use the cluster at {}: {error}; is it there, with cluster-enabled yes, and are user and password \
             right?",
            servers.join(", ")
        ))
    })
}

/// A finding in a line.
pub fn describe(finding: &Finding) -> String {
    format!("{} {}", finding.server, finding.what)
}

/// Deletes what is left of a run all of whose processes are gone. Memory nodes of our own do that by themselves, and are
/// told by the keeper of the run's tables.
pub fn clean_up(options: &Options, far: &FarUrl) {
    let Ok(Opening::Redis(cluster, network)) = open(far, &options.credentials, true) else {
        return;
    };
    if let Err(error) = forget_pool(&cluster, Box::new(network)) {
        complain(&format!(
            "cannot delete what the run stored in the cluster, which forgets it within {} s: {error}",
            cluster.timing.lease_ns / 1_000_000_000
        ));
    }
}
