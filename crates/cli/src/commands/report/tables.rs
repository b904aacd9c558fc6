//! The tables of a crawl's report.

use crate::table::Table;
use turnstone_frontier::HostId;
use turnstone_lab::number::{duration, percent, whole as number};
use turnstone_pagestore::{HostTally, Tally};

use crate::commands::crawl::summary::bytes;
use crate::commands::shards::Whole;

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
            table.row([(*name).to_owned(), number(count), share]);
        }
    }
    table
}

/// How many hosts there are, and how many are shown.
pub(super) fn hosts_text(whole: &Whole) -> String {
    let count = usize::try_from(whole.host_count()).unwrap_or(usize::MAX);
    if count == 1 {
        return "One host.".to_owned();
    }
    if count <= HOSTS_SHOWN {
        return format!("All {} hosts, by pages stored.", number(count as u64));
    }
    format!(
        "{} hosts; the {HOSTS_SHOWN} with most pages stored.",
        number(count as u64)
    )
}

/// The hosts with most pages stored.
pub(super) fn largest_hosts(whole: &Whole) -> Table {
    table(whole, |_| true, |tally| u64::from(tally.fetched))
}

/// The hosts that took longest to answer.
pub(super) fn slowest_hosts(whole: &Whole) -> Table {
    table(whole, |tally| tally.requests > 0, mean_us)
}

/// Microseconds a request, on average.
fn mean_us(tally: &HostTally) -> u64 {
    tally.milliseconds.saturating_mul(1000) / u64::from(tally.requests.max(1))
}

/// The hosts largest by a measure, equal ones by number.
fn table(
    whole: &Whole,
    fits: impl Fn(&HostTally) -> bool,
    measure: impl Fn(&HostTally) -> u64,
) -> Table {
    // By shard and number: each host once, where it is at home.
    let mut hosts: Vec<((usize, HostId), &HostTally)> = Vec::new();
    for (shard, directory) in whole.shards.iter().enumerate() {
        let index = directory.store.index();
        let all = index.tally().hosts.iter().enumerate();
        let all = all.map(|(host, tally)| (HostId::from_index(host), tally));
        let here = all.filter(|(host, tally)| index.away(*host).is_none() && fits(tally));
        hosts.extend(here.map(|(host, tally)| ((shard, host), tally)));
    }
    hosts.sort_by_key(|(at, tally)| (std::cmp::Reverse(measure(tally)), *at));
    let mut table = Table::new(&[
        "host",
        "#stored",
        "#known",
        "#requests",
        "#failed",
        "#mean time",
        "#received",
    ]);
    for ((shard, host), tally) in hosts.into_iter().take(HOSTS_SHOWN) {
        let mean = if tally.requests == 0 {
            "-".to_owned()
        } else {
            duration(mean_us(tally) as f64 / 1e6)
        };
        table.row([
            whole.shards[shard].store.index().host_name(host).to_owned(),
            number(tally.fetched.into()),
            number(tally.pages.into()),
            number(tally.requests.into()),
            number(tally.failed.into()),
            mean,
            bytes(tally.body_bytes),
        ]);
    }
    table
}
