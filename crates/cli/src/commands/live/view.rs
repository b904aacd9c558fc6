//! The crawl while it runs: a few lines on a terminal, a file for `turnstone status`.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use tokio::sync::watch;
use turnstone_crawl::{Progress, Waited};
use turnstone_lab::number::{duration, plural, whole};

use super::Watch;
use crate::commands::crawl::summary::{Proven, bytes};
use crate::commands::keep::slice;

pub(crate) use turnstone_server::STATUS_FILE;
/// How often the file is written.
const FILE_EVERY: Duration = Duration::from_secs(1);
/// How often a line is said where nobody looks at a terminal.
const LINE_EVERY: Duration = Duration::from_secs(30);
/// How far back rates look.
const RATE_SPAN: Duration = Duration::from_secs(5);
/// Lines about trouble at most.
const SAID_MAX: usize = 10;

/// Shows progress until the crawl ends.
pub(crate) async fn show(
    mut progress: watch::Receiver<Progress>,
    directory: PathBuf,
    watch: Watch,
) {
    let terminal = (std::io::stderr().is_terminal() && !crate::log::is_json()).then(lines);
    let mut written: Option<Instant> = None;
    let mut piped = Piped::default();
    let mut past: Vec<(Instant, u64, u64)> = Vec::new();
    let mut told: Option<u32> = None;
    while progress.changed().await.is_ok() {
        let now = progress.borrow_and_update().clone();
        let moment = Instant::now();
        past.retain(|(then, ..)| moment.duration_since(*then) <= RATE_SPAN);
        past.push((moment, now.pages, now.bytes));
        if let Some(terminal) = &terminal {
            let mut text = message(&now, rates(&past));
            if let Some(line) = &watch.line {
                text = text + "\n" + &line();
            }
            terminal.set_message(text);
            terminal.tick();
        }
        for note in &now.past_slices {
            let is_news = told.is_none_or(|last| note.slice.round > last);
            if let Some(tell) = watch.slice.as_ref().filter(|_| is_news) {
                told = Some(note.slice.round);
                print_line(&tell(note), terminal.as_ref());
            }
        }
        let asides = std::mem::take(&mut *super::deliveries::locked(&watch.asides));
        for aside in asides {
            let say = || {
                crate::log::info(&format!("turnstone: {aside}"));
            };
            match &terminal {
                Some(terminal) => terminal.suspend(say),
                None => say(),
            }
        }
        if terminal.is_none() {
            for reason in piped.news(&now) {
                crate::log::warning(&format!("turnstone: {reason}"));
            }
            if piped.is_line_due(&now) {
                let document = document(&now, rates(&past));
                crate::log::say("info", &format!("turnstone: {}", line(&now)), &document);
            }
        }
        if written.is_none_or(|last| last.elapsed() >= FILE_EVERY) {
            written = Some(moment);
            write(&directory, &now, rates(&past));
        }
    }
    write(&directory, &progress.borrow(), (0.0, 0.0));
    if let Some(terminal) = terminal {
        terminal.finish_and_clear();
    }
}

/// Prints a line above what the terminal shows. A reader who went away is no error.
fn print_line(line: &str, terminal: Option<&ProgressBar>) {
    let print = || {
        let _ = writeln!(std::io::stdout(), "{line}");
    };
    match terminal {
        Some(terminal) => terminal.suspend(print),
        None => print(),
    }
}

/// How far the crawl is, in a line.
fn line(now: &Progress) -> String {
    let mut text = format!(
        "{} stored, {} in this run, {} open, {} queued",
        plural(now.pages, "page"),
        plural(now.since_start.requests, "request"),
        whole(now.in_flight),
        whole(now.queued),
    );
    for waited in &now.waited {
        text += &format!("; {}", waits(waited, now));
    }
    text
}

/// A host that the crawl waits for, and how long.
fn waits(waited: &Waited, now: &Progress) -> String {
    let seconds = waited.until.0.saturating_sub(now.tick.0).div_ceil(1000);
    let mut text = format!("waiting {} for {}", duration(seconds as f64), waited.host);
    if !waited.why.is_empty() {
        text += &format!(" ({})", waited.why);
    }
    text
}

/// What was said where nobody looks at a terminal. Its time is that of the crawl's own progress, which comes
/// several times a second, whatever the crawl waits for.
#[derive(Default)]
struct Piped {
    /// Why nothing comes, so far.
    said: Vec<String>,
    /// When the last line was said.
    last_line: Duration,
}

impl Piped {
    /// New reasons why nothing comes.
    fn news(&mut self, now: &Progress) -> Vec<String> {
        let paused = now.paused.as_ref().map(|why| format!("paused: {why}"));
        let trouble = now.trouble.as_ref();
        let trouble = trouble.map(|what| format!("{what}; the crawler tries again later"));
        let reasons = [paused, now.warning.clone(), trouble].into_iter().flatten();
        let mut news = Vec::new();
        for reason in reasons {
            if self.said.len() < SAID_MAX && !self.said.contains(&reason) {
                self.said.push(reason.clone());
                news.push(reason);
            }
        }
        news
    }

    /// Whether it is time to say how far the crawl is.
    fn is_line_due(&mut self, now: &Progress) -> bool {
        let due = now.running >= self.last_line + LINE_EVERY;
        if due {
            self.last_line = now.running;
        }
        due
    }
}

