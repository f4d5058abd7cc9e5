//! The loop of `farside run` while the program lives.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ChildStderr;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::children::{Change, Node, change_of};
use super::following::Watch;
use super::job_control::JobControl;
use super::members::{Gathered, Members};
use super::progress::Progress;
use super::redundancy::Redundancy;
use super::report::{Ending, Report, Subject, signal_name};
use super::signals::{Event, Signals};

/// How often a live line is redrawn.
const REDRAW: Duration = Duration::from_millis(250);

/// How often the counters of a program that follows a tape are looked at.
const GLANCE: Duration = Duration::from_millis(250);

/// The same while one process gives up what another one is to have.
const SOON: Duration = Duration::from_millis(20);

/// How long the node may take to end once nobody needs it.
const NODE_GRACE: Duration = Duration::from_secs(2);

/// How long a run without processes waits for one that is just being executed.
const LINGER: Duration = Duration::from_secs(1);

/// A running program, its processes and its node.
#[derive(Debug)]
pub struct Supervisor {
    signals: Signals,
    members: Members,
    subject: Subject,
    program: Pid,
    started: Instant,
    node: Option<Pid>,
    link: Option<OwnedFd>,
    node_stderr: Option<ChildStderr>,
    ending: Ending,
    job_control: JobControl,
    last_forwarded: Option<(Signal, Instant)>,
    watch: (Watch, Redundancy),
}

impl Supervisor {
    /// Takes charge of `program` and `node`; `watch` is who says that the program leaves its tape, or that its pages
    /// lack copies.
    pub fn new(
        signals: Signals,
        members: Members,
        subject: Subject,
        (program, node): (Pid, Node),
        watch: (Watch, Redundancy),
    ) -> Self {
        Self {
            signals,
            members,
            subject,
            program,
            started: Instant::now(),
            node: Some(node.pid),
            link: Some(node.link),
            node_stderr: Some(node.stderr),
            ending: Ending::Running,
            job_control: JobControl::default(),
            last_forwarded: None,
            watch,
        }
    }

    /// Serves until the program has ended, and returns the run's report.
    pub fn run(&mut self, progress: &mut Progress) -> io::Result<Report> {
        while self.ending == Ending::Running {
            let glances = self.is_watching() || self.members.is_divided();
            let pace = if self.members.is_settled() { GLANCE } else { SOON };
            let timeout = progress.is_shown().then_some(REDRAW).or(glances.then_some(pace));
            self.step(timeout.into_iter().chain(self.members.held_for()).min())?;
            self.keep_limit();
            self.keep_watch();
            if progress.is_shown() {
                progress.show(&self.report());
            }
        }
        // Processes that died with the program have hung up already.
        while self.step(Some(Duration::ZERO))? {}
        progress.clear();
        self.keep_watch();
        if self.node_is_dying()? {
            self.await_node()?;
        }
        Ok(self.report())
    }

    /// Sees to it that processes have their limits.
    fn keep_limit(&mut self) {
        self.members.let_in_who_waits(self.link.as_ref().map(AsFd::as_fd));
        if self.members.is_divided() {
            self.members.divide();
        }
    }

    fn is_watching(&self) -> bool {
        self.watch.0.is_on() || self.watch.1.is_on()
    }

    fn keep_watch(&mut self) {
        if self.is_watching() {
            let figures = self.members.figures();
            self.watch.0.look(&figures);
            self.watch.1.look(&figures);
        }
    }

    /// What has been gathered of the program, if anything was.
    pub fn take_gathered(&mut self) -> Option<Gathered> {
        self.members.take_gathered()
    }

    /// Plans the parts of the run that have been recorded; returns how many. `peak` is the footprint in bytes.
    pub fn plan_parts(&mut self, peak: u64) -> usize {
        self.members.plan_parts(peak)
    }

    /// Whether processes outlive the program.
    pub fn has_survivors(&self) -> bool {
        !self.members.is_empty()
    }

    /// Goes on for processes that outlive the program, until the last of them is gone.
    pub fn linger(mut self) -> io::Result<()> {
        // The node is a sister of the process that lingers, not its child.
        self.node = None;
        let mut empty_since = None;
        loop {
            self.step(Some(LINGER))?;
            self.keep_limit();
            if !self.members.is_empty() {
                empty_since = None;
            } else if empty_since.get_or_insert_with(Instant::now).elapsed() >= LINGER {
                return Ok(());
            }
        }
    }

    /// Lets the node go and waits until it is gone.
    pub fn finish(mut self) -> io::Result<()> {
        self.link = None;
        self.await_node()
    }

    /// Whether the node hung up, as it does when it dies; its processes learn that as soon as the
    /// supervisor, and may end before the death itself is reported.
    fn node_is_dying(&self) -> io::Result<bool> {
        let Some(link) = &self.link else { return Ok(false) };
        let mut waited = [PollFd::new(link.as_fd(), PollFlags::empty())];
        poll(&mut waited, PollTimeout::ZERO)?;
        Ok(waited[0].any() == Some(true))
    }

