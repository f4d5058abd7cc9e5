//! `farside balance`: one amount of local memory, shared among the programs that run by what they miss.
//!
//! The rules are those of [`farside_sharing`], which know neither time nor sockets. Here programs are found by their
//! [registrations](crate::run::registered) and asked at their control sockets what they miss, and limits are ordered there.
//! The daemon keeps nothing that is not found again when it is started anew.

mod decide;
mod found;
mod gate;
mod metrics;
mod options;
mod view;

use std::io::{IsTerminal, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use farside_os::memory::PAGE;
use farside_sharing::{Standing, orders};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

pub use gate::announce;
use gate::{Gate, Scope, Taken};
pub use options::{BalanceArguments, HELP};

use crate::Failure;
use crate::options::Size;
use crate::output;
use crate::run::complain;
use found::{Found, Programs};
use metrics::Shown;
use options::Plan;
use view::{Share, View};

/// How often limits that are on their way are looked at, at first.
const STEP: Duration = Duration::from_millis(20);

/// The same when they have been on their way for [`LONG`].
const SLOW_STEP: Duration = Duration::from_millis(200);

/// Between two looks is so much time, however often somebody knocks.
const KNOCKED: Duration = Duration::from_millis(20);

/// When limits have been on their way for long.
const LONG: Duration = Duration::from_secs(2);

/// How long `--once` waits for limits to be in force.
const ONCE: Duration = Duration::from_secs(10);

/// Shares memory out among programs, until a signal ends it.
pub fn balance(arguments: &BalanceArguments) -> Result<ExitCode, Failure> {
    let plan = Plan::read(arguments)?;
    if plan.scope == Scope::All && !nix::unistd::geteuid().is_root() {
        return Err(Failure::usage(
            "--all-users: only the administrator may change other users' limits",
        ));
    }
    let mut daemon = Daemon::new(plan);
    if arguments.dry_run {
        daemon.look()?;
        return tell_once(&daemon, arguments.json);
    }
    let gate = open(daemon.plan.scope)?;
    // Threads that are started from now on leave signals to this one.
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTERM);
    signals.add(Signal::SIGINT);
    let waiting = signals.thread_block().and_then(|()| {
        SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
    });
    let signals =
        waiting.map_err(|error| Failure::own(format!("cannot wait for signals: {error}")))?;
    if arguments.once {
        return once(&mut daemon, arguments.json);
    }
    let teller = Teller::new(arguments, &daemon.plan)?;
    daemon.serve(&gate, &signals, teller)?;
    Ok(ExitCode::SUCCESS)
}

fn open(scope: Scope) -> Result<Gate, Failure> {
    Gate::open(scope).map_err(|taken| match taken {
        Taken::Running => Failure::own(
            "another farside balance shares memory among these programs already; end that one first",
        ),
        Taken::Failed(error) => Failure::own(format!("cannot open the daemon's socket: {error}")),
    })
}

/// Shares memory out once.
fn once(daemon: &mut Daemon, json: bool) -> Result<ExitCode, Failure> {
    let until = Instant::now() + ONCE;
    daemon.look()?;
    while !daemon.step() && Instant::now() < until {
        std::thread::sleep(STEP);
    }
    if !daemon.in_force {
        complain("limits are not all in force yet; programs go on towards them");
    }
    // What is told is how it is now.
    daemon.programs.ask();
    tell_once(daemon, json)
}

