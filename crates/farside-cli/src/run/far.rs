//! Finding the far memory of a run before the program starts.

use farside_far::file::check;
use farside_far::remote::{TcpNetwork, probe};
use farside_far::{FarUrl, NodesUrl};
use farside_wire::transport::Protection;

use crate::Failure;
use crate::options::Options;

/// Far memory by addresses, or by a path from the root, which the program need not look up, and reaches.
///
/// # Errors
/// If a node has no address, cannot be reached, is not whom we take, or would get pages unprotected; or if a file
/// cannot be made, or has no room.
pub fn reach(options: &Options) -> Result<FarUrl, Failure> {
    match &options.far {
        FarUrl::Embedded { .. } => Ok(options.far.clone()),
        FarUrl::Nodes(nodes) => reach_nodes(nodes, options),
        FarUrl::File(file) => {
            let failed = |error| Failure::own(format!("cannot keep far memory in a file: {error}"));
            check(file).map(FarUrl::File).map_err(failed)
        }
    }
}

fn reach_nodes(nodes: &NodesUrl, options: &Options) -> Result<FarUrl, Failure> {
    let protection =
        options.credentials.read().map_err(|error| Failure::usage(error.to_string()))?;
    let protected = options.insecure || matches!(protection, Protection::Tls(_));
    let cluster = nodes.resolve(protected).map_err(|error| Failure::usage(error.to_string()))?;
    let network = TcpNetwork { protection };
    for (host, node) in nodes.hosts.iter().zip(&cluster.nodes) {
        probe(&network, node, &cluster.timing).map_err(|error| {
            Failure::own(format!(
                "cannot use memory node {host}: {error}; `farside node --listen {host} --memory SIZE` \
                 starts one"
            ))
        })?;
    }
    Ok(FarUrl::Nodes(cluster.into()))
}
