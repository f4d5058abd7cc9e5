//! Clusters of Redis servers.

use farside_exam::{Churn, Cluster, Machine, Network, has_program, pick};

use super::{endure, network, start};

/// A cluster of three primaries and as many replicas, each on a machine of its own.
fn cluster(test: &str) -> Option<(Network, Cluster)> {
    let network = network(test)?;
    let there = has_program(test, "redis-server", "redis-server")
        && has_program(test, "redis-cli", "redis-tools");
    there.then(|| {
        let cluster = Cluster::across(&network, 3, 1);
        (network, cluster)
    })
}

const OPTIONS: &str = "deadline=300ms&patience=60s";

fn machine(cluster: &Cluster, which: usize) -> Machine {
    cluster.machine(cluster.servers[which].port).expect("it has a machine").clone()
}

#[test]
fn a_primary_that_was_cut_off_is_done_without() {
    let name = "a_primary_that_was_cut_off_is_done_without";
    let Some((network, cluster)) = cluster(name) else { return };
    let churn = Churn::new("a primary is cut off", "16", pick("40", "200"));
    let client = network.machine();
    let mut running = start(&churn, &client, &cluster.url(OPTIONS));
    let cut = machine(&cluster, cluster.find(true));
    network.part(&[&cut]);
    endure(&mut running, pick(2000, 20_000));
    network.unite(&[&cut]);
    churn.same(&running.finish());
    // The one that was replaced follows its successor.
    cluster.await_replicas(1);
}

#[test]
fn a_client_cut_off_with_a_primary_believes_nothing_it_stores_there() {
    let name = "a_client_cut_off_with_a_primary_believes_nothing_it_stores_there";
    let Some((network, cluster)) = cluster(name) else { return };
    let churn = Churn::new("client and primary are cut off", "16", pick("40", "200"));
    let client = network.machine();
    let mut running = start(&churn, &client, &cluster.url(OPTIONS));
    let primary = machine(&cluster, cluster.find(true));
    network.part(&[&client, &primary]);
    // Long enough for the others to make another one the primary.
    endure(&mut running, pick(4000, 20_000));
    network.unite(&[&client, &primary]);
    churn.same(&running.finish());
    cluster.await_replicas(1);
}

#[test]
fn a_client_that_was_cut_off_from_its_cluster_goes_on() {
    let name = "a_client_that_was_cut_off_from_its_cluster_goes_on";
    let Some((network, cluster)) = cluster(name) else { return };
    let churn = Churn::new("the client of a cluster is cut off", "16", pick("40", "200"));
    let client = network.machine();
    let mut running = start(&churn, &client, &cluster.url(OPTIONS));
    network.part(&[&client]);
    endure(&mut running, pick(2000, 20_000));
    network.unite(&[&client]);
    churn.same(&running.finish());
}
