//! The queue of words between two processes.

use std::sync::atomic::{AtomicBool, Ordering};

use farside_wire::queue::{Abandoned, Receiver, Sender, WORDS};

#[test]
fn words_arrive_in_order_however_they_are_put() {
    let receiver = Receiver::new().expect("memory");
    let sender = Sender::open(receiver.file()).expect("its other end");
    let all: Vec<u64> = (0..5 * WORDS as u64 + 3).map(|i| i * i).collect();
    let mut seen = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut rest = &all[..];
            for size in (1..).map(|i: usize| i * 37 % 1000) {
                let (now, later) = rest.split_at(size.min(rest.len()));
                sender.put(now, || true).expect("the receiver takes");
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            sender.close();
        });
        let mut fruitless = 0;
        loop {
            let closed = receiver.is_closed();
            if receiver.take(&mut seen) > 0 {
                fruitless = 0;
            } else if closed {
                break;
            } else {
                fruitless += 1;
                Receiver::rest(fruitless);
            }
        }
    });
    assert_eq!(seen, all);
}

#[test]
fn a_full_queue_without_a_receiver_is_given_up() {
    let receiver = Receiver::new().expect("memory");
    let sender = Sender::open(receiver.file()).expect("its other end");
    sender.put(&vec![1; WORDS], || true).expect("there is room");
    let asked = AtomicBool::new(false);
    let gone = || {
        asked.store(true, Ordering::Relaxed);
        false
    };
    assert_eq!(sender.put(&[2], gone), Err(Abandoned));
    assert!(asked.load(Ordering::Relaxed));
    drop(receiver);
    assert_eq!(sender.put(&[2], || true), Err(Abandoned));
}

#[test]
fn another_file_is_no_queue() {
    let file = tempfile_of(1 << 20);
    assert!(Sender::open(std::os::fd::AsFd::as_fd(&file)).is_err());
}

fn tempfile_of(len: u64) -> std::os::fd::OwnedFd {
    farside_os::memory::anonymous_file(c"no-queue", len).expect("memory")
}
