//! The loop of `farside capture` while the program lives.

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::signal::kill;
use nix::sys::time::TimeSpec;
use nix::unistd::Pid;

use super::order::Order;
use super::recorder::Recorder;
use super::stream::{RING_WORDS, Stream};
use crate::Failure;
use crate::options::Size;
use crate::run::{Change, Ending, Event, JobControl, Signals, change_of, complain, grouped};

/// So many words are too many to wait before more are read.
const MANY: u64 = RING_WORDS as u64 / 8;

/// How long to wait when there were fewer. Each look takes the cache line in which the program's thread
/// counts its words away from it.
const PAUSE: Duration = Duration::from_micros(100);

/// How long to wait when there was nothing to read: a ring must not fill meanwhile.
const SHORT: Duration = Duration::from_millis(1);

/// How long to wait when there has been nothing for a while.
const LONG: Duration = Duration::from_millis(10);

/// How long nothing must come before the program counts as idle.
const IDLE: Duration = Duration::from_millis(200);

/// How often the live line is redrawn.
const REDRAW: Duration = Duration::from_millis(250);

/// A running program and what it tells.
pub struct Supervisor<'a> {
    signals: Signals,
    program: Pid,
    stream: &'a Stream,
    order: Order,
    recorder: Recorder,
    ending: Ending,
    /// Whether the terminal asked the program to stop.
    job_control: JobControl,
    /// Whether nothing is read any more.
    stopped: bool,
}

impl<'a> Supervisor<'a> {
    /// Takes charge of `program`, which writes to `stream`.
    pub fn new(signals: Signals, program: Pid, stream: &'a Stream, recorder: Recorder) -> Self {
        Self {
            signals,
            program,
            stream,
            order: Order::new(),
            recorder,
            ending: Ending::Running,
            job_control: JobControl::default(),
            stopped: false,
        }
    }

    /// Records until the program has ended; how it ended. `name` is for the live line.
    pub fn run(&mut self, name: &str) -> Result<Ending, Failure> {
        let own = |error: io::Error| Failure::own(format!("cannot go on supervising: {error}"));
        let mut line = Live::new(name);
        let mut last_words = Instant::now();
        let mut flushed = true;
        while self.ending == Ending::Running {
            let words = self.read();
            let progress = words > 0;
            if progress {
                (last_words, flushed) = (Instant::now(), false);
            }
            let quiet = last_words.elapsed();
            if quiet > IDLE && !flushed {
                self.recorder.flush();
                flushed = true;
            }
            let wait = match (words, quiet > IDLE) {
                (MANY.., _) => Duration::ZERO,
                (1.., _) => PAUSE,
                (0, false) => SHORT,
                (0, true) => LONG,
            };
            if self.await_signals(wait).map_err(own)? {
                self.heed_signals().map_err(own)?;
            } else if !progress && !self.stopped {
                self.order.lend(self.stream, &mut self.recorder);
            }
            line.draw(&self.recorder);
        }
        line.clear();
        if !self.stopped && self.order.finish(self.stream, &mut self.recorder).is_err() {
            self.give_up();
        }
        Ok(self.ending.clone())
    }

    /// What was recorded.
    pub fn into_recorder(self) -> Recorder {
        self.recorder
    }

    /// Reads what there is. Returns how many words it was.
    fn read(&mut self) -> u64 {
        if self.stopped {
            return 0;
        }
        let words = self.order.advance(self.stream, &mut self.recorder);
        if words.is_err() {
            self.give_up();
        }
        if self.recorder.failed() {
            // The program goes on; what it did until here stays readable.
            self.stop();
        }
        words.unwrap_or(0)
    }

    fn give_up(&mut self) {
        complain("the program overwrote the memory in which it is traced; the trace ends here");
        self.stop();
    }

    fn stop(&mut self) {
        self.stopped = true;
        self.stream.stop();
    }

    /// Waits for a signal, for `time` at most.
    fn await_signals(&self, time: Duration) -> io::Result<bool> {
        let mut waited = [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        match ppoll(&mut waited, Some(TimeSpec::from_duration(time)), None) {
            Ok(ready) => Ok(ready > 0),
            Err(nix::Error::EINTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn heed_signals(&mut self) -> io::Result<()> {
        while let Some(event) = self.signals.next(self.program)? {
            match event {
                Event::Child => self.look_after_program()?,
                Event::TerminalStop => self.job_control.terminal_stop(),
                Event::Continued => self.job_control.continued(),
                Event::Forward(signal) => {
                    self.job_control.forwarded(signal);
                    // The program may be gone by now, which is seen next.
                    let _ = kill(self.program, signal);
                }
            }
        }
        Ok(())
    }

    fn look_after_program(&mut self) -> io::Result<()> {
        while self.ending == Ending::Running {
            match change_of(self.program)? {
                None => break,
                Some(Change::Exited(code)) => self.ending = Ending::Exited(code),
                Some(Change::Killed(signal)) => self.ending = Ending::Killed(signal),
                Some(Change::Stopped(signal)) => self.job_control.stop_along(signal)?,
            }
        }
        Ok(())
    }
}

/// A line at the bottom of the terminal while the program runs, or nothing.
struct Live {
    line: Option<ProgressBar>,
    name: String,
    drawn: Instant,
}

impl Live {
    fn new(name: &str) -> Self {
        let line = io::stderr().is_terminal().then(|| {
            let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            line.with_style(
                ProgressStyle::with_template("{spinner} {wide_msg}")
                    .unwrap_or_else(|_| ProgressStyle::default_spinner()),
            )
        });
        Self { line, name: name.to_owned(), drawn: Instant::now() }
    }

    fn draw(&mut self, recorder: &Recorder) {
        let Some(line) = self.line.as_ref().filter(|_| self.drawn.elapsed() > REDRAW) else {
            return;
        };
        self.drawn = Instant::now();
        let recorded = recorder.recorded();
        line.set_message(format!(
            "capturing {}: {} accesses, {} records, {} pages, {}",
            self.name,
            grouped(recorded.accesses),
            grouped(recorded.records),
            grouped(recorded.pages),
            Size(recorded.bytes),
        ));
        line.tick();
    }

    fn clear(&mut self) {
        if let Some(line) = self.line.take() {
            line.finish_and_clear();
        }
    }
}
