//! `farside tapes show`: what a tape holds, as text and as pictures.

mod facts;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use farside_report::report::{Figure, Report, Section, Table};
use farside_trace::tape::{TapeError, TapeReader, VERSION};
use serde_json::{Value, json};

use super::list::plain;
use super::picture::{Picture, UsedPages, name_of};
use crate::Failure;
use crate::analysis::analyze::screen::Symbols;
use crate::output;
use crate::run::{complain, grouped};
use crate::traces::files::refuse_same;

/// Characters of the picture in the terminal.
const PLOT: (usize, usize) = (72, 18);

/// Most regions and threads that are printed, and most threads that are drawn in a report.
const MOST_LINES: usize = 20;
const MOST_DRAWN: usize = 16;

/// Options of `farside tapes show`.
#[derive(Debug, Args)]
pub struct ShowArguments {
    /// The tape.
    #[arg(value_name = "TAPE")]
    tape: PathBuf,
    /// Draw the pages over the order of their uses, as PNG.
    #[arg(long, value_name = "FILE")]
    png: Option<PathBuf>,
    /// The same as SVG.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write all of it as a page of HTML that needs nothing else.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// The thread to draw [default: the one with the most steps].
    #[arg(long, value_name = "N")]
    thread: Option<u32>,
    /// Print the first steps of each thread, too.
    #[arg(long, value_name = "N", default_value_t = 0)]
    steps: usize,
    /// Print an object instead of text.
    #[arg(long)]
    json: bool,
}

/// A tape all of which was read and is good.
struct Shown {
    path: String,
    tape: TapeReader,
    /// None if the pages lie too far apart to be drawn.
    used: Option<UsedPages>,
    picture: Option<Picture>,
}

/// Reads a tape, and shows what is in it.
pub fn show(arguments: &ShowArguments) -> Result<ExitCode, Failure> {
    for file in [&arguments.png, &arguments.svg, &arguments.html].into_iter().flatten() {
        check_output(&arguments.tape, file)?;
    }
    let shown =
        Shown::open(&arguments.tape, arguments.thread).map_err(|problem| match problem {
            Problem::Tape(error) => Failure::usage(error.to_string()),
            Problem::Thread(thread) => {
                let tape = arguments.tape.display();
                Failure::usage(format!("--thread {thread}: {tape} has no steps of that thread"))
            }
        })?;
    write_pictures(arguments, &shown)?;
    let text = match arguments.json {
        true => serde_json::to_string_pretty(&shown.json(arguments.steps)?)
            .map_err(|error| Failure::own(error.to_string()))?,
        false => shown.text(arguments.steps)?,
    };
    output::print(text.trim_end())?;
    Ok(ExitCode::SUCCESS)
}

enum Problem {
    Tape(TapeError),
    Thread(u32),
}

impl From<TapeError> for Problem {
    fn from(error: TapeError) -> Self {
        Self::Tape(error)
    }
}

fn check_output(tape: &Path, file: &Path) -> Result<(), Failure> {
    if file.is_dir() {
        let name = file.display();
        return Err(Failure::usage(format!("{name}: that is a directory; name a file")));
    }
    refuse_same(tape, file)
}

fn write(path: &Path, content: &[u8]) -> Result<(), Failure> {
    std::fs::write(path, content)
        .map_err(|error| Failure::own(format!("cannot write {}: {error}", path.display())))
}

fn write_pictures(arguments: &ShowArguments, shown: &Shown) -> Result<(), Failure> {
    let undrawn = |error: farside_report::chart::ChartError| Failure::own(error.to_string());
    let chart = || {
        shown.picture.as_ref().map(Picture::chart).ok_or_else(|| {
            let tape = &shown.path;
            Failure::usage(format!("{tape}: nothing to draw: no pages, or too far apart"))
        })
    };
    if let Some(path) = &arguments.png {
        write(path, &chart()?.to_png().map_err(undrawn)?)?;
    }
    if let Some(path) = &arguments.svg {
        write(path, chart()?.to_svg().map_err(undrawn)?.as_bytes())?;
    }
    if let Some(path) = &arguments.html {
        write(path, shown.report()?.to_html().map_err(undrawn)?.as_bytes())?;
    }
    Ok(())
}

impl Shown {
    fn open(path: &Path, thread: Option<u32>) -> Result<Self, Problem> {
        let tape = TapeReader::open(path)?;
        tape.verify()?;
        let threads = &tape.summary().threads;
        if let Some(thread) = thread.filter(|thread| !threads.contains_key(thread)) {
            return Err(Problem::Thread(thread));
        }
        let busiest = threads.iter().rev().max_by_key(|(_, counts)| counts.steps());
        let drawn = thread.or(busiest.map(|(thread, _)| *thread));
        let used = UsedPages::of(&tape)?;
        if used.is_none() {
            complain(&format!("{}: the pages lie too far apart to be drawn", path.display()));
        }
        let used = used.filter(|used| used.count() > 0);
        let picture = match (drawn, &used) {
            (Some(thread), Some(used)) => Some(Picture::of(&tape, thread, used)?),
            _ => None,
        };
        Ok(Self { path: path.display().to_string(), tape, used, picture })
    }

