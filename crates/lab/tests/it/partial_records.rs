//! A crawl directory as a recorded web: what it does not know is unknown, counted, and never
//! guessed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use turnstone_frontier::{Change, Fault, PageId, Politeness, Tick};
use turnstone_lab::backtest::changes::{
    Calendar, Compare, Pace, Question, Since, SiteStore, try_policy,
};
use turnstone_lab::backtest::discovery::{Plan, Summary, run_site};
use turnstone_lab::backtest::liveness as alive;
use turnstone_lab::crawled::WHOLE_SITE;
use turnstone_lab::history::{History, Known};
use turnstone_lab::web::{From, OldWeb, OldWebError, RecordedSite, Times, Words};
use turnstone_linkgraph::rank::{GraphRank, PageRank};
use turnstone_pagestore::{Entry, Facts, Links, NewPage, Outcome, Position, Settled, Store};
use turnstone_policy::discovery::Discovery;
use turnstone_policy::liveness::{Confidence, OldCrawl, Sample, SampleBy};

const DAY_MS: u64 = 86_400_000;

/// A crawl written from a little language, an item a word: `|` begins a round, `a1` fetches page a
/// with content 1, `a1>bc` with links to b and c, `a-` finds it gone, `a!` only finds it alive, and
/// `a1~8` is fetched having been drawn with chance 1/8.
fn crawl(folder: &Path, words: &str) -> PathBuf {
    let directory = folder.join("c");
    let mut store = Store::create(&directory, "a test").unwrap();
    let session = |wall_ms, policy| Entry::Session {
        wall_ms,
        boot: "",
        boot_ms: 0,
        delay_ms: 0,
        open_max: 1,
        policy,
    };
    store.append(Tick(0), &session(DAY_MS, "p"));
    let (mut day, mut round) = (1, 0);
    for word in words.split_whitespace() {
        let tick = Tick((day - 1) * DAY_MS);
        if word == "|" {
            day += 1;
            let (question, budget) = ("refresh", 1);
            store.append(Tick((day - 1) * DAY_MS), &session(day * DAY_MS, "refresh"));
            let entry = Entry::Round {
                question,
                round,
                budget,
            };
            store.append(Tick((day - 1) * DAY_MS), &entry);
            round += 1;
            continue;
        }
        let (word, chance) = match word.split_once('~') {
            Some((word, of)) => (word, u32::MAX / of.parse::<u32>().unwrap() + 1),
            None => (word, 0),
        };
        let (what, links) = word.split_once('>').unwrap_or((word, ""));
        let mut links: Vec<PageId> = links.chars().map(|name| page(&mut store, name)).collect();
        links.dedup();
        let name = what.chars().next().unwrap();
        let page = page(&mut store, name);
        let mut facts = Facts {
            class: "ok".to_owned(),
            status: 200,
            requests: 1,
            wall_ms: day * DAY_MS,
            chance,
            ..Facts::default()
        };
        let settled = match &what[name.len_utf8()..] {
            "-" => Settled::Failed(Fault::Gone),
            "!" => {
                facts.class = "alive".to_owned();
                facts.text_hash = store.copy(page).unwrap().unwrap().text_hash;
                Settled::Fetched(Change::Unchanged)
            }
            content => {
                facts.text_hash = content.parse().unwrap();
                Settled::Fetched(Change::Changed)
            }
        };
        let outcome = Outcome {
            page,
            settled,
            links: Links::Ids(&links),
            before: Position::default(),
            facts,
        };
        store.settle(tick, outcome);
    }
    store.write().unwrap();
    directory
}

fn page(store: &mut Store, name: char) -> PageId {
    let url = format!("http://site.example/{name}");
    let key = store.keyer().key(&url);
    if let Some(page) = store.index().find(key) {
        return page;
    }
    let host = store.host(Tick(0), "site.example");
    let new = NewPage {
        key,
        url: &url,
        host,
        seed: false,
        outside: false,
        listed: false,
        depth: 1,
        refused: ("", ""),
        metadata: &[],
    };
    store.add(Tick(0), new)
}

fn only_site(directory: &Path) -> History {
    let sites = RecordedSite::all(directory).unwrap();
    assert_eq!(sites.len(), 1);
    sites[0].read(Words::Skip).unwrap()
}

/// By snapshot, what is known of each page: `s` seen, `b` bracketed, `?` unknown.
fn known(history: &History) -> String {
    let mut walk = history.walk();
    let mut lines = Vec::new();
    for snapshot in 0..history.snapshots.len() {
        walk.step();
        let letter = |page| match history.known(page, snapshot, walk.version(page), &|a, b| a == b)
        {
            Known::Seen(_) => 's',
            Known::Bracketed => 'b',
            Known::Unknown => '?',
        };
        let pages = (0..history.page_count()).map(PageId::from_index);
        lines.push(pages.map(letter).collect::<String>());
    }
    lines.join(" ")
}

fn check(words: &str, expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let directory = crawl(folder.path(), words);
    assert_eq!(known(&only_site(&directory)), expected, "{words}");
}

