//! Where benchmarks keep the programs that they build.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use super::Failure;

/// A directory of built programs. A file's name tells from what source and with which options it was
/// made, so that nothing in it is ever out of date.
pub(crate) struct Cache(PathBuf);

/// A source file: its path in the directory where it is compiled, and its text.
pub(crate) type Source = (&'static str, &'static str);

impl Cache {
    /// The one that was named, or else that of the user.
    pub fn at(named: Option<&Path>) -> Result<Self, Failure> {
        if let Some(directory) = named {
            return Ok(Self(directory.to_owned()));
        }
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

    /// A script as a file.
    pub fn script(&self, name: &str, end: &str, source: &str) -> Result<PathBuf, String> {
        let file = self.file(name, end, &[source]);
        if !file.exists() {
            self.make()?;
            let draft = draft_of(&file);
            write(&draft, source)?;
            rename(&draft, &file)?;
        }
        Ok(file)
    }

    /// A program that is made of `sources`, with what else `parts` name: `compile` makes it in the directory that has
    /// these files, if that was not done before.
    pub fn binary(
        &self,
        name: &str,
        sources: &[Source],
        parts: &[&str],
        compile: impl FnOnce(&Path, &Path) -> Result<(), String>,
    ) -> Result<PathBuf, String> {
        let all: Vec<&str> = sources
            .iter()
            .flat_map(|(path, text)| [*path, *text])
            .chain(parts.iter().copied())
            .collect();
        let file = self.file(name, "", &all);
        if file.exists() {
            return Ok(file);
        }
        self.make()?;
        // Others may build the same at the same time.
        let draft = draft_of(&file);
        let directory = draft.with_extension("sources");
        let built = lay_out(&directory, sources).and_then(|()| compile(&directory, &draft));
        let _ = fs::remove_dir_all(&directory);
        built?;
        rename(&draft, &file)?;
        Ok(file)
    }

    fn make(&self) -> Result<(), String> {
        make(&self.0)
    }

    /// The file that is made of `parts`.
    fn file(&self, name: &str, end: &str, parts: &[&str]) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        parts.hash(&mut hasher);
        self.0.join(format!("{name}-{:016x}{end}", hasher.finish()))
    }
}

fn lay_out(directory: &Path, sources: &[Source]) -> Result<(), String> {
    make(directory)?;
    for (path, text) in sources {
        let file = directory.join(path);
        make(file.parent().unwrap_or(directory))?;
        write(&file, text)?;
    }
    Ok(())
}

/// A name of this process's own beside `file`.
fn draft_of(file: &Path) -> PathBuf {
    file.with_extension(format!("{}.new", std::process::id()))
}

fn make(directory: &Path) -> Result<(), String> {
    fs::create_dir_all(directory).map_err(|e| format!("cannot make {}: {e}", directory.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

fn rename(from: &Path, to: &Path) -> Result<(), String> {
    fs::rename(from, to).map_err(|e| format!("cannot make {}: {e}", to.display()))
}

/// Runs a compiler; if it fails, the error is its first one.
pub(crate) fn compile(command: &mut std::process::Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let said = command.output().map_err(|e| format!("cannot start {name}: {e}"))?;
    if said.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&said.stderr);
    let first = text.lines().find(|line| line.contains("error")).unwrap_or("it says nothing");
    Err(format!("{name} cannot build it: {first}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_source_is_another_file() {
        let cache = Cache("cache".into());
        let file = |source| cache.file("p", ".py", &[source]);
        assert_eq!(file("a"), file("a"));
        assert_ne!(file("a"), file("b"));
        assert!(file("a").starts_with("cache"));
    }
}
