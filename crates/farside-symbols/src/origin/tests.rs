use proptest::prelude::*;

use super::*;

/// How the address of the instruction at `offset` in this code came about.
fn origin(code: &[u8], offset: u64) -> Derivation {
    Derivation::in_function(code, 0x1000, 0x1000 + offset, false)
}

#[test]
fn a_list_is_loaded_and_an_array_is_computed() {
    // 0: add rax,[rdi+8]; 4: mov rdi,[rdi]; 7: test rdi,rdi; a: jne 0; c: ret
    let list = [0x48, 3, 0x47, 8, 0x48, 0x8b, 0x3f, 0x48, 0x85, 0xff, 0x75, 0xf4, 0xc3];
    assert_eq!(origin(&list, 0).origin, Origin::Loaded);
    assert_eq!(origin(&list, 4).origin, Origin::Loaded);
    // 0: add rax,[rdi]; 3: add rdi,8; 7: cmp rdi,rdx; a: jne 0; c: ret
    let array = [0x48, 3, 7, 0x48, 0x83, 0xc7, 8, 0x48, 0x39, 0xd7, 0x75, 0xf4, 0xc3];
    assert_eq!(origin(&array, 0).origin, Origin::Computed);
    assert!(!origin(&array, 0).begins_loaded);
}

#[test]
fn a_list_whose_node_is_kept_on_the_stack_is_loaded() {
    // The listing of the paper: 0: push rbp; 1: mov rbp,rsp; 4: mov rax,[rbp-28h]; 8: mov rax,[rax+0ff0h];
    // f: mov [rbp-28h],rax; 13: cmp qword [rbp-28h],0; 18: jne 4; 1a: ret
    let code = [
        0x55, 0x48, 0x89, 0xe5, 0x48, 0x8b, 0x45, 0xd8, 0x48, 0x8b, 0x80, 0xf0, 0x0f, 0, 0, 0x48,
        0x89, 0x45, 0xd8, 0x48, 0x83, 0x7d, 0xd8, 0, 0x75, 0xea, 0xc3,
    ];
    assert_eq!(origin(&code, 8).origin, Origin::Loaded);
    assert_eq!(origin(&code, 4).origin, Origin::Computed, "the stack itself");
}

#[test]
fn arguments_are_not_decided_without_a_caller() {
    // mov rax,[rdi]; ret
    assert_eq!(origin(&[0x48, 0x8b, 7, 0xc3], 0), Derivation::UNDECIDED);
    // mov rax,[rdi]; mov rax,[rax]; ret
    assert_eq!(origin(&[0x48, 0x8b, 7, 0x48, 0x8b, 0, 0xc3], 3).origin, Origin::Loaded);
    // call 5; mov rax,[rax]; ret
    assert_eq!(origin(&[0xe8, 0, 0, 0, 0, 0x48, 0x8b, 0, 0xc3], 5), Derivation::UNDECIDED);
}

#[test]
fn an_index_that_was_loaded_is_no_pointer() {
    // 0: movsxd rax,[rsi]; 3: add rsi,4; 7: add rcx,[rdi+rax*8]; b: cmp rsi,rdx; e: jne 0; 10: ret
    let code = [
        0x48, 0x63, 6, 0x48, 0x83, 0xc6, 4, 0x48, 3, 0x0c, 0xc7, 0x48, 0x39, 0xd6, 0x75, 0xf0, 0xc3,
    ];
    let found = origin(&code, 7);
    assert_eq!((found.origin, found.is_indexed), (Origin::Computed, true));
    assert!(!origin(&code, 0).is_indexed);
}

#[test]
fn an_index_chooses_the_page_of_a_table_that_was_loaded() {
    // mov rax,[rdi+8]; mov ecx,[rdi]; mov rax,[rax+rcx*8]; ret
    let code = [0x48, 0x8b, 0x47, 8, 0x8b, 0x0f, 0x48, 0x8b, 4, 0xc8, 0xc3];
    let found = origin(&code, 6);
    assert_eq!((found.origin, found.is_indexed), (Origin::Computed, true));
    assert!(found.begins_loaded && found.is_based);
    // The same, with lea rax,[rax+rcx*8]; mov rax,[rax]: no register has the beginning.
    let code = [0x48, 0x8b, 0x47, 8, 0x8b, 0x0f, 0x48, 0x8d, 4, 0xc8, 0x48, 0x8b, 0, 0xc3];
    let found = origin(&code, 10);
    assert_eq!((found.origin, found.is_based), (Origin::Computed, false));
}

