//! The cost model as the command line gives it.

use farside_far::FarUrl;
use farside_sim::simulation::Costs;

use crate::Failure;

/// The costs with a network (`5us,25gbit`) and the work for each data access.
///
/// # Errors
/// If one of them makes no sense: exit code 2.
pub fn costs(network: &str, access_ns: f64) -> Result<Costs, Failure> {
    let bad = || {
        Failure::usage(format!(
            "--network {network}: give a latency and a bandwidth, such as 5us,25gbit"
        ))
    };
    let (latency, bandwidth) = network.split_once(',').ok_or_else(bad)?;
    let url = format!("embedded:latency={latency},bandwidth={bandwidth}");
    let url: FarUrl = url.parse().map_err(|_| bad())?;
    let FarUrl::Embedded { latency_ns, bits_per_second, .. } = url else { return Err(bad()) };
    if !(0.0..=1e9).contains(&access_ns) {
        return Err(Failure::usage(format!("--access-ns {access_ns}: not a time")));
    }
    Ok(Costs {
        access_ns,
        latency_ns: latency_ns as f64,
        byte_ns: 8e9 / bits_per_second as f64,
        ..Costs::default()
    })
}
