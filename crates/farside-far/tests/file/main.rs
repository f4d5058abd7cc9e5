//! Pages in a file: as they were stored, or an error that says what is wrong.

mod setup;

use std::collections::HashMap;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::process::Command;

use farside_far::file::{Unusable, check};
use farside_far::{FarError, FarStore, FarUrl, FileUrl};
use farside_os::memory::PAGE;
use proptest::prelude::*;
use setup::{Client, PAGES, content, fills, skipped};

/// Something a pager does with its store.
#[derive(Clone, Debug)]
enum Deed {
    Write(u64, Vec<u8>),
    Read(u64, u32),
    Discard(u64, u64),
    Rename(u64, u64, u64),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        3 => (0u64..400, prop::collection::vec(any::<u8>(), 1..300)).prop_map(|(at, fills)| Deed::Write(at, fills)),
        4 => (0u64..400, 1u32..150).prop_map(|(at, count)| Deed::Read(at, count)),
        1 => (0u64..400, 1u64..100).prop_map(|(at, count)| Deed::Discard(at, count)),
        1 => (0u64..400, 800u64..1200, 1u64..50).prop_map(|(from, to, count)| Deed::Rename(from, to, count)),
    ]
}

/// What should be stored.
#[derive(Default)]
struct Model(HashMap<u64, u8>);

