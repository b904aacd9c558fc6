//! `turnstone.toml` taken up while a crawl runs: a hang-up signal says that it was edited.
//!
//! As daemons do it: `kill -HUP`, or `systemctl reload`. What may change of a running crawl (budgets, seeds,
//! scope) changes as if it had been ordered, each with a note in the journal; the rest holds from the
//! next run on, and that is said. A file that is wrong changes nothing.
//!
//! A terminal that is closed sends the same signal. Then nobody is there to edit anything, and the crawl ends
//! cleanly: it can be told apart, because standard error was a terminal and is none any more.

use std::io::{IsTerminal as _, stderr};
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use turnstone_crawl::StopLevel;

use crate::commands::serve::Desk;
use crate::log;

/// Takes the file up at every hang-up, until the task is ended.
pub(super) async fn on_hangup(desk: Arc<Desk>, stop: watch::Sender<StopLevel>) {
    let Ok(mut hangup) = signal(SignalKind::hangup()) else {
        return;
    };
    let seen = stderr().is_terminal();
    while hangup.recv().await.is_some() {
        if seen && !stderr().is_terminal() {
            stop.send_replace(StopLevel::Finish);
            return;
        }
        match desk.take_up().await {
            Ok(said) => log::info(&format!("turnstone: turnstone.toml was read again: {said}")),
            Err(why) => log::warning(&format!(
                "turnstone: turnstone.toml was not taken up, everything stays as it was: {why}"
            )),
        }
    }
}
