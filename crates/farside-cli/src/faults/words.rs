//! Sites in words.

use super::pattern::Pattern;
use super::sites::{Site, Spot};
use super::tally::Kind;
use farside_wire::fault_log::Answer;

/// Share of the most frequent stride from which it is worth a word.
const STRIDE_SHARE: f64 = 0.5;

/// Where a site is, and what it called there.
pub fn place(site: &Site) -> String {
    let place = spot(&site.spot);
    let inside: Vec<&str> = site.inside.iter().take(2).map(String::as_str).collect();
    if inside.is_empty() { place } else { format!("{place}, in {}", inside.join(", ")) }
}

/// A place in words.
pub fn spot(spot: &Spot) -> String {
    match spot {
        Spot::Line { function, file, line } => format!("{}:{line} {function}", short(file)),
        Spot::Instruction { function, image, address } => {
            format!("{image}+{address:#x} {function}")
        }
        Spot::Generated => "unknown: code that is in no file".to_owned(),
        Spot::Unseen => "unknown: nobody saw the instruction".to_owned(),
    }
}

/// The last two parts of a path.
fn short(path: &str) -> &str {
    let parts = path.rmatch_indices('/').nth(1);
    parts.map_or(path, |(index, _)| &path[index + 1..])
}

/// The text of the line of a site, if its source is where it was when it was compiled.
pub fn source_line(site: &Site) -> Option<String> {
    let Spot::Line { file, line, .. } = &site.spot else { return None };
    let text = std::fs::read(file).ok()?;
    let line = text.split(|byte| *byte == b'\n').nth(*line as usize - 1)?;
    Some(String::from_utf8_lossy(line).into_owned())
}

/// The distance from one fault to the next, if most are alike.
pub fn stride(pattern: &Pattern) -> String {
    match pattern.stride() {
        Some((pages, share)) if share >= STRIDE_SHARE => {
            format!("{pages:+} ({:.0} %)", share * 100.0)
        }
        _ => String::new(),
    }
}

/// Faults of a site that read, that wrote, that wrote what was mapped for reading, and those on pages that were new.
pub fn by_access(site: &Site) -> [u64; 4] {
    let is = |kind: Kind, write| {
        kind.write == write && !matches!(kind.answer, Answer::Protection | Answer::FirstTouch)
    };
    [
        site.count(|kind| is(kind, false)),
        site.count(|kind| is(kind, true)),
        site.count(|kind| kind.answer == Answer::Protection),
        site.count(|kind| kind.answer == Answer::FirstTouch),
    ]
}
