//! The programs of the study: where they come from, and how each is called.

use std::process::Command;

use super::super::input::{Invocation, Load, Place, done};
use super::super::path;
use crate::bench::{self, PYTHON};

/// Where a program comes from.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A package of Debian, as it comes: without debugging information.
    Package(&'static str),
    /// A numerical kernel of the study of PATH.
    Kernel,
    /// One of this project's examples, without its hints.
    Example,
}

/// A program of the study.
#[derive(Debug)]
pub struct Program {
    pub name: &'static str,
    pub origin: Origin,
    /// What it does here.
    pub work: &'static str,
    /// Makes its input, and says how it is called. The error is a line for the user.
    pub call: fn(&Place) -> Result<Invocation, String>,
}

type Call = fn(&Place) -> Result<Invocation, String>;

const fn package(
    name: &'static str,
    package: &'static str,
    work: &'static str,
    call: Call,
) -> Program {
    Program { name, origin: Origin::Package(package), work, call }
}

const fn kernel_of(name: &'static str, work: &'static str, call: Call) -> Program {
    Program { name, origin: Origin::Kernel, work, call }
}

const fn example(name: &'static str, work: &'static str, call: Call) -> Program {
    Program { name, origin: Origin::Example, work, call }
}

/// All programs.
pub const PROGRAMS: &[Program] = &[
    package("xz", "xz-utils", "compresses text", |place| {
        Ok(Invocation::new(["xz", "-6", "-T1", "-c"]).arg(place.prose()?))
    }),
    package("zstd", "zstd", "compresses text", |place| {
        let argv = ["zstd", "-q", "-15", "--long=25", "--single-thread", "-c"];
        Ok(Invocation::new(argv).arg(place.prose()?))
    }),
    package("sort", "coreutils", "sorts lines", |place| {
        let argv = ["sort", "--parallel=1", "-S", "1G"];
        Ok(Invocation::new(argv).env("LC_ALL", "C").arg(place.lines()?))
    }),
    package("mawk", "mawk", "counts pairs of words", |place| {
        Ok(Invocation::new(["mawk", "-f"]).arg(place.script("words.awk")).arg(place.prose()?))
    }),
    package("jq", "jq", "groups documents", |place| {
        let call = Invocation::new(["jq", "-n", "-c", "-f"]).arg(place.script("documents.jq"));
        Ok(call.arg(place.documents()?))
    }),
    package("perl", "perl", "groups records in nested hashes", |place| {
        let count = place.size(150_000, 10_000);
        Ok(Invocation::new(["perl"]).arg(place.script("hashes.pl")).arg(count))
    }),
    package("python", "python3", "searches a graph of objects", |place| {
        let count = place.size(100_000, 5_000);
        Ok(Invocation::new([PYTHON]).arg(place.script("graph.py")).arg(count))
    }),
    package("numpy", "python3-numpy", "multiplies, sorts and transforms arrays", |place| {
        let count = place.size(1200, 300);
        Ok(Invocation::new([PYTHON]).arg(place.script("arrays.py")).arg(count))
    }),
    package("sqlite", "sqlite3", "joins, groups, changes tables in memory", |place| {
        Ok(Invocation::new(["sqlite3", ":memory:"]).stdin(place.script("trips.sql")))
    }),
    package("cc1plus", "g++", "compiles a program with templates", cc1plus),
    package("git", "git", "packs a history", |place| {
        let argv = ["git", "-c", "pack.threads=1", "-C"];
        let call = Invocation::new(argv).arg(place.repository()?);
        let pack = ["pack-objects", "--all", "--stdout", "-q", "--window=100", "--no-reuse-delta"];
        Ok(pack.into_iter().fold(call, Invocation::arg))
    }),
    package("node", "nodejs", "fills and searches a tree of objects", |place| {
        let count = place.size(200_000, 20_000);
        Ok(Invocation::new(["node"]).arg(place.script("tree.js")).arg(count))
    }),
    package("java", "default-jdk-headless", "groups records in maps", java),
    package("redis", "redis-server", "sets and gets 100,000 keys", |place| {
        let argv = ["redis-server", "--save", "", "--port", "0", "--unixsocket"];
        Ok(Invocation::new(argv).arg(place.socket()).load(Load::Redis))
    }),
    package("memcached", "memcached", "sets and gets 100,000 keys", |place| {
        let argv = ["memcached", "-u", "root", "-t", "2", "-m", "1024", "-s"];
        Ok(Invocation::new(argv).arg(place.socket()).load(Load::Memcached))
    }),
    kernel_of("fft", "transform (Splash-2)", |place| kernel("fft", place)),
    kernel_of("lu", "contiguous LU (Splash-2)", |place| kernel("lu_contiguous", place)),
    kernel_of("ocean", "grids (Splash-2)", |place| kernel("ocean", place)),
    kernel_of("radix", "radix sort (Splash-2)", |place| kernel("radix", place)),
    kernel_of("cg", "conjugate gradients (NAS)", |place| kernel("cg", place)),
    kernel_of("mg", "multigrid (NAS)", |place| kernel("mg", place)),
    kernel_of("bt", "block-tridiagonal solver (NAS)", |place| kernel("bt", place)),
    kernel_of("cube", "iceberg cubes (Illimine)", |place| kernel("cube", place)),
    example("parallel sort", "sorts numbers", |place| unhinted("sort.cc", place)),
    example("analytics", "filters, groups, joins columns", |place| unhinted("analytics.cc", place)),
    example("web service", "looks up, compresses, encrypts", |place| {
        unhinted("webservice.cc", place)
    }),
    example("key-value", "answers GETs", |place| unhinted("kvserver.cc", place)),
];

/// The compiler proper; what it reads was preprocessed before.
fn cc1plus(place: &Place) -> Result<Invocation, String> {
    let proper = done(Command::new("g++").arg("-print-prog-name=cc1plus"))?;
    let source = place.work("analytics.ii");
    let mut preprocess = Command::new("g++");
    preprocess.args(["-std=c++20", "-O2", "-E", "-I"]).arg(place.headers());
    done(preprocess.arg(place.example("analytics.cc")).arg("-o").arg(&source))?;
    let options = ["-quiet", "-fpreprocessed", "-std=c++20", "-O2", "-o", "/dev/null"];
    let call = Invocation::new([String::from_utf8_lossy(&proper).trim_end()]);
    Ok(options.into_iter().fold(call, Invocation::arg).arg(source))
}

fn java(place: &Place) -> Result<Invocation, String> {
    done(Command::new("javac").arg("-d").arg(place.work("")).arg(place.script("Orders.java")))?;
    let call = Invocation::new(["java", "-XX:+UseSerialGC", "-Xmx160m", "-cp"]);
    Ok(call.arg(place.work("")).arg("Orders").arg(place.size(400_000, 20_000)))
}

/// One of the numerical kernels, built.
///
/// # Errors
/// If it cannot be built: a line for the user.
pub fn kernel(name: &str, place: &Place) -> Result<Invocation, String> {
    let argv = path::kernel(name, &place.kernels(), &place.work(""), place.is_small());
    argv.map(Invocation::new).map_err(|error| error.to_string())
}

fn unhinted(source: &str, place: &Place) -> Result<Invocation, String> {
    bench::example_without_hints(source, &place.work("")).map(Invocation::new)
}
