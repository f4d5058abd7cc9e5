//! What was found, as a page: flame graph and table.

use farside_report::report::{Figure, Report, Section, Table};

use super::findings::Findings;
use super::followed::Followed;
use super::screen::notes;
use super::suggest::Suggestion;
use super::words::{by_access, place, spot, stride};
use super::{followed, pointers};
use crate::run::grouped;

/// Most sites in the table.
const MOST: usize = 200;

/// The report.
pub fn report(findings: &Findings) -> Report {
    let facts = vec![
        ("faults".to_owned(), grouped(findings.faults)),
        ("sites".to_owned(), grouped(findings.sites.len() as u64)),
        ("sites that cover 95 %".to_owned(), findings.sites_for_most().to_string()),
    ];
    let mut sections = Vec::new();
    if !findings.stacks.stacks.is_empty() {
        sections.push(Section {
            id: "flames".to_owned(),
            title: "Where the faults come from".to_owned(),
            text: "Each box is a function, as wide as the faults in it and in what it called; the outermost \
                   ones are at the bottom. On top of each stack is the line that touched memory: blue if it \
                   read, red if it wrote, yellow if it wrote what had been fetched for reading. Click on a box \
                   to look closer."
                .to_owned(),
            figure: Some(Figure::Flames(findings.stacks.clone())),
            table: None,
        });
    }
    sections.push(Section {
        id: "sites".to_owned(),
        title: "Fault sites".to_owned(),
        text: notes(findings, MOST).join(". ") + ".",
        figure: None,
        table: Some(table(findings)),
    });
    if let Some(found) = &findings.pointers {
        let columns = ["pointer-based", "other", "all", "would have been foreseen by"];
        let columns = columns.map(str::to_owned).to_vec();
        sections.push(Section {
            id: "pointers".to_owned(),
            title: "Pointer-based faults".to_owned(),
            text: pointers::lines(found).join(". ") + ".",
            figure: None,
            table: Some(Table { columns, rows: pointers::rows(found).collect() }),
        });
    }
    sections.extend(findings.followed.iter().flat_map(followed_sections));
    if !findings.hints.is_empty() {
        sections.push(Section {
            id: "hints".to_owned(),
            title: "Hints".to_owned(),
            text: "What came of the hints that the program gives: how many found something missing, the pages that \
                   came for them and those that were read ahead, and of these those that left without having been \
                   used."
                .to_owned(),
            figure: None,
            table: Some(hint_table(findings)),
        });
    }
    Report { title: "Fault sites".to_owned(), subtitle: findings.title.clone(), facts, sections }
}

/// What came of following pointers, by site and by part of memory.
fn followed_sections(found: &Followed) -> [Section; 2] {
    let table = |last: &str, rows| {
        let columns = followed::columns().into_iter().chain([last]).map(str::to_owned).collect();
        Some(Table { columns, rows })
    };
    let section = |id: &str, title: &str, text: &str, table| Section {
        id: id.to_owned(),
        title: title.to_owned(),
        text: text.to_owned(),
        figure: None,
        table,
    };
    let sites = followed::site_rows(found, MOST).collect();
    let parts = followed::part_rows(found, MOST).collect();
    [
        section(
            "followed",
            "Pointers that were followed",
            "What was done about pointers, by where the program was when a chain of pages began, each fetched because \
             of a pointer in one before: places looked at, pointers to far pages found there, pages fetched, and of \
             these those that were used, that the program came to when they were still on their way, and that left \
             without having been used.",
            table("site where a chain began", sites),
        ),
        section(
            "followed-memory",
            "The same by part of memory",
            "Which pointers are followed is learned in each of these parts separately.",
            table("memory", parts),
        ),
    ]
}

fn hint_table(findings: &Findings) -> Table {
    let columns =
        ["hint", "given", "missing", "pages", "ahead", "ahead unused", "astray", "advice"];
    let rows = findings.hints.iter().take(MOST).map(|(at, site)| {
        let (_, unused) = site.ahead_ended;
        let counts = [site.given, site.missing, site.brought, site.ahead, unused, site.astray];
        let mut row = vec![spot(at)];
        row.extend(counts.map(grouped));
        row.push(site.fault().map_or(String::new(), |fault| fault.advice().to_owned()));
        row
    });
    Table { columns: columns.map(str::to_owned).to_vec(), rows: rows.collect() }
}

fn table(findings: &Findings) -> Table {
    let mut columns = vec![
        "site",
        "share",
        "sum",
        "faults",
        "read",
        "write",
        "protected",
        "new",
        "stride in pages",
        "hint",
    ];
    columns.extend(findings.pointers.as_ref().map(|_| "pointer"));
    let rows = findings.shares().zip(&findings.suggestions).take(MOST);
    let rows = rows.map(|((site, share, sum), hints)| {
        let mut row = vec![place(site)];
        row.extend([share, sum].map(|share| format!("{:.1} %", share * 100.0)));
        row.push(grouped(site.total()));
        row.extend(by_access(site).map(grouped));
        row.push(stride(&site.pattern()));
        row.push(hints.iter().map(Suggestion::call).collect::<Vec<_>>().join("; "));
        row.extend(findings.pointers.as_ref().map(|found| pointers::column(found.of(&site.spot))));
        row
    });
    Table { columns: columns.into_iter().map(str::to_owned).collect(), rows: rows.collect() }
}
