//! The search for what changes in an address: from the smallest loop outwards.

use super::Derivation;
use super::code::Function;
use super::slice::Slice;
use super::value::Value;

/// What was found so far.
#[derive(Debug)]
pub struct Search {
    /// How the address came about, as the smallest loop shows in which it changes.
    pub found: Option<Derivation>,
    /// What takes part besides the arguments that are followed.
    rest: Value,
}

impl Search {
    /// With what is known beforehand.
    pub fn new(found: Option<Derivation>) -> Self {
        Self { found, rest: Value::FIXED }
    }

    /// Looks at the loops around an instruction, and at its function as a whole; returns the value there if it depends on
    /// what called the function.
    pub fn through(
        &mut self,
        function: &Function,
        at: usize,
        value: impl Fn(&mut Slice<'_>) -> Value,
    ) -> Option<Value> {
        let loops = function.loops_of(at).into_iter().map(Some);
        for within in loops.chain([None]) {
            let value = value(&mut Slice::new(function, within)).plus(self.rest);
            let goes_on = within.is_none() && value.depends_on_caller();
            match &mut self.found {
                None if value.is_fixed() => {}
                None if goes_on => {
                    self.rest = value.without_arguments();
                    return Some(value);
                }
                None => self.found = Some(Derivation::of(value)),
                Some(_) => {}
            }
            match &mut self.found {
                Some(found) if found.is_computed() => {
                    found.begins_loaded |= value.loaded;
                    if found.begins_loaded {
                        return None;
                    }
                    if goes_on {
                        self.rest = Value::FIXED;
                        return Some(value);
                    }
                }
                Some(_) => return None,
                None => {}
            }
        }
        None
    }

    /// What is said in the end, if `open` is what still depends on callers that nobody knows.
    pub fn end(self, open: Option<Value>) -> Derivation {
        match (self.found, open) {
            (Some(found), _) => found,
            (None, Some(_)) => Derivation::UNDECIDED,
            // What never changes.
            (None, None) => Derivation::COMPUTED,
        }
    }
}
