//! Far-store URLs: `embedded:latency=5us,bandwidth=25gbit,compress=lz4`, `tcp://host:port,host:port?copies=2`,
//! `ucx://host:port`, `redis://host:port`, `file:/path?size=64G`.

mod file;
mod nodes;
mod redis;

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::remote::Carrier;

pub use file::FileUrl;
pub use nodes::{NodesUrl, PORT, Unresolved};
pub use redis::RedisUrl;

/// How pages are packed before they are stored.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// As they are.
    #[default]
    None,
    /// LZ4 blocks; pages that do not shrink are stored as they are.
    Lz4,
}

/// Where far pages live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FarUrl {
    /// A memory node on this machine, started for the run.
    Embedded {
        /// Injected latency in nanoseconds.
        latency_ns: u64,
        /// Injected bandwidth in bits a second; 0 for no bound.
        bits_per_second: u64,
        /// Packing of pages.
        compression: Compression,
    },
    /// Memory nodes across a network.
    Nodes(NodesUrl),
    /// A cluster that speaks Redis's protocol.
    Redis(RedisUrl),
    /// A file.
    File(FileUrl),
}

impl Default for FarUrl {
    fn default() -> Self {
        FarUrl::Embedded { latency_ns: 0, bits_per_second: 0, compression: Compression::None }
    }
}

/// A URL that names no far store.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadUrl {
    /// Unknown scheme.
    #[error(
        "no far store is called {0:?}; there are: embedded:[latency=5us,bandwidth=25gbit,compress=lz4], \
         tcp://HOST[:PORT],...[?copies=2], the same with ucx://, redis://HOST[:PORT],...[?replicas=1] and file:PATH[?size=64G]"
    )]
    Scheme(String),
    /// Unknown option.
    #[error("the embedded node has no option {0:?}; it has latency, bandwidth and compress")]
    Option(String),
    /// Unknown option of nodes across a network.
    #[error(
        "memory nodes have no option {0:?}; they have copies, seal, spin, hedge, deadline, patience and lease"
    )]
    NodesOption(String),
    /// Unknown option of a cluster.
    #[error(
        "a cluster has no option {0:?}; it has replicas, user, seal, profile, pool, spin, hedge, deadline, patience \
         and lease"
    )]
    RedisOption(String),
    /// A password where everybody sees it.
    #[error("user and password do not belong into the URL: give ?user=NAME, and --password FILE")]
    Password,
    /// Unknown option of a file.
    #[error("a file has no option {0:?}; it has size, seal, depth and ring")]
    FileOption(String),
    /// No path, or none that could be one.
    #[error(
        "{0:?} is no path of a file or directory; a space in it is %20, a question mark %3F, a percent sign %25"
    )]
    Path(String),
    /// No host, or none that could be one.
    #[error("{0:?} is no host and port of a memory node")]
    Host(String),
    /// More nodes than a run can have.
    #[error("{0} memory nodes; a run has at most {most}", most = crate::remote::MOST_NODES)]
    TooMany(usize),
    /// Kinds of memory that do not go together.
    #[error(
        "several URLs stripe over memory nodes, so all of them have to be tcp://, or all ucx://"
    )]
    Mixed,
    /// An option's value makes no sense.
    #[error("{option}={value:?}: {expected}")]
    Value {
        /// Option.
        option: &'static str,
        /// What was given.
        value: String,
        /// What would do.
        expected: &'static str,
    },
}

impl FromStr for FarUrl {
    type Err = BadUrl;

    /// Reads a URL, or several with spaces between.
    fn from_str(text: &str) -> Result<Self, BadUrl> {
        let mut urls = text.split_whitespace();
        let mut far = Self::one(urls.next().unwrap_or_default())?;
        for url in urls {
            match (&mut far, Self::one(url)?) {
                (FarUrl::Nodes(all), FarUrl::Nodes(more)) => all.join(more)?,
                _ => return Err(BadUrl::Mixed),
            }
        }
        Ok(far)
    }
}

