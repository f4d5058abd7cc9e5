//! What was found, for programs.

use serde_json::{Map, Value, json};

use super::findings::Findings;
use super::pointers::{self, Pointers};
use super::sites::{Site, Spot};

/// Version of the layout; grows when a key changes its meaning or goes.
const VERSION: u32 = 1;

/// Everything but the stacks.
pub fn of(findings: &Findings) -> Value {
    let sites = findings.shares().zip(&findings.suggestions).map(|((site, share, sum), hints)| {
        let mut object = spot(&site.spot);
        object.insert("inside".to_owned(), json!(site.inside));
        object.insert("faults".to_owned(), json!(site.total()));
        object.insert("share".to_owned(), json!(share));
        object.insert("cumulative_share".to_owned(), json!(sum));
        object.insert("kinds".to_owned(), json!(kinds(site)));
        let hints =
            hints.iter().map(|hint| json!({ "call": hint.call(), "reason": hint.reason() }));
        object.insert("hints".to_owned(), hints.collect());
        if let Some(pointers) = &findings.pointers {
            object.insert("pointers".to_owned(), pointers::json_of(pointers.of(&site.spot)));
        }
        if let Some((pages, share)) = site.pattern().stride() {
            object.insert("stride".to_owned(), json!({ "pages": pages, "share": share }));
        }
        Value::Object(object)
    });
    let hints = findings.hints.iter().map(|(at, site)| site.json(Value::Object(spot(at))));
    let (unresolved, unseen) = findings.unresolved();
    let (samples, cut) = findings.samples;
    json!({
        "version": VERSION,
        "program": findings.title,
        "faults": findings.faults,
        "sites_for_95_percent": findings.sites_for_most(),
        "without_line": unresolved,
        "unseen": unseen,
        "stacks": samples,
        "incomplete_stacks": cut,
        "lost_events": findings.lost,
        "refused": findings.refused,
        "pointers": findings.pointers.as_ref().map(Pointers::json),
        "followed": findings.followed.as_ref().map(|found| found.json(|at| Value::Object(spot(at)))),
        "sites": sites.collect::<Vec<_>>(),
        "hints": hints.collect::<Vec<_>>(),
    })
}

fn spot(spot: &Spot) -> Map<String, Value> {
    let value = match spot {
        Spot::Line { function, file, line } => {
            json!({ "function": function, "file": file, "line": line })
        }
        Spot::Instruction { function, image, address } => {
            json!({ "function": function, "image": image, "address": address })
        }
        Spot::Generated => json!({ "unknown": "generated code" }),
        Spot::Unseen => json!({ "unknown": "unseen" }),
    };
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// Counts by what was done and how the memory was touched.
fn kinds(site: &Site) -> Vec<Value> {
    let of = |(kind, count): (&super::tally::Kind, &u64)| json!({ "answer": kind.answer.name(), "write": kind.write, "faults": count });
    site.counts.iter().map(of).collect()
}
