//! How the programs are built.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::cache::{Cache, Source, compile};
use crate::bench::programs::installed;

/// What all of them include.
const HEADERS: [Source; 4] = [
    ("include/farside.h", include_str!("../../../../../include/farside.h")),
    ("include/farside/fibers.hpp", include_str!("../../../../../include/farside/fibers.hpp")),
    ("random.h", include_str!("../../../../../examples/random.h")),
    ("passes.c", include_str!("sources/passes.c")),
];

/// A program: the file in which it is, and what it needs.
#[derive(Copy, Clone, Debug)]
pub(super) struct Recipe {
    /// Name and text of the source.
    pub source: Source,
    /// A header that it includes, and the package that has it.
    pub needs: &'static [(&'static str, &'static str)],
    /// Libraries that it is linked with.
    pub libraries: &'static [&'static str],
    /// Puts other hints in the place of its own: those that `farside faults` suggests.
    pub suggested: &'static str,
}

/// Passes over memory.
pub(super) const PASSES: Recipe =
    Recipe { source: HEADERS[3], needs: &[], libraries: &[], suggested: "" };

/// The name under which a patch is applied.
const PATCH: &str = "suggested.patch";

impl Recipe {
    /// Builds it with these macros defined.
    pub fn build(&self, cache: &Cache, macros: &[&str]) -> Result<PathBuf, String> {
        self.build_patched(cache, macros, None)
    }

    /// Builds it with the hints that are suggested.
    pub fn build_suggested(&self, cache: &Cache) -> Result<PathBuf, String> {
        installed("patch", "patch")?;
        self.build_patched(cache, &[], Some(self.suggested))
    }

    fn build_patched(
        &self,
        cache: &Cache,
        macros: &[&str],
        patch: Option<&'static str>,
    ) -> Result<PathBuf, String> {
        let (file, _) = self.source;
        let (compiler, standard) =
            if file.ends_with(".c") { ("gcc", "-std=gnu11") } else { ("g++", "-std=c++20") };
        installed(compiler, compiler)?;
        for (header, package) in self.needs {
            if !Path::new(header).exists() {
                return Err(format!("no {header}; install it: apt-get install {package}"));
            }
        }
        let options = [standard, "-O2", "-g", "-pthread", "-Iinclude"];
        let parts: Vec<&str> =
            options.iter().chain(self.libraries).chain(macros).copied().collect();
        let patched = patch.map(|text| (PATCH, text));
        let sources: Vec<Source> =
            HEADERS.into_iter().chain([self.source]).chain(patched).collect();
        let name = file.split('.').next().unwrap_or(file);
        cache.binary(name, &sources, &parts, |directory, output| {
            if patched.is_some() {
                let mut patch = Command::new("patch");
                compile(patch.current_dir(directory).args(["-s", "-p0", "-F0", "-i", PATCH]))?;
            }
            let mut command = Command::new(compiler);
            command.current_dir(directory).args(options).args(macros).arg(file);
            compile(command.arg("-o").arg(absolute(output)?).args(self.libraries))
        })
    }
}

fn absolute(path: &Path) -> Result<PathBuf, String> {
    std::path::absolute(path).map_err(|e| format!("{}: {e}", path.display()))
}
