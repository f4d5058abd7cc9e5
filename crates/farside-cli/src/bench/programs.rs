//! Real programs that fit into local memory: on far memory at 100 % beside plain runs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::launch::{Output, Place, Program, Scratch};
use super::row::{Goal, Row, median};
use super::stats::Stats;
use super::{Failure, Shared, kernel, skip, warmup};
use crate::progress::Progress;

/// The Python of the distribution, whose packages set-up installs.
pub(crate) const PYTHON: &str = "/usr/bin/python3";

/// Matrix product, transform and sort; prints a digest of the results.
pub(crate) const NUMPY: &str = r#"
import sys, hashlib, numpy as np
n = int(sys.argv[1])
rng = np.random.default_rng(7)
digest = hashlib.sha256()
a = rng.standard_normal((n, n)); b = rng.standard_normal((n, n))
digest.update((a @ b).tobytes())
x = rng.standard_normal(4 * n * n)
digest.update(np.fft.rfft(x).tobytes())
x.sort()
digest.update(x.tobytes())
print(digest.hexdigest())
"#;

/// More than any of the programs touches.
const LARGEST: u64 = 512 << 20;

/// How long the interesting part of a run took, and what it wrote.
type Timed = (Duration, Output);

/// Carries out one run and times it.
type Timer<'a> = Box<dyn Fn(Place<'_>) -> Result<Timed, Failure> + 'a>;

/// One program: its name and how to time one run of it.
struct Real<'a> {
    name: &'static str,
    time: Timer<'a>,
}

/// Appends a row for each program that is installed.
pub(crate) fn rows(
    rows: &mut Vec<Row>,
    shared: &Shared,
    progress: &Progress,
    scratch: &Scratch,
) -> Result<(), Failure> {
    let options = ["--local".to_string(), "100%".to_string()];
    for (name, real) in programs(shared, scratch) {
        let work = format!("{name} at 100 % local, beside a plain run");
        let real = match real {
            Ok(real) => real,
            Err(why) => {
                skip(&work, &why);
                continue;
            }
        };
        let (mut ours, mut plain) = (Vec::new(), Vec::new());
        for round in 0..=shared.repetitions {
            progress.say(format!("{}, round {round} of {}", real.name, shared.repetitions));
            // Who goes first changes from round to round.
            let mut runs = [Place::Far(&options), Place::Plain];
            if round % 2 == 1 {
                runs.reverse();
            }
            let (mut far, mut by_itself) = (None, None);
            for place in runs {
                warmup::before_run(LARGEST, shared, scratch)?;
                let run = (real.time)(place)?;
                match place {
                    Place::Plain => by_itself = Some(run),
                    _ => far = Some(run),
                }
            }
            let (Some((far_time, far_output)), Some((plain_time, plain_output))) = (far, by_itself)
            else {
                continue;
            };
            if far_output != plain_output {
                return Err(Failure::new(format!("{name} gave another output on far memory")));
            }
            // The first round warms up: files are read, the footprint is learnt.
            if round > 0 {
                ours.push(far_time.as_secs_f64() * 1e3);
                plain.push(plain_time.as_secs_f64() * 1e3);
            }
        }
        rows.push(Row {
            work,
            ours: median(&ours),
            partner: Some(median(&plain)),
            unit: "ms",
            goal: Some(Goal::AtMost(1.03)),
        });
    }
    Ok(())
}

type Choice<'a> = (&'static str, Result<Real<'a>, String>);

fn programs<'a>(shared: &'a Shared, scratch: &'a Scratch) -> Vec<Choice<'a>> {
    vec![
        ("sort", sort(shared, scratch)),
        ("python3 numpy", numpy(shared, scratch)),
        ("redis", redis(shared, scratch)),
        ("gcc", gcc(shared, scratch)),
    ]
}

/// A program that is timed from start to end.
fn whole<'a>(
    name: &'static str,
    program: Program,
    shared: &'a Shared,
    scratch: &'a Scratch,
) -> Real<'a> {
    let time = move |place: Place<'_>| {
        let outcome = program.run(place, shared, scratch)?;
        Ok((outcome.wall, outcome.stdout))
    };
    Real { name, time: Box::new(time) }
}

fn sort<'a>(shared: &'a Shared, scratch: &'a Scratch) -> Result<Real<'a>, String> {
    let text = scratch.join("sort.txt");
    write(&text, &words(2_000_000))?;
    let argv = ["sort", "--parallel=2", "--buffer-size=1G"].map(Into::into);
    let program = Program::new(argv.into_iter().chain([text.into_os_string()])).env("LC_ALL", "C");
    Ok(whole("sort", program, shared, scratch))
}

fn numpy<'a>(shared: &'a Shared, scratch: &'a Scratch) -> Result<Real<'a>, String> {
    has_numpy()?;
    let program = Program::new([PYTHON, "-c", NUMPY, "1000"]);
    Ok(whole("python3 numpy", program, shared, scratch))
}

