//! A configuration: sections with all that a section file says of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::cache::Ways;
use crate::candidates::Site;
use crate::threads::{Apart, Each};

/// Sections for a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Configuration {
    /// The sections; none: all of it is paged.
    pub sections: Vec<Section>,
    /// Most bytes that the program uses at once besides its sections; 0 if that is not known.
    #[serde(default)]
    pub paged: u64,
    /// Functions that run where their data is, if they take less time there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offload: Vec<String>,
    /// Lines that the program waited for in a second when they were found, by bytes of local memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tuned: Vec<(u64, u64)>,
}

/// A section with its shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// What goes there.
    pub sites: Vec<SitePlace>,
    /// Bytes of local memory.
    pub capacity: u64,
    /// Bytes of a line.
    pub line: u64,
    /// Lines of a set: 1 is direct, 0 is all.
    pub ways: u32,
    /// What it has instead, where at least so much memory is local: by the local memory, the least first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capacities: Vec<(u64, u64)>,
    /// Most bytes that were allocated there at once; 0 if that is not known.
    #[serde(default)]
    pub holds: u64,
    /// Lines that are sent for ahead; none: what the compiler usually takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<u32>,
    /// Lines found by indices and pointers that are sent for in one go; none: what the compiler takes for each loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u32>,
    /// Whether what loops have gone through stays as long as anything else.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep: bool,
    /// The section whose local memory it shares, since they are not used at the same time; that one shares nobody's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<String>,
    /// Whether of its records only the fields come and go that are used, in loops that use no others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fields: bool,
    /// What each thread has for itself, of this capacity; none: all threads use one cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<Each>,
}

/// A site as a section file names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SitePlace {
    /// The source file; empty if the function alone says where it is.
    pub file: String,
    /// The function, if it is known.
    pub function: String,
    /// The line; 0 if it is not known.
    pub line: u32,
    /// The column; 0 if it is not known.
    pub column: u32,
}

impl From<&Site> for SitePlace {
    fn from(site: &Site) -> Self {
        let Site { file, function, line, column, .. } = site;
        Self { file: file.clone(), function: function.clone(), line: *line, column: *column }
    }
}

impl Configuration {
    /// Bytes of local memory of all sections; of those that share it, those of the largest.
    pub fn bytes(&self) -> u64 {
        let mut groups: BTreeMap<&str, u64> = BTreeMap::new();
        for section in &self.sections {
            let largest = groups.entry(section.group()).or_insert(0);
            *largest = section.bytes().max(*largest);
        }
        groups.values().sum()
    }

    /// Whether some sections share memory.
    pub fn shares(&self) -> bool {
        self.sections.iter().any(|it| it.with.is_some())
    }

    /// The same without one section, whose data are paged. Those that shared its memory share that of the first of them.
    pub fn without(&self, name: &str) -> Self {
        let mut rest = self.clone();
        rest.sections.retain(|it| it.name != name);
        if rest.paged > 0 {
            rest.paged += self.section(name).map_or(0, |it| it.holds);
        }
        let orphan = |it: &&mut Section| it.with.as_deref() == Some(name);
        let mut orphans = rest.sections.iter_mut().filter(orphan);
        if let Some(first) = orphans.next() {
            first.with = None;
            let first = first.name.clone();
            orphans.for_each(|it| it.with = Some(first.clone()));
        }
        rest
    }

    /// Has sections share no memory whose others are not there.
    pub fn mend(&mut self) {
        let alone = |it: &&Section| it.with.is_none();
        let names: BTreeSet<String> =
            self.sections.iter().filter(alone).map(|it| it.name.clone()).collect();
        for section in &mut self.sections {
            section.with = section.with.take().filter(|with| names.contains(with));
        }
    }

