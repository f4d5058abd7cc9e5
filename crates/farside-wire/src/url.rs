//! Where far memory lies: the argument of `--far`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

/// A far memory, as a user names it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum FarUrl {
    /// A memory node started as a child of the run, on this machine.
    Embedded(Embedded),
}

/// How an embedded node behaves: `embedded:latency=5us,bandwidth=25gbit,compress=lz4`.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Embedded {
    /// Injected delay of each transfer, one round trip.
    pub latency: Duration,
    /// Injected bandwidth in bits per second; `None` for as fast as it goes.
    pub bandwidth: Option<u64>,
    /// Whether pages are kept compressed.
    pub compress: Compression,
}

/// How a node keeps pages.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// As they are.
    #[default]
    None,
    /// In the LZ4 block format.
    Lz4,
}

/// Largest latency that can be injected.
pub const MAX_LATENCY: Duration = Duration::from_secs(10);

/// Least bandwidth that can be injected, in bits per second.
pub const LEAST_BANDWIDTH: u64 = 1_000_000;

/// Why a far memory cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BadUrl {
    /// The scheme is not known.
    #[error("no far memory called {0:?}; there is: embedded")]
    Scheme(String),
    /// An option is not known.
    #[error("an embedded node has no option {0:?}; there are: latency, bandwidth, compress")]
    Option(String),
    /// An option was given twice.
    #[error("option {0:?} given twice")]
    Twice(&'static str),
    /// An option's value makes no sense.
    #[error("{name}={value:?}: {reason}")]
    Value {
        /// Option.
        name: &'static str,
        /// What was given.
        value: String,
        /// What would have been accepted.
        reason: &'static str,
    },
}

impl Default for FarUrl {
    fn default() -> Self {
        FarUrl::Embedded(Embedded::default())
    }
}

impl FromStr for FarUrl {
    type Err = BadUrl;

    fn from_str(text: &str) -> Result<Self, BadUrl> {
        let (scheme, options) = text.split_once(':').unwrap_or((text, ""));
        match scheme {
            "embedded" => options.parse().map(FarUrl::Embedded),
            other => Err(BadUrl::Scheme(other.to_owned())),
        }
    }
}

impl FromStr for Embedded {
    type Err = BadUrl;

    fn from_str(text: &str) -> Result<Self, BadUrl> {
        let (mut latency, mut bandwidth, mut compress) = (None, None, None);
        for option in text.split(',').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            match name {
                "latency" => once(&mut latency, "latency", parse_latency(value)?)?,
                "bandwidth" => once(&mut bandwidth, "bandwidth", parse_bandwidth(value)?)?,
                "compress" => once(&mut compress, "compress", parse_compression(value)?)?,
                other => return Err(BadUrl::Option(other.to_owned())),
            }
        }
        Ok(Self {
            latency: latency.unwrap_or_default(),
            bandwidth,
            compress: compress.unwrap_or_default(),
        })
    }
}

fn once<T>(place: &mut Option<T>, name: &'static str, value: T) -> Result<(), BadUrl> {
    if place.replace(value).is_some() { Err(BadUrl::Twice(name)) } else { Ok(()) }
}

fn parse_latency(text: &str) -> Result<Duration, BadUrl> {
    number_with_unit(text, &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)])
        .filter(|ns| *ns <= MAX_LATENCY.as_nanos() as f64)
        .map(|ns| Duration::from_nanos(ns.round() as u64))
        .ok_or_else(|| BadUrl::Value {
            name: "latency",
            value: text.to_owned(),
            reason: "not a time up to 10s such as 800ns, 5us or 1.5ms",
        })
}

fn parse_bandwidth(text: &str) -> Result<u64, BadUrl> {
    number_with_unit(text, &[("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9), ("bit", 1.0)])
        .filter(|bits| (LEAST_BANDWIDTH as f64..=1e15).contains(bits))
        .map(|bits| bits.round() as u64)
        .ok_or_else(|| BadUrl::Value {
            name: "bandwidth",
            value: text.to_owned(),
            reason: "not a rate from 1mbit such as 25gbit or 500mbit (per second)",
        })
}

fn parse_compression(text: &str) -> Result<Compression, BadUrl> {
    match text {
        "none" => Ok(Compression::None),
        "lz4" => Ok(Compression::Lz4),
        _ => Err(BadUrl::Value {
            name: "compress",
            value: text.to_owned(),
            reason: "neither lz4 nor none",
        }),
    }
}

/// A plain decimal number followed directly by one of `units`, in the unit of factor 1.
fn number_with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.to_ascii_lowercase();
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    Some(number.parse::<f64>().ok()? * factor)
}

impl fmt::Display for FarUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FarUrl::Embedded(embedded) = self;
        write!(f, "embedded:{embedded}")
    }
}

impl fmt::Display for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "latency={}ns", self.latency.as_nanos())?;
        if let Some(bandwidth) = self.bandwidth {
            write!(f, ",bandwidth={bandwidth}bit")?;
        }
        match self.compress {
            Compression::None => Ok(()),
            Compression::Lz4 => write!(f, ",compress=lz4"),
        }
    }
}
