//! Speedscope's own format (`https://www.speedscope.app/file-format-schema.json`).

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{AccessKind, FaultStacks, Function};

/// The profile.
pub fn profile(all: &FaultStacks) -> Value {
    let mut numbers: HashMap<&Function, usize> = HashMap::new();
    let mut frames = Vec::new();
    for function in all.stacks.iter().flat_map(|stack| &stack.functions) {
        numbers.entry(function).or_insert_with(|| {
            frames.push(json!({
                "name": function.name, "file": function.file, "line": function.line,
            }));
            frames.len() - 1
        });
    }
    let of = |name: &str, kind: Option<AccessKind>| {
        let stacks =
            || all.stacks.iter().filter(|stack| kind.is_none_or(|kind| stack.kind == kind));
        let samples = stacks().map(|stack| {
            stack.functions.iter().map(|function| numbers[function]).collect::<Vec<_>>()
        });
        let weights = stacks().map(|stack| stack.count);
        json!({
            "type": "sampled", "name": name, "unit": "none", "startValue": 0,
            "endValue": weights.clone().sum::<u64>(),
            "samples": samples.collect::<Vec<_>>(), "weights": weights.collect::<Vec<_>>(),
        })
    };
    let kinds = AccessKind::ALL.into_iter();
    let kinds = kinds.filter(|kind| all.stacks.iter().any(|stack| stack.kind == *kind));
    let mut profiles = vec![of("all faults", None)];
    profiles.extend(kinds.map(|kind| of(kind.name(), Some(kind))));
    json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": all.title, "exporter": "farside", "activeProfileIndex": 0,
        "shared": { "frames": frames }, "profiles": profiles,
    })
}
