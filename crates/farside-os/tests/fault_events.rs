//! The kernel tells where the faults of this process come from.

use farside_os::fault_events::{FaultEvent, FaultEvents, allowed};
use farside_os::memory::{self, PAGE};
use farside_os::thread;

const PAGES: usize = 64;
/// Faults of which one is told with its stack.
const PERIOD: u64 = 7;

#[inline(never)]
fn touch(at: usize) {
    for page in 0..PAGES {
        // SAFETY: a private mapping of so many pages that nobody else uses.
        unsafe { std::ptr::write_volatile((at + page * PAGE) as *mut u64, 1) };
    }
}

#[test]
fn each_fault_is_told_with_its_instruction_and_some_with_the_stack() {
    if let Err(error) = allowed() {
        println!(
            "skipped: each_fault_is_told_with_its_instruction_and_some_with_the_stack: {error}"
        );
        return;
    }
    let mut events = FaultEvents::open(thread::id(), PERIOD, true).expect("events");
    // Threads that lived before are not looked at.
    let (at, id) = std::thread::spawn(|| {
        let at = memory::reserve(PAGES * PAGE, PAGE, "pages").expect("memory");
        touch(at);
        (at, thread::id())
    })
    .join()
    .expect("it ends");
    let (mut pages, mut stacks) = (Vec::new(), 0);
    let of_touch = |instruction: u64| instruction.abs_diff(touch as *const () as u64) < 4096;
    events.read(|event| match event {
        FaultEvent::Fault { thread, address, registers, general }
            if (at..at + PAGES * PAGE).contains(&(address as usize)) =>
        {
            assert_eq!(thread, id);
            assert!(of_touch(registers.instruction), "{registers:x?}");
            let general = general.expect("they were asked for");
            assert_eq!((general[4], general[5]), (registers.stack, registers.frame));
            // One of them leads to what was written.
            let near = |register: &u64| register.abs_diff(address) < (PAGES * PAGE) as u64;
            assert!(general.iter().any(near), "{general:x?}");
            pages.push(address as usize);
        }
        FaultEvent::Stack { thread, address, registers, stack }
            if (at..at + PAGES * PAGE).contains(&(address as usize)) =>
        {
            assert_eq!(thread, id);
            assert!(of_touch(registers.instruction), "{registers:x?}");
            // Its caller's address is not far.
            assert!(stack.len() > 64, "{} bytes", stack.len());
            stacks += 1;
        }
        FaultEvent::Lost(count) => panic!("{count} lost"),
        _ => {}
    });
    assert_eq!(pages, (0..PAGES).map(|page| at + page * PAGE).collect::<Vec<_>>());
    let sampled = PAGES as u64 / PERIOD;
    assert!((sampled..=sampled + 1).contains(&stacks), "{stacks}");
}
