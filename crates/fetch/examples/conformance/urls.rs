//! Canonical forms: crawler-commons', Safe Browsing's and the archives', and where we differ.

use turnstone_fetch::urls::{KeyOptions, UrlLimits, canonical_key, parse, surt};
use url::Url;

use crate::report::{Error, Report, field, from_hex, items};

pub(crate) fn run(report: &mut Report) -> Result<(), Error> {
    commons(report)?;
    safe_browsing(report)?;
    archives(report)
}

/// Every key of every input is a fixed point.
pub(crate) fn check_idempotent(report: &mut Report, url: &Url) {
    for options in [
        KeyOptions::default(),
        KeyOptions {
            strip_sessions: true,
            strip_tracking: true,
            sort_query: true,
        },
        KeyOptions {
            strip_sessions: false,
            strip_tracking: false,
            sort_query: false,
        },
    ] {
        let once = canonical_key(url, &options);
        let twice = Url::parse(&once).map(|again| canonical_key(&again, &options));
        report.vector(twice.as_deref() == Ok(once.as_str()), None, || {
            format!("key of {url} is {once}, whose key is {twice:?}")
        });
    }
}

/// `input, expected` lines; quotes as in CSV.
fn csv(text: &str) -> Vec<Vec<String>> {
    text.lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (mut fields, mut quoted) = (vec![String::new()], false);
            let mut chars = line.chars().peekable();
            while let Some(c) = chars.next() {
                let field = fields.last_mut().expect("never empty");
                match c {
                    '"' if quoted && chars.peek() == Some(&'"') => {
                        chars.next();
                        field.push('"');
                    }
                    '"' if quoted || field.trim().is_empty() => quoted = !quoted,
                    ',' if !quoted => fields.push(String::new()),
                    c => field.push(c),
                }
            }
            fields
                .iter()
                .map(|f| f.trim_matches(' ').to_owned())
                .collect()
        })
        .collect()
}

fn commons(report: &mut Report) -> Result<(), Error> {
    let text = report.text("url/crawler-commons-normalize.csv")?;
    let options = KeyOptions {
        strip_sessions: true,
        strip_tracking: false,
        sort_query: true,
    };
    let mut parsed = Vec::new();
    report.suite("url/crawler-commons-normalize.csv");
    for line in csv(&text) {
        let [input, expected] = line.as_slice() else {
            report.vector(false, None, || format!("not two fields: {line:?}"));
            continue;
        };
        let url = Url::parse(input);
        let key = url
            .as_ref()
            .map_or_else(ToString::to_string, |url| canonical_key(url, &options));
        let same = &key == expected;
        report.vector(
            same,
            if same {
                None
            } else {
                commons_difference(input)
            },
            || format!("{input} gave {key}, should be {expected}"),
        );
        parsed.extend(url.ok());
    }
    parsed.iter().for_each(|url| check_idempotent(report, url));

    let text = report.text("url/crawler-commons-invalid.csv")?;
    report.suite("url/crawler-commons-invalid.csv");
    for line in csv(&text) {
        report.vector(
            parse(&line[0], &UrlLimits::default()).is_err(),
            None,
            || format!("{} was taken", line[0]),
        );
    }
    let text = report.text("url/crawler-commons-resolve.csv")?;
    report.suite("url/crawler-commons-resolve.csv");
    for line in csv(&text) {
        let [input, base, expected] = line.as_slice() else {
            report.vector(false, None, || format!("not three fields: {line:?}"));
            continue;
        };
        let url = if base.is_empty() {
            Url::parse(input)
        } else {
            Url::parse(base).and_then(|b| b.join(input))
        };
        report.vector(
            url.as_ref().is_ok_and(|u| u.as_str() == expected),
            None,
            || format!("{input} at {base} gave {url:?}, should be {expected}"),
        );
    }
    Ok(())
}

/// crawler-commons forms that we do not follow.
fn commons_difference(input: &str) -> Option<&'static str> {
    let after_scheme = input.split_once("://").map_or("", |(_, rest)| rest);
    let path = after_scheme.split('?').next().unwrap_or("");
    if !input.contains("://") && !input.starts_with("http") && !input.starts_with("HTTP") {
        return Some("not followed: inputs without http(s):// are not given a scheme");
    }
    if path.contains("//") {
        return Some("not followed: doubled slashes are kept, servers may tell them apart");
    }
    if input.contains("b=&")
        || input.ends_with("b=")
        || input.contains("?&")
        || input.ends_with('&')
        || input.contains("?=")
    {
        return Some(
            "not followed: empty parameters, names and values are kept, servers may tell them apart",
        );
    }
    None
}

