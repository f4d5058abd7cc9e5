//! Redis clusters of real servers, set to the strict profile.

use std::collections::HashMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::certificates::{Authority, Identity};
use crate::network::{Machine, Network};

/// How long a cluster has to come to terms with itself.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server of a cluster.
#[derive(Debug)]
pub struct Server {
    child: Child,
    /// Where it listens: all servers of a cluster have ports of their own, even on machines of their own.
    pub port: u16,
    /// Whether it can answer.
    is_awake: bool,
}

impl Server {
    fn signal(&self, signal: libc::c_int) {
        // SAFETY: kill touches no memory; the process is our child and not waited for yet.
        unsafe { libc::kill(self.child.id() as libc::pid_t, signal) };
    }

    /// Kills it, and waits until it is gone.
    pub fn kill(&mut self) {
        self.is_awake = false;
        self.signal(libc::SIGKILL);
        self.child.wait().expect("the server is our child");
    }

    /// Stops it where it is.
    pub fn pause(&mut self) {
        self.is_awake = false;
        self.signal(libc::SIGSTOP);
    }

    /// Lets it go on.
    pub fn resume(&mut self) {
        self.signal(libc::SIGCONT);
        self.is_awake = true;
    }
}

/// A cluster; its servers are killed when it is dropped.
#[derive(Debug)]
pub struct Cluster {
    home: TempDir,
    options: Vec<String>,
    /// What protects it.
    tls: Option<(Authority, Identity)>,
    /// By port: the machine of the server, if it is not this one.
    machines: HashMap<u16, Machine>,
    /// Its servers: first primaries, then as many replicas as each is to have, then spare ones.
    pub servers: Vec<Server>,
}

/// The strict profile, as it is shipped.
fn profile() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/redis-strict.conf")
}

/// A port that is free, as is the one that servers of a cluster talk to each other by.
fn free_port() -> u16 {
    loop {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there are free ports");
        let port = listener.local_addr().expect("it has an address").port();
        let Some(bus) = port.checked_add(10_000).or_else(|| port.checked_sub(10_000)) else {
            continue;
        };
        if bus > port && TcpListener::bind(("127.0.0.1", bus)).is_ok() {
            return port;
        }
    }
}

impl Cluster {
    /// Starts one with so many primaries, each with a replica, and so many spare replicas.
    pub fn start(primaries: usize, spares: usize, options: &[&str]) -> Self {
        Self::with(primaries, spares, options, None, |_| (free_port(), None))
    }

    /// Starts one with so many primaries, each with a replica, and so many spare replicas, each on a machine of its
    /// own.
    pub fn across(network: &Network, primaries: usize, spares: usize) -> Self {
        let place = |number: usize| (7000 + number as u16, Some(network.machine()));
        Self::with(primaries, spares, &[], None, place)
    }

    /// Starts one whose servers, and clients, talk TLS.
    pub fn protected(primaries: usize, authority: Authority) -> Self {
        let own = authority.sign("127.0.0.1", 2100);
        Self::with(primaries, 0, &[], Some((authority, own)), |_| (free_port(), None))
    }

    fn with(
        primaries: usize,
        spares: usize,
        options: &[&str],
        tls: Option<(Authority, Identity)>,
        place: impl Fn(usize) -> (u16, Option<Machine>),
    ) -> Self {
        let home = tempfile::Builder::new().prefix("farside-cluster-").tempdir();
        let home = home.expect("a temporary directory can be made");
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        let mut cluster =
            Self { home, options, tls, machines: HashMap::new(), servers: Vec::new() };
        for number in 0..2 * primaries + spares {
            let (port, machine) = place(number);
            cluster.machines.extend(machine.map(|machine| (port, machine)));
            let server = cluster.server(port);
            cluster.servers.push(server);
        }
        let places: Vec<String> =
            cluster.servers.iter().map(|server| cluster.place(server.port)).collect();
        let founders = &places[..2 * primaries];
        let mut create = vec!["--cluster", "create"];
        create.extend(founders.iter().map(String::as_str));
        create.extend(["--cluster-replicas", "1", "--cluster-yes"]);
        cluster.cli(cluster.servers[0].port, &create);
        cluster.await_replicas(1);
        for server in &cluster.servers[2 * primaries..] {
            cluster.join(server.port, cluster.servers[0].port);
        }
        cluster.eventually("all servers have heard of all replicas", || {
            cluster.servers.iter().all(|server| {
                let roles = cluster.roles(server.port);
                let replicas = roles.iter().filter(|(_, flags)| flags.contains("slave")).count();
                replicas == cluster.servers.len() - primaries
            })
        });
        cluster
    }

