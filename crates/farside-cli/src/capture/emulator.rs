//! The emulator: where it is, whether it can run the program, and how it is started.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::Failure;
use crate::run::{find, privileged};

/// File name of the emulator.
const EMULATOR: &str = "qemu-x86_64";

/// Environment variable that names the emulator's file.
const EMULATOR_VARIABLE: &str = "FARSIDE_QEMU";

/// File name of its plugin.
const PLUGIN: &str = "farside-pagetrace.so";

/// Environment variable that names the plugin's file.
const PLUGIN_VARIABLE: &str = "FARSIDE_PAGETRACE";

/// How many interpreters of interpreters are followed, as the kernel does.
const MAX_INTERPRETERS: usize = 4;

/// Longest first line of a script that is looked at, as in the kernel.
const SCRIPT_LINE: usize = 256;

/// The emulator and its plugin.
#[derive(Debug)]
pub struct Emulator {
    file: PathBuf,
    plugin: PathBuf,
    cpu: OsString,
}

/// A program as the emulator needs it: a binary, with its interpreter's arguments if it is a script.
#[derive(Debug, PartialEq, Eq)]
pub struct Image {
    /// The binary.
    pub file: PathBuf,
    /// What it is called.
    pub name: OsString,
    /// Arguments before those of the user.
    pub arguments: Vec<OsString>,
}

impl Emulator {
    /// Finds both files.
    pub fn find(cpu: &str) -> Result<Self, Failure> {
        Ok(Self { file: find_emulator()?, plugin: find_plugin()?, cpu: cpu.into() })
    }

    /// The emulator's file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The arguments with which the emulator runs `image`.
    pub fn arguments(
        &self,
        image: &Image,
        stream: BorrowedFd<'_>,
        arguments: &[OsString],
    ) -> Vec<OsString> {
        // Its option parser takes two commas for one that is meant.
        let escaped: Vec<u8> = self
            .plugin
            .as_os_str()
            .as_bytes()
            .iter()
            .flat_map(|&byte| std::iter::repeat_n(byte, 1 + usize::from(byte == b',')))
            .collect();
        let mut plugin = OsString::from_vec(escaped);
        plugin.push(format!(",fd={},parent={}", stream.as_raw_fd(), std::process::id()));
        let mut all: Vec<OsString> = ["-cpu".into(), self.cpu.clone()].into();
        all.extend(["-plugin".into(), plugin, "-0".into(), image.name.clone()]);
        all.push(image.file.clone().into());
        all.extend(image.arguments.iter().chain(arguments).cloned());
        all
    }
}

fn find_emulator() -> Result<PathBuf, Failure> {
    if let Some(file) = named_by(EMULATOR_VARIABLE)? {
        return Ok(file);
    }
    let search = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    find(OsStr::new(EMULATOR), &search).map_err(|_| {
        Failure::usage(format!(
            "capture runs the program under {EMULATOR}, which is not in PATH; \
             to repair: apt-get install qemu-user (or set {EMULATOR_VARIABLE})"
        ))
    })
}

fn find_plugin() -> Result<PathBuf, Failure> {
    if let Some(file) = named_by(PLUGIN_VARIABLE)? {
        return Ok(file);
    }
    let executable = std::env::current_exe()
        .map_err(|error| Failure::own(format!("cannot find my own executable: {error}")))?;
    let directory = executable.parent().unwrap_or(&executable);
    let places = [directory.to_owned(), directory.join("../lib/farside")];
    let found = places.iter().map(|place| place.join(PLUGIN)).find(|file| file.is_file());
    found.ok_or_else(|| {
        Failure::usage(format!(
            "cannot find {PLUGIN} in {} or ../lib/farside; to repair: run 'make build' in \
             Farside's sources, or set {PLUGIN_VARIABLE}",
            directory.display()
        ))
    })
}

