//! From a URL to the far store that it names.

use std::os::fd::OwnedFd;

use farside_wire::transport::Protection;

use crate::remote::Cluster;
use crate::{Embedded, FarError, FarStore, FarUrl, Remote, Unresolved};

/// A far store that is about to be opened: all that can be wrong with how it was described has been found.
pub struct Opening {
    url: FarUrl,
    cluster: Option<Cluster>,
    protection: Protection,
}

/// Finds what a URL names. The caller has seen to it that pages may travel there as they are protected.
///
/// # Errors
/// If a name in it stands for no address.
pub fn open(url: FarUrl, protection: Protection) -> Result<Opening, Unresolved> {
    let cluster = match &url {
        FarUrl::Nodes(nodes) => Some(nodes.resolve(true)?),
        FarUrl::Embedded { .. } => None,
    };
    Ok(Opening { url, cluster, protection })
}

impl Opening {
    /// The store of a process's far region of `pages` pages; `link` is its connection to the keeper of the run's tables.
    ///
    /// # Errors
    /// If it cannot be had.
    pub fn connect(self, link: OwnedFd, pages: u64) -> Result<Box<dyn FarStore>, FarError> {
        match self.cluster {
            Some(cluster) => {
                let network = cluster.carrier.network(self.protection);
                Ok(Box::new(Remote::connect(link, &cluster, network, pages)?))
            }
            None => Ok(Box::new(Embedded::connect(link, &self.url, pages)?)),
        }
    }
}
