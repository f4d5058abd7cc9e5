//! The command line.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use farside_pager::settings::Settings;
use farside_policy::prefetch::{self, PointerOptions};
use farside_policy::replacement;

use crate::analysis::{analyze, names, partition, path, simulate};
use crate::options::{Given, Layer, Options, Origin, Pace};
use crate::traces::{export, import};
use crate::{
    Failure, balance, bench, capture, definition, doctor, explain, faults, generate, limit,
    mistake, node, plan, record, run, sizing, study, tapes, top, tune,
};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold());

/// Far memory for unmodified programs on stock Linux.
#[derive(Debug, Parser)]
#[command(name = "farside", version, styles = STYLES, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run a program on far memory.
    ///
    /// The program keeps its stdin, stdout, stderr, working directory, signals and exit code. At its
    /// end a short summary goes to stderr.
    #[command(after_long_help = run_help())]
    Run(RunArguments),
    /// Write down every data access of a program, page by page, in order.
    ///
    /// The program runs under an emulator (the package qemu-user) and keeps its stdin, stdout, stderr,
    /// working directory, signals and exit code. At its end a summary goes to stderr.
    #[command(after_help = capture::HELP)]
    Capture(capture::Arguments),
    /// Write down which pages a program uses, fast, to plan a tape from.
    ///
    /// The program keeps its stdin, stdout, stderr, working directory, signals and exit code. At its end a
    /// summary goes to stderr.
    #[command(after_help = record::HELP)]
    Record(record::RecordArguments),
    /// Say where in a program its faults come from.
    ///
    /// The program runs on far memory and keeps its stdin, stdout, stderr, working directory, signals and exit
    /// code. At its end a table goes to stderr.
    #[command(after_help = faults::HELP)]
    Faults(faults::FaultsArguments),
    /// Say what the compiler made of a program: allocations in sections, accesses, and what stays and why.
    #[command(after_help = explain::HELP)]
    Explain(explain::ExplainArguments),
    /// Find cache sections for a program by itself: profile it, build it with sections, measure, until it is fast.
    ///
    /// The program is built by a command that takes CC and CXX from its environment, and run on far memory again and again;
    /// what prints something else, or is no faster, is not kept.
    #[command(after_help = tune::HELP)]
    Tune(tune::TuneArguments),
    /// Plan tapes from a trace: what to fetch and what to evict, for so much local memory.
    #[command(after_help = plan::HELP)]
    Plan(plan::PlanArguments),
    /// List the tapes and traces that are kept, remove them, or show what a tape holds.
    #[command(after_help = tapes::HELP)]
    Tapes(tapes::TapesArguments),
    /// Say what this kernel and user may do, and how to repair what is missing.
    Doctor(DoctorArguments),
    /// Show the running programs and their counters.
    Top(TopArguments),
    /// Say how much local memory a running program needs.
    #[command(after_help = SIZE_HELP)]
    Size(SizeArguments),
    /// Share local memory among the programs that run, by what they miss.
    #[command(after_help = balance::HELP)]
    Balance(balance::BalanceArguments),
    /// Change the local limit of a running program.
    #[command(after_help = LIMIT_HELP)]
    Limit {
        /// The process id of the program, as farside top shows it.
        pid: u32,
        /// Most memory of the program that may be resident from now on: 400M, 1.5GiB.
        size: String,
    },
    /// Say what a page trace tells: footprint, miss-rate curves, and how much memory is enough.
    Analyze(analyze::AnalyzeArguments),
    /// Run a page trace through policies, prefetchers and sizes of memory.
    #[command(after_long_help = names::help())]
    Simulate(simulate::SimulateArguments),
    /// Share memory out among programs by what their traces tell.
    #[command(after_help = partition::HELP)]
    Partition(partition::PartitionArguments),
    /// Count what PATH's page access tracking hardware would record of a page trace.
    Path(path::PathArguments),
    /// Do a published experiment again: capture its programs, simulate, write tables and plots.
    #[command(subcommand)]
    Study(study::Study),
    /// Turn another tool's trace of memory accesses into Farside's own format.
    #[command(after_long_help = import::help())]
    Import(import::ImportArguments),
    /// Turn a trace into another program's format.
    #[command(after_long_help = export::help())]
    Export(export::ExportArguments),
    /// Measure this machine, and what Farside makes of it.
    Bench(bench::BenchArgs),
    /// Keep pages for programs on other machines, or this one.
    Node(node::Arguments),
    /// Print the completions for a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Write the manual pages into a directory.
    #[command(hide = true)]
    Man {
        /// The directory, made if it is not there.
        directory: PathBuf,
    },
}

