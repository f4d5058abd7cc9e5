//! Finding the memory nodes of a run before the program starts.

use farside_far::FarUrl;
use farside_far::remote::{Carrier, probe};
use farside_wire::transport::Protection;

use crate::Failure;
use crate::options::Options;

/// Far memory by addresses, which the program need not look up, and reaches.
///
/// # Errors
/// If a node has no address, cannot be reached, is not whom we take, or would get pages unprotected.
pub fn reach(options: &Options) -> Result<FarUrl, Failure> {
    let FarUrl::Nodes(nodes) = &options.far else { return Ok(options.far.clone()) };
    let protection =
        options.credentials.read().map_err(|error| Failure::usage(error.to_string()))?;
    let is_tls = matches!(protection, Protection::Tls(_));
    if is_tls && nodes.carrier == Carrier::Ucx {
        return Err(Failure::usage(format!(
            "--far {}: UCX protects nothing on its way; --psk and the options of TLS are for tcp://",
            options.far
        )));
    }
    let protected = options.insecure || is_tls;
    let cluster = nodes.resolve(protected).map_err(|error| Failure::usage(error.to_string()))?;
    let carrier = nodes.carrier;
    let network = carrier.network(protection);
    let scheme = if carrier == Carrier::Tcp { "" } else { carrier.scheme() };
    for (host, node) in nodes.hosts.iter().zip(&cluster.nodes) {
        probe(&*network, node, &cluster.timing).map_err(|error| {
            Failure::own(format!(
                "cannot use memory node {host}: {error}; `farside node --listen {scheme}{host} --memory SIZE` \
                 starts one"
            ))
        })?;
    }
    Ok(FarUrl::Nodes(cluster.into()))
}
