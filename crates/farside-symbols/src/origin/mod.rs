//! How the address that an instruction works on came about: whether it had been loaded from memory, as the next node of a
//! list, or was computed, as the next element of an array.
//!
//! The function of the instruction is decoded from its beginning, and the registers of the address are followed backwards
//! to where their values come from: through moves, additions of offsets and places on the stack. What matters in a loop is
//! what changes from round to round, so that the smallest loop is looked at first in which the address changes. In
//! `for (i = 0; i < n; i++) sum += list->values[i]` the compiler may load `list->values` in each round, but the page that
//! is used next is chosen by `i`: the address is computed. In `node = node->next` it is loaded. If the address does not
//! change in a loop at all, the loop around it decides, then the function, then its callers, as far as they are known.
//! What other functions return is not followed.

mod code;
#[cfg(test)]
mod tests;
mod value;

use std::collections::HashMap;
use std::rc::Rc;

use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Mnemonic, Register};

use crate::images::{Images, Place};
use code::{Function, has_memory};
use value::{Slice, Value};

/// Bytes of code of a function that are looked at.
const MOST_BYTES: u64 = 128 << 10;

/// Bytes of the longest instruction.
const LONGEST: usize = 15;

/// Callers that are asked where an argument came from.
const MOST_CALLERS: usize = 4;

/// How the address came about.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// It is, but for an offset or index added, eight bytes that had been loaded.
    Loaded,
    /// It was computed: from what advances in a loop, from an index, or is where it always is.
    Computed,
    /// The code does not tell.
    Undecided,
}

/// What the code tells of an address.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Derivation {
    /// How it came about.
    pub origin: Origin,
    /// For one that was computed: what it was computed from had been loaded, as the beginning of an array.
    pub begins_loaded: bool,
    /// For one that was computed: an index that had been loaded takes part.
    pub is_indexed: bool,
    /// For one that was computed: by nothing but going on evenly in a loop.
    pub advances: bool,
}

impl Derivation {
    /// What the code does not tell.
    pub const UNDECIDED: Self = Self {
        origin: Origin::Undecided,
        begins_loaded: false,
        is_indexed: false,
        advances: false,
    };
    const COMPUTED: Self = Self { origin: Origin::Computed, ..Self::UNDECIDED };

    /// What a value that changes tells.
    fn of(value: Value) -> Self {
        let is_open = value.unknown || value.arguments != 0 || value.indices != 0;
        if value.is_loaded() {
            return Self { origin: Origin::Loaded, ..Self::UNDECIDED };
        }
        if is_open {
            return Self::UNDECIDED;
        }
        let (begins_loaded, is_indexed) = (value.loaded, value.index);
        let advances = value.advanced && !value.computed && !value.index;
        Self { begins_loaded, is_indexed, advances, ..Self::COMPUTED }
    }
}

/// Finds out how addresses came about; code is decoded when it is first needed.
#[derive(Debug)]
pub struct Origins<'a> {
    images: &'a Images,
    functions: HashMap<(u32, u64), Option<Rc<Function>>>,
    known: HashMap<(Vec<Place>, bool), Derivation>,
}

impl<'a> Origins<'a> {
    /// For code of these files.
    pub fn new(images: &'a Images) -> Self {
        Self { images, functions: HashMap::new(), known: HashMap::new() }
    }

    /// How the address came about that an instruction read or wrote. `places` are the instruction, the call from which
    /// its function was called, and so on, as far as that is known.
    pub fn of(&mut self, places: &[Place], write: bool) -> Derivation {
        let places = &places[..places.len().min(1 + MOST_CALLERS)];
        let key = (places.to_vec(), write);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let derivation = self.find(places, write);
        self.known.insert(key, derivation);
        derivation
    }

    fn find(&mut self, places: &[Place], write: bool) -> Derivation {
        let Some((place, callers)) = places.split_first() else { return Derivation::UNDECIDED };
        let Some((function, at)) = self.function(*place) else { return Derivation::UNDECIDED };
        let instruction = function.instruction(at);
        let is_after_call = at > 0 && function.instruction(at - 1).code() == Code::Syscall;
        let (Some(operand), false) = (Operand::of(instruction, write), is_after_call) else {
            return Derivation::UNDECIDED;
        };
        if operand == Operand::Fixed {
            return Derivation::COMPUTED;
        }
        let repeats = instruction.is_string_instruction()
            && (instruction.has_rep_prefix() || instruction.has_repne_prefix());
        let mut search = Search {
            found: repeats.then_some(Derivation { advances: true, ..Derivation::COMPUTED }),
            rest: Value::FIXED,
        };
        let mut open = search.through(&function, at, |slice| match operand {
            Operand::Register(register) => slice.register(register, at),
            _ => slice.address(at),
        });
        for caller in callers {
            let Some(value) = open else { break };
            let Some((function, at)) = self.function(*caller) else { break };
            open = search.through(&function, at, |slice| {
                let registers = |bits: u16| {
                    ARGUMENTS.iter().filter(move |register| bits & 1 << register.number() != 0)
                };
                let arguments = registers(value.arguments).map(|one| (*one, false));
                let indices = registers(value.indices).map(|one| (*one, true));
                arguments.chain(indices).fold(Value::FIXED, |sum, (register, is_index)| {
                    let value = slice.register(register, at);
                    sum.plus(if is_index { value.scaled() } else { value })
                })
            });
        }
        match (search.found, open) {
            (Some(found), _) => found,
            (None, Some(_)) => Derivation::UNDECIDED,
            // What never changes.
            (None, None) => Derivation::COMPUTED,
        }
    }

