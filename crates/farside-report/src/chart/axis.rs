//! Axes: which part of the numbers is shown, where the ticks are, and how numbers are written.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

/// How numbers are laid out along an axis.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences take equal room.
    #[default]
    Linear,
    /// Equal ratios take equal room; what is not above zero has no place.
    Log,
}

/// What an axis shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Axis {
    /// What the numbers are, with their unit.
    pub label: String,
    /// How they are laid out.
    pub scale: Scale,
}

impl Axis {
    /// An axis on which equal differences take equal room.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Linear }
    }

    /// An axis on which equal ratios take equal room.
    pub fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Log }
    }
}

/// The numbers that an axis shows, as the drawing library wants them.
#[derive(Clone, Debug)]
pub struct Span {
    scale: Scale,
    low: f64,
    high: f64,
}

impl Span {
    /// Numbers from the least to the greatest of `values` and a little more; from 0 on a linear axis
    /// if none is negative.
    pub fn of(scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let shown = values.filter(|value| scale.shows(*value));
        let (low, high) = shown
            .fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = match scale {
            _ if low > high => (1.0, 10.0),
            Scale::Linear if low >= 0.0 => (0.0, if high > 0.0 { high } else { 1.0 }),
            _ => (low, high),
        };
        match scale {
            Scale::Linear => Self { scale, low, high: high + (high - low).max(1e-9) * 0.03 },
            Scale::Log if high > low => Self { scale, low: low / 1.1, high: high * 1.1 },
            Scale::Log => Self { scale, low: low / 3.0, high: high * 3.0 },
        }
    }

    /// The same, without room beyond the greatest number.
    pub fn exact(scale: Scale, low: f64, high: f64) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        Self { scale, low, high }
    }

    /// Whether a number has a place on the axis.
    pub fn shows(&self, value: f64) -> bool {
        self.scale.shows(value) && value >= self.low && value <= self.high
    }

    /// Where bars begin: at 0 if it is shown, else at the lower end.
    pub fn floor(&self) -> f64 {
        if self.scale == Scale::Linear { 0f64.clamp(self.low, self.high) } else { self.low }
    }

    /// Numbers that bear a tick: about `most` of them, never many more.
    pub fn ticks(&self, most: usize) -> Vec<f64> {
        match self.scale {
            Scale::Log if self.high / self.low >= 10.0 => self.decades(most),
            _ => self.steps(most),
        }
    }

    fn steps(&self, most: usize) -> Vec<f64> {
        let rough = (self.high - self.low) / most.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let nice = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        let step = nice.into_iter().find(|step| *step >= rough).unwrap_or(rough);
        let (from, to) = ((self.low / step).ceil() as i64, (self.high / step).floor() as i64);
        (from..=to).map(|i| i as f64 * step).collect()
    }

    fn decades(&self, most: usize) -> Vec<f64> {
        let (from, to) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let decades = (to - from).max(1) as usize;
        let every = decades.div_ceil(most.max(1)).max(1);
        let shown = (self.high / self.low).log10();
        let between: &[f64] = match (most as f64 / shown) as usize {
            0..=2 => &[1.0],
            3..=4 => &[1.0, 2.0, 5.0],
            _ => &[1.0, 2.0, 3.0, 5.0, 7.0],
        };
        (from..=to)
            .step_by(every)
            .flat_map(|power| between.iter().map(move |factor| factor * 10f64.powi(power)))
            .filter(|tick| self.shows(*tick))
            .collect()
    }
}

impl Scale {
    fn shows(self, value: f64) -> bool {
        value.is_finite() && (self == Self::Linear || value > 0.0)
    }
}

impl Ranged for Span {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
        };
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            Vec::new()
        } else {
            self.ticks(hint.max_num_points())
        }
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Span {
    fn format_ext(&self, value: &f64) -> String {
        short_number(*value)
    }
}

/// A number in few characters: `0.25`, `40`, `1,500`, `20k`, `1.5M`, `3G`.
pub fn short_number(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    let (divisor, unit) = match size {
        size if !(1e-4..1e15).contains(&size) => return format!("{value:.0e}"),
        size if size >= 1e12 => (1e12, "T"),
        size if size >= 1e9 => (1e9, "G"),
        size if size >= 1e6 => (1e6, "M"),
        size if size >= 1e4 => (1e3, "k"),
        _ => (1.0, ""),
    };
    let value = value / divisor;
    // Four significant digits at most, and no zeros at the end.
    let places = (3 - value.abs().log10().floor() as i32).clamp(0, 8) as usize;
    let text = format!("{value:.places$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    let text = match text.len() {
        4 if !text.contains(['.', '-']) => format!("{},{}", &text[..1], &text[1..]),
        _ => text.to_owned(),
    };
    format!("{text}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let values = [0.0, 0.25, 40.0, 1500.0, 20_000.0, 1.5e6, 3e9, -2e6, 0.000_5, 1e-7, 12_345.0];
        let texts = values.map(short_number);
        assert_eq!(
            texts,
            ["0", "0.25", "40", "1,500", "20k", "1.5M", "3G", "-2M", "0.0005", "1e-7", "12.35k"]
        );
    }

    #[test]
    fn ticks_are_round_and_few() {
        let linear = Span::of(Scale::Linear, [3.0, 97.0].into_iter());
        assert_eq!(linear.ticks(6), [0.0, 20.0, 40.0, 60.0, 80.0]);
        let log = Span::of(Scale::Log, [0.0, 1.0, 1e6].into_iter());
        assert_eq!(log.ticks(9), [1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6]);
        let short = Span::of(Scale::Log, [120.0, 480.0].into_iter());
        assert!((3..=8).contains(&short.ticks(6).len()), "{:?}", short.ticks(6));
        let wide = Span::of(Scale::Log, [1e-9, 1e30].into_iter());
        assert!(wide.ticks(8).len() <= 9);
    }

    #[test]
    fn any_numbers_make_an_axis() {
        for scale in [Scale::Linear, Scale::Log] {
            for values in [vec![], vec![0.0], vec![5.0], vec![f64::NAN, f64::INFINITY], vec![-1.0]]
            {
                let span = Span::of(scale, values.iter().copied());
                assert!(span.low < span.high && span.high.is_finite(), "{scale:?} {values:?}");
                assert!(span.ticks(8).len() <= 10);
            }
        }
    }
}
