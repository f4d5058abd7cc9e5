//! What a node tells a monitoring system: its counters and levels in the format of Prometheus.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use farside_wire::figures::{FIGURES, Figure, Nature};
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
        for (figure, value) in FIGURES.iter().zip(self.0.figures()) {
            let Figure { name, help, nature } = figure;
            match nature {
                Nature::Level => {
                    let gauge = ConstGauge::new(value as i64);
                    let kind = gauge.metric_type();
                    gauge.encode(encoder.encode_descriptor(name, help, None, kind)?)?;
                }
                Nature::Count => {
                    let counter = ConstCounter::new(value);
                    let kind = counter.metric_type();
                    counter.encode(encoder.encode_descriptor(name, help, None, kind)?)?;
                }
            }
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

/// Answers `GET /metrics` at an address with what the node counts; returns where it listens.
///
/// # Errors
/// If it cannot listen there.
pub fn serve(node: &Arc<Node>, address: SocketAddr) -> io::Result<SocketAddr> {
    let node = Arc::clone(node);
    answer(address, move || text(&node))
}

/// Answers `GET /metrics` at an address with a text, in a thread of its own; returns where it listens.
///
/// # Errors
/// If it cannot listen there.
pub fn answer(
    address: SocketAddr,
    text: impl Fn() -> Result<String, fmt::Error> + Send + 'static,
) -> io::Result<SocketAddr> {
    let server = Server::http(address).map_err(io::Error::other)?;
    let listens = server.server_addr().to_ip().unwrap_or(address);
    let answering = move || {
        for request in server.incoming_requests() {
            let found = *request.method() == Method::Get && request.url() == "/metrics";
            let (status, body) = match text() {
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
