//! `farside run`: a program on far memory.

mod auto;
mod children;
mod drift;
mod far;
mod following;
mod footprint;
mod job_control;
mod library;
mod limit;
mod linger;
mod members;
mod ordered;
mod parts;
mod program;
mod progress;
mod redundancy;
mod registry;
mod report;
mod signals;
mod supervisor;
mod tape;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use farside_far::FarUrl;
use farside_pager::cached::Sections;
use farside_pager::settings::env;
use farside_wire::transport::Files;

pub(crate) use children::{Change, Launch, change_of};
use far::reach;
pub(crate) use far::{describe as describe_finding, examine, greet};
pub use following::{Followed, Following};
pub use footprint::{Footprints, Remembered, state_directory};
pub(crate) use job_control::JobControl;
pub use library::preload;
pub use limit::{Basis, ChosenLimit};
pub(crate) use program::privileged;
pub use program::{find, unmanageable};
pub use registry::{RunFile, directory as runs_directory, of_all_users, registered, registered_in};
pub use report::{Ending, Report, Subject, VERSION, grouped, nanoseconds};

use crate::faults::{Watched, Watcher};
use crate::options::{Local, Options};
use crate::record::{Recorded, Writer};
use crate::{Failure, balance, doctor};
use children::{raise_open_files, start_node};
use following::Watch;
use members::{Companion, Gathered, Members};
use parts::Parts;
use progress::Progress;
use redundancy::Redundancy;
use registry::Registration;
use signals::Inherited;
pub(crate) use signals::{Event, Signals, die_by};
use supervisor::Supervisor;
pub(crate) use supervisor::complain;
use tape::Tape;

/// Runs `command`, program and arguments, and returns its exit code. Nothing is started unless
/// everything that can be checked beforehand is in order.
pub fn run(options: &Options, command: &[OsString]) -> Result<ExitCode, Failure> {
    if options.auto {
        return auto::run(options, command);
    }
    let tape = options.tape.as_deref().map(Tape::open).transpose()?;
    let along = tape.map_or(Along::Alone, |tape| Along::Tape(tape, Box::new(|_| ())));
    run_with(options, command, along)
}

/// As [`run`], and `writer` writes down what the program does; `after` gets what came of it when the program has
/// ended, before `farside` ends in the same way.
pub fn run_recorded(
    options: &Options,
    command: &[OsString],
    writer: Writer,
    after: impl FnOnce(Recorded, &Report),
) -> Result<ExitCode, Failure> {
    run_with(options, command, Along::Writer(writer, Box::new(after)))
}

/// As [`run`], and `watcher` watches where the program faults; `after` gets what was seen when the program has ended,
/// before `farside` ends in the same way.
pub fn run_watched(
    options: &Options,
    command: &[OsString],
    watcher: Watcher,
    after: impl FnOnce(Watched, &Report),
) -> Result<ExitCode, Failure> {
    run_with(options, command, Along::Watcher(watcher, Box::new(after)))
}

