//! What programs of several studies read, and how they are called.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf, absolute};
use std::process::{Command, Stdio};

use super::{make, write};
use crate::Failure;

/// Where sources are found, and where inputs are kept.
#[derive(Debug)]
pub struct Place {
    sources: PathBuf,
    work: PathBuf,
    small: bool,
}

/// How a program is called.
#[derive(Debug)]
pub struct Invocation {
    pub argv: Vec<OsString>,
    pub env: Option<(&'static str, &'static str)>,
    pub stdin: Option<PathBuf>,
    pub load: Option<Load>,
}

/// What is asked of a server, which else would wait for ever.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Load {
    Redis,
    /// Lists of redis, ranges of which are asked for.
    RedisLists,
    Memcached,
}

impl Invocation {
    /// A call with these arguments; the first is the program.
    pub fn new<S: Into<OsString>>(argv: impl IntoIterator<Item = S>) -> Self {
        let argv = argv.into_iter().map(Into::into).collect();
        Self { argv, env: None, stdin: None, load: None }
    }

    /// With another argument.
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.argv.push(argument.into());
        self
    }

    /// With an environment variable.
    pub fn env(self, name: &'static str, value: &'static str) -> Self {
        Self { env: Some((name, value)), ..self }
    }

    /// With a file to read from.
    pub fn stdin(self, file: PathBuf) -> Self {
        Self { stdin: Some(file), ..self }
    }

    /// A server, and what is asked of it.
    pub fn load(self, load: Load) -> Self {
        Self { load: Some(load), ..self }
    }
}

impl Place {
    /// Directories of studies and of what is made for them.
    ///
    /// # Errors
    /// If they have no absolute path.
    pub fn new(sources: &Path, work: &Path, small: bool) -> Result<Self, Failure> {
        let full = |path: &Path| {
            absolute(path).map_err(|e| Failure::usage(format!("{}: {e}", path.display())))
        };
        Ok(Self { sources: full(sources)?, work: full(work)?, small })
    }

    /// Whether inputs are small.
    pub fn is_small(&self) -> bool {
        self.small
    }

    /// A number as an argument, by the scale.
    pub fn size(&self, full: u64, small: u64) -> String {
        if self.small { small } else { full }.to_string()
    }

    /// A script that an interpreter is studied with.
    pub fn script(&self, name: &str) -> PathBuf {
        self.sources.join("eden/programs").join(name)
    }

    /// A program of another study.
    pub fn program(&self, study: &str, name: &str) -> PathBuf {
        self.sources.join(study).join("programs").join(name)
    }

    /// The sources of the kernels.
    pub fn kernels(&self) -> PathBuf {
        self.sources.join("path")
    }

    /// One of the project's examples.
    pub fn example(&self, name: &str) -> PathBuf {
        self.sources.join("../examples").join(name)
    }

    /// What the examples include.
    pub fn headers(&self) -> PathBuf {
        self.sources.join("../include")
    }

    /// A file that may be made.
    pub fn work(&self, name: &str) -> PathBuf {
        self.work.join(name)
    }

    /// Where a server listens.
    pub fn socket(&self) -> PathBuf {
        self.work("server.sock")
    }

    /// Text of words that are the more frequent the shorter they are.
    pub fn prose(&self) -> Result<PathBuf, String> {
        self.made("prose.txt", |random| {
            let mut text = String::new();
            while text.len() < self.bytes(1) {
                for _ in 0..12 {
                    let rank = 1u64 << random.below(15);
                    let _ = write!(text, "{} ", word(rank + random.below(rank)));
                }
                text.push('\n');
            }
            text
        })
    }

    /// Lines in no order.
    pub fn lines(&self) -> Result<PathBuf, String> {
        self.made("lines.txt", |random| {
            let mut text = String::new();
            while text.len() < self.bytes(24) {
                let _ = writeln!(text, "{:016x} {}", random.draw(), word(random.below(1000)));
            }
            text
        })
    }

