//! What the keeper of a run's tables tells nodes across a network: that processes are gone.
//!
//! Their pages would go without that, too, but only when the lease is over, which is as long as a node may have to wait for
//! a client that comes back; and until then the next program finds less room.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use farside_far::remote::{Cluster, Timing, leave};
use farside_far::{FarUrl, Opening, open};
use farside_wire::transport::{Files, Protection};

/// How long a node may take to be reached, and to answer: pages that it keeps longer are no loss.
const MOST_WAIT_NS: u64 = 500_000_000;

/// How long who waits for the end of the run is kept waiting for what is still to be said.
const LAST: Duration = Duration::from_secs(1);

/// Says farewell to nodes, from a thread of its own.
pub struct Farewell {
    /// The names of pools whose processes are gone; nobody listens if nobody has to be told.
    names: Option<Sender<u128>>,
    /// Ends when all is said.
    said: Receiver<()>,
}

impl Farewell {
    /// Will tell the nodes of `far`, if that is across a network.
    pub fn to(far: &FarUrl, credentials: Files) -> Self {
        let (saying, said) = channel();
        let (names, gone) = channel();
        if !matches!(far, FarUrl::Nodes(_)) {
            return Self { names: None, said };
        }
        let far = far.clone();
        // The program does not wait for what this reads.
        let speak = move || {
            if let Ok(Opening::Nodes(cluster, protection)) = open(&far, &credentials, true) {
                gone.iter().for_each(|name| say(&cluster, &protection, name));
            }
            drop(saying);
        };
        // Without a thread the leases end, as those of who was killed with all else.
        let thread = std::thread::Builder::new().name("farewell".into()).spawn(speak);
        Self { names: thread.ok().map(|_| names), said }
    }

    /// The processes of the pool of that name are gone.
    pub fn say(&self, name: u128) {
        if let Some(names) = &self.names {
            // A thread that is not there any more has nothing to say.
            let _ = names.send(name);
        }
    }

    /// Waits until all is said, but not for long.
    pub fn finish(mut self) {
        if self.names.take().is_some() {
            let _ = self.said.recv_timeout(LAST);
        }
    }
}

/// Tells each node. Nodes that cannot be told find out by themselves.
fn say(cluster: &Cluster, protection: &Protection, name: u128) {
    let network = cluster.carrier.network(protection.clone());
    let most = |ns: u64| ns.min(MOST_WAIT_NS);
    let timing = Timing {
        connect_ns: most(cluster.timing.connect_ns),
        deadline_ns: most(cluster.timing.deadline_ns),
        ..cluster.timing
    };
    for node in &cluster.nodes {
        let _ = leave(&*network, node, &timing, name);
    }
}
