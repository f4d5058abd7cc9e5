//! `farside tune`: finds the cache sections of a program by itself (Mira, sections 2.2 and 3).

mod apart;
mod beside;
mod build;
mod changes;
mod decide;
mod journal;
mod left_over;
mod measure;
mod network;
mod plain;
mod report;
mod room;
mod search;
mod stop;
mod trial;
mod variations;
mod waits;
mod warmup;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use farside_tune::{Configuration, Network, Thresholds};

use crate::Failure;
use crate::options::{Given, Layer, Local, Options, Origin, Size};
use crate::output;
use crate::progress::Progress;
use crate::run;
use build::{Builder, Built, Variant};
use journal::Journal;
use room::Room;
use search::{Effort, Search};
use trial::{Broken, Ran, Trials, counter};

pub(crate) const HELP: &str = "\
The build command is run by a shell, with CC and CXX set to farside-cc and farside-c++. It has to build everything anew, as
'make -B' does, with -g and with optimization, and to leave the program where it is run from.

Example:
  farside tune --local 20% --build 'make -B' -- ./graph 500000 2000000

What is left at the end: the program as it is fastest, in its place; a section file, which farside-cc takes with
-fsections=FILE or in FARSIDE_SECTIONS; and, if asked for, a page that tells what was tried and what came of it.

Exit codes:
  2    the command line makes no sense, or the program cannot be tuned
  125  Farside, or the program, failed
  130  it was stopped; --resume goes on
  0    else; also if nothing was found that is faster than paged memory";

/// Options of `farside tune`.
#[derive(Debug, Args)]
pub struct TuneArguments {
    /// Local memory that it is to be fast with: a size (400M, 1.5GiB) or a percentage of its peak footprint (25%);
    /// several with commas between them.
    #[arg(long, value_name = "SIZE|PERCENT", value_delimiter = ',', default_value = "20%")]
    local: Vec<String>,
    /// Where far pages lie, as for farside run.
    #[arg(long, value_name = "URL")]
    far: Option<String>,
    /// How the program is built: a line for the shell.
    #[arg(long, value_name = "COMMAND")]
    build: String,
    /// Most configurations to try for each amount of local memory.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000))]
    iterations: u32,
    /// A configuration that gains less than this is the last of its kind.
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = share)]
    gain: f64,
    /// Least runs of each configuration; three times as many where they do not tell which is faster.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    repetitions: u32,
    /// The share of functions to look at, of those that wait for far memory, but at least 8.
    #[arg(long, value_name = "PERCENT", default_value = "10%", value_parser = share)]
    functions: f64,
    /// The share of objects that get sections, of those that these functions use, but at least 8.
    #[arg(long, value_name = "PERCENT", default_value = "10%", value_parser = share)]
    objects: f64,
    /// A file that the program reads as its standard input [default: nothing].
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Do not insist that it prints the same each time.
    #[arg(long)]
    any_output: bool,
    /// Write the section file here. With several amounts of local memory the program takes the capacities for what it
    /// has when it starts; if more than capacities would have to differ, there are several files, with sizes before
    /// the end of the name.
    #[arg(long, short, value_name = "FILE", default_value = "sections.toml")]
    output: PathBuf,
    /// Write a page with all that was tried.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print all that was tried as an object.
    #[arg(long)]
    json: bool,
    /// Where it is kept what was done, to go on later.
    #[arg(long, value_name = "DIRECTORY", default_value = ".farside-tune")]
    state: PathBuf,
    /// Go on where it was stopped.
    #[arg(long)]
    resume: bool,
    /// The compiler for far memory, if not the one beside farside or on the path.
    #[arg(long, value_name = "FILE", env = "FARSIDE_CC")]
    farside_cc: Option<PathBuf>,
    /// The program and its arguments.
    #[arg(
        required = true,
        trailing_var_arg = true,
        value_names = ["PROGRAM", "ARGUMENTS"],
        num_args = 1..,
    )]
    command: Vec<OsString>,
}

/// Reads a percentage as a share.
fn share(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end().parse::<f64>().ok();
    let number = number.filter(|it| (0.0..=100.0).contains(it));
    number.map(|it| it / 100.0).ok_or_else(|| "not a percentage from 0% to 100%".to_owned())
}

impl TuneArguments {
    fn far(&self) -> Vec<String> {
        self.far.iter().flat_map(|far| ["--far".to_owned(), far.clone()]).collect()
    }

