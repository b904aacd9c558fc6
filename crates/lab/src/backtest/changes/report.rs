//! What `backtest changes` is asked with, and the document it answers with.

use serde::{Serialize, Serializer};
use turnstone_policy::{Question as Asked, Spec, SpecError, changes};

use super::{Calendar, Compare, Measures, Outcome, Pace, Question, Since, SiteStore};
use super::{bound, try_policy};
use crate::backtest::Watch;
use crate::run::{Backtest, RunError, Trial, all};
use crate::web::{Half, RecordedSite, RecordedWeb};

/// How far the paper's figure 5 reaches.
const REACHES: [i32; 15] = [-6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8];

/// One sampling policy with every trigger.
const TRIGGERS: [&str; 6] = [
    "directory-neighbours:d=1,trigger=always",
    "directory-neighbours:d=1,trigger=pagerank",
    "directory-neighbours:d=1,trigger=history",
    "directory-neighbours:d=1,trigger=history,cycles=observed",
    "directory-neighbours:d=1,trigger=weighted-history",
    "directory-neighbours:d=1,trigger=weighted-history,cycles=observed",
];

/// How long a cycle is, if nothing is said.
const WEEKS: u32 = 2;

/// Fetches a cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// So many.
    Pages(u64),
    /// A share of the pages at the start, at least one page.
    Share(f64),
}

impl Budget {
    /// How many that is.
    pub fn pages(self, store: usize) -> u64 {
        match self {
            Self::Pages(pages) => pages,
            Self::Share(share) => ((share * store as f64).round() as u64).max(1),
        }
    }
}

/// What is fetched again, how often, and what counts as a change.
#[derive(Clone, Debug)]
pub struct Options {
    /// Fetches a cycle; each is tried.
    pub budgets: Vec<Budget>,
    /// How long a cycle is; of a crawl directory a round if none is told, else two weeks.
    pub cycle_weeks: Option<u32>,
    /// How many cycles at most.
    pub cycles: u32,
    /// What counts as the content of a page.
    pub compare: Compare,
    /// Compared with what a page counts as changed.
    pub since: Since,
    /// Whether pages born later join.
    pub grow: bool,
    /// Only every other site in order of name.
    pub half: Option<Half>,
    /// The first seed.
    pub seed: u64,
    /// How many.
    pub seeds: u64,
}

/// What was found to have changed.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "backtest-changes.json of docs/schema tells")]
pub struct Report {
    pub question: &'static str,
    pub web: String,
    pub sites: usize,
    pub pages: usize,
    pub pages_at_end: usize,
    pub links: u64,
    pub seed: u64,
    pub seeds: u64,
    pub cycles: u32,
    /// None where a cycle is a round.
    pub cycle_weeks: Option<u32>,
    pub known_page_cycles: u64,
    pub page_cycles: u64,
    pub compare: Compare,
    pub since: Since,
    #[serde(skip)]
    pub grow: bool,
    /// By budget, then by policy.
    pub results: Vec<Tried>,
}

/// A policy beside the bound.
#[derive(Clone, Debug, Serialize)]
pub struct Tried {
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What nobody can beat with this budget; none where not all is known.
    #[serde(flatten, serialize_with = "as_bound")]
    pub bound: Option<Measures>,
}

fn as_bound<S: Serializer>(bound: &Option<Measures>, out: S) -> Result<S::Ok, S::Error> {
    out.collect_map([
        ("bound_change_ratio", bound.map(|it| it.change_ratio)),
        (
            "bound_weighted_change_ratio",
            bound.map(|it| it.weighted_change_ratio),
        ),
        ("bound_freshness", bound.map(|it| it.freshness)),
        (
            "bound_weighted_freshness",
            bound.map(|it| it.weighted_freshness),
        ),
    ])
}

/// As `backtest changes` asks when nothing is said.
impl Default for Options {
    fn default() -> Self {
        Self {
            budgets: vec![Budget::Share(0.02)],
            cycle_weeks: None,
            cycles: 24,
            compare: Compare::Text,
            since: Since::Copy,
            grow: false,
            half: None,
            seed: 1,
            seeds: 5,
        }
    }
}

impl Backtest for Options {
    type Report = Report;