fn tell_once(daemon: &Daemon, json: bool) -> Result<ExitCode, Failure> {
    let view = daemon.view();
    match json {
        true => output::print_json(&view)?,
        false => output::print(view.table())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What is known, and what was decided.
#[derive(Debug)]
struct Daemon {
    plan: Plan,
    programs: Programs,
    /// The control sockets of those to whom memory was shared out, and what each is to have in pages.
    targets: Vec<(String, usize)>,
    in_force: bool,
    changes: u64,
    /// The least that would be needed, if that has been complained of.
    lacking: Option<usize>,
}

impl Daemon {
    fn new(plan: Plan) -> Self {
        let programs = Programs::new(plan.scope);
        Self { plan, programs, targets: Vec::new(), in_force: true, changes: 0, lacking: None }
    }

    /// Sees who runs, asks what they miss, and decides what each is to have.
    fn look(&mut self) -> Result<(), Failure> {
        self.programs.look()?;
        self.programs.ask();
        self.decide();
        Ok(())
    }

    fn decide(&mut self) {
        let all = self.programs.all();
        // Those who do not answer keep what they have.
        let claimed: u64 = all.iter().filter(|it| it.is_deaf()).map(|it| it.claim()).sum();
        let asked: Vec<&Found> = all.into_iter().filter(|it| !it.is_deaf()).collect();
        let names = || asked.iter().map(|it| &it.run.control);
        let same = names().eq(self.targets.iter().map(|(name, _)| name));
        let before: Vec<usize> = self.targets.iter().map(|(_, pages)| *pages).collect();
        let total = self.plan.total.saturating_sub(claimed);
        let (shares, too_little) =
            decide::decide(&self.plan, total, &asked, same.then_some(&before));
        let targets: Vec<(String, usize)> = names().cloned().zip(shares).collect();
        let lacking = too_little.map(|it| it.least);
        if let Some(least) = lacking.filter(|_| lacking != self.lacking) {
            complain(&format!(
                "{} programs need at least {} to run, and --local is {}: each has the least that it can run with, and \
                 all together have more; give --local {} at least, or end some",
                targets.len(),
                Size((least * PAGE) as u64),
                Size(self.plan.total),
                Size((least * PAGE) as u64 + claimed),
            ));
        }
        self.lacking = lacking;
        let changed = targets.iter().filter(|target| !self.targets.contains(target)).count();
        self.changes += changed as u64;
        self.targets = targets;
        self.in_force = false;
    }

    /// Takes a step towards what was decided; whether all of it is in force.
    fn step(&mut self) -> bool {
        let targets = self.targets.clone();
        let all = self.programs.all();
        let of = |name: &str| all.iter().find(|it| it.run.control == name).copied();
        let lowered: Vec<String> = targets
            .iter()
            .filter(|(name, target)| of(name).is_some_and(|it| pages(it.claim()) > *target))
            .map(|(name, _)| name.clone())
            .collect();
        // How far are they?
        lowered.iter().for_each(|name| self.programs.order(name, None));
        let standings = self.standings();
        for ((name, _), order) in targets.iter().zip(orders(pages(self.total_left()), &standings)) {
            if let Some(pages) = order {
                self.programs.order(name, Some((pages * PAGE) as u64));
            }
        }
        let arrived = |standing: &Standing| standing.claim == standing.target;
        self.in_force = self.standings().iter().all(arrived);
        self.in_force
    }

    /// How programs stand that memory was shared out to.
    fn standings(&self) -> Vec<Standing> {
        let all = self.programs.all();
        let standing = |(name, target): &(String, usize)| {
            let found = all.iter().find(|it| it.run.control == *name);
            // One that has gone claims nothing.
            let least = found.map_or(0, |it| pages(it.least()));
            match found {
                Some(it) => Standing { claim: pages(it.claim()), least, target: *target },
                None => Standing { claim: 0, least, target: 0 },
            }
        };
        self.targets.iter().map(standing).collect()
    }

    /// Memory without what those have to whom nothing was shared out.
    fn total_left(&self) -> u64 {
        let is_other = |it: &&Found| !self.targets.iter().any(|(name, _)| *name == it.run.control);
        let others: u64 = self.programs.all().into_iter().filter(is_other).map(Found::claim).sum();
        self.plan.total.saturating_sub(others)
    }

    fn view(&self) -> View {
        let all = self.programs.all();
        let target = |found: &Found| {
            let of = self.targets.iter().find(|(name, _)| *name == found.run.control);
            of.map_or_else(|| pages(found.claim()), |(_, pages)| *pages)
        };
        View {
            total_bytes: self.plan.total,
            claimed_bytes: all.iter().map(|it| it.claim()).sum(),
            in_force: self.in_force,
            changes: self.changes,
            programs: all.iter().map(|it| Share::new(&self.plan, it, target(it))).collect(),
        }
    }

    /// Goes on until a signal comes.
    fn serve(
        &mut self,
        gate: &Gate,
        signals: &SignalFd,
        mut teller: Teller,
    ) -> Result<(), Failure> {
        let mut look_at = Instant::now();
        let mut decided_at = look_at;
        loop {
            let now = Instant::now();
            if now >= look_at {
                self.look()?;
                (look_at, decided_at) = (now + self.plan.interval, now);
            }
            self.step();
            teller.tell(self.view());
            let pace = if decided_at.elapsed() > LONG { SLOW_STEP } else { STEP };
            let left = look_at.saturating_duration_since(Instant::now());
            let timeout = if self.in_force { left } else { left.min(pace) };
            let mut waited = [
                PollFd::new(signals.as_fd(), PollFlags::POLLIN),
                PollFd::new(gate.as_fd(), PollFlags::POLLIN),
            ];
            // A millisecond more, so that time has come then.
            let timeout =
                PollTimeout::try_from(timeout.as_millis() as i32 + 1).unwrap_or(PollTimeout::MAX);
            match poll(&mut waited, timeout) {
                Ok(_) | Err(nix::Error::EINTR) => {}
                Err(error) => return Err(Failure::own(format!("cannot wait: {error}"))),
            }
            let [ended, knocked] = waited.map(|fd| fd.any() == Some(true));
            if ended {
                return Ok(());
            }
            if knocked {
                gate.hear();
                // Somebody waits for a limit. Anybody can knock, as often as he likes.
                look_at = look_at.min(decided_at + KNOCKED);
            }
        }
    }
}

fn pages(bytes: u64) -> usize {
    (bytes / PAGE as u64) as usize
}

/// Who tells what has changed.
#[derive(Debug)]
struct Teller {
    json: bool,
    people: bool,
    told: View,
    shown: Shown,
}

impl Teller {
    fn new(arguments: &BalanceArguments, plan: &Plan) -> Result<Self, Failure> {
        let shown = Shown::default();
        let people = std::io::stdout().is_terminal() && !arguments.json;
        if let Some(metrics) = &arguments.metrics {
            let address = address_of(metrics)?;
            let cannot = |e| Failure::own(format!("cannot serve metrics at {metrics}: {e}"));
            let listens = metrics::serve(&shown, address).map_err(cannot)?;
            if people || address.port() == 0 {
                complain(&format!("metrics at http://{listens}/metrics"));
            }
        }
        if people {
            say(&format!(
                "sharing {} among the programs that run; Ctrl-C ends it\n",
                Size(plan.total)
            ));
        }
        Ok(Self { json: arguments.json, people, told: View::default(), shown })
    }

    fn tell(&mut self, view: View) {
        let changes = view.changes_since(&self.told);
        if self.people {
            say(&changes);
        }
        let is_news = !changes.is_empty() || view.in_force != self.told.in_force;
        if self.json
            && is_news
            && let Ok(line) = serde_json::to_string(&view)
        {
            say(&format!("{line}\n"));
        }
        *self.shown.lock().unwrap_or_else(|it| it.into_inner()) = view.clone();
        self.told = view;
    }
}

/// Whoever reads may be gone.
fn say(text: &str) {
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn address_of(metrics: &str) -> Result<SocketAddr, Failure> {
    let bad = |why: String| Failure::usage(format!("--metrics {metrics}: {why}; give HOST:PORT"));
    let mut found = metrics.to_socket_addrs().map_err(|error| bad(error.to_string()))?;
    found.next().ok_or_else(|| bad("no such address".into()))
}
