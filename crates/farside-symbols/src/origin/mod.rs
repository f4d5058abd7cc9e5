//! How the address that an instruction works on came about: whether it had been loaded from memory, as the next node of a
//! list, or was computed, as the next element of an array.
//!
//! The function of the instruction is decoded from its beginning, and the registers of the address are followed backwards
//! to where their values come from: through moves, additions of offsets and places on the stack. What matters in a loop is
//! what changes from round to round, so that the smallest loop is looked at first in which the address changes. In
//! `for (i = 0; i < n; i++) sum += list->values[i]` the compiler may load `list->values` in each round, but the page that
//! is used next is chosen by `i`: the address is computed. In `node = node->next` it is loaded. If the address does not
//! change in a loop at all, the loop around it decides, then the function, then its callers, as far as they are known.
//! An index chooses the page outside of loops, too, as in `table[hash % size]` with a table that was loaded.
//!
//! A load is what brings other values while the program runs. Not so one from the tables by which code finds what other
//! libraries have, or from other constant memory, or of a thread's own place: these are fixed, as is the stack. A pointer
//! that is kept in a variable, of the program or of a thread, was loaded.
//!
//! What other functions return is not followed, nor what they write to variables on the stack whose address they were
//! given. Neither is a value that goes by way of vector registers.

mod code;
mod flow;
mod operand;
mod search;
mod slice;
#[cfg(test)]
mod tests;
mod value;

use std::collections::HashMap;
use std::rc::Rc;

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, Register};

use crate::images::{Images, Place};
use code::Function;
use operand::Operand;
use search::Search;
use slice::Slice;
use value::Value;

pub use operand::Holders;

/// Bytes of code of a function that is looked at.
const MOST_BYTES: u64 = 128 << 10;

/// Bytes of the longest instruction.
const LONGEST: usize = 15;

/// Callers that are asked where an argument came from.
const MOST_CALLERS: usize = 4;

/// Jumps from where a call goes to the function that is called.
const MOST_JUMPS: usize = 4;

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

/// How the address came about.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// It is, but for a fixed offset, eight bytes that had been loaded.
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
    /// For one that was computed: one of the instruction's own registers is what had been loaded, and the rest an index.
    /// With a small index the page is that of the register.
    pub is_based: bool,
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
        is_based: false,
        is_indexed: false,
        advances: false,
    };
    const COMPUTED: Self = Self { origin: Origin::Computed, ..Self::UNDECIDED };

    /// What a value that changes tells.
    fn of(value: Value) -> Self {
        if value.is_loaded() {
            return Self { origin: Origin::Loaded, ..Self::UNDECIDED };
        }
        let advances = value.advanced && !value.computed && !value.index;
        if value.unknown || value.depends_on_caller() || value.mixed && !advances {
            return Self::UNDECIDED;
        }
        let (begins_loaded, is_indexed) = (value.loaded, value.index);
        Self { begins_loaded, is_indexed, advances, ..Self::COMPUTED }
    }

    fn is_computed(self) -> bool {
        self.origin == Origin::Computed
    }

    /// What is told of the address that the instruction at `at` reads or writes by code alone, a function that begins at
    /// `start`, without what it is called from.
    pub fn in_function(code: &[u8], start: u64, at: u64, write: bool) -> Self {
        let function = Function::new(code, start, |_| false);
        let Some(function) = function.filter(|_| code.len() as u64 <= MOST_BYTES) else {
            return Self::UNDECIDED;
        };
        let Some(at) = function.at(at) else { return Self::UNDECIDED };
        of(&function, at, write, |search, value| search.through(&function, at, |s| value(s)))
    }
}

/// A way to a value that is followed back.
type Followed<'a> = &'a dyn Fn(&mut Slice<'_>) -> Value;

/// How the address of an instruction came about, if `follow` looks as far as is known; it returns what depends on more.
fn of(
    function: &Function,
    at: usize,
    write: bool,
    mut follow: impl FnMut(&mut Search, Followed<'_>) -> Option<Value>,
) -> Derivation {
    let instruction = function.instruction(at);
    let is_after_call = at > 0 && function.instruction(at - 1).code() == Code::Syscall;
    let (Some(operand), false) = (Operand::of(instruction, write), is_after_call) else {
        return Derivation::UNDECIDED;
    };
    if operand == Operand::Fixed {
        return Derivation::COMPUTED;
    }
    let mut search = |found, value: Followed<'_>| {
        let mut search = Search::new(found);
        let open = follow(&mut search, value);
        search.end(open)
    };
    let repeats = instruction.is_string_instruction()
        && (instruction.has_rep_prefix() || instruction.has_repne_prefix());
    let found = repeats.then_some(Derivation { advances: true, ..Derivation::COMPUTED });
    let whole = match operand {
        Operand::Register(register) => search(found, &|slice| slice.register(register, at)),
        _ => search(found, &|slice| slice.address(at)),
    };
    let has_index = operand == Operand::Memory && instruction.memory_index() != Register::None;
    let mut is_loaded = |register: Register| {
        search(None, &|slice| slice.register(register, at)).origin == Origin::Loaded
    };
    let is_based = whole.is_computed()
        && whole.begins_loaded
        && has_index
        && operand.bases(instruction).into_iter().flatten().any(&mut is_loaded);
    Derivation { is_based, ..whole }
}

/// Finds out how addresses came about; code is decoded when it is first needed.
#[derive(Debug)]
pub struct Origins<'a> {
    images: &'a Images,
    functions: HashMap<(u32, u64), Option<Rc<Function>>>,
    known: HashMap<(Vec<Place>, bool), Derivation>,
}