    fn check(&self, spec: &Spec) -> Result<(), SpecError> {
        changes::check(spec)
    }

    fn preset(word: &str) -> Option<String> {
        match word {
            "all" => {
                let ours = ["interval:step=0.5", "crawl-value:weight=pagerank"];
                Some(all(Asked::Changes, &[&TRIGGERS[..], &ours[..]].concat()))
            }
            "figures" => Some(figures()),
            _ => None,
        }
    }

    fn ask(&self, Trial { web, specs, watch }: Trial<'_>) -> Result<Report, RunError> {
        let store = self.read(web, watch)?;
        let mut results = Vec::new();
        for budget in &self.budgets {
            let budget = budget.pages(store.first_pages());
            // What is best cannot be told where not all is known.
            let bound = (!store.has_unknown()).then(|| bound(&store, budget, self.since));
            let question = Question {
                store: &store,
                budget,
                since: self.since,
                seeds: (self.seed, self.seeds),
            };
            for spec in specs {
                let outcome = try_policy(&question, spec, watch)?;
                results.push(Tried { outcome, bound });
            }
        }
        let (known_page_cycles, page_cycles) = store.known_share();
        Ok(Report {
            question: "changes",
            web: web.name(),
            sites: store.sites.len(),
            pages: store.first_pages(),
            pages_at_end: store.page_count(),
            links: store.link_count(),
            seed: self.seed,
            seeds: self.seeds,
            cycles: store.cycles(),
            cycle_weeks: match store.pace() {
                Pace::Weeks(weeks) => Some(weeks),
                Pace::Snapshots => None,
            },
            known_page_cycles,
            page_cycles,
            compare: self.compare,
            since: self.since,
            grow: self.grow,
            results,
        })
    }
}

impl Options {
    fn read(&self, web: &RecordedWeb, watch: Watch<'_>) -> Result<SiteStore, RunError> {
        watch("reading", 0.0);
        let mut sites = web.sites()?;
        sites.sort_by_key(RecordedSite::name);
        sites.dedup_by_key(|site| site.name());
        let sites = Half::of(self.half, sites);
        let crawled = sites.iter().any(RecordedSite::is_crawled);
        let calendar = Calendar {
            cycles: self.cycles,
            pace: match self.cycle_weeks {
                None if crawled => Pace::Snapshots,
                weeks => Pace::Weeks(weeks.unwrap_or(WEEKS)),
            },
            compare: self.compare,
            grow: self.grow,
        };
        let store = SiteStore::read(&sites, calendar, &mut |share| watch("reading", share))?;
        if store.first_pages() == 0 {
            return Err(RunError::wrong(
                "web",
                "no site has a page in its first snapshot",
            ));
        }
        if store.cycles() == 0 {
            let what = "the crawl has one round only, so nothing is known of changes; fetch some \
                        pages again with `turnstone refresh`";
            return Err(RunError::wrong("web", what));
        }
        Ok(store)
    }
}

/// Every distance of figures 5 and 7, the policies of 6, the triggers of 8 and 9, and ours.
fn figures() -> String {
    let mut specs: Vec<String> = ["rns", "round-robin", "gsb"].map(str::to_owned).to_vec();
    for reach in REACHES {
        specs.push(format!("directory-neighbours:d={reach}"));
        specs.push(format!("link-neighbours:d={reach}"));
        if reach >= 0 {
            specs.push(format!("cluster-neighbours:d={reach}"));
        }
    }
    specs.extend(TRIGGERS.map(str::to_owned));
    specs.push("cohorts".to_owned());
    specs.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_can_be_built() {
        let counts = ["all", "figures"].map(|word| {
            let list = Options::preset(word).unwrap();
            let specs = Spec::parse_list(&list).unwrap();
            specs.iter().try_for_each(changes::check).unwrap();
            specs.len()
        });
        assert_eq!(counts, [19, 49]);
        assert_eq!(Options::preset("cohorts"), None);
    }

    #[test]
    fn a_share_of_a_small_store_is_a_page() {
        assert_eq!(Budget::Share(0.005).pages(1000), 5);
        assert_eq!(Budget::Share(0.00001).pages(10), 1);
    }
}
