//! One examined program: its directories, its runs, and the comparison.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::pick;
use crate::program::{Finished, Program, Running};
use crate::tree;

/// Local limits of the exam, in percent of the program's peak footprint. The first one is where the
/// footprint is learnt.
pub const LEVELS: [u32; 3] = [100, 25, 10];

/// Where a program runs.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// By itself.
    Plain,
    /// On far memory, with this percentage of its footprint local.
    Far(u32),
}

impl Place {
    /// The plain run, then the levels of far memory: all of them in the full exam, and at reduced size
    /// those at which every program still makes good progress. Programs whose working set is far
    /// larger than a tenth of their footprint (a garbage collector's is all of it) spend minutes there.
    pub fn all() -> impl Iterator<Item = Self> {
        let least = least_level().unwrap_or(pick(25, 0));
        let levels = LEVELS.into_iter().filter(move |percent| *percent >= least);
        std::iter::once(Self::Plain).chain(levels.map(Self::Far))
    }

    fn label(self) -> String {
        match self {
            Self::Plain => "plain".into(),
            Self::Far(percent) => format!("far-{percent}"),
        }
    }
}

/// The lowest level, in percent, if the user asked for one.
fn least_level() -> Option<u32> {
    let text = std::env::var("FARSIDE_EXAM_LEAST").ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("FARSIDE_EXAM_LEAST={text:?} is not a percentage")))
}

/// Whether plain runs are compared with plain runs, to examine the exam itself.
pub fn plain_only() -> bool {
    std::env::var_os("FARSIDE_EXAM_PLAIN").is_some_and(|value| value == "1")
}

/// The command to examine.
pub fn farside() -> PathBuf {
    if let Some(path) = std::env::var_os("FARSIDE_BIN") {
        return path.into();
    }
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"), PathBuf::from);
    let path = target.join("release/farside");
    assert!(
        path.exists(),
        "{} is missing; build it first: cargo build --release --workspace",
        path.display()
    );
    path
}

/// A counter, as it is now, of the run on far memory of that name.
pub fn counter_of_run(far: &str, name: &str) -> u64 {
    let output = Command::new(farside()).args(["top", "--json"]).output();
    let output = output.unwrap_or_else(|e| panic!("farside top: {e}"));
    let runs: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("farside top --json: {e}"));
    let run = runs.as_array().and_then(|runs| runs.iter().find(|run| run["far"] == far));
    let run = run.unwrap_or_else(|| panic!("farside top knows no run on {far}: {runs}"));
    run["counters"][name].as_u64().unwrap_or_else(|| panic!("no counter {name}: {run}"))
}

/// Footprints below this are not expected to be evicted from: the least limit that works may be above
/// a tenth of them.
const LEAST_TELLING_FOOTPRINT: u64 = 12 << 20;

/// The exam of one program, in temporary directories of its own.
#[derive(Debug)]
pub struct Exam {
    name: &'static str,
    home: TempDir,
}

