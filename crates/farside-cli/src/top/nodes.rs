//! `farside top --node`: memory nodes and what they count.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Instant;

use comfy_table::{CellAlignment, Table, presets};
use farside_far::remote::{Network, NodeAddress, Timing, stats};
use farside_far::{Opening, open};
use serde_json::{Map, Value, json};

use super::{CLEAR, REFRESH};
use crate::Failure;
use crate::options::{Options, Size};
use crate::output;
use crate::run::grouped;

/// What a node said, or why it said nothing.
type Said = Result<Map<String, Value>, String>;

/// What nodes said, each by its address, and when.
struct Look {
    at: Instant,
    nodes: Vec<(String, Said)>,
}

/// Shows nodes: again and again on a terminal, else once.
///
/// # Errors
/// If the URL names no nodes.
pub fn top(options: &Options, once: bool, json: bool) -> Result<ExitCode, Failure> {
    let opening = open(&options.far, &options.credentials, options.insecure)
        .map_err(|error| Failure::usage(error.to_string()))?;
    let Opening::Nodes(cluster, protection) = opening else {
        return Err(Failure::usage("--node: name memory nodes, such as tcp://host:port"));
    };
    let network = cluster.carrier.network(protection);
    let look = || look(&cluster.nodes, &*network, &cluster.timing);
    if json {
        let nodes = look().nodes.into_iter().map(|(node, figures)| match figures {
            Ok(figures) => json!({ "node": node, "figures": figures }),
            Err(error) => json!({ "node": node, "error": error }),
        });
        output::print_json(&nodes.collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut now = look();
    if once || !io::stdout().is_terminal() {
        output::print(table(&now, None))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut before = None;
    loop {
        output::print(format!("{CLEAR}{}", table(&now, before.as_ref())))?;
        std::thread::sleep(REFRESH);
        before = Some(now);
        now = look();
    }
}

fn look(nodes: &[NodeAddress], network: &dyn Network, timing: &Timing) -> Look {
    let of = |node: &NodeAddress| {
        let figures = stats(network, node, timing).map_err(|error| error.to_string());
        let named = figures.map(|figures| {
            figures
                .into_iter()
                .map(|(figure, value)| (figure.name.to_owned(), value.into()))
                .collect()
        });
        (node.address.to_string(), named)
    };
    Look { at: Instant::now(), nodes: nodes.iter().map(of).collect() }
}

fn table(now: &Look, before: Option<&Look>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "NODE",
        "MEMORY",
        "USED",
        "CLIENTS",
        "READ",
        "WRITTEN",
        "READ/S",
        "WRITTEN/S",
        "REFUSED",
        "DAMAGED",
        "STATE",
    ]);
    for (at, (node, figures)) in now.nodes.iter().enumerate() {
        let figures = match figures {
            Ok(figures) => figures,
            Err(error) => {
                let mut row = vec![node.clone()];
                row.resize(10, String::new());
                row.push(error.clone());
                table.add_row(row);
                continue;
            }
        };
        let of = |figures: &Map<String, Value>, name: &str| {
            figures.get(name).and_then(Value::as_u64).unwrap_or(0)
        };
        let rate = |name: &str| {
            let Some(Look { at: then, nodes }) = before else { return String::new() };
            let Some((_, Ok(earlier))) = nodes.get(at) else { return String::new() };
            let seconds = now.at.duration_since(*then).as_secs_f64().max(0.001);
            let more = of(figures, name).saturating_sub(of(earlier, name));
            grouped((more as f64 / seconds) as u64)
        };
        let figure = |name: &str| of(figures, name);
        let used = figure("memory_bytes").saturating_sub(figure("free_bytes"));
        table.add_row([
            node.clone(),
            Size(figure("memory_bytes")).to_string(),
            Size(used).to_string(),
            // One of them is the question itself.
            figure("pools").saturating_sub(1).to_string(),
            grouped(figure("pages_read")),
            grouped(figure("pages_written")),
            rate("pages_read"),
            rate("pages_written"),
            grouped(figure("pages_refused")),
            grouped(figure("pages_damaged")),
            if figure("draining") == 1 { "draining".into() } else { "serving".into() },
        ]);
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        if index != 0 && index != 10 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.to_string()
}
