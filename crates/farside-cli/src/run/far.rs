//! Finding the memory nodes of a run before the program starts.

use std::net::TcpStream;
use std::time::Duration;

use farside_far::FarUrl;

use crate::Failure;

/// Far memory by addresses, which the program need not look up, and reaches.
///
/// # Errors
/// If a node has no address, cannot be reached, or would get pages unprotected.
pub fn reach(far: &FarUrl, insecure: bool) -> Result<FarUrl, Failure> {
    let FarUrl::Nodes(nodes) = far else { return Ok(far.clone()) };
    let cluster = nodes.resolve(insecure).map_err(|error| Failure::usage(error.to_string()))?;
    let timeout = Duration::from_nanos(cluster.timing.connect_ns);
    for (host, address) in nodes.hosts.iter().zip(&cluster.nodes) {
        TcpStream::connect_timeout(address, timeout).map_err(|error| {
            Failure::own(format!(
                "cannot reach memory node {host}: {error}; `farside node --listen {host} --memory SIZE` starts one"
            ))
        })?;
    }
    Ok(FarUrl::Nodes(cluster.into()))
}
