//! `turnstone inspect URL`

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use serde_json::{Value, json};
use turnstone_fetch::robots::{Access, Record, RefreshOptions};
use turnstone_fetch::soft404::{HostEvidence, PageFacts, SoftOptions, Verdict, judge};
use turnstone_fetch::urls::{self, KeyOptions, UrlLimits, canonical_key, origin_of, shown};
use turnstone_fetch::{Client, Response, Url};

use super::ask::{self, Asking, Hop};
use super::links::{links_json, read_body};
use crate::exit::{Exit, Usage};
use crate::output::Output;

/// Show what the crawler sees at a URL: robots.txt and the line that decides, each hop with its
/// timings, limits hit, encoding, title, links, canonical key and whether the page is a soft 404.
#[derive(Debug, Args)]
pub(crate) struct Inspect {
    /// The URL to ask for
    url: String,
    /// Ask even if robots.txt disallows it
    #[arg(long)]
    ignore_robots: bool,
    /// Do not probe a random sibling to tell soft 404s
    #[arg(long)]
    no_probe: bool,
    #[command(flatten)]
    asking: Asking,
}

impl Inspect {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let url = urls::parse(&self.url, &UrlLimits::default())
            .map_err(|error| Usage::of("URL", error))?;
        let seen = ask::run(self.see(url))?;
        let failed = seen["allowed"] == false
            || seen["hops"]
                .as_array()
                .is_some_and(|hops| hops.last().is_some_and(|hop| hop["error"].is_string()));
        output.result(&seen, || as_text(&seen))?;
        Ok(if failed { Exit::Failed } else { Exit::Done })
    }

    async fn see(&self, url: Url) -> anyhow::Result<Value> {
        let (client, agent) = self.asking.client(&url)?;
        let (record, robots) = ask_robots((&client, &agent), &url).await;
        let options = RefreshOptions::default();
        let (allowed, line) = match record.access(now_s(), &options) {
            Access::Rules { rules, .. } => {
                let verdict = rules.check_url(&url);
                (verdict.allowed, verdict.to_string())
            }
            Access::Open { why } => (true, format!("allowed: {why}")),
            Access::Closed { why, .. } => (false, format!("disallowed: {why}")),
            Access::Unknown => (false, "disallowed: robots.txt gave no answer".to_owned()),
        };
        let mut seen = json!({
            "url": shown(url.as_str()),
            "key": canonical_key(&url, &KeyOptions::default()),
            "surt": urls::surt(&url),
            "site": urls::site_of(&url),
            "robots": robots,
            "allowed": allowed,
            "robots_verdict": line,
        });
        if !allowed && !self.ignore_robots {
            return Ok(seen);
        }
        let hops = ask::follow(&client, url.clone()).await;
        seen["hops"] = hops.iter().map(hop_json).collect();
        let Some(Hop {
            url: landed,
            outcome: Ok(response),
            end: None,
        }) = hops.last()
        else {
            return Ok(seen);
        };
        let decoded = response.decoded(client.limits());
        let page = read_body(landed, ask::header(response, "content-type"), &decoded.body);
        seen["page"] = json!({
            "decode_fault": decoded.fault.map(|fault| fault.to_string()),
            "encoding": page.encoding,
            "encoding_from": page.encoding_source.name(),
            "title": page.title,
            "words": page.fingerprint.words,
            "canonical": page.canonical.as_ref().map(Url::as_str),
            "noindex": page.wishes.noindex,
            "nofollow": page.wishes.nofollow,
            "links": links_json(&page),
            "links_cut": page.cuts.links,
            "bytes_cut": page.cuts.bytes,
        });
        if !self.no_probe {
            let facts = PageFacts::of_page(&url, landed, response.status, &page);
            seen["soft404"] = soft404(&client, &facts).await;
        }
        Ok(seen)
    }
}

/// Asks for robots.txt as the crawler does, until the record knows.
async fn ask_robots((client, agent): (&Client, &str), url: &Url) -> (Record, Vec<Value>) {
    let mut record = Record::new(&origin_of(url));
    let mut asked = Vec::new();
    while let Some(request) = record.request(now_s()) {
        let address = request.url.clone();
        let fetched = client.fetch(request).await;
        asked.push(match &fetched {
            Ok(response) => json!({"url": address.as_str(), "status": response.status}),
            Err(error) => json!({"url": address.as_str(), "error": error.to_string()}),
        });
        let options = RefreshOptions::default();
        record.observe_fetch(now_s(), &fetched, client.limits(), agent, &options);
    }
    (record, asked)
}

/// Judges whether the page is gone although the server says otherwise, with one probe at most.
async fn soft404(client: &Client, facts: &PageFacts) -> Value {
    let mut host = HostEvidence::default();
    for _ in 0..2 {
        match judge(facts, &host, now_s(), token(), &SoftOptions::default()) {
            Verdict::Probe { url, directory } => {
                let hops = ask::follow(client, url.clone()).await;
                let facts = match hops.last() {
                    Some(Hop {
                        url: landed,
                        outcome: Ok(response),
                        ..
                    }) => {
                        let decoded = response.decoded(client.limits());
                        let content_type = ask::header(response, "content-type");
                        let page = read_body(landed, content_type, &decoded.body);
                        PageFacts::of_page(&url, landed, response.status, &page)
                    }
                    // Status 0: the probe got no answer, and says nothing.
                    _ => PageFacts::of_status(&url, &url, 0),
                };
                host.add_probe(&directory, facts, now_s());
            }
            Verdict::Alive(evidence) => return verdict_json("alive", &evidence),
            Verdict::HardGone(evidence) => return verdict_json("gone", &evidence),
            Verdict::SoftGone(evidence) => return verdict_json("soft 404", &evidence),
            Verdict::Unknown(evidence) => return verdict_json("unknown", &evidence),
        }
    }
    json!({"verdict": "unknown", "evidence": ["the probe settled nothing"]})
}