#[test]
fn a_round_knows_what_it_fetched_and_what_was_the_same_before_and_after() {
    check("a1 b1 c1 | a2 | b1 | c2", "sss sb? ?s? ??s");
    // Found alive is not looked at.
    check("a1 | a! | a1", "s b s");
    check("a1 b1 | a- | a- b1", "ss sb ss");
    // The last word of a round counts.
    check("a1 | a2 a3 | a3", "s s s");
}

#[test]
fn pages_are_numbered_as_they_were_first_fetched() {
    let folder = tempfile::tempdir().unwrap();
    // b is known before a is, and fetched after it.
    let directory = crawl(folder.path(), "c1>ba a1 b1");
    let history = only_site(&directory);
    let urls: Vec<&str> = history.pages.iter().map(|page| page.url.as_str()).collect();
    assert_eq!(urls, ["/c", "/a", "/b"]);
}

#[test]
fn a_note_that_the_whole_site_was_seen_leaves_nothing_open() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("c");
    let mut store = Store::create(&directory, "a test").unwrap();
    let session = Entry::Session {
        wall_ms: DAY_MS,
        boot: "",
        boot_ms: 0,
        delay_ms: 0,
        open_max: 1,
        policy: "import",
    };
    store.append(Tick(0), &session);
    let (a, b) = (page(&mut store, 'a'), page(&mut store, 'b'));
    let settle = |store: &mut Store, page, text_hash, day| {
        let outcome = Outcome {
            page,
            settled: Settled::Fetched(Change::New),
            links: Links::Ids(&[]),
            before: Position::default(),
            facts: Facts {
                text_hash,
                wall_ms: day * DAY_MS,
                ..Facts::default()
            },
        };
        store.settle(Tick((day - 1) * DAY_MS), outcome);
    };
    let note = |store: &mut Store, day: u64, snapshot: u64| {
        let bytes =
            format!("{{\"site\":\"http://site.example/\",\"day\":{day},\"snapshot\":{snapshot}}}");
        let entry = Entry::Note {
            kind: WHOLE_SITE,
            bytes: bytes.as_bytes(),
        };
        store.append(Tick((day - 1) * DAY_MS), &entry);
    };
    note(&mut store, 1, 0);
    settle(&mut store, a, 1, 1);
    settle(&mut store, b, 1, 1);
    note(&mut store, 8, 1);
    settle(&mut store, a, 2, 8);
    // Said again by an import that went on, and a snapshot in which nothing changed.
    note(&mut store, 8, 1);
    note(&mut store, 15, 2);
    store.write().unwrap();
    drop(store);
    let history = only_site(&directory);
    assert_eq!(known(&history), "ss ss ss");
    let dates: Vec<String> = history.dates.iter().map(ToString::to_string).collect();
    assert_eq!(dates, ["1970-01-02", "1970-01-09", "1970-01-16"]);
}

fn store(directory: &Path) -> SiteStore {
    let calendar = Calendar {
        cycles: 100,
        pace: Pace::Snapshots,
        compare: Compare::Text,
        grow: false,
    };
    let sites = RecordedSite::all(directory).unwrap();
    SiteStore::read(&sites, calendar, &mut |_| {}).unwrap()
}

#[test]
fn changes_are_measured_on_the_answers_and_bounded_by_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let directory = crawl(folder.path(), "a1 b1 c1 d1 | a2 b1 | c2 b1");
    let store = store(&directory);
    assert_eq!((store.cycles(), store.has_unknown()), (2, true));
    // Cycle 1: a and b were fetched. Cycle 2: b and c were; d never again.
    assert_eq!(store.known_share(), (4, 8));
    let question = Question {
        store: &store,
        budget: 4,
        since: Since::Copy,
        seeds: (1, 2),
    };
    let outcome = try_policy(&question, &"rns".parse().unwrap(), &mut |_, _| {}).unwrap();
    let doubt = outcome.doubt.unwrap();
    assert_eq!(outcome.unknown, 4.0);
    assert_eq!(doubt.unknown_share, 0.5);
    // One of two in each cycle; at worst two of eight, at best six.
    assert_eq!(outcome.mean_change_ratio, 0.5);
    assert_eq!(
        (doubt.change_ratio_low, doubt.change_ratio_high),
        (0.25, 0.75)
    );
    assert_eq!(outcome.mean_freshness, 1.0);
    assert_eq!((doubt.freshness_low, doubt.freshness_high), (0.5, 1.0));
    // Nothing was drawn by chance.
    assert_eq!(
        (doubt.change_ratio_weighted, doubt.effective_looks),
        (None, None)
    );
}

