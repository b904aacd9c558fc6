//! The numbers as OpenMetrics, for Prometheus and its kin.
//!
//! Counters are folds of the journal: they never fall, not even when another process goes on with the crawl.
//! Every metric but those of the server itself has the label `crawl`. No host and no URL is a label: a crawl has
//! millions.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::State as Shared;
use axum::response::Response;

use crate::house::House;
use crate::picture::{Picture, State};

/// The media type of OpenMetrics.
const MEDIA: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

fn tell(house: &House) -> String {
    let mut out = Metrics::default();
    let pictures = house.pictures();
    crawls(&mut out, &pictures);
    let traffic = &house.traffic;
    out.family(
        "turnstone_server_connections",
        "gauge",
        "Connections open now.",
    );
    out.sample("", &[], traffic.open.load(Ordering::Relaxed) as f64);
    out.family(
        "turnstone_server_streams",
        "gauge",
        "Live updates under way.",
    );
    out.sample("", &[], f64::from(house.streams_open()));
    out.family(
        "turnstone_server_accepted",
        "counter",
        "Connections ever taken.",
    );
    out.sample("_total", &[], traffic.ever.load(Ordering::Relaxed) as f64);
    out.family(
        "turnstone_server_dropped",
        "counter",
        "Connections that ended by a limit or an error.",
    );
    out.sample(
        "_total",
        &[],
        traffic.dropped.load(Ordering::Relaxed) as f64,
    );
    out.family("turnstone_build", "info", "The release that answers.");
    out.sample("_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    out.text + "# EOF\n"
}

pub(crate) async fn answer(Shared(house): Shared<Arc<House>>) -> Response {
    let text = tell(&house);
    crate::house::answer(MEDIA, text)
}

/// The text, family by family.
#[derive(Default)]
struct Metrics {
    text: String,
    family: &'static str,
}

impl Metrics {
    fn family(&mut self, name: &'static str, kind: &str, help: &str) {
        self.family = name;
        let _ = writeln!(self.text, "# TYPE {name} {kind}\n# HELP {name} {help}");
    }

    fn sample(&mut self, suffix: &str, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        let labels = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(",")),
        };
        let _ = writeln!(self.text, "{}{suffix}{labels} {value}", self.family);
    }
}

/// A label value in quotes.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

type Number = fn(&Picture) -> Option<f64>;

/// Families with one number a crawl: name, kind, suffix, help, number.
const SINGLE: &[(&str, &str, &str, &str, Number)] = &[
    (
        "turnstone_pages_known",
        "gauge",
        "",
        "Pages known and in scope.",
        |it| Some(it.known as f64),
    ),
    (
        "turnstone_pages_stored",
        "gauge",
        "",
        "Pages stored and in scope.",
        |it| Some(it.pages as f64),
    ),
    (
        "turnstone_requests",
        "counter",
        "_total",
        "Requests sent, robots.txt included.",
        |it| Some(it.requests as f64),
    ),
    (
        "turnstone_robots_requests",
        "counter",
        "_total",
        "Requests for robots.txt.",
        |it| Some(it.robots_requests as f64),
    ),
    (
        "turnstone_received_bytes",
        "counter",
        "_total",
        "Bytes of bodies received.",
        |it| Some(it.bytes as f64),
    ),
    (
        "turnstone_requests_open",
        "gauge",
        "",
        "Pages handed out and not come back.",
        |it| Some(it.open as f64),
    ),
    (
        "turnstone_pages_queued",
        "gauge",
        "",
        "Pages that are ranked and wait, while a crawl runs.",
        |it| it.queued.map(|queued| queued as f64),
    ),
    (
        "turnstone_coverage_proven_ratio",
        "gauge",
        "",
        "Share of the personalised PageRank that is proven to be stored.",
        |it| Some(it.coverage?.proven),
    ),
    (
        "turnstone_coverage_possible_ratio",
        "gauge",
        "",
        "At most this share is stored, while a crawl runs.",
        |it| it.coverage?.possible,
    ),
    (
        "turnstone_coverage_provable_ratio",
        "gauge",
        "",
        "What can still be proven, whatever is fetched.",
        |it| it.coverage?.provable,
    ),
    ("turnstone_hosts_known", "gauge", "", "Hosts known.", |it| {
        Some(it.host_counts.known as f64)
    }),
    (
        "turnstone_warnings",
        "gauge",
        "",
        "What somebody should look at.",
        |it| Some(it.warnings.len() as f64),
    ),
    (
        "turnstone_orders_taken",
        "gauge",
        "",
        "Whether this server can order the crawl.",
        |it| Some(f64::from(u8::from(it.takes_orders))),
    ),
];

