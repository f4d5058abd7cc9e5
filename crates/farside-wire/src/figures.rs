//! What a memory node says of itself in numbers: to a monitoring system, and in the reply to
//! [`Stats`](crate::frame::Kind::Stats).

use crate::frame::Record;

/// Whether a number only grows.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Nature {
    /// It rises and falls.
    Level,
    /// It counts what has happened since the node started.
    Count,
}

/// What a number is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Its name.
    pub name: &'static str,
    /// What it says.
    pub help: &'static str,
    /// How it changes.
    pub nature: Nature,
}

const fn level(name: &'static str, help: &'static str) -> Figure {
    Figure { name, help, nature: Nature::Level }
}

const fn count(name: &'static str, help: &'static str) -> Figure {
    Figure { name, help, nature: Nature::Count }
}

/// Numbers of a node.
pub const COUNT: usize = 16;

/// All of them. In a message each goes by its place here, which it keeps for good.
pub const FIGURES: [Figure; COUNT] = [
    level("memory_bytes", "Memory for pages"),
    level("free_bytes", "Memory for pages that is free"),
    level("pools", "Clients that have pages here"),
    level("connections", "Connections"),
    level("draining", "Whether the node gives its pages to others"),
    count("pages_read", "Pages sent"),
    count("pages_written", "Pages taken"),
    count("requests", "Requests of any kind"),
    count("pages_missed", "Pages asked for that are not here, or in another version"),
    count("pages_refused", "Pages that there was no room for, or that came late"),
    count("pages_damaged", "Pages that were damaged on their way here"),
    count("bad_messages", "Connections ended because of what came over them"),
    count("refused_connections", "Connections that were one too many, or not let in"),
    count("leases_ended", "Clients whose pages were forgotten because they were gone for too long"),
    count("parts_read", "Parts of pages sent"),
    count("parts_written", "Parts of pages taken"),
];

/// The records that say these values.
pub fn records(values: [u64; COUNT]) -> [Record; COUNT] {
    std::array::from_fn(|at| Record { slot: at as u64, version: values[at], ..Record::default() })
}

/// What a record says, if it is a number that is known here.
pub fn of(record: Record) -> Option<(&'static Figure, u64)> {
    let figure = FIGURES.get(usize::try_from(record.slot).ok()?)?;
    Some((figure, record.version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_the_wire_and_unknown_ones_are_passed_over() {
        let values = std::array::from_fn(|at| at as u64 * 3);
        let read: Vec<u64> =
            records(values).into_iter().filter_map(of).map(|(_, value)| value).collect();
        assert_eq!(read, values);
        assert_eq!(of(Record { slot: u64::MAX, ..Record::default() }), None);
    }
}
