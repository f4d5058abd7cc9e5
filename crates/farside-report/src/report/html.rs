//! A report as one page of HTML.

use std::fmt::Write;

use super::{Figure, Report, Section, Table, data};
use crate::chart::ChartError;

const STYLE: &str = include_str!("../../assets/report.css");
const CHART_STYLE: &str = include_str!("../../assets/uplot/uPlot.min.css");
const CHART_SCRIPT: &str = include_str!("../../assets/uplot/uPlot.iife.min.js");
const LINES_SCRIPT: &str = include_str!("../../assets/lines.js");
const HEAT_SCRIPT: &str = include_str!("../../assets/heat.js");
const START_SCRIPT: &str = include_str!("../../assets/start.js");

/// What the page may load: nothing but what is in it.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// The page.
///
/// # Errors
/// If a figure cannot be drawn.
pub fn page(report: &Report) -> Result<String, ChartError> {
    let title = escape(&report.title);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>{CHART_STYLE}\n{STYLE}</style>\n</head>\n<body>\n\
         <header><h1>{title}</h1><p>{}</p></header>\n<main>\n",
        escape(&report.subtitle)
    );
    facts(&mut page, &report.facts);
    for part in &report.sections {
        section(&mut page, part)?;
    }
    page.push_str("</main>\n");
    for script in [CHART_SCRIPT, LINES_SCRIPT, HEAT_SCRIPT, START_SCRIPT] {
        push(&mut page, format_args!("<script>{script}</script>\n"));
    }
    page.push_str("</body>\n</html>\n");
    Ok(page)
}

fn push(page: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = page.write_fmt(text);
}

fn facts(page: &mut String, facts: &[(String, String)]) {
    page.push_str("<dl class=\"facts\">\n");
    for (name, value) in facts {
        push(
            page,
            format_args!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(name), escape(value)),
        );
    }
    page.push_str("</dl>\n");
}

fn section(page: &mut String, section: &Section) -> Result<(), ChartError> {
    let id = escape(&section.id);
    push(page, format_args!("<section id=\"{id}\">\n<h2>{}</h2>\n", escape(&section.title)));
    push(page, format_args!("<p>{}</p>\n", escape(&section.text)));
    if let Some(figure) = &section.figure {
        let svg = figure.to_svg()?;
        let class = if matches!(figure, Figure::Flames(_)) { "flames" } else { "still" };
        push(page, format_args!("<figure>\n<div class=\"{class}\">{svg}</div>\n"));
        if let Some(data) = data::of(figure) {
            let data = data::embedded(&data);
            push(
                page,
                format_args!(
                    "<div class=\"live\" hidden></div>\n\
                     <script type=\"application/json\" class=\"data\">{data}</script>\n"
                ),
            );
        }
        page.push_str("</figure>\n");
    }
    if let Some(numbers) = &section.table {
        table(page, numbers);
    }
    page.push_str("</section>\n");
    Ok(())
}

fn table(page: &mut String, table: &Table) {
    page.push_str("<div class=\"numbers\"><table>\n<thead><tr>");
    table.columns.iter().for_each(|name| push(page, format_args!("<th>{}</th>", escape(name))));
    page.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        page.push_str("<tr>");
        row.iter().for_each(|cell| push(page, format_args!("<td>{}</td>", escape(cell))));
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody>\n</table></div>\n");
}

/// Text as it may stand in an element or an attribute.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            letter if letter.is_control() && letter != '\n' => safe.push('\u{FFFD}'),
            letter => safe.push(letter),
        }
    }
    safe
}
