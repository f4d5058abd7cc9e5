//! The four programs, and what they are given.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::build::Recipe;
use crate::bench::cache::Cache;
use crate::bench::launch::Program;

/// How large the programs' data are.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scale {
    /// Some 500 MB each
    Full,
    /// Some 50 MB each, to try the benchmark out
    Small,
}

/// One of the programs.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Sort,
    Analytics,
    Web,
    Server,
}

/// How a program is built.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Hints {
    /// As it stands.
    Given,
    /// As if there were no hints.
    Off,
    /// Without eviction priorities.
    Unranked,
    /// Those that `farside faults` suggests, in the lines that it names.
    Suggested,
}

/// A program that is built.
pub(super) struct Built {
    path: PathBuf,
    arguments: &'static [&'static str],
}

impl Name {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Sort, Self::Analytics, Self::Web, Self::Server];

    /// The name in the table.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Sort => "parallel sort",
            Self::Analytics => "column analytics",
            Self::Web => "web front end",
            Self::Server => "key-value server",
        }
    }

    /// Hints that Eden's authors gave the program of the kind (table 1).
    pub const fn hints_of_eden(self) -> f64 {
        match self {
            Self::Sort => 6.0,
            Self::Analytics => 11.0,
            Self::Web => 4.0,
            Self::Server => 2.0,
        }
    }

    /// Local memory in percent at which it is measured.
    pub const fn local(self) -> u64 {
        match self {
            Self::Sort | Self::Server => 10,
            Self::Analytics => 22,
            Self::Web => 40,
        }
    }

    const fn recipe(self) -> Recipe {
        match self {
            Self::Sort => Recipe {
                source: ("sort.cc", include_str!("../../../../../examples/sort.cc")),
                needs: &[],
                libraries: &[],
                suggested: include_str!("sources/suggested/sort.patch"),
            },
            Self::Analytics => Recipe {
                source: ("analytics.cc", include_str!("../../../../../examples/analytics.cc")),
                needs: &[],
                libraries: &[],
                suggested: include_str!("sources/suggested/analytics.patch"),
            },
            Self::Web => Recipe {
                source: ("webservice.cc", include_str!("../../../../../examples/webservice.cc")),
                needs: &[
                    ("/usr/include/snappy.h", "libsnappy-dev"),
                    ("/usr/include/openssl/evp.h", "libssl-dev"),
                ],
                libraries: &["-lsnappy", "-lcrypto"],
                suggested: include_str!("sources/suggested/webservice.patch"),
            },
            Self::Server => Recipe {
                source: ("kvserver.cc", include_str!("../../../../../examples/kvserver.cc")),
                needs: &[("/usr/include/boost/fiber/all.hpp", "libboost-fiber-dev")],
                libraries: &["-lboost_fiber", "-lboost_context"],
                suggested: include_str!("sources/suggested/kvserver.patch"),
            },
        }
    }

    const fn arguments(self, scale: Scale) -> &'static [&'static str] {
        match (self, scale) {
            (Self::Sort, Scale::Full) => &["--numbers", "67108864"],
            (Self::Sort, Scale::Small) => &["--numbers", "6291456"],
            (Self::Analytics, Scale::Full) => &["--trips", "5000000"],
            (Self::Analytics, Scale::Small) => &["--trips", "500000"],
            (Self::Web, Scale::Full) => &["--megabytes", "500", "--requests", "120000"],
            (Self::Web, Scale::Small) => &["--megabytes", "50", "--requests", "12000"],
            (Self::Server, Scale::Full) => &["--items", "800000", "--requests", "500000"],
            (Self::Server, Scale::Small) => &["--items", "80000", "--requests", "50000"],
        }
    }

    /// Builds it.
    pub fn build(self, cache: &Cache, scale: Scale, hints: Hints) -> Result<Built, String> {
        let macros: &[&str] = match hints {
            Hints::Given => &[],
            Hints::Off => &["-DFARSIDE_OFF"],
            Hints::Unranked => &["-DOBJECTS=0"],
            Hints::Suggested => {
                let path = self.recipe().build_suggested(cache)?;
                return Ok(Built { path, arguments: self.arguments(scale) });
            }
        };
        let path = self.recipe().build(cache, macros)?;
        Ok(Built { path, arguments: self.arguments(scale) })
    }
}

/// Builds the example of that file as if there were no hints, and keeps it in `directory`; the command that runs it on
/// some 50 MB.
pub(crate) fn example_without_hints(file: &str, directory: &Path) -> Result<Vec<String>, String> {
    let is = |name: &Name| name.recipe().source.0 == file;
    let name = Name::ALL.into_iter().find(is).ok_or_else(|| format!("no example {file}"))?;
    let cache = Cache::at(Some(directory)).map_err(|e| e.to_string())?;
    Ok(name.build(&cache, Scale::Small, Hints::Off)?.argv(&[]))
}

impl Built {
    /// The command line, with more arguments.
    pub fn argv(&self, more: &[&str]) -> Vec<String> {
        let arguments = self.arguments.iter().chain(more).map(|text| (*text).to_owned());
        std::iter::once(self.path.to_string_lossy().into_owned()).chain(arguments).collect()
    }

    /// What runs it.
    pub fn program(&self, more: &[&str]) -> Program {
        Program::new(self.argv(more)).keep_stderr()
    }
}
