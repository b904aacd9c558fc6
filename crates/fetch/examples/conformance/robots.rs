//! robots.txt vectors: Google's matcher tests, the specification tests, crawler-commons' files.

use serde_json::Value;
use turnstone_fetch::robots::Rules;

use crate::report::{Error, Report, field, from_hex, items};

pub(crate) fn run(report: &mut Report) -> Result<(), Error> {
    for file in [
        "google-robots-test-vectors.json",
        "rep-spec-correctness.json",
    ] {
        let vectors = report.json(&format!("robots/{file}"))?;
        report.suite(&format!("robots/{file}"));
        for vector in items(&vectors) {
            let rules = Rules::parse(
                &from_hex(field(vector, "robots_hex")),
                field(vector, "agent"),
            );
            let path = path_of(field(vector, "url"));
            let allowed = rules.check(&path).allowed;
            let same = vector["allowed"] == Value::Bool(allowed);
            report.vector(same, || {
                format!(
                    "{} {:?} {} {} should be {}",
                    field(vector, "group"),
                    field(vector, "robots"),
                    field(vector, "agent"),
                    field(vector, "url"),
                    vector["allowed"]
                )
            });
        }
    }
    commons(report)
}

/// Path and query as written: the vectors say themselves whether they are encoded.
fn path_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split('#').next().unwrap_or(rest);
    match rest.find(['/', '?']) {
        Some(at) if rest[at..].starts_with('/') => rest[at..].to_owned(),
        Some(at) => format!("/{}", &rest[at..]),
        None => "/".to_owned(),
    }
}

/// Files without expectations attached: they must parse, and what their names promise must hold.
fn commons(report: &mut Report) -> Result<(), Error> {
    report.suite("robots/crawler-commons");
    for file in report.files("robots/crawler-commons")? {
        let bytes = report.bytes(&format!("robots/crawler-commons/{file}"))?;
        let rules = Rules::parse(&bytes, "turnstone");
        let any = rules.rule_count() + rules.sitemaps().count();
        let ok = match file.as_str() {
            "rfc9309-example-longest-match-robots.txt" => {
                let rules = Rules::parse(&bytes, "foobot");
                rules.check("/example/page/").allowed
                    && !rules.check("/example/page/disallowed.gif").allowed
            }
            "rfc9309-example-rule-group-merging.txt" => {
                let rules = Rules::parse(&bytes, "ExampleBot");
                !rules.check("/foo").allowed
                    && !rules.check("/bar").allowed
                    && !rules.check("/baz").allowed
            }
            name if name.contains("-bom") => any > 0,
            _ => !rules.is_html(),
        };
        report.vector(ok, || format!("{file}: {any} rules and sitemaps"));
    }
    Ok(())
}
