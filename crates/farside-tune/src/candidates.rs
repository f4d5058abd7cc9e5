//! What the compiler tells of a program that is to be tuned: allocations that may go to sections, and what comes to
//! them.

use serde::{Deserialize, Serialize};

/// The version of what is understood here.
const VERSION: u32 = 1;

/// All that may go to sections.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Candidates {
    /// Calls that allocate.
    pub sites: Vec<Site>,
    /// What comes to what they allocate.
    pub accesses: Vec<Access>,
    /// The functions of the program.
    pub functions: Vec<Function>,
}

/// A call that allocates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Site {
    /// The source file; empty if the function alone says where it is.
    pub file: String,
    /// The function; if it is alone, as it is called in the object.
    pub function: String,
    /// What a function is called in the source that is alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The line; 0 if it is not known.
    pub line: u32,
    /// The column; 0 if it is not known.
    pub column: u32,
    /// Sites of the same class have to go to the same section: an access may come to both.
    pub class: usize,
    /// Why it cannot go to a section.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stays: Option<String>,
    /// Where in the source the reason lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// What an access does.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// It allocates, or changes the size.
    Allocation,
    /// It frees.
    Free,
    /// Something else.
    #[serde(other)]
    Other,
}

/// An instruction that comes to what was allocated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Access {
    /// File and line.
    pub place: String,
    /// The function that it is compiled into.
    pub function: String,
    /// What it does.
    pub kind: Kind,
    /// The sites, by their number, to whose memory it may come.
    pub sites: Vec<usize>,
    /// Bytes of one access, if it is always the same.
    #[serde(default)]
    pub size: u64,
    /// Bytes from one turn of the innermost loop around it to the next, if that is constant.
    #[serde(default)]
    pub stride: Option<i64>,
    /// Whether it is in a loop.
    #[serde(default)]
    pub r#loop: bool,
}

/// A function of the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Function {
    /// Its name in the source.
    pub name: String,
    /// Functions of the program that it calls.
    pub calls: Vec<String>,
    /// Whether it can run where its data is.
    #[serde(default)]
    pub offload: bool,
}

#[derive(Deserialize)]
struct Unit {
    version: u32,
    sites: Vec<Site>,
    accesses: Vec<Access>,
    functions: Vec<Function>,
}

impl Candidates {
    /// Reads what the compiler wrote: a line of JSON for each part of the program that was compiled by itself.
    ///
    /// # Errors
    /// In a line of text: why it cannot be understood.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let mut all = Self::default();
        let lines = bytes.split(|byte| *byte == b'\n' || *byte == 0);
        for line in lines.filter(|line| !line.is_empty()) {
            let unit: Unit = serde_json::from_slice(line).map_err(|error| error.to_string())?;
            all.add(unit)?;
        }
        Ok(all)
    }

    fn add(&mut self, unit: Unit) -> Result<(), String> {
        if unit.version != VERSION {
            let version = unit.version;
            return Err(format!("its version is {version}, and this farside knows {VERSION}"));
        }
        let known = |access: &Access| access.sites.iter().all(|site| *site < unit.sites.len());
        if !unit.accesses.iter().all(known) {
            return Err("an access is of no site".to_owned());
        }
        if unit.sites.iter().any(|site| site.class > unit.sites.len()) {
            return Err("a site is of a class that cannot be".to_owned());
        }
        let sites = self.sites.len();
        let classes = self.sites.iter().map(|site| site.class + 1).max().unwrap_or(0);
        self.sites.extend(unit.sites.into_iter().map(|mut site| {
            site.class += classes;
            site
        }));
        self.accesses.extend(unit.accesses.into_iter().map(|mut access| {
            access.sites.iter_mut().for_each(|site| *site += sites);
            access
        }));
        self.functions.extend(unit.functions);
        Ok(())
    }

    /// What comes to the memory of a site, other than to allocate or free it.
    pub fn accesses_of(&self, site: usize) -> impl Iterator<Item = &Access> {
        self.accesses.iter().filter(move |access| access.sites.contains(&site) && access.is_use())
    }
}

impl Access {
    /// Whether it comes to what was allocated, other than to allocate or free it.
    pub fn is_use(&self) -> bool {
        !matches!(self.kind, Kind::Allocation | Kind::Free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: &str = r#"{"version":1,"unit":"a.c","sites":[{"file":"a.c","function":"f","line":3,"column":5,"class":0}],"accesses":[{"place":"a.c:4","function":"g","kind":"load","sites":[0],"size":8,"stride":16,"loop":true}],"functions":[{"name":"g","calls":[]}]}"#;

    #[test]
    fn units_are_put_together() {
        let all = Candidates::read(format!("{UNIT}\n\0{UNIT}\n").as_bytes()).unwrap();
        let classes: Vec<_> = all.sites.iter().map(|site| site.class).collect();
        assert_eq!(classes, [0, 1]);
        assert_eq!(all.accesses_of(1).count(), 1);
        assert_eq!(all.accesses[1].sites, [1]);
        assert_eq!(all.accesses[1].stride, Some(16));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for (text, word) in [
            (UNIT.replace("\"version\":1", "\"version\":2"), "version is 2"),
            (UNIT.replace("\"sites\":[0]", "\"sites\":[1]"), "no site"),
            (UNIT.replace("\"class\":0", "\"class\":7"), "class"),
            (UNIT[..UNIT.len() - 1].to_owned(), "EOF"),
        ] {
            let error = Candidates::read(text.as_bytes()).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }
}
