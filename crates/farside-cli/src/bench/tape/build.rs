//! How the programs in C++ are built.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::cache::{Cache, compile};
use crate::bench::programs::installed;

/// Where the package libeigen3-dev puts its headers.
const EIGEN: &str = "/usr/include/eigen3";

/// What all programs in C++ include.
const DIGEST: &str = include_str!("sources/digest.h");

/// Options of the compiler. Eigen shares no work out among threads by itself.
const OPTIONS: [&str; 5] =
    ["-std=c++14", "-O3", "-DNDEBUG", "-DEIGEN_DONT_PARALLELIZE", "-fopenmp"];

/// Builds a C++ program, if that was not done before.
pub(super) fn binary(cache: &Cache, name: &str, source: &'static str) -> Result<PathBuf, String> {
    installed("g++", "g++")?;
    if !Path::new(EIGEN).join("Eigen/Core").exists() {
        return Err(format!("no Eigen in {EIGEN}; install it: apt-get install libeigen3-dev"));
    }
    let sources = [("main.cc", source), ("digest.h", DIGEST)];
    cache.binary(name, &sources, &[&OPTIONS.join(" "), instructions()], gcc)
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

fn gcc(directory: &Path, output: &Path) -> Result<(), String> {
    let mut march = OsString::from("-march=");
    march.push(instructions());
    let mut include = OsString::from("-I");
    include.push(EIGEN);
    let mut command = Command::new("g++");
    command.args(OPTIONS).arg(march).arg(include).arg("-o").arg(output);
    compile(command.arg(directory.join("main.cc")))
}