impl Model {
    /// Does the same to the store and to itself. Of the store, there is room for `room` pages.
    fn follow(&mut self, client: &Client, deed: Deed, room: usize) -> Result<(), TestCaseError> {
        match deed {
            Deed::Write(at, fills) => match client.write(at, &fills) {
                Ok(()) => self.0.extend((at..).zip(fills)),
                Err(error) => {
                    prop_assert_eq!(error, FarError::Full);
                    let new = (at..).take(fills.len()).filter(|page| !self.0.contains_key(page));
                    prop_assert!(self.0.len() + new.count() > room, "there was room");
                    // Any of them may have been stored.
                    let count = fills.len() as u64;
                    client.store.discard(at, count).unwrap();
                    (at..at + count).for_each(|page| _ = self.0.remove(&page));
                }
            },
            Deed::Read(at, count) => {
                let run = (at..at + u64::from(count)).take_while(|page| self.0.contains_key(page));
                let expected: Vec<u8> = run.map(|page| self.0[&page]).collect();
                if !expected.is_empty() {
                    let got = client.read(at, expected.len() as u32).unwrap();
                    prop_assert!(got == expected, "{at}: {got:?} instead of {expected:?}");
                }
            }
            Deed::Discard(at, count) => {
                client.store.discard(at, count).unwrap();
                (at..at + count).for_each(|page| _ = self.0.remove(&page));
            }
            Deed::Rename(from, to, count) => {
                client.store.discard(to, count).unwrap();
                client.store.rename(from, to, count).unwrap();
                for i in 0..count {
                    match self.0.remove(&(from + i)) {
                        Some(fill) => self.0.insert(to + i, fill),
                        None => self.0.remove(&(to + i)),
                    };
                }
            }
        }
        prop_assert_eq!(client.store.held(), self.0.len() as u64);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn pages_come_back_as_they_were_stored_last(
        deeds in prop::collection::vec(deed(), 1..40),
        seal in prop::bool::ANY,
        ring in prop::bool::ANY,
        depth in 1u32..20,
        room in 300usize..1500,
    ) {
        let word = |is| if is { "yes" } else { "no" };
        let options = format!(
            "size={}&seal={}&ring={}&depth={depth}", room * PAGE, word(seal), word(ring)
        );
        let client = Client::new(&options);
        let mut model = Model::default();
        for deed in deeds {
            model.follow(&client, deed, room)?;
        }
    }
}

#[test]
fn a_ring_is_no_other_than_simple_calls() {
    let clients = ["size=8M&ring=yes", "size=8M&ring=no"].map(Client::new);
    assert!(!clients[1].store.has_ring());
    if !clients[0].store.has_ring() {
        skipped("a_ring_is_no_other_than_simple_calls", "the kernel has no ring for this process");
    }
    for client in clients {
        let stored: Vec<u8> = (0..1000).map(|at| at as u8).collect();
        client.write(7, &stored).unwrap();
        assert!(client.read(7, 1000).unwrap() == stored);
        // Runs in any order, begun before the first is waited for.
        let runs: Vec<Vec<u8>> = (0..200u8).map(|at| content(&[at, at ^ 1])).collect();
        let firsts = (0..200).map(|at| (at * 37 % 500) * 2);
        let runs: Vec<(u64, &[u8])> = firsts.zip(runs.iter().map(|run| &run[..])).collect();
        client.store.write_runs(&runs).unwrap();
        let tickets: Vec<_> =
            runs.iter().map(|(first, _)| client.store.begin_read(*first, 2).unwrap()).collect();
        for (ticket, (first, run)) in tickets.into_iter().zip(&runs).rev() {
            let mut into = vec![0; 2 * PAGE];
            client.store.finish_read(ticket, &mut into).unwrap();
            assert!(into == *run, "page {first}");
        }
    }
}

#[test]
fn pages_that_are_not_stored_are_missed() {
    for options in ["size=1M", "size=1M&ring=no"] {
        let client = Client::new(options);
        assert_eq!(client.read(3, 1), Err(FarError::Missing(3)));
        client.write(3, &[1, 2]).unwrap();
        assert_eq!(client.read(2, 4), Err(FarError::Missing(2)));
        assert_eq!(client.read(3, 3), Err(FarError::Missing(5)));
        assert_eq!(client.read(3, 2), Ok(vec![1, 2]));
        client.store.mark_lost();
        assert_eq!(client.read(3, 2), Err(FarError::NodeLost));
        assert_eq!(client.write(3, &[1]), Err(FarError::NodeLost));
    }
}

#[test]
fn a_full_file_takes_what_is_stored_already_and_what_is_freed() {
    let client = Client::new("size=400K");
    let stored: Vec<u8> = (0..100).collect();
    client.write(0, &stored).unwrap();
    assert_eq!(client.write(100, &[1]), Err(FarError::Full));
    assert_eq!(client.write(50, &[7; 60]), Err(FarError::Full));
    client.write(0, &stored).unwrap();
    for page in [90, 3, 50] {
        client.store.discard(page, 2).unwrap();
    }
    client.write(200, &[1, 2, 3, 4, 5, 6]).unwrap();
    assert_eq!(client.write(300, &[1]), Err(FarError::Full));
    assert_eq!(client.read(200, 6), Ok(vec![1, 2, 3, 4, 5, 6]));
    assert_eq!(client.read(5, 40).unwrap(), stored[5..45]);
    assert_eq!(client.file().metadata().unwrap().len(), 400 << 10);
}

#[test]
fn room_is_given_back_to_the_file_system() {
    let client = Client::new("size=16M");
    client.write(0, &[1; 2000]).unwrap();
    let used = || client.file().metadata().unwrap().blocks() * 512;
    client.file().sync_all().unwrap();
    let before = used();
    assert!(before >= 2000 * PAGE as u64, "{before}");
    client.store.discard(100, 1800).unwrap();
    let after = used();
    assert!(after <= before - 1700 * PAGE as u64, "{after} of {before}");
    client.write(5000, &[2; 3000]).unwrap();
    assert_eq!(client.read(5000, 3000), Ok(vec![2; 3000]));
    assert_eq!(client.read(0, 100), Ok(vec![1; 100]));
}

#[test]
fn nobody_else_finds_the_file_or_may_read_it() {
    let client = Client::new("size=1M");
    client.write(0, &[1]).unwrap();
    assert_eq!(client.names(), 0);
    let file = client.file().metadata().unwrap();
    assert_eq!((file.mode() & 0o777, file.nlink()), (0o600, 0));
}

#[test]
fn a_sealed_page_cannot_be_read_from_the_file() {
    for (options, is_seen) in [("size=1M&seal=no", true), ("size=1M&seal=yes", false)] {
        let client = Client::new(options);
        client.write(0, &[77]).unwrap();
        let mut stored = vec![0; 1 << 20];
        client.file().read_exact_at(&mut stored, 0).unwrap();
        let page = content(&[77]);
        assert_eq!(stored.windows(PAGE).any(|window| window == page), is_seen, "{options}");
    }
}

#[test]
fn damage_is_noticed_and_told() {
    for options in ["size=1M", "size=1M&seal=yes", "size=1M&ring=no"] {
        let client = Client::new(options);
        let stored: Vec<u8> = (1..=200).collect();
        client.write(0, &stored).unwrap();
        let file = client.file();
        let place = (0..200).find(|slot| {
            let mut page = vec![0; PAGE];
            file.read_exact_at(&mut page, slot * PAGE as u64).unwrap();
            options.contains("seal") || page == content(&[101])
        });
        let at = place.expect("the page is in the file") * PAGE as u64 + 1234;
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 16], at).unwrap();
        let Err(FarError::Damaged(page)) = client.read(0, 200) else { panic!("{options}") };
        // It was read twice.
        assert_eq!(client.store.health().damaged_pages, 2);
        let (before, after) = (page as u32, 199 - page as u32);
        assert!(before == 0 || client.read(0, before).unwrap() == stored[..before as usize]);
        assert!(client.read(page + 1, after).unwrap() == stored[page as usize + 1..]);
        file.write_all_at(&byte, at).unwrap();
        assert!(client.read(0, 200).unwrap() == stored);
    }
}

