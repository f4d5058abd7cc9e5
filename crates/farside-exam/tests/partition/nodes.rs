//! Memory nodes.

use farside_exam::{Churn, Machine, Network, Node, pick};

use super::{endure, network, start};

/// The exit code of a program that was stopped because its pages cannot be had.
const TO_STOP: i32 = 125;

/// So many machines with a node on each, and their URL.
fn nodes(network: &Network, count: usize, options: &str) -> (Vec<Machine>, Vec<Node>, String) {
    let machines: Vec<Machine> = (0..count).map(|_| network.machine()).collect();
    let nodes: Vec<Node> = machines.iter().map(|machine| Node::start_on(machine, "256M")).collect();
    let hosts: Vec<&str> = nodes.iter().map(|node| &node.address[..]).collect();
    let far = format!("tcp://{}?{options}", hosts.join(","));
    (machines, nodes, far)
}

#[test]
fn a_client_that_was_cut_off_goes_on() {
    let Some(network) = network("a_client_that_was_cut_off_goes_on") else { return };
    let churn = Churn::new("the client is cut off", "16", pick("60", "200"));
    let (_machines, _nodes, far) = nodes(&network, 2, "copies=2&deadline=300ms");
    let client = network.machine();
    let mut running = start(&churn, &client, &far);
    for _ in 0..2 {
        network.part(&[&client]);
        endure(&mut running, pick(1500, 10_000));
        network.unite(&[&client]);
        endure(&mut running, 300);
    }
    churn.same(&running.finish());
}

#[test]
fn a_client_that_stays_cut_off_is_told_and_stopped() {
    let Some(network) = network("a_client_that_stays_cut_off_is_told_and_stopped") else { return };
    let churn = Churn::endless("the client stays cut off", "16");
    let (_machines, _nodes, far) = nodes(&network, 2, "copies=2&deadline=200ms&patience=1s");
    let client = network.machine();
    let running = start(&churn, &client, &far);
    network.part(&[&client]);
    let finished = running.finish();
    assert_eq!(finished.code(), Some(TO_STOP), "{}", finished.errors());
    assert!(finished.errors().contains("memory node is gone"), "{}", finished.errors());
}

#[test]
fn nodes_that_are_cut_off_one_after_the_other_are_done_without() {
    let name = "nodes_that_are_cut_off_one_after_the_other_are_done_without";
    let Some(network) = network(name) else { return };
    let churn = Churn::new("nodes are cut off", "16", pick("90", "300"));
    let (machines, _nodes, far) = nodes(&network, 3, "copies=2&deadline=200ms");
    let client = network.machine();
    let mut running = start(&churn, &client, &far);
    for machine in &machines {
        network.part(&[machine]);
        endure(&mut running, pick(1000, 10_000));
        network.unite(&[machine]);
        // Long enough to be found again, and for what it missed to be copied.
        endure(&mut running, pick(2500, 10_000));
    }
    churn.same(&running.finish());
}
