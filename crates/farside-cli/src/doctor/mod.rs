//! `farside doctor`: what this kernel and user may do, the path Farside takes, and repairs.

mod items;
pub mod path;

use std::io::Write;
use std::process::ExitCode;

use serde::Serialize;

use crate::Failure;

/// What an item's absence means.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It is there.
    Ok,
    /// It is not there, and Farside has another way.
    Missing,
    /// It is not there, and Farside cannot work without it.
    Fatal,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// What was looked at.
    pub name: String,
    /// Whether it is there.
    pub state: State,
    /// What was found.
    pub found: String,
    /// What Farside therefore does.
    pub path: String,
    /// The command that repairs what is missing.
    pub repair: Option<String>,
}

impl Item {
    /// The item as one line for an error message.
    fn complaint(&self) -> String {
        let repair = match &self.repair {
            Some(command) => format!("; to repair: {command}"),
            None => String::new(),
        };
        format!("cannot work here: {}: {}{repair}", self.name, self.found)
    }
}

/// Prints all items and tells whether `farside run` can work.
pub fn doctor(json: bool) -> Result<ExitCode, Failure> {
    let items = items::all();
    let text = if json {
        let text = serde_json::to_string_pretty(&items);
        text.map_err(|error| Failure::own(error.to_string()))? + "\n"
    } else {
        describe(&items)
    };
    // A reader that has seen enough changes nothing about the answer.
    let _ = std::io::stdout().write_all(text.as_bytes());
    let works = items.iter().all(|item| item.state != State::Fatal);
    Ok(ExitCode::from(u8::from(!works)))
}

/// Looks at what `farside run` cannot do without, quickly.
pub fn check() -> Result<(), Failure> {
    let fatal = items::essential().into_iter().find(|item| item.state == State::Fatal);
    fatal.map_or(Ok(()), |item| Err(Failure::own(item.complaint())))
}

fn describe(items: &[Item]) -> String {
    let width = items.iter().map(|item| item.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for item in items {
        let state = match item.state {
            State::Ok => "ok     ",
            State::Missing => "missing",
            State::Fatal => "FATAL  ",
        };
        text += &format!("{state} {:width$}  {}", item.name, item.found);
        if !item.path.is_empty() {
            text += &format!(" -> {}", item.path);
        }
        text.push('\n');
        if let Some(command) = &item.repair {
            text += &format!("{:8}{:width$}  repair: {command}\n", "", "");
        }
    }
    let verdict = match items.iter().find(|item| item.state == State::Fatal) {
        None => "farside run works here".to_owned(),
        Some(item) => item.complaint(),
    };
    text + "\n" + &verdict + "\n"
}