impl FarUrl {
    fn one(text: &str) -> Result<Self, BadUrl> {
        for carrier in [Carrier::Tcp, Carrier::Ucx] {
            if let Some(rest) = text.strip_prefix(carrier.scheme()) {
                return NodesUrl::parse(carrier, rest).map(FarUrl::Nodes);
            }
        }
        if text.starts_with("redis://") || text.starts_with("rediss://") {
            return text.parse().map(FarUrl::Redis);
        }
        if let Some(rest) = text.strip_prefix("file:") {
            return rest.parse().map(FarUrl::File);
        }
        let (scheme, options) = text.split_once(':').unwrap_or((text, ""));
        if scheme != "embedded" {
            return Err(BadUrl::Scheme(scheme.into()));
        }
        let (mut latency_ns, mut bits_per_second) = (0, 0);
        let mut compression = Compression::None;
        for option in options.split(',').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            match name {
                "latency" => latency_ns = parse_latency(value)?,
                "bandwidth" => bits_per_second = parse_bandwidth(value)?,
                "compress" => compression = parse_compression(value)?,
                other => return Err(BadUrl::Option(other.into())),
            }
        }
        Ok(FarUrl::Embedded { latency_ns, bits_per_second, compression })
    }
}

/// Nanoseconds of a time with its unit: `50us`; `None` if it is none.
pub fn nanoseconds(value: &str) -> Option<u64> {
    scaled(value, &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)])
}

fn parse_latency(value: &str) -> Result<u64, BadUrl> {
    nanoseconds(value).filter(|ns| *ns <= 10_000_000_000).ok_or(BadUrl::Value {
        option: "latency",
        value: value.into(),
        expected: "a time such as 5us, at most 10s",
    })
}