    /// Objects of JSON, one to a line.
    pub fn documents(&self) -> Result<PathBuf, String> {
        self.made("documents.json", |random| {
            let mut text = String::new();
            while text.len() < self.bytes(8) {
                let (kind, name, size) =
                    (random.below(40), random.below(1 << 20), random.below(1000));
                let (kind, name) = (word(kind), word(name));
                let _ = writeln!(text, r#"{{"kind":"{kind}","name":"{name}","size":{size}}}"#);
            }
            text
        })
    }

    /// A repository of git with a history of changes to a few files.
    pub fn repository(&self) -> Result<PathBuf, String> {
        let stream =
            self.made("history", |random| history(random, if self.small { 60 } else { 1500 }))?;
        let directory = self.work(&self.named("repository"));
        if directory.join("done").exists() {
            return Ok(directory);
        }
        let _ = fs::remove_dir_all(&directory);
        done(Command::new("git").args(["init", "-q", "--bare"]).arg(&directory))?;
        let stream = fs::File::open(&stream).map_err(|e| format!("{}: {e}", stream.display()))?;
        let mut import = Command::new("git");
        import.arg("-C").arg(&directory).args(["fast-import", "--quiet"]).stdin(stream);
        done(&mut import)?;
        write(&directory.join("done"), "").map_err(|e| e.to_string())?;
        Ok(directory)
    }

    fn bytes(&self, megabytes: usize) -> usize {
        (megabytes << 20) / if self.small { 16 } else { 1 }
    }

    fn named(&self, name: &str) -> String {
        if self.small { format!("small-{name}") } else { name.to_owned() }
    }

    /// A file, made if it is not there yet.
    fn made(&self, name: &str, text: impl Fn(&mut Random) -> String) -> Result<PathBuf, String> {
        let file = self.work(&self.named(name));
        if !file.exists() {
            make(&self.work).map_err(|e| e.to_string())?;
            let draft = file.with_extension("new");
            write(&draft, &text(&mut Random(0x9e37_79b9))).map_err(|e| e.to_string())?;
            fs::rename(&draft, &file)
                .map_err(|e| format!("cannot make {}: {e}", file.display()))?;
        }
        Ok(file)
    }
}

/// Numbers in no order, the same each time.
struct Random(u64);

impl Random {
    fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        self.draw() % end
    }
}

/// A pronounceable word for a number.
fn word(number: u64) -> String {
    let (mut text, mut rest) = (String::new(), number + 1);
    while rest > 0 {
        let (consonant, vowel) = (rest % 16, rest / 16 % 5);
        text.push(char::from(b"bcdfghjklmnpqrst"[consonant as usize]));
        text.push(char::from(b"aeiou"[vowel as usize]));
        rest /= 80;
    }
    text
}

/// A history, as `git fast-import` reads it.
fn history(random: &mut Random, commits: u64) -> String {
    let mut stream = String::new();
    let mut text: Vec<String> = (0..400).map(|i| format!("line {i} {:x}", random.draw())).collect();
    for commit in 0..commits {
        for _ in 0..10 {
            let line = random.below(400) as usize;
            text[line] = format!("line {line} of {commit}: {:x}", random.draw());
        }
        let body = text.join("\n");
        let (file, time) = (commit % 40, 1_600_000_000 + commit);
        let _ = write!(
            stream,
            "commit refs/heads/main\ncommitter E <e@example.org> {time} +0000\ndata 6\nchange\n\
             M 100644 inline file{file}\ndata {}\n{body}\n\n",
            body.len()
        );
    }
    stream
}

/// Runs a command to its end; what it printed. The error is a line for the user.
pub fn done(command: &mut Command) -> Result<Vec<u8>, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stderr(Stdio::piped())
        .output()
        .map_err(|e| format!("cannot start {name}: {e}; is it installed?"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{name} failed: {}", said.lines().next().unwrap_or("it says nothing")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_differ() {
        let words: std::collections::BTreeSet<_> = (0..10_000).map(word).collect();
        assert_eq!(words.len(), 10_000);
    }
}