    /// The section by a name.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|it| it.name == name)
    }

    /// One configuration for several amounts of local memory, with what is for each, the least first; none if they
    /// differ in more than capacities.
    pub fn merged(all: &[(u64, Self)]) -> Option<Self> {
        let (_, first) = all.first()?;
        let mut merged = first.clone();
        merged.tuned = all.iter().flat_map(|(_, it)| it.tuned.clone()).collect();
        for (local, other) in all {
            let same =
                other.sections.len() == merged.sections.len() && other.offload == merged.offload;
            for section in same.then_some(&mut merged.sections)? {
                let there = other.section(&section.name)?;
                if !there.differs_in_capacity_only(section) {
                    return None;
                }
                section.capacities.push((*local, there.capacity));
            }
        }
        Some(merged)
    }

    /// The section file, with `note` as a comment before it.
    pub fn to_toml(&self, note: &str) -> String {
        let mut text = String::new();
        note.lines().for_each(|line| text.push_str(&format!("# {line}\n")));
        if !self.offload.is_empty() {
            let names = self.offload.iter().map(|it| quoted(it));
            let _ = writeln!(text, "offload = [{}]", names.collect::<Vec<_>>().join(", "));
        }
        if self.paged > 0 {
            let _ = writeln!(text, "paged = {}", self.paged);
        }
        if !self.tuned.is_empty() {
            text.push_str("tuned = [\n");
            for (local, misses) in &self.tuned {
                let _ = writeln!(text, "    {{ local = {local}, misses = {misses} }},");
            }
            text.push_str("]\n");
        }
        for section in &self.sections {
            let structure = match Ways::of(section.ways) {
                Ways::Direct => "\"direct\"".to_owned(),
                Ways::Set(ways) => ways.to_string(),
                Ways::Full => "\"full\"".to_owned(),
            };
            let _ = write!(
                text,
                "\n[section.{}]\ncapacity = {}\nline = {}\nstructure = {structure}\n",
                section.name, section.capacity, section.line
            );
            if section.capacities.len() > 1 {
                text.push_str("capacities = [\n");
                for (local, capacity) in &section.capacities {
                    let _ = writeln!(text, "    {{ local = {local}, capacity = {capacity} }},");
                }
                text.push_str("]\n");
            }
            if section.holds > 0 {
                let _ = writeln!(text, "holds = {}", section.holds);
            }
            if let Some(ahead) = section.ahead {
                let _ = writeln!(text, "ahead = {ahead}");
            }
            if let Some(batch) = section.batch {
                let _ = writeln!(text, "batch = {batch}");
            }
            if section.keep {
                text.push_str("keep = true\n");
            }
            if let Some(with) = &section.with {
                let _ = writeln!(text, "with = {}", quoted(with));
            }
            if section.fields {
                text.push_str("fields = true\n");
            }
            match section.apart() {
                Some(Apart::Own) => text.push_str("own = true\n"),
                Some(Apart::Copies) => text.push_str("copies = true\n"),
                None => {}
            }
            text.push_str("sites = [\n");
            section.sites.iter().for_each(|site| {
                let _ = writeln!(text, "    {{ {} }},", site.keys());
            });
            text.push_str("]\n");
        }
        text
    }
}

impl Section {
    /// The name of the section by which those are known that share memory with it.
    pub fn group(&self) -> &str {
        self.with.as_deref().unwrap_or(&self.name)
    }

    /// Whether it is as another one, but for bytes.
    fn differs_in_capacity_only(&self, other: &Self) -> bool {
        let shape =
            |it: &Self| (it.line, it.ways, it.ahead, it.batch, it.keep, it.fields, it.apart());
        shape(self) == shape(other) && self.sites == other.sites && self.with == other.with
    }
}

/// A text as a section file has it.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

