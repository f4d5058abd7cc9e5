//! The notes that the compiler leaves in a program: a line of JSON for each unit of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The version of what is understood here.
const VERSION: u32 = 1;

/// What became of the allocations of a unit that its section file names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unit {
    /// That of the format.
    pub version: u32,
    /// The source that was compiled.
    pub unit: String,
    /// Whether several threads may use its sections, which makes each access dearer.
    pub threads: bool,
    /// Allocations that the section file names.
    pub sites: Vec<Site>,
    /// What comes to what they allocate, in no particular order.
    pub accesses: Vec<Access>,
    /// Sections of whose records loops use only some fields, and those of which the section file says that they should.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Fields>,
    /// Functions that are to run where their data is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offload: Vec<Offload>,
    /// How it ran when its sections were found; the least local memory first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tuned: Vec<Tuned>,
}

/// Of a section, the loops that use only some fields of its records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fields {
    /// The section.
    pub section: String,
    /// Whether the section file wants only these to come and go.
    pub selected: bool,
    /// The loops.
    pub loops: Vec<Loop>,
    /// Why there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Where in the source the reason lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// A loop that uses only some fields of a section's records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loop {
    /// File and line, as far as they are known.
    pub place: String,
    /// The function it is in.
    pub function: String,
    /// Bytes of a record.
    pub record: u64,
    /// Start and length of each field.
    pub fields: Vec<[u64; 2]>,
}

/// A function that is to run where its data is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Offload {
    /// Its name.
    pub function: String,
    /// File and line, as far as they are known.
    pub place: String,
    /// Why it runs in the program all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stays: Option<String>,
    /// Where in the source the reason lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// How a program ran when its sections were found.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// Bytes of local memory.
    pub local: u64,
    /// Lines that it waited for in a second.
    pub misses: u64,
}

/// An allocation in the source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Site {
    /// File and line, as far as they are known.
    pub place: String,
    /// The function it is in.
    pub function: String,
    /// The section it is to go to.
    pub section: String,
    /// Bytes of local memory of that section.
    pub capacity: u64,
    /// Bytes of a line.
    pub line: u64,
    /// Lines of a set: 1 is direct, 0 is all.
    pub ways: u32,
    /// Whether several threads may use the section.
    #[serde(default, skip_serializing_if = "is_not")]
    pub threads: bool,
    /// Whether each thread has such a section of its own.
    #[serde(default, skip_serializing_if = "is_not")]
    pub own: bool,
    /// Whether each thread but the main one, which alone writes to it, has a copy.
    #[serde(default, skip_serializing_if = "is_not")]
    pub copies: bool,
    /// The section whose local memory it shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<String>,
    /// Why it stays in paged memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stays: Option<String>,
    /// Where in the source the reason lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// What an access does.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It reads a value.
    Load,
    /// It writes a value.
    Store,
    /// It copies a number of bytes.
    Copy,
    /// It sets a number of bytes.
    Fill,
    /// It is lent to a function of the C library.
    Call,
    /// It allocates, or changes the size.
    Allocation,
    /// It frees.
    Free,
}

/// An instruction that was made to work on sections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Access {
    /// File and line, as far as they are known.
    pub place: String,
    /// The function it is in.
    pub function: String,
    /// What it does.
    pub kind: Kind,
    /// The sites, by their number, to whose memory it may come.
    pub sites: Vec<usize>,
    /// Whether a loop looks its line up for many turns at once, so that it needs no lookup of its own.
    #[serde(default, skip_serializing_if = "is_not")]
    pub held: bool,
    /// Whether its lines are sent for before the loop comes to them.
    #[serde(default, skip_serializing_if = "is_not")]
    pub ahead: bool,
    /// Whether its lines may leave before others when the loop has come through them.
    #[serde(default, skip_serializing_if = "is_not")]
    pub done: bool,
    /// Whether it is in a loop that was made of two.
    #[serde(default, skip_serializing_if = "is_not")]
    pub fused: bool,
    /// Whether it is in a loop that takes several turns together.
    #[serde(default, skip_serializing_if = "is_not")]
    pub jammed: bool,
    /// Whether one close to it looks their line up for both.
    #[serde(default, skip_serializing_if = "is_not")]
    pub shared: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_not(value: &bool) -> bool {
    !value
}

impl Unit {
    /// What comes to the memory of a site.
    pub fn accesses_of(&self, site: usize) -> impl Iterator<Item = &Access> {
        self.accesses.iter().filter(move |access| access.sites.contains(&site))
    }
}

/// Reads the notes of all units that a program is linked from.
///
/// # Errors
/// In a line of text: why they cannot be understood.
pub fn read(bytes: &[u8]) -> Result<Vec<Unit>, String> {
    // A linker may fill up between units.
    let lines = bytes.split(|byte| *byte == b'\n' || *byte == 0).filter(|line| !line.is_empty());
    let mut units = BTreeMap::new();
    for line in lines {
        let unit: Unit = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        if unit.version != VERSION {
            let version = unit.version;
            return Err(format!("their version is {version}, and this farside knows {VERSION}"));
        }
        let known = |access: &Access| access.sites.iter().all(|site| *site < unit.sites.len());
        if !unit.accesses.iter().all(known) {
            return Err("an access is of no site".to_owned());
        }
        // A unit can be in a program twice, if two libraries hold it.
        units.insert(line.to_vec(), unit);
    }
    Ok(units.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: &str = r#"{"version":1,"unit":"a.c","threads":false,"sites":[{"place":"a.c:3","function":"f","section":"s","capacity":65536,"line":128,"ways":2}],"accesses":[{"place":"a.c:4","function":"g","kind":"load","sites":[0],"held":true}]}"#;

    #[test]
    fn units_follow_one_another() {
        let other = UNIT.replace("a.c", "b.c");
        let units = read(format!("{UNIT}\n\0\0{other}\n{UNIT}\n").as_bytes()).unwrap();
        let names: Vec<_> = units.iter().map(|unit| unit.unit.as_str()).collect();
        assert_eq!(names, ["a.c", "b.c"]);
        assert!(units[0].accesses_of(0).all(|access| access.held && !access.ahead));
        assert_eq!(units[0].accesses_of(1).count(), 0);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for (text, word) in [
            (UNIT.replace("\"version\":1", "\"version\":2"), "version is 2"),
            (UNIT.replace("\"sites\":[0]", "\"sites\":[1]"), "no site"),
            (UNIT.replace("\"load\"", "\"jump\""), "jump"),
            (UNIT[..UNIT.len() - 1].to_owned(), "EOF"),
        ] {
            let error = read(text.as_bytes()).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
        assert_eq!(read(b"\n\0"), Ok(Vec::new()));
    }
}
