//! Pages from a Redis server, beside the server's own benchmark.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use farside_far::redis::{Login, Redis, RedisCluster};
use farside_far::remote::{TcpNetwork, Timing};

use super::super::launch::Scratch;
use super::super::row::{Goal, Row, median};
use super::super::{Failure, Shared, skip};
use super::{NodesArgs, PAGE, far, of};
use crate::fetching::Fetcher;
use crate::progress::Progress;

/// Requests on their way at once.
const IN_FLIGHT: u32 = 16;

/// How long a server has to start.
const PATIENCE: Duration = Duration::from_secs(20);

/// A cluster of one server; it is killed when it is dropped.
struct Server {
    child: Child,
    port: u16,
    _directory: Scratch,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn output(program: &str, arguments: &[String]) -> Result<String, Failure> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| Failure::io(program, &error))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        Ok(text)
    } else {
        Err(Failure::new(format!(
            "{program} failed: {}{}",
            text,
            String::from_utf8_lossy(&output.stderr)
        )))
    }
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

impl Server {
    fn start() -> Result<Self, Failure> {
        let failure = |error: std::io::Error| Failure::io("redis-server", &error);
        let listener = TcpListener::bind("127.0.0.1:0").map_err(failure)?;
        let port = listener.local_addr().map_err(failure)?.port();
        drop(listener);
        let directory = Scratch::new()?;
        let place = directory.join("").to_string_lossy().into_owned();
        // A port that is as likely to be free as any for the cluster's own talk, of which there is none.
        let bus = if port > 40_000 { port - 10_000 } else { port + 10_000 };
        let mut command = Command::new("redis-server");
        command.args(["--port", &port.to_string(), "--cluster-port", &bus.to_string()]);
        command.args(["--cluster-enabled", "yes", "--save", "", "--dir", &place]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().map_err(failure)?;
        let server = Self { child, port, _directory: directory };
        let begun = Instant::now();
        let assign = words(["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
        while !server.ask(&assign).is_ok_and(|said| said.starts_with("OK")) {
            if begun.elapsed() > PATIENCE {
                return Err(Failure::new("redis-server does not start"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(server)
    }

    fn ask(&self, command: &[String]) -> Result<String, Failure> {
        let port = words(["-p", &self.port.to_string()]);
        output("redis-cli", &[&port, command].concat())
    }

    /// Gets of values as large as pages in a second, by the server's own benchmark.
    fn gets(&self, count: u32) -> Result<f64, Failure> {
        let (port, count) = (self.port.to_string(), count.to_string());
        let in_flight = IN_FLIGHT.to_string();
        let arguments = words([
            "-p", &port, "-c", "1", "-P", &in_flight, "-n", &count, "-d", "4096", "-t", "set,get",
            "--csv",
        ]);
        let table = output("redis-benchmark", &arguments)?;
        let line = table.lines().find_map(|line| line.strip_prefix("\"GET\",\""));
        let figure =
            line.and_then(|line| line.split('"').next()).and_then(|text| text.parse().ok());
        figure.ok_or_else(|| Failure::new(format!("redis-benchmark says: {table}")))
    }

    /// A client that asks no replica for anything, since there is none.
    fn client(&self, pages: u32) -> Result<Fetcher, Failure> {
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], self.port));
        let cluster = RedisCluster {
            servers: vec![address.into()],
            login: Login::default(),
            replicas: 0,
            seal: false,
            pool: "farside:bench".into(),
            timing: Timing {
                spin_ns: 100_000_000,
                lease_ns: 3_600_000_000_000,
                ..Timing::default()
            },
        };
        let store =
            Redis::alone(&cluster, Box::<TcpNetwork>::default(), pages.into()).map_err(far)?;
        // Neighbours lie apart, so that each is asked for by itself.
        Fetcher::scattered(Box::new(store), pages).map_err(far)
    }
}

/// Adds the row.
pub(super) fn rows(
    args: &NodesArgs,
    shared: &Shared,
    progress: &Progress,
    rows: &mut Vec<Row>,
) -> Result<(), Failure> {
    let work = "pages a second from redis://, 16 in flight, beside redis-benchmark -P 16";
    if Command::new("redis-server").arg("--version").stdout(Stdio::null()).status().is_err() {
        skip(work, "redis-server is missing; apt-get install redis-server redis-tools");
        return Ok(());
    }
    let server = Server::start()?;
    let pages = args.pages.min(16_384);
    let client = server.client(pages)?;
    let (mut ours, mut partner) = (Vec::new(), Vec::new());
    for round in 1..=shared.repetitions {
        progress.say(of("pages from redis", round, shared));
        let ns = client.in_flight(IN_FLIGHT).map_err(far)?;
        ours.push(ns);
        partner.push(1e9 / server.gets(pages.max(args.exchanges))?);
    }
    rows.push(Row {
        work: format!("{work} of {PAGE} bytes"),
        ours: median(&ours),
        partner: Some(median(&partner)),
        unit: "ns/page",
        goal: Some(Goal::AtMost(1.25)),
    });
    Ok(())
}
