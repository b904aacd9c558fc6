//! Orders to a running server, on a loopback port of its own: move in time, say what happened.
//!
//! - `POST /at/WHEN`: all sites show the snapshot with this number or on this date, `first` or `last`;
//!   `POST /at/WHEN?site=NAME` moves one.
//! - `GET /summary`: requests, by status, violations, as JSON.
//! - `GET /sites`: each site with its URL, pages and the snapshot it shows.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::answer::Answer;
use super::request::{HEAD_BYTES_MAX, Head};
use super::shared::Shared;
use super::timeline::At;
use super::violation::Summary;

/// How long an order may take.
const ORDER_MS_MAX: u64 = 10_000;

pub(super) async fn accept(shared: Arc<Shared>, listener: TcpListener) {
    let mut stop = shared.stop.clone();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.changed() => return,
        };
        if let Ok((stream, _)) = accepted {
            let shared = shared.clone();
            let order = async move { take(&shared, stream).await };
            tokio::spawn(timeout(Duration::from_millis(ORDER_MS_MAX), order));
        }
    }
}

/// One order a connection.
async fn take(shared: &Shared, mut stream: TcpStream) -> std::io::Result<()> {
    let mut buffer = vec![0; HEAD_BYTES_MAX];
    let mut filled = 0;
    let answer = loop {
        match Head::parse(&buffer[..filled]) {
            Ok(Some((head, _))) => break obey(shared, head.method, head.path),
            Ok(None) if filled < buffer.len() => {}
            Ok(None) => break refusal(431, "the head is larger than 16 KiB"),
            Err(what) => break refusal(400, what),
        }
        match stream.read(&mut buffer[filled..]).await? {
            0 => return Ok(()),
            bytes => filled += bytes,
        }
    };
    let mut out = Vec::new();
    answer.write_head(true, &mut out);
    out.extend_from_slice(&answer.body);
    stream.write_all(&out).await?;
    stream.shutdown().await
}

fn obey(shared: &Shared, method: &str, path: &str) -> Answer {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    match (method, path) {
        ("GET", "/summary") => said(&summary_json(&shared.watch().summary())),
        ("GET", "/sites") => said(&sites_json(shared)),
        ("POST", _) if path.starts_with("/at/") => move_to(shared, &path["/at/".len()..], query),
        _ => refusal(404, "there are POST /at/WHEN, GET /summary and GET /sites"),
    }
}

fn move_to(shared: &Shared, when: &str, query: &str) -> Answer {
    let at: At = match when.parse() {
        Ok(at) => at,
        Err(error) => return refusal(400, &format!("{error}")),
    };
    let web = &shared.responder.web;
    let site = match query.strip_prefix("site=") {
        None => None,
        Some(name) => match web.sites.iter().position(|site| site.name == name) {
            None => return refusal(404, "there is no site of this name"),
            site => site,
        },
    };
    if let At::Number(number) = at
        && number >= web.snapshot_count()
    {
        let last = web.snapshot_count() - 1;
        return refusal(400, &format!("snapshots are numbered 0 to {last}"));
    }
    shared.go(site, at);
    said(&sites_json(shared))
}

/// What all requests came to.
pub(super) fn summary_json(summary: &Summary) -> Value {
    json!({
        "requests": summary.requests,
        "by_status": summary.by_status,
        "violations": summary.violations,
    })
}

fn sites_json(shared: &Shared) -> Value {
    let web = &shared.responder.web;
    let site = |number: usize| {
        let snapshot = web.snapshot(number, shared.moment());
        json!({
            "site": web.sites[number].name,
            "url": format!("{}/", shared.origins[web.sites[number].host as usize]),
            "pages": web.sites[number].pages,
            "snapshot": snapshot,
            "date": snapshot.and_then(|snapshot| web.date(number, snapshot)),
        })
    };
    (0..web.sites.len()).map(site).collect()
}

fn said(json: &Value) -> Answer {
    Answer::ok("application/json", format!("{json}\n"))
}

fn refusal(status: u16, what: &str) -> Answer {
    Answer {
        status,
        ..Answer::text(format!("{what}\n"))
    }
}