    /// Waits until the node is gone, and makes sure of that after a while.
    fn await_node(&mut self) -> io::Result<()> {
        let deadline = Instant::now() + NODE_GRACE;
        while let Some(node) = self.node {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                kill(node, Signal::SIGKILL)?;
                nix::sys::wait::waitpid(node, None)?;
                self.node = None;
                return Ok(());
            }
            self.step(Some(left))?;
        }
        Ok(())
    }

    /// Descriptors that a process lingering on must keep.
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let mut all = vec![self.signals.as_fd()];
        all.extend(self.node_stderr.as_ref().map(AsFd::as_fd));
        all.extend(self.link.as_ref().map(AsFd::as_fd));
        all.extend(self.members.held());
        all
    }

    fn report(&self) -> Report {
        self.report_on(&self.members.figures())
    }

    fn report_on(&self, figures: &crate::figures::Figures) -> Report {
        let pid = self.program.as_raw() as u32;
        let mut report =
            Report::new(&self.subject, pid, self.ending.clone(), self.started.elapsed(), figures);
        report.note_ordered(self.members.ordered());
        report
    }

    /// Waits for something to happen, for `timeout` at most, and deals with it. Returns whether
    /// anything did.
    fn step(&mut self, timeout: Option<Duration>) -> io::Result<bool> {
        let stderr = self.node_stderr.as_ref().map(AsFd::as_fd);
        let fixed = [Some(self.signals.as_fd()), stderr];
        let mut waited: Vec<PollFd<'_>> = fixed
            .into_iter()
            .flatten()
            .chain(self.members.descriptors())
            .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
            .collect();
        let timeout = match timeout {
            None => PollTimeout::NONE,
            Some(time) => PollTimeout::try_from(time.as_millis().min(60_000) as i32)
                .unwrap_or(PollTimeout::MAX),
        };
        match poll(&mut waited, timeout) {
            Ok(0) => return Ok(false),
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready: Vec<bool> = waited.iter().map(|fd| fd.any() == Some(true)).collect();
        let (signals, rest) = (ready[0], &ready[1..]);
        let (complaint, members) =
            if self.node_stderr.is_some() { (rest[0], &rest[1..]) } else { (false, rest) };
        if complaint {
            self.pass_on_complaint();
        }
        if members.contains(&true) {
            self.serve_members(members);
        }
        if signals {
            self.heed_signals()?;
        }
        Ok(ready.contains(&true))
    }

    fn serve_members(&mut self, ready: &[bool]) {
        let (subject, program) = (&self.subject, self.program.as_raw() as u32);
        let (ending, elapsed) = (&self.ending, self.started.elapsed());
        let ordered = self.members.ordered();
        let text = |figures: &crate::figures::Figures| {
            let mut report = Report::new(subject, program, ending.clone(), elapsed, figures);
            report.note_ordered(ordered);
            let fits = |report: &Report| {
                serde_json::to_string(report)
                    .ok()
                    .filter(|text| text.len() <= farside_wire::control::MAX_FIGURES)
            };
            fits(&report).unwrap_or_else(|| {
                // Arguments can be megabytes long; nothing else can.
                report.arguments.clear();
                report.program = report.program.chars().take(200).collect();
                fits(&report).unwrap_or_default()
            })
        };
        self.members.serve(ready, self.link.as_ref().map(AsFd::as_fd), text);
    }

    fn pass_on_complaint(&mut self) {
        let mut bytes = [0; 1024];
        match self.node_stderr.as_mut().map(|stderr| stderr.read(&mut bytes)) {
            Some(Ok(len)) if len > 0 => {
                for line in String::from_utf8_lossy(&bytes[..len]).lines() {
                    complain(line);
                }
            }
            _ => self.node_stderr = None,
        }
    }

    fn heed_signals(&mut self) -> io::Result<()> {
        while let Some(event) = self.signals.next(self.program)? {
            match event {
                Event::Child => self.look_after_children()?,
                Event::TerminalStop => self.job_control.terminal_stop(),
                Event::Continued => self.job_control.continued(),
                Event::Forward(signal) => self.forward(signal),
            }
        }
        Ok(())
    }

    /// Passes a signal on. A sender that signals the supervisor and then its whole group, as
    /// `timeout` does, is heard once.
    fn forward(&mut self, signal: Signal) {
        const ONCE_WITHIN: Duration = Duration::from_millis(50);
        let again = self
            .last_forwarded
            .is_some_and(|(last, at)| last == signal && at.elapsed() < ONCE_WITHIN);
        if signal == Signal::SIGTERM && again {
            return;
        }
        self.last_forwarded = Some((signal, Instant::now()));
        self.job_control.forwarded(signal);
        if self.ending == Ending::Running {
            // The program may be gone by now, which is seen next.
            let _ = kill(self.program, signal);
        }
    }

    fn look_after_children(&mut self) -> io::Result<()> {
        while self.ending == Ending::Running {
            match change_of(self.program)? {
                None => break,
                Some(Change::Exited(code)) => self.ending = Ending::Exited(code),
                Some(Change::Killed(signal)) => self.ending = Ending::Killed(signal),
                Some(Change::Stopped(signal)) => self.job_control.stop_along(signal)?,
            }
        }
        let Some(node) = self.node else { return Ok(()) };
        let (how, alone) = match change_of(node)? {
            None | Some(Change::Stopped(_)) => return Ok(()),
            Some(Change::Exited(code)) => (format!("exited with code {code}"), false),
            Some(Change::Killed(signal)) => {
                (format!("was killed by {}", signal_name(signal)), !ends_groups(signal))
            }
        };
        self.node = None;
        // The program may see it die before the supervisor does, and end: then it was let go of when it was dead already.
        if self.link.take().is_some() || alone {
            complain(&format!("lost the memory node, which {how}; what it held is gone"));
        }
        Ok(())
    }
}

/// Whether a signal is one that ends whole groups of processes.
fn ends_groups(signal: i32) -> bool {
    [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT]
        .iter()
        .any(|other| *other as i32 == signal)
}

/// One line on stderr; a closed stderr is no reason to stop.
pub fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "farside: {line}");
}