#[derive(Debug, Args)]
struct RunArguments {
    /// Most memory of the program that may be resident: a size (400M, 1.5GiB, 409600) or a
    /// percentage of its peak footprint (25%; from 100% on nothing leaves).
    #[arg(long, value_name = "SIZE|PERCENT")]
    local: Option<String>,
    /// Where far pages lie: embedded:[latency=5us,...]; tcp://HOST[:PORT] or ucx://HOST[:PORT] of a `farside node`, and
    /// if given several times, pages are spread over the nodes; redis://HOST[:PORT] of a Redis or Valkey cluster; or file:PATH[?size=64G]
    /// for a file on this machine.
    #[arg(long, value_name = "URL")]
    far: Vec<String>,
    /// How many memory nodes keep each page.
    #[arg(long, value_name = "N")]
    copies: Option<String>,
    /// Let pages travel to other machines unprotected.
    #[arg(long)]
    insecure: bool,
    /// Encrypt pages before they leave, so that memory nodes, or who reads the storage that a file is on, cannot read them;
    /// without this, that is done if a node is not on this machine.
    #[arg(long, value_name = "yes|no", num_args = 0..=1, require_equals = true, default_missing_value = "yes")]
    seal: Option<String>,
    #[command(flatten)]
    credentials: CredentialArguments,
    /// The file with the password of the user of a redis:// cluster.
    #[arg(long, value_name = "FILE")]
    password: Option<String>,
    /// Most pages that a fault fetches besides its own.
    #[arg(long, value_name = "N")]
    readahead: Option<String>,
    /// Which pages leave first.
    #[arg(long, value_name = "NAME")]
    replacement: Option<String>,
    /// Which pages are fetched before they are asked for.
    #[arg(long, value_name = "NAME[:HOW]")]
    prefetch: Option<String>,
    /// Keep prefetched pages unmapped until they are touched, so that their use is counted exactly;
    /// costs a fault for each.
    #[arg(long)]
    exact_prefetch_count: bool,
    /// See in which order pages are used, and how many misses there would be with other limits: "pressure" while memory is
    /// short, "always", or "off" (default). Behind a colon, the share of the time that it may take: pressure:2%.
    #[arg(long, value_name = "WHEN[:SHARE]")]
    track: Option<String>,
    /// Whether functions that farside-cc was told to offload run where their data is: "auto", when that takes less time
    /// (default), "always", or "never".
    #[arg(long, value_name = "WHEN")]
    offload: Option<String>,
    /// Which sections of programs of farside-cc are caches: "needed", those that hold more than they have room for, while the
    /// others are plain memory (default), or "always".
    #[arg(long, value_name = "WHICH")]
    sections: Option<String>,
    /// How pages come and go: "move" their frames, where the kernel can do it (default), or "copy"
    /// their content, as kernels before 6.8 need it.
    #[arg(long, value_name = "HOW")]
    frames: Option<String>,
    /// Fetch and evict as a tape says that farside plan made. Without --local the limit is the one it was
    /// planned for; a larger one is made use of. A program that has parts (farside.h) follows it in its first
    /// part.
    #[arg(long, value_name = "TAPE")]
    tape: Option<PathBuf>,
    /// Follow the tape that an earlier run with --auto of the same program and arguments left; if there is none,
    /// record this run and leave one. `farside tapes` lists what is kept.
    #[arg(long, conflicts_with = "tape")]
    auto: bool,
    /// Follow the tape of another build of the program all the same.
    #[arg(long, requires = "tape", conflicts_with = "auto")]
    force: bool,
    /// Pages of the tape that are fetched between two that tell how far the program is
    /// [default: 100].
    #[arg(long, value_name = "PAGES", value_parser = plan::pages, requires = "tape")]
    batch: Option<u64>,
    /// Pages of the tape that are fetched ahead of the program [default: 400].
    #[arg(long, value_name = "PAGES", value_parser = plan::pages, requires = "tape")]
    lookahead: Option<u64>,
    /// Read settings from a TOML file.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Write all counters to a file, as JSON.
    #[arg(long, value_name = "FILE")]
    stats: Option<String>,
    /// No summary at the end.
    #[arg(long, short)]
    quiet: bool,
    /// Show a live line while the program runs, if stderr is a terminal.
    #[arg(long)]
    progress: bool,
    /// The program and its arguments.
    #[arg(
        required = true,
        trailing_var_arg = true,
        value_names = ["PROGRAM", "ARGUMENTS"],
        num_args = 1..,
    )]
    command: Vec<OsString>,
}

