//! Messages of the real kernel, however they are waited for.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use farside_os::memory::{PAGE, reserve};
use farside_os::userfault::{Event, RawMessage, Userfault};

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