#[test]
fn an_older_page_is_not_taken_for_the_newer_one() {
    let client = Client::new("size=1M&seal=yes");
    client.write(0, &[1]).unwrap();
    let file = client.file();
    let mut old = vec![0; 1 << 20];
    file.read_exact_at(&mut old, 0).unwrap();
    client.write(0, &[2]).unwrap();
    file.write_all_at(&old, 0).unwrap();
    assert_eq!(client.read(0, 1), Err(FarError::Damaged(0)));
}

/// A small file system in memory, until it is dropped.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(size: &str) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "farside-test"]);
        let mounted = mount.arg(directory.path()).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(Self(directory))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).output();
    }
}

#[test]
fn a_full_file_system_is_told_and_loses_nothing() {
    let Some(disk) = SmallDisk::mount("1M") else {
        return skipped(
            "a_full_file_system_is_told_and_loses_nothing",
            "mounting is not permitted",
        );
    };
    for options in ["size=8M", "size=8M&ring=no", "size=8M&seal=yes"] {
        let client = Client::within(disk.0.path().to_owned(), options).unwrap();
        let mut stored = 0;
        let error = loop {
            match client.write(stored, &[stored as u8; 10]) {
                Ok(()) => stored += 10,
                Err(error) => break error,
            }
        };
        assert_eq!(error, FarError::Full);
        assert!((200..256).contains(&stored), "{stored}");
        let all =
            |step: u64| (0..stored).map(|page| (page / step * step) as u8).collect::<Vec<_>>();
        assert!(client.read(0, stored as u32).unwrap() == all(10));
        // Stored pages can be stored again, and what is freed goes to others.
        for page in 0..stored {
            client.write(page, &[page as u8]).unwrap();
        }
        assert!(client.read(0, stored as u32).unwrap() == all(1));
        client.store.discard(0, 100).unwrap();
        client.write(1000, &[9; 50]).unwrap();
        assert_eq!(client.read(1000, 50), Ok(vec![9; 50]));
    }
}

#[test]
fn what_cannot_be_used_is_told_before() {
    let whole = tempfile::tempdir_in("/var/tmp").unwrap();
    let url = |name: &str, options: &str| -> FileUrl {
        let text = format!("file:{}{name}?{options}", whole.path().display());
        let FarUrl::File(url) = text.parse().unwrap() else { panic!("{text}") };
        url
    };
    let good = check(&url("", "size=10000")).unwrap();
    assert_eq!(good.size, Some(8192));
    assert!(check(&url("/new", "")).unwrap().size > Some(1 << 20));
    assert!(matches!(check(&url("/none/new", "")), Err(Unusable::Directory { .. })));
    std::fs::write(whole.path().join("old"), "the user's").unwrap();
    assert!(matches!(check(&url("/old", "")), Err(Unusable::Exists(_))));
    std::os::unix::fs::symlink("nowhere", whole.path().join("link")).unwrap();
    assert!(matches!(check(&url("/link", "")), Err(Unusable::Exists(_))));
    if let Some(disk) = SmallDisk::mount("1M") {
        let text = format!("file:{}?size=2M", disk.0.path().display());
        let FarUrl::File(url) = text.parse().unwrap() else { panic!("{text}") };
        assert!(matches!(check(&url), Err(Unusable::Small { size: 0x20_0000, .. })));
    }
    assert_eq!(std::fs::read_dir(whole.path()).unwrap().count(), 2);
    assert_eq!(std::fs::read(whole.path().join("old")).unwrap(), b"the user's");
}

