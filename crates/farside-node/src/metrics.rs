//! What a node tells a monitoring system: its counters and levels in the format of Prometheus.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use tiny_http::{Header, Method, Response, Server, StatusCode};

use crate::network::Node;

/// Reads a node when it is asked.
#[derive(Clone)]
struct Reading(Arc<Node>);

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reading")
    }
}

impl Collector for Reading {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let node = &self.0;
        let (pools, connections) = node.occupancy();
        let vitals = node.vitals();
        for (name, help, value) in [
            ("memory_bytes", "Memory for pages", vitals.total),
            ("free_bytes", "Memory for pages that is free", vitals.free),
            ("pools", "Clients that have pages here", pools as u64),
            ("connections", "Connections", connections as u64),
            ("draining", "Whether the node gives its pages to others", node.is_draining().into()),
        ] {
            let gauge = ConstGauge::new(value as i64);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        let counters = node.counters();
        for (name, help, value) in [
            ("pages_read", "Pages sent", &counters.pages_read),
            ("pages_written", "Pages taken", &counters.pages_written),
            ("requests", "Requests of any kind", &counters.requests),
            (
                "pages_missed",
                "Pages asked for that are not here, or in another version",
                &counters.pages_missed,
            ),
            (
                "pages_refused",
                "Pages that there was no room for, or that came late",
                &counters.pages_refused,
            ),
            ("pages_damaged", "Pages that were damaged on their way here", &counters.pages_damaged),
            (
                "bad_messages",
                "Connections ended because of what came over them",
                &counters.bad_messages,
            ),
            (
                "refused_connections",
                "Connections that were one too many, or not let in",
                &counters.refused_connections,
            ),
            (
                "leases_ended",
                "Clients whose pages were forgotten because they were gone for too long",
                &counters.leases_ended,
            ),
        ] as [(&str, &str, &AtomicU64); 9]
        {
            let counter = ConstCounter::new(value.load(Ordering::Relaxed));
            counter.encode(encoder.encode_descriptor(
                name,
                help,
                None,
                counter.metric_type(),
            )?)?;
        }
        Ok(())
    }
}

/// All of it as text.
///
/// # Errors
/// None that a node could cause.
pub fn text(node: &Arc<Node>) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("farside_node");
    registry.register_collector(Box::new(Reading(Arc::clone(node))));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

/// Answers `GET /metrics` at an address, in a thread of its own; returns where it listens.
///
/// # Errors
/// If it cannot listen there.
pub fn serve(node: &Arc<Node>, address: SocketAddr) -> io::Result<SocketAddr> {
    let server = Server::http(address).map_err(io::Error::other)?;
    let listens = server.server_addr().to_ip().unwrap_or(address);
    let node = Arc::clone(node);
    let answering = move || {
        for request in server.incoming_requests() {
            let found = *request.method() == Method::Get && request.url() == "/metrics";
            let (status, body) = match text(&node) {
                _ if !found => (404, "only /metrics is here\n".to_owned()),
                Ok(body) => (200, body),
                Err(_) => (500, String::new()),
            };
            let mut response = Response::from_string(body).with_status_code(StatusCode(status));
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            if let Ok(header) = Header::from_bytes("Content-Type", kind) {
                response.add_header(header);
            }
            // Whoever asked may be gone.
            let _ = request.respond(response);
        }
    };
    std::thread::Builder::new().name("metrics".into()).spawn(answering)?;
    Ok(listens)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;
    use crate::network::Options;

    fn get(address: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn counters_and_levels_are_served() {
        let node = Node::new(Options { memory: 1 << 20, ..Options::default() }).unwrap();
        let address = serve(&node, "127.0.0.1:0".parse().unwrap()).unwrap();
        node.drain();
        let answer = get(address, "/metrics");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        for line in [
            "farside_node_memory_bytes 1048576",
            "farside_node_free_bytes 1048576",
            "farside_node_draining 1",
            "farside_node_pages_read_total 0",
            "# EOF",
        ] {
            assert!(answer.contains(line), "{line} is not in {answer}");
        }
        assert!(get(address, "/").starts_with("HTTP/1.1 404"));
    }
}