/// The file that an environment variable names, if it is set.
fn named_by(variable: &str) -> Result<Option<PathBuf>, Failure> {
    let Some(path) = std::env::var_os(variable).filter(|path| !path.is_empty()) else {
        return Ok(None);
    };
    let path = std::path::absolute(PathBuf::from(path))
        .map_err(|error| Failure::usage(format!("{variable}: {error}")))?;
    if path.is_file() {
        Ok(Some(path))
    } else {
        Err(Failure::usage(format!("{variable}={}: no such file", path.display())))
    }
}

/// The binary that runs when `file` is executed under the name `name`.
///
/// # Errors
/// Code 2 for what the emulator cannot run as the kernel would.
pub fn image(file: &Path, name: &OsStr) -> Result<Image, Failure> {
    let mut image =
        Image { file: with_directory(file), name: name.to_owned(), arguments: Vec::new() };
    for _ in 0..MAX_INTERPRETERS {
        let Some(line) = first_line(&image.file)? else { return Ok(image) };
        let (interpreter, argument) = script_line(&line).ok_or_else(|| {
            Failure::not_executable(format!("{}: no interpreter is named", image.file.display()))
        })?;
        let mut arguments: Vec<OsString> = argument.into_iter().collect();
        arguments.push(image.file.into());
        arguments.append(&mut image.arguments);
        image = Image { file: interpreter.clone().into(), name: interpreter, arguments };
    }
    Err(Failure::not_executable(format!("{}: too many interpreters", file.display())))
}

/// A path that is no option and is not searched for.
fn with_directory(file: &Path) -> PathBuf {
    if file.is_absolute() { file.to_owned() } else { Path::new(".").join(file) }
}

/// The first line of a script, `None` of a binary.
fn first_line(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let cannot = |why: String| Failure::usage(format!("cannot capture {}: {why}", path.display()));
    let mut file = File::open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            Failure::not_found(format!("cannot run {}: {error}", path.display()))
        }
        _ => cannot(format!("the emulator has to read it: {error}")),
    })?;
    if let Some(why) = privileged(&file, path) {
        return Err(cannot(format!(
            "{why}, and the emulator would run it without its privileges; capture a copy of it, \
             or capture as its owner"
        )));
    }
    let mut start = Vec::with_capacity(SCRIPT_LINE);
    let read = Read::by_ref(&mut file).take(SCRIPT_LINE as u64).read_to_end(&mut start);
    read.map_err(|error| cannot(error.to_string()))?;
    if let Some(line) = start.strip_prefix(b"#!") {
        let end = line.iter().position(|&byte| byte == b'\n').unwrap_or(line.len());
        return Ok(Some(line[..end].to_vec()));
    }
    let machine = start.get(18..20);
    match (start.starts_with(b"\x7fELF"), start.get(4..6), machine) {
        (true, Some([2, 1]), Some([62, 0])) => Ok(None),
        (true, ..) => Err(cannot("it is not a program for 64-bit x86".to_owned())),
        _ => Err(Failure::not_executable(format!(
            "cannot run {}: it is neither a program nor a script that names its interpreter",
            path.display()
        ))),
    }
}

/// Interpreter and its only argument.
fn script_line(line: &[u8]) -> Option<(OsString, Option<OsString>)> {
    let line = line.trim_ascii();
    let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    let (interpreter, rest) = line.split_at(end);
    let owned = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    let rest = rest.trim_ascii();
    let argument = (!rest.is_empty()).then(|| owned(rest));
    (!interpreter.is_empty()).then(|| (owned(interpreter), argument))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_a_script_is_split_once() {
        let split = |line: &str| {
            let (interpreter, argument) = script_line(line.as_bytes())?;
            Some((interpreter.into_string().unwrap(), argument.map(|a| a.into_string().unwrap())))
        };
        assert_eq!(split(" /bin/sh"), Some(("/bin/sh".into(), None)));
        assert_eq!(
            split("/usr/bin/env -S python3 -u \r"),
            Some(("/usr/bin/env".into(), Some("-S python3 -u".into())))
        );
        assert_eq!(split("  "), None);
    }
}
