//! The compilers, and how the programs are built.
//!
//! Programs are compiled anew each time: the compiler is what is measured.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::works::SOURCES;
use crate::bench::Failure;
use crate::bench::cache::{Source, compile};
use crate::bench::launch::Scratch;
use crate::compiler;

/// Headers that programs with hints or sections by hand include.
const HEADERS: [Source; 2] = [
    ("include/farside.h", include_str!("../../../../../include/farside.h")),
    ("include/farside/section.h", include_str!("../../../../../include/farside/section.h")),
];

/// Options of both compilers.
const OPTIONS: [&str; 5] = ["-std=gnu11", "-O2", "-g", "-Wall", "-Iinclude"];

/// Where clang 22 is if it is not on the path.
const CLANG: [&str; 2] = ["clang-22", "/usr/lib/llvm-22/bin/clang"];

/// Both compilers, and a directory with all sources.
pub(crate) struct Compilers {
    farside_cc: PathBuf,
    clang: PathBuf,
    directory: PathBuf,
}

/// A program that was built.
pub(crate) struct Built {
    pub path: PathBuf,
    /// How long that took.
    pub took: Duration,
}

impl Compilers {
    /// The compiler that was named, or the one that goes with `farside`; the error says what to do.
    pub fn find(named: Option<&Path>, farside: &Path, scratch: &Scratch) -> Result<Self, String> {
        let farside_cc = compiler::find(named, farside)?;
        let clang = CLANG.into_iter().find_map(compiler::on_path);
        let clang = clang.ok_or("clang-22 is not installed: apt-get install clang-22")?;
        let directory = scratch.join("sources");
        lay_out(&directory).map_err(|e| format!("cannot write {}: {e}", directory.display()))?;
        Ok(Self { farside_cc, clang, directory })
    }

    /// The compiler for far memory.
    pub fn farside_cc(&self) -> &Path {
        &self.farside_cc
    }

    /// Where sources and programs are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What all programs are compiled with.
    pub fn options(&self) -> &'static [&'static str] {
        &OPTIONS
    }

    /// Builds a program with clang alone.
    pub fn plain(&self, source: &str) -> Result<Built, Failure> {
        self.build(&self.clang, source, "plain", &[])
    }

    /// Builds a program with clang and the hints that it has for those who ask for them.
    pub fn by_hand(&self, source: &str) -> Result<Built, Failure> {
        self.build(&self.clang, source, "by-hand", &["-DBY_HAND".to_owned()])
    }

    /// Builds a program with these sections.
    pub fn sections(&self, source: &str, name: &str, sections: &str) -> Result<Built, Failure> {
        let options = self.section_options(name, sections)?;
        self.build(&self.farside_cc, source, name, &options)
    }

    /// Builds a program that measures itself, with these sections, or without any.
    pub fn profiled(
        &self,
        source: &str,
        name: &str,
        sections: Option<&str>,
    ) -> Result<Built, Failure> {
        let mut options = vec!["-ffarside-profile".to_owned()];
        if let Some(sections) = sections {
            options.extend(self.section_options(name, sections)?);
        }
        self.build(&self.farside_cc, source, name, &options)
    }

    /// Writes a section file, and says how the compiler is given it.
    fn section_options(&self, name: &str, sections: &str) -> Result<[String; 1], Failure> {
        let file = format!("{name}.toml");
        fs::write(self.directory.join(&file), sections)
            .map_err(|e| Failure::io(format!("cannot write the section file {file}"), &e))?;
        Ok([format!("-fsections={file}")])
    }

    fn build(
        &self,
        compiler: &Path,
        source: &str,
        name: &str,
        more: &[String],
    ) -> Result<Built, Failure> {
        let stem = source.split('.').next().unwrap_or(source);
        let path = self.directory.join(format!("{stem}-{name}"));
        let mut command = Command::new(compiler);
        command.current_dir(&self.directory).args(OPTIONS).args(more).arg(source);
        command.arg("-o").arg(&path).arg("-lm");
        let begin = Instant::now();
        compile(&mut command).map_err(|why| Failure::new(format!("{source}: {why}")))?;
        Ok(Built { path, took: begin.elapsed() })
    }
}

fn lay_out(directory: &Path) -> std::io::Result<()> {
    fs::create_dir_all(directory.join("include/farside"))?;
    HEADERS
        .iter()
        .chain(&SOURCES)
        .try_for_each(|(name, text)| fs::write(directory.join(name), text))
}
