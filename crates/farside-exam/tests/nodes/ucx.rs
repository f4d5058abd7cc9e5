//! Programs on memory nodes that are reached over UCX.

use std::process::Command;

use farside_exam::{
    Churn, Exam, Node, PYTHON, Place, Program, Random, compile, farside, has_program, pick,
    skipped, source,
};

use super::{can_run, pause, url};

/// Whether there is something to test.
fn is_there(test: &str) -> bool {
    if !can_run(test) {
        return false;
    }
    // A node says what it lacks, and ends; with UCX it finds only that nobody can listen there.
    let listen = ["node", "--listen", "ucx://192.0.2.1:1", "--insecure", "--memory", "1M"];
    let output = Command::new(farside()).args(listen).output().expect("farside runs");
    let there = !String::from_utf8_lossy(&output.stderr).contains("UCX is not installed");
    if !there {
        skipped(test, "UCX is not installed");
    }
    there
}

fn node(memory: &str) -> Node {
    Node::start_at("ucx://127.0.0.1:0", memory, &[])
}

#[test]
fn a_program_runs_over_ucx_and_its_nodes_are_killed() {
    if !is_there("a_program_runs_over_ucx_and_its_nodes_are_killed") {
        return;
    }
    let churn = Churn::new("nodes over UCX are killed", "24", pick("6", "40"));
    let mut random = Random::new(11);
    for turn in 0..pick(3, 20) {
        let mut nodes = [node("256M"), node("256M")];
        let running = churn.fill(&url(&[&nodes[0], &nodes[1]], "copies=2"));
        pause(random.draw() % 400);
        nodes[turn % 2].kill();
        churn.same(&running.finish());
    }
}

#[test]
fn a_node_over_ucx_stops_and_goes_on() {
    if !is_there("a_node_over_ucx_stops_and_goes_on") {
        return;
    }
    let churn = Churn::new("a node over UCX stops", "24", pick("8", "40"));
    let nodes = [node("256M"), node("256M")];
    let running = churn.fill(&url(&[&nodes[0], &nodes[1]], "copies=2&deadline=300ms"));
    nodes[1].signal(libc::SIGSTOP);
    pause(pick(2000, 10_000));
    nodes[1].signal(libc::SIGCONT);
    pause(500);
    churn.same(&running.finish());
}

#[test]
fn processes_that_fork_have_connections_of_their_own() {
    if !is_there("processes_that_fork_have_connections_of_their_own") {
        return;
    }
    let exam = Exam::new("forks over UCX");
    let tree = Program::new(compile(&exam.inputs(), "forktree.c", &[]));
    same_over_ucx(&exam, &tree.args(["32", "2", "3"]), Place::Far(50));
}

/// A child loads UCX, for which the loader looks at the records of all libraries, before anybody serves its
/// faults.
#[test]
fn processes_that_loaded_libraries_fork() {
    if !is_there("processes_that_loaded_libraries_fork")
        || !has_program("processes_that_loaded_libraries_fork", PYTHON, "python3")
    {
        return;
    }
    let program = Program::new(PYTHON).arg(source("fork_exam.py")).args(["48", "3"]);
    same_over_ucx(&Exam::new("libraries, then forks over UCX"), &program, Place::Far(20));
}

/// Runs a program plainly and on a node reached over UCX, and insists on the same output.
fn same_over_ucx(exam: &Exam, program: &Program, place: Place) {
    let node = node("1G");
    let plain = exam.fresh_directory(Place::Plain);
    let expected = exam.start(program, Place::Plain, &plain).finish();
    exam.run(program, Place::Far(100), &exam.fresh_directory(Place::Far(100)));
    let far = program.clone().env("FARSIDE_FAR", &node.address);
    let finished = exam.start(&far, place, &exam.fresh_directory(place)).finish();
    assert_eq!(finished.code(), Some(0), "{}", finished.errors());
    assert!(finished.stdout == expected.stdout, "{}", finished.errors());
}

#[test]
fn over_ucx_nobody_is_told_to_give_a_secret() {
    if !is_there("over_ucx_nobody_is_told_to_give_a_secret") {
        return;
    }
    let exam = Exam::new("no node over UCX");
    let mut gone = node("16M");
    gone.kill();
    let program = Program::new("true").env("FARSIDE_FAR", url(&[&gone], ""));
    let directory = exam.fresh_directory(Place::Far(25));
    let finished = exam.start(&program, Place::Far(25), &directory).finish();
    assert_eq!(finished.code(), Some(125), "{}", finished.errors());
    assert!(finished.errors().contains("no node answers there over UCX"), "{}", finished.errors());
    assert!(!finished.errors().contains("--psk"), "{}", finished.errors());
    // A node does not take one that would protect nothing.
    let secret = exam.input("secret");
    std::fs::write(&secret, "a secret of some length").expect("a file can be written");
    let listen = ["node", "--listen", "ucx://127.0.0.1:0", "--memory", "1M", "--psk"];
    let refused = Command::new(farside()).args(listen).arg(&secret).output().expect("farside runs");
    assert_eq!(refused.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert!(errors.contains("UCX protects nothing"), "{errors}");
}
