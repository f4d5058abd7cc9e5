use super::*;

/// How the address of the instruction at `offset` in this code came about.
fn origin(code: &[u8], offset: u64) -> Derivation {
    let function = Function::new(code, 0x1000);
    let at = function.at(0x1000 + offset).expect("an instruction");
    let mut search = Search { found: None, rest: Value::FIXED };
    let open = search.through(&function, at, |slice| slice.address(at));
    match (search.found, open) {
        (Some(found), _) => found,
        (None, Some(_)) => Derivation::UNDECIDED,
        (None, None) => Derivation::COMPUTED,
    }
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
fn nonsense_is_decided_somehow() {
    let mut state = 1u64;
    for _ in 0..2000 {
        let code: Vec<u8> = (0..64)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        let function = Function::new(&code, 0);
        (0..64).filter_map(|address| function.at(address)).for_each(|at| {
            Search { found: None, rest: Value::FIXED }
                .through(&function, at, |slice| slice.address(at));
        });
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