#[test]
fn a_reference_that_is_shifted_is_an_index() {
    // mov eax,[rdi]; shl rax,cl; mov rax,[rax+r12]; ret
    let code = [0x8b, 7, 0x48, 0xd3, 0xe0, 0x4a, 0x8b, 4, 0x20, 0xc3];
    assert_eq!(origin(&code, 5), Derivation::UNDECIDED, "what r12 holds the caller knows");
    // The same without r12, and with rax anded with rcx.
    let found = origin(&[0x8b, 7, 0x48, 0xd3, 0xe0, 0x48, 0x8b, 0, 0xc3], 5);
    assert_eq!((found.origin, found.is_indexed), (Origin::Computed, true));
    let found = origin(&[0x48, 0x8b, 7, 0x48, 0x21, 0xc8, 0x48, 0x8b, 0, 0xc3], 6);
    assert_eq!((found.origin, found.is_indexed), (Origin::Computed, true));
}

#[test]
fn what_a_callee_may_have_written_to_the_stack_is_not_known() {
    // 0: sub rsp,18h; 4: mov qword [rsp+8],0; d: lea rdi,[rsp+8]; 12: call; 17: mov rax,[rsp+8]; 1c: mov rax,[rax]
    let code = [
        0x48, 0x83, 0xec, 0x18, 0x48, 0xc7, 0x44, 0x24, 8, 0, 0, 0, 0, 0x48, 0x8d, 0x7c, 0x24, 8,
        0xe8, 0, 0, 0, 0, 0x48, 0x8b, 0x44, 0x24, 8, 0x48, 0x8b, 0, 0xc3,
    ];
    assert_eq!(origin(&code, 0x1c), Derivation::UNDECIDED);
    // Without a call it is what was put there: 0: mov rax,[rdi]; 3: push rax; 4: mov rcx,[rsp]; 8: mov rax,[rcx]
    let code = [0x48, 0x8b, 7, 0x50, 0x48, 0x8b, 0x0c, 0x24, 0x48, 0x8b, 1, 0xc3];
    assert_eq!(origin(&code, 8).origin, Origin::Loaded);
    // An argument on the stack: mov rax,[rsp+8]; mov rax,[rax]; ret
    let code = [0x48, 0x8b, 0x44, 0x24, 8, 0x48, 0x8b, 0, 0xc3];
    assert_eq!(origin(&code, 5), Derivation::UNDECIDED);
}

#[test]
fn memory_of_threads_has_pointers_but_is_no_pointer_itself() {
    // mov rax,fs:[0]; mov rax,[rax-8]: a variable of the thread
    let begin = [0x64, 0x48, 0x8b, 4, 0x25];
    let read = [0x48, 0x8b, 0x40, 0xf8, 0xc3];
    let code = [&begin[..], &[0, 0, 0, 0], &read].concat();
    assert_eq!(origin(&code, 9).origin, Origin::Computed);
    // mov rax,fs:[-16]; mov rax,[rax-8]: by what is in it
    let code = [&begin[..], &[0xf0, 0xff, 0xff, 0xff], &read].concat();
    assert_eq!(origin(&code, 9).origin, Origin::Loaded);
    assert_eq!(origin(&code, 0).origin, Origin::Computed);
}

#[test]
fn what_does_not_change_is_not_loaded() {
    // mov rax,[rip+100h]; mov rax,[rax]; ret
    let code = [0x48, 0x8b, 5, 0, 1, 0, 0, 0x48, 0x8b, 0, 0xc3];
    let origin = |is_constant| {
        let function = Function::new(&code, 0x1000, |_| is_constant).expect("code");
        let found =
            of(&function, 1, false, |search, value| search.through(&function, 1, |s| value(s)));
        found.origin
    };
    assert_eq!((origin(false), origin(true)), (Origin::Loaded, Origin::Computed));
}

