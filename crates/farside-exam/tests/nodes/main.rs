//! Programs on memory nodes that are killed, stopped, emptied and filled, and on files.

mod certificates;
mod file;
mod ucx;

use std::io::Write;
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use farside_exam::{
    Churn, Exam, Node, Place, Program, Random, Running, counter_of_run, farside, has_program, pick,
    plain_only, skipped,
};
use farside_far::FarUrl;

const TO_STOP: i32 = 125;

fn can_run(test: &str) -> bool {
    if plain_only() {
        skipped(test, "plain runs have no node");
        return false;
    }
    has_program(test, "gcc", "gcc")
}

/// The URL of nodes, as `farside top` names it.
fn url(nodes: &[&Node], options: &str) -> String {
    let hosts: Vec<&str> = nodes.iter().map(|node| &node.address[..]).collect();
    // A node over UCX says so by its scheme, which a URL has once.
    let scheme = if hosts.iter().any(|host| host.starts_with("ucx://")) { "ucx" } else { "tcp" };
    let hosts = hosts.join(",").replace("ucx://", "");
    let far: FarUrl = format!("{scheme}://{hosts}?{options}").parse().expect("a URL");
    far.to_string()
}

/// Waits until a run has made more copies than `before`, and none is lacking any more.
fn await_repair(running: &mut Running, far: &str, before: u64) {
    let begun = Instant::now();
    while counter_of_run(far, "repaired_copies") <= before
        || counter_of_run(far, "lacking_pages") > 0
    {
        assert!(running.is_running(), "it ended too early: {}", running.errors_so_far());
        assert!(begun.elapsed() < Duration::from_secs(60), "never repaired");
        pause(20);
    }
}

