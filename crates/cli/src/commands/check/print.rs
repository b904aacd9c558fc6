//! What a check says: to people, to machines, to CI.

use std::fmt::Write as _;

use serde_json::{Value, json};
use turnstone_lab::number::{plural, whole};

use super::Checked;
use super::book::Kind;
use super::judge::Finding;

/// For people: what is broken and what is blocked, by page.
pub(super) fn text(checked: &Checked) -> String {
    let mut out = format!(
        "{}: {}, {}, {}\n",
        match checked.count(Kind::Broken) {
            0 => "No link is broken".to_owned(),
            1 => "1 link is broken".to_owned(),
            count => format!("{} links are broken", whole(count as u64)),
        },
        plural(checked.pages, "page"),
        plural(checked.links, "link target"),
        plural(checked.requests, "request"),
    );
    for kind in [Kind::Broken, Kind::Blocked] {
        let groups = groups(checked, kind);
        if groups.is_empty() {
            continue;
        }
        let _ = write!(out, "\n{}:\n", title(kind));
        for (page, findings) in groups {
            let _ = writeln!(out, "{page}");
            for finding in findings {
                let _ = writeln!(out, "  {}", line(finding));
            }
        }
    }
    let (moved, unasked) = (checked.count(Kind::Moved), checked.count(Kind::Unchecked));
    out.push('\n');
    if moved > 0 {
        let _ = writeln!(
            out,
            "{} by way of redirects; --json and --markdown tell where",
            lead(moved)
        );
    }
    if unasked > 0 {
        let _ = writeln!(out, "{} not checked; --json tells why", were(unasked));
    }
    let _ = writeln!(out, "kept in {}", checked.directory.display());
    out
}

fn lead(count: usize) -> String {
    match count {
        1 => "1 link leads to its page".to_owned(),
        _ => format!("{} links lead to their pages", whole(count as u64)),
    }
}

fn were(count: usize) -> String {
    match count {
        1 => "1 link was".to_owned(),
        _ => format!("{} links were", whole(count as u64)),
    }
}

fn title(kind: Kind) -> &'static str {
    match kind {
        Kind::Broken => "Broken",
        Kind::Blocked => "Blocked: something answers instead of the page, which may well be there",
        Kind::Moved => "Redirects",
        Kind::Unchecked => "Not checked",
        Kind::There => "Well",
    }
}

/// A link in a line.
fn line(finding: &Finding) -> String {
    let mut out = String::new();
    if let Some(line) = finding.line {
        let _ = write!(out, "line {line}: ");
    }
    out += &finding.url;
    if !finding.text.is_empty() {
        let _ = write!(out, " \"{}\"", plain(&finding.text));
    }
    let _ = write!(out, ": {}", plain(&finding.said));
    if let Some(landed) = &finding.landed {
        let _ = write!(out, " to {landed}");
    }
    out
}

/// Text of strangers, without what could move a terminal's cursor.
fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

type Group<'a> = (&'a str, Vec<&'a Finding>);

fn groups(checked: &Checked, kind: Kind) -> Vec<Group<'_>> {
    let all = checked.findings.iter();
    let all = all.map(|(page, findings)| {
        let findings = findings.iter().filter(|finding| finding.kind == kind);
        (page.as_str(), findings.collect::<Vec<_>>())
    });
    all.filter(|(_, findings)| !findings.is_empty()).collect()
}

/// For machines.
pub(super) fn json(checked: &Checked) -> Value {
    let pages = checked.findings.iter().map(|(page, findings)| {
        let links = findings.iter().map(|finding| {
            json!({
                "url": finding.url,
                "kind": finding.kind.name(),
                "class": finding.class,
                "reason": finding.said,
                "line": finding.line,
                "text": finding.text,
                "redirects_to": finding.landed,
            })
        });
        json!({"page": page, "links": links.collect::<Vec<_>>()})
    });
    json!({
        "directory": checked.directory.display().to_string(),
        "pages": checked.pages,
        "targets": checked.links,
        "requests": checked.requests,
        "broken": checked.count(Kind::Broken),
        "blocked": checked.count(Kind::Blocked),
        "redirects": checked.count(Kind::Moved),
        "unchecked": checked.count(Kind::Unchecked),
        "findings": pages.collect::<Vec<_>>(),
    })
}

/// For CI: a test case for each page with broken or blocked links; blocked ones are skipped, not failed.
pub(super) fn junit(checked: &Checked) -> String {
    let mut cases = String::new();
    let (mut tests, mut failures, mut skipped) = (0, 0, 0);
    for (page, findings) in &checked.findings {
        for finding in findings {
            let name = xml(&format!("{} ({})", finding.url, place(finding)));
            let (element, count) = match finding.kind {
                Kind::Broken => ("failure", &mut failures),
                Kind::Blocked => ("skipped", &mut skipped),
                Kind::Unchecked | Kind::Moved | Kind::There => continue,
            };
            tests += 1;
            *count += 1;
            let _ = writeln!(
                cases,
                "  <testcase classname=\"{}\" name=\"{name}\"><{element} message=\"{}\"/></testcase>",
                xml(page),
                xml(&finding.said),
            );
        }
    }
    if tests == 0 {
        tests = 1;
        cases = "  <testcase classname=\"links\" name=\"no link is broken\"/>\n".to_owned();
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"turnstone check\" tests=\"{tests}\" \
         failures=\"{failures}\" skipped=\"{skipped}\" errors=\"0\">\n{cases}</testsuite>\n"
    )
}

fn place(finding: &Finding) -> String {
    finding
        .line
        .map_or_else(|| "no line".to_owned(), |line| format!("line {line}"))
}

/// Text as XML takes it: what XML forbids is left out.
fn xml(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\u{fffe}' | '\u{ffff}' => {}
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// For a pull request or a page.
pub(super) fn markdown(checked: &Checked) -> String {
    let mut out = format!(
        "# Links\n\n{} broken, {} blocked, {} by way of redirects, {} not checked; {}, {}.\n",
        whole(checked.count(Kind::Broken) as u64),
        whole(checked.count(Kind::Blocked) as u64),
        whole(checked.count(Kind::Moved) as u64),
        whole(checked.count(Kind::Unchecked) as u64),
        plural(checked.pages, "page"),
        plural(checked.links, "link target"),
    );
    for kind in [Kind::Broken, Kind::Blocked, Kind::Moved] {
        let groups = groups(checked, kind);
        if groups.is_empty() {
            continue;
        }
        let _ = write!(out, "\n## {}\n", title(kind));
        for (page, findings) in groups {
            let _ = write!(out, "\n### {}\n\n", inline(page));
            for finding in findings {
                let _ = writeln!(out, "- {}", inline(&line(finding)));
            }
        }
    }
    out
}

/// Text of strangers as code, so that nothing in it is markup.
fn inline(text: &str) -> String {
    format!("`{}`", plain(text).replace('`', "'"))
}
