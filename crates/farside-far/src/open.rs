//! From a URL to the far store that it names.

use std::os::fd::OwnedFd;

use farside_wire::transport::{BadCredentials, Files, Protection};
use thiserror::Error;

use crate::redis::{Redis, RedisCluster};
use crate::remote::{Carrier, Cluster, TcpNetwork};
use crate::{Embedded, FarError, FarStore, FarUrl, File, FileUrl, Remote, Unresolved};

/// A far store that is about to be opened: all that can be wrong with how it was described has been found.
pub enum Opening {
    /// The embedded node.
    Embedded(FarUrl),
    /// A file.
    File(FileUrl),
    /// Nodes across a network.
    Nodes(Cluster, Protection),
    /// A cluster that speaks Redis's protocol.
    Redis(RedisCluster, TcpNetwork),
}

/// A description that names nothing.
#[derive(Debug, Error)]
pub enum BadStore {
    /// A name in it stands for no address, or pages would travel unprotected.
    #[error(transparent)]
    Unresolved(#[from] Unresolved),
    /// The files that protect the way there make no sense.
    #[error(transparent)]
    Credentials(#[from] BadCredentials),
    /// They are given for a way that nothing protects.
    #[error("UCX protects nothing on its way; --psk and the options of TLS are for tcp://")]
    Useless,
}

/// Finds what a URL names, and by what the way there is protected; an `insecure` one needs to be protected by nothing.
///
/// # Errors
/// If a name stands for no address, connections are not protected as they have to be, or a file is not what it should
/// be.
pub fn open(url: &FarUrl, files: &Files, insecure: bool) -> Result<Opening, BadStore> {
    Ok(match url {
        FarUrl::Embedded { .. } => Opening::Embedded(url.clone()),
        FarUrl::File(file) => Opening::File(file.clone()),
        FarUrl::Nodes(nodes) => {
            let protection = files.read()?;
            if protection.is_some() && nodes.carrier == Carrier::Ucx {
                return Err(BadStore::Useless);
            }
            let cluster = nodes.resolve(insecure || protection.is_some())?;
            Opening::Nodes(cluster, protection)
        }
        FarUrl::Redis(url) => {
            let protection = files.read_for_cluster(url.tls)?;
            let cluster = url.resolve(insecure, files.read_password()?)?;
            Opening::Redis(cluster, TcpNetwork { protection })
        }
    })
}

impl Opening {
    /// The store of a process's far region of `pages` pages; `link` is its connection to the keeper of the run's tables.
    ///
    /// # Errors
    /// If it cannot be had.
    pub fn connect(self, link: OwnedFd, pages: u64) -> Result<Box<dyn FarStore>, FarError> {
        Ok(match self {
            Self::Embedded(url) => Box::new(Embedded::connect(link, &url, pages)?),
            Self::File(url) => Box::new(File::connect(link, &url, pages)?),
            Self::Nodes(cluster, protection) => {
                let network = cluster.carrier.network(protection);
                Box::new(Remote::connect(link, &cluster, network, pages)?)
            }
            Self::Redis(cluster, network) => {
                Box::new(Redis::connect(link, &cluster, Box::new(network), pages)?)
            }
        })
    }
}
