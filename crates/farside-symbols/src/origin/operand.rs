//! By what an instruction names the memory that it works on.

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, Register};

use super::code::{has_memory, is_of_thread};

/// What an instruction names memory by.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// An address of its own, one of its thread's, or one on the stack.
    Fixed,
    /// A memory operand.
    Memory,
    /// A register, as string instructions do.
    Register(Register),
}

impl Operand {
    /// Of the memory that an instruction reads, or writes to; `None` if that is not known.
    pub fn of(instruction: &Instruction, write: bool) -> Option<Self> {
        if instruction.is_string_instruction() {
            return string_register(instruction.mnemonic(), write).map(Self::Register);
        }
        let is_stack = instruction.is_stack_instruction();
        if !has_memory(instruction) {
            return is_stack.then_some(Self::Fixed);
        }
        // What is pushed may be far, where it is pushed to may be, too; what is popped comes from the stack.
        let is_pop = instruction.mnemonic() == Mnemonic::Pop;
        let is_fixed = is_of_thread(instruction)
            || is_stack && write != is_pop
            || matches!(instruction.memory_base(), Register::RIP | Register::RSP | Register::None)
                && instruction.memory_index() == Register::None;
        Some(if is_fixed { Self::Fixed } else { Self::Memory })
    }

    /// Registers of an instruction, each of which may hold the address by itself, but for an offset or an index.
    pub fn bases(self, instruction: &Instruction) -> [Option<Register>; 2] {
        let whole = |register: Register| register.is_gpr64().then_some(register);
        match self {
            Self::Fixed => [None; 2],
            Self::Register(register) => [whole(register), None],
            Self::Memory => {
                let is_plain = instruction.memory_index_scale() == 1;
                let index = whole(instruction.memory_index()).filter(|_| is_plain);
                [whole(instruction.memory_base()), index]
            }
        }
    }
}

/// The register by which a string instruction names what it reads, or writes to.
fn string_register(mnemonic: Mnemonic, write: bool) -> Option<Register> {
    match mnemonic {
        Mnemonic::Movsb | Mnemonic::Movsw | Mnemonic::Movsd | Mnemonic::Movsq => {
            Some(if write { Register::RDI } else { Register::RSI })
        }
        Mnemonic::Stosb | Mnemonic::Stosw | Mnemonic::Stosd | Mnemonic::Stosq => {
            Some(Register::RDI)
        }
        Mnemonic::Scasb | Mnemonic::Scasw | Mnemonic::Scasd | Mnemonic::Scasq => {
            Some(Register::RDI)
        }
        Mnemonic::Lodsb | Mnemonic::Lodsw | Mnemonic::Lodsd | Mnemonic::Lodsq => {
            Some(Register::RSI)
        }
        // One that compares reads at both of its registers.
        _ => None,
    }
}

/// The registers, by their numbers, that may hold the address which an instruction works on, but for an offset.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Holders([Option<u8>; 2]);

impl Holders {
    /// What the instruction in front of this code uses; `None` if it is none, or one of which that is not known.
    pub fn of(code: &[u8], write: bool) -> Option<Self> {
        let mut decoder = Decoder::new(64, code, DecoderOptions::NONE);
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            return None;
        }
        let bases = Operand::of(&instruction, write)?.bases(&instruction);
        Some(Self(bases.map(|register| register.map(|register| register.number() as u8))))
    }

    /// The value of one of them that is closest to an address; registers are given by their numbers.
    pub fn closest(self, registers: &[u64; 16], address: u64) -> Option<u64> {
        let values = self.0.into_iter().flatten();
        let values = values.filter_map(|number| registers.get(usize::from(number)).copied());
        values.min_by_key(|value| value.abs_diff(address))
    }
}
