//! The code of a function: its instructions, what may come before each of them, and its loops.

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic,
    OpAccess, OpKind, Register,
};

/// Instructions of a function that are looked at.
const MOST: usize = 20_000;

/// Rounds in which dominators are to settle.
const ROUNDS: usize = 32;

/// Registers in which a call returns something. Others are used after it only if the compiler knew that they keep
/// their values.
const RETURNED: [Register; 2] = [Register::RAX, Register::RDX];

/// What holds a value by name.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Variable {
    /// A whole register.
    Register(Register),
    /// A place on the stack: from where the stack pointer stood at the beginning, or from the frame pointer.
    Slot { framed: bool, offset: i64 },
    /// A place with a fixed address.
    Global(u64),
}

/// A loop: its instructions.
#[derive(Debug, Clone)]
pub struct Loop {
    inside: Vec<bool>,
    size: usize,
}

impl Loop {
    /// Whether an instruction is in it.
    pub fn holds(&self, index: usize) -> bool {
        self.inside[index]
    }
}

/// A function.
#[derive(Debug)]
pub struct Function {
    instructions: Vec<Instruction>,
    before: Vec<Vec<usize>>,
    /// What each writes to.
    written: Vec<Vec<Variable>>,
    /// Bytes by which the stack pointer is below where it was at the beginning, where that is known.
    height: Vec<Option<i64>>,
    is_framed: bool,
    loops: Vec<Loop>,
}

impl Function {
    /// Decodes code that begins at `start`.
    pub fn new(code: &[u8], start: u64) -> Self {
        let decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
        let instructions: Vec<_> = decoder.into_iter().take(MOST).collect();
        let is_framed = instructions.iter().take(16).any(|instruction| {
            instruction.mnemonic() == Mnemonic::Mov
                && instruction.op0_register() == Register::RBP
                && instruction.op1_register() == Register::RSP
        });
        let after = successors(&instructions);
        let mut before = vec![Vec::new(); instructions.len()];
        for (from, nexts) in after.iter().enumerate() {
            nexts.iter().for_each(|next| before[*next].push(from));
        }
        let height = heights(&instructions, &after);
        let loops = loops(&after, &before);
        let mut function =
            Self { instructions, before, written: Vec::new(), height, is_framed, loops };
        let mut factory = InstructionInfoFactory::new();
        function.written = (0..function.instructions.len())
            .map(|index| function.writes(index, &mut factory))
            .collect();
        function
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

    /// The same, if there are so many.
    pub fn get(&self, index: usize) -> Option<&Instruction> {
        self.instructions.get(index)
    }

    /// What may come right before an instruction.
    pub fn before(&self, index: usize) -> &[usize] {
        &self.before[index]
    }

    /// The loops that an instruction is in, the smallest first.
    pub fn loops_of(&self, index: usize) -> Vec<&Loop> {
        let mut loops: Vec<_> = self.loops.iter().filter(|one| one.holds(index)).collect();
        loops.sort_by_key(|one| one.size);
        loops
    }

    /// Whether an instruction writes to a variable.
    pub fn is_written(&self, index: usize, variable: Variable) -> bool {
        self.written[index].contains(&variable)
    }

    /// The variable that the memory operand of an instruction is, if it has a name.
    pub fn named(&self, index: usize) -> Option<Variable> {
        let instruction = &self.instructions[index];
        let offset = instruction.memory_displacement64() as i64;
        match (instruction.memory_base(), instruction.memory_index()) {
            (Register::RIP, Register::None) => {
                Some(Variable::Global(instruction.memory_displacement64()))
            }
            (Register::RSP, Register::None) => {
                let height = self.height[index]?;
                Some(Variable::Slot { framed: false, offset: offset - height })
            }
            (Register::RBP, Register::None) if self.is_framed => {
                Some(Variable::Slot { framed: true, offset })
            }
            _ => None,
        }
    }

    /// Whether a register is where the stack is.
    pub fn is_stack(&self, register: Register) -> bool {
        register == Register::RSP || register == Register::RBP && self.is_framed
    }

    fn writes(&self, index: usize, factory: &mut InstructionInfoFactory) -> Vec<Variable> {
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
        if info.used_memory().iter().any(|used| is_write(used.access())) {
            written.extend(self.named(index).filter(|_| has_memory(instruction)));
        }
        if is_call(instruction) {
            written.extend(RETURNED.map(Variable::Register));
        }
        written
    }
}

/// Whether it names memory by an operand.
pub fn has_memory(instruction: &Instruction) -> bool {
    (0..instruction.op_count()).any(|number| instruction.op_kind(number) == OpKind::Memory)
}

/// Whether it calls, so that what follows comes after other code.
pub fn is_call(instruction: &Instruction) -> bool {
    matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall)
        || instruction.code() == Code::Syscall
}