fn pause(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

#[test]
fn nodes_are_killed_while_they_are_written_to() {
    if !can_run("nodes_are_killed_while_they_are_written_to") {
        return;
    }
    let churn = Churn::new("nodes are killed", "24", pick("6", "40"));
    let mut random = Random::new(5);
    for turn in 0..pick(3, 20) {
        let mut nodes = [Node::start("256M"), Node::start("256M")];
        let mut running = churn.fill(&url(&[&nodes[0], &nodes[1]], "copies=2"));
        pause(random.draw() % 400);
        assert!(running.is_running(), "it ended before anything happened");
        nodes[turn % 2].kill();
        churn.same(&running.finish());
    }
}

#[test]
fn one_node_after_the_other_is_killed_and_comes_back_empty() {
    if !can_run("one_node_after_the_other_is_killed_and_comes_back_empty") {
        return;
    }
    let churn = Churn::new("nodes come back empty", "16", pick("60", "200"));
    let mut nodes = [Node::start("256M"), Node::start("256M"), Node::start("256M")];
    let far = url(&[&nodes[0], &nodes[1], &nodes[2]], "copies=2");
    let mut running = churn.fill(&far);
    for node in &mut nodes {
        let before = counter_of_run(&far, "repaired_copies");
        node.kill();
        *node = Node::start_at(&node.address.clone(), "256M", &[]);
        await_repair(&mut running, &far, before);
    }
    churn.same(&running.finish());
}

#[test]
fn a_node_stops_and_goes_on() {
    if !can_run("a_node_stops_and_goes_on") {
        return;
    }
    let churn = Churn::new("a node stops", "24", pick("40", "200"));
    let nodes = [Node::start("256M"), Node::start("256M")];
    let mut running = churn.fill(&url(&[&nodes[0], &nodes[1]], "copies=2&deadline=300ms"));
    assert!(running.is_running(), "it ended before anything happened");
    nodes[1].signal(libc::SIGSTOP);
    pause(pick(2000, 10_000));
    nodes[1].signal(libc::SIGCONT);
    pause(500);
    assert!(running.is_running(), "it ended before anything else happened");
    nodes[0].signal(libc::SIGSTOP);
    pause(pick(1000, 5000));
    nodes[0].signal(libc::SIGCONT);
    churn.same(&running.finish());
}

#[test]
fn a_node_that_is_told_to_end_gives_its_pages_away() {
    if !can_run("a_node_that_is_told_to_end_gives_its_pages_away") {
        return;
    }
    let churn = Churn::new("a node is told to end", "24", pick("20", "60"));
    let mut nodes = [Node::start("256M"), Node::start("256M")];
    let running = churn.fill(&url(&[&nodes[0], &nodes[1]], ""));
    nodes[0].signal(libc::SIGTERM);
    assert_eq!(nodes[0].wait(), Some(0), "it ended before its pages were elsewhere");
    churn.same(&running.finish());
}

#[test]
fn a_program_whose_pages_are_lost_is_told_and_stopped() {
    if !can_run("a_program_whose_pages_are_lost_is_told_and_stopped") {
        return;
    }
    let churn = Churn::endless("pages are lost", "24");
    for comes_back in [false, true] {
        let mut node = Node::start("256M");
        let running = churn.fill(&url(&[&node], "patience=1s"));
        node.kill();
        if comes_back {
            node = Node::start_at(&node.address.clone(), "256M", &[]);
        }
        let finished = running.finish();
        assert_eq!(finished.code(), Some(TO_STOP), "{}", finished.errors());
        assert_eq!(finished.stdout, b"filled\n");
        let expected = if comes_back { "all copies are lost" } else { "memory node is gone" };
        assert!(finished.errors().contains(expected), "{}", finished.errors());
    }
}

#[test]
fn a_full_node_holds_the_program_up_and_loses_nothing() {
    if !can_run("a_full_node_holds_the_program_up_and_loses_nothing") {
        return;
    }
    let churn = Churn::endless("a node is full", "24");
    let node = Node::start("8M");
    let finished = churn.run(&url(&[&node], "patience=500ms"));
    assert_eq!(finished.code(), Some(TO_STOP), "{}", finished.errors());
    assert!(finished.errors().contains("full"), "{}", finished.errors());
}

#[test]
fn what_a_killed_program_kept_is_forgotten() {
    if !can_run("what_a_killed_program_kept_is_forgotten") {
        return;
    }
    let churn = Churn::endless("the program is killed", "24");
    // There is room for one only.
    let node = Node::start_at("127.0.0.1:0", "28M", &["--lease", "0.3"]);
    for _ in 0..3 {
        let running = churn.fill(&url(&[&node], "patience=10s"));
        // As when its machine is gone: nobody is left who could say so.
        let keeper = keeper_of(&running);
        // SAFETY: kill touches no memory.
        unsafe { libc::kill(keeper, libc::SIGKILL) };
        running.signal(libc::SIGKILL);
        running.finish();
    }
}

/// The process that keeps the tables of a run.
fn keeper_of(running: &Running) -> libc::pid_t {
    let children = format!("/proc/{0}/task/{0}/children", running.pid());
    let children = std::fs::read_to_string(children).expect("farside has children");
    let is_keeper = |pid: &&str| {
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        command.split(|byte| *byte == 0).any(|argument| argument == b"--embedded")
    };
    let keeper = children.split_whitespace().find(is_keeper);
    keeper.and_then(|pid| pid.parse().ok()).expect("one of them is the keeper")
}

#[test]
fn what_a_program_kept_does_not_wait_for_the_lease_when_it_has_ended() {
    if !can_run("what_a_program_kept_does_not_wait_for_the_lease_when_it_has_ended") {
        return;
    }
    let ending = Churn::new("one program runs after the other", "24", "2");
    let endless = Churn::endless("programs are killed, one after the other", "24");
    let secret = ending.exam.input("secret");
    std::fs::write(&secret, "a secret of some length").expect("a file can be written");
    let path = secret.to_str().expect("a path of ASCII");
    // There is room for one only.
    let room = ["--lease", "3600", "--psk", path];
    let node = Node::start_at("127.0.0.1:0", "28M", &room);
    let far = url(&[&node], "patience=10s");
    let start = |churn: &Churn| {
        let program = churn.program.clone().env("FARSIDE_FAR", &far).env("FARSIDE_PSK", &secret);
        churn.start_as(&program)
    };
    for _ in 0..2 {
        ending.same(&start(&ending).finish());
    }
    for alone in [true, false] {
        let mut running = start(&endless);
        endless.await_filled(&mut running);
        if alone {
            running.signal(libc::SIGKILL);
            running.finish();
        } else {
            // The whole group: program and supervisor.
            drop(running);
        }
    }
    ending.same(&start(&ending).finish());
}

#[test]
fn nonsense_does_not_disturb_a_node() {
    if !can_run("nonsense_does_not_disturb_a_node") {
        return;
    }
    let churn = Churn::new("nonsense is sent", "24", pick("4", "40"));
    let node = Node::start("256M");
    let running = churn.fill(&url(&[&node], ""));
    let mut random = Random::new(7);
    let begun = Instant::now();
    for turn in 0..pick(500u64, 10_000) {
        let Ok(mut stream) = TcpStream::connect(&node.address) else { panic!("turn {turn}") };
        let mut bytes: Vec<u8> = (0..random.draw() % 200).map(|_| random.draw() as u8).collect();
        match turn % 4 {
            // The beginning of a real message, and of a TLS handshake.
            0 => bytes.splice(..0, *b"FSN\x01\x01\0\0\0").for_each(drop),
            1 => bytes.splice(..0, *b"\x16\x03\x01\x02\0\x01\0").for_each(drop),
            _ => {}
        }
        // The node may have hung up already.
        let _ = stream.write_all(&bytes);
        assert!(begun.elapsed() < Duration::from_secs(300), "turn {turn}");
    }
    churn.same(&running.finish());
}

#[test]
fn only_who_knows_the_secret_is_let_in_and_pages_are_sealed() {
    if !can_run("only_who_knows_the_secret_is_let_in_and_pages_are_sealed") {
        return;
    }
    let churn = Churn::new("a shared secret", "24", "4");
    let (ours, other) = (churn.exam.input("ours"), churn.exam.input("other"));
    std::fs::write(&ours, "a secret of some length").expect("a file can be written");
    std::fs::write(&other, "another secret of some length").expect("a file can be written");
    let path = ours.to_str().expect("a path of ASCII");
    let node = Node::start_at("127.0.0.1:0", "256M", &["--psk", path]);
    let with = |secret: &std::path::Path| {
        let far = format!("tcp://{}?seal=yes", node.address);
        churn.program.clone().env("FARSIDE_FAR", far).env("FARSIDE_PSK", secret)
    };
    let run = |program: &Program| churn.start_as(program).finish();
    churn.same(&run(&with(&ours)));
    let stranger = run(&with(&other));
    assert_eq!(stranger.code(), Some(125), "{}", stranger.errors());
    assert!(stranger.errors().contains("cannot use memory node"), "{}", stranger.errors());
    assert!(stranger.errors().contains("another secret (--psk)"), "{}", stranger.errors());
    let far = format!("tcp://{}", node.address);
    let without = run(&churn.program.clone().env("FARSIDE_FAR", &far));
    assert_eq!(without.code(), Some(125), "{}", without.errors());
    assert!(without.errors().contains("wants --psk"), "{}", without.errors());
    // There is a node: nobody need start one.
    assert!(!without.errors().contains("starts one"), "{}", without.errors());
    let open = Node::start("256M");
    let far = format!("tcp://{}?seal=yes", open.address);
    let stranger = churn.program.clone().env("FARSIDE_FAR", far).env("FARSIDE_PSK", &ours);
    let stranger = run(&stranger);
    assert_eq!(stranger.code(), Some(125), "{}", stranger.errors());
    assert!(stranger.errors().contains("neither --psk nor --tls-ca"), "{}", stranger.errors());
}

#[test]
fn the_doctor_says_why_a_node_cannot_be_used() {
    if !can_run("the_doctor_says_why_a_node_cannot_be_used") {
        return;
    }
    let exam = Exam::new("nodes that the doctor cannot use");
    let secret = exam.input("secret");
    std::fs::write(&secret, "a secret of some length").expect("a file can be written");
    let path = secret.to_str().expect("a path of ASCII");
    let protected = Node::start_at("127.0.0.1:0", "16M", &["--psk", path]);
    let mut gone = Node::start("16M");
    gone.kill();
    for (node, expected) in [(&protected, "wants --psk"), (&gone, "starts one")] {
        let far = format!("tcp://{}", node.address);
        let output = Command::new(farside()).args(["doctor", "--far", &far]).output();
        let output = output.expect("farside doctor runs");
        assert_eq!(output.status.code(), Some(125));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(expected), "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
}

#[test]
fn the_way_to_a_node_is_measured() {
    if !can_run("the_way_to_a_node_is_measured") {
        return;
    }
    let node = Node::start("256M");
    let far = format!("tcp://{}", node.address);
    let output = Command::new(farside()).args(["doctor", "--json", "--far", &far]).output();
    let output = output.expect("farside doctor runs");
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("valid JSON");
    let path = &found["paths"][0];
    for figure in ["p50_ns", "p90_ns", "p99_ns", "p999_ns", "batched_ns", "batch_gain"] {
        assert!(path[figure].as_f64().is_some_and(|figure| figure > 0.0), "{figure}: {found}");
    }
    assert!(found["network"].as_str().is_some_and(|network| network.ends_with("gbit")), "{found}");
}

#[test]
fn nodes_that_cannot_be_used_are_named_before_the_program_starts() {
    if !can_run("nodes_that_cannot_be_used_are_named_before_the_program_starts") {
        return;
    }
    let mut node = Node::start("16M");
    node.kill();
    let exam = Exam::new("no node");
    let here = format!("tcp://{}", node.address);
    for (far, code, expected) in [
        (&here[..], 125, "cannot use memory node"),
        ("tcp://192.0.2.1:7", 2, "--insecure"),
        ("tcp://no-such-host.invalid", 2, "no-such-host.invalid"),
    ] {
        let program = Program::new("true").env("FARSIDE_FAR", far);
        let directory = exam.fresh_directory(Place::Far(25));
        let finished = exam.start(&program, Place::Far(25), &directory).finish();
        assert_eq!(finished.code(), Some(code), "{far}: {}", finished.errors());
        assert!(finished.errors().contains(expected), "{far}: {}", finished.errors());
    }
}

#[test]
fn what_a_node_counts_is_shown() {
    if !can_run("what_a_node_counts_is_shown") {
        return;
    }
    let churn = Churn::endless("a node is watched", "16");
    let mut gone = Node::start("16M");
    gone.kill();
    let node = Node::start("256M");
    let running = churn.fill(&url(&[&node], ""));
    let far = format!("tcp://{},{}", node.address, gone.address);
    let top = |option: &str| {
        let output = Command::new(farside()).args(["top", option, "--node", &far]).output();
        String::from_utf8(output.expect("farside top runs").stdout).expect("it is text")
    };
    let nodes: serde_json::Value = serde_json::from_str(&top("--json")).expect("valid JSON");
    let figures = &nodes[0]["figures"];
    let figure = |name: &str| figures[name].as_u64().unwrap_or_else(|| panic!("{name}: {nodes}"));
    assert_eq!(figure("memory_bytes"), 256 << 20);
    assert!(figure("free_bytes") < 256 << 20 && figure("pages_written") > 0, "{nodes}");
    assert!(nodes[1]["error"].is_string(), "{nodes}");
    let table = top("--once");
    assert!(table.contains("serving") && table.contains("256 MiB"), "{table}");
    running.signal(libc::SIGKILL);
    running.finish();
}
