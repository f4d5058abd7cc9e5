//! A server of the cluster, as this side knows it.

use std::io::{self, IoSlice};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::line::{Line, Silence};
use super::resp::{Reply, command};
use super::topology::Place;
use crate::remote::{Network, NodeAddress, Timing};

/// What a connection is for: pages that the program waits for do not queue behind others, and nothing queues behind
/// those that wait for replicas.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Errand {
    /// A page that somebody waits for; and questions.
    Demand = 0,
    /// Pages that are foreseen.
    Ahead = 1,
    /// Pages to store.
    Store = 2,
}

/// Who we are.
#[derive(Clone, Default)]
pub struct Login {
    /// The name; the default user's if there is none.
    pub user: Option<String>,
    /// The password, if one is needed.
    pub password: Option<String>,
}

/// From one attempt to reach a server to the next, at first and at most.
const RETRY_NS: (u64, u64) = (20_000_000, 1_000_000_000);

/// How long a server that was slow is left alone if another one will do.
const SLOW_NS: u64 = 200_000_000;

/// A server.
pub struct Server {
    /// Where it is.
    pub place: Place,
    lines: [RwLock<Option<Arc<Line>>>; 3],
    /// When to try to reach it again, and how long to wait after that.
    retry: Mutex<(u64, u64)>,
    slow_until: AtomicU64,
}

impl Server {
    /// A server that is not connected to.
    pub fn new(place: Place) -> Self {
        Self {
            place,
            lines: Default::default(),
            retry: Mutex::new((0, RETRY_NS.0)),
            slow_until: AtomicU64::new(0),
        }
    }

    /// The connection for an errand, unless it has ended.
    pub fn line(&self, errand: Errand) -> Option<Arc<Line>> {
        let line = self.lines[errand as usize].read().unwrap_or_else(PoisonError::into_inner);
        line.as_ref().filter(|line| !line.is_broken()).map(Arc::clone)
    }

    /// Whether it can be asked.
    pub fn is_up(&self) -> bool {
        self.line(Errand::Demand).is_some()
    }

    /// Whether it was slow lately.
    pub fn is_slow(&self, now: u64) -> bool {
        self.slow_until.load(Ordering::Relaxed) > now
    }

    /// It did not answer in time.
    pub fn note_slow(&self, now: u64) {
        self.slow_until.store(now + SLOW_NS, Ordering::Relaxed);
    }

    /// Ends the connections; new ones will be made.
    pub fn hang_up(&self) {
        for line in &self.lines {
            if let Some(line) = &*line.read().unwrap_or_else(PoisonError::into_inner) {
                line.end();
            }
        }
    }

    /// In a forked child: the connections are the parent's.
    pub fn leave_to_parent(&self) {
        for line in &self.lines {
            *line.write().unwrap_or_else(PoisonError::into_inner) = None;
        }
        *self.retry.lock().unwrap_or_else(PoisonError::into_inner) = (0, RETRY_NS.0);
    }

    /// Connects for those errands that there is no connection for.
    ///
    /// # Errors
    /// If it cannot be reached, or will not have us.
    pub fn connect(
        &self,
        network: &dyn Network,
        timing: &Timing,
        login: &Login,
        errands: &[Errand],
    ) -> io::Result<()> {
        for errand in errands {
            if self.line(*errand).is_some() {
                continue;
            }
            let line = Arc::new(greet(network, &self.place, timing, login)?);
            *self.lines[*errand as usize].write().unwrap_or_else(PoisonError::into_inner) =
                Some(line);
        }
        Ok(())
    }

    /// Receives what nobody waits for, and connects where that is due.
    pub fn tend(&self, network: &dyn Network, timing: &Timing, login: &Login, errands: &[Errand]) {
        for errand in [Errand::Demand, Errand::Ahead, Errand::Store] {
            if let Some(line) = self.line(errand) {
                line.sweep();
            }
        }
        if errands.iter().all(|errand| self.line(*errand).is_some()) {
            return;
        }
        let mut retry = self.retry.lock().unwrap_or_else(PoisonError::into_inner);
        if network.now() >= retry.0 {
            *retry = match self.connect(network, timing, login, errands) {
                Ok(()) => (0, RETRY_NS.0),
                Err(_) => (network.now() + retry.1, (retry.1 * 2).min(RETRY_NS.1)),
            };
        }
    }
}

/// Connects to a server, and says who we are. Replicas are told that reading is all we want of them.
fn greet(network: &dyn Network, place: &Place, timing: &Timing, login: &Login) -> io::Result<Line> {
    let address = NodeAddress { name: place.name.clone(), address: place.address };
    let line = Line::new(network.connect(&address, timing.connect_ns)?, timing.spin_ns);
    let mut commands = Vec::new();
    let mut replies = 1;
    if let Some(password) = &login.password {
        let user = login.user.as_deref().unwrap_or("default");
        commands.extend(command(&["AUTH", user, password]));
        replies += 1;
    }
    commands.extend(command(&["READONLY"]));
    let until = network.now() + timing.connect_ns;
    let silent = |silence| match silence {
        Silence::Late => io::Error::other("it does not answer"),
        Silence::Broken => io::Error::other(line.why().to_owned()),
    };
    let first = line.send(&mut [IoSlice::new(&commands)], replies).map_err(silent)?;
    for call in first..first + replies as u64 {
        if let Reply::Error(why) = line.wait(call, until).map_err(silent)? {
            return Err(io::Error::other(why));
        }
    }
    Ok(line)
}