fn verdict_json(verdict: &str, evidence: &[turnstone_fetch::soft404::Evidence]) -> Value {
    json!({"verdict": verdict, "evidence": evidence.iter().map(ToString::to_string).collect::<Vec<_>>()})
}

fn hop_json(hop: &Hop) -> Value {
    let mut json = match &hop.outcome {
        Ok(response) => response_json(response),
        Err(error) => json!({"error": error.to_string(), "class": error.class.to_string()}),
    };
    json["url"] = shown(hop.url.as_str()).into();
    json["stopped"] = hop.end.clone().into();
    json
}

fn response_json(response: &Response) -> Value {
    let ms = |time: Duration| (time.as_secs_f64() * 1e5).round() / 100.0;
    let timings = &response.timings;
    let headers: Vec<Value> = response
        .headers
        .iter()
        .map(|(name, value)| json!([name.as_str(), String::from_utf8_lossy(value.as_bytes())]))
        .collect();
    json!({
        "status": response.status,
        "protocol": format!("{:?}", response.protocol),
        "remote": response.remote.to_string(),
        "tls": response.tls.as_ref().map(|tls| format!("{} {}", tls.version, tls.cipher)),
        "body_bytes": response.body.len(),
        "truncated": response.truncation.map(|truncation| truncation.mark.as_str()),
        "ms": {
            "dns": timings.dns.map(ms),
            "connect": timings.connect.map(ms),
            "tls": timings.tls.map(ms),
            "first_byte": ms(timings.first_byte),
            "total": ms(timings.total),
        },
        "headers": headers,
    })
}

/// The same for people: what was asked and answered, in order.
fn as_text(seen: &Value) -> String {
    let mut text = String::new();
    let said = |value: &Value| match value {
        Value::String(text) => printable(text),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    };
    let _ = writeln!(text, "{}", said(&seen["url"]));
    for (name, key) in [
        ("key", "key"),
        ("surt", "surt"),
        ("site", "site"),
        ("robots", "robots_verdict"),
    ] {
        let _ = writeln!(text, "  {name:10} {}", said(&seen[key]));
    }
    for asked in seen["robots"].as_array().into_iter().flatten() {
        // An error names the URL itself.
        let answer = if asked["error"].is_string() {
            said(&asked["error"])
        } else {
            format!("{}: {}", said(&asked["url"]), said(&asked["status"]))
        };
        let _ = writeln!(text, "  {:10} {answer}", "");
    }
    for hop in seen["hops"].as_array().into_iter().flatten() {
        let _ = writeln!(text, "\n{}", said(&hop["url"]));
        if hop["error"].is_string() {
            let _ = writeln!(text, "  {:10} {}", "failed", said(&hop["error"]));
            continue;
        }
        let _ = writeln!(
            text,
            "  {:10} {} {} from {}, {} bytes, {} ms (first byte {} ms)",
            "answer",
            said(&hop["status"]),
            said(&hop["protocol"]),
            said(&hop["remote"]),
            said(&hop["body_bytes"]),
            said(&hop["ms"]["total"]),
            said(&hop["ms"]["first_byte"]),
        );
        for name in ["tls", "truncated", "stopped"] {
            if hop[name].is_string() {
                let _ = writeln!(text, "  {name:10} {}", said(&hop[name]));
            }
        }
        for header in hop["headers"].as_array().into_iter().flatten() {
            let _ = writeln!(
                text,
                "  {:10} {}: {}",
                "",
                said(&header[0]),
                said(&header[1])
            );
        }
    }
    if let Some(page) = seen["page"].as_object() {
        let _ = writeln!(text, "\npage");
        for name in [
            "title",
            "encoding",
            "encoding_from",
            "words",
            "canonical",
            "decode_fault",
        ] {
            let _ = writeln!(text, "  {name:14} {}", said(&page[name]));
        }
        let links = page["links"].as_array().map_or(0, Vec::len);
        let _ = writeln!(text, "  {:14} {links}", "links");
        for link in page["links"].as_array().into_iter().flatten() {
            let _ = writeln!(
                text,
                "    {} {} {}",
                said(&link["tag"]),
                said(&link["url"]),
                said(&link["rel"])
            );
        }
    }
    if seen["soft404"].is_object() {
        let _ = writeln!(text, "\n{}", said(&seen["soft404"]["verdict"]));
        for evidence in seen["soft404"]["evidence"].as_array().into_iter().flatten() {
            let _ = writeln!(text, "  {}", said(evidence));
        }
    }
    text
}

/// What strangers wrote, without the characters that steer a terminal.
fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

fn now_s() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs())
}

/// A number no site has a page for.
fn token() -> u64 {
    let nanoseconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_nanos());
    (nanoseconds as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
