//! Pages and programs on clusters of real Redis servers that are killed, stopped, emptied and filled.

mod programs;
mod store;

use std::collections::HashMap;

use farside_exam::{Cluster, Random, has_program, pick, plain_only, skipped};
use farside_far::{FarError, FarStore};
use store::Client;

fn can_run(test: &str) -> bool {
    if plain_only() {
        skipped(test, "plain runs have no cluster");
        return false;
    }
    has_program(test, "redis-server", "redis-server")
        && has_program(test, "redis-cli", "redis-tools")
}

/// Pages that are changed at random, and what each should be.
struct Model {
    client: Client,
    pages: HashMap<u64, u64>,
    stamp: u64,
    random: Random,
}

impl Model {
    fn new(client: Client) -> Self {
        Self { client, pages: HashMap::new(), stamp: 0, random: Random::new(3) }
    }

    /// Changes a few pages that lie side by side.
    fn change(&mut self) -> Result<(), FarError> {
        let first = self.random.draw() % 2000;
        let count = 1 + self.random.draw() % 40;
        let stamps: Vec<u64> = (0..count).map(|at| self.stamp + 1 + at).collect();
        self.stamp += count;
        self.client.write(first, &stamps)?;
        self.pages.extend((first..).zip(stamps));
        Ok(())
    }

    fn change_all(&mut self, times: usize) {
        for _ in 0..times {
            self.change().expect("they can be stored");
        }
    }

    /// Insists that every page is what it should be.
    fn check(&self) {
        for (page, stamp) in &self.pages {
            assert_eq!(self.client.read(*page, 1), Ok(vec![*stamp]), "page {page}");
        }
    }
}

#[test]
fn what_is_stored_is_read_renamed_and_forgotten() {
    if !can_run("what_is_stored_is_read_renamed_and_forgotten") {
        return;
    }
    let cluster = Cluster::start(3, 0, &[]);
    for options in ["seal=no", "seal=yes"] {
        let client = Client::of(&cluster, options);
        let stamps: Vec<u64> = (1..=1000).collect();
        client.write(100, &stamps).unwrap();
        assert_eq!(client.read(100, 1000), Ok(stamps));
        client.write(150, &[7; 20]).unwrap();
        client.store.rename(150, 5000, 20).unwrap();
        assert_eq!(client.read(5000, 20), Ok(vec![7; 20]));
        assert_eq!(client.read(150, 1), Err(FarError::Missing(150)));
        assert_eq!(client.read(149, 1), Ok(vec![50]));
        // A thousand and one pages, of which the first is never used, at 255 in a value.
        assert_eq!(cluster.values(), 4);
        client.store.discard(0, 3000).unwrap();
        assert_eq!((client.store.held(), client.read(5019, 1)), (20, Ok(vec![7])));
        cluster.eventually("what is empty is deleted", || cluster.values() == 1);
        client.store.discard(5000, 20).unwrap();
        cluster.eventually("what is empty is deleted", || cluster.values() == 0);
    }
}

#[test]
fn a_page_takes_little_more_memory_than_it_has() {
    if !can_run("a_page_takes_little_more_memory_than_it_has") {
        return;
    }
    let cluster = Cluster::start(3, 0, &[]);
    let client = Client::of(&cluster, "seal=no");
    let pages = 255 * 40;
    for first in (0..pages).step_by(60) {
        client.write(first, &[first; 60]).unwrap();
    }
    // Of each value by itself: what was stored once more, after a late answer, leaves one that is deleted meanwhile.
    let (mut values, mut bytes) = (0, 0);
    for server in &cluster.servers {
        let port = server.port;
        if cluster.cli(port, &["ROLE"]).starts_with("master") {
            for key in cluster.cli(port, &["KEYS", "*"]).lines().filter(|key| !key.is_empty()) {
                let usage = cluster.cli(port, &["MEMORY", "USAGE", key]);
                if let Ok(usage) = usage.trim().parse::<u64>() {
                    (values, bytes) = (values + 1, bytes + usage);
                }
            }
        }
    }
    assert!(values > pages / 255, "{values} values hold {pages} pages");
    let each = bytes as f64 / (values * 255) as f64;
    assert!(each < 4096.0 * 1.01, "{each} bytes a page");
}

