//! What the paper found, beside what comes out here.

use super::figures::{MOST, all_faults, far_faults};
use super::look::Looked;
use super::programs::Origin;

/// Places below which the paper finds most programs, if their libraries' are counted with their own.
const FEW: usize = 10;

/// A table.
pub fn table(looked: &[Looked]) -> String {
    let mut text = String::from("| | paper | here |\n|---|---|---|\n");
    let mut add = |what: &str, paper: &str, here: String| {
        text += &format!("| {what} | {paper} | {here} |\n");
    };
    let counts = of(looked, |_| true);
    let source = of(looked, |origin| !matches!(origin, Origin::Package(_)));
    let packages = of(looked, |origin| matches!(origin, Origin::Package(_)));
    add("programs", "22", looked.len().to_string());
    add("places for 95 % of the faults, median", "12", median(&counts).to_string());
    add("lines, where the source is known, median", "12", median(&source).to_string());
    add("instructions, packages without sources, median", "-", median(&packages).to_string());
    let in_package = |one: &&Looked| matches!(one.program.origin, Origin::Package(_));
    let functions: Vec<_> = looked
        .iter()
        .filter(in_package)
        .map(|one| one.levels[0].functions().most(all_faults, MOST).len())
        .collect();
    add("functions, of the same packages, median", "-", median(&functions).to_string());
    add("most of all programs", "fewer than 32", most(&counts));
    add("of those whose source is known", "fewer than 32", most(&source));
    let few = source.iter().filter(|count| **count < FEW).count();
    add("fewer than 10 lines of their own", "most", format!("{few} of {}", source.len()));
    let far: Vec<_> = looked.iter().map(|one| one.levels[0].most(far_faults, MOST).len()).collect();
    add("for 95 % of the faults on far pages, median", "-", median(&far).to_string());
    text
}

/// Places for most faults, of programs from such origins, in order.
fn of(looked: &[Looked], is: fn(Origin) -> bool) -> Vec<usize> {
    let mut counts: Vec<_> =
        looked.iter().filter(|one| is(one.program.origin)).map(|one| one.most().len()).collect();
    counts.sort_unstable();
    counts
}

fn median(counts: &[usize]) -> usize {
    let mut counts = counts.to_vec();
    counts.sort_unstable();
    counts.get(counts.len() / 2).copied().unwrap_or(0)
}

fn most(counts: &[usize]) -> String {
    counts.last().map_or_else(|| "-".to_owned(), usize::to_string)
}
