//! Selective transmission: of records that lie side by side only some fields come and go (Mira, section 5.3).

use farside_far::Part;
use smallvec::SmallVec;
use thiserror::Error;

use crate::section::{Section, SectionError};

/// Bytes of each record that are used.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Where in a record.
    pub start: u32,
    /// How many.
    pub len: u32,
}

/// Why fields cannot be selected.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
pub enum BadFields {
    /// Records of that length do not fill lines.
    #[error("records of {0} bytes: a line has to be a multiple of a record")]
    Record(u32),
    /// A field lies elsewhere, or they are not in order.
    #[error("fields that overlap, are not in order, or go beyond their record")]
    Fields,
}

/// The fields of the records of a section that are used.
#[derive(Debug)]
pub struct Selection {
    record: u32,
    fields: SmallVec<[Field; 4]>,
}

impl Selection {
    fn new(line: usize, record: u32, fields: &[Field]) -> Result<Self, BadFields> {
        if record == 0 || !line.is_multiple_of(record as usize) {
            return Err(BadFields::Record(record));
        }
        let mut at = 0;
        for field in fields {
            let end = field.start.checked_add(field.len).filter(|end| *end <= record);
            match end {
                Some(end) if field.start >= at && field.len > 0 => at = end,
                _ => return Err(BadFields::Fields),
            }
        }
        if fields.is_empty() {
            return Err(BadFields::Fields);
        }
        Ok(Self { record, fields: fields.into() })
    }

    /// What of the fields lies in parts of a line.
    pub fn among(&self, parts: &[Part]) -> SmallVec<[Part; 1]> {
        let mut chosen: SmallVec<[Part; 1]> = SmallVec::new();
        for part in parts {
            let (from, end) = (part.place, part.place + part.len);
            for record in (from / self.record * self.record..end).step_by(self.record as usize) {
                for field in &self.fields {
                    let first = (record + field.start).max(from);
                    let last = (record + field.start + field.len).min(end);
                    if first < last {
                        let start = part.start + u64::from(first - from);
                        chosen.push(Part { start, len: last - first, place: first });
                    }
                }
            }
        }
        // Fields at the end of one record and the start of the next are one.
        chosen.dedup_by(|next, last| {
            let joins = last.place + last.len == next.place
                && last.start + u64::from(last.len) == next.start;
            last.len += if joins { next.len } else { 0 };
            joins
        });
        chosen
    }
}

impl Section {
    /// From now on only these fields of the section's records, which lie side by side from the start of each line, come
    /// with a line, and go; an empty list: all of it. What is here is stored and leaves. The program uses no other fields
    /// until it selects again, and nothing of the section meanwhile. Where the store moves whole pages only, all comes;
    /// where it moves blocks, those that hold fields.
    ///
    /// # Errors
    /// If lines are pinned, or the store fails; in the result, if the fields make no sense.
    pub fn select(
        &self,
        record: u32,
        fields: &[Field],
    ) -> Result<Result<(), BadFields>, SectionError> {
        let selection = match fields {
            [] => None,
            fields => match Selection::new(self.geometry.line(), record, fields) {
                Ok(selection) => Some(selection),
                Err(bad) => return Ok(Err(bad)),
            },
        };
        // Nobody else has lines leave by what was selected before.
        let _turn = self.group_turn();
        self.evict_all()?;
        self.lock().selection = selection;
        Ok(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_cut_to_what_is_there() {
        let fields = [Field { start: 0, len: 4 }, Field { start: 24, len: 8 }];
        let selection = Selection::new(128, 32, &fields).unwrap();
        let all = selection.among(&[Part { start: 1000, len: 128, place: 0 }]);
        let places: Vec<_> = all.iter().map(|part| (part.start, part.place, part.len)).collect();
        // The last field of a record and the first of the next lie side by side.
        assert_eq!(
            places,
            [(1000, 0, 4), (1024, 24, 12), (1056, 56, 12), (1088, 88, 12), (1120, 120, 8)]
        );
    }

    #[test]
    fn fields_that_make_no_sense_are_refused() {
        let new = |record, fields: &[(u32, u32)]| {
            let fields: Vec<_> = fields.iter().map(|&(start, len)| Field { start, len }).collect();
            Selection::new(128, record, &fields).map(drop)
        };
        assert_eq!(new(48, &[(0, 4)]), Err(BadFields::Record(48)));
        assert_eq!(new(0, &[(0, 4)]), Err(BadFields::Record(0)));
        for fields in
            [&[][..], &[(0, 0)], &[(8, 8), (0, 4)], &[(0, 8), (4, 8)], &[(30, 4)], &[(4, u32::MAX)]]
        {
            assert_eq!(new(32, fields), Err(BadFields::Fields), "{fields:?}");
        }
    }
}
