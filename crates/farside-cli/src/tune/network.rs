//! The network to far memory.

use farside_far::FarUrl;
use farside_tune::Network;
use serde_json::Value;

use crate::Failure;
use crate::doctor::path;
use crate::options::Options;

/// What handing a request to the embedded node, and its answer back, takes in any case, in seconds.
const HANDED_OVER: f64 = 3e-6;

/// What copying a byte takes where nothing bounds the network, in seconds.
const COPIED: f64 = 0.1e-9;

/// Measures the way to far memory. What is injected into the embedded node is what was asked for.
///
/// # Errors
/// If it cannot be reached.
pub fn of(options: &Options) -> Result<Network, Failure> {
    if let FarUrl::Embedded { latency_ns, bits_per_second, .. } = options.far {
        let per_byte = if bits_per_second == 0 { 0.0 } else { 8.0 / bits_per_second as f64 };
        let latency = HANDED_OVER + latency_ns as f64 * 1e-9;
        return Ok(Network { latency, per_byte: per_byte.max(COPIED) });
    }
    let (text, _) = path::measure(options, None, true)?;
    let found: Value =
        serde_json::from_str(&text).map_err(|error| Failure::own(error.to_string()))?;
    let network = found["network"].as_str().and_then(parse);
    network.ok_or_else(|| {
        Failure::own(format!(
            "what was measured of the network makes no sense: {}",
            found["network"]
        ))
    })
}

/// Reads a latency and a bandwidth such as `5.0us,25.00gbit`.
fn parse(text: &str) -> Option<Network> {
    let (latency, bandwidth) = text.split_once(',')?;
    let number = |text: &str, unit: &str| text.strip_suffix(unit)?.parse::<f64>().ok();
    let (latency, bandwidth) = (number(latency, "us")?, number(bandwidth, "gbit")?);
    Some(Network { latency: latency * 1e-6, per_byte: 8e-9 / bandwidth.max(1e-3) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_doctor_measures_is_understood() {
        let network = parse("5.0us,25.00gbit").unwrap();
        assert!(
            (network.read(0) - 5e-6).abs() < 1e-12 && (network.per_byte - 0.32e-9).abs() < 1e-15
        );
        assert_eq!(parse("nothing"), None);
    }
}
