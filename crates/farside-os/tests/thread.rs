//! Threads of the real kernel.

use std::sync::mpsc;

use farside_os::thread::{self, Whereabouts};

#[test]
fn a_waiting_thread_is_found_on_its_processor() {
    let whereabouts = Whereabouts::new();
    for processor in thread::allowed_processors(4) {
        let (say, hear) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            thread::bind_to(processor).unwrap();
            say.send(thread::id()).unwrap();
            let _ = ended.recv();
        });
        let id = hear.recv().unwrap();
        assert_eq!(whereabouts.of(id, |_| true), Some(processor));
        assert_eq!(whereabouts.of(id, |_| false), Some(processor), "asked of the kernel");
        drop(end);
        other.join().unwrap();
        assert_eq!(whereabouts.of(id, |_| true), None, "a thread that is gone is nowhere");
    }
}
