//! redis-server under load, saving in the background while it is written to, and started again from
//! what it saved.

use std::io::{BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use farside_exam::{
    Exam, Node, Place, Program, Random, Running, connect, counter_of_run, has_program, pick,
    plain_only, read_reply, skipped,
};

/// A client of our own, so that every value is checked.
struct Client {
    to: UnixStream,
    from: BufReader<UnixStream>,
}

impl Client {
    fn new(server: &mut Running, socket: &Path) -> Self {
        let to = connect(server, socket);
        let from = BufReader::new(to.try_clone().expect("a socket can be cloned"));
        let mut client = Self { to, from };
        // While it loads its data set it answers with an error that names the state.
        while client.loading() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        client
    }

    fn loading(&mut self) -> bool {
        self.info("persistence").contains("loading:1")
    }

    fn info(&mut self, section: &str) -> String {
        self.ask(&["INFO", section]).unwrap_or_default()
    }

    fn send(&mut self, words: &[&str]) {
        let mut request = format!("*{}\r\n", words.len());
        for word in words {
            request.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        self.to.write_all(request.as_bytes()).expect("the server reads");
    }

    fn ask(&mut self, words: &[&str]) -> Option<String> {
        self.send(words);
        read_reply(&mut self.from)
    }
}

/// The value of key `i` after `turn` rounds of writing.
fn value(i: u64, turn: u64) -> String {
    let mut random = Random::new(i * 1000 + turn);
    (0..32).map(|_| format!("{:016x}", random.draw())).collect()
}

fn write_all(client: &mut Client, keys: u64, turn: u64) {
    const BATCH: u64 = 100;
    for first in (0..keys).step_by(BATCH as usize) {
        let batch = first..keys.min(first + BATCH);
        for i in batch.clone() {
            client.send(&["SET", &format!("key:{i}"), &value(i, turn)]);
        }
        for i in batch {
            assert_eq!(read_reply(&mut client.from).as_deref(), Some("OK"), "key {i}");
        }
    }
}

/// Checks all keys; each must hold the value of one of `turns`.
fn check_all(client: &mut Client, keys: u64, turns: &[u64]) {
    for i in 0..keys {
        let found = client.ask(&["GET", &format!("key:{i}")]).unwrap_or_default();
        let known = turns.iter().any(|&turn| found == value(i, turn));
        assert!(known, "key {i} holds {:?}", &found[..found.len().min(40)]);
    }
}

fn server(exam: &Exam, place: Place, directory: &Path) -> Running {
    exam.start(&program(directory), place, directory)
}

fn program(directory: &Path) -> Program {
    let program = Program::new("redis-server").args(["--port", "0", "--unixsocket"]);
    let program = program.arg(directory.join("redis.sock"));
    let program = program.args(["--save", "", "--daemonize", "no", "--dbfilename", "dump.rdb"]);
    program.args(["--ignore-warnings", "ARM64-COW-BUG"])
}

fn stop(mut client: Client, server: Running, exam: &Exam, place: Place) {
    client.send(&["SHUTDOWN", "NOSAVE"]);
    let finished = server.finish();
    assert_eq!(finished.code(), Some(0), "{place:?}: {}", finished.errors());
    exam.check_limit(place);
}

/// Load by the tool that comes with redis, while our own values are there too.
fn benchmark(socket: &Path) {
    let status = Command::new("redis-benchmark")
        .arg("-s")
        .arg(socket)
        .args(["-n", pick("40000", "2000000"), "-r", "50000", "-d", "256", "-c", "16", "-P", "4"])
        .args(["-q", "-t", "set,get,incr,lpush,hset,zadd"])
        .stdout(Stdio::null())
        .status()
        .expect("redis-benchmark starts");
    assert!(status.success(), "redis-benchmark: {status}");
}

/// Keys of our own: about half a kilobyte each.
fn keys() -> u64 {
    pick(60_000, 2_000_000)
}

fn saves_while_written_to(exam: &Exam, place: Place) {
    let directory = exam.fresh_directory(place);
    let socket = directory.join("redis.sock");
    let mut running = server(exam, place, &directory);
    let mut client = Client::new(&mut running, &socket);
    write_all(&mut client, keys(), 0);
    benchmark(&socket);
    assert!(client.ask(&["BGSAVE"]).is_some_and(|answer| answer.starts_with("Background")));
    write_all(&mut client, keys(), 1);
    while client.info("persistence").contains("rdb_bgsave_in_progress:1") {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let state = client.info("persistence");
    assert!(state.contains("rdb_last_bgsave_status:ok"), "{place:?}: {state}");
    check_all(&mut client, keys(), &[1]);
    stop(client, running, exam, place);

    // The dump is of one moment, the fork: all the first values and none of the second.
    let mut running = server(exam, place, &directory);
    let mut client = Client::new(&mut running, &socket);
    check_all(&mut client, keys(), &[0]);
    let count = client.ask(&["DBSIZE"]).and_then(|n| n.parse::<u64>().ok());
    assert!(count.is_some_and(|count| count >= keys()), "{place:?}: {count:?} keys");
    stop(client, running, exam, place);
}

#[test]
fn redis_saves_while_written_to_and_restarts() {
    let test = "redis_saves_while_written_to_and_restarts";
    if !has_program(test, "redis-server", "redis-server")
        || !has_program(test, "redis-benchmark", "redis-tools")
    {
        return;
    }
    let exam = Exam::new("redis");
    for place in Place::all() {
        saves_while_written_to(&exam, place);
    }
}

/// On three nodes, two of which have each page, of which one after the other is killed and comes back empty.
#[test]
fn redis_outlives_its_memory_nodes() {
    let test = "redis_outlives_its_memory_nodes";
    if !has_program(test, "redis-server", "redis-server") {
        return;
    }
    if plain_only() {
        skipped(test, "plain runs have no node");
        return;
    }
    let exam = Exam::new("redis on nodes");
    let keys = pick(20_000, 500_000);
    let mut nodes = [Node::start("1G"), Node::start("1G"), Node::start("1G")];
    let place = Place::Far(25);
    let directory = exam.fresh_directory(place);
    let socket = directory.join("redis.sock");
    let hosts: Vec<&str> = nodes.iter().map(|node| &node.address[..]).collect();
    let far = format!("tcp://{}?copies=2", hosts.join(","));
    let program = program(&directory).env("FARSIDE_FAR", &far);
    let mut running = exam.start(&program, place, &directory);
    let mut client = Client::new(&mut running, &socket);
    write_all(&mut client, keys, 0);
    for (turn, node) in (1..).zip(&mut nodes) {
        node.kill();
        write_all(&mut client, keys, turn);
        check_all(&mut client, keys, &[turn]);
        *node = Node::start_at(&node.address.clone(), "1G", &[]);
        // Under load until all pages have two copies again.
        let mut calm = 0;
        while calm < 3 {
            let before = counter_of_run(&far, "lacking_pages");
            check_all(&mut client, keys / 4, &[turn]);
            calm = if before + counter_of_run(&far, "lacking_pages") == 0 { calm + 1 } else { 0 };
        }
    }
    check_all(&mut client, keys, &[3]);
    stop(client, running, &exam, place);
}
