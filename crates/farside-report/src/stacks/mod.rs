//! Where in a program something happened, and how often: flame graphs, and files that other programs read.

mod folded;
mod pprof;
mod speedscope;
mod svg;

use std::io;

use crate::chart::ChartError;

/// A function in a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The executable file or library that it is in.
    pub image: String,
    /// The source file, if known.
    pub file: Option<String>,
    /// The line of the call, or of the access.
    pub line: Option<u32>,
}

/// How memory was accessed.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessKind {
    /// Read.
    Read,
    /// Written.
    Write,
    /// Written though it had been mapped for reading.
    Protection,
}

impl AccessKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Protection];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Protection => "protection",
        }
    }
}

/// Faults with the same stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// The function that the thread began with first; the one that touched the memory last.
    pub functions: Vec<Function>,
    /// How it was touched.
    pub kind: AccessKind,
    /// How often.
    pub count: u64,
}

/// Stacks of a program's faults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultStacks {
    /// What they are of.
    pub title: String,
    /// The stacks.
    pub stacks: Vec<Stack>,
}

impl FaultStacks {
    /// Lines of functions that are separated by semicolons, and a count, as flame graph programs read them. The last
    /// one of a line is where memory was touched, and how.
    pub fn to_folded(&self) -> String {
        folded::lines(self).join("\n") + if self.stacks.is_empty() { "" } else { "\n" }
    }

    /// An interactive flame graph: reads are blue, writes red, protection faults yellow.
    ///
    /// # Errors
    /// If there is nothing to draw.
    pub fn to_svg(&self) -> Result<String, ChartError> {
        svg::draw(self)
    }

    /// A profile for speedscope: all faults, and each kind by itself.
    pub fn to_speedscope(&self) -> String {
        speedscope::profile(self).to_string()
    }

    /// A compressed profile for pprof.
    ///
    /// # Errors
    /// If it cannot be compressed.
    pub fn to_pprof(&self) -> io::Result<Vec<u8>> {
        pprof::profile(self)
    }
}

impl Stack {
    /// Where the memory was touched.
    fn place(&self) -> String {
        let Some(last) = self.functions.last() else { return "unknown".to_owned() };
        match (&last.file, last.line) {
            (Some(file), Some(line)) => {
                let name = file.rsplit('/').next().unwrap_or(file);
                format!("{name}:{line}")
            }
            _ => last.image.clone(),
        }
    }
}