/// What may follow each instruction. What nothing leads to is taken for the goals of jumps through tables.
fn successors(instructions: &[Instruction]) -> Vec<Vec<usize>> {
    let index_of = |address: u64| {
        let index = instructions.partition_point(|one| one.ip() < address);
        (instructions.get(index)?.ip() == address).then_some(index)
    };
    let mut after = vec![Vec::new(); instructions.len()];
    let mut reached = vec![false; instructions.len()];
    for (index, instruction) in instructions.iter().enumerate() {
        let flow = instruction.flow_control();
        let goes_on = !matches!(
            flow,
            FlowControl::UnconditionalBranch | FlowControl::IndirectBranch | FlowControl::Return
        ) && !instruction.is_invalid()
            && instruction.mnemonic() != Mnemonic::Ud2;
        let next = (goes_on && index + 1 < instructions.len()).then_some(index + 1);
        let jumps =
            matches!(flow, FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch);
        let target = jumps.then(|| index_of(instruction.near_branch_target())).flatten();
        for next in next.into_iter().chain(target) {
            reached[next] = true;
            after[index].push(next);
        }
    }
    let is_filling =
        |index: usize| matches!(instructions[index].mnemonic(), Mnemonic::Nop | Mnemonic::Int3);
    let goals: Vec<usize> =
        (1..instructions.len()).filter(|index| !reached[*index] && !is_filling(*index)).collect();
    for (index, instruction) in instructions.iter().enumerate() {
        if instruction.flow_control() == FlowControl::IndirectBranch {
            after[index].extend(&goals);
        }
    }
    after
}

/// How far the stack pointer is below where it was at the beginning, before each instruction.
fn heights(instructions: &[Instruction], after: &[Vec<usize>]) -> Vec<Option<i64>> {
    let mut heights: Vec<Option<i64>> = vec![None; instructions.len()];
    let mut open = Vec::new();
    if let Some(first) = heights.first_mut() {
        *first = Some(0);
        open.push(0);
    }
    while let Some(index) = open.pop() {
        let instruction = &instructions[index];
        let Some(height) = heights[index].and_then(|height| below(instruction, height)) else {
            continue;
        };
        for next in &after[index] {
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
    let constant = || instruction.immediate(1) as i64;
    let is_constant = instruction.op_count() == 2
        && !matches!(instruction.op1_kind(), OpKind::Register | OpKind::Memory);
    match instruction.mnemonic() {
        Mnemonic::Add if is_stack => is_constant.then(|| height - constant()),
        Mnemonic::Sub if is_stack => is_constant.then(|| height + constant()),
        Mnemonic::Lea if is_stack => (instruction.memory_base() == Register::RSP
            && instruction.memory_index() == Register::None)
            .then(|| height - instruction.memory_displacement64() as i64),
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

/// The natural loops.
fn loops(after: &[Vec<usize>], before: &[Vec<usize>]) -> Vec<Loop> {
    let (order, number) = ordered(after);
    let dominators = dominators(&order, &number, before);
    let dominates = |top: usize, mut index: usize| {
        while number[index] > number[top] {
            index = dominators[index];
        }
        index == top
    };
    let mut heads: Vec<(usize, Vec<usize>)> = Vec::new();
    for &from in &order {
        for &to in after[from].iter().filter(|to| dominates(**to, from)) {
            match heads.iter_mut().find(|(head, _)| *head == to) {
                Some((_, ends)) => ends.push(from),
                None => heads.push((to, vec![from])),
            }
        }
    }
    heads
        .into_iter()
        .map(|(head, mut open)| {
            let mut inside = vec![false; after.len()];
            inside[head] = true;
            let mut size = 1;
            while let Some(index) = open.pop() {
                if !std::mem::replace(&mut inside[index], true) {
                    size += 1;
                    open.extend(before[index].iter().filter(|one| number[**one] != usize::MAX));
                }
            }
            Loop { inside, size }
        })
        .collect()
}

/// What can be reached from the first instruction, each before what follows only through it; and the number of each in
/// this order.
fn ordered(after: &[Vec<usize>]) -> (Vec<usize>, Vec<usize>) {
    let mut number = vec![usize::MAX; after.len()];
    let (mut order, mut seen) = (Vec::new(), vec![false; after.len()]);
    let mut open: Vec<(usize, usize)> = Vec::new();
    if !after.is_empty() {
        open.push((0, 0));
        seen[0] = true;
    }
    while let Some((index, next)) = open.pop() {
        match after[index].get(next) {
            Some(&to) => {
                open.push((index, next + 1));
                if !std::mem::replace(&mut seen[to], true) {
                    open.push((to, 0));
                }
            }
            None => order.push(index),
        }
    }
    order.reverse();
    order.iter().enumerate().for_each(|(place, index)| number[*index] = place);
    (order, number)
}

/// The closest instruction that is on all ways to each (Cooper, Harvey and Kennedy).
fn dominators(order: &[usize], number: &[usize], before: &[Vec<usize>]) -> Vec<usize> {
    let mut dominators = vec![usize::MAX; number.len()];
    let Some((&first, rest)) = order.split_first() else { return dominators };
    dominators[first] = first;
    for _ in 0..ROUNDS {
        let mut changed = false;
        for &index in rest {
            let known = before[index].iter().copied().filter(|one| dominators[*one] != usize::MAX);
            let common = known.reduce(|mut a, mut b| {
                while a != b {
                    match number[a] > number[b] {
                        true => a = dominators[a],
                        false => b = dominators[b],
                    }
                }
                a
            });
            if let Some(common) = common.filter(|common| dominators[index] != *common) {
                dominators[index] = common;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    dominators
}