#[test]
fn strings_go_on_and_a_compared_one_is_not_told_from_the_other() {
    // rep movsq; ret, and lodsq; mov rax,[rax]; ret
    let found = origin(&[0xf3, 0x48, 0xa5, 0xc3], 0);
    assert_eq!((found.origin, found.advances), (Origin::Computed, true));
    assert_eq!(origin(&[0x48, 0xad, 0x48, 0x8b, 0, 0xc3], 2).origin, Origin::Loaded);
    assert_eq!(origin(&[0xf3, 0xa6, 0xc3], 0), Derivation::UNDECIDED);
}

#[test]
fn long_ways_and_many_ways_end() {
    // Each of two registers comes from the other, over and over.
    let moves = [0x48, 0x89, 0xd8, 0x48, 0x89, 0xc3].repeat(5000);
    let code = [&moves[..], &[0x48, 0x8b, 0]].concat();
    assert_eq!(origin(&code, moves.len() as u64), Derivation::UNDECIDED);
    // Jumps through tables to one another, and loops of one instruction each.
    for nonsense in [[0xff, 0xe0], [0xe3, 0xfe], [0x75, 0xfe]] {
        let code = [&nonsense.repeat(20_000)[..], &[0x48, 0x8b, 0, 0xc3]].concat();
        let _ = origin(&code, 40_000);
    }
    // Each way there are two ways to come.
    let ways = [0x75, 3, 0x48, 1, 0xd8, 0x75, 3, 0x48, 1, 0xc3].repeat(200);
    let _ = origin(&[&ways[..], &[0x48, 0x8b, 0]].concat(), ways.len() as u64);
}

/// Code in which instructions are frequent that matter here.
fn code() -> impl Strategy<Value = Vec<u8>> {
    let known: &[&[u8]] = &[
        &[0x48, 0x8b, 0x3f],
        &[0x48, 0x8b, 4, 0xc8],
        &[0x48, 0x89, 0x44, 0x24, 8],
        &[0x48, 0x8b, 0x44, 0x24, 8],
        &[0x48, 0x83, 0xec, 0x18],
        &[0x48, 0x8d, 0x7c, 0x24, 8],
        &[0x48, 0x89, 0xe5],
        &[0xe8, 0, 0, 0, 0],
        &[0x75, 0xf4],
        &[0xeb, 3],
        &[0xff, 0xe0],
        &[0xf3, 0x48, 0xa5],
        &[0xc3],
    ];
    let known = proptest::sample::select(known).prop_map(<[u8]>::to_vec);
    let piece = prop_oneof![2 => known, 1 => proptest::collection::vec(any::<u8>(), 1..8)];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn nonsense_is_decided_the_same_each_time(code in code(), start in any::<u64>(), write in any::<bool>()) {
        for offset in 0..code.len() as u64 {
            let at = start.wrapping_add(offset);
            let found = Derivation::in_function(&code, start, at, write);
            prop_assert_eq!(found, Derivation::in_function(&code, start, at, write));
            let is_plain = !(found.begins_loaded | found.is_based | found.is_indexed | found.advances);
            prop_assert!(found.is_computed() || is_plain);
            prop_assert!(found.begins_loaded || !found.is_based);
            let _ = Holders::of(&code[offset as usize..], write);
        }
    }
}

#[test]
fn the_closest_register_holds_the_address() {
    // mov rax,[rdi+rcx]
    let holders = Holders::of(&[0x48, 0x8b, 4, 0x0f], false).expect("an instruction");
    let mut registers = [0; 16];
    (registers[7], registers[1]) = (0x5000, 0x20);
    assert_eq!(holders.closest(&registers, 0x5020), Some(0x5000));
    // rep movsq
    let copied = |write| Holders::of(&[0xf3, 0x48, 0xa5], write).expect("an instruction");
    registers[6] = 0x9000;
    assert_eq!(copied(true).closest(&registers, 0), Some(0x5000));
    assert_eq!(copied(false).closest(&registers, 0), Some(0x9000));
}
