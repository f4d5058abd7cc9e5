//! Programs on clusters.

use std::path::Path;
use std::process::{Command, Output};

use farside_exam::{Authority, Churn, Cluster, Identity, farside, has_program, pick};

use super::can_run;

const TO_STOP: i32 = 125;

fn doctor(far: &str) -> Output {
    let output = Command::new(farside()).args(["doctor", "--json", "--far", far]).output();
    output.expect("farside doctor runs")
}

#[test]
fn a_program_survives_its_primaries_and_leaves_nothing_behind() {
    let name = "a_program_survives_its_primaries_and_leaves_nothing_behind";
    if !can_run(name) || !has_program(name, "gcc", "gcc") {
        return;
    }
    let mut cluster = Cluster::start(3, 1, &[]);
    let churn = Churn::new("primaries are killed", "16", pick("12", "80"));
    let far = cluster.url("deadline=300ms&patience=60s");
    churn.same(&churn.run(&far));
    assert_eq!(cluster.values(), 0, "the run left something behind");
    for kill in [true, false] {
        let mut running = churn.fill(&far);
        let primary = cluster.find(true);
        assert!(running.is_running(), "it ended before anything happened");
        let server = &mut cluster.servers[primary];
        if kill {
            server.kill()
        } else {
            server.pause()
        }
        churn.same(&running.finish());
        if kill {
            cluster.replace(primary);
        } else {
            cluster.servers[primary].resume();
        }
        cluster.await_replicas(1);
    }
}

#[test]
fn what_a_killed_run_stored_is_forgotten() {
    let name = "what_a_killed_run_stored_is_forgotten";
    if !can_run(name) || !has_program(name, "gcc", "gcc") {
        return;
    }
    let cluster = Cluster::start(3, 0, &[]);
    let churn = Churn::endless("the run is killed", "16");
    let running = churn.fill(&cluster.url("lease=2s"));
    assert!(cluster.values() > 0, "nothing is stored");
    // The supervisor, and then the program, which nobody supervises any more.
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", running.pid()));
    running.signal(libc::SIGKILL);
    for child in children.expect("it is listed").split_whitespace() {
        let child: libc::pid_t = child.parse().expect("a number");
        // SAFETY: kill touches no memory; the processes are those of the run.
        unsafe { libc::kill(child, libc::SIGKILL) };
    }
    running.finish();
    cluster.eventually("it is forgotten", || cluster.values() == 0);
}

#[test]
fn a_cluster_that_may_lose_pages_is_refused() {
    let name = "a_cluster_that_may_lose_pages_is_refused";
    if !can_run(name) || !has_program(name, "gcc", "gcc") {
        return;
    }
    let cluster = Cluster::start(3, 0, &[]);
    let churn = Churn::new("a loose cluster", "16", "2");
    let found = doctor(&cluster.url(""));
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    let found: serde_json::Value = serde_json::from_slice(&found.stdout).expect("valid JSON");
    assert!(found["paths"][0]["p50_ns"].as_f64().is_some_and(|ns| ns > 0.0), "{found}");
    let notes = found["profile"].as_array().expect("a list");
    assert!(matches!(&notes[..], [note] if note["is_grave"] == false), "{found}");
    for (setting, bad, good) in [
        ("maxmemory-policy", "allkeys-lru", "noeviction"),
        ("min-replicas-to-write", "0", "1"),
        ("min-replicas-max-lag", "10", "3"),
        ("appendonly", "yes", "no"),
        ("save", "3600 1", ""),
        ("repl-diskless-load", "disabled", "swapdb"),
        ("cluster-require-full-coverage", "yes", "no"),
        ("cluster-allow-replica-migration", "no", "yes"),
    ] {
        let port = cluster.servers[4].port;
        cluster.cli(port, &["CONFIG", "SET", setting, bad]);
        let found = doctor(&cluster.url(""));
        assert_eq!(found.status.code(), Some(1), "{setting}");
        let said = String::from_utf8_lossy(&found.stdout).into_owned();
        assert!(said.contains(setting) && said.contains(&port.to_string()), "{setting}: {said}");
        if setting == "maxmemory-policy" {
            let refused = churn.run(&cluster.url(""));
            assert_eq!(refused.code(), Some(TO_STOP), "{}", refused.errors());
            assert!(refused.errors().contains(setting), "{}", refused.errors());
            churn.same(&churn.run(&cluster.url("profile=none")));
        }
        cluster.cli(port, &["CONFIG", "SET", setting, good]);
    }
    assert!(doctor(&cluster.url("")).status.success());
}

#[test]
fn a_full_cluster_holds_the_program_up_and_loses_nothing() {
    let name = "a_full_cluster_holds_the_program_up_and_loses_nothing";
    if !can_run(name) || !has_program(name, "gcc", "gcc") {
        return;
    }
    let cluster = Cluster::start(3, 0, &[]);
    for server in &cluster.servers {
        cluster.cli(server.port, &["CONFIG", "SET", "maxmemory", "5mb"]);
    }
    let churn = Churn::endless("the cluster is full", "16");
    let finished = churn.run(&cluster.url("patience=4s"));
    assert_eq!(finished.code(), Some(TO_STOP), "{}", finished.errors());
    assert!(finished.errors().contains("full"), "{}", finished.errors());
}

#[test]
fn a_protected_cluster_takes_only_who_it_knows() {
    let name = "a_protected_cluster_takes_only_who_it_knows";
    if !can_run(name) || !has_program(name, "gcc", "gcc") {
        return;
    }
    let cluster = Cluster::protected(3, Authority::default());
    let authority = cluster.authority().expect("it is protected");
    let commands = "+setrange +getrange +wait +unlink +pexpire +scan +readonly +client|id +client|kill \
         +cluster|nodes +config|get";
    for server in &cluster.servers {
        let mut user =
            vec!["ACL", "SETUSER", "farside", "on", ">a password", "resetchannels", "~farside:*"];
        user.extend(commands.split(' '));
        cluster.cli(server.port, &user);
    }
    let churn = Churn::new("a protected cluster", "16", "4");
    let (right, wrong) = (churn.exam.input("right"), churn.exam.input("wrong"));
    std::fs::write(&right, "a password\n").expect("a file can be written");
    std::fs::write(&wrong, "another password\n").expect("a file can be written");
    let far = cluster.url("user=farside&seal=yes");
    let run = |own: &Identity, trusted: &Authority, password: &Path| {
        let program = churn.program.clone().env("FARSIDE_FAR", &far);
        let program = program
            .env("FARSIDE_TLS_CA", trusted.path())
            .env("FARSIDE_TLS_CERT", &own.certificate)
            .env("FARSIDE_TLS_KEY", &own.key)
            .env("FARSIDE_PASSWORD", password);
        churn.start_as(&program).finish()
    };
    let (own, stranger) = (authority.sign("client", 2100), Authority::default());
    churn.same(&run(&own, authority, &right));
    assert_eq!(cluster.values(), 0, "the run left something behind");
    for (why, own, trusted, password) in [
        ("the password is wrong", &own, authority, &wrong),
        ("the certificate is a stranger's", &stranger.sign("client", 2100), authority, &right),
        ("the servers are strangers", &own, &stranger, &right),
    ] {
        let refused = run(own, trusted, password);
        assert_eq!(refused.code(), Some(TO_STOP), "{why}: {}", refused.errors());
        assert!(refused.errors().contains("cannot use the cluster"), "{why}: {}", refused.errors());
    }
}