fn safe_browsing(report: &mut Report) -> Result<(), Error> {
    let vectors = report.json("url/safebrowsing-canonicalization.json")?;
    let mut parsed = Vec::new();
    report.suite("url/safebrowsing-canonicalization.json");
    for vector in items(&vectors) {
        let input = String::from_utf8_lossy(&from_hex(field(vector, "input_hex"))).into_owned();
        let url = Url::parse(&input);
        let key = url.as_ref().map_or_else(ToString::to_string, |url| {
            canonical_key(url, &KeyOptions::default())
        });
        let same = key == field(vector, "expected");
        report.vector(
            same,
            if same {
                None
            } else {
                safe_browsing_difference(&input)
            },
            || {
                format!(
                    "{} gave {key}, should be {}",
                    input.escape_default(),
                    field(vector, "expected")
                )
            },
        );
        parsed.extend(url.ok());
    }
    parsed.iter().for_each(|url| check_idempotent(report, url));
    Ok(())
}

/// Safe Browsing forms that we do not follow: its key names a threat, ours a page.
fn safe_browsing_difference(input: &str) -> Option<&'static str> {
    if !input.trim_start().starts_with("http") {
        return Some("not followed: inputs without a scheme are not given one");
    }
    let host = input.split('/').nth(2).unwrap_or("");
    if host.contains("%23")
        || host.contains("%20")
        || host.starts_with(' ')
        || host.bytes().any(|b| b < b' ')
        || host.contains('\u{FFFD}')
    {
        return Some("not followed: such a host is no host by the URL standard");
    }
    if input.contains("%25") || input.contains("%%") {
        return Some(
            "not followed: escapes are undone once; undone repeatedly they name another resource",
        );
    }
    if input.ends_with("q?") {
        return Some("not followed: an empty query is dropped");
    }
    if host.contains(":1234") {
        return Some("not followed: the port is part of the page's identity");
    }
    if host.ends_with("..") {
        return Some("not followed: a host with empty parts is refused, not mended");
    }
    if input.contains("com//") {
        return Some("not followed: doubled slashes are kept, servers may tell them apart");
    }
    None
}

fn archives(report: &mut Report) -> Result<(), Error> {
    let vectors = report.json("url/urlcanon-surt.json")?;
    report.suite("url/urlcanon-surt.json, defaultIASurt");
    for (input, expected) in vectors["defaultIASurt"].as_object().into_iter().flatten() {
        let key = Url::parse(input).map_or_else(|e| e.to_string(), |url| surt(&url));
        let same = key == expected.as_str().unwrap_or("");
        let known = match input.as_str() {
            "" => Some("not followed: nothing is no URL"),
            other if other.starts_with("filedesc:") => {
                Some("not followed: names of archive files are no URLs to us")
            }
            _ => None,
        };
        report.vector(same, if same { None } else { known }, || {
            format!("{input} gave {key}, should be {expected}")
        });
    }
    report.suite("url/urlcanon-surt.json, stripPathSessionId");
    for (input, expected) in vectors["stripPathSessionId"]
        .as_object()
        .into_iter()
        .flatten()
    {
        let url = Url::parse(&format!("http://h.example{input}")).expect("a plain URL");
        let key = canonical_key(&url, &KeyOptions::default());
        let expected = format!("http://h.example{}", expected.as_str().unwrap_or(""));
        report.vector(key == expected, None, || {
            format!("{input} gave {key}, should be {expected}")
        });
    }
    for profile in [
        "Canonicalizer.DefaultIA",
        "google",
        "googleSupplementalFromSurt",
        "unescapeRepeatedly",
        "Canonicalizer.IA",
        "alphaRorderQuery",
        "massageHost",
    ] {
        report.left_out(
            &format!("url/urlcanon-surt.json, {profile}"),
            "a step on the way to the SURT that we do not offer alone",
        );
    }

    let vectors = report.json("url/urlcanon-path_dots.json")?;
    report.suite("url/urlcanon-path_dots.json, special");
    for (input, expected) in vectors["special"].as_object().into_iter().flatten() {
        let path = Url::parse(&format!("http://h.example{input}"))
            .map_or_else(|e| e.to_string(), |u| u.path().to_owned());
        let expected = expected.as_str().unwrap_or("");
        let known = if path != expected && input.contains('\\') {
            Some("not followed: a backslash is a slash by the URL standard")
        } else {
            None
        };
        report.vector(path == expected, known, || {
            format!(
                "{} gave {path}, should be {expected}",
                input.escape_default()
            )
        });
    }
    for profile in vectors
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name)
        .filter(|name| *name != "special")
    {
        report.left_out(
            &format!("url/urlcanon-path_dots.json, {profile}"),
            "paths of schemes that are not fetched",
        );
    }
    let vectors = report.json("url/urlcanon-funky_ipv4.json")?;
    report.suite("url/urlcanon-funky_ipv4.json");
    for (input, expected) in vectors.as_object().into_iter().flatten() {
        let url = Url::parse(&format!("http://{input}/"));
        let address = url.as_ref().ok().and_then(|u| match u.host() {
            Some(url::Host::Ipv4(address)) => Some(address.to_string()),
            _ => None,
        });
        report.vector(address.as_deref() == expected.as_str(), None, || {
            format!("{input} gave {address:?}, should be {expected}")
        });
    }
    Ok(())
}