impl SitePlace {
    fn keys(&self) -> String {
        let text = quoted;
        let mut keys = Vec::new();
        if !self.file.is_empty() {
            keys.push(format!("file = {}", text(&self.file)));
        }
        if !self.function.is_empty() {
            keys.push(format!("function = {}", text(&self.function)));
        }
        if self.line > 0 {
            keys.push(format!("line = {}", self.line));
        }
        if self.column > 0 {
            keys.push(format!("column = {}", self.column));
        }
        keys.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_file_says_all_of_it() {
        let site = SitePlace {
            file: "a \"b\".c".to_owned(),
            function: "f".to_owned(),
            line: 3,
            column: 0,
        };
        let section = Section {
            name: "nodes".to_owned(),
            sites: vec![site.clone(), site],
            capacity: 65536,
            line: 128,
            ways: 0,
            capacities: Vec::new(),
            holds: 70_000,
            ahead: Some(0),
            batch: Some(16),
            keep: true,
            with: Some("edges".to_owned()),
            fields: true,
            each: Some(Each { apart: Apart::Own, caches: 3 }),
        };
        let all = Configuration { sections: vec![section], ..Configuration::default() };
        let offload = vec!["f".to_owned(), "a::\"b\"".to_owned()];
        let text = Configuration { tuned: vec![(10 << 20, 77)], offload, paged: 99, ..all }
            .to_toml("made for 10 MiB\nof local memory");
        assert!(text.starts_with("# made for 10 MiB\n# of local memory\n"), "{text}");
        let table: toml::Table = text.parse().expect(&text);
        assert_eq!(table["offload"][1].as_str(), Some("a::\"b\""));
        assert_eq!(table["tuned"][0]["misses"].as_integer(), Some(77));
        assert_eq!(table["paged"].as_integer(), Some(99));
        let section = &table["section"]["nodes"];
        assert_eq!(section["capacity"].as_integer(), Some(65536));
        assert_eq!(section["holds"].as_integer(), Some(70_000));
        assert_eq!(section["structure"].as_str(), Some("full"));
        assert_eq!(section["ahead"].as_integer(), Some(0));
        assert_eq!(section["batch"].as_integer(), Some(16));
        assert_eq!(section["keep"].as_bool(), Some(true));
        assert_eq!(section["with"].as_str(), Some("edges"));
        assert_eq!(section["fields"].as_bool(), Some(true));
        assert_eq!(section["own"].as_bool(), Some(true));
        assert!(section.get("copies").is_none());
        assert_eq!(section["sites"].as_array().map(Vec::len), Some(2));
        assert_eq!(section["sites"][1]["file"].as_str(), Some("a \"b\".c"));
        assert!(section["sites"][0].get("column").is_none());
    }

    #[test]
    fn of_sections_that_share_memory_the_largest_counts() {
        let of = |(name, capacity, with): (&str, u64, Option<&str>)| Section {
            name: name.to_owned(),
            sites: Vec::new(),
            capacity,
            line: 64,
            ways: 1,
            capacities: Vec::new(),
            holds: 0,
            ahead: None,
            batch: None,
            keep: false,
            with: with.map(str::to_owned),
            fields: false,
            each: None,
        };
        let sections =
            [("a", 5, None), ("b", 7, Some("a")), ("c", 3, None), ("d", 2, Some("a"))].map(of);
        let all = Configuration { sections: sections.into(), ..Configuration::default() };
        assert_eq!((all.bytes(), all.shares()), (7 + 3, true));
        let groups = |of: &Configuration| -> Vec<String> {
            of.sections.iter().map(|it| format!("{}{}", it.name, it.group())).collect()
        };
        assert_eq!(groups(&all.without("a")), ["bb", "cc", "db"]);
        assert_eq!(groups(&all.without("b")), ["aa", "cc", "da"]);
        let mut part = all.clone();
        part.sections.remove(0);
        part.mend();
        assert_eq!(
            (groups(&part), part.shares()),
            (vec!["bb".into(), "cc".into(), "dd".into()], false)
        );
        part = all.clone();
        part.mend();
        assert_eq!(part, all);
        part.sections[3].with = None;
        assert_eq!(Configuration::merged(&[(1, all), (2, part)]), None, "they differ in more");
    }

    #[test]
    fn what_differs_in_capacities_only_is_one_configuration() {
        let of = |capacity, line| {
            let (name, sites) = ("s".to_owned(), Vec::new());
            let section = Section {
                name,
                sites,
                capacity,
                line,
                ways: 2,
                capacities: Vec::new(),
                holds: 0,
                ahead: None,
                batch: None,
                keep: false,
                with: None,
                fields: false,
                each: None,
            };
            Configuration { sections: vec![section], ..Configuration::default() }
        };
        let all = [(10 << 20, of(1 << 20, 128)), (20 << 20, of(15 << 20, 128))];
        let merged = Configuration::merged(&all).unwrap();
        assert_eq!(merged.sections[0].capacities, [(10 << 20, 1 << 20), (20 << 20, 15 << 20)]);
        let table: toml::Table = merged.to_toml("").parse().unwrap();
        let capacities = table["section"]["s"]["capacities"].as_array().unwrap();
        assert_eq!(capacities[1]["capacity"].as_integer(), Some(15 << 20));
        assert_eq!(Configuration::merged(&[(1, of(1, 128)), (2, of(1, 64))]), None);
        assert_eq!(Configuration::merged(&[(1, of(1, 128)), (2, Configuration::default())]), None);
        assert_eq!(Configuration::merged(&[]), None);
    }
}