    /// The function of an instruction, and its number there.
    fn function(&mut self, place: Place) -> Option<(Rc<Function>, usize)> {
        let image = self.images.all().get(place.image as usize)?;
        let range = image.function_range(place.address)?;
        let function = self.functions.entry((place.image, range.start)).or_insert_with(|| {
            let bytes = (range.end - range.start).min(MOST_BYTES);
            let code = image.code(range.start, bytes as usize)?;
            Some(Rc::new(Function::new(&code, range.start)))
        });
        let function = function.clone()?;
        let at = function.at(place.address)?;
        Some((function, at))
    }
}

/// Registers that callers leave to the functions that they call.
const ARGUMENTS: [Register; 12] = [
    Register::RDI,
    Register::RSI,
    Register::RDX,
    Register::RCX,
    Register::R8,
    Register::R9,
    Register::RBX,
    Register::RBP,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];

/// What was found so far, from the smallest loop outwards.
struct Search {
    found: Option<Derivation>,
    /// What takes part besides the arguments that are followed.
    rest: Value,
}

impl Search {
    /// Looks at the loops around an instruction, and at its function as a whole; returns the value there if it depends on
    /// what called the function.
    fn through(
        &mut self,
        function: &Function,
        at: usize,
        value: impl Fn(&mut Slice<'_>) -> Value,
    ) -> Option<Value> {
        let loops = function.loops_of(at).into_iter().map(Some);
        for within in loops.chain([None]) {
            let value = value(&mut Slice::new(function, within)).plus(self.rest);
            let goes_on = within.is_none() && (value.arguments | value.indices) != 0;
            match &mut self.found {
                None if value.is_fixed() => {}
                None if goes_on && !value.is_loaded() => {
                    self.rest = value.without_arguments();
                    return Some(value);
                }
                None => self.found = Some(Derivation::of(value)),
                Some(_) => {}
            }
            match &mut self.found {
                Some(found) if found.origin == Origin::Computed => {
                    found.begins_loaded |= value.loaded;
                    if goes_on && !found.begins_loaded {
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
}

/// What an instruction names memory by.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Operand {
    /// An address of its own, or on the stack.
    Fixed,
    /// A memory operand.
    Memory,
    /// A register, as string instructions do.
    Register(Register),
}

impl Operand {
    fn of(instruction: &Instruction, write: bool) -> Option<Self> {
        if instruction.is_string_instruction() {
            return Some(Self::Register(match instruction.mnemonic() {
                Mnemonic::Movsb | Mnemonic::Movsw | Mnemonic::Movsd | Mnemonic::Movsq => {
                    if write {
                        Register::RDI
                    } else {
                        Register::RSI
                    }
                }
                Mnemonic::Stosb
                | Mnemonic::Stosw
                | Mnemonic::Stosd
                | Mnemonic::Stosq
                | Mnemonic::Scasb
                | Mnemonic::Scasw
                | Mnemonic::Scasd
                | Mnemonic::Scasq => Register::RDI,
                Mnemonic::Lodsb | Mnemonic::Lodsw | Mnemonic::Lodsd | Mnemonic::Lodsq => {
                    Register::RSI
                }
                _ => return None,
            }));
        }
        if !has_memory(instruction) {
            let is_stack = instruction.is_stack_instruction();
            return is_stack.then_some(Self::Fixed);
        }
        let is_fixed = matches!(instruction.segment_prefix(), Register::FS | Register::GS)
            || matches!(instruction.memory_base(), Register::RIP | Register::RSP)
                && instruction.memory_index() == Register::None;
        Some(if is_fixed { Self::Fixed } else { Self::Memory })
    }
}

/// The registers, by their numbers, that may hold the address which an instruction works on, but for an offset.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Holders([Option<u8>; 2]);

impl Holders {
    /// What the instruction in front of this code uses.
    fn of(code: &[u8], write: bool) -> Option<Self> {
        let mut decoder = Decoder::new(64, code, DecoderOptions::NONE);
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            return None;
        }
        let number = |register: Register| register.is_gpr64().then(|| register.number() as u8);
        Some(match Operand::of(&instruction, write)? {
            Operand::Fixed => Self::default(),
            Operand::Register(register) => Self([number(register), None]),
            Operand::Memory => {
                let index = match instruction.memory_index_scale() {
                    1 => number(instruction.memory_index()),
                    _ => None,
                };
                Self([number(instruction.memory_base()), index])
            }
        })
    }

    /// The value of one of them that is closest to an address; registers are given by their numbers.
    pub fn closest(self, registers: &[u64; 16], address: u64) -> Option<u64> {
        let values = self.0.into_iter().flatten();
        let values = values.filter_map(|number| registers.get(usize::from(number)).copied());
        values.min_by_key(|value| value.abs_diff(address))
    }
}

impl Images {
    /// The registers that may hold the address which an instruction reads or writes; `None` if its code is not known.
    pub fn holders(&self, place: Place, write: bool) -> Option<Holders> {
        let code = self.all().get(place.image as usize)?.code(place.address, LONGEST)?;
        Holders::of(&code, write)
    }
}
