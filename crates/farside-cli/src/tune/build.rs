//! Building the program in the ways that tuning needs.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use farside_tune::{Candidates, Configuration};
use object::{Object, ObjectSection, ReadCache};

use crate::Failure;
use crate::compiler;
use crate::explain::{self, notes::Unit};

/// The part of a program in which the compiler lists what may go to sections.
const PART: &str = ".farside.candidates";

/// A way to build the program.
#[derive(Copy, Clone, Debug)]
pub struct Variant<'a> {
    /// The sections; none: all of it is paged.
    pub sections: &'a Configuration,
    /// Whether it measures itself.
    pub profiled: bool,
}

/// Builds the program by the user's command.
#[derive(Debug)]
pub struct Builder {
    command: String,
    program: PathBuf,
    directory: PathBuf,
    compilers: [PathBuf; 2],
    built: u32,
}

impl Builder {
    /// Builds `program` by a line for the shell. Files that belong to builds are put into `directory`.
    ///
    /// # Errors
    /// If there is no compiler.
    pub fn new(
        command: &str,
        program: &Path,
        directory: &Path,
        farside_cc: Option<&Path>,
    ) -> Result<Self, Failure> {
        let own = std::env::current_exe()
            .map_err(|error| Failure::own(format!("where is farside? {error}")))?;
        let compiler = compiler::find(farside_cc, &own).map_err(Failure::usage)?;
        let absolute = std::path::absolute(&compiler);
        let compiler = absolute.map_err(|error| Failure::own(format!("the compiler: {error}")))?;
        let other = compiler.with_file_name("farside-c++");
        Ok(Self {
            command: command.to_owned(),
            program: program.to_owned(),
            directory: directory.to_owned(),
            compilers: [compiler, other],
            built: 0,
        })
    }

    /// Builds a variant, and returns a copy of the program beside it, which is the caller's.
    ///
    /// # Errors
    /// If the command fails, or the program is not there afterwards; with where all is told that the command said.
    pub fn build(&mut self, variant: Variant<'_>) -> Result<Built, Failure> {
        self.built += 1;
        let file = |end: &str| self.directory.join(format!("{}{end}", self.built));
        let (sections, log) = (file(".toml"), file(".log"));
        write(&sections, variant.sections.to_toml("").as_bytes())?;
        let said = File::create(&log).map_err(|error| cannot_write(&log, &error))?;
        let also = said.try_clone().map_err(|error| cannot_write(&log, &error))?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &self.command]).stdin(Stdio::null()).stdout(said).stderr(also);
        command.env("CC", &self.compilers[0]).env("CXX", &self.compilers[1]);
        command.env_remove("FARSIDE_SECTIONS").env_remove("FARSIDE_PROFILE_BUILD");
        if !variant.sections.sections.is_empty() {
            command.env("FARSIDE_SECTIONS", &sections);
        }
        if variant.profiled {
            command.env("FARSIDE_PROFILE_BUILD", "1");
        }
        let status = command.status();
        let status =
            status.map_err(|error| Failure::own(format!("cannot run a shell: {error}")))?;
        let log = log.display();
        if !status.success() {
            let why = complaint(&log.to_string());
            return Err(Failure::own(format!("the build failed ({status}; see {log}){why}")));
        }
        if !self.program.is_file() {
            let program = self.program.display();
            return Err(Failure::usage(format!(
                "the build made no program {program} (its command is --build; see {log})"
            )));
        }
        Built::copy_of(&self.program, self.built)
    }

    /// Puts a program that was built into its place.
    pub fn install(&self, built: &Built) -> Result<(), Failure> {
        replace(&built.path, &self.program)
    }
}

/// What a log says of an error, or its last line, after a colon.
fn complaint(log: &str) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let line = text.lines().find(|line| line.contains("error:"));
    line.or_else(|| text.lines().next_back()).map_or(String::new(), |line| format!(": {line}"))
}

/// A program that was built; its file goes with this.
#[derive(Debug)]
pub struct Built {
    /// The copy.
    pub path: PathBuf,
}

impl Built {
    /// It lies beside the program, so that it finds what belongs to it.
    fn copy_of(program: &Path, number: u32) -> Result<Self, Failure> {
        let mut name = program.file_name().unwrap_or_default().to_owned();
        name.push(format!(".tune-{}-{number}", std::process::id()));
        let path = program.with_file_name(name);
        replace(program, &path).map(|()| Self { path })
    }

    /// What the compiler says may go to sections.
    ///
    /// # Errors
    /// If the program was not built by it.
    pub fn candidates(&self) -> Result<Candidates, Failure> {
        let name = self.path.display();
        let unreadable = |why: String| Failure::own(format!("cannot read {name}: {why}"));
        let file = File::open(&self.path).map_err(|error| unreadable(error.to_string()))?;
        let cache = ReadCache::new(file);
        let file = object::File::parse(&cache).map_err(|error| {
            Failure::usage(format!(
                "{name} is no program ({error}): what is tuned is the program itself, and no script that starts it"
            ))
        })?;
        let part = file.section_by_name(PART).ok_or_else(|| {
            Failure::usage(
                "the build command does not use the compiler it is given: it is to take CC and CXX from its \
                 environment, and to build everything anew, as 'make -B' does",
            )
        })?;
        let bytes = part.data().map_err(|error| unreadable(error.to_string()))?;
        Candidates::read(bytes).map_err(|why| unreadable(format!("what the compiler says: {why}")))
    }

    /// What the compiler has noted of it; nothing if there are no sections.
    pub fn notes(&self) -> Vec<Unit> {
        explain::units_of(&self.path).unwrap_or_default()
    }
}

impl Drop for Built {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Copies a file over another one, which may be running.
fn replace(from: &Path, to: &Path) -> Result<(), Failure> {
    let draft = to.with_extension(format!("draft-{}", std::process::id()));
    let copied = fs::copy(from, &draft).and_then(|_| fs::rename(&draft, to));
    copied.map_err(|error| {
        let _ = fs::remove_file(&draft);
        Failure::own(format!("cannot copy {} to {}: {error}", from.display(), to.display()))
    })
}

/// Writes a file.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(path, bytes).map_err(|error| cannot_write(path, &error))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::own(format!("cannot write {}: {error}", path.display()))
}
