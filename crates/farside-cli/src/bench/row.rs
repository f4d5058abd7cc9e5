//! Rows of a benchmark's table: what was done, our figure, the partner's, and the goal.

use comfy_table::{CellAlignment, Table, presets::ASCII_MARKDOWN};
use serde_json::{Value, json};

/// What the ratio of a row is held to. Figures are costs, of which less is better, but where more is asked for.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) enum Goal {
    /// The partner's figure divided by ours must reach this.
    Faster(f64),
    /// Our figure divided by the partner's must not exceed this.
    AtMost(f64),
    /// Our figure itself must stay below this.
    Under(f64),
    /// Our figure itself must reach this.
    Reaches(f64),
    /// Our figure divided by the partner's must reach this.
    NoLess(f64),
}

/// One line of a benchmark.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// What was done.
    pub work: String,
    /// Our figure, in `unit`; no number if it could not be had.
    pub ours: f64,
    /// The partner's figure, in `unit`; `None` if the row has no partner.
    pub partner: Option<f64>,
    /// Unit of both figures.
    pub unit: &'static str,
    /// What the ratio is held to; `None` if the row only informs.
    pub goal: Option<Goal>,
}

impl Row {
    /// A row whose figure could not be had, and why.
    pub fn failed(work: &str, unit: &'static str, goal: Option<Goal>, why: &str) -> Self {
        let work = format!("{work}: failed: {why}");
        Self { work, ours: f64::NAN, partner: None, unit, goal }
    }

    /// Whether its figure could not be had.
    pub fn has_failed(&self) -> bool {
        self.ours.is_nan()
    }

    /// The ratio in the sense of the goal; without a goal ours divided by the partner's.
    pub fn ratio(&self) -> Option<f64> {
        let partner = self.partner?;
        let (over, under) = match self.goal {
            Some(Goal::Faster(_)) => (partner, self.ours),
            _ => (self.ours, partner),
        };
        (under > 0.0).then(|| over / under)
    }

    /// Whether the goal is reached; `None` without a goal, or without the partner that it is about.
    pub fn met(&self) -> Option<bool> {
        let goal = self.goal?;
        if self.has_failed() {
            return Some(false);
        }
        match goal {
            Goal::Faster(least) => Some(self.ratio()? >= least),
            Goal::AtMost(most) => Some(self.ratio()? <= most),
            Goal::Under(bound) => Some(self.ours < bound),
            Goal::Reaches(bound) => Some(self.ours >= bound),
            Goal::NoLess(least) => Some(self.ratio()? >= least),
        }
    }

    fn goal_text(&self) -> Option<String> {
        Some(match self.goal? {
            Goal::Faster(least) => format!("at least {least}x faster"),
            Goal::AtMost(most) => format!("at most {most}x"),
            Goal::Under(bound) => format!("under {bound} {}", self.unit),
            Goal::Reaches(bound) => format!("at least {bound} {}", self.unit),
            Goal::NoLess(least) => format!("at least {least}x"),
        })
    }

    fn json(&self) -> Value {
        json!({
            "work": self.work,
            "ours": rounded(self.ours),
            "partner": self.partner.map(rounded),
            "unit": self.unit,
            "ratio": self.ratio().map(precise),
            "goal": self.goal_text(),
            "met": self.met(),
        })
    }
}

/// Three decimals are more than any figure here is worth.
fn rounded(figure: f64) -> f64 {
    (figure * 1000.0).round() / 1000.0
}

/// A ratio may be held to a thousandth, so that it needs more.
fn precise(ratio: f64) -> f64 {
    (ratio * 1e6).round() / 1e6
}

/// A ratio with two decimals, or as many as show what it is.
fn ratio_text(ratio: f64) -> String {
    if ratio > 0.0 && ratio < 0.095 { format!("{ratio:.5}x") } else { format!("{ratio:.2}x") }
}

/// The rows as a JSON array of objects.
pub(crate) fn json(rows: &[Row]) -> String {
    let array = Value::Array(rows.iter().map(Row::json).collect());
    serde_json::to_string_pretty(&array).unwrap_or_else(|_| array.to_string())
}

