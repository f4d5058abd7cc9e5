//! The programs that run, and what they say of themselves.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use farside_pager::settings::LEAST_LIMIT;
use farside_wire::control::{self, ControlError, LimitState, OrderLimit};
use nix::unistd::geteuid;

use super::gate::Scope;
use crate::Failure;
use crate::run::{Report, RunFile, of_all_users, registered, registered_in};

/// How long a program may take to answer.
const PATIENCE: Duration = Duration::from_millis(250);

/// Programs that are asked at the same time.
const AT_ONCE: usize = 8;

/// Most programs of a user that memory is shared among.
const MOST_OF_USER: usize = 256;

/// For at most so many looks, one who does not answer is not asked again.
const MOST_PASSED: u32 = 32;

/// A program that runs.
#[derive(Debug)]
pub struct Found {
    file: PathBuf,
    /// What its run says of itself.
    pub run: RunFile,
    /// To whom it belongs.
    pub user: u32,
    /// What it said last, and when.
    pub said: Option<Said>,
    /// What it said before.
    pub before: Option<Said>,
    /// How it is with its limit.
    pub state: Option<LimitState>,
    /// An order that may or may not have been heard.
    unsure: Option<u64>,
    /// Looks in a row in which it did not answer, and those in which it is not asked.
    deaf: u32,
    passed: u32,
    /// When it was seen to do something.
    pub busy_at: Instant,
    /// When it was last seen to come to a page that is tracked.
    pub seen_at: Instant,
}

/// What a program said of itself at a time.
#[derive(Clone, Debug)]
pub struct Said {
    /// All of it.
    pub report: Report,
    /// Processor time of the program so far, in ticks of the kernel, if that is known.
    pub ticks: Option<u64>,
}

impl Found {
    fn new(file: PathBuf, run: RunFile, user: u32) -> Self {
        Self {
            file,
            run,
            user,
            said: None,
            before: None,
            state: None,
            unsure: None,
            deaf: 0,
            passed: 0,
            busy_at: Instant::now(),
            seen_at: Instant::now(),
        }
    }

    /// Whether it does not answer.
    pub fn is_deaf(&self) -> bool {
        self.deaf > 0
    }

    /// The name by which users call it.
    pub fn name(&self) -> &str {
        self.run.program.rsplit('/').next().unwrap_or_default()
    }

    /// The process, if that is known.
    pub fn pid(&self) -> Option<u32> {
        self.said.as_ref().map(|said| said.report.pid)
    }

    /// What has to be counted on, in bytes: what it has, or may have, or was promised.
    pub fn claim(&self) -> u64 {
        let state = self.state.unwrap_or_default();
        state.claim().max(state.ordered).max(self.unsure.unwrap_or(0))
    }

    /// The least limit, in bytes, that it can run with.
    pub fn least(&self) -> u64 {
        self.state.map_or(LEAST_LIMIT, |state| state.least.max(LEAST_LIMIT))
    }

    fn note(&mut self, answer: Answer) {
        match answer {
            Answer::Said(said, state) => {
                (self.deaf, self.passed) = (0, 0);
                let ticks = |said: &Option<Said>| said.as_ref().and_then(|said| said.ticks);
                if said.ticks.is_none() || said.ticks != ticks(&self.said) {
                    self.busy_at = Instant::now();
                }
                let recent = |said: &Said| said.report.recent.clone();
                if self.said.as_ref().and_then(recent) != recent(&said) {
                    self.seen_at = Instant::now();
                }
                self.before = self.said.replace(*said);
                (self.state, self.unsure) = (Some(state), None);
            }
            Answer::Silence => {
                self.deaf = self.deaf.saturating_add(1);
                self.passed = 1u32.checked_shl(self.deaf).unwrap_or(MOST_PASSED).min(MOST_PASSED);
            }
            Answer::Gone | Answer::Unasked => {}
        }
    }
}

/// What came of asking.
#[derive(Debug)]
enum Answer {
    Said(Box<Said>, LimitState),
    /// It may be stopped, or too busy.
    Silence,
    /// Nobody is there any more.
    Gone,
    Unasked,
}

/// All programs that run.
#[derive(Debug)]
pub struct Programs {
    scope: Scope,
    all: HashMap<String, Found>,
}

impl Programs {
    /// Nothing is known yet.
    pub fn new(scope: Scope) -> Self {
        Self { scope, all: HashMap::new() }
    }