fn run_help() -> String {
    let list = |names: &[(&str, &str)], default: &str| -> String {
        let mark = |name: &str| if name == default { " (default)" } else { "" };
        let line = |(name, about): &(&str, &str)| format!("  {name:<15}{about}{}\n", mark(name));
        names.iter().map(line).collect()
    };
    let defaults = Settings::default();
    format!(
        "Far memory:\n  embedded:[latency=5us,bandwidth=25gbit,compress=lz4]\n                 \
         a memory node on this machine, with an injected network (default: embedded:)\n  \
         tcp://HOST[:PORT],...[?copies=N&seal=yes&deadline=1s&patience=30s&lease=10s&hedge=10ms&spin=50us]\n                 \
         memory nodes, each a `farside node`; pages are spread over them\n  \
         redis://HOST[:PORT],...[?replicas=N&user=NAME&seal=yes&profile=strict&lease=600s&...], or rediss://... for TLS\n                 \
         a Redis or Valkey cluster that keeps to the strict profile; see the operators' guide\n  \
         file:PATH[?size=64G&seal=yes&depth=64&ring=no]\n                 \
         a file of at most that size (default: half of what is free) for each program, in that\n                 \
         directory, or where that file would be; it has no name, and ends with the program\n  \
         ucx://HOST[:PORT],...[?copies=N&...]\n                 \
         the same over UCX: shared memory, TCP or RDMA, whichever it finds; nothing is protected on its way\n\n\
         Replacement policies:\n{}\n\
         Prefetchers:\n{}  pointer and adaptive can be told how pointers are followed, as in\n    \
         pointer:{}\n  \
         which are most pages for one, pages ahead, bytes looked at before and behind the place where the\n  \
         program comes in, and the least likelihood in per cent\n\n\
         Settings are taken from the options, else from the environment (FARSIDE_LOCAL, FARSIDE_FAR,\n\
         FARSIDE_COPIES, FARSIDE_SEAL, FARSIDE_INSECURE, FARSIDE_PSK, FARSIDE_TLS_CA,\n\
         FARSIDE_TLS_CERT, FARSIDE_TLS_KEY, FARSIDE_PASSWORD, FARSIDE_READAHEAD, FARSIDE_REPLACEMENT,\n\
         FARSIDE_PREFETCH, FARSIDE_TRACK, FARSIDE_OFFLOAD, FARSIDE_SECTIONS_CACHED,\n\
         FARSIDE_EXACT_PREFETCH, FARSIDE_RECLAIM, FARSIDE_FRAMES, FARSIDE_STATS, FARSIDE_QUIET, FARSIDE_PROGRESS), else from the file named by\n\
         --config or FARSIDE_CONFIG, whose keys are the names of the options.\n\n\
         Exit codes:\n  2    the command line or a setting makes no sense; nothing was started\n  \
         125  Farside itself failed\n  126  the program cannot be executed\n  \
         127  there is no such program\n  else that of the program; if a signal killed it, farside \
         dies by the same signal",
        list(&replacement::of_runs().collect::<Vec<_>>(), &defaults.replacement),
        list(&prefetch::of_runs().collect::<Vec<_>>(), &defaults.prefetch),
        PointerOptions::default(),
    )
}

const SIZE_HELP: &str = "\
The program has to run with --track. What it waits for pages now is measured; with another limit it would wait as much more
or less as it would miss more or fewer pages, by the order in which it uses them.";

const LIMIT_HELP: &str = "\
Ends when the limit is in force. The limit is that of all processes of the run together. Where farside balance runs, it
gives the program another one at its next look.";