/// An instruction in a function.
#[derive(Clone, Debug)]
struct Located {
    function: Rc<Function>,
    at: usize,
    image: u32,
    /// Where the function begins.
    start: u64,
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
        let Some(first) = self.locate(*place) else { return Derivation::UNDECIDED };
        of(&first.function, first.at, write, |search, value| {
            let mut open = search.through(&first.function, first.at, value);
            let mut callee = first.clone();
            for caller in callers {
                let Some(value) = open else { break };
                let Some(caller) = self.locate(*caller) else { break };
                if !self.calls(&caller, &callee) {
                    break;
                }
                open = search.through(&caller.function, caller.at, |slice| {
                    handed_on(value, slice, caller.at)
                });
                callee = caller;
            }
            open
        })
    }

    /// The function of an instruction, and its number there.
    fn locate(&mut self, place: Place) -> Option<Located> {
        let image = self.images.all().get(place.image as usize)?;
        let range = image.function_range(place.address)?;
        let (start, bytes) = (range.start, range.end.checked_sub(range.start)?);
        let function = self.functions.entry((place.image, start)).or_insert_with(|| {
            let code = (bytes <= MOST_BYTES).then(|| image.code(start, bytes as usize))??;
            Function::new(&code, start, |address| image.is_constant(address)).map(Rc::new)
        });
        let function = function.clone()?;
        let at = function.at(place.address)?;
        Some(Located { function, at, image: place.image, start })
    }

    /// Whether an instruction calls a function directly, as far as can be known: if not, another function in between has
    /// gone, and with it what its arguments were.
    fn calls(&self, caller: &Located, callee: &Located) -> bool {
        let call = caller.function.instruction(caller.at);
        match call.flow_control() {
            FlowControl::IndirectCall => true,
            FlowControl::Call => {
                // What is called in another file is called by way of a table.
                caller.image != callee.image
                    || self.leads_to(caller.image, call.near_branch_target(), callee.start)
            }
            _ => false,
        }
    }

    /// Whether code at an address is a function, or does nothing but jump to it.
    fn leads_to(&self, image: u32, mut address: u64, start: u64) -> bool {
        let code = |address| self.images.all().get(image as usize)?.code(address, 2 * LONGEST);
        for _ in 0..=MOST_JUMPS {
            if address == start {
                return true;
            }
            let Some(code) = code(address) else { return false };
            let mut decoder = Decoder::with_ip(64, &code, address, DecoderOptions::NONE);
            let mark = |one: &Instruction| one.mnemonic() == Mnemonic::Endbr64;
            let Some(jump) = decoder.iter().find(|one| !mark(one)) else { return false };
            match jump.flow_control() {
                FlowControl::UnconditionalBranch => address = jump.near_branch_target(),
                FlowControl::IndirectBranch => return jump.is_ip_rel_memory_operand(),
                _ => return false,
            }
        }
        false
    }
}

/// What a caller had in the registers of arguments, from which the function that it calls made a value.
fn handed_on(value: Value, slice: &mut Slice<'_>, at: usize) -> Value {
    let of =
        |bits: u16| ARGUMENTS.iter().filter(move |register| bits & 1 << register.number() != 0);
    let mut sum = Value::FIXED;
    for register in of(value.arguments) {
        sum = sum.plus(slice.register(*register, at));
    }
    for register in of(value.indices) {
        sum = sum.plus(slice.register(*register, at).scaled());
    }
    sum
}

impl Images {
    /// The registers that may hold the address which an instruction reads or writes; `None` if its code is not known.
    pub fn holders(&self, place: Place, write: bool) -> Option<Holders> {
        let code = self.all().get(place.image as usize)?.code(place.address, LONGEST)?;
        Holders::of(&code, write)
    }
}