#[test]
fn many_threads_read_and_write_at_once() {
    for options in ["size=16M&depth=8", "size=16M&seal=yes", "size=16M&ring=no"] {
        let client = Client::new(options);
        std::thread::scope(|scope| {
            for thread in 0..8u64 {
                let client = &client;
                scope.spawn(move || {
                    let first = thread * 400;
                    for round in 0..40u64 {
                        let fill = (thread * 31 + round) as u8;
                        let at = first + round * 7 % 200;
                        client.write(at, &[fill; 100]).unwrap();
                        // Begun here, and waited for after other pages.
                        let ticket = client.store.begin_read(at + 10, 60).unwrap();
                        assert_eq!(client.read(at, 5), Ok(vec![fill; 5]));
                        let mut into = vec![0; 60 * PAGE];
                        client.store.finish_read(ticket, &mut into).unwrap();
                        assert_eq!(fills(&into), vec![fill; 60]);
                        if round % 8 == 7 {
                            client.store.discard(at, 100).unwrap();
                        }
                    }
                });
            }
        });
    }
}

/// Runs a child of this process on the store, beside `parent`; true if the child says that all is well.
fn fork(client: &Client, child: impl FnOnce() -> bool, parent: impl FnOnce()) -> bool {
    client.store.before_fork().unwrap();
    // Who the child is does not matter to the keeper of its tables.
    let link = client.link_of_child(u32::MAX);
    // SAFETY: the child uses only what it has a copy of, and leaves without the destructors of this process.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let fine = client.store.after_fork_in_child(link).is_ok() && child();
        // SAFETY: ends the process.
        unsafe { libc::_exit(i32::from(!fine)) };
    }
    assert!(pid > 0);
    drop(link);
    client.store.after_fork_in_parent(true);
    parent();
    let mut status = 0;
    // SAFETY: the pointer is valid.
    unsafe { libc::waitpid(pid, &raw mut status, 0) };
    status == 0
}

#[test]
fn parent_and_child_keep_their_own() {
    for options in ["size=8M", "size=8M&seal=yes", "size=8M&ring=no"] {
        let client = Client::new(options);
        let stored: Vec<u8> = (0..200).collect();
        client.write(0, &stored).unwrap();
        let child = || {
            let mut fine = client.read(0, 200).is_ok_and(|read| read == stored);
            for round in 0..20 {
                fine &= client.write(50, &[round; 100]).is_ok();
                fine &= client.read(50, 100) == Ok(vec![round; 100]);
                fine &= client.write(500, &[round; 300]).is_ok();
            }
            fine && client.read(0, 50).is_ok_and(|read| read == stored[..50])
        };
        let parent = || {
            for round in 100..120 {
                client.write(0, &[round; 100]).unwrap();
                assert_eq!(client.read(0, 100), Ok(vec![round; 100]));
                client.write(600, &[round; 300]).unwrap();
            }
        };
        assert!(fork(&client, child, parent), "{options}");
        assert_eq!(client.read(0, 100), Ok(vec![119; 100]));
        assert_eq!(client.read(100, 100).unwrap(), stored[100..]);
        assert_eq!(client.read(600, 300), Ok(vec![119; 300]));
    }
}

#[test]
fn what_children_held_is_used_again() {
    let client = Client::new("size=1M");
    client.write(0, &[0; 100]).unwrap();
    for round in 1..20u8 {
        let before = vec![round - 1; 100];
        let child = || client.read(0, 100).is_ok_and(|read| read == before);
        // What it shares with the child, it must not overwrite.
        assert!(fork(&client, child, || client.write(0, &[round; 100]).unwrap()));
        // The keeper hears of the child's end in a moment.
        let begun = std::time::Instant::now();
        while let Err(error) = client.write(1000, &[round; 120]) {
            assert_eq!(error, FarError::Full);
            assert!(begun.elapsed().as_secs() < 20, "round {round}: what the child held is lost");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        client.store.discard(1000, 120).unwrap();
        assert_eq!(client.read(0, 100), Ok(vec![round; 100]));
    }
}

#[test]
fn a_region_ends_where_it_ends() {
    let client = Client::new("size=1M");
    client.write(PAGES - 2, &[5, 6]).unwrap();
    assert_eq!(client.read(PAGES - 2, 2), Ok(vec![5, 6]));
}