    /// Those that are known, in the order in which they began.
    pub fn all(&self) -> Vec<&Found> {
        let mut all: Vec<&Found> = self.all.values().collect();
        all.sort_by_key(|found| (found.run.supervisor_pid, &found.run.control));
        all
    }

    /// Looks who has come and who has gone; whether there was anybody.
    pub fn look(&mut self) -> Result<bool, Failure> {
        let listed = self.listed()?;
        let known = self.all.len();
        let runs: Vec<&String> = listed.iter().map(|(_, run, _)| &run.control).collect();
        self.all.retain(|control, _| runs.contains(&control));
        let mut changed = self.all.len() != known;
        for (file, run, user) in listed {
            let of_user = self.all.values().filter(|found| found.user == user).count();
            if !self.all.contains_key(&run.control) && of_user < MOST_OF_USER {
                self.all.insert(run.control.clone(), Found::new(file, run, user));
                changed = true;
            }
        }
        Ok(changed)
    }

    fn listed(&self) -> Result<Vec<(PathBuf, RunFile, u32)>, Failure> {
        let with = |user: u32| move |(file, run)| (file, run, user);
        match self.scope {
            Scope::Own => {
                let cannot =
                    |error| Failure::own(format!("cannot list the running programs: {error}"));
                let user = geteuid().as_raw();
                Ok(registered().map_err(cannot)?.into_iter().map(with(user)).collect())
            }
            Scope::All => {
                let of = |(directory, user): (PathBuf, u32)| {
                    let runs = registered_in(&directory).unwrap_or_default();
                    runs.into_iter().map(with(user))
                };
                Ok(of_all_users().into_iter().flat_map(of).collect())
            }
        }
    }

    /// Asks all that are to be asked what they say of themselves; whether somebody was found to be gone.
    pub fn ask(&mut self) -> bool {
        let asked: Vec<&mut Found> = self.all.values_mut().collect();
        let queue = Mutex::new(asked.into_iter());
        let gone = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    loop {
                        let next = queue.lock().unwrap_or_else(|it| it.into_inner()).next();
                        let Some(found) = next else { return };
                        let answer = ask(found);
                        if matches!(answer, Answer::Gone) {
                            let mut gone = gone.lock().unwrap_or_else(|it| it.into_inner());
                            gone.push(found.run.control.clone());
                        }
                        found.note(answer);
                    }
                });
            }
        });
        let gone = gone.into_inner().unwrap_or_else(|it| it.into_inner());
        for control in &gone {
            if let Some(found) = self.all.remove(control) {
                // Whoever killed its supervisor left this behind; somebody else may have cleaned up first.
                let _ = std::fs::remove_file(&found.file);
            }
        }
        !gone.is_empty()
    }

    /// Orders a limit for the program with this control socket, or only asks how it is with its limit.
    pub fn order(&mut self, control: &str, bytes: Option<u64>) {
        let Some(found) = self.all.get_mut(control) else { return };
        if found.is_deaf() {
            return;
        }
        let order = OrderLimit { bytes };
        match control::order_limit(control, order, PATIENCE, Some(found.user)) {
            Ok(state) => (found.state, found.unsure) = (Some(state), None),
            // It is gone, or will be found silent at the next look. It may have heard the order.
            Err(_) => found.unsure = found.unsure.max(bytes),
        }
    }
}

fn ask(found: &mut Found) -> Answer {
    if found.passed > 0 {
        found.passed -= 1;
        return Answer::Unasked;
    }
    let control = &found.run.control;
    let report = control::watch_within(control, PATIENCE, Some(found.user));
    let state =
        control::order_limit(control, OrderLimit { bytes: None }, PATIENCE, Some(found.user));
    match (report, state) {
        (Ok(text), Ok(state)) => match serde_json::from_str::<Report>(&text) {
            Ok(report) => {
                let ticks = ticks(report.pid).filter(|_| report.processes <= 1);
                Answer::Said(Box::new(Said { report, ticks }), state)
            }
            // What it says makes no sense; it may still be told what to do.
            Err(_) => Answer::Silence,
        },
        (Err(ControlError::Connect(error)), _) if error.errno == libc::ECONNREFUSED => Answer::Gone,
        // What listens there now is not what did.
        (Err(ControlError::NotTheirs(_)), _) => Answer::Gone,
        _ => Answer::Silence,
    }
}

/// Processor time of a process so far.
fn ticks(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Behind the name, which may hold anything.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()? + next()?)
}
