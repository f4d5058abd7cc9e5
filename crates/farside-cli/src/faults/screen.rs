//! What was found, for people.

use std::fmt::Write;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};

use super::findings::Findings;
use super::words::{by_access, place, source_line, spot, stride};
use super::{followed, pointers};
use crate::run::grouped;

/// The table, of at most `most` sites, and what is to be said besides.
pub fn text(findings: &Findings, most: usize) -> String {
    let mut text = format!("fault sites: {}\n", plain(&findings.title));
    if findings.faults > 0 {
        let _ = writeln!(text, "{}", table(findings, most));
    }
    for line in notes(findings, most) {
        let _ = writeln!(text, "  {line}");
    }
    text.extend(findings.pointers.as_ref().map(pointers::summary));
    text.extend(findings.followed.as_ref().map(|found| followed::tables(found, most)));
    let suggested: Vec<_> = findings.suggested().take(most).collect();
    if !suggested.is_empty() {
        text.push_str(
            "  hints that they deserve, with <farside.h>; ADDRESS is what the line uses:\n",
        );
    }
    for (site, hints) in suggested {
        let _ = writeln!(text, "  {}", plain(&place(site)));
        if let Some(line) = source_line(site) {
            let _ = writeln!(text, "      {}", plain(line.trim()));
        }
        for hint in hints {
            let _ = writeln!(text, "      {};    /* {} */", hint.call(), hint.reason());
        }
    }
    if !findings.hints.is_empty() {
        let _ = writeln!(text, "hints\n{}", hint_table(findings, most));
    }
    text
}

/// What came of hints.
fn hint_table(findings: &Findings, most: usize) -> Table {
    let head = ["given", "missing", "pages", "ahead", "unused", "astray", "hint"];
    let rows = findings.hints.iter().take(most).map(|(at, site)| {
        let (_, unused) = site.ahead_ended;
        let counts = [site.given, site.missing, site.brought, site.ahead, unused, site.astray];
        let advice = site.fault().map_or(String::new(), |fault| format!(": {}", fault.advice()));
        let mut row: Vec<String> = counts.map(grouped).to_vec();
        row.push(plain(&format!("{}{advice}", spot(at))));
        row
    });
    aligned(&head, rows)
}

/// A table whose columns but the last one are numbers.
pub fn aligned(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(head);
    table.add_rows(rows);
    for column in table.column_iter_mut().take(head.len() - 1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn table(findings: &Findings, most: usize) -> Table {
    let mut head = vec!["share", "sum", "faults", "read", "write", "protected", "new", "stride"];
    head.extend(findings.pointers.as_ref().map(|_| "pointer"));
    head.push("site");
    let count = |count| if count == 0 { String::new() } else { grouped(count) };
    let rows = findings.shares().take(most).map(|(site, share, sum)| {
        let mut row = vec![percent(share), percent(sum), grouped(site.total())];
        row.extend(by_access(site).map(count));
        row.push(stride(&site.pattern()));
        row.extend(findings.pointers.as_ref().map(|found| pointers::column(found.of(&site.spot))));
        row.push(plain(&place(site)));
        row
    });
    aligned(&head, rows)
}

/// What the table does not say.
pub fn notes(findings: &Findings, most: usize) -> Vec<String> {
    let mut notes = Vec::new();
    let (sites, all) = (findings.sites.len(), grouped(findings.faults));
    notes.push(match findings.faults {
        0 => "no faults".to_owned(),
        _ => format!(
            "{all} faults at {sites} sites; {} of them cover 95 %",
            findings.sites_for_most()
        ),
    });
    if sites > most {
        notes.push(format!("{} sites more: --top N shows more of them", sites - most));
    }
    let share = |faults: u64| percent(faults as f64 / findings.faults.max(1) as f64);
    let (unresolved, unseen) = findings.unresolved();
    if unresolved > unseen {
        notes.push(format!(
            "{} of the faults have no source line: their code has no debugging information (-g)",
            share(unresolved - unseen)
        ));
    }
    if unseen > 0 {
        notes.push(format!("of {} of the faults the instruction is not known", share(unseen)));
    }
    let (samples, cut) = findings.samples;
    if cut > 0 {
        notes.push(format!(
            "{} of {} stacks could not be followed to their beginning",
            grouped(cut),
            grouped(samples)
        ));
    }
    if findings.lost > 0 {
        notes.push(format!("{} events of the kernel were lost", grouped(findings.lost)));
    }
    if let Some(reason) = &findings.refused {
        notes.push(format!(
            "no callers are known: {reason}; run as root, or set kernel.perf_event_paranoid to 2 or less"
        ));
    }
    notes
}

/// A share in words.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Text without anything that would steer a terminal.
pub fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}
