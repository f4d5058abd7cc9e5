//! What a value is made of, as the instructions before its use show: a slice backwards through a function.

use std::collections::HashSet;

use iced_x86::{Instruction, Mnemonic, OpKind, Register};

use super::ARGUMENTS;
use super::code::{Function, Variable, is_call, is_of_thread};
use super::flow::Loop;
use super::value::Value;

/// Steps of one slice.
const MOST_STEPS: usize = 400_000;

/// Definitions that one value is followed through.
const DEEPEST: usize = 64;

/// Goes backwards through a function, as far as one round of a loop or, without, to its beginning.
#[derive(Debug)]
pub struct Slice<'a> {
    function: &'a Function,
    within: Option<&'a Loop>,
    /// Definitions that are being looked at.
    open: Vec<(Variable, usize)>,
    steps: usize,
}

/// Who may have written to a variable last.
struct Writers {
    instructions: Vec<usize>,
    /// Whether nobody may have, since the function began.
    untouched: bool,
    /// Whether there are ways on which the function came there from where nobody knows.
    unknown: bool,
}

impl<'a> Slice<'a> {
    /// A slice within a loop, or the whole function.
    pub fn new(function: &'a Function, within: Option<&'a Loop>) -> Self {
        Self { function, within, open: Vec::new(), steps: 0 }
    }

    /// The value of a register before an instruction.
    pub fn register(&mut self, register: Register, at: usize) -> Value {
        let register = register.full_register();
        match register {
            Register::None | Register::RIP => Value::FIXED,
            _ if self.function.is_stack(register) => Value::FIXED,
            _ if !register.is_gpr64() => Value::UNKNOWN,
            _ => {
                let first = match ARGUMENTS.contains(&register) {
                    true => Value::argument(register.number()),
                    false => Value::UNKNOWN,
                };
                self.variable(Variable::Register(register), at, first)
            }
        }
    }

    /// The address of the memory operand of an instruction.
    pub fn address(&mut self, at: usize) -> Value {
        let instruction = self.function.instruction(at);
        let base = self.register(instruction.memory_base(), at);
        let index = match instruction.memory_index() {
            Register::None => Value::FIXED,
            // Gathered by a vector.
            index if !index.is_gpr() => Value::INDEX,
            index => self.register(index, at),
        };
        let scaled = if instruction.memory_index_scale() > 1 { index.scaled() } else { index };
        base.plus(scaled)
    }

    /// The value of a variable before an instruction: either of all that may have been written to it last, and `first` if
    /// that may be nothing.
    fn variable(&mut self, variable: Variable, at: usize, first: Value) -> Value {
        let depth = self.open.len();
        if depth == DEEPEST {
            return Value::UNKNOWN;
        }
        let Some(mut writers) = self.writers(variable, at) else { return Value::UNKNOWN };
        if let Some(within) = self.within {
            // What a loop writes is what it uses, but for its first round.
            writers.instructions.retain(|writer| within.holds(*writer));
            (writers.untouched, writers.unknown) = (false, false);
        }
        let mut value: Option<Value> = writers.untouched.then_some(first);
        let mut add = |written: Value| {
            value = Some(value.map_or(written, |value| value.either(written)));
        };
        if writers.unknown {
            add(Value::UNKNOWN);
        }
        for writer in writers.instructions {
            let entry = (variable, writer);
            match self.open.iter().position(|open| *open == entry) {
                Some(definition) => add(Value::cycle(definition)),
                None => {
                    self.open.push(entry);
                    let written = self.written(variable, writer);
                    self.open.pop();
                    add(written.closed(depth));
                }
            }
        }
        value.unwrap_or(Value::FIXED)
    }