    /// Makes the server at a port, which is empty, a replica of the primary that has the fewest, in the cluster that the
    /// one at `known` knows.
    fn join(&self, port: u16, known: u16) {
        let (host, text) = (self.host(port), port.to_string());
        self.eventually("a new server is taken in", || {
            self.cli(known, &["CLUSTER", "MEET", &host, &text]);
            self.neediest(port).is_some_and(|primary| {
                self.ask(port, &["CLUSTER", "REPLICATE", &primary]).stdout.starts_with(b"OK")
            })
        });
    }

    /// What the server at a port calls the primary with the fewest replicas, if it has heard of any.
    fn neediest(&self, port: u16) -> Option<String> {
        let nodes = self.cli(port, &["CLUSTER", "NODES"]);
        let nodes: Vec<Vec<&str>> = nodes.lines().map(|line| line.split(' ').collect()).collect();
        let has_keys = |node: &&Vec<&str>| node.len() > 8 && !node[2].contains("fail");
        let replicas = |id: &str| nodes.iter().filter(|node| node.get(3) == Some(&id)).count();
        let primaries = nodes.iter().filter(has_keys);
        primaries.map(|node| node[0]).min_by_key(|id| replicas(id)).map(str::to_owned)
    }

    /// Puts a new, empty server, at a port of its own, in place of one that was killed.
    pub fn replace(&mut self, which: usize) {
        let known = self.servers[self.find(true)].port;
        let port = free_port();
        self.servers[which] = self.server(port);
        self.join(port, known);
    }

    /// The machine of the server at a port, if it is not this one.
    pub fn machine(&self, port: u16) -> Option<&Machine> {
        self.machines.get(&port)
    }

    fn host(&self, port: u16) -> String {
        let elsewhere = self.machine(port).map(|machine| machine.address.to_string());
        elsewhere.unwrap_or_else(|| "127.0.0.1".into())
    }

    fn place(&self, port: u16) -> String {
        format!("{}:{port}", self.host(port))
    }

    /// A command that runs where the server at a port does.
    fn beside(&self, port: u16, program: &str) -> Command {
        self.machine(port).map_or_else(|| Command::new(program), |machine| machine.command(program))
    }

    /// Starts a server at a port, with nothing in its directory.
    fn server(&self, port: u16) -> Server {
        let directory = self.home.path().join(port.to_string());
        // What an earlier server there left behind is not to be found.
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir(&directory).expect("a directory can be made");
        let log = std::fs::File::create(self.home.path().join(format!("{port}.log")));
        let mut command = self.beside(port, "redis-server");
        command.arg(profile()).args(["--bind", &self.host(port), "--protected-mode", "no"]);
        command.args(["--maxmemory", "256mb", "--dir"]).arg(&directory).args(&self.options);
        let port_text = port.to_string();
        match &self.tls {
            None => command.args(["--port", &port_text]),
            Some((authority, own)) => command
                .args(["--port", "0", "--tls-port", &port_text, "--tls-ca-cert-file"])
                .arg(authority.path())
                .arg("--tls-cert-file")
                .arg(&own.certificate)
                .arg("--tls-key-file")
                .arg(&own.key)
                .args(["--tls-cluster", "yes", "--tls-replication", "yes"]),
        };
        let child = command
            .stdin(Stdio::null())
            .stdout(log.expect("a file can be made"))
            .spawn()
            .unwrap_or_else(|e| panic!("cannot start redis-server: {e}"));
        let server = Server { child, port, is_awake: true };
        let begun = Instant::now();
        while !self.ask(port, &["PING"]).stdout.starts_with(b"PONG") {
            assert!(begun.elapsed() < PATIENCE, "the server at port {port} does not answer");
            std::thread::sleep(Duration::from_millis(5));
        }
        server
    }

    /// Starts a killed server again, with nothing in it, at its port.
    pub fn restart(&mut self, which: usize) {
        self.servers[which] = self.server(self.servers[which].port);
    }

