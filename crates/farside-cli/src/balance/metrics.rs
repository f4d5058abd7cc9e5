//! What the daemon tells Prometheus.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use farside_node::metrics;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

use super::view::{Share, View};

/// The view, shared with those who ask for it.
pub type Shown = Arc<Mutex<View>>;

/// Reads the view when it is asked.
#[derive(Debug)]
struct Reading(Shown);

/// A gauge of a program: its name, what it is, its unit, and its value if there is one.
type Gauge = (&'static str, &'static str, Option<Unit>, fn(&Share) -> Option<f64>);

const GAUGES: [Gauge; 10] = [
    ("program_target", "What the program is to have.", Some(Unit::Bytes), |it| {
        Some(it.target_bytes as f64)
    }),
    ("program_limit", "The local limit in force.", Some(Unit::Bytes), |it| {
        Some(it.limit_bytes as f64)
    }),
    ("program_resident", "Local memory in use.", Some(Unit::Bytes), |it| {
        Some(it.resident_bytes as f64)
    }),
    ("program_footprint", "Memory touched.", Some(Unit::Bytes), |it| {
        Some(it.footprint_bytes as f64)
    }),
    ("program_least", "The least limit it can run with.", Some(Unit::Bytes), |it| {
        Some(it.least_bytes as f64)
    }),
    ("program_answers", "Whether the program answers.", None, |it| {
        Some(f64::from(u8::from(it.answers)))
    }),
    ("program_misses_per_second", "Uses of pages that are not local.", None, |it| {
        it.pressure.map(|it| it.misses_per_second)
    }),
    ("program_benefit_per_second", "Misses that a tenth more memory would save.", None, |it| {
        it.pressure.map(|it| it.benefit)
    }),
    ("program_penalty_per_second", "Misses that a tenth less memory would cost.", None, |it| {
        it.pressure.map(|it| it.penalty)
    }),
    ("program_tracking_share", "The share of the time that seeing this takes.", None, |it| {
        it.pressure.map(|it| it.tracking)
    }),
];

impl Collector for Reading {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let view = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut level = |name: &str, help: &str, unit: Option<&Unit>, value: f64| {
            let gauge = ConstGauge::new(value);
            let kind = gauge.metric_type();
            gauge.encode(encoder.encode_descriptor(name, help, unit, kind)?)
        };
        level(
            "total",
            "Local memory of all programs.",
            Some(&Unit::Bytes),
            view.total_bytes as f64,
        )?;
        level("claimed", "What programs may have.", Some(&Unit::Bytes), view.claimed_bytes as f64)?;
        level(
            "in_force",
            "Whether limits are as they are to be.",
            None,
            f64::from(u8::from(view.in_force)),
        )?;
        level("programs", "Programs that run.", None, view.programs.len() as f64)?;
        let changes = ConstCounter::new(view.changes);
        let kind = changes.metric_type();
        changes.encode(encoder.encode_descriptor(
            "changes",
            "Shares that were changed.",
            None,
            kind,
        )?)?;
        for (name, help, unit, value) in GAUGES {
            let kind = ConstGauge::new(0.0).metric_type();
            let mut family = encoder.encode_descriptor(name, help, unit.as_ref(), kind)?;
            for share in &view.programs {
                let Some(value) = value(share) else { continue };
                let pid = share.pid.map_or_else(String::new, |pid| pid.to_string());
                let labels = [
                    ("program", share.program.as_str()),
                    ("pid", pid.as_str()),
                    ("run", share.control()),
                ];
                ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

/// All of it as text.
///
/// # Errors
/// None that a program could cause.
pub fn text(shown: &Shown) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("farside_balance");
    registry.register_collector(Box::new(Reading(Arc::clone(shown))));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

/// Answers `GET /metrics` at an address, in a thread of its own; returns where it listens.
///
/// # Errors
/// If it cannot listen there.
pub fn serve(shown: &Shown, address: SocketAddr) -> io::Result<SocketAddr> {
    let shown = Arc::clone(shown);
    metrics::answer(address, move || text(&shown))
}
