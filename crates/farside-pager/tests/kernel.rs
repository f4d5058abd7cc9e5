//! The pager on the real kernel: real faults, a real node's memory, content checked byte for byte.

use std::sync::atomic::Ordering::Relaxed;

use farside_far::{Embedded, FarStore, FarUrl};
use farside_os::socket;
use farside_pager::counters::{Counters, Snapshot};
use farside_pager::service::Service;
use farside_pager::settings::{Limit, Settings};
use farside_pager::{Hint, Hooks};
use farside_wire::pool::Message;

const PAGE: usize = 4096;

/// A running pager with its own embedded node, or the reason why this machine has none.
fn started(settings: &Settings, url: &str) -> Result<&'static Service, String> {
    let (supervisor, link) = socket::pair().map_err(|e| e.to_string())?;
    std::thread::spawn(move || farside_node::embedded::serve(link, |_| ()));
    let (client, theirs) = socket::pair().map_err(|e| e.to_string())?;
    use std::os::fd::AsFd;
    let attach = Message::Attach { pid: std::process::id(), fork_of: 0 }.encode();
    socket::send(supervisor.as_fd(), &attach, &[theirs.as_fd()]).map_err(|e| e.to_string())?;
    drop(theirs);
    std::mem::forget(supervisor);
    let url: FarUrl = url.parse().map_err(|e| format!("{e}"))?;
    let counters: &'static Counters = Box::leak(Box::default());
    let store = |pages| {
        let store = Embedded::connect(client, &url, pages)?;
        Ok(Box::new(store) as Box<dyn FarStore>)
    };
    farside_pager::start(
        settings,
        counters,
        store,
        None,
        None,
        Hooks { thread: || (), site: || 0, parts: false },
    )
    .map_err(|e| e.to_string())
}

/// Far memory of `pages` pages as words.
fn words(service: &Service, pages: usize) -> &'static mut [u64] {
    let addr = service.pager().reserve(pages * PAGE, PAGE).expect("the region has room");
    // SAFETY: a fresh range that nothing else uses; any content makes words.
    unsafe { std::slice::from_raw_parts_mut(addr as *mut u64, pages * PAGE / 8) }
}

