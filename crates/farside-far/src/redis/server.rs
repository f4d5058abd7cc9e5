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
    /// What the server calls the last connection that something may have been stored over.
    store_number: Mutex<Option<i64>>,
}

impl Server {
    /// A server that is not connected to.
    pub fn new(place: Place) -> Self {
        Self {
            place,
            lines: Default::default(),
            retry: Mutex::new((0, RETRY_NS.0)),
            slow_until: AtomicU64::new(0),
            store_number: Mutex::default(),
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
        *self.store_number.lock().unwrap_or_else(PoisonError::into_inner) = None;
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
            let greeting = Greeting { network, timing, until: network.now() + timing.connect_ns };
            let line = greeting.connect(&self.place, login)?;
            if *errand == Errand::Store {
                let mut number = self.store_number.lock().unwrap_or_else(PoisonError::into_inner);
                *number = Some(greeting.take_over(&line, *number)?);
            }
            *self.lines[*errand as usize].write().unwrap_or_else(PoisonError::into_inner) =
                Some(Arc::new(line));
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

/// What is said on a new connection.
struct Greeting<'a> {
    network: &'a dyn Network,
    timing: &'a Timing,
    /// When it has to be over.
    until: u64,
}

impl Greeting<'_> {
    /// Connects to a server, and says who we are. Replicas are told that reading is all we want of them.
    fn connect(&self, place: &Place, login: &Login) -> io::Result<Line> {
        let address = NodeAddress { name: place.name.clone(), address: place.address };
        let stream = self.network.connect(&address, self.timing.connect_ns)?;
        let line = Line::new(stream, self.timing.spin_ns);
        let mut commands = Vec::new();
        if let Some(password) = &login.password {
            let user = login.user.as_deref().unwrap_or("default");
            commands.push(command(&["AUTH", user, password]));
        }
        commands.push(command(&["READONLY"]));
        self.ask(&line, &commands)?;
        Ok(line)
    }

    /// Makes sure that nothing that was sent on an earlier connection, and that nobody waits for any more, is stored from
    /// now on: it would take the place of what is sent on this one. Returns the number that this one has at the
    /// server.
    fn take_over(&self, line: &Line, earlier: Option<i64>) -> io::Result<i64> {
        let end = |number: i64| command(&["CLIENT", "KILL", "ID", &number.to_string()]);
        let mut commands: Vec<Vec<u8>> = earlier.map(end).into_iter().collect();
        commands.push(command(&["CLIENT", "ID"]));
        match self.ask(line, &commands)?.pop() {
            Some(Reply::Number(number)) => Ok(number),
            _ => Err(io::Error::other("it does not say which of its clients we are")),
        }
    }

    /// The replies to commands, none of which is an error.
    fn ask(&self, line: &Line, commands: &[Vec<u8>]) -> io::Result<Vec<Reply>> {
        let silent = |silence| match silence {
            Silence::Late => io::Error::other("it does not answer"),
            Silence::Broken => io::Error::other(line.why().to_owned()),
        };
        let first = line.send(&mut [IoSlice::new(&commands.concat())], commands.len());
        let first = first.map_err(silent)?;
        let reply = |call| match line.wait(call, self.until).map_err(silent)? {
            Reply::Error(why) => Err(io::Error::other(why)),
            reply => Ok(reply),
        };
        (first..first + commands.len() as u64).map(reply).collect()
    }
}
