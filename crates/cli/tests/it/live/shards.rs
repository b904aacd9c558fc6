//! A crawl cut into shards by `crawl --shards N`: what it stores, proves and asks is what a crawl in one piece
//! does, over kill -9 at any moment, also where hosts of several shards are at one address.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use turnstone_cluster::shard::Cut;
use turnstone_fetch::Url;
use turnstone_frontier::{Coverage, PageId, Policy};
use turnstone_lab::serve::{Handle, Naming, Options, Politeness, RobotsCheck, Web, start};
use turnstone_ledger::{Ledger, Terms};
use turnstone_pagestore::{Entry, PageState, Position, Store};
use turnstone_policy::coverage::{self, Goal, Trust};
use turnstone_policy::mass::Fraction;

use super::audit;
use super::crawler::Crawler;
use super::dice::Dice;
use super::town::{Plan, Town};
use crate::run::turnstone;

const TOWN: Plan = Plan {
    hosts: 6,
    pages: 24,
    delay_ms: 25,
    scale: 100,
    faults: true,
};
/// Until nothing is left.
const ALL: &str = "--until pages=100000";

fn folder(crawler: &Crawler, shard: u32) -> PathBuf {
    crawler.directory().join(format!("shards/{shard}"))
}

/// Whether the hosts of a town fell into more than one shard: a secret decides, drawn for each crawl.
fn is_cut(crawler: &Crawler, shards: u32, hosts: u32, origin: impl Fn(usize) -> String) -> bool {
    let store = Store::look(&folder(crawler, 0)).unwrap();
    let cut = Cut::new(store.secret(), shards);
    let shard = |host: usize| {
        let url = Url::parse(&origin(host)).unwrap();
        cut.shard_of(turnstone_fetch::urls::site_of(&url))
    };
    let used: BTreeSet<u32> = (0..hosts as usize).map(|host| shard(host).0).collect();
    used.len() > 1
}

/// Every page that some shard has, each once; and what all prove, reckoned from the journals alone.
fn look(crawler: &Crawler, shards: u32) -> (audit::Pages, Coverage, u64) {
    let (mut pages, mut masses, mut requests) = (audit::Pages::new(), Vec::new(), 0);
    for shard in 0..shards {
        let store = Store::look(&folder(crawler, shard)).unwrap();
        requests += store.index().tally().requests;
        for (url, state) in audit::pages(&store) {
            if state != PageState::Away {
                let twice = pages.insert(url.clone(), state);
                assert_eq!(twice, None, "{url} is of two shards");
            }
        }
        let terms = Terms::read(store.index().plan().unwrap()).unwrap();
        let folded = Ledger::replay(&store, &terms, policy()).unwrap();
        masses.push(folded.scheduler.shard().unwrap().masses());
    }
    let total: i128 = masses.iter().map(|masses| masses.total()).sum();
    assert_eq!(
        total,
        i128::from(Coverage::ONE),
        "mass is conserved to the last bit"
    );
    assert!(masses.iter().all(|masses| masses.balanced()));
    (pages, Coverage::of_shards(masses, 0), requests)
}

/// That of a crawl without a goal.
fn policy() -> Box<dyn Policy> {
    let trust = Trust::alike([PageId(0)]).unwrap();
    let goal = Goal {
        epsilon: Fraction::new(1e-6).unwrap(),
        ..Goal::default()
    };
    coverage::build(&"rankmass".parse().unwrap(), &trust, goal).unwrap()
}

/// URLs without the port, which differs from town to town.
fn relative(town: &Town, pages: audit::Pages) -> audit::Pages {
    let port = format!(":{}", town.server.port());
    let pages = pages.into_iter();
    pages
        .map(|(url, state)| (url.replace(&port, ""), state))
        .collect()
}

/// What the binary makes of the town in one piece.
fn whole() -> audit::Pages {
    let town = Town::open(TOWN);
    let crawler = Crawler::new(&format!("{} {ALL}", town.arguments()));
    crawler.finish();
    let store = Store::look(&crawler.directory()).unwrap();
    relative(&town, audit::pages(&store))
}

/// Kills a crawl at random moments.
fn disturb(crawler: &Crawler, dice: &mut Dice, kills: u64) {
    for _ in 0..kills {
        let running = crawler.start();
        std::thread::sleep(Duration::from_millis(5 + dice.below(400)));
        running.kill();
    }
}

