//! The programs' sources, and where they are built.

use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::Failure;
use crate::bench::programs::installed;

/// Where the package libeigen3-dev puts its headers.
const EIGEN: &str = "/usr/include/eigen3";

/// What all programs in C++ include.
const DIGEST: &str = include_str!("sources/digest.h");

/// Options of the compiler. Eigen shares no work out among threads by itself.
const OPTIONS: [&str; 5] =
    ["-std=c++14", "-O3", "-DNDEBUG", "-DEIGEN_DONT_PARALLELIZE", "-fopenmp"];

/// A directory of built programs. A file's name tells from what source and with which options it was
/// made, so that nothing in it is ever out of date.
pub(super) struct Cache(PathBuf);

impl Cache {
    /// The one in `directory`.
    pub fn at(directory: PathBuf) -> Self {
        Self(directory)
    }

    /// That of the user.
    pub fn of_user() -> Result<Self, Failure> {
        let absolute = |name: &str| {
            std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
        };
        let cache = absolute("XDG_CACHE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
            .ok_or_else(|| {
                Failure::new("no cache directory: set HOME, or name one with --cache")
            })?;
        Ok(Self(cache.join("farside/bench")))
    }

    /// A Python program as a file.
    pub fn script(&self, name: &str, source: &str) -> Result<PathBuf, String> {
        let file = self.file(name, ".py", &[source]);
        if !file.exists() {
            self.make()?;
            let draft = draft_of(&file);
            write(&draft, source)?;
            rename(&draft, &file)?;
        }
        Ok(file)
    }

    /// Builds a C++ program, if that was not done before.
    pub fn binary(&self, name: &str, source: &str) -> Result<PathBuf, String> {
        installed("g++", "g++")?;
        if !Path::new(EIGEN).join("Eigen/Core").exists() {
            return Err(format!("no Eigen in {EIGEN}; install it: apt-get install libeigen3-dev"));
        }
        let file = self.file(name, "", &[source, DIGEST, &OPTIONS.join(" "), instructions()]);
        if !file.exists() {
            self.make()?;
            self.compile(name, source, &file)?;
        }
        Ok(file)
    }

    fn make(&self) -> Result<(), String> {
        fs::create_dir_all(&self.0).map_err(|e| format!("cannot make {}: {e}", self.0.display()))
    }

    /// The file that is made of `parts`.
    fn file(&self, name: &str, end: &str, parts: &[&str]) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        parts.hash(&mut hasher);
        self.0.join(format!("{name}-{:016x}{end}", hasher.finish()))
    }

    fn compile(&self, name: &str, source: &str, file: &Path) -> Result<(), String> {
        // Others may build the same at the same time.
        let draft = draft_of(file);
        let sources = draft.with_extension("sources");
        let made = fs::create_dir_all(&sources);
        made.map_err(|e| format!("cannot make {}: {e}", sources.display()))?;
        let main = sources.join(format!("{name}.cc"));
        let built = write(&main, source)
            .and_then(|()| write(&sources.join("digest.h"), DIGEST))
            .and_then(|()| gcc(&main, &draft));
        let _ = fs::remove_dir_all(&sources);
        built?;
        rename(&draft, file)
    }
}

/// Which instructions the compiler may use: those that numpy's libraries choose by themselves, as far
/// as Valgrind knows them.
fn instructions() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2")
        && std::is_x86_feature_detected!("fma")
        && std::is_x86_feature_detected!("bmi2")
    {
        return "x86-64-v3";
    }
    "x86-64"
}

fn gcc(source: &Path, output: &Path) -> Result<(), String> {
    let mut march = OsString::from("-march=");
    march.push(instructions());
    let mut include = OsString::from("-I");
    include.push(EIGEN);
    let mut command = Command::new("g++");
    command.args(OPTIONS).arg(march).arg(include).arg("-o").arg(output).arg(source);
    let said = command.output().map_err(|e| format!("cannot start g++: {e}"))?;
    if said.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&said.stderr);
    let first = text.lines().find(|line| line.contains("error")).unwrap_or("it says nothing");
    Err(format!("g++ cannot build it: {first}"))
}

/// A name of this process's own beside `file`.
fn draft_of(file: &Path) -> PathBuf {
    file.with_extension(format!("{}.new", std::process::id()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

fn rename(from: &Path, to: &Path) -> Result<(), String> {
    fs::rename(from, to).map_err(|e| format!("cannot make {}: {e}", to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_source_is_another_file() {
        let cache = Cache::at("cache".into());
        let file = |source| cache.file("p", ".py", &[source]);
        assert_eq!(file("a"), file("a"));
        assert_ne!(file("a"), file("b"));
        assert!(file("a").starts_with("cache"));
    }
}
