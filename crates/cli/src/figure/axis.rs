//! Axes: what they are called, how numbers fall on them, and where the ticks go.

use turnstone_lab::number;

/// How numbers are spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Equal steps are equally long.
    Linear,
    /// Equal factors are equally long. Numbers that are not positive are left out.
    Log,
}

/// One axis of a figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    /// What it measures.
    pub(crate) label: String,
    /// How.
    pub(crate) scale: Scale,
    /// The least and largest number, where the data should not decide.
    pub(crate) range: Option<(f64, f64)>,
    /// Numbers are shares, shown as per cent.
    pub(crate) percent: bool,
    /// Numbers count things that stand side by side: ticks are whole.
    pub(crate) counts: bool,
    /// Numbers are seconds, shown as people say them.
    pub(crate) is_time: bool,
}

impl Axis {
    /// An axis with equal steps.
    pub(crate) fn linear(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            scale: Scale::Linear,
            range: None,
            percent: false,
            counts: false,
            is_time: false,
        }
    }

    /// Seconds.
    pub(crate) fn time(label: impl Into<String>) -> Self {
        Self {
            is_time: true,
            ..Self::linear(label)
        }
    }

    /// So many things side by side, the first at 1.
    pub(crate) fn side_by_side(label: impl Into<String>, count: usize) -> Self {
        Self {
            counts: true,
            ..Self::linear(label).within(0.5, count.max(1) as f64 + 0.5)
        }
    }

    /// An axis with equal factors.
    pub(crate) fn log(label: impl Into<String>) -> Self {
        Self {
            scale: Scale::Log,
            ..Self::linear(label)
        }
    }

    /// From 0 to 100 %.
    pub(crate) fn share(label: impl Into<String>) -> Self {
        Self {
            range: Some((0.0, 1.0)),
            percent: true,
            ..Self::linear(label)
        }
    }

    /// The same, from one number to another.
    #[must_use]
    pub(crate) fn within(mut self, least: f64, largest: f64) -> Self {
        self.range = Some((least, largest));
        self
    }
}

/// An axis laid out for some data: positions run from 0 to 1.
pub(super) struct Layout<'a> {
    axis: &'a Axis,
    least: f64,
    largest: f64,
}

impl<'a> Layout<'a> {
    pub(super) fn new(axis: &'a Axis, data: impl Iterator<Item = f64>) -> Self {
        let usable = |x: &f64| x.is_finite() && (axis.scale == Scale::Linear || *x > 0.0);
        let (mut least, mut largest) = data
            .filter(usable)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| {
                (l.min(x), h.max(x))
            });
        if least > largest {
            (least, largest) = (1.0, 10.0);
        }
        if axis.scale == Scale::Linear && least > 0.0 && least < 0.5 * largest {
            least = 0.0;
        }
        if let Some(range) = axis.range {
            (least, largest) = range;
        }
        if least >= largest {
            (least, largest) = match axis.scale {
                Scale::Linear => (least - 0.5, largest + 0.5),
                Scale::Log => (least / 2.0, largest * 2.0),
            };
        }
        Self {
            axis,
            least,
            largest,
        }
    }

    /// Where a number falls, if it does.
    pub(super) fn position(&self, x: f64) -> Option<f64> {
        let along = |x: f64| match self.axis.scale {
            Scale::Linear => x,
            Scale::Log => x.ln(),
        };
        let (low, high) = (along(self.least), along(self.largest));
        let at = (along(x) - low) / (high - low);
        (-0.001..=1.001).contains(&at).then_some(at.clamp(0.0, 1.0))
    }

    /// Numbers worth a tick, with their labels.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let numbers = match self.axis.scale {
            Scale::Linear => self.linear_ticks(),
            Scale::Log => self.log_ticks(),
        };
        numbers.into_iter().map(|x| (x, self.label(x))).collect()
    }

    fn linear_ticks(&self) -> Vec<f64> {
        if self.axis.counts {
            let every = ((self.largest - self.least) / 20.0).ceil().max(1.0) as usize;
            let last = self.largest.floor() as usize;
            return (1..=last).step_by(every).map(|at| at as f64).collect();
        }
        let rough = (self.largest - self.least) / 5.0;
        if self.axis.is_time {
            let step = TIME_STEPS.into_iter().find(|step| *step >= rough * 0.999);
            let step = step.unwrap_or_else(|| (rough / DAY).ceil() * DAY);
            let last = (self.largest / step + 1e-9).floor() as i64;
            return (0..=last).take(20).map(|i| i as f64 * step).collect();
        }
        let magnitude = 10f64.powf(rough.log10().floor());
        let factors = [1.0, 2.0, 2.5, 5.0, 10.0];
        let step = factors
            .iter()
            .map(|f| f * magnitude)
            .find(|s| *s >= rough * 0.999);
        let step = step.unwrap_or(magnitude);
        let first = (self.least / step - 1e-9).ceil() as i64;
        let last = (self.largest / step + 1e-9).floor() as i64;
        (first..=last).take(20).map(|i| i as f64 * step).collect()
    }

    fn log_ticks(&self) -> Vec<f64> {
        let decades = (self.largest / self.least).log10();
        let factors: &[f64] = if decades > 2.5 {
            &[1.0]
        } else {
            &[1.0, 2.0, 5.0]
        };
        let every = (decades / 8.0).ceil().max(1.0) as i32;
        let first = self.least.log10().floor() as i32;
        let last = self.largest.log10().ceil() as i32;
        let decade = (first..=last).filter(|d| (d - first) % every == 0);
        decade
            .flat_map(|d| factors.iter().map(move |f| f * 10f64.powi(d)))
            .filter(|x| *x >= self.least * 0.999 && *x <= self.largest * 1.001)
            .collect()
    }

    fn label(&self, x: f64) -> String {
        if self.axis.is_time {
            return time(x);
        }
        if self.axis.percent {
            return format!("{} %", number::short(x * 100.0));
        }
        number::short(x)
    }
}

const DAY: f64 = 86_400.0;
/// Steps between ticks of time that people count in.
const TIME_STEPS: [f64; 21] = [
    0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0,
    3600.0, 7200.0, 14_400.0, 21_600.0, 43_200.0, DAY,
];

/// A tick of time in its largest unit that is whole.
fn time(seconds: f64) -> String {
    for (unit, name) in [(DAY, "d"), (3600.0, "h"), (60.0, "min")] {
        if seconds >= unit && (seconds / unit).fract() == 0.0 {
            return format!("{} {name}", number::short(seconds / unit));
        }
    }
    match seconds {
        s if s >= 3600.0 => format!(
            "{} h {} min",
            (s / 3600.0).floor(),
            (s % 3600.0 / 60.0).round()
        ),
        s if s >= 60.0 => format!("{} min {} s", (s / 60.0).floor(), (s % 60.0).round()),
        s => format!("{} s", number::short(s)),
    }
}
