//! What the paper found, beside what comes out here.

use super::figures::percent;
use super::look::Looked;

/// A table.
pub fn table(looked: &[Looked<'_>]) -> String {
    let mut text = String::from("| | paper | here |\n|---|---|---|\n");
    let mut add = |what: &str, paper: &str, here: String| {
        text += &format!("| {what} | {paper} | {here} |\n");
    };
    let of = |name: &str| looked.iter().find(|one| one.program.name == name);
    let pointer = |name: &str| {
        of(name).map_or_else(|| "-".to_owned(), |one| format!("{} %", percent(one.shares.pointer)))
    };
    let linux = |name: &str| {
        let share = of(name).and_then(|one| one.foreseen("linux")?.pointer);
        share.map_or_else(|| "-".to_owned(), |share| format!("{} %", percent(share)))
    };
    add("pointer-based faults of a streamed array", "none", pointer("array"));
    add("of a list", "most", pointer("list"));
    add("of canneal, here anneal", "nearly all", pointer("anneal"));
    add("of xHPCG, here sparse", "about 30 %", pointer("sparse"));
    add("of a breadth-first search", "78 %", pointer("bfs"));
    add("of redis with LRANGE", "in between", pointer("lists"));
    add(
        "of the pointer-based ones of a list, the kernel's read-ahead foresees",
        "about 50 %",
        linux("list"),
    );
    add("of a breadth-first search", "65 %", linux("bfs"));
    add("of redis with LRANGE", "about 8 %", linux("lists"));
    let packages = || looked.iter().filter(|one| !one.program.is_like_paper);
    let shares = packages().map(|one| one.shares.pointer).collect();
    add("pointer-based faults of programs from packages, median", "-", median(shares));
    let undecided = packages().map(|one| one.shares.undecided).collect();
    add("not decided, median", "-", median(undecided));
    let foreseen = |of: fn(&super::look::Foreseen) -> Option<f64>| {
        median(packages().filter_map(|one| of(one.foreseen("linux")?)).collect())
    };
    add("of the pointer-based ones, read-ahead foresees, median", "-", foreseen(|one| one.pointer));
    add("of the others, median", "-", foreseen(|one| one.other));
    text
}

fn median(mut shares: Vec<f64>) -> String {
    shares.sort_by(f64::total_cmp);
    let middle = shares.get(shares.len() / 2);
    middle.map_or_else(|| "-".to_owned(), |share| format!("{} %", percent(*share)))
}