    fn options(&self) -> Result<Options, Failure> {
        let far = self.far.clone();
        let far = far.map(|text| Given { text, origin: Origin::Option("--far") });
        Options::gather(Layer { far, ..Layer::default() }, None)
    }

    fn locals(&self) -> Result<Vec<Local>, Failure> {
        let parse = |text: &String| {
            text.parse().map_err(|bad| Failure::usage(format!("--local {text}: {bad}")))
        };
        self.local.iter().map(parse).collect()
    }

    fn run(&self) -> Vec<String> {
        self.command.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    fn effort(&self) -> Effort {
        let thresholds = Thresholds {
            functions: self.functions,
            objects: self.objects,
            ..Thresholds::default()
        };
        Effort {
            iterations: self.iterations,
            gain: self.gain,
            repetitions: self.repetitions,
            thresholds,
        }
    }

    /// Where the section file for an amount of local memory goes.
    fn section_file(&self, local: u64) -> PathBuf {
        if self.local.len() == 1 {
            return self.output.clone();
        }
        let end = self.output.extension().map(|it| format!(".{}", it.to_string_lossy()));
        let stem = self.output.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let size = Size(local).to_string().replace(' ', "");
        self.output.with_file_name(format!("{stem}-{size}{}", end.unwrap_or_default()))
    }
}

/// Does what `farside tune` was asked for.
///
/// # Errors
/// If the program cannot be built or run, or a file cannot be written.
pub fn tune(arguments: &TuneArguments) -> Result<ExitCode, Failure> {
    let locals = arguments.locals()?;
    let network = network::of(&arguments.options()?)?;
    let program = PathBuf::from(&arguments.command[0]);
    if program.components().count() < 2 {
        let program = program.display();
        return Err(Failure::usage(format!(
            "'{program}' is no path of a program that is built; write ./{program}"
        )));
    }
    if let Some(page) = &arguments.html {
        run::writable(page)?;
    }
    if let Some(input) = &arguments.input {
        fs::File::open(input).map_err(|error| {
            Failure::usage(format!("--input: cannot read {}: {error}", input.display()))
        })?;
    }
    let state = &arguments.state;
    fs::create_dir_all(state)
        .map_err(|error| Failure::own(format!("cannot make {}: {error}", state.display())))?;
    let progress = Progress::new();
    let builder = Builder::new(&arguments.build, &program, state, arguments.farside_cc.as_deref())?;
    let trials = Trials {
        arguments: arguments.command[1..].to_vec(),
        far: arguments.far(),
        input: arguments.input.clone(),
        directory: state.clone(),
        patience: None,
        paged: std::time::Duration::ZERO,
        footprint: 0,
        any_output: arguments.any_output,
    };
    let journal = match arguments.resume {
        true => Some(Journal::resume(state, &arguments.build, &arguments.run(), &arguments.far())?),
        false => None,
    };
    let mut tuner = Tuner { arguments, builder, trials, network, progress };
    stop::watch()?;
    let journal = tuner.tune(&locals, journal);
    tuner.progress.finish();
    // What failed because it was stopped is no failure of the program.
    stop::check()?;
    show(arguments, &journal?)
}

struct Tuner<'a> {
    arguments: &'a TuneArguments,
    builder: Builder,
    trials: Trials,
    network: Network,
    progress: Progress,
}

