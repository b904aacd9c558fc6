//! The tables of a crawl's report.

use turnstone_frontier::HostId;
use turnstone_lab::number::{duration, percent, whole};
use turnstone_lab::table::Table;
use turnstone_pagestore::{HostTally, Index, Tally};

use crate::commands::crawl::summary::bytes;

/// How many hosts are shown.
const HOSTS_SHOWN: usize = 20;

/// Answers by status class.
pub(super) fn statuses(tally: &Tally) -> Table {
    let mut table = Table::new(&["status", "#answers", "#share"]);
    let all: u64 = tally.statuses.iter().sum();
    let names = ["other", "1xx", "2xx", "3xx", "4xx", "5xx"];
    for (name, count) in names.iter().zip(tally.statuses) {
        if count > 0 {
            let share = percent(count as f64 / all as f64);
            table.row([(*name).to_owned(), whole(count), share]);
        }
    }
    table
}

/// How many hosts there are, and how many are shown.
pub(super) fn hosts_text(index: &Index) -> String {
    let count = index.host_count();
    if count == 1 {
        return "One host.".to_owned();
    }
    if count <= HOSTS_SHOWN {
        return format!("All {} hosts, by pages stored.", whole(count as u64));
    }
    format!(
        "{} hosts; the {HOSTS_SHOWN} with most pages stored.",
        whole(count as u64)
    )
}

/// The hosts with most pages stored.
pub(super) fn largest_hosts(index: &Index) -> Table {
    table(index, |_| true, |tally| u64::from(tally.fetched))
}

/// The hosts that took longest to answer.
pub(super) fn slowest_hosts(index: &Index) -> Table {
    table(index, |tally| tally.requests > 0, mean_us)
}

/// Microseconds a request, on average.
fn mean_us(tally: &HostTally) -> u64 {
    tally.milliseconds.saturating_mul(1000) / u64::from(tally.requests.max(1))
}

/// The hosts largest by a measure, equal ones by number.
fn table(
    index: &Index,
    fits: impl Fn(&HostTally) -> bool,
    measure: impl Fn(&HostTally) -> u64,
) -> Table {
    let hosts = index.tally().hosts.iter().enumerate();
    let mut hosts: Vec<(usize, &HostTally)> = hosts.filter(|(_, tally)| fits(tally)).collect();
    hosts.sort_by_key(|(number, tally)| (std::cmp::Reverse(measure(tally)), *number));
    let mut table = Table::new(&[
        "host",
        "#stored",
        "#known",
        "#requests",
        "#failed",
        "#mean time",
        "#received",
    ]);
    for (number, tally) in hosts.into_iter().take(HOSTS_SHOWN) {
        let mean = if tally.requests == 0 {
            "-".to_owned()
        } else {
            duration(mean_us(tally) as f64 / 1e6)
        };
        table.row([
            index.host_name(HostId::from_index(number)).to_owned(),
            whole(tally.fetched.into()),
            whole(tally.pages.into()),
            whole(tally.requests.into()),
            whole(tally.failed.into()),
            mean,
            bytes(tally.body_bytes),
        ]);
    }
    table
}
