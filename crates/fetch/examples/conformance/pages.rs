//! Traps and soft 404: whole behaviours, played through as a crawler would.

use std::collections::HashSet;

use serde_json::Value;
use turnstone_fetch::html::{PageInput, PageLimits, read_page};
use turnstone_fetch::soft404::{HostEvidence, PageFacts, SoftOptions, Verdict, judge};
use turnstone_fetch::traps::{TrapOptions, judge as judge_url};
use url::Url;

use crate::report::{Error, Report, field, items};

/// 2026-11-15: the calendar vectors are made for that year.
const NOW_S: u64 = 1_794_700_800;

pub(crate) fn run(report: &mut Report) -> Result<(), Error> {
    traps(report)?;
    soft404(report)
}

fn traps(report: &mut Report) -> Result<(), Error> {
    let vectors = report.json("traps/urls.json")?;
    report.suite("traps/urls.json");
    for vector in items(&vectors) {
        let url = Url::parse(field(vector, "url")).expect("the set's own URLs parse");
        let found = judge_url(&url, NOW_S, &TrapOptions::default());
        let ours = found.map_or("ok", |f| f.class.name());
        let expected = field(vector, "label").trim_end_matches("-after-normalise");
        report.vector(ours == expected, || {
            format!(
                "{} {url}: {found:?}, should be {expected}",
                field(vector, "id")
            )
        });
    }
    Ok(())
}

/// A site of the set, answering.
struct Site<'a> {
    spec: &'a Value,
    random: u64,
}

impl Site<'_> {
    /// Fetches a path, following redirects.
    fn fetch(&mut self, path: &str) -> PageFacts {
        let host = field(self.spec, "host");
        let at =
            |path: &str| Url::parse(&format!("http://{host}{path}")).expect("a path of the set");
        let requested = at(path);
        let mut here = requested.clone();
        for _ in 0..5 {
            let known = self.spec["pages"].get(here.path());
            let answer = known.unwrap_or(&self.spec["default"]);
            let path = here.path().to_owned();
            let status = answer["status"]
                .as_u64()
                .and_then(|s| u16::try_from(s).ok())
                .unwrap_or(500);
            if let Some(location) = answer.get("location").and_then(Value::as_str) {
                here = at(&location.replace("{path}", &path));
                continue;
            }
            let body = self.fill(field(answer, "body"), &path);
            let input = PageInput {
                url: &here,
                content_type: Some("text/html; charset=utf-8"),
                body: body.as_bytes(),
                agent: "turnstone",
            };
            return PageFacts::of_page(
                &requested,
                &here,
                status,
                &read_page(input, &PageLimits::default()),
            );
        }
        PageFacts::of_status(&requested, &here, 500)
    }

    fn fill(&mut self, body: &str, path: &str) -> String {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let long = || {
            // 200 words of a small vocabulary: as hard to tell apart as the set's own pages.
            const WORDS: [&str; 32] = [
                "amber", "birch", "cedar", "delta", "eagle", "flint", "grove", "hazel", "iris",
                "jade", "kelp", "lilac", "maple", "north", "ocean", "pearl", "quail", "raven",
                "slate", "tulip", "ultra", "vivid", "wheat", "xenon", "yield", "zebra", "alder",
                "basil", "coral", "drake", "elder", "frost",
            ];
            let mut state = path
                .bytes()
                .fold(7u64, |h, b| h.wrapping_mul(31).wrapping_add(u64::from(b)));
            let mut words = Vec::new();
            for _ in 0..200 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                words.push(WORDS[(state >> 59) as usize]);
            }
            words.join(" ")
        };
        body.replace("{path}", path)
            .replace("{rand}", &format!("{:016x}", self.random))
            .replace("{long}", &long())
    }
}

fn soft404(report: &mut Report) -> Result<(), Error> {
    let sites = report.json("soft404/sites.json")?;
    report.suite("soft404/sites.json");
    let (mut dead, mut caught, mut real_called_gone, mut probes, mut directories) =
        (0, 0, 0, 0, HashSet::new());
    for spec in items(&sites) {
        let mut site = Site { spec, random: 1 };
        let mut host = HostEvidence::default();
        let pages = spec["pages"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(path, page)| (path.as_str(), field(page, "label")));
        let dead_paths = spec["dead_paths"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(path, label)| (path.as_str(), label.as_str().unwrap_or("")));
        for (path, label) in pages.chain(dead_paths) {
            let facts = site.fetch(path);
            host.add_page(&facts);
            let verdict = loop {
                match judge(&facts, &host, NOW_S, site.random, &SoftOptions::default()) {
                    Verdict::Probe { url, directory } => {
                        probes += 1;
                        directories.insert(directory.clone());
                        host.add_probe(&directory, site.fetch(url.path()), NOW_S);
                    }
                    verdict => break verdict,
                }
            };
            let word = match &verdict {
                Verdict::Alive(_) => "alive",
                Verdict::HardGone(_) => "hard",
                Verdict::SoftGone(_) => "soft",
                Verdict::Unknown(_) | Verdict::Probe { .. } => "unknown",
            };
            let same = match label {
                "real" | "real-generated" => {
                    real_called_gone += usize::from(matches!(word, "hard" | "soft"));
                    word == "alive"
                }
                "soft404" => {
                    dead += 1;
                    caught += usize::from(word == "soft");
                    word == "soft"
                }
                "hard404" => word == "hard",
                _ => word == "unknown",
            };
            report.vector(same, || {
                format!(
                    "{}{path} is {label}, we say {verdict:?}",
                    field(spec, "host")
                )
            });
        }
    }
    report.note(format!("recall {caught}/{dead}, real called gone {real_called_gone}, {probes} probes in {} directories", directories.len()));
    Ok(())
}