fn crawls(out: &mut Metrics, pictures: &[Arc<Picture>]) {
    out.family(
        "turnstone_crawl",
        "info",
        "What is asked, and by which policy.",
    );
    for it in pictures {
        let labels = [
            ("crawl", it.name.as_str()),
            ("question", &it.question),
            ("policy", &it.policy),
        ];
        out.sample("_info", &labels, 1.0);
    }
    out.family(
        "turnstone_crawl_state",
        "stateset",
        "Whether a crawl goes on.",
    );
    for it in pictures {
        for state in State::ALL {
            let labels = [
                ("crawl", it.name.as_str()),
                ("turnstone_crawl_state", state.name()),
            ];
            out.sample("", &labels, f64::from(u8::from(it.state == state)));
        }
    }
    for &(name, kind, suffix, help, number) in SINGLE {
        out.family(name, kind, help);
        for it in pictures {
            if let Some(value) = number(it) {
                out.sample(suffix, &[("crawl", &it.name)], value);
            }
        }
    }
    out.family("turnstone_pages", "gauge", "Pages by state.");
    for it in pictures {
        for (state, count) in &it.states {
            out.sample("", &[("crawl", &it.name), ("state", state)], *count as f64);
        }
    }
    out.family(
        "turnstone_answers",
        "counter",
        "Answers to requests for pages, by status class.",
    );
    for it in pictures {
        for (status, count) in &it.answers {
            out.sample(
                "_total",
                &[("crawl", &it.name), ("status", status)],
                *count as f64,
            );
        }
    }
    out.family(
        "turnstone_outcomes",
        "counter",
        "Settled pages by what came of them.",
    );
    for it in pictures {
        for (class, count) in &it.classes {
            out.sample(
                "_total",
                &[("crawl", &it.name), ("class", class)],
                *count as f64,
            );
        }
    }
    out.family(
        "turnstone_events",
        "counter",
        "What happened to pages, by kind.",
    );
    for it in pictures {
        for (kind, count) in &it.event_counts {
            out.sample(
                "_total",
                &[("crawl", &it.name), ("kind", kind)],
                *count as f64,
            );
        }
    }
    out.family(
        "turnstone_hosts",
        "gauge",
        "Hosts by how they are to us; a host may be several.",
    );
    for it in pictures {
        let counts = it.host_counts;
        for (condition, count) in [
            ("waiting", counts.waiting),
            ("held", counts.held),
            ("slow", counts.slow),
            ("failing", counts.failing),
        ] {
            out.sample(
                "",
                &[("crawl", &it.name), ("condition", condition)],
                count as f64,
            );
        }
    }
    out.family(
        "turnstone_budget",
        "gauge",
        "What a crawl may spend before it stops.",
    );
    for it in pictures {
        for budget in &it.budgets {
            if let Some(limit) = budget.limit {
                out.sample(
                    "",
                    &[("crawl", &it.name), ("what", budget.what)],
                    limit as f64,
                );
            }
        }
    }
    out.family(
        "turnstone_slice_requests",
        "gauge",
        "Requests of the slice under way, by arm.",
    );
    for it in pictures {
        let arms = it
            .slice
            .as_ref()
            .and_then(|slice| slice["split"].as_array());
        for arm in arms.into_iter().flatten() {
            let name = arm["arm"].as_str().unwrap_or_default();
            let spent = arm["spent"].as_f64().unwrap_or(0.0);
            out.sample("", &[("crawl", &it.name), ("arm", name)], spent);
        }
    }
}