#[test]
fn shards_store_and_prove_what_a_whole_crawl_does_over_kills() {
    let whole = whole();
    for (shards, kills) in [(2, 0), (2, 12), (3, 8)] {
        let town = Town::open(TOWN);
        let crawler = Crawler::new(&format!("{} {ALL} --shards {shards}", town.arguments()));
        disturb(&crawler, &mut Dice(u64::from(shards) * 100 + kills), kills);
        crawler.finish();
        let what = format!("{shards} shards, {kills} kills");
        town.assert_polite(&what);
        let (pages, coverage, _) = look(&crawler, shards);
        // What is negligible to each shard adds up.
        assert!(
            coverage.guaranteed_fraction() > 1.0 - 1e-5,
            "{what}: {coverage:?}"
        );
        assert_eq!(relative(&town, pages), whole, "{what}");
        let cut = is_cut(&crawler, shards, TOWN.hosts, |host| {
            town.server.origin(host).to_owned()
        });
        assert_eq!(crossed(&crawler, shards) > 0, cut, "{what}");
        for shard in 0..shards {
            audit::check(&folder(&crawler, shard));
        }
    }
}

/// How many transfers were taken in.
fn crossed(crawler: &Crawler, shards: u32) -> usize {
    let mut count = 0;
    for shard in 0..shards {
        let store = Store::look(&folder(crawler, shard)).unwrap();
        let mut scan = store.scan(Position::FIRST);
        while let Some((_, _, entry)) = scan.next().unwrap() {
            count += usize::from(matches!(entry, Entry::Received { .. }));
        }
    }
    count
}

/// The summary of the last process: one that was to be killed may have ended before, and left one too.
fn last_said(crawler: &Crawler) -> serde_json::Value {
    let printed = crawler.printed();
    let said = serde_json::Deserializer::from_str(&printed).into_iter();
    said.last().unwrap().unwrap()
}

#[test]
fn the_goal_and_budgets_are_those_of_all_shards() {
    let town = Town::open(TOWN);
    let until = "--until requests=40 --json --shards 3";
    let crawler = Crawler::new(&format!("{} {until}", town.arguments()));
    disturb(&crawler, &mut Dice(7), 3);
    crawler.finish();
    let said = last_said(&crawler);
    assert_eq!(said["stopped_by"], "requests");
    assert_eq!(said["requests"], 40);
    let (_, coverage, requests) = look(&crawler, 3);
    assert!(coverage.guaranteed_fraction() < 1.0 - 1e-5);
    assert_eq!(requests, 40, "the budget is spent and not passed");
    assert!(town.server.requests().len() <= 40);
    town.assert_polite("budget");

    let until = "--until coverage=0.6 --json --shards 3";
    let crawler = Crawler::new(&format!("{} {until}", town.arguments()));
    crawler.finish();
    let said = last_said(&crawler);
    assert_eq!(said["stopped_by"], "coverage");
    assert!(said["guaranteed"].as_f64().unwrap() >= 0.6, "{said}");
    assert!(
        said["waiting"].as_u64().unwrap() > 0,
        "it stopped before all was there"
    );
}

/// So many that some fall into different shards, whatever the secret.
pub(super) const SITES: u32 = 12;

/// A small web of several sites whose names all lead to one address, and a file that says so.
pub(super) fn one_address(folder: &Path) -> Handle {
    let web = Web::custom(SITES, |request| {
        let number = |host: usize| (host + 1) % request.origins.len();
        let mut text = format!("<title>{}</title>", request.path);
        for page in 0..6 {
            let next = &request.origins[number(request.host)];
            text += &format!("<a href=\"/{page}\">on</a> <a href=\"{next}/{page}\">over</a>");
        }
        turnstone_lab::serve::Answer::html(text)
    });
    let options = Options {
        naming: Naming::ByName,
        politeness: Politeness {
            // Requests are sent so far apart; on a busy machine they arrive up to a millisecond or two less so.
            delay_per_address_ms: Some(TOWN.delay_ms * 4 / 5),
            robots: RobotsCheck::Rules,
            ..Politeness::default()
        },
        ..Options::default()
    };
    let server = start(web, options).unwrap();
    let hosts = server.hosts();
    let (_, address) = hosts[0];
    let line = |(name, _): &(String, _)| format!("{name}\t{}\n", address.ip());
    let lines: String = hosts.iter().map(line).collect();
    fs::write(folder.join("hosts"), lines).unwrap();
    server
}