#[test]
fn primaries_are_killed_while_they_are_written_to() {
    if !can_run("primaries_are_killed_while_they_are_written_to") {
        return;
    }
    let mut cluster = Cluster::start(3, 1, &[]);
    let mut model = Model::new(Client::of(&cluster, "deadline=300ms&patience=60s"));
    for _ in 0..pick(2, 10) {
        model.change_all(100);
        let primary = cluster.find(true);
        cluster.servers[primary].kill();
        // The spare replica takes the place of the one that is a primary now.
        model.change_all(100);
        model.check();
        cluster.replace(primary);
        cluster.await_replicas(1);
    }
    model.check();
}

#[test]
fn nothing_counts_as_stored_while_replicas_do_not_follow() {
    if !can_run("nothing_counts_as_stored_while_replicas_do_not_follow") {
        return;
    }
    let mut cluster = Cluster::start(3, 0, &[]);
    let mut model = Model::new(Client::of(&cluster, "deadline=300ms&patience=2s"));
    cluster.eventually("pages are stored", || model.change().is_ok());
    model.change_all(100);
    let replicas: Vec<usize> = (0..3)
        .map(|_| {
            let replica = cluster.find(false);
            cluster.servers[replica].pause();
            replica
        })
        .collect();
    assert_eq!(model.client.write(5000, &[1]), Err(FarError::NodeLost));
    // What was stored before is still read.
    model.check();
    for replica in replicas {
        cluster.servers[replica].resume();
    }
    cluster.eventually("it is stored", || model.client.write(5000, &[2]).is_ok());
    assert_eq!(model.client.read(5000, 1), Ok(vec![2]));
    model.check();
}

#[test]
fn a_primary_that_stops_is_read_around() {
    if !can_run("a_primary_that_stops_is_read_around") {
        return;
    }
    let mut cluster = Cluster::start(3, 1, &[]);
    let mut model = Model::new(Client::of(&cluster, "deadline=300ms&patience=60s&hedge=5ms"));
    model.change_all(200);
    let primary = cluster.find(true);
    cluster.servers[primary].pause();
    model.check();
    assert!(model.client.store.health().hedged_reads > 0, "nobody was asked instead");
    // Another one takes its place; it becomes a replica when it goes on.
    model.change_all(50);
    cluster.servers[primary].resume();
    cluster.await_replicas(1);
    model.change_all(50);
    model.check();
}

#[test]
fn a_primary_that_comes_back_empty_is_never_believed() {
    if !can_run("a_primary_that_comes_back_empty_is_never_believed") {
        return;
    }
    let mut cluster = Cluster::start(3, 0, &[]);
    let mut model = Model::new(Client::of(&cluster, "deadline=300ms&patience=3s"));
    model.change_all(200);
    let primary = cluster.find(true);
    cluster.servers[primary].kill();
    cluster.restart(primary);
    let mut lost = 0;
    for (page, stamp) in model.pages.iter().take(200) {
        match model.client.read(*page, 1) {
            Ok(read) => assert_eq!(read, [*stamp], "page {page}"),
            Err(FarError::Lost(_) | FarError::NodeLost) => lost += 1,
            Err(error) => panic!("page {page}: {error}"),
        }
        if lost > 2 {
            break;
        }
    }
}

#[test]
fn a_page_that_is_damaged_where_it_lies_is_never_read() {
    if !can_run("a_page_that_is_damaged_where_it_lies_is_never_read") {
        return;
    }
    let cluster = Cluster::start(3, 0, &[]);
    for options in ["seal=no", "seal=yes"] {
        let client = Client::of(&cluster, options);
        client.write(0, &[1, 2]).unwrap();
        let primary = cluster.servers.iter().find(|server| {
            cluster.cli(server.port, &["ROLE"]).starts_with("master")
                && cluster.cli(server.port, &["DBSIZE"]) != "0"
        });
        let port = primary.expect("it is stored").port;
        let key = cluster.cli(port, &["KEYS", "*"]);
        // The first slot is never used, and a page is followed by its version.
        cluster.cli(port, &["SETRANGE", &key, "4200", "?"]);
        assert_eq!(client.read(0, 1), Err(FarError::Damaged(0)));
        assert_eq!(client.read(1, 1), Ok(vec![2]));
        assert!(client.store.health().damaged_pages > 0);
        client.store.discard(0, 2).unwrap();
        cluster.eventually("what is empty is deleted", || cluster.values() == 0);
    }
}
