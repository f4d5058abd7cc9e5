//! The seven programs of 3PO's evaluation (Table 2), and what they are given.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use clap::ValueEnum;

use super::build::binary;
use crate::bench::cache::Cache;
use crate::bench::launch::Program;
use crate::bench::programs::{PYTHON, has_numpy};

/// How large the programs' data are.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scale {
    /// As much memory as in the paper, 0.4 to 4.3 GB; sparse_mul half of it
    Full,
    /// 18 to 100 MB, to try the benchmark out
    Small,
}

/// A program by the paper's name.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Name {
    DotProd,
    Mvmul,
    Matmul,
    #[value(name = "matmul_2")]
    Matmul2,
    SparseMul,
    NpMatmul,
    NpFft,
}

/// What a program is given, and how many bytes it has resident then, measured.
#[derive(Copy, Clone)]
struct Input {
    arguments: &'static [&'static str],
    bytes: u64,
}

/// The source of a program, and the language it is written in.
enum Source {
    Cpp(&'static str),
    Python(&'static str),
}

/// A program that can be run.
#[derive(Clone)]
pub(crate) struct Ready {
    /// What it is called.
    pub name: Name,
    /// Bytes that it has resident.
    pub bytes: u64,
    /// The command without what follows from the scale.
    command: Vec<OsString>,
    arguments: &'static [&'static str],
}

const MB: u64 = 1_000_000;

impl Name {
    /// The name in the table.
    pub const fn text(self) -> &'static str {
        match self {
            Self::DotProd => "dot_prod",
            Self::Mvmul => "mvmul",
            Self::Matmul => "matmul",
            Self::Matmul2 => "matmul_2",
            Self::SparseMul => "sparse_mul",
            Self::NpMatmul => "np_matmul",
            Self::NpFft => "np_fft",
        }
    }

    const fn source(self) -> Source {
        match self {
            Self::DotProd => Source::Cpp(include_str!("sources/dot_prod.cc")),
            Self::Mvmul => Source::Cpp(include_str!("sources/mvmul.cc")),
            Self::Matmul | Self::Matmul2 => Source::Cpp(include_str!("sources/matmul.cc")),
            Self::SparseMul => Source::Cpp(include_str!("sources/sparse_mul.cc")),
            Self::NpMatmul => Source::Python(include_str!("sources/np_matmul.py")),
            Self::NpFft => Source::Python(include_str!("sources/np_fft.py")),
        }
    }

    const fn input(self, scale: Scale) -> Input {
        let (arguments, megabytes): (&[&str], u64) = match (self, scale) {
            (Self::DotProd, Scale::Full) => (&["125000000"], 2000),
            (Self::DotProd, Scale::Small) => (&["5000000"], 84),
            (Self::Mvmul, Scale::Full) => (&["16200"], 2100),
            (Self::Mvmul, Scale::Small) => (&["3200"], 86),
            (Self::Matmul, Scale::Full) => (&["4200", "1"], 430),
            (Self::Matmul, Scale::Small) => (&["1600", "1"], 68),
            (Self::Matmul2, Scale::Full) => (&["4200", "2"], 440),
            (Self::Matmul2, Scale::Small) => (&["1600", "2"], 70),
            (Self::SparseMul, Scale::Full) => (&["4000"], 620),
            (Self::SparseMul, Scale::Small) => (&["600"], 18),
            (Self::NpMatmul, Scale::Full) => (&["4100"], 430),
            (Self::NpMatmul, Scale::Small) => (&["1500"], 91),
            (Self::NpFft, Scale::Full) => (&["67108864"], 4330),
            (Self::NpFft, Scale::Small) => (&["1048576"], 98),
        };
        Input { arguments, bytes: megabytes * MB }
    }
}

/// Builds a program and sees whether it can run here; if not, why, and what to install.
pub(super) fn prepare(name: Name, scale: Scale, cache: &Cache) -> Result<Ready, String> {
    let command = match name.source() {
        Source::Cpp(source) => vec![binary(cache, name.text(), source)?.into_os_string()],
        Source::Python(source) => {
            has_numpy()?;
            if name == Name::NpMatmul {
                has_openblas()?;
            }
            vec![PYTHON.into(), cache.script(name.text(), ".py", source)?.into_os_string()]
        }
    };
    let Input { arguments, bytes } = name.input(scale);
    // Twice: a run needs more than its program has resident, and memory is warmed up before.
    if let Some(free) = farside_os::memory::available_bytes().filter(|free| *free < 2 * bytes) {
        let (wanted, free) = (2 * bytes / MB, free / MB);
        return Err(format!("needs {wanted} MB of free memory, of which there are {free}"));
    }
    Ok(Ready { name, bytes, command, arguments })
}

impl Ready {
    /// The command line.
    pub fn argv(&self) -> Vec<OsString> {
        self.with(self.arguments)
    }

    /// The command line with other arguments.
    pub fn with<S: AsRef<str>>(&self, arguments: &[S]) -> Vec<OsString> {
        let mut argv = self.command.clone();
        argv.extend(arguments.iter().map(|argument| argument.as_ref().into()));
        argv
    }

    /// The number that says how much is computed.
    pub fn order(&self) -> f64 {
        self.arguments.first().and_then(|order| order.parse().ok()).unwrap_or(1.0)
    }

    /// A command that runs it, and `before` it.
    pub fn program(&self, before: Vec<OsString>) -> Program {
        // One thread, as in the paper, whatever the machine.
        Program::new(before.into_iter().chain(self.argv())).env("OPENBLAS_NUM_THREADS", "1")
    }
}

/// Whether numpy multiplies with OpenBLAS. The reference library, which it has otherwise, takes
/// twenty times as long.
fn has_openblas() -> Result<(), String> {
    let script = "import numpy, sys; sys.exit('openblas' not in open('/proc/self/maps').read())";
    let found = Command::new(PYTHON).args(["-c", script]).stderr(Stdio::null()).status();
    match found {
        Ok(status) if status.success() => Ok(()),
        _ => Err("numpy has no OpenBLAS; install it: apt-get install libopenblas0-pthread".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_the_table_are_those_of_the_command_line() {
        for name in Name::value_variants() {
            let value = name.to_possible_value().expect("none is hidden");
            assert_eq!(value.get_name(), name.text());
        }
    }

    #[test]
    fn full_is_at_least_what_the_paper_had_at_least() {
        for name in Name::value_variants() {
            let (full, small) = (name.input(Scale::Full), name.input(Scale::Small));
            assert!(full.bytes >= 400 * MB, "{}", name.text());
            assert!(small.bytes <= 100 * MB, "{}", name.text());
            assert_eq!(full.arguments.len(), small.arguments.len());
        }
    }
}