impl Tuner<'_> {
    fn tune(&mut self, locals: &[Local], journal: Option<Journal>) -> Result<Journal, Failure> {
        let nothing = Configuration::default();
        self.progress.say("builds the program, measuring itself");
        let profiled = self.builder.build(Variant { sections: &nothing, profiled: true })?;
        let candidates = profiled.candidates()?;
        self.progress.say("builds the program as it is");
        let paged = self.builder.build(Variant { sections: &nothing, profiled: false })?;
        let (all_local, printed, footprint) = self.look(&paged)?;
        let mut journal = journal.unwrap_or_else(|| {
            let arguments = self.arguments;
            Journal::new(&arguments.build, arguments.run(), arguments.far(), footprint)
        });
        let mut shapes: Option<Configuration> = None;
        for local in locals {
            let local = match local {
                Local::Bytes(bytes) => *bytes,
                Local::Percent(percent) => (footprint as f64 * percent / 100.0) as u64,
            };
            let room = Room { local, footprint };
            if room.most() < 2 * farside_tune::STEP {
                let least = Size(local - room.most() + 2 * farside_tune::STEP);
                let local = Size(local);
                return Err(Failure::usage(format!(
                    "--local: {local} leaves no room for sections; the least is {least}"
                )));
            }
            let mut tuning = journal.tuning(local).clone();
            let mut search = Search {
                builder: &mut self.builder,
                trials: &mut self.trials,
                candidates: &candidates,
                paged: &paged,
                profiled: &profiled,
                printed: &printed,
                all_local,
                network: self.network.clone(),
                room,
                effort: self.arguments.effort(),
                shapes: shapes.clone(),
                is_for_several: locals.len() > 1,
                progress: &self.progress,
            };
            let mut steps = tuning.steps.len();
            let (state, progress) = (&self.arguments.state, &self.progress);
            search.run(&mut tuning, |tuning| {
                for (number, step) in tuning.steps.iter().enumerate().skip(steps) {
                    progress.tell(&report::line(number + 1, step));
                }
                steps = tuning.steps.len();
                *journal.tuning(local) = tuning.clone();
                journal.save(state)
            })?;
            shapes = shapes.or_else(|| Some(tuning.best).filter(|it| !it.sections.is_empty()));
        }
        // Once more, with what was found out at the end, and for all amounts of local memory.
        if let Some(last) = merged(&journal).or_else(|| first(&journal)) {
            self.progress.say("builds the program as it is fastest");
            let built = self.builder.build(Variant { sections: &last, profiled: false })?;
            for tuning in &journal.tunings {
                let failed = |broken: Broken| Failure::own(format!("the last build: {broken}"));
                let ran = self.trials.run(&built, tuning.local).map_err(failed)?;
                self.trials.insist(&ran, &printed).map_err(failed)?;
            }
            self.builder.install(&built)?;
        } else {
            self.builder.install(&paged)?;
        }
        Ok(journal)
    }

    /// Runs the program with room for everything, twice: how long it takes, what it prints, and how much it uses.
    fn look(&mut self, paged: &Built) -> Result<(f64, trial::Printed, u64), Failure> {
        let failed = |broken: Broken| Failure::own(format!("the program, as it is: {broken}"));
        let everything = 1 << 40;
        self.progress.say("runs it with room for everything");
        let first = self.trials.run(paged, everything).map_err(failed)?;
        let footprint_of = |ran: &Ran| counter(&ran.report, "footprint_peak_bytes") as u64;
        self.trials.footprint = footprint_of(&first);
        let second = self.trials.run(paged, everything).map_err(failed)?;
        if self.trials.insist(&second, &first.printed).is_err() {
            return Err(Failure::usage(
                "the program prints something else each time, so that it cannot be seen whether it still does the same; \
                 --any-output does not insist on it",
            ));
        }
        let footprint = footprint_of(&second);
        if footprint == 0 {
            return Err(Failure::usage("the program uses no far memory"));
        }
        Ok((first.seconds.min(second.seconds), first.printed, footprint))
    }
}

/// That of the first amount of local memory for which there is one.
fn first(journal: &Journal) -> Option<Configuration> {
    journal.tunings.iter().map(|it| &it.best).find(|it| !it.sections.is_empty()).cloned()
}

/// One configuration for all amounts of local memory, if there can be one.
fn merged(journal: &Journal) -> Option<Configuration> {
    let mut all: Vec<_> = journal.tunings.iter().map(|it| (it.local, it.best.clone())).collect();
    all.sort_by_key(|(local, _)| *local);
    Configuration::merged(&all).filter(|it| !it.sections.is_empty())
}

/// Writes section files and the page, and prints the result.
fn show(arguments: &TuneArguments, journal: &Journal) -> Result<ExitCode, Failure> {
    let found = format!("Found by farside tune for {}", journal.run.join(" "));
    let statements = journal.tunings.iter().map(|it| report::statement(journal, it));
    let merged = merged(journal);
    if let Some(merged) = &merged {
        let note = std::iter::once(found).chain(statements).collect::<Vec<_>>().join("\n");
        build::write(&arguments.output, merged.to_toml(&note).as_bytes())?;
    } else {
        for (tuning, statement) in journal.tunings.iter().zip(statements) {
            let text = tuning.best.to_toml(&format!("{found}\n{statement}"));
            build::write(&arguments.section_file(tuning.local), text.as_bytes())?;
        }
    }
    if let Some(file) = &arguments.html {
        let page =
            report::page(journal).to_html().map_err(|error| Failure::own(error.to_string()))?;
        build::write(Path::new(file), page.as_bytes())?;
    }
    if arguments.json {
        output::print_json(journal)?;
    } else {
        output::print(report::text(journal))?;
    }
    Ok(ExitCode::SUCCESS)
}