    fn text(&self, steps: usize) -> Result<String, Failure> {
        let mut lines: Vec<String> = self
            .facts()
            .into_iter()
            .map(|(name, value)| format!("{name:<12} {}", plain(&value)))
            .collect();
        for table in [self.threads(MOST_LINES), self.regions(MOST_LINES)] {
            lines.push(String::new());
            lines.extend(facts::aligned(&table));
        }
        if let Some(picture) = &self.picture {
            let chart = picture.chart();
            lines.extend([String::new(), chart.title.clone()]);
            let symbols = Symbols::of_terminal();
            let drawn = picture.lines(PLOT, &symbols.shades);
            let width = drawn.first().map_or(0, |line| line.chars().count());
            lines.extend(drawn.into_iter().map(|line| format!("  |{line}|")));
            let last = grouped(chart.x_range.1 as u64);
            lines.push(format!("   0{last:>room$} uses", room = width.saturating_sub(1)));
        }
        for (thread, steps) in self.first_steps(steps)? {
            lines.extend([String::new(), format!("thread {thread}")]);
            lines.extend(steps.into_iter().map(|(kind, page)| format!("  {kind:<6} {page}")));
        }
        Ok(lines.join("\n"))
    }

    fn json(&self, steps: usize) -> Result<Value, Failure> {
        let (info, summary) = (self.tape.info(), self.tape.summary());
        let counts = |counts: &farside_trace::tape::StepCounts| {
            json!({
                "touches": counts.touches, "fetches": counts.fetches, "evictions": counts.evicts,
            })
        };
        let threads = summary.threads.iter().map(|(thread, of)| {
            let mut object = counts(of);
            object["thread"] = json!(thread);
            object
        });
        let regions = self.tape.regions().iter().map(|region| {
            json!({
                "site": format!("{:016x}", region.site), "nth": region.nth,
                "first": region.first.0, "pages": region.count,
                "used_pages": self.used.as_ref().map(|used| used.within(region)),
            })
        });
        let mut object = json!({
            "tape": self.path, "version": VERSION, "bytes": summary.bytes, "verified": true,
            "info": info, "page_shift": info.page_shift, "total": counts(&summary.total()),
            "blocks": summary.blocks, "pages": self.used.as_ref().map(UsedPages::count),
            "threads": threads.collect::<Vec<_>>(), "regions": regions.collect::<Vec<_>>(),
        });
        if steps > 0 {
            let steps = self.first_steps(steps)?.into_iter();
            object["steps"] =
                steps.map(|(thread, steps)| json!({"thread": thread, "steps": steps})).collect();
        }
        Ok(object)
    }

    fn report(&self) -> Result<Report, Failure> {
        let info = self.tape.info();
        let command = info.program.iter().chain(&info.arguments);
        let command = command.map(String::as_str).collect::<Vec<_>>().join(" ");
        let section = |id: &str, title: &str, text: &str, table: Table| Section {
            id: id.to_owned(),
            title: title.to_owned(),
            text: text.to_owned(),
            figure: None,
            table: Some(table),
        };
        let mut sections = Vec::new();
        for thread in self.tape.summary().threads.keys().take(MOST_DRAWN) {
            let Some(used) = &self.used else { break };
            let picture = Picture::of(&self.tape, *thread, used)
                .map_err(|error| Failure::usage(error.to_string()))?;
            sections.push(Section {
                id: format!("thread-{thread}"),
                title: format!("Thread {thread}"),
                text:
                    "Pages in the order in which they are touched and fetched; pages that are not \
                       used are left out."
                        .to_owned(),
                figure: Some(Figure::Heat(picture.chart())),
                table: None,
            });
        }
        let text = "What each thread does.";
        sections.push(section("threads", "Threads", text, self.threads(usize::MAX)));
        let text = "One for each allocation of address space, named after the place in the program \
                    that made it.";
        sections.push(section("regions", "Regions", text, self.regions(usize::MAX)));
        Ok(Report {
            title: if command.is_empty() { self.path.clone() } else { command },
            subtitle: format!("What is fetched and evicted, from the tape {}", self.path),
            facts: self.facts(),
            sections,
        })
    }

    /// The first steps of each thread: kinds and pages.
    fn first_steps(&self, most: usize) -> Result<Vec<(u32, facts::Steps)>, Failure> {
        let threads =
            self.tape.summary().threads.keys().take(if most > 0 { usize::MAX } else { 0 });
        let steps = |thread: &u32| {
            let steps = self.tape.steps(*thread).take(most);
            let steps = steps.map(|step| step.map(|step| (facts::kind(step.kind), step.page.0)));
            Ok((*thread, steps.collect::<Result<_, TapeError>>()?))
        };
        threads
            .map(steps)
            .collect::<Result<_, TapeError>>()
            .map_err(|error| Failure::usage(error.to_string()))
    }

    fn threads(&self, most: usize) -> Table {
        let threads = &self.tape.summary().threads;
        let row = |(thread, counts): (&u32, &farside_trace::tape::StepCounts)| {
            let counts = [counts.steps(), counts.touches, counts.fetches, counts.evicts];
            std::iter::once(thread.to_string()).chain(counts.map(grouped)).collect()
        };
        facts::table(
            &["thread", "steps", "touches", "fetches", "evictions"],
            threads.iter().take(most).map(row).collect(),
            threads.len(),
        )
    }

    /// The regions with the most used pages, in the order of the tape.
    fn regions(&self, most: usize) -> Table {
        let used = |region| self.used.as_ref().map_or(0, |used| used.within(region));
        let mut counted: Vec<_> = self.tape.regions().iter().map(|r| (used(r), r)).collect();
        counted.sort_by_key(|(used, region)| (std::cmp::Reverse(*used), region.first.0));
        counted.truncate(most);
        counted.sort_by_key(|(_, region)| region.first.0);
        let row = |(used, region): &(u64, &farside_trace::tape::TapeRegion)| {
            vec![name_of(region), region.first.0.to_string(), grouped(region.count), grouped(*used)]
        };
        facts::table(
            &["region", "first page", "pages", "used"],
            counted.iter().map(row).collect(),
            self.tape.regions().len(),
        )
    }
}
