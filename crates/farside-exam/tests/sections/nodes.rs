//! Sections whose data is at memory nodes across a network.

use std::time::Duration;

use farside_exam::{Node, pick};
use farside_far::remote::{NodeAddress, TcpNetwork, Timing, stats};

use super::{counter, place, same};

/// The URL of nodes.
fn url(nodes: &[Node], options: &str) -> String {
    let hosts: Vec<&str> = nodes.iter().map(|node| &node.address[..]).collect();
    format!("tcp://{}?{options}", hosts.join(","))
}

/// One of the numbers that a node counts.
fn figure(node: &Node, name: &str) -> u64 {
    let address: std::net::SocketAddr = node.address.parse().expect("an address");
    let address = NodeAddress::from(address);
    let figures = stats(&TcpNetwork::default(), &address, &Timing::default()).expect("it answers");
    let value = figures.iter().find(|(figure, _)| figure.name == name).map(|(_, value)| *value);
    value.unwrap_or_else(|| panic!("a node counts no {name}"))
}

#[test]
fn lines_of_all_lengths_come_and_go_over_the_network() {
    let Some(place) = place("lines_of_all_lengths_come_and_go_over_the_network") else { return };
    let nodes = [Node::start("256M")];
    let lines: &[&str] =
        pick(&["64", "1024"], &["64", "128", "256", "512", "1024", "2048", "4096", "32768"]);
    for line in lines {
        same(&place, &url(&nodes, ""), ["2", line, "1000000"], "shared");
    }
    same(&place, &url(&nodes, ""), ["0", "128", "1000000"], "all");
}

#[test]
fn short_lines_over_the_network_move_less_than_pages() {
    let test = "short_lines_over_the_network_move_less_than_pages";
    let Some(place) = place(test) else { return };
    let nodes = [Node::start("256M")];
    let moved = |line| {
        let counted = same(&place, &url(&nodes, ""), ["2", line, "1000000"], "all");
        counter(&counted, "section_fetched_bytes") + counter(&counted, "section_written_bytes")
    };
    let short = moved("128");
    let pages = figure(&nodes[0], "pages_read");
    assert!(figure(&nodes[0], "parts_read") > 10 * pages, "{pages} pages were read");
    let long = moved("4096");
    assert!(short * 5 < long, "{short} bytes, {long} with lines of a page");
}

#[test]
fn a_node_dies_while_lines_come_and_go() {
    let Some(place) = place("a_node_dies_while_lines_come_and_go") else { return };
    let mut nodes = [Node::start("256M"), Node::start("256M")];
    let far = url(&nodes, "copies=2");
    let counted = std::thread::scope(|scope| {
        let run = scope.spawn(|| same(&place, &far, ["2", "1024", "1000000"], "shared"));
        while figure(&nodes[0], "parts_read") == 0 && !run.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
        nodes[0].kill();
        run.join().expect("it goes on")
    });
    assert!(counter(&counted, "degraded_pages") > 0, "nothing was stored after that: {counted}");
}
