//! pprof's format: a compressed protocol buffer (`profile.proto` of pprof).

use std::collections::HashMap;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;

use super::{FaultStacks, Function};

#[derive(Clone, PartialEq, Message)]
struct Profile {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "3")]
    mapping: Vec<Mapping>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<ProfileFunction>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    kind: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    label: Vec<Label>,
}

#[derive(Clone, PartialEq, Message)]
struct Label {
    #[prost(int64, tag = "1")]
    key: i64,
    #[prost(int64, tag = "2")]
    text: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Mapping {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "5")]
    filename: i64,
    #[prost(bool, tag = "7")]
    has_functions: bool,
    #[prost(bool, tag = "8")]
    has_filenames: bool,
    #[prost(bool, tag = "9")]
    has_line_numbers: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "2")]
    mapping_id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, PartialEq, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
    #[prost(int64, tag = "2")]
    line: i64,
}

#[derive(Clone, PartialEq, Message)]
struct ProfileFunction {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "4")]
    filename: i64,
}

/// A profile in the making: what is in it already, by what it is.
#[derive(Default)]
struct Draft<'a> {
    profile: Profile,
    texts: HashMap<&'a str, i64>,
    mappings: HashMap<&'a str, u64>,
    functions: HashMap<(&'a str, Option<&'a str>), u64>,
    locations: HashMap<&'a Function, u64>,
}

impl<'a> Draft<'a> {
    fn text(&mut self, text: &'a str) -> i64 {
        let table = &mut self.profile.string_table;
        *self.texts.entry(text).or_insert_with(|| {
            table.push(text.to_owned());
            table.len() as i64 - 1
        })
    }

    fn mapping(&mut self, image: &'a str) -> u64 {
        if let Some(known) = self.mappings.get(image) {
            return *known;
        }
        let (id, filename) = (self.profile.mapping.len() as u64 + 1, self.text(image));
        self.profile.mapping.push(Mapping {
            id,
            filename,
            has_functions: true,
            has_filenames: true,
            has_line_numbers: true,
        });
        self.mappings.insert(image, id);
        id
    }

    fn function(&mut self, function: &'a Function) -> u64 {
        let key = (&function.name[..], function.file.as_deref());
        if let Some(known) = self.functions.get(&key) {
            return *known;
        }
        let id = self.profile.function.len() as u64 + 1;
        let (name, filename) = (self.text(key.0), self.text(key.1.unwrap_or("")));
        self.profile.function.push(ProfileFunction { id, name, filename });
        self.functions.insert(key, id);
        id
    }

    fn location(&mut self, function: &'a Function) -> u64 {
        if let Some(known) = self.locations.get(function) {
            return *known;
        }
        let id = self.profile.location.len() as u64 + 1;
        let (mapping_id, function_id) = (self.mapping(&function.image), self.function(function));
        let line = Line { function_id, line: function.line.unwrap_or(0).into() };
        self.profile.location.push(Location { id, mapping_id, line: vec![line] });
        self.locations.insert(function, id);
        id
    }
}

/// The profile.
pub fn profile(all: &FaultStacks) -> io::Result<Vec<u8>> {
    let mut draft = Draft::default();
    // The first text is empty.
    draft.text("");
    let (kind, unit, key) = (draft.text("faults"), draft.text("count"), draft.text("access"));
    draft.profile.sample_type.push(ValueType { kind, unit });
    for stack in &all.stacks {
        let location_id = stack.functions.iter().rev().map(|function| draft.location(function));
        let location_id = location_id.collect();
        let label = vec![Label { key, text: draft.text(stack.kind.name()) }];
        let value = vec![i64::try_from(stack.count).unwrap_or(i64::MAX)];
        draft.profile.sample.push(Sample { location_id, value, label });
    }
    let mut file = GzEncoder::new(Vec::new(), Compression::default());
    file.write_all(&draft.profile.encode_to_vec())?;
    file.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::stacks::{AccessKind, Stack};

    #[test]
    fn what_is_written_can_be_read() {
        let function = |name: &str, line| Function {
            name: name.to_owned(),
            image: "program".to_owned(),
            file: Some("a.c".to_owned()),
            line: Some(line),
        };
        let (main, near, far) = (function("main", 1), function("work", 2), function("work", 9));
        let stack = |last: &Function, count| Stack {
            functions: vec![main.clone(), last.clone()],
            kind: AccessKind::Write,
            count,
        };
        let stacks = vec![stack(&near, 7), stack(&far, 5)];
        let bytes = FaultStacks { title: "test".to_owned(), stacks }.to_pprof().expect("written");
        let mut message = Vec::new();
        flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut message).expect("compressed");
        let read = Profile::decode(&message[..]).expect("a message");
        assert_eq!(read.sample.len(), 2);
        assert_eq!((read.mapping.len(), read.location.len(), read.function.len()), (1, 3, 2));
        let innermost = read.sample[1].location_id[0];
        let line = &read.location[innermost as usize - 1].line[0];
        assert_eq!(line.line, 9);
        let name = read.function[line.function_id as usize - 1].name;
        assert_eq!(read.string_table[name as usize], "work");
        assert_eq!(read.string_table[read.sample[0].label[0].text as usize], "write");
    }
}
