//! URL vectors of the standard itself, and of the public suffix list.

use std::collections::HashMap;

use serde_json::Value;
use turnstone_fetch::html::{PageInput, PageLimits, read_page};
use turnstone_fetch::urls::{UrlLimits, parse, read_standard, site_of};
use url::Url;

use crate::report::{Error, Report, field, items};
use crate::urls::check_idempotent;

pub(crate) fn run(report: &mut Report) -> Result<(), Error> {
    standard(report)?;
    percent_encoding(report)?;
    hosts(report)?;
    suffixes(report)
}

fn standard(report: &mut Report) -> Result<(), Error> {
    let known = known_differences(include_str!("expected/wpt-url.txt"));
    let vectors = report.json("url/wpt-urltestdata.json")?;
    let mut parsed = Vec::new();
    report.suite("url/wpt-urltestdata.json");
    for vector in items(&vectors).iter().filter(|v| v.is_object()) {
        let input = field(vector, "input");
        let base = vector["base"].as_str();
        let base_url = base.map(Url::parse).transpose();
        let url = base_url.and_then(|base| read_standard(base.as_ref(), input));
        let same = match (&url, vector.get("failure")) {
            (Ok(_), Some(_)) => false,
            (Ok(url), None) => url.as_str() == field(vector, "href"),
            (Err(_), failure) => failure.is_some(),
        };
        let name = match base {
            Some(base) => format!(
                "<{}> against <{}>",
                input.escape_default(),
                base.escape_default()
            ),
            None => format!("<{}>", input.escape_default()),
        };
        let known = known.get(name.as_str()).copied();
        report.named_vector(same, known, || {
            format!(
                "{name} gave {:?}, should be {}",
                url.as_ref().map(Url::as_str),
                vector.get("href").unwrap_or(&Value::from("failure"))
            )
        });
        parsed.extend(url.ok());
    }
    report.suite("canonical key twice, url/wpt-urltestdata.json");
    parsed.iter().for_each(|url| check_idempotent(report, url));
    Ok(())
}

/// Lines by the reason above them.
fn known_differences(list: &str) -> HashMap<&str, &str> {
    let mut reason = "";
    let mut known = HashMap::new();
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        match line.strip_prefix("= ") {
            Some(text) => reason = text,
            None => {
                known.insert(line, reason);
            }
        }
    }
    known
}

/// Queries in the document's encoding, through the whole page reader.
fn percent_encoding(report: &mut Report) -> Result<(), Error> {
    let vectors = report.json("url/wpt-percent-encoding.json")?;
    report.suite("url/wpt-percent-encoding.json");
    let page_url = Url::parse("http://h.example/").expect("a plain URL");
    for vector in items(&vectors).iter().filter(|v| v.is_object()) {
        let references: String = field(vector, "input")
            .chars()
            .map(|c| format!("&#{};", u32::from(c)))
            .collect();
        for (label, expected) in vector["output"].as_object().into_iter().flatten() {
            let body = format!("<a href='?{references}'>");
            let content_type = format!("text/html; charset={label}");
            let input = PageInput {
                url: &page_url,
                content_type: Some(&content_type),
                body: body.as_bytes(),
                agent: "turnstone",
            };
            let page = read_page(input, &PageLimits::default());
            let query = page.links.first().and_then(|l| l.url.query()).unwrap_or("");
            report.vector(query == expected, || {
                format!(
                    "{} in {label} gave {query}, should be {expected}",
                    field(vector, "input").escape_default()
                )
            });
        }
    }
    Ok(())
}

fn hosts(report: &mut Report) -> Result<(), Error> {
    for file in ["wpt-toascii.json", "wpt-IdnaTestV2.json"] {
        let vectors = report.json(&format!("url/{file}"))?;
        report.suite(&format!("url/{file}"));
        for vector in items(&vectors).iter().filter(|v| v.is_object()) {
            let input = field(vector, "input");
            if input.is_empty() {
                report.left_out(
                    &format!("url/{file}, 1 test"),
                    "an empty host: the slashes around it would join",
                );
                continue;
            }
            let host = Url::parse(&format!("https://{input}/x"))
                .ok()
                .and_then(|u| u.host_str().map(str::to_owned));
            let same = host.as_deref() == vector["output"].as_str();
            report.vector(same, || {
                format!(
                    "{} gave {host:?}, should be {}",
                    input.escape_default(),
                    vector["output"]
                )
            });
        }
    }
    Ok(())
}

fn suffixes(report: &mut Report) -> Result<(), Error> {
    for file in ["test_psl.txt", "tests.txt"] {
        let text = report.text(&format!("psl/{file}"))?;
        report.suite(&format!("psl/{file}"));
        for line in text
            .lines()
            .filter(|l| !l.starts_with("//") && !l.trim().is_empty())
        {
            let line = line
                .trim_start_matches("checkPublicSuffix(")
                .trim_end_matches(");")
                .replace(['\'', ','], " ");
            let mut words = line.split_whitespace();
            let (Some(domain), Some(expected)) = (words.next(), words.next()) else {
                continue;
            };
            // "null" means "no registrable domain"; ours then is the whole host, or no host at all.
            let url = Url::parse(&format!("http://{domain}/"));
            let usable = parse(&format!("http://{domain}/"), &UrlLimits::default()).is_ok();
            let site = url.as_ref().ok().map(site_of);
            let to_ascii = |name: &str| {
                Url::parse(&format!("http://{name}/"))
                    .ok()
                    .and_then(|u| u.host_str().map(str::to_owned))
            };
            let same = match expected {
                "null" => !usable || site.map(str::to_owned) == to_ascii(domain),
                name => site.map(str::to_owned) == to_ascii(name),
            };
            report.vector(same, || {
                format!("{domain} gave {site:?}, should be {expected}")
            });
        }
    }
    report.left_out(
        "psl/public_suffix_list.dat",
        "the list itself; the psl crate compiles its own copy in",
    );
    Ok(())
}
