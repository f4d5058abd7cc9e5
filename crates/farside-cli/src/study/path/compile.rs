//! Building the programs.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use super::programs::{Language, Program};
use crate::Failure;

/// Options of the C compiler: the same instructions whatever the machine, and their lines.
const C: [&str; 6] = ["-std=c11", "-O2", "-g", "-Wall", "-Wextra", "-ffp-contract=off"];

/// Options of the Java virtual machine: a heap of fixed size, and one thread that collects.
const JAVA: [&str; 3] = ["-XX:+UseSerialGC", "-Xms40m", "-Xmx40m"];

/// Builds `program` in `work`; the command that runs it, without its input.
///
/// # Errors
/// If there is no compiler, or it refuses the source.
pub fn compile(program: &Program, sources: &Path, work: &Path) -> Result<Vec<OsString>, Failure> {
    let file = sources.join("programs").join(program.name);
    match program.language {
        Language::C => {
            let binary = work.join(program.name);
            let mut cc = Command::new("cc");
            cc.args(C).arg("-o").arg(&binary).arg(file.with_extension("c")).arg("-lm");
            run(cc, "gcc")?;
            Ok(vec![binary.into()])
        }
        Language::Java => {
            let mut javac = Command::new("javac");
            javac.arg("-d").arg(work).arg(file.with_extension("java"));
            run(javac, "default-jdk-headless")?;
            let mut command = vec![OsString::from("java")];
            command.extend(JAVA.map(OsString::from));
            command.extend(["-cp".into(), work.into(), program.name.into()]);
            Ok(command)
        }
    }
}

fn run(mut command: Command, package: &str) -> Result<(), Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| {
        Failure::usage(format!("cannot run {name}: {error}; to repair: apt-get install {package}"))
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().next().unwrap_or("it says nothing");
    Err(Failure::usage(format!("{name} refuses a program of the study: {first}")))
}
