//! Budgets bind exactly, whatever is under way; a full disk is waited for.

use std::process::Command;

use turnstone_frontier::HostId;
use turnstone_pagestore::{PageState, Store};

use super::audit;
use super::crawler::{Crawler, status, until};
use super::town::{Plan, Town};

/// Many requests at once.
const TOWN: Plan = Plan {
    hosts: 4,
    pages: 60,
    delay_ms: 0,
    scale: 1,
    faults: false,
};

fn crawl(more: &str) -> (Town, Crawler) {
    let town = Town::open(TOWN);
    let crawler = Crawler::new(&format!(
        "{} --policy breadth-first --open 8 --connections 32 {more}",
        town.arguments()
    ));
    crawler.finish();
    (town, crawler)
}

#[test]
fn requests_bind_exactly() {
    for limit in [1, 2, 37] {
        let (town, _) = crawl(&format!("--until requests={limit}"));
        assert_eq!(town.server.request_count(), limit);
    }
}

#[test]
fn pages_bind_exactly() {
    for limit in [1, 50] {
        let (_, crawler) = crawl(&format!("--until pages={limit}"));
        let store = Store::look(&crawler.directory()).unwrap();
        assert_eq!(store.index().stored_count(), limit);
    }
}

#[test]
fn bytes_bind_exactly() {
    // 10 bytes end within the first robots.txt.
    for limit in [10, 5_000] {
        let (_, crawler) = crawl(&format!("--until bytes={limit}"));
        let store = Store::look(&crawler.directory()).unwrap();
        assert_eq!(store.index().tally().body_bytes, limit);
        audit::check(&crawler.directory());
    }
}

#[test]
fn what_was_imported_is_not_spent() {
    let (town, old) = crawl("--until pages=10");
    let new = Crawler::new("");
    let mut import = Command::new(env!("CARGO_BIN_EXE_turnstone"));
    import.arg("import").arg(old.directory().join("warc"));
    import.arg("--output").arg(new.directory());
    assert!(new.start_as(import).wait().success(), "{}", new.said());
    let arguments = format!("{} --policy breadth-first", town.arguments());
    let new = Crawler::resume(new, &format!("{arguments} --until pages=5"));
    new.finish();
    let store = Store::look(&new.directory()).unwrap();
    assert_eq!(store.index().tally().imported_pages, 10);
    assert_eq!(store.index().stored_count(), 15);
    drop(store);
    let new = Crawler::resume(new, "--until bytes=9000");
    new.finish();
    let store = Store::look(&new.directory()).unwrap();
    let tally = store.index().tally();
    assert_eq!(tally.body_bytes - tally.imported_bytes, 9_000);
}

#[test]
fn pages_of_a_host_bind_exactly() {
    let (_, crawler) = crawl("--host-pages 11");
    let store = Store::look(&crawler.directory()).unwrap();
    for host in &store.index().tally().hosts {
        assert_eq!(host.fetched, 11);
    }
    assert_eq!(store.index().count(PageState::InFlight), 0);
}

#[test]
fn c10_few_files_slow_a_crawl_down_and_no_more() {
    let town = Town::open(Plan {
        hosts: 48,
        pages: 18,
        ..TOWN
    });
    let crawler = Crawler::new("");
    let mut command = Command::new("prlimit");
    command
        .arg("--nofile=40:40")
        .arg(env!("CARGO_BIN_EXE_turnstone"))
        .arg("crawl")
        .args(town.arguments().split_whitespace())
        .args(["--policy", "breadth-first", "--connections", "64"])
        .arg("--output")
        .arg(crawler.directory());
    let status = crawler.start_as(command).wait();
    let said = crawler.said();
    assert!(status.success(), "{status}: {said}");
    assert!(said.contains("--connections 64 lowered to"), "{said}");
    let store = Store::look(&crawler.directory()).unwrap();
    // Every page, the front pages by two names, and one that is the same on every host.
    assert_eq!(
        store.index().count(PageState::Fetched),
        48 * (18 + 2),
        "{said}"
    );
    assert!(store.last_checkpoint().is_some(), "{said}");
    audit::check(&crawler.directory());
}

