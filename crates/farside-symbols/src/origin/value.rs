//! What a value is made of, as the instructions before its use show: a slice backwards through a function.

use iced_x86::{Instruction, Mnemonic, OpKind, Register};

use super::code::{Function, Loop, Variable, is_call};

/// Steps of one slice.
const MOST_STEPS: usize = 400_000;

/// What takes part in a value. With nothing at all it is fixed: a constant, the stack's place, or what a loop does not
/// change.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Value {
    /// Eight bytes that were loaded from memory, added with at most an offset.
    pub loaded: bool,
    /// Something loaded that was scaled, or is smaller than an address.
    pub index: bool,
    /// What goes on by a constant with each round of a loop.
    pub advanced: bool,
    /// The result of other computations.
    pub computed: bool,
    /// What other functions return, and what is not followed.
    pub unknown: bool,
    /// There are several ways to it, of which some are loads and some are not.
    pub mixed: bool,
    /// The value itself, one round before.
    cycle: bool,
    /// Registers that hold an address when the function begins, as bits by their numbers.
    pub arguments: u16,
    /// The same for those that hold something to be scaled.
    pub indices: u16,
}

impl Value {
    /// What nobody knows.
    pub const UNKNOWN: Self = Self { unknown: true, ..Self::FIXED };

    /// What does not change.
    pub const FIXED: Self = Self {
        loaded: false,
        index: false,
        advanced: false,
        computed: false,
        unknown: false,
        mixed: false,
        cycle: false,
        arguments: 0,
        indices: 0,
    };

    const COMPUTED: Self = Self { computed: true, ..Self::FIXED };
    const CYCLE: Self = Self { cycle: true, ..Self::FIXED };

    /// Whether nothing takes part that changes.
    pub fn is_fixed(self) -> bool {
        self == Self::FIXED
    }

    /// Whether it is something that was loaded, whichever way it came about.
    pub fn is_loaded(self) -> bool {
        self.loaded && !self.mixed
    }

    /// What takes part besides arguments.
    pub fn without_arguments(self) -> Self {
        Self { arguments: 0, indices: 0, ..self }
    }

    /// Something read from memory, of so many bytes.
    fn read(bytes: usize) -> Self {
        match bytes {
            8 => Self { loaded: true, ..Self::FIXED },
            _ => Self { index: true, ..Self::FIXED },
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            loaded: self.loaded | other.loaded,
            index: self.index | other.index,
            advanced: self.advanced | other.advanced,
            computed: self.computed | other.computed,
            unknown: self.unknown | other.unknown,
            mixed: self.mixed | other.mixed,
            cycle: self.cycle | other.cycle,
            arguments: self.arguments | other.arguments,
            indices: self.indices | other.indices,
        }
    }

    /// The sum of two.
    pub fn plus(self, other: Self) -> Self {
        let both = self.or(other);
        if !both.cycle {
            return both;
        }
        let step = if self.cycle { other } else { self };
        // What is added in each round makes it go on evenly, if it is always the same.
        match step.is_fixed() {
            true => Self { cycle: false, advanced: true, ..both },
            false => Self { cycle: false, computed: true, loaded: false, index: true, ..both },
        }
    }

    /// Either of two.
    fn either(self, other: Self) -> Self {
        let is_other = |one: Self| !one.loaded && !Self { cycle: false, ..one }.is_fixed();
        let mixed = self.loaded && is_other(other) || other.loaded && is_other(self);
        let both = self.or(other);
        Self { mixed: both.mixed | mixed, ..both }
    }

    /// A multiple, or a part.
    pub fn scaled(self) -> Self {
        Self {
            loaded: false,
            index: self.index | self.loaded,
            arguments: 0,
            indices: self.indices | self.arguments,
            ..self
        }
    }
}

