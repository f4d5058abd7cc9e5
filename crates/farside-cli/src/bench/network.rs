//! The networks that far memory is put behind.

use std::fmt;
use std::str::FromStr;

use farside_far::FarUrl;

/// A network between program and memory node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    text: String,
    bits_per_second: u64,
}

impl Network {
    /// The memory node behind it, as `farside run --far` takes it.
    pub fn far(&self) -> String {
        far(&self.text)
    }

    /// How long it takes to carry so many bytes one way, in milliseconds.
    pub fn carries_in_ms(&self, bytes: f64) -> f64 {
        match self.bits_per_second {
            0 => 0.0,
            bits => bytes * 8e3 / bits as f64,
        }
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let url: FarUrl = match text.split_once(',') {
            Some((_, bandwidth)) if !bandwidth.contains(',') => {
                far(text).parse().map_err(|bad: farside_far::BadUrl| bad.to_string())?
            }
            _ => return Err("not a latency and a bandwidth, such as 5us,25gbit".into()),
        };
        let FarUrl::Embedded { bits_per_second, .. } = url else {
            return Err("not a latency and a bandwidth, such as 5us,25gbit".into());
        };
        Ok(Self { text: text.into(), bits_per_second })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

fn far(text: &str) -> String {
    let (latency, bandwidth) = text.split_once(',').unwrap_or((text, ""));
    format!("embedded:latency={latency},bandwidth={bandwidth}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_a_latency_and_a_bandwidth() {
        let network: Network = "5us,25gbit".parse().expect("a network");
        assert_eq!(network.far(), "embedded:latency=5us,bandwidth=25gbit");
        assert_eq!(network.to_string(), "5us,25gbit");
        // A page takes 1.31072 us at 25 Gbit/s.
        assert!((network.carries_in_ms(4096.0) - 0.001_310_72).abs() < 1e-12);
        for bad in ["", "5us", "5us,", "25gbit,5us", "5us,0kbit", "5us,25gbit,compress=lz4"] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
    }
}
