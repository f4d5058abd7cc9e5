//! Captures beside plain runs, and beside Valgrind's lackey.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use farside_trace::{Block, PageId, TraceReader};

use super::Bench;
use super::synthetic::Synthetic;
use crate::bench::launch::{Place, Program, farside};
use crate::bench::row::{Goal, Row, median};
use crate::bench::{Failure, lackey, skip};

/// Lines of the text that programs work on.
const LINES: usize = 200_000;

/// Lines of that which Valgrind works on: it takes thousands of times as long.
const FEW_LINES: usize = 1_000;

/// What Python computes.
const PYTHON: &str = "print(sum(i * i % 7 for i in range(1_000_000)))";

/// What Perl computes.
const PERL: &str = "my %n; $n{substr $_, 0, 4}++ while <>; print scalar(keys %n), qq(\\n);";

/// Functions of the program that is compiled.
const FUNCTIONS: usize = 400;

impl Bench<'_> {
    /// Appends the rows of captures.
    pub(super) fn captures(&mut self) -> Result<(), Failure> {
        let mut ratios = Vec::new();
        for (name, argv) in self.programs()? {
            let work = format!("capture of {name}, beside a plain run");
            if Command::new(&argv[0]).arg("--version").output().is_err() {
                skip(&work, "not installed");
                continue;
            }
            let (capture, plain) = self.captured(name, &argv)?;
            ratios.push(capture / plain);
            self.rows.push(Row {
                work,
                ours: capture,
                partner: Some(plain),
                unit: "ms",
                goal: None,
            });
        }
        if !ratios.is_empty() {
            self.rows.push(Row {
                work: format!("capture, median of {} programs, beside plain runs", ratios.len()),
                ours: median(&ratios),
                partner: Some(1.0),
                unit: "run time",
                goal: Some(Goal::AtMost(20.0)),
            });
        }
        match self.beside_lackey()? {
            Ok(row) => self.rows.push(row),
            Err(why) => skip("capture beside Valgrind's lackey", &why),
        }
        Ok(())
    }

    /// Programs that need no more than their arguments.
    fn programs(&self) -> Result<Vec<(&'static str, Vec<OsString>)>, Failure> {
        let text = self.text(LINES)?.into_os_string();
        let source = self.source()?.into_os_string();
        let object = self.scratch.join("bench.o").into_os_string();
        let argv = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let with = |words: &[&str], more: &[&OsString]| {
            let mut argv = argv(words);
            argv.extend(more.iter().map(|word| (*word).clone()));
            argv
        };
        Ok(vec![
            ("sort", with(&["sort", "--parallel=1"], &[&text])),
            ("gzip", with(&["gzip", "-9", "-c"], &[&text])),
            ("xz", with(&["xz", "-2", "-T1", "-c"], &[&text])),
            ("python3", argv(&[crate::bench::programs::PYTHON, "-c", PYTHON])),
            ("perl", with(&["perl", "-e", PERL], &[&text])),
            // The compiler proper: the driver would start it, and a capture follows no other program.
            ("cc1", {
                let compiler = compiler().unwrap_or_else(|| "cc1".into());
                with(&[], &[&compiler, &"-quiet".into(), &"-O1".into(), &source, &"-o".into()])
                    .into_iter()
                    .chain([object])
                    .collect()
            }),
        ])
    }

    /// Numbers as text, as many lines as asked for.
    fn text(&self, lines: usize) -> Result<PathBuf, Failure> {
        let path = self.scratch.join(&format!("text-{lines}"));
        let numbers = Synthetic::Zipf.pages(lines);
        let line = |page: PageId| format!("{:016x}\n", page.0 * 2_654_435_761);
        let text: String = numbers.map(line).collect();
        self.write(&path, &text)?;
        Ok(path)
    }

    /// A program in C.
    fn source(&self) -> Result<PathBuf, Failure> {
        let path = self.scratch.join("bench.c");
        let function = |i: usize| {
            format!(
                "int f{i}(int *a, int n) {{ int s = {i}; for (int i = 0; i < n; i++) \
                 {{ if (a[i] & {i}) s += a[i] * {i}; else s ^= a[i] >> 3; }} return s; }}\n"
            )
        };
        self.write(&path, &(0..FUNCTIONS).map(function).collect::<String>())?;
        Ok(path)
    }

    fn write(&self, path: &Path, text: &str) -> Result<(), Failure> {
        std::fs::write(path, text)
            .map_err(|e| Failure::io(format!("cannot write {}", path.display()), &e))
    }

    /// Medians of the time of a capture and of a plain run in turn, in milliseconds.
    fn captured(&self, name: &str, argv: &[OsString]) -> Result<(f64, f64), Failure> {
        let program = Program::new(argv.to_vec());
        let capture = self.capture_of(argv)?;
        let (mut ours, mut plain) = (Vec::new(), Vec::new());
        for round in 1..=self.shared.repetitions {
            self.progress.say(format!("{name}, round {round} of {}", self.shared.repetitions));
            let by_itself = program.run(Place::Plain, self.shared, &self.scratch)?;
            let captured = capture.run(Place::Plain, self.shared, &self.scratch)?;
            if captured.stdout != by_itself.stdout {
                return Err(Failure::new(format!("{name} gave another output under capture")));
            }
            ours.push(captured.wall.as_secs_f64() * 1e3);
            plain.push(by_itself.wall.as_secs_f64() * 1e3);
        }
        Ok((median(&ours), median(&plain)))
    }

    fn captured_trace(&self) -> PathBuf {
        self.scratch.join("capture.fpt")
    }

    fn capture_of(&self, argv: &[OsString]) -> Result<Program, Failure> {
        let mut all = vec![farside(self.shared)?.into_os_string(), "capture".into()];
        all.extend(["--quiet".into(), "-o".into(), self.captured_trace().into(), "--".into()]);
        all.extend(argv.iter().cloned());
        Ok(Program::new(all))
    }

    /// Time for a data access, of each by a run that takes long enough to tell.
    fn beside_lackey(&self) -> Result<Result<Row, String>, Failure> {
        if let Err(why) = lackey::installed() {
            return Ok(Err(why));
        }
        let (many, few) = (self.text(LINES)?, self.text(FEW_LINES)?);
        let sort = |text: &Path| vec![OsString::from("sort"), "--parallel=1".into(), text.into()];
        let capture = self.capture_of(&sort(&many))?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 1..=self.shared.repetitions {
            self.progress.say(format!("lackey, round {round} of {}", self.shared.repetitions));
            let outcome = capture.run(Place::Plain, self.shared, &self.scratch)?;
            let accesses = accesses_of(&self.captured_trace())?;
            ours.push(outcome.wall.as_secs_f64() * 1e9 / accesses as f64);
            let (seconds, accesses) = match lackey::run(&sort(&few)) {
                Ok(answer) => answer,
                Err(error) => return Ok(Err(format!("valgrind: {error}"))),
            };
            theirs.push(seconds * 1e9 / accesses.max(1) as f64);
        }
        Ok(Ok(Row {
            work: "capture of sort, beside lackey --trace-mem=yes".into(),
            ours: median(&ours),
            partner: Some(median(&theirs)),
            unit: "ns/access",
            goal: Some(Goal::Faster(500.0)),
        }))
    }
}

/// Data accesses in a trace.
fn accesses_of(trace: &Path) -> Result<u64, Failure> {
    let bad = |e: farside_trace::TraceError| Failure::new(e.to_string());
    let mut reader = TraceReader::open(trace).map_err(bad)?;
    let mut block = Block::default();
    let mut accesses = 0;
    while reader.next_block(&mut block).map_err(bad)? {
        accesses += block.accesses.iter().map(|access| u64::from(access.weight)).sum::<u64>();
    }
    Ok(accesses)
}

/// The C compiler proper.
fn compiler() -> Option<OsString> {
    let output = Command::new("gcc").arg("-print-prog-name=cc1").output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    Path::new(path.trim()).is_absolute().then(|| path.trim().into())
}
