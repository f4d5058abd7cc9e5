//! Whether an instruction works on what a pointer leads to that was itself found there.

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

use crate::images::{Images, Place};

/// Bytes of code that are looked at.
const WINDOW: usize = 96;

/// Instructions that are looked at.
const MOST: usize = 16;

impl Images {
    /// Whether the instruction at a place, or one soon after it, replaces the address that it worked on by one that it
    /// reads there, as in `node = node->next`.
    pub fn follows_pointers(&self, place: Place) -> bool {
        let image = self.all().get(place.image as usize);
        let code = image.and_then(|image| image.code(place.address, WINDOW));
        code.is_some_and(|code| follows(&code, place.address))
    }
}

fn follows(code: &[u8], address: u64) -> bool {
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let mut node = Register::None;
    for (number, instruction) in decoder.iter().take(MOST).enumerate() {
        if number == 0 {
            node = base(&instruction);
        }
        if node == Register::None || instruction.is_invalid() {
            return false;
        }
        let loads = instruction.mnemonic() == Mnemonic::Mov
            && instruction.op0_kind() == OpKind::Register
            && instruction.op0_register().size() == 8
            && base(&instruction) == node;
        if loads && instruction.op0_register() == node {
            return true;
        }
        let overwritten = instruction.op0_kind() == OpKind::Register
            && instruction.op0_register().full_register() == node
            && !matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test);
        if overwritten {
            return false;
        }
    }
    false
}

/// The register that holds the address which the instruction works on, if it is alone in that.
fn base(instruction: &Instruction) -> Register {
    let has_memory = (0..instruction.op_count()).any(|i| instruction.op_kind(i) == OpKind::Memory);
    match instruction.memory_base() {
        Register::RIP | Register::RSP | Register::RBP => Register::None,
        base if has_memory => base,
        _ => Register::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_followed_and_arrays_are_not() {
        // add rax,[rdi+8]; mov rdi,[rdi]; test rdi,rdi
        assert!(follows(&[0x48, 0x03, 0x47, 0x08, 0x48, 0x8b, 0x3f, 0x48, 0x85, 0xff], 0));
        // mov rbx,[rbx+10h]
        assert!(follows(&[0x48, 0x8b, 0x5b, 0x10], 0));
        // add rax,[rdi]; add rdi,8; cmp rdi,rdx
        assert!(!follows(&[0x48, 0x03, 0x07, 0x48, 0x83, 0xc7, 0x08, 0x48, 0x39, 0xd7], 0));
        // mov eax,[rdi]; mov rdi,rsi; mov rdi,[rdi]
        assert!(!follows(&[0x8b, 0x07, 0x48, 0x89, 0xf7, 0x48, 0x8b, 0x3f], 0));
        assert!(!follows(&[], 0));
    }
}