#[test]
fn looks_by_chance_stand_for_the_pages_they_could_have_been() {
    // 40 pages that always change and were certain to be fetched; 40 more, drawn with chance 1/8,
    // that never do.
    let mut words = String::new();
    let letters: Vec<char> = ('\u{100}'..).take(80).collect();
    letters
        .iter()
        .for_each(|name| words += &format!("{name}1 "));
    words += "| ";
    letters[..40]
        .iter()
        .for_each(|name| words += &format!("{name}2 "));
    letters[40..]
        .iter()
        .for_each(|name| words += &format!("{name}1~8 "));
    let folder = tempfile::tempdir().unwrap();
    let directory = crawl(folder.path(), &words);
    let store = store(&directory);
    let question = Question {
        store: &store,
        budget: 80,
        since: Since::Copy,
        seeds: (1, 1),
    };
    let outcome = try_policy(&question, &"rns".parse().unwrap(), &mut |_, _| {}).unwrap();
    assert_eq!((outcome.mean_change_ratio, outcome.doubt), (0.5, None));
    // One page is left out, so that there is something unknown.
    let words = words.replacen(&format!("{}1~8 ", letters[79]), "", 1);
    let folder = tempfile::tempdir().unwrap();
    let directory = crawl(folder.path(), &words);
    let store = self::store(&directory);
    let question = Question {
        store: &store,
        ..question
    };
    let outcome = try_policy(&question, &"rns".parse().unwrap(), &mut |_, _| {}).unwrap();
    let doubt = outcome.doubt.unwrap();
    // 40 of 40 + 39 · 8.
    let expected = 40.0 / (40.0 + 39.0 * 8.0);
    assert!(
        (doubt.change_ratio_weighted.unwrap() - expected).abs() < 1e-6,
        "{doubt:?}"
    );
    let (sum, squares) = (40.0 + 39.0 * 8.0, 40.0 + 39.0 * 64.0);
    let effective: f64 = sum * sum / squares;
    assert!(
        (doubt.effective_looks.unwrap() - effective).abs() < 1e-3,
        "{doubt:?}"
    );
}

#[test]
fn liveness_costs_are_those_of_known_fates_between_what_others_could_be() {
    let folder = tempfile::tempdir().unwrap();
    let directory = crawl(folder.path(), "a1 b1 c1 d1 | a1 b- | c!");
    let times = Times {
        from: From::Snapshot(0),
        to: None,
    };
    let web = OldWeb::of_histories(&directory, times).unwrap();
    assert_eq!(web.alive, [true, false, true, false]);
    assert_eq!(web.unknown, [false, false, false, true]);
    let earlier = Times {
        to: Some(1),
        ..times
    };
    let web_then = OldWeb::of_histories(&directory, earlier).unwrap();
    assert_eq!(web_then.unknown, [false, false, true, true]);
    let ranks = GraphRank::new(web.graph(), PageRank::default());
    let question = alive::Question {
        web: &web,
        old: Arc::new(OldCrawl::new(Arc::new(ranks))),
        sample: Sample {
            by: SampleBy::Random,
            size: 1,
        },
        confidence: Confidence::new(0.95).unwrap(),
        enough: None,
        politeness: Politeness::OFF,
        open: 1,
    };
    // Without links all pages rank alike, so they are asked for in order: a b c d.
    let spec = "indegree".parse().unwrap();
    let outcome = alive::run(&question, &spec, &[1], &mut |_, _| {}).unwrap();
    assert_eq!((outcome.alive, outcome.unknown), (2, 1));
    let all = outcome.curve.last().unwrap();
    let doubt = all.doubt.unwrap();
    // Three known requests for two alive pages; d would be one more, alive or gone, after them.
    assert_eq!((all.cost, doubt.cost_if_gone), (1.5, 1.5));
    assert!((doubt.cost_if_alive - 4.0 / 3.0).abs() < 1e-12);
    assert_eq!(doubt.unknown, 0.0);
}

#[test]
fn a_crawl_of_one_round_knows_no_fate() {
    let folder = tempfile::tempdir().unwrap();
    let directory = crawl(folder.path(), "a1 b1");
    let times = Times {
        from: From::All,
        to: None,
    };
    let error = OldWeb::of_histories(&directory, times).unwrap_err();
    assert!(matches!(error, OldWebError::NothingKnown { .. }), "{error}");
}

#[test]
fn discovery_counts_what_the_record_cannot_answer() {
    // Round 1: a led to the new page x; round 2: b to y. Who asks for the other knows nothing.
    let folder = tempfile::tempdir().unwrap();
    let directory = crawl(folder.path(), "a1 b1 c1 | a2>x x1 | b2>y y1 | a2>x b2>y");
    let history = only_site(&directory);
    let plan = Plan {
        policies: vec!["bandit".parse().unwrap()],
        budgets: vec![10],
        learners_at: vec![10],
        periods: vec![1],
        question: Discovery::default(),
    };
    let mut summary = Summary::new(&plan);
    summary.add(&run_site(history, &plan));
    let rows = summary.rows(1);
    let bandit = rows.iter().find(|row| row.policy == "bandit").unwrap();
    // All known pages are asked for: of a b c only a is known in round 1; of a b c x, in round 2,
    // a by its fetches before and after, b, and not c nor x.
    assert_eq!((bandit.cases, bandit.found, bandit.new), (2, 2, 2));
    assert_eq!((bandit.fetched, bandit.unknown), (3, 4));
    let doubt = bandit.doubt.unwrap();
    assert_eq!(doubt.coverage_high, Some(1.0));
    assert_eq!(
        (doubt.overhead_low, doubt.overhead_high),
        (Some(3.5), Some(3.5))
    );
    assert_eq!(summary.recrawls, 0);
}
