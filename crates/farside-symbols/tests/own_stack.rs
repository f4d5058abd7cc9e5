//! The callers of this very program, and their names.

use farside_symbols::{Images, Names, Registers, Unwinder};

/// Registers and stack of the caller, as a signal handler or the kernel sees them.
#[inline(never)]
fn look(into: &mut Vec<u8>) -> Registers {
    let (instruction, stack, frame): (u64, u64, u64);
    // SAFETY: reads three registers.
    unsafe {
        std::arch::asm!(
            "lea {instruction}, [rip]", "mov {stack}, rsp", "mov {frame}, rbp",
            instruction = out(reg) instruction, stack = out(reg) stack, frame = out(reg) frame,
            options(nomem, nostack),
        );
    }
    // SAFETY: the stack of this thread, of which so much is in use below `main` or the thread's beginning; whatever is
    // there may be read as bytes.
    into.extend_from_slice(unsafe { std::slice::from_raw_parts(stack as *const u8, 1536) });
    Registers { instruction, stack, frame }
}

#[inline(never)]
fn inner(into: &mut Vec<u8>) -> Registers {
    std::hint::black_box(look(into))
}

#[inline(never)]
fn outer(into: &mut Vec<u8>) -> Registers {
    std::hint::black_box(inner(into))
}

#[test]
fn callers_are_found_and_named() {
    let mut stack = Vec::new();
    let registers = outer(&mut stack);
    let images = Images::of_process(std::process::id()).expect("own mappings");
    let callers = Unwinder::new(&images).callers(&images, registers, &stack);
    let mut names = Names::default();
    let mut all = Vec::new();
    for place in callers.places.iter().flatten() {
        all.extend(names.frames(&images, *place).to_vec());
    }
    let at = |function: &str| all.iter().position(|frame| frame.function == function);
    let found = [at("look"), at("inner"), at("outer"), at("callers_are_found_and_named")];
    assert!(found.iter().all(Option::is_some) && found.is_sorted(), "{found:?} in {all:#?}");
    let frame = &all[found[0].unwrap_or_default()];
    assert!(frame.file.as_ref().is_some_and(|file| file.ends_with("own_stack.rs")), "{frame:?}");
    assert!(frame.line.is_some());
    // Most of the stack is missing.
    let cut = Unwinder::new(&images).callers(&images, registers, &stack[..8]);
    assert!(!cut.complete && cut.places.len() < callers.places.len());
}