impl Exam {
    /// An exam with empty directories. `name` is that of the test, for messages.
    pub fn new(name: &'static str) -> Self {
        let home = tempfile::Builder::new()
            .prefix("farside-exam-")
            .tempdir()
            .unwrap_or_else(|e| panic!("no temporary directory: {e}"));
        for directory in ["input", "state"] {
            let path = home.path().join(directory);
            std::fs::create_dir(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        }
        Self { name, home }
    }

    /// A path for inputs, the same for all runs.
    pub fn input(&self, name: &str) -> PathBuf {
        self.home.path().join("input").join(name)
    }

    /// The directory of inputs.
    pub fn inputs(&self) -> PathBuf {
        self.home.path().join("input")
    }

    /// An empty working directory for a run in `place`.
    pub fn fresh_directory(&self, place: Place) -> PathBuf {
        let path = self.home.path().join(place.label());
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        path
    }

    /// Where the output of a run in `place` goes.
    pub(crate) fn files(&self, place: Place) -> PathBuf {
        self.home.path().join(format!("{}-files", place.label()))
    }

    /// Starts `program` in `place`, in `directory`.
    pub fn start(&self, program: &Program, place: Place, directory: &Path) -> Running {
        let files = self.files(place);
        let _ = std::fs::remove_dir_all(&files);
        std::fs::create_dir(&files).unwrap_or_else(|e| panic!("{}: {e}", files.display()));
        Running::start(self.command(program, place), program, directory, &files)
    }

    fn command(&self, program: &Program, place: Place) -> Command {
        let mut command;
        match place {
            Place::Far(percent) if !plain_only() => {
                command = program.command(farside().as_os_str());
                command.args(["run", "--quiet", "--local", &format!("{percent}%"), "--stats"]);
                command.arg(self.stats_file(place)).arg("--").args(&program.argv);
            }
            _ => {
                command = program.command(&program.argv[0]);
                command.args(&program.argv[1..]);
            }
        }
        command.env("XDG_STATE_HOME", self.home.path().join("state"));
        command
    }

    fn stats_file(&self, place: Place) -> PathBuf {
        self.home.path().join(format!("{}.json", place.label()))
    }

    /// Runs `program` to its end in `place` and insists that it succeeds and, on far memory, that its
    /// limit held.
    pub fn run(&self, program: &Program, place: Place, directory: &Path) -> Finished {
        let finished = self.start(program, place, directory).finish();
        assert_eq!(
            finished.code(),
            Some(0),
            "{}, {}: {} ended with {:?} (None: took too long)\nstdout: {}\nstderr: {}",
            self.name,
            place.label(),
            program.name(),
            finished.code(),
            tail(&finished.stdout),
            tail(&finished.stderr)
        );
        self.check_limit(place);
        finished
    }

    /// Runs `program` in every place and insists on identical output: standard output, standard
    /// error, and all files left in the working directory.
    pub fn compare(&self, program: &Program) {
        self.compare_prepared(program, |_| ());
    }

    /// Like [`compare`](Self::compare), with `prepare` filling each working directory first.
    pub fn compare_prepared(&self, program: &Program, prepare: impl Fn(&Path)) {
        let mut plain = None;
        for place in Place::all() {
            let directory = self.fresh_directory(place);
            prepare(&directory);
            let finished = self.run(program, place, &directory);
            let output = (finished.stdout, finished.stderr, tree::files(&directory));
            let _ = std::fs::remove_dir_all(&directory);
            match &plain {
                None => plain = Some(output),
                Some(plain) => self.same(plain, &output, place),
            }
        }
    }

    fn same(&self, plain: &Output, far: &Output, place: Place) {
        let at = format!("{}, {}", self.name, place.label());
        assert!(
            plain.0 == far.0,
            "{at}: standard output differs: {}",
            difference(&plain.0, &far.0)
        );
        assert!(plain.1 == far.1, "{at}: standard error differs: {}", difference(&plain.1, &far.1));
        assert!(plain.2.keys().eq(far.2.keys()), "{at}: other files were left");
        for (name, bytes) in &plain.2 {
            let other = &far.2[name];
            assert!(bytes == other, "{at}: {name:?} differs: {}", difference(bytes, other));
        }
    }

    /// Insists that the run that just ended in `place` was a run on far memory within its limit.
    pub fn check_limit(&self, place: Place) {
        let Place::Far(percent) = place else { return };
        if plain_only() {
            return;
        }
        let path = self.stats_file(place);
        let at = format!("{}, {}", self.name, place.label());
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|e| panic!("{at}: no statistics in {}: {e}", path.display()));
        let stats: Value =
            serde_json::from_str(&text).unwrap_or_else(|e| panic!("{at}: bad statistics: {e}"));
        let count = |name: &str| {
            let value = stats["counters"][name].as_u64();
            value.unwrap_or_else(|| panic!("{at}: the statistics lack {name}: {text}"))
        };
        let (peak, limit) = (count("resident_peak_bytes"), count("limit_bytes"));
        let footprint = count("footprint_peak_bytes");
        assert!(footprint > 0, "{at}: nothing of the program was in far memory");
        assert!(peak <= limit, "{at}: {peak} bytes resident with a limit of {limit}");
        if percent <= 25 && footprint >= LEAST_TELLING_FOOTPRINT {
            assert!(count("evicted_pages") > 0, "{at}: nothing was evicted: {text}");
        }
    }
}

/// Standard output, standard error, and the files left behind.
type Output = (Vec<u8>, Vec<u8>, BTreeMap<PathBuf, Vec<u8>>);

/// Where two outputs part.
fn difference(plain: &[u8], far: &[u8]) -> String {
    let at = plain.iter().zip(far).take_while(|(a, b)| a == b).count();
    let show = |bytes: &[u8]| {
        let end = bytes.len().min(at + 80);
        String::from_utf8_lossy(&bytes[at.min(end)..end]).into_owned()
    };
    format!(
        "at byte {at} of {} / {}: plain {:?}, far {:?}",
        plain.len(),
        far.len(),
        show(plain),
        show(far)
    )
}

fn tail(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(2000)..]).into_owned()
}
