//! What may come after each instruction of a function, and its loops.

use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind, Register};

/// Rounds in which dominators are to settle.
const ROUNDS: usize = 32;

/// Loops of a function that are told apart.
const MOST_LOOPS: usize = 1000;

/// A loop: its instructions.
#[derive(Debug, Clone)]
pub struct Loop {
    inside: Vec<bool>,
    size: usize,
}

impl Loop {
    /// Whether an instruction is in it.
    pub fn holds(&self, index: usize) -> bool {
        self.inside.get(index) == Some(&true)
    }
}

/// The ways through a function. Behind the numbers of its instructions there is one more, through which all jumps through
/// tables go: what they lead to is not known one by one.
#[derive(Debug)]
pub struct Flow {
    after: Vec<Vec<usize>>,
    before: Vec<Vec<usize>>,
    loops: Vec<Loop>,
}

impl Flow {
    /// The ways through these instructions; `None` if there are too many loops to tell.
    pub fn new(instructions: &[Instruction]) -> Option<Self> {
        let after = successors(instructions);
        let mut before = vec![Vec::new(); after.len()];
        for (from, nexts) in after.iter().enumerate() {
            nexts.iter().for_each(|next| before[*next].push(from));
        }
        let loops = loops(&after, &before)?;
        Some(Self { after, before, loops })
    }

    /// What may come right after an instruction.
    pub fn after(&self, index: usize) -> &[usize] {
        self.after.get(index).map_or(&[], Vec::as_slice)
    }

    /// What may come right before an instruction.
    pub fn before(&self, index: usize) -> &[usize] {
        self.before.get(index).map_or(&[], Vec::as_slice)
    }

    /// The loops that an instruction is in, the smallest first.
    pub fn loops_of(&self, index: usize) -> Vec<&Loop> {
        let mut loops: Vec<_> = self.loops.iter().filter(|one| one.holds(index)).collect();
        loops.sort_by_key(|one| one.size);
        loops
    }
}

/// What may follow each instruction. What nothing leads to is taken for the goals of jumps through tables.
fn successors(instructions: &[Instruction]) -> Vec<Vec<usize>> {
    let index_of = |address: u64| {
        let index = instructions.partition_point(|one| one.ip() < address);
        (instructions.get(index)?.ip() == address).then_some(index)
    };
    let tables = instructions.len();
    let mut after = vec![Vec::new(); tables + 1];
    let mut reached = vec![false; tables];
    for (index, instruction) in instructions.iter().enumerate() {
        let flow = instruction.flow_control();
        let goes_on = !matches!(
            flow,
            FlowControl::UnconditionalBranch | FlowControl::IndirectBranch | FlowControl::Return
        ) && !instruction.is_invalid()
            && instruction.mnemonic() != Mnemonic::Ud2;
        let next = (goes_on && index + 1 < tables).then_some(index + 1);
        let jumps =
            matches!(flow, FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch);
        let target = jumps.then(|| index_of(instruction.near_branch_target())).flatten();
        for next in next.into_iter().chain(target) {
            reached[next] = true;
            after[index].push(next);
        }
        if flow == FlowControl::IndirectBranch && !is_tail_call(instruction) {
            after[index].push(tables);
        }
    }
    let is_filling =
        |index: usize| matches!(instructions[index].mnemonic(), Mnemonic::Nop | Mnemonic::Int3);
    after[tables] = (1..tables).filter(|index| !reached[*index] && !is_filling(*index)).collect();
    forget_filling(&mut after);
    after
}

/// Takes away the ways on from what is never executed, between the parts of a function.
fn forget_filling(after: &mut [Vec<usize>]) {
    let mut executed = vec![false; after.len()];
    let mut open = vec![0, after.len() - 1];
    while let Some(index) = open.pop() {
        if !std::mem::replace(&mut executed[index], true) {
            open.extend(&after[index]);
        }
    }
    let filling = after.iter_mut().zip(executed).filter(|(_, executed)| !executed);
    filling.for_each(|(nexts, _)| nexts.clear());
}

/// Whether a jump goes to where a pointer in memory says, and not an entry of a table.
fn is_tail_call(jump: &Instruction) -> bool {
    jump.op0_kind() == OpKind::Memory && jump.memory_index() == Register::None
}

/// The natural loops; `None` if there are too many.
fn loops(after: &[Vec<usize>], before: &[Vec<usize>]) -> Option<Vec<Loop>> {
    let (order, number) = ordered(after);
    let dominators = dominators(&order, &number, before);
    let dominates = |top: usize, mut index: usize| {
        while number[index] > number[top] {
            index = dominators[index];
        }
        index == top
    };
    let mut heads: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut known = vec![None; after.len()];
    for &from in &order {
        for &to in after[from].iter().filter(|to| dominates(**to, from)) {
            let head = *known[to].get_or_insert_with(|| {
                heads.push((to, Vec::new()));
                heads.len() - 1
            });
            heads[head].1.push(from);
        }
    }
    if heads.len() > MOST_LOOPS {
        return None;
    }
    let body = |(head, mut open): (usize, Vec<usize>)| {
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
    };
    Some(heads.into_iter().map(body).collect())
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