    fn ask(&self, port: u16, words: &[&str]) -> Output {
        let mut command = self.beside(port, "redis-cli");
        command.args(["-h", &self.host(port), "-p", &port.to_string()]);
        if let Some((authority, own)) = &self.tls {
            command.arg("--tls").arg("--cacert").arg(authority.path());
            command.arg("--cert").arg(&own.certificate).arg("--key").arg(&own.key);
        }
        let output = command.args(words).output();
        output.unwrap_or_else(|e| panic!("cannot start redis-cli: {e}"))
    }

    /// What the server at a port answers.
    pub fn cli(&self, port: u16, words: &[&str]) -> String {
        let output = self.ask(port, words);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "redis-cli {words:?}: {text}");
        text.trim().to_owned()
    }

    /// Those that can answer.
    pub fn awake(&self) -> impl Iterator<Item = &Server> {
        self.servers.iter().filter(|server| server.is_awake)
    }

    /// Ports, and what the server at `port` says of those who listen there.
    fn roles(&self, port: u16) -> Vec<(u16, String)> {
        let nodes = self.cli(port, &["CLUSTER", "NODES"]);
        let of = |line: &str| {
            let mut words = line.split(' ').skip(1);
            let (place, flags) = (words.next()?, words.next()?);
            let port = place.split('@').next()?.rsplit(':').next()?.parse().ok()?;
            Some((port, flags.to_owned()))
        };
        nodes.lines().filter_map(of).collect()
    }

    /// Waits until each primary that is alive has at least so many replicas that follow it.
    pub fn await_replicas(&self, least: u32) {
        self.eventually(&format!("each primary has {least} replicas"), || {
            self.awake().filter(|server| self.has_keys(server.port)).all(|server| {
                let info = self.cli(server.port, &["INFO", "replication"]);
                let online = info.matches("state=online").count() as u32;
                online >= least
            })
        });
    }

    /// Whether keys belong to the server at a port.
    fn has_keys(&self, port: u16) -> bool {
        let nodes = self.cli(port, &["CLUSTER", "NODES"]);
        let own = nodes.lines().find(|line| line.contains("myself"));
        own.is_some_and(|own| own.contains("master") && own.split(' ').count() > 8)
    }

    /// The place among the servers of one that is a primary, or is not, as the one at `port` sees it.
    pub fn find(&self, primary: bool) -> usize {
        // One that has just started knows of itself only.
        let views = self.awake().map(|server| self.roles(server.port));
        let roles = views.max_by_key(Vec::len).expect("a server answers");
        let is = |server: &Server| {
            let role = roles.iter().find(|(port, _)| *port == server.port);
            role.is_some_and(|(_, flags)| {
                flags.contains("master") == primary && !flags.contains("fail")
            })
        };
        let found = self.servers.iter().position(|server| server.is_awake && is(server));
        found.expect("there is such a server")
    }

    /// How many values all primaries together have.
    pub fn values(&self) -> u64 {
        let primaries =
            self.awake().filter(|server| self.cli(server.port, &["ROLE"]).starts_with("master"));
        primaries
            .map(|server| self.cli(server.port, &["DBSIZE"]).parse::<u64>().expect("a number"))
            .sum()
    }

    /// Who vouches for its servers.
    pub fn authority(&self) -> Option<&Authority> {
        self.tls.as_ref().map(|(authority, _)| authority)
    }

    /// Its URL, with options.
    pub fn url(&self, options: &str) -> String {
        let places: Vec<String> =
            self.awake().take(3).map(|server| self.place(server.port)).collect();
        let scheme = if self.tls.is_some() { "rediss" } else { "redis" };
        format!("{scheme}://{}?{options}", places.join(","))
    }

    /// Waits for something that is to happen.
    pub fn eventually(&self, what: &str, mut happened: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !happened() {
            if begun.elapsed() > PATIENCE {
                let of = |server: &Server| {
                    self.cli(server.port, &["CLUSTER", "NODES"])
                        + "\n"
                        + &self.cli(server.port, &["INFO", "replication"])
                };
                let seen: Vec<String> = self.awake().map(of).collect();
                panic!("never: {what}\n{}", seen.join("\n\n"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // One that was killed has been waited for: nobody else has its number yet.
        for server in &mut self.servers {
            let _ = server.child.kill();
            let _ = server.child.wait();
        }
    }
}