/// The longest file that may be written is raised when the crawl says that it waits.
fn check_full(more: &str, bytes: u64) -> Crawler {
    let town = Town::open(TOWN);
    let crawler = Crawler::new("");
    let mut command = Command::new("prlimit");
    command
        .arg(format!("--fsize={bytes}:unlimited"))
        .args(["sh", "-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_turnstone"))
        .arg("crawl")
        .args(town.arguments().split_whitespace())
        .args(["--policy", "breadth-first"])
        .args(more.split_whitespace())
        .arg("--output")
        .arg(crawler.directory());
    let running = crawler.start_as(command);
    until("it stands still and says why", || {
        status(&crawler.directory())["paused"].is_string()
    });
    let asked = town.server.request_count();
    assert!(asked < 240, "it stands still: {asked}");
    let raised = Command::new("prlimit")
        .args(["--fsize=unlimited:unlimited", "--pid"])
        .arg(running.id().to_string())
        .status()
        .unwrap();
    assert!(raised.success());
    assert!(running.wait().success(), "{}", crawler.said());
    let store = Store::look(&crawler.directory()).unwrap();
    assert_eq!(store.index().stored_count(), 4 * 60 + 4 + 4);
    let again = audit::outcomes(&store)
        .values()
        .any(|(fetched, _)| *fetched > 1);
    assert!(!again, "nothing is fetched again");
    crawler
}

#[test]
fn c5_w3_a_full_disk_is_waited_for() {
    let crawler = check_full("", 40_000);
    audit::check(&crawler.directory());
    check_full("--no-warc", 20_000);
}

/// A full disk does not keep a crawl from ending when it is told to.
#[test]
fn c5_a_full_disk_can_be_left() {
    let town = Town::open(TOWN);
    let crawler = Crawler::new("");
    let mut command = Command::new("prlimit");
    command
        .arg("--fsize=20000:unlimited")
        .args(["sh", "-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_turnstone"))
        .arg("crawl")
        .args(town.arguments().split_whitespace())
        .args(["--policy", "breadth-first", "--output"])
        .arg(crawler.directory());
    let running = crawler.start_as(command);
    until("it stands still", || {
        status(&crawler.directory())["paused"].is_string()
    });
    running.signal("TERM");
    assert_eq!(running.wait().code(), Some(1), "{}", crawler.said());
    assert!(crawler.said().contains("too large"), "{}", crawler.said());
    let whole = Crawler::resume(crawler, &town.arguments());
    whole.finish();
    audit::check(&whole.directory());
}

#[test]
fn requests_of_each_host_bind_exactly() {
    let (_, crawler) = crawl("--limit host:requests=20 --limit nobody.example:pages=1");
    let store = Store::look(&crawler.directory()).unwrap();
    for host in &store.index().tally().hosts {
        assert_eq!(host.requests, 20);
    }
    assert!(store.index().tally().classes["limit"] > 0);
}

#[test]
fn a_group_counts_its_hosts_together_over_restarts() {
    let (town, first) = crawl("--until pages=1");
    let store = Store::look(&first.directory()).unwrap();
    let name = |host: u32| {
        let name = store.index().host_name(HostId(host)).to_owned();
        name.split(':').next().unwrap().to_owned()
    };
    let pair = format!("{},{}", name(0), name(1));
    drop(store);
    let asked = |until: &str| {
        format!(
            "{} --policy breadth-first --open 8 --connections 32 --limit {pair}:pages=9 --until {until}",
            town.arguments()
        )
    };
    let crawler = Crawler::resume(first, &asked("pages=6"));
    crawler.finish();
    let crawler = Crawler::resume(crawler, &asked("all"));
    crawler.finish();
    let store = Store::look(&crawler.directory()).unwrap();
    let stored = |host: usize| store.index().tally().hosts[host].fetched;
    assert_eq!(stored(0) + stored(1), 9);
    assert!(stored(2) > 9, "others are free");
    let directory = crawler.directory().display().to_string();
    let status = crate::run::done(
        std::path::Path::new("."),
        &format!("status {directory} --json"),
    )
    .json();
    let limit = &status["limits"][0];
    assert_eq!(limit["pages"], 9, "{status}");
    assert_eq!(
        (&limit["used_up"], &limit["complete"]),
        (&1.into(), &false.into())
    );
}

#[test]
fn limits_that_say_nothing_are_refused() {
    for (limit, what) in [
        ("pages=3", "give whom and what"),
        ("host:pages", "give whom and what"),
        ("host:colour=3", "there is no limit 'colour'"),
        ("host:pages=0", "0"),
        ("http://a.example/x:pages=3", "is no host"),
    ] {
        let asked = format!("crawl http://127.0.0.1:1/ -o x --limit {limit}");
        let ran = crate::run::turnstone(std::path::Path::new("."), &asked);
        assert_ne!(ran.code, 0);
        assert!(ran.err.contains(what), "{limit}: {}", ran.err);
    }
}
