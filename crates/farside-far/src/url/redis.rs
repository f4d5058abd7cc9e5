//! A cluster that speaks Redis's protocol: `redis://host:port,host:port?replicas=1&user=farside`; or `rediss://`, with
//! TLS.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use farside_os::random;

use super::nodes::{Time, Unresolved, find, host};
use super::{BadUrl, nanoseconds, yes_or_no};
use crate::redis::{Login, RedisCluster};
use crate::remote::{MOST_NODES, NodeAddress, Timing};

/// The port of a server whose URL names none.
const PORT: u16 = 6379;

/// How long what a process that was killed has stored is kept, if nothing else is said: servers cannot tell one that was
/// killed from one that is stopped for a while.
const LEASE_NS: u64 = 600_000_000_000;

/// The least that makes sense, as it is renewed a few times in that time.
const LEAST_LEASE_NS: u64 = 1_000_000_000;

/// Most replicas that can be asked for.
const MOST_REPLICAS: usize = 8;

/// What the names of all that is stored begin with.
const PREFIX: &str = "farside";

const TIMES: [Time; 5] = [
    ("spin", |timing| &mut timing.spin_ns),
    ("hedge", |timing| &mut timing.hedge_ns),
    ("deadline", |timing| &mut timing.deadline_ns),
    ("patience", |timing| &mut timing.patience_ns),
    ("lease", |timing| &mut timing.lease_ns),
];

/// A cluster, as it is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisUrl {
    /// Host and port of some of its servers; or the name of one, `@`, and then where that is.
    pub hosts: Vec<String>,
    /// Who we are, if not the default user.
    pub user: Option<String>,
    /// Whether connections are protected by TLS.
    pub tls: bool,
    /// How many replicas at least each page has.
    pub replicas: usize,
    /// Whether servers are to be unable to read the pages; if it is not said, those on other machines are.
    pub seal: Option<bool>,
    /// Whether a cluster is refused that may lose pages while a copy of them is left.
    pub is_strict: bool,
    /// What the names of all that the run stores begin with, if that is settled.
    pub pool: Option<String>,
    /// How long things may take.
    pub timing: Timing,
}

/// A host, which may have a name before it, but not, as other URLs of this kind, a user and a password.
fn server(text: &str) -> Result<String, BadUrl> {
    match text.split_once('@') {
        Some((name, _)) if name.contains(':') && name.parse::<IpAddr>().is_err() => {
            Err(BadUrl::Password)
        }
        _ => host(text, PORT),
    }
}

fn default_timing() -> Timing {
    Timing { lease_ns: LEASE_NS, ..Timing::default() }
}

fn is_plain(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    !text.is_empty() && text.len() <= 64 && text.chars().all(plain)
}

fn bad(option: &'static str, value: &str, expected: &'static str) -> BadUrl {
    BadUrl::Value { option, value: value.into(), expected }
}

impl FromStr for RedisUrl {
    type Err = BadUrl;

    fn from_str(text: &str) -> Result<Self, BadUrl> {
        let (tls, rest) = match text.split_once("://") {
            Some(("redis", rest)) => (false, rest),
            Some(("rediss", rest)) => (true, rest),
            _ => return Err(BadUrl::Scheme(text.into())),
        };
        let (hosts, options) = rest.split_once('?').unwrap_or((rest, ""));
        let hosts: Vec<String> = hosts.split(',').map(server).collect::<Result<_, _>>()?;
        if hosts.len() > MOST_NODES {
            return Err(BadUrl::TooMany(hosts.len()));
        }
        let timing = default_timing();
        let mut url = Self {
            hosts,
            user: None,
            tls,
            replicas: 1,
            seal: None,
            is_strict: true,
            pool: None,
            timing,
        };
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            url.set(name, value)?;
        }
        Ok(url)
    }
}

impl RedisUrl {
    fn set(&mut self, name: &str, value: &str) -> Result<(), BadUrl> {
        let plain = |option| match is_plain(value) {
            true => Ok(Some(value.to_owned())),
            false => Err(bad(option, value, "up to 64 letters, digits and any of -_.:")),
        };
        match name {
            "user" => self.user = plain("user")?,
            "pool" => self.pool = plain("pool")?,
            "seal" => self.seal = Some(yes_or_no("seal", value)?),
            "replicas" => {
                let replicas = value.parse().ok().filter(|count| *count <= MOST_REPLICAS);
                self.replicas =
                    replicas.ok_or_else(|| bad("replicas", value, "a number from 0 to 8"))?;
            }
            "profile" => {
                self.is_strict = match value {
                    "strict" => true,
                    "none" => false,
                    _ => return Err(bad("profile", value, "strict or none")),
                }
            }
            _ => {
                let time = TIMES.iter().find(|(known, _)| *known == name);
                let (option, place) = *time.ok_or_else(|| BadUrl::RedisOption(name.into()))?;
                let ns = nanoseconds(value);
                let least = if option == "lease" { LEAST_LEASE_NS } else { 0 };
                *place(&mut self.timing) = ns.filter(|ns| *ns >= least).ok_or_else(|| {
                    bad(option, value, "a time such as 50us or 1s; a lease is 1s at least")
                })?;
            }
        }
        Ok(())
    }

    /// Looks up where the servers are. Those that are not on this machine are refused, unless connections are protected
    /// by TLS, or it is all right that they are not.
    ///
    /// # Errors
    /// If a name stands for no address, or there is no random number to be had for the name of the pool.
    pub fn resolve(
        &self,
        insecure: bool,
        password: Option<String>,
    ) -> Result<RedisCluster, Unresolved> {
        let protected = insecure || self.tls;
        let servers: Vec<NodeAddress> =
            self.hosts.iter().map(|host| find(host, protected)).collect::<Result<_, _>>()?;
        let away = servers.iter().any(|server| !server.address.ip().is_loopback());
        let pool = match &self.pool {
            Some(pool) => pool.clone(),
            None => {
                let mut name = [0; 8];
                random::fill(&mut name)?;
                format!("{PREFIX}:{:016x}", u64::from_le_bytes(name))
            }
        };
        Ok(RedisCluster {
            servers,
            login: Login { user: self.user.clone(), password },
            replicas: self.replicas,
            seal: self.seal.unwrap_or(away),
            pool,
            timing: self.timing,
        })
    }

    /// The same with all that had to be looked up, or to be settled.
    pub fn settled(self, cluster: &RedisCluster) -> Self {
        let host = |server: &NodeAddress| format!("{}@{}", server.name, server.address);
        Self {
            hosts: cluster.servers.iter().map(host).collect(),
            seal: Some(cluster.seal),
            pool: Some(cluster.pool.clone()),
            ..self
        }
    }
}

impl fmt::Display for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "rediss" } else { "redis" };
        write!(f, "{scheme}://{}?replicas={}", self.hosts.join(","), self.replicas)?;
        if let Some(user) = &self.user {
            write!(f, "&user={user}")?;
        }
        if let Some(pool) = &self.pool {
            write!(f, "&pool={pool}")?;
        }
        if let Some(seal) = self.seal {
            write!(f, "&seal={}", if seal { "yes" } else { "no" })?;
        }
        if !self.is_strict {
            write!(f, "&profile=none")?;
        }
        let (mut default, mut timing) = (default_timing(), self.timing);
        for (name, place) in TIMES {
            let time = *place(&mut timing);
            if time != *place(&mut default) {
                write!(f, "&{name}={time}ns")?;
            }
        }
        Ok(())
    }
}
