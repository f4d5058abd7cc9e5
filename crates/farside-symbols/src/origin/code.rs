//! The code of a function: its instructions, and what each of them writes to.

use std::collections::HashSet;

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic,
    OpAccess, OpKind, Register,
};

use super::flow::{Flow, Loop};

/// Registers in which a call returns something. Others are used after it only if the compiler knew that they keep
/// their values.
const RETURNED: [Register; 2] = [Register::RAX, Register::RDX];

/// Instructions at the beginning of a function that set its frame up.
const PROLOGUE: usize = 16;

/// What holds a value by name.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Variable {
    /// A whole register.
    Register(Register),
    /// So many bytes of the stack, from where the stack pointer stood at the beginning.
    Slot { offset: i64, bytes: i64 },
    /// A place with a fixed address.
    Global(u64),
}

impl Variable {
    /// Whether what is written to one of them is part of the other.
    fn overlaps(self, other: Self) -> bool {
        match (self, other) {
            (Self::Slot { offset, bytes }, Self::Slot { offset: other, bytes: others }) => {
                offset < other + others && other < offset + bytes
            }
            _ => self == other,
        }
    }
}

/// A function.
#[derive(Debug)]
pub struct Function {
    instructions: Vec<Instruction>,
    flow: Flow,
    /// What each writes to.
    written: Vec<Vec<Variable>>,
    /// Those that write to memory by an operand.
    stores: Vec<usize>,
    /// Bytes by which the stack pointer is below where it was at the beginning, where that is known.
    height: Vec<Option<i64>>,
    /// The same for the frame pointer, if there is one.
    frame: Option<i64>,
    /// Places on the stack whose address was taken, so that who is called may write to them.
    taken: HashSet<i64>,
    /// Those that load what does not change while a program runs.
    constant: Vec<bool>,
}

impl Function {
    /// Decodes code that begins at `start`, in a file in which memory at these addresses is constant. `None` if it makes
    /// no sense.
    pub fn new(code: &[u8], start: u64, is_constant: impl Fn(u64) -> bool) -> Option<Self> {
        start.checked_add(code.len() as u64)?;
        let decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
        let instructions: Vec<_> = decoder.into_iter().collect();
        let flow = Flow::new(&instructions)?;
        let height = heights(&instructions, &flow);
        let frame = frame(&instructions, &height);
        let constant = instructions
            .iter()
            .map(|one| is_ip_relative(one) && is_constant(one.memory_displacement64()))
            .collect();
        let (written, stores, taken) = (Vec::new(), Vec::new(), HashSet::new());
        let mut function =
            Self { instructions, flow, written, stores, height, frame, taken, constant };
        let mut factory = InstructionInfoFactory::new();
        for index in 0..function.instructions.len() {
            let written = function.writes(index, &mut factory);
            function.written.push(written);
            let taken = function.takes(index);
            function.taken.extend(taken);
        }
        Some(function)
    }

    /// The number of the instruction that holds an address.
    pub fn at(&self, address: u64) -> Option<usize> {
        let index = self.instructions.partition_point(|one| one.next_ip() <= address);
        let instruction = self.instructions.get(index)?;
        (instruction.ip() <= address && !instruction.is_invalid()).then_some(index)
    }

    /// The instruction with this number.
    pub fn instruction(&self, index: usize) -> &Instruction {
        &self.instructions[index]
    }

    /// What may come right before an instruction.
    pub fn before(&self, index: usize) -> &[usize] {
        self.flow.before(index)
    }

    /// The loops that an instruction is in, the smallest first.
    pub fn loops_of(&self, index: usize) -> Vec<&Loop> {
        self.flow.loops_of(index)
    }

    /// Whether an instruction writes to a variable, or to a part of it.
    pub fn is_written(&self, index: usize, variable: Variable) -> bool {
        let Some(written) = self.written.get(index) else { return false };
        let by_callee = match variable {
            Variable::Slot { offset, .. } => self.taken.contains(&offset),
            _ => false,
        };
        written.iter().any(|one| one.overlaps(variable))
            || by_callee && is_call(&self.instructions[index])
    }

    /// Whether an instruction writes to a variable as a whole.
    pub fn is_written_whole(&self, index: usize, variable: Variable) -> bool {
        self.written.get(index).is_some_and(|written| written.contains(&variable))
    }

    /// Instructions that write to memory.
    pub fn stores(&self) -> &[usize] {
        &self.stores
    }

    /// Whether an instruction loads what does not change.
    pub fn is_constant(&self, index: usize) -> bool {
        self.constant[index]
    }

    /// Whether the memory operand of an instruction is a place on the stack by itself.
    pub fn is_on_stack(&self, index: usize) -> bool {
        let instruction = &self.instructions[index];
        self.is_stack(instruction.memory_base()) && instruction.memory_index() == Register::None
    }

    /// The variable that the memory operand of an instruction is, if it has a name.
    pub fn named(&self, index: usize) -> Option<Variable> {
        let instruction = &self.instructions[index];
        if instruction.memory_index() != Register::None || is_of_thread(instruction) {
            return None;
        }
        match instruction.memory_base() {
            Register::RIP | Register::None => {
                Some(Variable::Global(instruction.memory_displacement64()))
            }
            base => {
                let bytes = instruction.memory_size().size() as i64;
                self.offset(index, base).map(|offset| Variable::Slot { offset, bytes })
            }
        }
    }

