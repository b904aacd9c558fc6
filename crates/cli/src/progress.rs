//! A progress bar with time left, on a terminal only.

use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::caller::{Caller, caller};

/// Steps of the bar: shares are shown to a tenth of a per cent.
const STEPS: u64 = 1000;

/// One long piece of work.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// The program that called, which is told the same.
    caller: Option<Arc<Caller>>,
}

impl Progress {
    /// A bar that goes from 0 to 100 %. Hidden when standard error is not a terminal.
    pub(crate) fn share() -> Self {
        let bar = ProgressBar::new(STEPS);
        let style =
            ProgressStyle::with_template("{bar:30} {percent:>3} %  {elapsed} (left {eta})  {msg}");
        bar.set_style(style.expect("the template is well formed"));
        Self::of(bar)
    }

    /// A sign of life for work of unknown length.
    pub(crate) fn busy(what: &str) -> Self {
        let bar = ProgressBar::new_spinner();
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        Self::of(bar)
    }

    fn of(bar: ProgressBar) -> Self {
        let caller = caller();
        if let Some(caller) = &caller {
            caller.at(&bar.message(), 0.0);
        }
        Self { bar, caller }
    }

    /// Says what is being done and which share of it is.
    pub(crate) fn at(&self, what: &str, share: f64) {
        if let Some(caller) = &self.caller {
            caller.at(what, share);
        }
        if self.bar.message() != what {
            self.bar.set_message(what.to_owned());
            self.bar.reset();
        }
        self.bar
            .set_position((share.clamp(0.0, 1.0) * STEPS as f64) as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
