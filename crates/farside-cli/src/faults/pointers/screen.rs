//! What was found of pointers, in words.

use comfy_table::Table;

use super::{Class, Counts, Pointers};
use crate::faults::screen::{aligned, percent};
use crate::run::grouped;

/// What most faults of a site are, and which share is pointer-based.
pub fn column(counts: Counts) -> String {
    let (Some(most), Some(share)) = (counts.most(), counts.share()) else { return String::new() };
    let word = match most {
        Class::Pointer => "yes",
        Class::Other => "no",
        Class::Undecided => "?",
    };
    format!("{word} ({:.0} %)", share * 100.0)
}

/// Shares of all demand faults, line by line.
pub fn lines(pointers: &Pointers) -> Vec<String> {
    let Counts { pointer, other, undecided, indexed, named, agreed, contradicted } = pointers.all;
    let all = pointers.all.all();
    if all == 0.0 {
        return vec!["no demand faults, so that none is pointer-based".to_owned()];
    }
    let of = |count: f64, all: f64| percent(count / all.max(1.0));
    let mut lines = vec![
        format!(
            "of {} demand faults {} are pointer-based, {} are not, {} could not be decided",
            grouped(all as u64),
            of(pointer, all),
            of(other, all),
            of(undecided, all)
        ),
        format!(
            "checked by registers: {} agree with the code, {} contradict it and count as undecided",
            of(agreed, all),
            of(contradicted, all)
        ),
    ];
    if indexed > 0.0 {
        lines.push(format!("an index that had been loaded chose the page of {}", of(indexed, all)));
    }
    if pointer > 0.0 {
        lines.push(format!(
            "a loaded pointer named the page of {} of the pointer-based ones: no prefetcher of pointers can foresee more",
            of(named, pointer)
        ));
    }
    lines
}

/// The lines, and what prefetchers would have foreseen.
pub fn summary(pointers: &Pointers) -> String {
    let mut text: String = lines(pointers).iter().map(|line| format!("  {line}\n")).collect();
    let [.., replayed] = pointers.replayed;
    if replayed > 0 {
        let first = match replayed < pointers.all.all() as u64 {
            true => format!(" of the first {}", grouped(replayed)),
            false => String::new(),
        };
        text += &format!("would have been foreseen{first}\n{}\n", table(pointers));
        text += "  a prefetcher that follows pointers reads memory: what it foresees cannot be told from faults alone\n";
    }
    text
}

/// Names and shares of what prefetchers would have foreseen.
pub fn rows(pointers: &Pointers) -> impl Iterator<Item = Vec<String>> {
    pointers.coverage.iter().map(|one| {
        let shares = one.foreseen.iter().zip(pointers.replayed).map(|(count, all)| match all {
            0 => "-".to_owned(),
            _ => percent(*count as f64 / all as f64),
        });
        let mut row: Vec<String> = shares.collect();
        row.push(one.prefetcher.to_owned());
        row
    })
}

fn table(pointers: &Pointers) -> Table {
    aligned(&["pointer-based", "other", "all", "by"], rows(pointers))
}
