//! A progress bar with time left, on a terminal only.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Steps of the bar: shares are shown to a tenth of a per cent.
const STEPS: u64 = 1000;

/// One long piece of work.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar that goes from 0 to 100 %. Hidden when standard error is not a terminal.
    pub(crate) fn share() -> Self {
        let bar = ProgressBar::new(STEPS);
        let style =
            ProgressStyle::with_template("{bar:30} {percent:>3} %  {elapsed} (left {eta})  {msg}");
        bar.set_style(style.expect("the template is well formed"));
        Self(bar)
    }

    /// A sign of life for work of unknown length.
    pub(crate) fn busy(what: &str) -> Self {
        let bar = ProgressBar::new_spinner();
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// Says what is being done and which share of it is.
    pub(crate) fn at(&self, what: &str, share: f64) {
        if self.0.message() != what {
            self.0.set_message(what.to_owned());
            self.0.reset();
        }
        self.0
            .set_position((share.clamp(0.0, 1.0) * STEPS as f64) as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
