//! A network of an exam's own, whose cables can be pulled: its machines are network namespaces, each with a cable to one
//! of two switches that are not connected with one another.

use std::cell::Cell;
use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::skip::{has_program, skipped};

/// The switches. All machines are connected to the first one to begin with.
const SWITCHES: [&str; 2] = ["left", "right"];

/// How long a cable may take to come up.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many networks this process has made.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// A network; its namespaces are given up when it is dropped.
#[derive(Debug)]
pub struct Network {
    name: String,
    machines: Cell<u8>,
}

/// A machine of a network.
#[derive(Clone, Debug)]
pub struct Machine {
    namespace: String,
    /// The switch's end of its cable.
    cable: String,
    /// Its address.
    pub address: IpAddr,
}

fn ip(words: &[&str]) -> Output {
    let output = Command::new("ip").args(words).output();
    output.unwrap_or_else(|error| panic!("cannot start ip: {error}"))
}

fn ip_or_die(words: &[&str]) {
    let output = ip(words);
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {}: {why}", words.join(" "));
}

/// Waits until one end of a cable is in use.
fn await_up(namespace: &str, end: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let shown = ip(&["-n", namespace, "-o", "link", "show", "dev", end]);
        let shown = String::from_utf8_lossy(&shown.stdout);
        if shown.contains(" state UP ") {
            return;
        }
        assert!(Instant::now() < deadline, "{end} in {namespace} does not come up: {shown}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A command that runs in a network namespace.
pub(crate) fn in_namespace(namespace: &str, program: &OsStr) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace]).arg(program);
    command
}

impl Network {
    /// One without machines; if there can be none here, the test is reported as skipped.
    pub fn new(test: &str) -> Option<Self> {
        if !has_program(test, "ip", "iproute2") {
            return None;
        }
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let network = Self {
            name: format!("farside-{}-{number}", std::process::id()),
            machines: Cell::new(0),
        };
        let made = ip(&["netns", "add", &network.name]);
        if !made.status.success() {
            let why = String::from_utf8_lossy(&made.stderr);
            skipped(test, &format!("no network namespace can be made: {}", why.trim()));
            return None;
        }
        for switch in SWITCHES {
            network.at_switches(&["link", "add", switch, "type", "bridge"]);
            network.at_switches(&["link", "set", switch, "up"]);
        }
        Some(network)
    }

    fn at_switches(&self, words: &[&str]) {
        ip_or_die(&[&["-n", &self.name], words].concat());
    }

    /// A new machine, connected with the others.
    pub fn machine(&self) -> Machine {
        let number = self.machines.get() + 1;
        self.machines.set(number);
        let address = Ipv4Addr::new(10, 99, 0, number);
        let (namespace, cable) = (format!("{}-{number}", self.name), format!("cable{number}"));
        ip_or_die(&["netns", "add", &namespace]);
        let there = |words: &[&str]| ip_or_die(&[&["-n", &namespace], words].concat());
        there(&[
            "link", "add", "eth0", "type", "veth", "peer", "name", &cable, "netns", &self.name,
        ]);
        there(&["address", "add", &format!("{address}/24"), "dev", "eth0"]);
        there(&["link", "set", "lo", "up"]);
        there(&["link", "set", "eth0", "up"]);
        let machine = Machine { namespace, cable, address: address.into() };
        self.plug(&machine, SWITCHES[0]);
        self.at_switches(&["link", "set", &machine.cable, "up"]);
        // The kernel takes a cable into use a while later, and loses what is sent before.
        await_up(&machine.namespace, "eth0");
        await_up(&self.name, &machine.cable);
        machine
    }

    fn plug(&self, machine: &Machine, switch: &str) {
        self.at_switches(&["link", "set", &machine.cable, "master", switch]);
    }

    /// These machines reach one another only, and the others reach only the others.
    pub fn part(&self, machines: &[&Machine]) {
        machines.iter().for_each(|machine| self.plug(machine, SWITCHES[1]));
    }

    /// They are connected with the others again.
    pub fn unite(&self, machines: &[&Machine]) {
        machines.iter().for_each(|machine| self.plug(machine, SWITCHES[0]));
    }
}

impl Machine {
    /// Its network namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// A command that runs there.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        in_namespace(&self.namespace, program.as_ref())
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for number in 1..=self.machines.get() {
            ip(&["netns", "delete", &format!("{}-{number}", self.name)]);
        }
        ip(&["netns", "delete", &self.name]);
    }
}
