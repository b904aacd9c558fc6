//! Soft 404, ordinary pages and thin pages: a labelled set, with precision and recall for each class.
//!
//! Seven sites answer in eight manners for pages that are not there; beside these stand ordinary articles, thin
//! pages (stubs, pages of one template, tables of one row, the shells of scripts) and redirects that mean what they
//! say. The set is ours: it shows that the rules do what they say, and not how often the web is so.

use std::collections::BTreeMap;

use expect_test::expect;
use turnstone_fetch::html::{PageInput, PageLimits, read_page};
use turnstone_fetch::soft404::{HostEvidence, PageFacts, SoftOptions, Verdict, judge};
use url::Url;

const SITES: [&str; 7] = [
    "Harbour News",
    "City Library",
    "Shop Nine",
    "Der Anzeiger",
    "Le Quotidien",
    "Wiki of Knots",
    "API docs",
];

/// An answer: where it lands, and the body there.
struct Said {
    landed: String,
    body: String,
}

fn here(path: &str, title: &str, text: &str) -> Said {
    Said {
        landed: path.to_owned(),
        body: format!("<title>{title}</title><nav>Home News Search About</nav><p>{text}"),
    }
}

fn prose(salt: &str, words: usize) -> String {
    let seed = salt
        .bytes()
        .fold(7usize, |sum, byte| sum * 31 % 9_973 + usize::from(byte));
    let word = |at: usize| format!("w{}", (seed + at * at * 7 + at * 13) % 499);
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}

/// What a site says of a path that is not there, in one of eight manners.
fn missing(site: &str, manner: usize, path: &str) -> Said {
    let home = |title: &str| Said {
        landed: "/".to_owned(),
        body: format!(
            "<title>{title}</title><nav>Home</nav><p>{}",
            prose(site, 120)
        ),
    };
    match manner {
        0 => here(
            path,
            "Page not found",
            &format!("Sorry, {path} does not exist. Try the search, or go to the front page."),
        ),
        1 => here(
            path,
            site,
            &format!(
                "Nothing to see at {path}, dear reader; perhaps one of our other pages will do instead."
            ),
        ),
        2 => here(
            path,
            &format!("{site} - error"),
            "An error has occurred while we were looking for what you asked us for. Our staff was told.",
        ),
        3 => home(site),
        4 => Said {
            landed: path.to_owned(),
            ..home(site)
        },
        5 => Said {
            landed: "/error.html".to_owned(),
            body: here(
                "",
                "Oops",
                "Something went wrong here, and we are really very sorry for that indeed.",
            )
            .body,
        },
        6 => here(
            path,
            &format!("{site}: nicht gefunden"),
            &format!(
                "Die Seite {path} gibt es nicht mehr. Vorgang {}. Bitte versuchen Sie es mit der Suche.",
                path.len() * 7919
            ),
        ),
        _ => here(
            path,
            &format!("{path} | {site}"),
            &format!(
                "This article has been taken down by its author. Read what others read today: {}",
                prose(path, 14)
            ),
        ),
    }
}

/// Pages that are there, by label.
fn there(site: &str, at: usize, path: &str) -> (&'static str, Said) {
    let title = format!("{site}: part {at}");
    match at % 8 {
        0..=2 => ("ordinary", here(path, &title, &prose(path, 150 + at * 20))),
        3 => (
            "ordinary",
            here(path, "Why 404 pages say \"not found\"", &prose(path, 220)),
        ),
        4 => ("thin", here(path, &title, &format!("Stub {at}."))),
        5 => (
            "thin",
            here(
                path,
                site,
                &format!(
                    "Item {at} costs {} and weighs {} grams, of {} leather, made in {}.",
                    at * 17,
                    at * 331,
                    prose(path, 2),
                    prose(path, 2)
                ),
            ),
        ),
        6 => (
            "thin",
            Said {
                landed: path.to_owned(),
                body: "<title>App</title><div id=root></div><script src=/app.js></script>"
                    .to_owned(),
            },
        ),
        _ => (
            "ordinary",
            Said {
                landed: format!("{path}/index.html"),
                body: here("", &title, &prose(path, 140)).body,
            },
        ),
    }
}

fn facts(path: &str, said: &Said) -> PageFacts {
    let url = |path: &str| Url::parse(&format!("http://site.example{path}")).unwrap();
    let landed = url(&said.landed);
    let input = PageInput {
        url: &landed,
        content_type: None,
        body: said.body.as_bytes(),
        agent: "turnstone",
    };
    let page = read_page(input, &PageLimits::default());
    PageFacts::of_page(&url(path), &landed, 200, &page)
}

#[test]
fn soft_404_are_told_from_ordinary_and_thin_pages() {
    // By label: said to be soft 404, all.
    let mut counts: BTreeMap<&str, [u32; 2]> = BTreeMap::new();
    let mut probes = 0;
    for site in SITES {
        for manner in 0..8 {
            let mut host = HostEvidence::default();
            let mut judged = |path: &str, said: &Said| {
                let facts = facts(path, said);
                host.add_page(&facts);
                loop {
                    match judge(&facts, &host, 100, 77, &SoftOptions::default()) {
                        Verdict::Probe { url, directory } => {
                            probes += 1;
                            let answer = missing(site, manner, url.path());
                            let mut seen = self::facts(url.path(), &answer);
                            seen.requested = url;
                            host.add_probe(&directory, seen, 100);
                        }
                        verdict => return matches!(verdict, Verdict::SoftGone(_)),
                    }
                }
            };
            for at in 0..8 {
                let path = format!("/dir/page-{manner}-{at}");
                let (label, said) = there(site, at, &path);
                let count = counts.entry(label).or_default();
                count[0] += u32::from(judged(&path, &said));
                count[1] += 1;
            }
            for at in 0..4 {
                let path = format!("/dir/lost-{manner}-{at}");
                let count = counts.entry("soft-404").or_default();
                count[0] += u32::from(judged(&path, &missing(site, manner, &path)));
                count[1] += 1;
            }
        }
    }
    let [found, gone] = counts["soft-404"];
    let wrong: u32 = ["ordinary", "thin"]
        .iter()
        .map(|label| counts[label][0])
        .sum();
    let share = |part: u32, of: u32| f64::from(part) * 100.0 / f64::from(of);
    let mut table = format!(
        "{:<10} {gone:>4} {:>6.1} {:>6.1}\n",
        "soft-404",
        share(found, found + wrong),
        share(found, gone)
    );
    let all: u32 = counts.values().map(|[_, all]| all).sum();
    for label in ["ordinary", "thin"] {
        let [lost, of] = counts[label];
        // What is not said to be gone is said to be a page.
        let pages = all - found - wrong;
        let right: u32 = ["ordinary", "thin"]
            .iter()
            .map(|it| counts[it][1] - counts[it][0])
            .sum();
        table += &format!(
            "{label:<10} {of:>4} {:>6.1} {:>6.1}\n",
            share(right, pages),
            share(of - lost, of)
        );
    }
    table += &format!("{all} pages, {probes} random names\n");
    assert!(all >= 200);
    expect![[r#"
        soft-404    224  100.0   87.5
        ordinary    280   94.1  100.0
        thin        168   94.1  100.0
        672 pages, 56 random names
    "#]]
    .assert_eq(&table);
}
