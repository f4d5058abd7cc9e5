//! Messages of the real kernel, however they are waited for.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use farside_os::memory::{PAGE, reserve};
use farside_os::userfault::{Event, Partial, RawMessage, Userfault, feature};

/// A descriptor and `pages` registered pages, unless this user may not have one.
fn registered(test: &str, pages: usize) -> Option<(Userfault, usize)> {
    let uffd = match Userfault::open(0) {
        Ok(uffd) => uffd,
        Err(error) => {
            println!("skipped: {test}: {error}");
            return None;
        }
    };
    let addr = reserve(pages * PAGE, PAGE, "test pages").unwrap();
    uffd.register(addr, pages * PAGE, false).unwrap();
    Some((uffd, addr))
}

/// Answers each fault among the messages with a page of sevens; returns the number of them.
fn answer(uffd: &Userfault, messages: &[RawMessage]) -> usize {
    let content = [7u8; PAGE];
    for message in messages {
        let Event::Fault { address, .. } = message.event() else { panic!("nobody forks") };
        let page = address & !(PAGE - 1);
        // SAFETY: the page belongs to this test, and the content is readable.
        unsafe { uffd.copy(page, content.as_ptr() as usize, PAGE, false, true) }.unwrap();
    }
    messages.len()
}

/// Reads a byte of each page.
fn touch(addr: usize, pages: usize) {
    for page in 0..pages {
        // SAFETY: registered memory, which is mapped when the read returns.
        let byte = unsafe { std::ptr::read_volatile((addr + page * PAGE) as *const u8) };
        assert_eq!(byte, 7);
    }
}

#[test]
fn every_way_of_waiting_gets_the_next_fault() {
    let Some((uffd, addr)) = registered("every_way_of_waiting_gets_the_next_fault", 64) else {
        return;
    };
    let uffd = &uffd;
    let mut messages = [RawMessage::default(); 4];
    std::thread::scope(|scope| {
        scope.spawn(|| touch(addr, 64));
        let mut served = 0;
        while served < 64 {
            let waited = (served % 2 == 0).then(|| uffd.wait_and_read(&mut messages).unwrap());
            let n = waited.unwrap_or_else(|| {
                uffd.wait(-1).unwrap();
                uffd.read(&mut messages).unwrap()
            });
            served += answer(uffd, &messages[..n]);
        }
        assert_eq!(uffd.read(&mut messages), Ok(0), "reading does not wait, whatever waiting did");
    });
}

#[test]
fn one_waits_in_the_read_while_another_polls() {
    const POLLED: usize = 200;
    let test = "one_waits_in_the_read_while_another_polls";
    let Some((uffd, addr)) = registered(test, POLLED + 1) else { return };
    let (uffd, served, touched) = (&uffd, &AtomicUsize::new(0), &AtomicUsize::new(0));
    let last = addr + POLLED * PAGE;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut messages = [RawMessage::default(); 4];
            let is_last = |message: &RawMessage| {
                matches!(message.event(), Event::Fault { address, .. } if address >= last)
            };
            loop {
                let n = uffd.wait_and_read(&mut messages).unwrap();
                served.fetch_add(answer(uffd, &messages[..n]), SeqCst);
                if messages[..n].iter().any(is_last) {
                    return;
                }
            }
        });
        let poller = scope.spawn(|| {
            let mut messages = [RawMessage::default(); 1];
            while touched.load(SeqCst) < POLLED {
                uffd.wait(1).unwrap();
                let n = uffd.read(&mut messages).unwrap();
                served.fetch_add(answer(uffd, &messages[..n]), SeqCst);
            }
        });
        scope.spawn(move || {
            touch(addr, POLLED);
            touched.store(POLLED, SeqCst);
            // The last fault is for the one that waits in the read.
            poller.join().unwrap();
            touch(last, 1);
        });
    });
    assert_eq!(served.load(SeqCst), POLLED + 1);
}

#[test]
fn a_frame_that_was_moved_is_moved_whatever_the_kernel_says() {
    let test = "a_frame_that_was_moved_is_moved_whatever_the_kernel_says";
    if Userfault::offered_features().is_ok_and(|offered| offered & feature::MOVE == 0) {
        println!("skipped: {test}: this kernel cannot move frames");
        return;
    }
    if registered(test, 1).is_none() {
        return;
    }
    let uffd = Userfault::open(feature::MOVE).unwrap();
    let [from, to] = ["the source", "the destination"].map(|what| {
        let addr = reserve(3 * PAGE, PAGE, what).unwrap();
        uffd.register(addr, 3 * PAGE, false).unwrap();
        addr
    });
    let content = [7u8; PAGE];
    // As the kernel leaves it when it has moved the second page without saying so.
    for page in [from, to + PAGE, from + 2 * PAGE] {
        // SAFETY: a page of this test, and readable content.
        unsafe { uffd.copy(page, content.as_ptr() as usize, PAGE, false, true) }.unwrap();
    }
    // SAFETY: both ranges belong to this test.
    let moved = |dst, src, len| unsafe { uffd.move_frames(dst, src, len, false, true) };
    assert_eq!(moved(to, from, 3 * PAGE), Ok(()));
    touch(to, 3);
    // Another frame at the destination is an obstacle as before.
    // SAFETY: as above.
    unsafe { uffd.copy(from, content.as_ptr() as usize, PAGE, false, true) }.unwrap();
    assert_eq!(moved(to, from, PAGE), Err(Partial { done: 0, errno: libc::EEXIST }));
}