#[derive(Debug, Args)]
struct SizeArguments {
    /// The process id of the program, as farside top shows it.
    pid: u32,
    /// How much longer it may take than with all of its memory local, in per cent [default: 5, 10, 25, and 100].
    #[arg(long, value_name = "PERCENT", value_parser = slowdown)]
    slowdown: Vec<f64>,
    /// Say instead how much longer it would take with so much local memory: a size, or a percentage of what it
    /// uses; may be given several times.
    #[arg(long, value_name = "SIZE|PERCENT", conflicts_with = "slowdown")]
    local: Vec<String>,
    /// Print an object with the whole curve instead of a table.
    #[arg(long)]
    json: bool,
}

/// A slowdown in per cent, with or without the sign.
fn slowdown(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>();
    let percent = percent.ok().filter(|percent| *percent >= 0.0 && percent.is_finite());
    percent.ok_or_else(|| "not a percentage".to_owned())
}

#[derive(Debug, Args)]
struct TopArguments {
    /// Print one snapshot and end.
    #[arg(long)]
    once: bool,
    /// Print an array of objects instead of a table; implies --once.
    #[arg(long)]
    json: bool,
    /// Show memory nodes and what they count instead: tcp://HOST[:PORT].
    #[arg(long, value_name = "URL")]
    node: Vec<String>,
    /// Ask nodes on other machines although connections are not protected.
    #[arg(long, requires = "node")]
    insecure: bool,
    #[command(flatten)]
    credentials: CredentialArguments,
}

impl TopArguments {
    fn top(&self) -> Result<ExitCode, Failure> {
        if self.node.is_empty() {
            return top::top(self.once, self.json);
        }
        let given = |text: &Option<String>, option| {
            text.clone().map(|text| Given { text, origin: Origin::Option(option) })
        };
        let layer = Layer {
            far: given(&all(&self.node), "--node"),
            insecure: given(&self.insecure.then(|| "1".to_owned()), "--insecure"),
            ..self.credentials.layer()
        };
        top::nodes::top(&Options::gather(layer, None)?, self.once, self.json)
    }
}

#[derive(Debug, Args)]
struct DoctorArguments {
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
    /// Measure the way to these memory nodes, or this file, instead: how long a page takes, and how many come at once.
    #[arg(long, value_name = "URL")]
    far: Vec<String>,
    /// Say what that means for the program of this trace.
    #[arg(long, value_name = "TRACE", requires = "far")]
    trace: Option<PathBuf>,
    /// Let pages travel to other machines unprotected.
    #[arg(long, requires = "far")]
    insecure: bool,
    #[command(flatten)]
    credentials: CredentialArguments,
    /// The file with the password of the user of a redis:// cluster.
    #[arg(long, value_name = "FILE", requires = "far")]
    password: Option<String>,
}

