//! The programs of the study: those of packages that Eden's study has, and programs like the paper's.

use std::process::Command;

use super::super::eden::programs::{self as eden, Origin, PROGRAMS};
use super::super::input::{Invocation, Load, Place, done};

/// Local memory in percent of the footprint, if nothing else is said.
const LOCAL: u64 = 25;

/// A program of the study.
#[derive(Debug)]
pub struct Program {
    pub name: &'static str,
    /// What it does here, and where it comes from.
    pub work: String,
    /// Whether it stands for one of the paper's.
    pub is_like_paper: bool,
    /// Local memory in percent of its footprint: of the paper's as there.
    pub local: u64,
    /// Makes its input, and says how it is called. The error is a line for the user.
    pub call: fn(&Place) -> Result<Invocation, String>,
}

/// All programs.
pub fn all() -> Vec<Program> {
    let like = |name, work: &str, local, call| Program {
        name,
        work: work.to_owned(),
        is_like_paper: true,
        local,
        call,
    };
    let mut all = vec![
        like("array", "streams through an array twice", 50, |place| {
            built("array", place, &[place.size(64, 4)])
        }),
        like("list", "walks a list, half of the time in order", 50, |place| {
            built("list", place, &[place.size(64, 4)])
        }),
        like("anneal", "swaps elements by two lists of pointers, as canneal", 50, |place| {
            built("anneal", place, &[place.size(200_000, 12_000)])
        }),
        like("sparse", "conjugate gradients (NAS), as xHPCG", 50, |place| {
            eden::kernel("cg", place)
        }),
        like("bfs", "breadth-first search of a graph in rows, as GapBS", LOCAL, |place| {
            built("bfs", place, &[place.size(400_000, 20_000)])
        }),
        like("lists", "LRANGE of lists, redis-server", LOCAL, |place| {
            let argv = ["redis-server", "--save", "", "--port", "0", "--unixsocket"];
            Ok(Invocation::new(argv).arg(place.socket()).load(Load::RedisLists))
        }),
    ];
    all.extend(PROGRAMS.iter().filter_map(|program| match program.origin {
        Origin::Package(package) => Some(Program {
            name: program.name,
            work: format!("{}, {package}", program.work),
            is_like_paper: false,
            local: LOCAL,
            call: program.call,
        }),
        _ => None,
    }));
    all
}

/// Builds one of this study's own programs; how it is called.
fn built(name: &str, place: &Place, arguments: &[String]) -> Result<Invocation, String> {
    let program = place.work(name);
    let source = place.program("cheri-picking", name).with_extension("c");
    let mut compile = Command::new("cc");
    compile.args(["-std=c11", "-O2", "-g", "-Wall", "-Wextra", "-o"]);
    done(compile.arg(&program).arg(source))?;
    Ok(arguments.iter().fold(Invocation::new([program]), Invocation::arg))
}
