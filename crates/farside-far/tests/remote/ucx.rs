//! Nodes over UCX, where it is installed.

use farside_far::{FarError, FarStore};
use farside_node::network::Options;
use farside_os::memory::PAGE;
use farside_wire::transport::ucx;

use super::cable::Cable;
use super::setup::{Client, eventually, timing, ucx_node};

/// Whether there is something to test.
fn is_there(test: &str) -> bool {
    match ucx::check() {
        Ok(()) => true,
        Err(error) => {
            println!("skipped: {test}: {error}");
            false
        }
    }
}

fn fills(count: u32) -> Vec<u8> {
    (0..count).map(|page| (page % 251) as u8).collect()
}

#[test]
fn pages_come_back_over_ucx() {
    if !is_there("pages_come_back_over_ucx") {
        return;
    }
    let (node, address) = ucx_node(Options::default());
    let client = Client::over_ucx(&[address], 1, timing());
    let expected = fills(3000);
    client.write(0, &expected).unwrap();
    assert!(client.read(0, 3000).unwrap() == expected);
    client.store.discard(1000, 500).unwrap();
    let used = || (node.vitals().total - node.vitals().free) / PAGE as u64;
    eventually("the node forgets", || used() == 2500);
    assert_eq!(
        client.store.begin_read(1000, 1).and_then(|t| client.store.finish_read(t, &mut [0; PAGE])),
        Err(FarError::Missing(1000))
    );
    drop(client);
    eventually("the node sees that the client is gone", || node.occupancy().1 == 0);
}

#[test]
fn several_threads_share_a_connection_over_ucx() {
    if !is_there("several_threads_share_a_connection_over_ucx") {
        return;
    }
    let nodes = [ucx_node(Options::default()).1, ucx_node(Options::default()).1];
    let client = Client::over_ucx(&nodes, 2, timing());
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let client = &client;
            scope.spawn(move || {
                for round in 0..30u8 {
                    let first = thread * 1000 + u64::from(round) * 10;
                    let expected: Vec<u8> =
                        (0..50).map(|page| page ^ round ^ thread as u8).collect();
                    client.write(first, &expected).unwrap();
                    assert_eq!(client.read(first, 50).unwrap(), expected);
                }
            });
        }
    });
}

#[test]
fn a_node_over_ucx_that_is_lost_costs_no_page_if_another_one_has_it() {
    if !is_there("a_node_over_ucx_that_is_lost_costs_no_page_if_another_one_has_it") {
        return;
    }
    let addresses = [ucx_node(Options::default()).1, ucx_node(Options::default()).1];
    // UCX makes its first connection through the cable; where the rest goes is up to it.
    let cables = addresses.map(Cable::to);
    let client = Client::over_ucx(&cables.each_ref().map(|cable| cable.address), 2, timing());
    let expected = fills(1000);
    client.write(0, &expected).unwrap();
    cables[0].cut();
    assert!(client.read(0, 1000).unwrap() == expected);
    client.write(500, &[9; 100]).unwrap();
    assert_eq!(client.read(500, 100).unwrap(), [9; 100]);
}