fn lines() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    bar.set_style(ProgressStyle::with_template("{msg}").expect("the template is well formed"));
    bar
}

/// Pages and bytes a second.
fn rates(past: &[(Instant, u64, u64)]) -> (f64, f64) {
    match (past.first(), past.last()) {
        (Some((then, pages, bytes)), Some((now, more_pages, more_bytes))) if now > then => {
            let seconds = now.duration_since(*then).as_secs_f64();
            (
                more_pages.saturating_sub(*pages) as f64 / seconds,
                more_bytes.saturating_sub(*bytes) as f64 / seconds,
            )
        }
        _ => (0.0, 0.0),
    }
}

fn message(now: &Progress, (pages, rate): (f64, f64)) -> String {
    let mut text = format!(
        "{} pages stored, {} new ({pages:.0}/s)  {} ({}/s)  {} requests ({} in all)  {} open  {} queued  \
         {} hosts\n",
        whole(now.pages),
        whole(now.since_start.pages),
        bytes(now.since_start.bytes),
        bytes(rate as u64),
        whole(now.since_start.requests),
        whole(now.requests),
        whole(now.in_flight),
        whole(now.queued),
        whole(now.hosts),
    );
    let [other, _, ok, moved, client, server] = now.statuses;
    text += &format!(
        "2xx {}  3xx {}  4xx {}  5xx {}  other {}",
        whole(ok),
        whole(moved),
        whole(client),
        whole(server),
        whole(other)
    );
    if let Some(coverage) = now.coverage {
        text += &format!("\ncoverage {}", Proven::of(coverage).bar());
    }
    if let Some(note) = &now.slice {
        let slice = slice::json(note);
        text += &format!(
            "\nslice {}: {}\n{}",
            note.slice.round,
            slice::requests(&slice),
            slice::table(&slice).trim_end()
        );
    }
    for waited in &now.waited {
        text += &format!("\n{}", waits(waited, now));
    }
    if let Some(warning) = &now.warning {
        text += &format!("\n{warning}");
    }
    if let Some(why) = &now.paused {
        text += &format!("\nPAUSED: {why}");
    } else if now.ending {
        text += "\nending: waiting for open requests (press Ctrl-C again to end at once)";
    }
    text
}

/// The file that `turnstone status` reads while the crawl runs. Not written is no harm.
fn write(directory: &Path, now: &Progress, rates: (f64, f64)) {
    let document = document(now, rates);
    let path = directory.join(STATUS_FILE);
    let _ = crate::files::write_whole(&path, |out| out.write_all(document.to_string().as_bytes()));
}

/// How the crawl does, for programs.
fn document(now: &Progress, (pages, rate): (f64, f64)) -> Value {
    json!({
        "running_seconds": now.running.as_secs_f64(),
        "pages": now.pages,
        "known": now.known,
        "requests": now.requests,
        "bytes": now.bytes,
        "in_flight": now.in_flight,
        "queued": now.queued,
        "hosts": now.hosts,
        "pages_per_second": pages,
        "bytes_per_second": rate,
        "durable_fetches": now.durable_fetches,
        "guaranteed": now.coverage.map(|coverage| coverage.guaranteed_fraction()),
        "certified": now.coverage.and_then(|coverage| coverage.certified_fraction()),
        "upper_bound": now.coverage.map(|coverage| coverage.possible_fraction()),
        "slice": now.slice.as_ref().map(slice::json),
        "paused": now.paused,
        "ending": now.ending,
        "warning": now.warning,
        "trouble": now.trouble,
        "waited": now.waited.iter().map(|waited| waits(waited, now)).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use turnstone_frontier::Tick;

    use super::*;

    #[test]
    fn half_a_minute_is_the_longest_silence_and_reasons_are_said_once() {
        let mut piped = Piped::default();
        let (mut lines, mut reasons) = (Vec::new(), Vec::new());
        for tenths in 0..1000 {
            let now = Progress {
                running: Duration::from_millis(tenths * 100),
                // Nothing comes, and nothing but time changes.
                trouble: (tenths > 50).then(|| "a.example does not answer".to_owned()),
                paused: (tenths > 700).then(|| "the disk is full".to_owned()),
                ..Progress::default()
            };
            reasons.extend(piped.news(&now));
            if piped.is_line_due(&now) {
                lines.push(now.running.as_secs());
            }
        }
        assert_eq!(lines, [30, 60, 90]);
        let expected = [
            "a.example does not answer; the crawler tries again later",
            "paused: the disk is full",
        ];
        assert_eq!(reasons, expected);
    }

    #[test]
    fn a_line_says_how_far_it_is_and_which_hosts_it_waits_for() {
        let waited = |host: &str, why: &str, until: u64| Waited {
            host: host.to_owned(),
            why: why.to_owned(),
            until: Tick(until),
            tries: 2,
        };
        let now = Progress {
            tick: Tick(10_000),
            pages: 1_234,
            in_flight: 1,
            queued: 5_678,
            waited: vec![
                waited("a.example", "connection refused", 75_500),
                waited("b.example", "", 12_000),
            ],
            ..Progress::default()
        };
        expect![
            "1,234 pages stored, 0 requests in this run, 1 open, 5,678 queued; waiting 1 min 6 s for a.example (connection refused); waiting 2.00 s for b.example"
        ]
        .assert_eq(&line(&now));
    }
}