#[test]
fn hosts_of_several_shards_at_one_address_are_asked_one_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    for kills in [0, 6] {
        let server = one_address(folder.path());
        let arguments = format!(
            "{}/ --hosts-file {} --allow-private --everywhere --contact me@example.org --no-warc {ALL} \
             --delay {}ms --clock-scale {} --shards 4",
            server.origin(0),
            folder.path().join("hosts").display(),
            TOWN.delay_ms * TOWN.scale,
            TOWN.scale
        );
        let crawler = Crawler::new(&arguments);
        disturb(&crawler, &mut Dice(kills), kills);
        crawler.finish();
        let violations = server.violations();
        assert_eq!(violations.first(), None, "{kills} kills");
        assert!(is_cut(&crawler, 4, SITES, |host| server
            .origin(host)
            .to_owned()));
        let (pages, _, _) = look(&crawler, 4);
        let stored = pages.values().filter(|state| **state == PageState::Fetched);
        assert_eq!(stored.count(), SITES as usize * 6 + 1);
    }
}

#[test]
fn what_cannot_be_cut_is_refused_in_one_line() {
    let town = Town::open(Plan {
        faults: false,
        ..TOWN
    });
    let folder = tempfile::tempdir().unwrap();
    let asked = town.arguments();
    let check = |arguments: String, words: &[&str]| {
        let ran = turnstone(folder.path(), &arguments);
        assert_eq!(ran.code, 2, "{arguments}: {}{}", ran.out, ran.err);
        assert_eq!(ran.err.lines().count(), 1, "one line: {}", ran.err);
        for word in words {
            assert!(ran.err.contains(word), "'{word}' is not in: {}", ran.err);
        }
    };
    for policy in ["l-neighbor", "windowed-rankmass", "opic", "breadth-first"] {
        check(
            format!("crawl {asked} -o new --shards 2 --until pages=10 --policy {policy}"),
            &["--shards", policy, "cannot be cut into shards"],
        );
    }
    let new = format!("crawl {asked} -o new --shards");
    check(format!("{new} 0"), &["--shards", "1 to 256"]);
    check(format!("{new} 300"), &["--shards", "1 to 256"]);
    check(
        format!("{new} 4 --connections 3"),
        &["--connections", "4 shards"],
    );
    check(
        format!("{new} 2 --until coverage=0.9,confidence=0.95"),
        &["--shards", "certificate"],
    );
    check(
        format!("{new} 2 --deliver ndjson=events.jsonl"),
        &["--shards", "deliver"],
    );
    assert!(!folder.path().join("new").exists(), "nothing was made");

    // In one piece for good, and in so many shards for good.
    let two = format!("{asked} --until pages=5");
    assert_eq!(
        turnstone(folder.path(), &format!("crawl {two} -o one")).code,
        0
    );
    check(
        format!("crawl {two} -o one --shards 2"),
        &["one piece", "--shards 2"],
    );
    let cut = format!("crawl {two} -o cut --shards");
    assert_eq!(turnstone(folder.path(), &format!("{cut} 2")).code, 0);
    check(format!("{cut} 3"), &["was cut into 2 shards", "--shards 3"]);
    let keeps = ["keeps its policy, goal, scope and seeds"];
    check("crawl -o cut --until coverage=0.5".into(), &keeps);
    check("crawl -o cut --depth 1".into(), &keeps);
    check(
        format!("crawl {}/p/1 -o cut", town.server.origin(1)),
        &keeps,
    );
    check(
        "crawl -o cut/shards/1".into(),
        &["one shard of a crawl", "-o cut"],
    );
    for command in ["keep", "refresh", "discover"] {
        check(format!("{command} cut"), &[command, "2 shards"]);
    }
    // Nothing of that changed it.
    assert_eq!(
        turnstone(folder.path(), "crawl -o cut --until pages=9").code,
        0
    );
    fs::rename(
        folder.path().join("cut/shards/0/store/journal"),
        folder.path().join("away"),
    )
    .unwrap();
    let ran = turnstone(folder.path(), "crawl -o cut");
    assert_eq!((ran.code, ran.err.lines().count()), (1, 1), "{}", ran.err);
    assert!(
        ran.err.contains("journal of this shard is missing"),
        "{}",
        ran.err
    );
}