fn parse_bandwidth(value: &str) -> Result<u64, BadUrl> {
    scaled(value, &[("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9), ("tbit", 1e12)])
        .filter(|bits| *bits >= 1_000)
        .ok_or(BadUrl::Value {
            option: "bandwidth",
            value: value.into(),
            expected: "a rate such as 25gbit, at least 1kbit",
        })
}

fn parse_compression(value: &str) -> Result<Compression, BadUrl> {
    match value {
        "lz4" => Ok(Compression::Lz4),
        "none" => Ok(Compression::None),
        _ => {
            Err(BadUrl::Value { option: "compress", value: value.into(), expected: "lz4 or none" })
        }
    }
}

fn yes_or_no(option: &'static str, value: &str) -> Result<bool, BadUrl> {
    match value {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(BadUrl::Value { option, value: value.into(), expected: "yes or no" }),
    }
}

fn scaled(text: &str, units: &[(&str, f64)]) -> Option<u64> {
    let split = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(split);
    let number: f64 = number.parse().ok()?;
    let (_, scale) = units.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name))?;
    let value = number * scale;
    (value.is_finite() && (0.0..=1e18).contains(&value)).then_some(value as u64)
}

impl fmt::Display for FarUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (latency_ns, bits_per_second, compression) = match self {
            FarUrl::Embedded { latency_ns, bits_per_second, compression } => {
                (latency_ns, bits_per_second, compression)
            }
            FarUrl::Nodes(nodes) => return nodes.fmt(f),
            FarUrl::Redis(cluster) => return cluster.fmt(f),
            FarUrl::File(file) => return file.fmt(f),
        };
        let mut separator = "";
        write!(f, "embedded:")?;
        if *latency_ns > 0 {
            write!(f, "latency={latency_ns}ns")?;
            separator = ",";
        }
        if *bits_per_second > 0 {
            write!(f, "{separator}bandwidth={}kbit", bits_per_second / 1_000)?;
            separator = ",";
        }
        if *compression == Compression::Lz4 {
            write!(f, "{separator}compress=lz4")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_forms_are_read() {
        assert_eq!("embedded".parse(), Ok(FarUrl::default()));
        assert_eq!("embedded:".parse(), Ok(FarUrl::default()));
        let url = "embedded:latency=5us,bandwidth=25gbit,compress=lz4".parse();
        let expected = FarUrl::Embedded {
            latency_ns: 5_000,
            bits_per_second: 25_000_000_000,
            compression: Compression::Lz4,
        };
        assert_eq!(url, Ok(expected.clone()));
        assert_eq!(expected.to_string().parse(), Ok(expected));
    }

    #[test]
    fn nodes_are_read_with_their_options() {
        let url: FarUrl = "tcp://a,[::1]:9?copies=2&seal=no&deadline=2s tcp://b:7".parse().unwrap();
        let FarUrl::Nodes(nodes) = &url else { panic!("{url}") };
        assert_eq!(nodes.hosts, [format!("a:{PORT}"), "[::1]:9".into(), "b:7".into()]);
        assert_eq!((nodes.copies, nodes.timing.deadline_ns), (2, 2_000_000_000));
        assert_eq!(url.to_string().parse(), Ok(url.clone()));
        let other: FarUrl = url.to_string().replace("tcp:", "ucx:").parse().unwrap();
        assert_eq!(other.to_string(), url.to_string().replace("tcp:", "ucx:"));
        let FarUrl::Nodes(nodes) = &other else { panic!("{other}") };
        assert_eq!(nodes.carrier, Carrier::Ucx);
    }

    #[test]
    fn clusters_are_read_with_their_options() {
        let url: FarUrl =
            "rediss://a,b:7000?replicas=2&user=far&lease=60s&profile=none&pool=farside:x"
                .parse()
                .unwrap();
        let FarUrl::Redis(cluster) = &url else { panic!("{url}") };
        assert_eq!(cluster.hosts, ["a:6379", "b:7000"]);
        assert_eq!((cluster.replicas, cluster.timing.lease_ns), (2, 60_000_000_000));
        assert!(cluster.tls && !cluster.is_strict);
        assert_eq!(url.to_string().parse(), Ok(url));
    }

    #[test]
    fn files_are_read_with_their_options() {
        let text = "file:/a%20b/c%3f%25?size=1.5G&seal=yes&depth=16&ring=no";
        let url: FarUrl = text.parse().unwrap();
        let FarUrl::File(file) = &url else { panic!("{url}") };
        assert_eq!(file.path.to_str(), Some("/a b/c?%"));
        assert_eq!((file.size, file.seal), (Some(3 << 29), true));
        assert_eq!((file.depth, file.ring), (16, false));
        assert_eq!(url.to_string().parse(), Ok(url));
        let url: FarUrl = "file:///var/tmp".parse().unwrap();
        assert_eq!(url.to_string(), "file:/var/tmp");
        assert_eq!(
            "file:/var/tmp?size=4096".parse::<FarUrl>().unwrap().to_string(),
            "file:/var/tmp?size=4096"
        );
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "ftp://host:1",
            "",
            "tcp://",
            "tcp://a:1,,b:2",
            "tcp://a:99999",
            "tcp://a:1?copies=0",
            "tcp://a:1?colour=red",
            "tcp://a:1?deadline=5",
            "tcp://a:1 embedded:",
            "tcp://a:1 ucx://b:1",
            "ucx://",
            "tcp://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
            "redis://",
            "redis://user:password@host",
            "redis://a?replicas=9",
            "redis://a?lease=1ms",
            "redis://a?profile=loose",
            "redis://a?user=",
            "redis://a?copies=2",
            "redis://a redis://b",
            "file:",
            "file:?size=1G",
            "file:/a%2",
            "file:/a%zz",
            "file:/a%00",
            "file:/a?size=",
            "file:/a?size=0",
            "file:/a?size=-1G",
            "file:/a?size=99999999999G",
            "file:/a?size=5X",
            "file:/a?depth=0",
            "file:/a?depth=9999",
            "file:/a?seal=maybe",
            "file:/a?ring=1",
            "file:/a?copies=2",
            "file:/a file:/b",
            "embedded:latency=5",
            "embedded:latency=-5us",
            "embedded:latency=99999s",
            "embedded:bandwidth=0gbit",
            "embedded:bandwidth=nangbit",
            "embedded:compress=zip",
            "embedded:colour=red",
        ] {
            assert!(text.parse::<FarUrl>().is_err(), "{text}");
        }
    }
}
