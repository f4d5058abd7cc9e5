//! The page: the text of `studies/path/page.md`, with tables and pictures put in.

use std::fs;
use std::path::Path;

use super::figure::Figure;
use crate::Failure;

/// Writes the page beside the directory of the figures.
///
/// # Errors
/// If the text cannot be read, the page cannot be written, or a place of the text names no figure.
pub fn write(
    sources: &Path,
    output: &Path,
    figures: &[Figure],
    claims: &str,
) -> Result<(), Failure> {
    let file = sources.join("page.md");
    let mut text = fs::read_to_string(&file)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display())))?;
    let directory = output.file_name().unwrap_or_default().to_string_lossy();
    for figure in figures {
        let name = figure.name;
        let place = |what: &str| format!("{{{{{what} {name}}}}}");
        text = text.replace(&place("table"), figure.markdown().trim_end());
        text = text.replace(&place("picture"), &format!("![{name}]({directory}/{name}.svg)"));
        text = text.replace(&place("numbers"), &format!("[{name}.tsv]({directory}/{name}.tsv)"));
    }
    text = text.replace("{{claims}}", claims.trim_end());
    if let Some(line) = text.lines().position(|line| line.contains("{{")) {
        let file = file.display();
        return Err(Failure::own(format!("{file}: line {} of the page is left open", line + 1)));
    }
    super::write(&output.with_extension("md"), &text)
}