    /// Where the memory operand of an instruction lies on the stack, if `base` is a pointer to the stack.
    fn offset(&self, index: usize, base: Register) -> Option<i64> {
        let below = match base {
            Register::RSP => self.height[index]?,
            Register::RBP => self.frame?,
            _ => return None,
        };
        Some((self.instructions[index].memory_displacement64() as i64).wrapping_sub(below))
    }

    /// Whether a register is where the stack is.
    pub fn is_stack(&self, register: Register) -> bool {
        register == Register::RSP || register == Register::RBP && self.frame.is_some()
    }

    fn writes(&mut self, index: usize, factory: &mut InstructionInfoFactory) -> Vec<Variable> {
        let instruction = &self.instructions[index];
        let is_write = |access: OpAccess| {
            matches!(
                access,
                OpAccess::Write
                    | OpAccess::CondWrite
                    | OpAccess::ReadWrite
                    | OpAccess::ReadCondWrite
            )
        };
        let info = factory.info(instruction);
        let used = info.used_registers().iter().filter(|used| is_write(used.access()));
        let mut written: Vec<_> =
            used.map(|used| Variable::Register(used.register().full_register())).collect();
        let stores = info.used_memory().iter().any(|used| is_write(used.access()));
        if stores && has_memory(instruction) {
            written.extend(self.named(index));
            self.stores.push(index);
        } else if stores && instruction.mnemonic() == Mnemonic::Push {
            let bytes = i64::from(instruction.stack_pointer_increment()).abs();
            let offset = self.height[index].map(|height| -height - bytes);
            written.extend(offset.map(|offset| Variable::Slot { offset, bytes }));
        }
        if is_call(instruction) {
            written.extend(RETURNED.map(Variable::Register));
        }
        written
    }

    /// The place on the stack whose address an instruction takes.
    fn takes(&self, index: usize) -> Option<i64> {
        let instruction = &self.instructions[index];
        let is_stack = |register| self.is_stack(register);
        match instruction.mnemonic() {
            Mnemonic::Lea if self.is_on_stack(index) && !is_stack(instruction.op0_register()) => {
                self.offset(index, instruction.memory_base())
            }
            Mnemonic::Mov
                if instruction.op1_register() == Register::RSP
                    && !is_stack(instruction.op0_register()) =>
            {
                self.height[index].map(|height| -height)
            }
            _ => None,
        }
    }
}

/// Whether it names memory by an operand.
pub fn has_memory(instruction: &Instruction) -> bool {
    (0..instruction.op_count()).any(|number| instruction.op_kind(number) == OpKind::Memory)
}

/// Whether it names memory of its thread, from where the thread's own memory begins.
pub fn is_of_thread(instruction: &Instruction) -> bool {
    matches!(instruction.memory_segment(), Register::FS | Register::GS)
}

fn is_ip_relative(instruction: &Instruction) -> bool {
    has_memory(instruction) && instruction.is_ip_rel_memory_operand()
}

/// Whether it calls, so that what follows comes after other code.
pub fn is_call(instruction: &Instruction) -> bool {
    matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall)
        || instruction.code() == Code::Syscall
}

/// How far the frame pointer is below where the stack pointer was at the beginning.
fn frame(instructions: &[Instruction], height: &[Option<i64>]) -> Option<i64> {
    let sets_up = |instruction: &Instruction| {
        instruction.mnemonic() == Mnemonic::Mov
            && instruction.op0_register() == Register::RBP
            && instruction.op1_register() == Register::RSP
    };
    height[instructions.iter().take(PROLOGUE).position(sets_up)?]
}

/// How far the stack pointer is below where it was at the beginning, before each instruction.
fn heights(instructions: &[Instruction], flow: &Flow) -> Vec<Option<i64>> {
    let mut heights: Vec<Option<i64>> = vec![None; instructions.len() + 1];
    heights[0] = Some(0);
    let mut open = vec![0];
    while let Some(index) = open.pop() {
        let after = match instructions.get(index) {
            Some(instruction) => heights[index].and_then(|height| below(instruction, height)),
            None => heights[index],
        };
        let Some(height) = after else { continue };
        for next in flow.after(index) {
            if heights[*next].is_none() {
                heights[*next] = Some(height);
                open.push(*next);
            }
        }
    }
    heights
}

/// How far it is after an instruction; `None` if that depends.
fn below(instruction: &Instruction, height: i64) -> Option<i64> {
    let is_stack =
        instruction.op0_kind() == OpKind::Register && instruction.op0_register() == Register::RSP;
    let constant = || instruction.try_immediate(1).ok().map(|number| number as i64);
    match instruction.mnemonic() {
        Mnemonic::Add if is_stack => height.checked_sub(constant()?),
        Mnemonic::Sub if is_stack => height.checked_add(constant()?),
        Mnemonic::Lea if is_stack => {
            let is_near = instruction.memory_base() == Register::RSP
                && instruction.memory_index() == Register::None;
            let offset = instruction.memory_displacement64() as i64;
            is_near.then(|| height.checked_sub(offset)).flatten()
        }
        Mnemonic::Cmp | Mnemonic::Test => Some(height),
        Mnemonic::Push => Some(height - i64::from(instruction.stack_pointer_increment())),
        Mnemonic::Pop if !is_stack => {
            Some(height - i64::from(instruction.stack_pointer_increment()))
        }
        Mnemonic::Leave | Mnemonic::Enter => None,
        _ if is_stack => None,
        // The one who is called returns.
        _ => Some(height),
    }
}