    /// Who may have written to a variable last; `None` if it takes too long to tell.
    fn writers(&mut self, variable: Variable, at: usize) -> Option<Writers> {
        let mut writers = Writers { instructions: Vec::new(), untouched: false, unknown: false };
        let (mut seen, mut open) = (HashSet::new(), vec![at]);
        while let Some(index) = open.pop() {
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return None;
            }
            let before = self.function.before(index);
            writers.untouched |= index == 0;
            // As where exceptions are caught.
            writers.unknown |= index != 0 && before.is_empty();
            for &before in before {
                if !seen.insert(before) {
                    continue;
                }
                match self.function.is_written(before, variable) {
                    true => writers.instructions.push(before),
                    false => open.push(before),
                }
            }
        }
        Some(writers)
    }

    /// What an instruction loads.
    fn load(&mut self, at: usize) -> Value {
        let instruction = self.function.instruction(at);
        let read = Value::read(instruction.memory_size().size());
        let is_thread_itself = is_of_thread(instruction)
            && instruction.memory_base() == Register::None
            && instruction.memory_index() == Register::None
            && instruction.memory_displacement64() == 0;
        if is_thread_itself || self.function.is_constant(at) {
            return Value::FIXED;
        }
        match self.function.named(at) {
            // Arguments that came on the stack, and what others wrote to places that they were told of.
            Some(slot @ Variable::Slot { .. }) => return self.variable(slot, at, Value::UNKNOWN),
            Some(named) => return self.variable(named, at, read),
            None if self.function.is_on_stack(at) => return Value::UNKNOWN,
            None => {}
        }
        let Some(within) = self.within else { return read };
        let is_same = self.address(at).is_fixed() && !self.is_stored(within, instruction);
        if is_same { Value::FIXED } else { read }
    }

    /// Whether a loop stores to the very place that an instruction loads from.
    fn is_stored(&mut self, within: &Loop, load: &Instruction) -> bool {
        let place = |one: &Instruction| {
            (one.memory_base(), one.memory_index(), one.memory_displacement64())
        };
        let stores = self.function.stores();
        self.steps += stores.len();
        stores.iter().any(|index| {
            within.holds(*index) && place(self.function.instruction(*index)) == place(load)
        })
    }

    /// The value of an operand.
    fn operand(&mut self, at: usize, number: u32) -> Value {
        let instruction = self.function.instruction(at);
        match instruction.op_kind(number) {
            OpKind::Register => {
                let register = instruction.op_register(number);
                let value = self.register(register, at);
                if register.size() < 8 { value.narrowed() } else { value }
            }
            OpKind::Memory => self.load(at),
            _ => Value::FIXED,
        }
    }

    /// What an instruction writes to a variable.
    fn written(&mut self, variable: Variable, at: usize) -> Value {
        let instruction = self.function.instruction(at);
        if is_call(instruction) || !self.function.is_written_whole(at, variable) {
            return Value::UNKNOWN;
        }
        if instruction.is_string_instruction() {
            return match instruction.mnemonic() {
                Mnemonic::Lodsq if variable == Variable::Register(Register::RAX) => Value::read(8),
                Mnemonic::Lodsb | Mnemonic::Lodsw | Mnemonic::Lodsd
                    if variable == Variable::Register(Register::RAX) =>
                {
                    Value::INDEX
                }
                _ => self.before(variable, at).plus(Value::ADVANCED),
            };
        }
        let is_first = match variable {
            Variable::Register(register) => {
                instruction.op0_kind() == OpKind::Register
                    && instruction.op0_register().full_register() == register
            }
            _ => instruction.op0_kind() == OpKind::Memory,
        };
        let value = match instruction.mnemonic() {
            Mnemonic::Cdqe | Mnemonic::Cwde => return self.before(variable, at).narrowed(),
            Mnemonic::Xchg => return self.operand(at, u32::from(is_first)),
            Mnemonic::Push => return self.operand(at, 0),
            _ if !is_first => return Value::COMPUTED,
            _ => self.result(variable, at),
        };
        let is_whole = match instruction.op0_kind() {
            OpKind::Register => instruction.op0_register().size() == 8,
            _ => instruction.memory_size().size() == 8,
        };
        if is_whole { value } else { value.narrowed() }
    }

    /// What an instruction makes of its operands.
    fn result(&mut self, variable: Variable, at: usize) -> Value {
        let instruction = self.function.instruction(at);
        let is_same = instruction.op_count() == 2
            && instruction.op1_kind() == OpKind::Register
            && instruction.op0_register() == instruction.op1_register();
        let constant = instruction.try_immediate(1).ok().map(|number| number as i64);
        match instruction.mnemonic() {
            Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsx | Mnemonic::Movsxd => {
                match instruction.op1_kind() {
                    OpKind::Register if !instruction.op1_register().is_gpr() => Value::UNKNOWN,
                    _ => self.operand(at, 1),
                }
            }
            // By way of a vector.
            Mnemonic::Movd | Mnemonic::Movq | Mnemonic::Pop => Value::UNKNOWN,
            Mnemonic::Lea => self.address(at),
            Mnemonic::Add => self.before(variable, at).plus(self.operand(at, 1)),
            Mnemonic::Sub | Mnemonic::Xor if is_same => Value::FIXED,
            Mnemonic::Sub => self.before(variable, at).plus(self.operand(at, 1).scaled()),
            Mnemonic::Inc | Mnemonic::Dec => self.before(variable, at).plus(Value::FIXED),
            // What clears upper bits leaves no address.
            Mnemonic::And if constant.is_some_and(|mask| mask >= 0) => {
                self.before(variable, at).narrowed()
            }
            Mnemonic::And | Mnemonic::Or if constant.is_some() => self.before(variable, at),
            Mnemonic::Shl | Mnemonic::Sal | Mnemonic::Shr | Mnemonic::Sar if constant.is_some() => {
                self.before(variable, at).scaled()
            }
            // By as many bits as a register says.
            Mnemonic::Shl | Mnemonic::Sal | Mnemonic::Shr | Mnemonic::Sar => {
                self.before(variable, at).processed()
            }
            Mnemonic::Shlx | Mnemonic::Shrx | Mnemonic::Sarx => self.operand(at, 1).processed(),
            Mnemonic::And => {
                self.before(variable, at).processed().plus(self.operand(at, 1).processed())
            }
            Mnemonic::Imul if instruction.op_count() == 3 => self.operand(at, 1).scaled(),
            Mnemonic::Imul if instruction.op_count() == 2 => {
                let factor = self.operand(at, 1).scaled();
                self.before(variable, at).scaled().plus(factor).plus(Value::COMPUTED)
            }
            Mnemonic::Neg | Mnemonic::Not => self.before(variable, at).scaled(),
            _ if is_conditional_move(instruction) => {
                self.before(variable, at).either(self.operand(at, 1))
            }
            _ => Value::COMPUTED,
        }
    }

    /// What a variable held before an instruction that changes it.
    fn before(&mut self, variable: Variable, at: usize) -> Value {
        match variable {
            Variable::Register(register) => self.register(register, at),
            Variable::Slot { .. } => self.variable(variable, at, Value::UNKNOWN),
            Variable::Global(_) => {
                let bytes = self.function.instruction(at).memory_size().size();
                self.variable(variable, at, Value::read(bytes))
            }
        }
    }
}

fn is_conditional_move(instruction: &Instruction) -> bool {
    use Mnemonic::{
        Cmova, Cmovae, Cmovb, Cmovbe, Cmove, Cmovg, Cmovge, Cmovl, Cmovle, Cmovne, Cmovno, Cmovnp,
        Cmovns, Cmovo, Cmovp, Cmovs,
    };
    let moves = [
        Cmova, Cmovae, Cmovb, Cmovbe, Cmove, Cmovg, Cmovge, Cmovl, Cmovle, Cmovne, Cmovno, Cmovnp,
        Cmovns, Cmovo, Cmovp, Cmovs,
    ];
    moves.contains(&instruction.mnemonic())
}
