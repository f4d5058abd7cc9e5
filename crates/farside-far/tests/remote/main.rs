//! Pages on nodes across a network, and what becomes of them when nodes and cables fail.

mod cable;
mod credentials;
mod forgetful;
mod parts;
mod setup;
mod ucx;

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cable::Cable;
use farside_far::remote::Carrier;
use farside_far::{FarError, FarStore};
use farside_node::network::Options;
use farside_os::memory::PAGE;
use farside_wire::transport::Protection;
use forgetful::forgetful_node;
use proptest::prelude::*;
use setup::{Client, eventually, node, timing};

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
        3 => (0u64..400, prop::collection::vec(any::<u8>(), 1..150)).prop_map(|(at, fills)| Deed::Write(at, fills)),
        4 => (0u64..400, 1u32..150).prop_map(|(at, count)| Deed::Read(at, count)),
        1 => (0u64..400, 1u64..100).prop_map(|(at, count)| Deed::Discard(at, count)),
        1 => (0u64..400, 600u64..900, 1u64..50).prop_map(|(from, to, count)| Deed::Rename(from, to, count)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn pages_come_back_as_they_were_stored_last(
        deeds in prop::collection::vec(deed(), 1..40),
        copies in 1usize..4,
    ) {
        let nodes: Vec<_> = (0..3).map(|_| node(Options::default()).1).collect();
        let client = Client::of(&nodes, copies, timing());
        let mut model: HashMap<u64, u8> = HashMap::new();
        for deed in deeds {
            match deed {
                Deed::Write(at, fills) => {
                    client.write(at, &fills).unwrap();
                    model.extend((at..).zip(fills));
                }
                Deed::Read(at, count) => {
                    let run = (at..at + u64::from(count)).take_while(|page| model.contains_key(page));
                    let expected: Vec<u8> = run.map(|page| model[&page]).collect();
                    if !expected.is_empty() {
                        let got = client.read(at, expected.len() as u32).unwrap();
                        prop_assert!(got == expected, "{at}: {got:?} instead of {expected:?}");
                    }
                }
                Deed::Discard(at, count) => {
                    client.store.discard(at, count).unwrap();
                    (at..at + count).for_each(|page| _ = model.remove(&page));
                }
                Deed::Rename(from, to, count) => {
                    client.store.discard(to, count).unwrap();
                    client.store.rename(from, to, count).unwrap();
                    for i in 0..count {
                        match model.remove(&(from + i)) {
                            Some(fill) => model.insert(to + i, fill),
                            None => model.remove(&(to + i)),
                        };
                    }
                }
            }
            prop_assert_eq!(client.store.held(), model.len() as u64);
        }
    }
}

#[test]
fn what_is_forgotten_takes_no_memory() {
    let (node, address) = node(Options::default());
    let client = Client::of(&[address], 1, timing());
    client.write(0, &[1; 300]).unwrap();
    let used = || (node.vitals().total - node.vitals().free) / PAGE as u64;
    assert_eq!(used(), 300);
    client.store.discard(100, 150).unwrap();
    eventually("the node forgets", || used() == 150);
    assert_eq!(client.read(0, 100).unwrap(), [1; 100]);
    assert_eq!(
        client.store.begin_read(100, 1).and_then(|t| client.store.finish_read(t, &mut [0; PAGE])),
        Err(FarError::Missing(100))
    );
}

#[test]
fn the_pages_of_a_client_that_is_gone_are_forgotten() {
    let (node, address) = node(Options { lease: Duration::from_millis(50), ..Options::default() });
    let client = Client::of(&[address], 1, timing());
    client.write(0, &[1; 100]).unwrap();
    drop(client);
    eventually("the lease ends", || node.vitals().free == node.vitals().total);
    assert_eq!(node.occupancy(), (0, 0));
    let ended = || node.counters().leases_ended.load(Ordering::Relaxed);
    eventually("that is counted", || ended() == 1);
    // Who kept nothing has not lost anything.
    drop(Client::of(&[address], 1, timing()));
    eventually("it is gone", || node.occupancy() == (0, 0));
    assert_eq!(ended(), 1);
}