impl DoctorArguments {
    fn doctor(&self) -> Result<ExitCode, Failure> {
        if self.far.is_empty() {
            return doctor::doctor(self.json);
        }
        let given = |text: &Option<String>, option| {
            text.clone().map(|text| Given { text, origin: Origin::Option(option) })
        };
        let layer = Layer {
            far: given(&all(&self.far), "--far"),
            insecure: given(&self.insecure.then(|| "1".to_owned()), "--insecure"),
            password: given(&self.password, "--password"),
            ..self.credentials.layer()
        };
        let options = Options::gather(layer, None)?;
        let (text, is_sound) = doctor::path::measure(&options, self.trace.as_deref(), self.json)?;
        // A reader that has seen enough changes nothing about the answer.
        let _ = std::io::stdout().write_all(text.as_bytes());
        Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Who may talk to whom.
#[derive(Debug, Args)]
pub struct CredentialArguments {
    /// Protect connections by TLS, with the secret in this file, which clients and nodes share.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tls_ca", "tls_cert", "tls_key"])]
    pub psk: Option<String>,
    /// Protect connections by TLS: whoever talks to us shows a certificate signed by an authority in this PEM file.
    #[arg(long, value_name = "FILE")]
    pub tls_ca: Option<String>,
    /// Our own certificate, a PEM file.
    #[arg(long, value_name = "FILE", requires_all = ["tls_ca", "tls_key"])]
    pub tls_cert: Option<String>,
    /// The private key of our certificate, a PEM file.
    #[arg(long, value_name = "FILE", requires_all = ["tls_ca", "tls_cert"])]
    pub tls_key: Option<String>,
}

impl CredentialArguments {
    fn layer(&self) -> Layer {
        let given = |text: &Option<String>, option| {
            text.clone().map(|text| Given { text, origin: Origin::Option(option) })
        };
        Layer {
            psk: given(&self.psk, "--psk"),
            tls_ca: given(&self.tls_ca, "--tls-ca"),
            tls_cert: given(&self.tls_cert, "--tls-cert"),
            tls_key: given(&self.tls_key, "--tls-key"),
            ..Layer::default()
        }
    }
}

/// URLs as one text.
fn all(urls: &[String]) -> Option<String> {
    (!urls.is_empty()).then(|| urls.join(" "))
}

impl RunArguments {
    fn layer(&self) -> Layer {
        let given = |text: &Option<String>, option| {
            text.clone().map(|text| Given { text, origin: Origin::Option(option) })
        };
        let switch = |on: bool, option| given(&on.then(|| "1".to_owned()), option);
        Layer {
            local: given(&self.local, "--local"),
            far: given(&all(&self.far), "--far"),
            copies: given(&self.copies, "--copies"),
            insecure: switch(self.insecure, "--insecure"),
            seal: given(&self.seal, "--seal"),
            password: given(&self.password, "--password"),
            readahead: given(&self.readahead, "--readahead"),
            replacement: given(&self.replacement, "--replacement"),
            prefetch: given(&self.prefetch, "--prefetch"),
            exact_prefetch_count: switch(self.exact_prefetch_count, "--exact-prefetch-count"),
            track: given(&self.track, "--track"),
            offload: given(&self.offload, "--offload"),
            sections: given(&self.sections, "--sections"),
            frames: given(&self.frames, "--frames"),
            stats: given(&self.stats, "--stats"),
            quiet: switch(self.quiet, "--quiet"),
            progress: switch(self.progress, "--progress"),
            ..self.credentials.layer()
        }
    }

    fn options(&self) -> Result<Options, Failure> {
        let mut options = Options::gather(self.layer(), self.config.clone())?;
        options.tape.clone_from(&self.tape);
        options.auto = self.auto;
        options.force = self.force;
        options.pace = Pace { batch: self.batch, lookahead: self.lookahead };
        Ok(options)
    }
}

/// Does what `arguments`, the first of which is the command's own name, ask for.
pub fn dispatch(arguments: impl IntoIterator<Item = OsString>) -> Result<ExitCode, Failure> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let cli = match definition::parse(&arguments) {
        Ok(cli) => cli,
        Err(error) => return mistake::explain(&error, &arguments),
    };
    match cli.verb {
        Verb::Run(arguments) => run::run(&arguments.options()?, &arguments.command),
        Verb::Capture(arguments) => capture::capture(&arguments),
        Verb::Record(arguments) => record::record(&arguments),
        Verb::Faults(arguments) => faults::faults(&arguments),
        Verb::Plan(arguments) => plan::plan(&arguments),
        Verb::Tapes(arguments) => tapes::tapes(&arguments),
        Verb::Explain(arguments) => explain::explain(&arguments),
        Verb::Tune(arguments) => tune::tune(&arguments),
        Verb::Doctor(arguments) => arguments.doctor(),
        Verb::Top(arguments) => arguments.top(),
        Verb::Size(arguments) => sizing::size(
            arguments.pid,
            &sizing::asked(arguments.slowdown, &arguments.local)?,
            arguments.json,
        ),
        Verb::Balance(arguments) => balance::balance(&arguments),
        Verb::Limit { pid, size } => limit::limit(pid, &size),
        Verb::Analyze(arguments) => analyze::analyze(&arguments),
        Verb::Simulate(arguments) => simulate::simulate(&arguments),
        Verb::Partition(arguments) => partition::partition(&arguments),
        Verb::Path(arguments) => path::path(&arguments),
        Verb::Study(study) => study::study(&study),
        Verb::Import(arguments) => import::import(&arguments),
        Verb::Export(arguments) => export::export(&arguments),
        Verb::Bench(arguments) => Ok(bench::run(arguments)),
        Verb::Node(arguments) => node::node(&arguments),
        Verb::Completions { shell } => generate::completions(shell),
        Verb::Man { directory } => generate::manual(&directory),
    }
}
