//! Memory nodes across a network: `tcp://host:port,host:port?copies=2&deadline=1s`, and the same with `ucx://`.

use std::fmt;
use std::net::ToSocketAddrs;

use thiserror::Error;

use super::{BadUrl, nanoseconds, yes_or_no};
use crate::remote::{Carrier, Cluster, MOST_NODES, NodeAddress, Timing};

/// The port of a node whose URL names none.
pub const PORT: u16 = 7431;

/// Nodes, as they are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodesUrl {
    /// What carries messages to them.
    pub carrier: Carrier,
    /// Host and port of each; or its name, `@`, and then where that is.
    pub hosts: Vec<String>,
    /// How many nodes are to have each page.
    pub copies: usize,
    /// Whether nodes are to be unable to read the pages; if it is not said, those on other machines are.
    pub seal: Option<bool>,
    /// How long things may take.
    pub timing: Timing,
}

/// Nodes that cannot be used.
#[derive(Debug, Error)]
pub enum Unresolved {
    /// The name stands for no address.
    #[error("memory node {host}: {error}")]
    Unknown {
        /// Host and port.
        host: String,
        /// Why.
        error: std::io::Error,
    },
    /// There is no random number to be had.
    #[error(transparent)]
    Os(#[from] farside_os::OsError),
    /// Pages would be read by whoever can listen.
    #[error(
        "memory node {0} is not on this machine, and pages would travel to it unprotected: give --psk, or \
         --tls-ca, --tls-cert and --tls-key; or allow it with --insecure"
    )]
    Unprotected(String),
    /// As above, over something that could not protect them.
    #[error(
        "memory node {0} is not on this machine, and UCX protects nothing on its way: use it on an isolated network \
         only, and allow it with --insecure"
    )]
    Open(String),
}

/// Options that are times: name, and where they are kept.
pub(super) type Time = (&'static str, fn(&mut Timing) -> &mut u64);

const TIMES: [Time; 5] = [
    ("spin", |timing| &mut timing.spin_ns),
    ("hedge", |timing| &mut timing.hedge_ns),
    ("deadline", |timing| &mut timing.deadline_ns),
    ("patience", |timing| &mut timing.patience_ns),
    ("lease", |timing| &mut timing.lease_ns),
];

/// A host and a port, which is `default` if there is none; maybe with a name for it before an `@`.
pub(super) fn host(text: &str, default: u16) -> Result<String, BadUrl> {
    let bad = || BadUrl::Host(text.to_owned());
    let (known_as, text) = match text.split_once('@') {
        Some((name, rest)) => (Some(name), rest),
        None => (None, text),
    };
    let has_port = text.rfind(':').is_some_and(|colon| !text[colon..].contains(']'));
    let (name, port) = if has_port { text.rsplit_once(':').ok_or_else(bad)? } else { (text, "") };
    let port = if has_port { port.parse().map_err(|_| bad())? } else { default };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._[]:%".contains(c);
    if name.is_empty() || !name.chars().all(plain) {
        return Err(bad());
    }
    match known_as {
        Some(known_as) if known_as.is_empty() || !known_as.chars().all(plain) => Err(bad()),
        Some(known_as) => Ok(format!("{known_as}@{name}:{port}")),
        None => Ok(format!("{name}:{port}")),
    }
}

impl NodesUrl {
    /// Reads what follows the scheme.
    pub(super) fn parse(carrier: Carrier, text: &str) -> Result<Self, BadUrl> {
        let (hosts, options) = text.split_once('?').unwrap_or((text, ""));
        let hosts: Vec<String> =
            hosts.split(',').map(|text| host(text, PORT)).collect::<Result<_, _>>()?;
        if hosts.len() > MOST_NODES {
            return Err(BadUrl::TooMany(hosts.len()));
        }
        let timing = Timing::default();
        let mut nodes = Self { carrier, hosts, copies: 1, seal: None, timing };
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            if name == "copies" {
                nodes.copies = copies(value)?;
            } else if name == "seal" {
                nodes.seal = Some(yes_or_no("seal", value)?);
            } else {
                let time = TIMES.iter().find(|(known, _)| *known == name);
                let (option, place) = *time.ok_or_else(|| BadUrl::NodesOption(name.into()))?;
                *place(&mut nodes.timing) = nanoseconds(value).ok_or_else(|| BadUrl::Value {
                    option,
                    value: value.into(),
                    expected: "a time such as 50us or 1s",
                })?;
            }
        }
        Ok(nodes)
    }
}

