//! A program that changes pages at random and checks each that it comes to, on far memory to which something happens.

use crate::build::compile;
use crate::exam::{Exam, Place};
use crate::program::{Finished, Program, Running};
use crate::server::wait_for_file;

/// How much of its memory is local, in percent.
const LOCAL: Place = Place::Far(25);

/// How often all is changed, on average, by a program that is never to end by itself.
const FOR_EVER: &str = "1000000";

/// The program, and what it prints.
#[derive(Debug)]
pub struct Churn {
    /// Where it runs.
    pub exam: Exam,
    /// The program with its arguments.
    pub program: Program,
    expected: Option<Vec<u8>>,
}

impl Churn {
    /// One that goes over so many megabytes so many times.
    pub fn new(name: &'static str, megabytes: &str, rounds: &str) -> Self {
        let mut churn = Self::with(name, megabytes, rounds);
        let directory = churn.exam.fresh_directory(Place::Plain);
        let plain = churn.exam.start(&churn.program, Place::Plain, &directory).finish();
        churn.expected = Some(plain.stdout);
        churn
    }

    /// One that goes on until somebody ends it.
    pub fn endless(name: &'static str, megabytes: &str) -> Self {
        Self::with(name, megabytes, FOR_EVER)
    }

    fn with(name: &'static str, megabytes: &str, rounds: &str) -> Self {
        let exam = Exam::new(name);
        let program = Program::new(compile(&exam.inputs(), "churn.c", &["-O2"])).arg(megabytes);
        // Percentages are of a footprint that is known, and that is the same however long it runs.
        let short = program.clone().env("CHURN_ROUNDS", "0");
        exam.run(&short, Place::Far(100), &exam.fresh_directory(Place::Far(100)));
        Self { exam, program: program.env("CHURN_ROUNDS", rounds), expected: None }
    }

    /// Starts it with more in its environment.
    pub fn start_as(&self, program: &Program) -> Running {
        self.exam.start(program, LOCAL, &self.exam.fresh_directory(LOCAL))
    }

    /// Starts it on far memory.
    pub fn start(&self, far: &str) -> Running {
        self.start_as(&self.program.clone().env("FARSIDE_FAR", far))
    }

    /// Starts it on far memory, and waits until its memory is filled.
    pub fn fill(&self, far: &str) -> Running {
        let mut running = self.start(far);
        self.await_filled(&mut running);
        running
    }

    /// Waits until the memory of a run is filled.
    pub fn await_filled(&self, running: &mut Running) {
        wait_for_file(running, &self.exam.files(LOCAL).join("stdout"));
    }

    /// Runs it on far memory.
    pub fn run(&self, far: &str) -> Finished {
        self.start(far).finish()
    }

    /// Insists that a run was as if nothing had happened.
    pub fn same(&self, finished: &Finished) {
        assert_eq!(finished.code(), Some(0), "{}", finished.errors());
        let expected = self.expected.as_ref().expect("it ends by itself");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let stdout = &finished.stdout;
        assert!(stdout == expected, "{:?} instead of {:?}", text(stdout), text(expected));
        self.exam.check_limit(LOCAL);
    }
}