#[test]
fn commands_that_look_see_one_crawl() {
    let town = Town::open(TOWN);
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &str| {
        let ran = turnstone(folder.path(), arguments);
        assert_eq!(ran.code, 0, "{arguments}: {}{}", ran.out, ran.err);
        ran.out
    };
    let json = |arguments: &str| -> serde_json::Value {
        serde_json::from_str(&run(&format!("{arguments} --json"))).unwrap()
    };
    let asked = format!("crawl {} {ALL}", town.arguments());
    // What fails at first fails for whoever comes first.
    run(&format!("{asked} -o first"));
    run(&format!("{asked} -o one"));
    run(&format!("{asked} -o cut --shards 3"));
    // What is the same of both: everything but the order in which pages came.
    let told = |crawl: &str| {
        let status = json(&format!("status {crawl}"));
        let keys = ["pages", "known", "state", "stopped_by", "policy", "classes"];
        let mut told: Vec<String> = keys.map(|key| status[key].to_string()).to_vec();
        for state in ["fetched", "gone", "refused", "moved", "waiting", "away"] {
            told.push(format!("{state} {}", status["states"][state]));
        }
        let rows = |table: &str, columns: &[&str]| -> BTreeSet<String> {
            run(&format!("export {table} {crawl} -o {crawl}-{table}.jsonl"));
            let text = fs::read_to_string(folder.path().join(format!("{crawl}-{table}.jsonl")));
            let row = |line: &str| {
                let row: serde_json::Value = serde_json::from_str(line).unwrap();
                columns
                    .iter()
                    .map(|column| row[*column].to_string() + " ")
                    .collect()
            };
            text.unwrap().lines().map(row).collect()
        };
        told.extend(rows(
            "pages",
            &["url", "state", "class", "links", "moved_to"],
        ));
        told.extend(rows("links", &["source_url", "target_url"]));
        told.extend(rows("events", &["url", "kind"]));
        told.extend(rows("captures", &["url", "fetch_status"]));
        let graph = json(&format!("info {crawl}"));
        told.push(format!(
            "{} {}",
            graph["graph"]["pages"], graph["graph"]["links"]
        ));
        let page = format!("{}/p/3", town.server.origin(2));
        let why = json(&format!("why {crawl} {page}"));
        told.extend(["state", "linked_from_count", "class"].map(|key| why[key].to_string()));
        told.push(run(&format!("show {crawl} {page} --text")));
        let histories = json(&format!("export history {crawl} -o {crawl}-histories"));
        told.push(histories["histories"].as_array().unwrap().len().to_string());
        run(&format!("report {crawl}"));
        let report = fs::read_to_string(folder.path().join(crawl).join("reports/crawl.html"));
        told.push(report.unwrap().matches("<svg").count().to_string());
        told
    };
    let (one, cut) = (told("one"), told("cut"));
    for (one, cut) in one.iter().zip(&cut) {
        assert_eq!(cut, one);
    }
    assert_eq!(cut.len(), one.len());
    let lines = run("events cut --json");
    let event = |line: &str| -> serde_json::Value { serde_json::from_str(line).unwrap() };
    let events: Vec<serde_json::Value> = lines.lines().map(event).collect();
    let ids: BTreeSet<&str> = events.iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), events.len(), "ids are of one shard each");
    let times: Vec<String> = events.iter().map(|it| it["time"].to_string()).collect();
    assert!(times.is_sorted(), "oldest first");

    // The audit fails only for the goal, which is everything here.
    let ran = turnstone(folder.path(), "audit cut --json");
    let audit: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(audit["difference"], 0, "{audit}");
    assert_eq!(audit["transfers_under_way"], 0, "{audit}");
    assert!(
        audit["guaranteed"].as_f64().unwrap() > 1.0 - 1e-5,
        "{audit}"
    );
    let moment = run("events cut --since 1d");
    assert_eq!(moment.lines().count(), events.len());
    let ran = turnstone(folder.path(), "events cut --since 17");
    assert_eq!(
        (ran.code, ran.err.contains("position")),
        (2, true),
        "{}",
        ran.err
    );
    // A journal of another crawl is not taken for one of this.
    run(&format!("{asked} -o other --shards 3"));
    for (from, to) in [("cut/shards/1", "kept"), ("other/shards/1", "cut/shards/1")] {
        fs::rename(folder.path().join(from), folder.path().join(to)).unwrap();
    }
    let ran = turnstone(folder.path(), &format!("{asked} -o cut"));
    assert_eq!(
        (ran.code, ran.err.contains("another crawl")),
        (1, true),
        "{}",
        ran.err
    );
    let ran = turnstone(folder.path(), "audit cut");
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
}