/// Looks up where a host is. One that is not on this machine is refused, unless connections are `protected`, or it is all
/// right that they are not.
pub(super) fn find(host: &str, protected: bool) -> Result<NodeAddress, Unresolved> {
    let unknown = |error| Unresolved::Unknown { host: host.to_owned(), error };
    let (name, place) = host.split_once('@').unwrap_or_else(|| (bare(host), host));
    let mut found = place.to_socket_addrs().map_err(unknown)?;
    let none = || unknown(std::io::ErrorKind::NotFound.into());
    let address = found.next().ok_or_else(none)?;
    if !protected && !address.ip().is_loopback() {
        return Err(Unresolved::Unprotected(host.to_owned()));
    }
    Ok(NodeAddress { name: name.to_owned(), address })
}

/// The name without the port.
fn bare(host: &str) -> &str {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name.trim_start_matches('[').trim_end_matches(']')
}

fn copies(value: &str) -> Result<usize, BadUrl> {
    let copies = value.parse().ok().filter(|copies| (1..=MOST_NODES).contains(copies));
    copies.ok_or_else(|| BadUrl::Value {
        option: "copies",
        value: value.into(),
        expected: "a number from 1 to 16",
    })
}

impl NodesUrl {
    /// Adds the nodes of another URL, whose options that are not the default hold for all.
    pub(super) fn join(&mut self, more: Self) -> Result<(), BadUrl> {
        if more.carrier != self.carrier {
            return Err(BadUrl::Mixed);
        }
        self.hosts.extend(more.hosts);
        self.copies = self.copies.max(more.copies);
        self.seal = more.seal.or(self.seal);
        let (mut default, mut theirs) = (Timing::default(), more.timing);
        for (_, place) in TIMES {
            if *place(&mut theirs) != *place(&mut default) {
                *place(&mut self.timing) = *place(&mut theirs);
            }
        }
        if self.hosts.len() > MOST_NODES { Err(BadUrl::TooMany(self.hosts.len())) } else { Ok(()) }
    }

    fn find(&self, host: &str, protected: bool) -> Result<NodeAddress, Unresolved> {
        find(host, protected).map_err(|error| match (error, self.carrier) {
            (Unresolved::Unprotected(host), Carrier::Ucx) => Unresolved::Open(host),
            (error, _) => error,
        })
    }

    /// Looks up where the nodes are. Those that are not on this machine are refused, unless connections are
    /// `protected`, or it is all right that they are not.
    ///
    /// # Errors
    /// If a name stands for no address.
    pub fn resolve(&self, protected: bool) -> Result<Cluster, Unresolved> {
        let nodes: Vec<NodeAddress> =
            self.hosts.iter().map(|host| self.find(host, protected)).collect::<Result<_, _>>()?;
        let away = nodes.iter().any(|node| !node.address.ip().is_loopback());
        let seal = self.seal.unwrap_or(away);
        let Self { carrier, copies, timing, .. } = *self;
        Ok(Cluster { carrier, nodes, copies, seal, timing })
    }
}

impl From<Cluster> for NodesUrl {
    fn from(cluster: Cluster) -> Self {
        let hosts =
            cluster.nodes.iter().map(|node| format!("{}@{}", node.name, node.address)).collect();
        let Cluster { carrier, copies, seal, timing, .. } = cluster;
        Self { carrier, hosts, copies, seal: Some(seal), timing }
    }
}

impl fmt::Display for NodesUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.carrier.scheme(), self.hosts.join(","))?;
        let mut separator = '?';
        if self.copies != 1 {
            write!(f, "?copies={}", self.copies)?;
            separator = '&';
        }
        if let Some(seal) = self.seal {
            write!(f, "{separator}seal={}", if seal { "yes" } else { "no" })?;
            separator = '&';
        }
        let (mut default, mut timing) = (Timing::default(), self.timing);
        for (name, place) in TIMES {
            let time = *place(&mut timing);
            if time != *place(&mut default) {
                write!(f, "{separator}{name}={time}ns")?;
                separator = '&';
            }
        }
        Ok(())
    }
}
