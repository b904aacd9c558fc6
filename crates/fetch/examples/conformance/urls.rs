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
        report.vector(twice.as_deref() == Ok(once.as_str()), || {
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
            report.vector(false, || format!("not two fields: {line:?}"));
            continue;
        };
        let url = Url::parse(input);
        let key = url
            .as_ref()
            .map_or_else(ToString::to_string, |url| canonical_key(url, &options));
        let same = &key == expected;
        report.vector(same, || format!("{input} gave {key}, should be {expected}"));
        parsed.extend(url.ok());
    }
    parsed.iter().for_each(|url| check_idempotent(report, url));

    let text = report.text("url/crawler-commons-invalid.csv")?;
    report.suite("url/crawler-commons-invalid.csv");
    for line in csv(&text) {
        report.vector(parse(&line[0], &UrlLimits::default()).is_err(), || {
            format!("{} was taken", line[0])
        });
    }
    let text = report.text("url/crawler-commons-resolve.csv")?;
    report.suite("url/crawler-commons-resolve.csv");
    for line in csv(&text) {
        let [input, base, expected] = line.as_slice() else {
            report.vector(false, || format!("not three fields: {line:?}"));
            continue;
        };
        let url = if base.is_empty() {
            Url::parse(input)
        } else {
            Url::parse(base).and_then(|b| b.join(input))
        };
        report.vector(url.as_ref().is_ok_and(|u| u.as_str() == expected), || {
            format!("{input} at {base} gave {url:?}, should be {expected}")
        });
    }
    Ok(())
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
        report.vector(same, || {
            format!(
                "{} gave {key}, should be {}",
                input.escape_default(),
                field(vector, "expected")
            )
        });
        parsed.extend(url.ok());
    }
    parsed.iter().for_each(|url| check_idempotent(report, url));
    Ok(())
}

fn archives(report: &mut Report) -> Result<(), Error> {
    let vectors = report.json("url/urlcanon-surt.json")?;
    report.suite("url/urlcanon-surt.json, defaultIASurt");
    for (input, expected) in vectors["defaultIASurt"].as_object().into_iter().flatten() {
        let key = Url::parse(input).map_or_else(|e| e.to_string(), |url| surt(&url));
        let same = key == expected.as_str().unwrap_or("");
        report.vector(same, || format!("{input} gave {key}, should be {expected}"));
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
        report.vector(key == expected, || {
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
        report.vector(path == expected, || {
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
        report.vector(address.as_deref() == expected.as_str(), || {
            format!("{input} gave {address:?}, should be {expected}")
        });
    }
    Ok(())
}
