//! Stacks as lines of text.

use std::collections::BTreeMap;

use super::FaultStacks;

/// Marks the end of the last function of a line, which tells how memory was touched.
fn access(place: &str, kind: &str) -> String {
    format!("{place} [{kind}]")
}

/// A name as it may stand in a line.
fn plain(name: &str) -> String {
    let mut plain = name.replace(';', ":");
    plain.retain(|letter| !letter.is_control());
    if plain.is_empty() { "?".to_owned() } else { plain }
}

/// The lines, sorted, each with another stack.
pub fn lines(all: &FaultStacks) -> Vec<String> {
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for stack in &all.stacks {
        let mut line: Vec<String> =
            stack.functions.iter().map(|function| plain(&function.name)).collect();
        line.push(plain(&access(&stack.place(), stack.kind.name())));
        *lines.entry(line.join(";")).or_default() += stack.count;
    }
    lines.into_iter().map(|(line, count)| format!("{line} {count}")).collect()
}