/// The rows as a table for people.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    table.set_header(["work", "ours", "partner", "unit", "ratio", "goal", "met"]);
    for row in rows {
        let dash = || "-".to_string();
        table.add_row([
            row.work.clone(),
            figure(row.ours),
            row.partner.map_or_else(dash, figure),
            row.unit.to_string(),
            row.ratio().map_or_else(dash, ratio_text),
            row.goal_text().unwrap_or_else(dash),
            row.met().map_or_else(dash, |met| if met { "yes" } else { "NO" }.to_string()),
        ]);
    }
    for column in [1, 2, 4] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.to_string()
}

/// A figure with about three significant digits and thousands set apart.
pub(crate) fn figure(value: f64) -> String {
    if value.is_nan() {
        return "failed".into();
    }
    if value < 10.0 {
        return format!("{value:.2}");
    }
    if value < 100.0 {
        return format!("{value:.1}");
    }
    crate::run::grouped(value.round() as u64)
}

/// The median of figures; the mean of the middle two if their number is even, 0 for none.
pub(crate) fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ours: f64, partner: f64, goal: Goal) -> Row {
        Row { work: "w".into(), ours, partner: Some(partner), unit: "ns", goal: Some(goal) }
    }

    #[test]
    fn a_goal_is_met_from_its_bound_on() {
        assert_eq!(row(1.0, 8.0, Goal::Faster(8.0)).met(), Some(true));
        assert_eq!(row(1.0, 7.9, Goal::Faster(8.0)).met(), Some(false));
        assert_eq!(row(1.03, 1.0, Goal::AtMost(1.03)).met(), Some(true));
        assert_eq!(row(1.04, 1.0, Goal::AtMost(1.03)).met(), Some(false));
    }

    #[test]
    fn a_bound_needs_no_partner() {
        let bound = Some(Goal::Under(3.0));
        let row = |ours| Row { partner: None, goal: bound, ..row(ours, 0.0, Goal::AtMost(1.0)) };
        assert_eq!([2.9, 3.0].map(|ours| row(ours).met()), [Some(true), Some(false)]);
    }

    #[test]
    fn where_more_is_better_a_goal_is_met_from_its_bound_on() {
        let row = |ours, goal| row(ours, 50.0, goal).met();
        assert_eq!(
            [95.0, 94.9].map(|ours| row(ours, Goal::Reaches(95.0))),
            [Some(true), Some(false)]
        );
        assert_eq!(
            [50.0, 49.9].map(|ours| row(ours, Goal::NoLess(1.0))),
            [Some(true), Some(false)]
        );
    }

    #[test]
    fn what_failed_misses_its_goal_and_says_why() {
        let row = Row::failed("w", "s", Some(Goal::AtMost(1.0)), "no reason");
        assert_eq!((row.has_failed(), row.met()), (true, Some(false)));
        let value: Value = serde_json::from_str(&json(&[row])).expect("valid JSON");
        assert!(value[0]["ours"].is_null() && value[0]["met"] == false);
        assert_eq!(value[0]["work"], "w: failed: no reason");
    }

    #[test]
    fn json_has_exactly_the_promised_keys() {
        let text = json(&[row(1.0, 8.0, Goal::Faster(8.0))]);
        let value: Value = serde_json::from_str(&text).expect("valid JSON");
        let mut keys: Vec<_> = value[0].as_object().expect("object").keys().cloned().collect();
        keys.sort();
        assert_eq!(keys, ["goal", "met", "ours", "partner", "ratio", "unit", "work"]);
    }

    #[test]
    fn a_row_without_partner_has_neither_ratio_nor_verdict() {
        let row = Row { partner: None, ..row(1.0, 8.0, Goal::Faster(8.0)) };
        assert_eq!((row.ratio(), row.met()), (None, None));
    }

    #[test]
    fn figures_are_short_and_grouped() {
        assert_eq!(figure(1234567.8), "1,234,568");
        assert_eq!(figure(123.4), "123");
        assert_eq!(figure(1.234), "1.23");
    }

    #[test]
    fn median_of_even_and_odd_numbers_of_figures() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
