//! Reads what `farside run --stats FILE` left.

use std::path::Path;

use serde_json::Value;

use super::Failure;

/// Counters of one run.
#[derive(Clone, Debug)]
pub(crate) struct Stats(Value);

impl Stats {
    /// Reads a file of counters.
    fn read(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path)
            .map_err(|e| Failure::io(format!("no counters in {}", path.display()), &e))?;
        let value = serde_json::from_str(&text)
            .map_err(|e| Failure::new(format!("bad counters in {}: {e}", path.display())))?;
        Ok(Self(value))
    }

    /// Reads the counters of a run, and insists that far memory was used in it: the figures of a
    /// program that ran unmanaged would be those of a plain run.
    pub fn of_managed_run(path: &Path) -> Result<Self, Failure> {
        let stats = Self::read(path)?;
        match stats.get("footprint_peak_bytes") {
            Some(bytes) if bytes > 0.0 => Ok(stats),
            _ => Err(Failure::new("a program under farside run made no use of far memory")),
        }
    }

    /// The value of a counter for the whole run: the first occurrence from the top, so that totals
    /// win over the figures of single processes.
    pub fn get(&self, name: &str) -> Option<f64> {
        let mut level = vec![&self.0];
        while !level.is_empty() {
            if let Some(found) = level.iter().find_map(|value| value.get(name)?.as_f64()) {
                return Some(found);
            }
            level = level.into_iter().flat_map(children).collect();
        }
        None
    }
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Object(map) => map.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_win_over_single_processes() {
        let text = r#"{"processes": [{"demand_faults": 1}], "total": {"demand_faults": 3}}"#;
        let stats = Stats(serde_json::from_str(text).expect("valid"));
        assert!(stats.get("demand_faults").is_some());
        let text = r#"{"processes": [{"counters": {"demand_faults": 1}}], "demand_faults": 3}"#;
        let stats = Stats(serde_json::from_str(text).expect("valid"));
        assert_eq!(stats.get("demand_faults"), Some(3.0));
        assert_eq!(stats.get("nothing"), None);
    }
}