/// Goes backwards through a function, as far as one round of a loop or, without, to its beginning.
#[derive(Debug)]
pub struct Slice<'a> {
    function: &'a Function,
    within: Option<&'a Loop>,
    /// Definitions that are being looked at.
    open: Vec<(Variable, usize)>,
    steps: usize,
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
                let argument = Value { arguments: 1 << register.number(), ..Value::FIXED };
                self.variable(Variable::Register(register), at, argument)
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
            index if !index.is_gpr() => Value { index: true, ..Value::FIXED },
            index => self.register(index, at),
        };
        let scaled = if instruction.memory_index_scale() > 1 { index.scaled() } else { index };
        base.plus(scaled)
    }

    /// The value of a variable before an instruction: either of all that may have been written to it last, and `first` if
    /// that may be nothing.
    fn variable(&mut self, variable: Variable, at: usize, first: Value) -> Value {
        let Some((mut writers, mut untouched)) = self.writers(variable, at) else {
            return Value::UNKNOWN;
        };
        if let Some(within) = self.within {
            // What a loop writes is what it uses, but for its first round.
            writers.retain(|writer| within.holds(*writer));
            untouched = false;
        }
        let mut value: Option<Value> = untouched.then_some(first);
        for writer in writers {
            let entry = (variable, writer);
            let written = match self.open.contains(&entry) {
                true => Value::CYCLE,
                false => {
                    self.open.push(entry);
                    let written = self.written(variable, writer);
                    self.open.pop();
                    written
                }
            };
            value = Some(value.map_or(written, |value| value.either(written)));
        }
        let value = value.unwrap_or(Value::FIXED);
        match self.open.is_empty() {
            true => Value { cycle: false, ..value },
            false => value,
        }
    }

    /// Who may have written to a variable last, and whether nobody may have; `None` if that takes too long.
    fn writers(&mut self, variable: Variable, at: usize) -> Option<(Vec<usize>, bool)> {
        let (mut writers, mut untouched) = (Vec::new(), false);
        let (mut seen, mut open) = (std::collections::HashSet::new(), vec![at]);
        while let Some(index) = open.pop() {
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return None;
            }
            untouched |= index == 0 || self.function.before(index).is_empty();
            for &before in self.function.before(index) {
                if !seen.insert(before) {
                    continue;
                }
                match self.function.is_written(before, variable) {
                    true => writers.push(before),
                    false => open.push(before),
                }
            }
        }
        Some((writers, untouched))
    }

    /// What an instruction loads.
    fn load(&mut self, at: usize) -> Value {
        let instruction = self.function.instruction(at);
        let read = Value::read(instruction.memory_size().size());
        if let Some(named) = self.function.named(at) {
            return self.variable(named, at, read);
        }
        let Some(within) = self.within else { return read };
        let is_same = self.address(at).is_fixed() && !self.is_stored(within, instruction);
        if is_same { Value::FIXED } else { read }
    }

    /// Whether a loop stores to the very place that an instruction loads from.
    fn is_stored(&self, within: &Loop, load: &Instruction) -> bool {
        let place = |one: &Instruction| {
            (one.memory_base(), one.memory_index(), one.memory_displacement64())
        };
        (0..).map_while(|index| self.function.get(index).map(|one| (index, one))).any(
            |(index, one)| {
                within.holds(index)
                    && one.op0_kind() == OpKind::Memory
                    && !matches!(one.mnemonic(), Mnemonic::Cmp | Mnemonic::Test)
                    && place(one) == place(load)
            },
        )
    }

    /// The value of an operand.
    fn operand(&mut self, at: usize, number: u32) -> Value {
        let instruction = self.function.instruction(at);
        match instruction.op_kind(number) {
            OpKind::Register => self.register(instruction.op_register(number), at),
            OpKind::Memory => self.load(at),
            _ => Value::FIXED,
        }
    }

    /// What an instruction writes to a variable.
    fn written(&mut self, variable: Variable, at: usize) -> Value {
        let instruction = self.function.instruction(at);
        if is_call(instruction) {
            return Value::UNKNOWN;
        }
        let is_first = match variable {
            Variable::Register(register) => {
                instruction.op0_kind() == OpKind::Register
                    && instruction.op0_register().full_register() == register
            }
            _ => instruction.op0_kind() == OpKind::Memory,
        };
        if instruction.is_string_instruction() {
            return self.before(variable, at).plus(Value { advanced: true, ..Value::FIXED });
        }
        let value = match instruction.mnemonic() {
            Mnemonic::Cdqe | Mnemonic::Cwde => self.before(variable, at),
            Mnemonic::Xchg => return self.exchanged(is_first, at),
            _ if !is_first => return Value::COMPUTED,
            _ => self.result(variable, at),
        };
        let is_whole = match instruction.op0_kind() {
            OpKind::Register => instruction.op0_register().size() == 8,
            OpKind::Memory => instruction.memory_size().size() == 8,
            _ => true,
        };
        if is_whole { value } else { value.scaled() }
    }

    /// What an instruction makes of its operands.
    fn result(&mut self, variable: Variable, at: usize) -> Value {
        let instruction = self.function.instruction(at);
        let is_same = instruction.op_count() == 2
            && instruction.op1_kind() == OpKind::Register
            && instruction.op0_register() == instruction.op1_register();
        let is_constant = !matches!(instruction.op1_kind(), OpKind::Register | OpKind::Memory);
        match instruction.mnemonic() {
            Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsx | Mnemonic::Movsxd => {
                match instruction.op1_kind() {
                    OpKind::Register if !instruction.op1_register().is_gpr() => Value::UNKNOWN,
                    _ => self.operand(at, 1),
                }
            }
            Mnemonic::Movd | Mnemonic::Movq | Mnemonic::Pop => Value::UNKNOWN,
            Mnemonic::Lea => self.address(at),
            Mnemonic::Add => self.before(variable, at).plus(self.operand(at, 1)),
            Mnemonic::Sub if is_same => Value::FIXED,
            Mnemonic::Sub => self.before(variable, at).plus(self.operand(at, 1).scaled()),
            Mnemonic::Inc | Mnemonic::Dec => self.before(variable, at).plus(Value::FIXED),
            Mnemonic::Xor if is_same => Value::FIXED,
            Mnemonic::And | Mnemonic::Or if is_constant => self.before(variable, at),
            Mnemonic::Shl | Mnemonic::Sal | Mnemonic::Shr | Mnemonic::Sar if is_constant => {
                self.before(variable, at).scaled()
            }
            Mnemonic::Imul if instruction.op_count() == 3 => self.operand(at, 1).scaled(),
            Mnemonic::Imul if instruction.op_count() == 2 => {
                let factor = self.operand(at, 1).scaled();
                self.before(variable, at).scaled().plus(factor)
            }
            Mnemonic::Neg | Mnemonic::Not => self.before(variable, at).scaled(),
            _ if is_conditional_move(instruction) => {
                self.before(variable, at).either(self.operand(at, 1))
            }
            _ => Value::COMPUTED,
        }
    }

    fn exchanged(&mut self, is_first: bool, at: usize) -> Value {
        self.operand(at, u32::from(is_first))
    }

    /// What a variable held before an instruction that changes it.
    fn before(&mut self, variable: Variable, at: usize) -> Value {
        match variable {
            Variable::Register(register) => self.register(register, at),
            _ => {
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
    matches!(
        instruction.mnemonic(),
        Cmova
            | Cmovae
            | Cmovb
            | Cmovbe
            | Cmove
            | Cmovg
            | Cmovge
            | Cmovl
            | Cmovle
            | Cmovne
            | Cmovno
            | Cmovnp
            | Cmovns
            | Cmovo
            | Cmovp
            | Cmovs
    )
}