#[test]
fn the_pages_of_processes_that_are_gone_do_not_wait_for_the_lease() {
    let (node, address) = node(Options { lease: Duration::from_secs(3600), ..Options::default() });
    let free = || node.vitals().free == node.vitals().total;
    let stays = Client::named(1, &[address], timing());
    stays.write(0, &[1; 100]).unwrap();
    let leaves = Client::named(2, &[address], timing());
    leaves.write(0, &[2; 100]).unwrap();
    let network = Carrier::Tcp.network(Protection::None);
    let leave = |pool| farside_far::remote::leave(&*network, &address.into(), &timing(), pool);
    leave(2).unwrap();
    // Nothing goes while anybody is there.
    assert_eq!(leaves.read(0, 100).unwrap(), [2; 100]);
    drop(leaves);
    let used = || (node.vitals().total - node.vitals().free) / PAGE as u64;
    eventually("its pages are gone", || used() == 100);
    assert_eq!(stays.read(0, 100).unwrap(), [1; 100]);
    drop(stays);
    leave(1).unwrap();
    eventually("all pages are gone", free);
    // A pool that a node never had, and a node that knows nothing of leaving.
    leave(3).unwrap();
    eventually("nobody is left", || node.occupancy() == (0, 0));
    let old = forgetful_node(0);
    farside_far::remote::leave(&*network, &old.into(), &timing(), 1).unwrap();
}

#[test]
fn a_node_that_is_lost_costs_no_page_if_another_one_has_it() {
    let nodes: Vec<_> = (0..3).map(|_| node(Options::default()).1).collect();
    let cables: Vec<_> = nodes.iter().map(|node| Cable::to(*node)).collect();
    let addresses: Vec<_> = cables.iter().map(|cable| cable.address).collect();
    let client = Client::of(&addresses, 2, timing());
    let fills: Vec<u8> = (0..2000u32).map(|i| (i % 251) as u8).collect();
    client.write(0, &fills).unwrap();
    cables[0].cut();
    assert!(client.read(0, 2000).unwrap() == fills);
    client.write(500, &[9; 700]).unwrap();
    let health = || client.store.health();
    eventually("repairs end", || health().repaired_copies > 0 && health().lacking_pages == 0);
    cables[1].cut();
    let mut expected = fills.clone();
    expected[500..1200].fill(9);
    assert!(client.read(0, 2000).unwrap() == expected, "the second loss cost pages");
}

#[test]
fn a_program_waits_for_the_only_node_that_has_its_pages() {
    let (_node, address) = node(Options::default());
    let cable = Cable::to(address);
    let client = Client::of(&[cable.address], 1, timing());
    client.write(0, &[5; 200]).unwrap();
    cable.cut();
    let reader = std::thread::scope(|scope| {
        let reading = scope.spawn(|| client.read(0, 200));
        cable.wait_until_tried(3);
        assert!(!reading.is_finished(), "there was no node");
        cable.mend(address);
        reading.join().unwrap()
    });
    assert_eq!(reader, Ok(vec![5; 200]));
    client.write(100, &[6; 200]).unwrap();
    assert_eq!(client.read(100, 200), Ok(vec![6; 200]));
}

#[test]
fn a_node_that_comes_back_empty_is_found_out() {
    let (_node, address) = node(Options::default());
    let cable = Cable::to(address);
    let client = Client::of(&[cable.address], 1, timing());
    client.write(0, &[5; 10]).unwrap();
    cable.cut();
    let (_other, other) = node(Options::default());
    cable.mend(other);
    assert_eq!(client.read(3, 1), Err(FarError::Lost(3)));
    // What is stored from now on is there.
    client.write(20, &[6; 10]).unwrap();
    assert_eq!(client.read(20, 10), Ok(vec![6; 10]));
}

