//! Arbitrary bytes as a tape in memory and as orders to a memory node: never a panic, no more steps than there
//! is memory, and no order that asks for more pages than one may.
#![no_main]

use std::os::fd::AsFd;

use farside_os::memory::{PAGE, sealed_file, write_at};
use farside_wire::orders::{Answer, Executor, MOST_PAGES, Order, Orderer, Work};
use farside_wire::tape_image::{Image, MOST_PAGES as MOST_IN_STEP};
use libfuzzer_sys::fuzz_target;

/// Where the header of orders tells how many have been carried out.
const DONE: u64 = 128;

fn read_image(bytes: &[u8]) {
    let file = sealed_file(c"fuzz", bytes.len().next_multiple_of(PAGE).max(PAGE) as u64).expect("memory");
    write_at(file.as_fd(), 0, bytes, "a tape").expect("memory");
    // The mark and the version are not worth guessing.
    write_at(file.as_fd(), 0, b"fstape\0\x01", "a tape").expect("memory");
    let Ok(image) = Image::open(file.as_fd()) else { return };
    for place in 0..image.threads().count() {
        let steps = (0..).map_while(|index| image.step(place, index));
        let sound = steps.inspect(|step| assert!((1..=MOST_IN_STEP).contains(&step.count)));
        assert!(sound.count() <= bytes.len().next_multiple_of(PAGE).max(PAGE) / 8);
    }
}

fn read_orders(bytes: &[u8]) {
    let (orderer, file) = Orderer::new().expect("memory");
    let executor = Executor::open(file.as_fd()).expect("memory just made");
    let order = Order { work: Work::Take { compare: true }, address: 0, offset: 0, count: 1, ready_at: 0 };
    // So many are there for the executor, whatever their words say.
    let some = bytes.len().div_ceil(PAGE).min(64);
    (0..some).for_each(|_| _ = orderer.put(order));
    let bytes = &bytes[..bytes.len().min(some * PAGE)];
    write_at(file.as_fd(), PAGE as u64, bytes, "orders").expect("memory");
    for number in 0..some as u64 {
        let Some(order) = executor.wait() else { return };
        assert!((1..=MOST_PAGES).contains(&order.count));
        executor.answer(Answer { done: order.count, ..Answer::default() });
        assert_eq!(orderer.answer(number, order.count).map(|answer| answer.done), Some(order.count));
    }
}

/// What the other side says of its orders may be anything, too.
fn read_header(bytes: [u8; 8]) {
    let (orderer, file) = Orderer::new().expect("memory");
    write_at(file.as_fd(), DONE, &bytes, "orders").expect("memory");
    let _ = orderer.answer(0, MOST_PAGES).map(|answer| assert!(answer.done <= MOST_PAGES));
}

fuzz_target!(|input: (&[u8], [u8; 8])| {
    read_image(input.0);
    read_orders(input.0);
    read_header(input.1);
});