fn value(seed: u64, i: usize) -> u64 {
    (i as u64 ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
}

fn settings(limit: u64, replacement: &str, prefetch: &str) -> Settings {
    Settings {
        limit: Limit::Bytes(limit),
        replacement: replacement.into(),
        prefetch: prefetch.into(),
        ..Settings::default()
    }
}

/// Writes, reads in order, rewrites in another order and reads again; checks the limit throughout.
fn exercise(service: &Service, pages: usize) -> Snapshot {
    let data = words(service, pages);
    for (i, word) in data.iter_mut().enumerate() {
        *word = value(1, i);
    }
    for (i, word) in data.iter().enumerate() {
        assert_eq!(*word, value(1, i), "word {i} after filling");
    }
    let mut page = 7;
    for _ in 0..pages {
        page = (page * 5 + 3) % pages;
        let i = page * 512 + page % 512;
        data[i] = value(2, i);
    }
    page = 7;
    for _ in 0..pages {
        page = (page * 5 + 3) % pages;
        let i = page * 512 + page % 512;
        assert_eq!(data[i], value(2, i), "word {i} after rewriting");
        assert_eq!(data[i ^ 1], value(1, i ^ 1), "neighbour of word {i}");
    }
    let counters = service.pager().counters();
    assert!(
        counters.resident_peak_bytes.load(Relaxed) <= counters.limit_bytes.load(Relaxed),
        "the limit is never exceeded"
    );
    counters.snapshot()
}

fn check(name: &str, replacement: &str, prefetch: &str, url: &str) {
    match started(&settings(4 << 20, replacement, prefetch), url) {
        Ok(service) => {
            let seen = exercise(service, 4096);
            assert!(seen.demand_faults > 0 && seen.fetched_bytes > 0 && seen.written_bytes > 0);
            let touched = service.pager().touched();
            assert!((4096..4096 + 512).contains(&touched), "{touched} pages touched");
        }
        Err(reason) => println!("skipped: {name}: {reason}"),
    }
}

#[test]
fn fifo_without_prefetch_keeps_every_byte() {
    check("fifo_without_prefetch_keeps_every_byte", "fifo", "none", "embedded:");
}

#[test]
fn second_chance_with_readahead_keeps_every_byte() {
    check("second_chance_with_readahead_keeps_every_byte", "second-chance", "linux", "embedded:");
}

#[test]
fn a_slow_compressed_store_keeps_every_byte() {
    let url = "embedded:latency=5us,bandwidth=25gbit,compress=lz4";
    check("a_slow_compressed_store_keeps_every_byte", "second-chance", "readahead", url);
}

#[test]
fn copied_frames_keep_every_byte() {
    let name = "copied_frames_keep_every_byte";
    let copying = Settings { move_frames: false, ..settings(4 << 20, "second-chance", "linux") };
    match started(&copying, "embedded:") {
        Ok(service) => {
            let seen = exercise(service, 4096);
            assert!(seen.demand_faults > 0 && seen.fetched_bytes > 0 && seen.written_bytes > 0);
            let data = words(service, 256);
            data.fill(7);
            let addr = data.as_ptr() as usize;
            service.pager().protect(addr, 256 * PAGE, libc::PROT_NONE).expect("protection changes");
            exercise(service, 2048);
            let all = libc::PROT_READ | libc::PROT_WRITE;
            service.pager().protect(addr, 256 * PAGE, all).expect("protection changes");
            assert!(data.iter().all(|word| *word == 7), "what nobody may read is kept");
        }
        Err(reason) => println!("skipped: {name}: {reason}"),
    }
}

#[test]
fn evicting_ahead_keeps_every_byte() {
    let name = "evicting_ahead_keeps_every_byte";
    for (move_frames, url) in
        [(true, "embedded:"), (false, "embedded:latency=5us,bandwidth=25gbit")]
    {
        let plain = settings(4 << 20, "second-chance", "linux");
        match started(&Settings { move_frames, evict_ahead: true, ..plain }, url) {
            Ok(service) => {
                let seen = exercise(service, 4096);
                assert!(seen.evicted_pages > 0 && seen.written_bytes > 0);
                let alone = farside_os::thread::allowed_processors(2).len() < 2;
                assert!(alone || seen.freed_ahead > 0, "nothing was evicted ahead");
            }
            Err(reason) => println!("skipped: {name}: {reason}"),
        }
    }
}

/// The kernel splits a mapping where the program treats a part of it differently; pages are fetched,
/// populated and evicted in runs that know nothing of it.
#[test]
fn runs_go_over_the_borders_of_mappings() {
    let name = "runs_go_over_the_borders_of_mappings";
    for (readahead, move_frames) in [(2, true), (64, true), (2, false), (64, false)] {
        let plain = settings(1 << 20, "fifo", "readahead");
        let settings = Settings { readahead, move_frames, ..plain };
        let service = match started(&settings, "embedded:") {
            Ok(service) => service,
            Err(reason) => return println!("skipped: {name}: {reason}"),
        };
        let data = words(service, 4096);
        for part in (data.as_ptr() as usize..).step_by(37 * PAGE).take(100).step_by(2) {
            // SAFETY: the range lies in the region; leaving it out of core dumps changes no content.
            let result = unsafe { libc::madvise(part as *mut _, 37 * PAGE, libc::MADV_DONTDUMP) };
            assert_eq!(result, 0);
        }
        for round in 0..2 {
            for (i, word) in data.iter_mut().enumerate() {
                assert_eq!(*word, if round == 0 { 0 } else { value(6, i) }, "word {i}");
                *word = value(6, i);
            }
        }
    }
}

#[test]
fn growth_costs_few_faults_in_either_direction() {
    let name = "growth_costs_few_faults_in_either_direction";
    match started(&settings(64 << 20, "fifo", "none"), "embedded:") {
        Ok(service) => {
            let counters = service.pager().counters();
            let mut before = 0;
            for down in [false, true] {
                let data = words(service, 4096);
                for i in 0..4096 {
                    data[if down { 4095 - i } else { i } * 512] = 1;
                }
                let faults = counters.first_touch_faults.load(Relaxed) - before;
                assert!(faults <= 4096 / 16, "{faults} faults, down: {down}");
                before += faults;
            }
        }
        Err(reason) => println!("skipped: {name}: {reason}"),
    }
}

/// A working set that fits, beside a stream that keeps reclaim at work: what the policy unmaps together
/// to see whether it is used comes back together.
/// What is read ahead is partly here most times, so that less is fetched than there were frames for. What is left of these must
/// not be lost to the program.
#[test]
fn frames_that_lie_scattered_are_used() {
    let name = "frames_that_lie_scattered_are_used";
    match started(&settings(8 << 20, "second-chance", "readahead"), "embedded:") {
        Ok(service) => {
            let data = words(service, 4096);
            data.iter_mut().step_by(512).for_each(|word| *word = 1);
            for turn in 0..20_000 {
                data[value(3, turn) as usize % 4096 * 512] += 1;
            }
            let idle = service.pager().inspect().spare.len();
            assert!(idle <= 512, "{idle} of 2048 frames lie idle");
        }
        Err(reason) => println!("skipped: {name}: {reason}"),
    }
}

#[test]
fn watched_neighbours_come_back_together() {
    let name = "watched_neighbours_come_back_together";
    match started(&settings(4 << 20, "second-chance", "none"), "embedded:") {
        Ok(service) => {
            let (hot, stream) = (words(service, 512), words(service, 16 * 1024));
            let counters = service.pager().counters();
            for page in stream.chunks_exact_mut(512) {
                page[0] = 1;
                for word in hot.iter_mut().step_by(512) {
                    *word += 1;
                }
            }
            assert!(hot.iter().step_by(512).all(|word| *word == 16 * 1024));
            let (soft, demand) = (&counters.soft_faults, &counters.demand_faults);
            let (soft, demand) = (soft.load(Relaxed), demand.load(Relaxed));
            assert!(
                (1..=16 * 1024 / 4).contains(&soft),
                "{soft} soft faults, {demand} demand faults"
            );
        }
        Err(reason) => println!("skipped: {name}: {reason}"),
    }
}

#[test]
fn threads_share_the_region() {
    let name = "threads_share_the_region";
    let service = match started(&settings(4 << 20, "second-chance", "linux"), "embedded:") {
        Ok(service) => service,
        Err(reason) => return println!("skipped: {name}: {reason}"),
    };
    let data = words(service, 4096);
    std::thread::scope(|scope| {
        for (t, part) in data.chunks_mut(1024 * 512).enumerate() {
            scope.spawn(move || {
                for round in 0..3u64 {
                    for (i, word) in part.iter_mut().enumerate() {
                        *word = value(round ^ (t as u64) << 8, i);
                    }
                    for (i, word) in part.iter().enumerate().rev() {
                        assert_eq!(*word, value(round ^ (t as u64) << 8, i));
                    }
                }
            });
        }
    });
    let addr = data.as_ptr() as usize;
    service.pager().discard(addr, 4096 * PAGE);
    assert!(data.iter().all(|word| *word == 0), "discarded memory reads as zeros");
    service.pager().release(addr, 4096 * PAGE);
}

#[test]
fn moved_memory_keeps_its_content() {
    let name = "moved_memory_keeps_its_content";
    let service = match started(&settings(2 << 20, "second-chance", "linux"), "embedded:") {
        Ok(service) => service,
        Err(reason) => return println!("skipped: {name}: {reason}"),
    };
    let data = words(service, 1024);
    for (i, word) in data.iter_mut().enumerate() {
        *word = value(3, i);
    }
    let there = words(service, 1024);
    let (from, to) = (data.as_ptr() as usize, there.as_ptr() as usize);
    service.pager().relocate(from, to, 1024 * PAGE).expect("the target is empty");
    service.pager().release(from, 1024 * PAGE);
    for (i, word) in there.iter().enumerate() {
        assert_eq!(*word, value(3, i), "word {i} after the move");
    }
}

#[test]
fn protected_memory_is_evicted_and_comes_back() {
    let name = "protected_memory_is_evicted_and_comes_back";
    let service = match started(&settings(2 << 20, "fifo", "none"), "embedded:") {
        Ok(service) => service,
        Err(reason) => return println!("skipped: {name}: {reason}"),
    };
    let data = words(service, 256);
    for (i, word) in data.iter_mut().enumerate() {
        *word = value(4, i);
    }
    let addr = data.as_ptr() as usize;
    service.pager().protect(addr, 256 * PAGE, libc::PROT_READ).expect("protection changes");
    let other = words(service, 1024);
    for (i, word) in other.iter_mut().enumerate() {
        *word = value(5, i);
    }
    for (i, word) in data.iter().enumerate() {
        assert_eq!(*word, value(4, i), "word {i} of the protected range");
    }
    service.pager().protect(addr, 256 * PAGE, libc::PROT_READ | libc::PROT_WRITE).expect("again");
    data[0] = 1;
    assert_eq!(data[0], 1);
}

#[test]
fn only_the_first_hint_at_a_window_sends_for_it() {
    let name = "only_the_first_hint_at_a_window_sends_for_it";
    // What is read ahead comes some milliseconds later than the page itself.
    let url = "embedded:latency=20ms,bandwidth=100mbit";
    let service = match started(&settings(4 << 20, "fifo", "none"), url) {
        Ok(service) => service,
        Err(reason) => return println!("skipped: {name}: {reason}"),
    };
    // All of these are far when as many others have been written behind them.
    let data = words(service, 4096);
    data.iter_mut().enumerate().for_each(|(i, word)| *word = value(3, i));
    let hint = |page: usize, ahead| {
        let address = std::ptr::from_ref(&data[page * 512]) as usize;
        service.hint(&Hint { address, size: 1, ahead, ..Hint::default() });
    };
    // Whether the second hint finds its page on its way is up to the scheduler, so that there are several windows.
    let mut late = 0;
    for first in (0..2048).step_by(64) {
        let before = service.pager().counters().snapshot();
        hint(first, 32);
        // On its way, so that its window is, too: the one behind that is another hint's.
        hint(first + 1, 32);
        hint(first + 33, 0);
        let after = service.pager().counters().snapshot();
        assert_eq!(after.hinted_pages - before.hinted_pages, 2, "pages {first} and {}", first + 33);
        late = after.late_hits - before.late_hits;
        assert!(late <= 1, "only page {} may be late", first + 1);
        if late == 1 {
            break;
        }
    }
    assert_eq!(late, 1, "no second hint found its page on its way");
    for page in [0, 1, 32, 33] {
        assert_eq!(data[page * 512], value(3, page * 512));
    }
}