#[test]
fn a_node_that_stops_answering_is_done_without() {
    let nodes: Vec<_> = (0..2).map(|_| node(Options::default()).1).collect();
    let cables: Vec<_> = nodes.iter().map(|node| Cable::to(*node)).collect();
    let client = Client::of(&[cables[0].address, cables[1].address], 2, timing());
    client.write(0, &[1; 500]).unwrap();
    cables[0].stop(true);
    assert_eq!(client.read(0, 500), Ok(vec![1; 500]));
    client.write(100, &[2; 100]).unwrap();
    assert_eq!(client.read(100, 100), Ok(vec![2; 100]));
    cables[0].stop(false);
    let health = || client.store.health();
    eventually("the copies are made", || health().repaired_copies + 100 >= health().degraded_pages);
    assert_eq!(client.read(100, 100), Ok(vec![2; 100]));
    assert!(health().hedged_reads > 0);
}

#[test]
fn damage_on_the_way_is_never_seen() {
    let nodes: Vec<_> = (0..2).map(|_| node(Options::default()).1).collect();
    let cables: Vec<_> = nodes.iter().map(|node| Cable::to(*node)).collect();
    let client = Client::of(&[cables[0].address, cables[1].address], 2, timing());
    cables.iter().for_each(|cable| cable.flip_every(400_009));
    for round in 0..20u8 {
        let fills: Vec<u8> = (0..200).map(|i: u8| i.wrapping_mul(round + 3)).collect();
        client.write(0, &fills).unwrap();
        assert!(client.read(0, 200).unwrap() == fills, "round {round}");
    }
    assert!(client.store.health().damaged_pages > 0);
}

#[test]
fn a_full_node_takes_no_more_and_loses_nothing() {
    let small = Options { memory: 100 * PAGE as u64, ..Options::default() };
    let (_node, address) = node(small);
    let patience = farside_far::remote::Timing { patience_ns: 1_000_000_000, ..timing() };
    let client = Client::of(&[address], 1, patience);
    client.write(0, &[1; 90]).unwrap();
    assert_eq!(client.write(100, &[2; 20]), Err(FarError::Full));
    assert_eq!(client.read(0, 90), Ok(vec![1; 90]));
    client.write(0, &[3; 90]).unwrap();
    assert_eq!(client.read(0, 90), Ok(vec![3; 90]));
}

#[test]
fn who_waits_gets_the_room_that_is_made_meanwhile() {
    let small = Options { memory: 100 * PAGE as u64, ..Options::default() };
    let (_node, address) = node(small);
    let (holder, waiter) =
        (Client::of(&[address], 1, timing()), Client::of(&[address], 1, timing()));
    holder.write(0, &[1; 90]).unwrap();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| waiter.write(0, &[2; 20]));
        std::thread::sleep(Duration::from_millis(50));
        assert!(!writing.is_finished(), "there was no room");
        holder.store.discard(0, 50).unwrap();
        assert_eq!(writing.join().unwrap(), Ok(()));
    });
    assert_eq!(waiter.read(0, 20), Ok(vec![2; 20]));
    assert_eq!(holder.read(50, 40), Ok(vec![1; 40]));
}

#[test]
fn a_program_starts_while_a_node_is_lost() {
    let nodes: Vec<_> = (0..2).map(|_| node(Options::default()).1).collect();
    let cables: Vec<_> = nodes.iter().map(|node| Cable::to(*node)).collect();
    cables[1].cut();
    let client = Client::of(&[cables[0].address, cables[1].address], 2, timing());
    client.write(0, &[3; 100]).unwrap();
    assert_eq!(client.read(0, 100), Ok(vec![3; 100]));
    cables[1].mend(nodes[1]);
    eventually("the copies are made", || client.store.health().repaired_copies == 100);
    cables[0].cut();
    assert_eq!(client.read(0, 100), Ok(vec![3; 100]));
}