/// Whether the distribution's Python has numpy, and what to install if not.
pub(crate) fn has_numpy() -> Result<(), String> {
    let found = Command::new(PYTHON).args(["-c", "import numpy"]).stderr(Stdio::null()).status();
    match found {
        Ok(status) if status.success() => Ok(()),
        _ => Err("no numpy for /usr/bin/python3; install it: apt-get install python3-numpy".into()),
    }
}

fn gcc<'a>(shared: &'a Shared, scratch: &'a Scratch) -> Result<Real<'a>, String> {
    installed("g++", "g++")?;
    let source = scratch.join("large.cc");
    write(&source, &cpp(400))?;
    let argv = ["g++", "-O1", "-S", "-o", "-"].map(Into::into);
    let program = Program::new(argv.into_iter().chain([source.into_os_string()]));
    Ok(whole("gcc", program, shared, scratch))
}

fn redis<'a>(shared: &'a Shared, scratch: &'a Scratch) -> Result<Real<'a>, String> {
    installed("redis-server", "redis-server")?;
    installed("redis-benchmark", "redis-tools")?;
    let socket = scratch.join("redis.sock");
    let argv = ["redis-server", "--save", "", "--port", "0", "--daemonize", "no"].map(Into::into);
    let tail = ["--unixsocket".into(), socket.clone().into_os_string()];
    let server = Program::new(argv.into_iter().chain(tail));
    let time = move |place: Place<'_>| serve(&server, &socket, place, shared, scratch);
    Ok(Real { name: "redis", time: Box::new(time) })
}

/// Starts the server, times a load on it, and stops it.
fn serve(
    server: &Program,
    socket: &Path,
    place: Place<'_>,
    shared: &Shared,
    scratch: &Scratch,
) -> Result<Timed, Failure> {
    let _ = std::fs::remove_file(socket);
    let (mut command, stats) = server.command(place, shared, scratch)?;
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|e| Failure::io("cannot start redis-server", &e))?;
    let outcome = await_socket(socket).and_then(|()| {
        let begin = Instant::now();
        let load = ["-n", "300000", "-r", "100000", "-d", "512", "-c", "16", "-P", "8", "-q"];
        tool("redis-benchmark", socket, &[&load[..], &["-t", "set,get"]].concat())?;
        Ok(begin.elapsed())
    });
    let stopped = tool("redis-cli", socket, &["shutdown", "nosave"]);
    if outcome.is_err() || stopped.is_err() {
        kernel::kill_process(child.id() as libc::pid_t);
    }
    kernel::wait_for(child.id() as libc::pid_t).map_err(|e| Failure::io("redis-server", &e))?;
    let time = outcome?;
    stats.map(|file| Stats::of_managed_run(&file)).transpose()?;
    Ok((time, Output::default()))
}

/// Waits until somebody answers at `socket`.
pub(crate) fn await_socket(socket: &Path) -> Result<(), Failure> {
    let end = Instant::now() + Duration::from_secs(30);
    while Instant::now() < end {
        if std::os::unix::net::UnixStream::connect(socket).is_ok() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(Failure::new("redis-server did not answer within 30 seconds"))
}

fn tool(name: &str, socket: &Path, args: &[&str]) -> Result<(), Failure> {
    let status = Command::new(name)
        .arg("-s")
        .arg(socket)
        .args(args)
        .stdout(Stdio::null())
        .status()
        .map_err(|e| Failure::io(format!("cannot start {name}"), &e))?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("{name} failed: {status}"))) }
}

/// Whether a program is on the path, and what to install if not.
pub(crate) fn installed(program: &str, package: &str) -> Result<(), String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join(program)).any(|file| file.exists());
    if found {
        Ok(())
    } else {
        Err(format!("{program} is not installed: apt-get install {package}"))
    }
}

fn write(path: &PathBuf, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

/// Lines of hexadecimal numbers in no order.
fn words(lines: usize) -> String {
    let mut text = String::with_capacity(lines * 17);
    let mut state = 88_172_645_463_325_252u64;
    for _ in 0..lines {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let _ = writeln!(text, "{state:016x}");
    }
    text
}

/// A C++ file with many functions over standard containers.
fn cpp(functions: usize) -> String {
    let mut text = String::from("#include <map>\n#include <string>\n#include <vector>\n");
    for i in 0..functions {
        let _ = writeln!(
            text,
            "struct T{i} {{ std::map<int, std::vector<int>> m; std::string s; }};\n\
             int f{i}(T{i} &t, int x) {{ for (int k = 0; k < x; k++) t.m[k % {n}].push_back(k); \
             t.s += std::to_string(x); int r = 0; for (auto &e : t.m) r += e.second.size(); \
             return r + t.s.size(); }}",
            n = i + 2
        );
    }
    text
}