/// What goes along with the program.
enum Along<'a> {
    Alone,
    /// What it does is written down, and told of at the end.
    Writer(Writer, After<'a>),
    /// Its faults are watched, and told of at the end.
    Watcher(Watcher, AfterWatching<'a>),
    /// It is followed, and what came of that told of at the end.
    Tape(Tape, AfterFollowing<'a>),
}

/// Who is told of what was gathered.
enum Told<'a> {
    Followed(AfterFollowing<'a>),
    Recorded(After<'a>),
    Watched(AfterWatching<'a>),
}

/// What is done with what was seen of faults.
type AfterWatching<'a> = Box<dyn FnOnce(Watched, &Report) + 'a>;

/// What is done with the report of a run on a tape.
type AfterFollowing<'a> = Box<dyn FnOnce(&Report) + 'a>;

/// What is done with a recording.
type After<'a> = Box<dyn FnOnce(Recorded, &Report) + 'a>;

/// Where the program called `name` is.
fn locate(name: &OsStr) -> Result<PathBuf, Failure> {
    let search = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    find(name, &search)
}

/// What an earlier run of a program with these arguments left, if that is remembered.
fn remembered(path: &Path, arguments: &[OsString]) -> Option<Remembered> {
    let identity = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    Footprints::of_user()?.recall(&identity, arguments)
}

/// The local limit of a run of the program in the file `path`.
pub fn limit_of(local: Option<Local>, path: &Path, arguments: &[OsString]) -> ChosenLimit {
    ChosenLimit::choose(local, remembered(path, arguments).map(|left| left.peak))
}

/// Where the program is; or why it could not be recorded, before anything is made for it.
pub fn check(command: &[OsString]) -> Result<PathBuf, Failure> {
    let Some(name) = command.first() else { return Err(Failure::usage("no program given")) };
    let path = locate(name)?;
    match unmanageable(&path) {
        None => doctor::check().map(|()| path),
        Some(reason) => Err(Failure::usage(format!("cannot record {}: {reason}", name.display()))),
    }
}

fn run_with(
    options: &Options,
    command: &[OsString],
    along: Along<'_>,
) -> Result<ExitCode, Failure> {
    let Some((name, arguments)) = command.split_first() else {
        return Err(Failure::usage("no program given"));
    };
    let path = locate(name)?;
    if let Some(reason) = unmanageable(&path) {
        complain(&format!("running {} without far memory: {reason}", name.display()));
        let launch = Launch { path: &path, name, arguments, environment: Vec::new() };
        let inherited = Inherited::current().map_err(|error| Failure::own(error.to_string()))?;
        return Err(launch.exec(inherited));
    }
    doctor::check()?;
    let reached = reach(options)?;
    let library = library::find()?;
    if let Some(stats) = &options.stats {
        writable(stats)?;
    }
    let planned = || match &along {
        Along::Tape(tape, _) => Some(tape.local()),
        _ => None,
    };
    let mut subject = Subject {
        program: name.to_string_lossy().into_owned(),
        arguments: arguments.iter().map(|a| a.to_string_lossy().into_owned()).collect(),
        limit: limit_of(options.local.or_else(planned), &path, arguments),
        far: options.far.to_string(),
        tape: None,
    };
    let (companion, told) = match along {
        Along::Alone => (None, None),
        Along::Writer(writer, after) => {
            (Some(Companion::Writer(writer)), Some(Told::Recorded(after)))
        }
        Along::Watcher(watcher, after) => {
            (Some(Companion::Watcher(watcher)), Some(Told::Watched(after)))
        }
        Along::Tape(tape, after) => {
            let limit = subject.limit.for_process();
            tape.check(limit)?;
            if !options.force {
                tape.check_program(&path)?;
            }
            let (image, followed) = tape.image(limit, options.pace)?;
            subject.tape = Some(followed);
            (Some(Companion::Tape(image)), Some(Told::Followed(after)))
        }
    };
    let program = ToStart { path: &path, name, arguments };
    let ((mut supervisor, registration), report) =
        start(options, &subject, &reached, &program, &library, companion)?;
    match (supervisor.take_gathered(), told) {
        (Some(Gathered::Recorded(recorded)), Some(Told::Recorded(after))) => {
            after(recorded, &report);
        }
        (Some(Gathered::Watched(watched)), Some(Told::Watched(after))) => {
            after(*watched, &report);
        }
        (_, Some(Told::Followed(after))) => after(&report),
        _ => {}
    }
    let parts = supervisor.plan_parts(report.counter("footprint_peak_bytes"));
    if parts > 0 && !options.quiet {
        let what = if parts == 1 { "a part" } else { "parts" };
        complain(&format!("recorded {what} of the run: {parts} planned for the next run"));
    }
    if report.ending == Ending::Exited(0) {
        remember(&path, arguments, &report, options.quiet);
    }
    conclude(options, &reached, (supervisor, registration), &report)
}

/// A program and how it is started.
struct ToStart<'a> {
    path: &'a Path,
    name: &'a OsStr,
    arguments: &'a [OsString],
}

/// A running or ended program with its entry for `farside top`.
type Run = (Supervisor, Option<Registration>);

fn start(
    options: &Options,
    subject: &Subject,
    far: &FarUrl,
    program: &ToStart<'_>,
    library: &Path,
    companion: Option<Companion>,
) -> Result<(Run, Report), Failure> {
    let own = |what: &str, error: std::io::Error| Failure::own(format!("cannot {what}: {error}"));
    let signals = Signals::take().map_err(|error| own("take over signals", error))?;
    let parts = Parts::new(subject.limit.planned());
    let mut members = Members::new(parts).map_err(|error| own("open the control socket", error))?;
    let node = start_node(far, &options.credentials, signals.inherited())?;
    let control = members.control_name().to_owned();
    let ToStart { path, name, arguments } = *program;
    let before = remembered(path, arguments).unwrap_or_default();
    let environment = environment(options, subject, &before, far, library, &control);
    let launch = Launch { path, name, arguments, environment };
    let program = launch.spawn(signals.inherited())?;
    if let Some(companion) = companion {
        members.accompany(program.as_raw() as u32, companion);
    }
    raise_open_files();
    let run =
        RunFile { supervisor_pid: std::process::id(), control, program: subject.program.clone() };
    // A run that `farside top` cannot see is still a run.
    let registration = Registration::enter(&run).ok();
    if registration.is_some() && balance::announce() {
        members.hold();
    }
    let mut progress = Progress::new(options.progress);
    let copies =
        matches!(far, FarUrl::Nodes(nodes) if nodes.copies > 1) || matches!(far, FarUrl::Redis(_));
    let watch = Watch::new(subject.tape.is_some() && !options.quiet);
    let watch = (watch, Redundancy::new(copies && !options.quiet));
    let mut supervisor = Supervisor::new(signals, members, subject.clone(), (program, node), watch);
    let report = supervisor.run(&mut progress).map_err(|error| own("go on supervising", error))?;
    Ok(((supervisor, registration), report))
}

fn environment(
    options: &Options,
    subject: &Subject,
    before: &Remembered,
    far: &FarUrl,
    library: &Path,
    control: &str,
) -> Vec<(&'static str, OsString)> {
    let mut settings = options.settings(subject.limit.for_process());
    if let Sections::Needed(known) = &mut settings.sections {
        *known = before.known();
    }
    let settings = settings.to_env().into_iter().map(|(name, value)| (name, value.into()));
    let preload = preload(library.as_os_str(), std::env::var_os("LD_PRELOAD"));
    let Files { authority, certificate, key, secret, password } = &options.credentials;
    let files = [
        (env::TLS_CA, authority),
        (env::TLS_CERT, certificate),
        (env::TLS_KEY, key),
        (env::PSK, secret),
        (env::PASSWORD, password),
    ];
    let files = files.into_iter().filter_map(|(name, file)| Some((name, file.as_ref()?.into())));
    settings
        .chain(files)
        .chain([
            ("LD_PRELOAD", preload),
            (env::FAR, far.to_string().into()),
            (env::CONTROL, control.into()),
        ])
        .collect()
}

/// Checks that a file can be written, without touching what an earlier run left there.
pub fn writable(path: &Path) -> Result<(), Failure> {
    let opened = std::fs::OpenOptions::new().append(true).create(true).open(path);
    opened
        .map(drop)
        .map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))
}

fn remember(path: &Path, arguments: &[OsString], report: &Report, quiet: bool) {
    let peak = report.counter("footprint_peak_bytes");
    let Some(all) = Footprints::of_user().filter(|_| peak > 0) else { return };
    let identity = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let before = all.recall(&identity, arguments).unwrap_or_default();
    if let Err(error) = all.remember(&identity, arguments, &before.next(peak, &report.sections))
        && !quiet
    {
        complain(&format!("cannot remember the peak footprint for later runs: {error}"));
    }
}

/// Tells what happened, cleans up and ends as the program ended.
fn conclude(
    options: &Options,
    far: &FarUrl,
    (supervisor, registration): Run,
    report: &Report,
) -> Result<ExitCode, Failure> {
    if let Some(stats) = &options.stats
        && let Err(error) = report.write_to(stats)
    {
        complain(&format!("cannot write statistics to {}: {error}", stats.display()));
    }
    if !options.quiet {
        let mut text = report.summary();
        let search = std::env::var_os("PATH").unwrap_or_default();
        let path = find(OsStr::new(&report.program), &search).ok();
        text.extend(path.and_then(|path| drift::warning(&path, report)));
        let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
    }
    let cleaned = if supervisor.has_survivors() {
        linger::leave_behind(supervisor, registration, || far::clean_up(options, far))
    } else {
        drop(registration);
        let finished = supervisor.finish();
        far::clean_up(options, far);
        finished
    };
    if let Err(error) = cleaned {
        complain(&format!("cannot clean up: {error}"));
    }
    Ok(match report.ending {
        Ending::Exited(code) => ExitCode::from(code as u8),
        Ending::Killed(signal) => {
            die_by(signal);
            ExitCode::from(128u8.wrapping_add(signal as u8))
        }
        Ending::Running => ExitCode::from(125),
    })
}
