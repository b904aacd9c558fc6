//! `revive` on a site that answers 200 to anything: row Q1, one probe a directory and day.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use turnstone_lab::serve::{Answer, Delivery, Handle, Options, Request, Web, start};

use super::crawler::{Crawler, Running};
use crate::run::{done, turnstone};

const DIRECTORIES: [&str; 3] = ["/a/", "/b/", "/c/"];
const PAGES: u32 = 10;

/// Whether a path is a page of the site.
fn is_page(path: &str) -> bool {
    let rest = DIRECTORIES
        .iter()
        .find_map(|directory| path.strip_prefix(directory));
    path == "/"
        || rest
            .and_then(|rest| rest.parse().ok())
            .is_some_and(|page: u32| page < PAGES)
}

fn answer(request: &Request<'_>) -> Answer {
    if request.path == "/robots.txt" {
        return Answer::not_found();
    }
    let text = if request.path == "/" {
        let mut links = String::new();
        for directory in DIRECTORIES {
            for page in 0..PAGES {
                let _ = write!(links, "<a href={directory}{page}>on</a>");
            }
        }
        links
    } else if is_page(request.path) {
        let words = request.path.repeat(40).replace('/', " word ");
        format!("<title>{}</title><p>{words}</p>", request.path)
    } else {
        "<title>Oops</title><p>There is nothing here that could be shown to anybody at all.</p>"
            .to_owned()
    };
    // Slow enough for several to be under way.
    Answer::html(text).deliver(Delivery::Late { wait_ms: 20 })
}

fn revive(crawler: &Crawler, more: &str) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_turnstone"));
    command.arg("revive").arg(crawler.directory());
    command.args("--delay 1ms --open 8 --allow-private".split(' '));
    command.args(more.split_whitespace());
    crawler.start_as(command)
}

/// How often names that are no page were asked for, by directory.
fn probes(server: &Handle) -> BTreeMap<String, u32> {
    let mut probes = BTreeMap::new();
    for request in server.requests() {
        let path = &*request.path;
        if path != "/robots.txt" && !is_page(path) {
            let end = path.rfind('/').unwrap() + 1;
            *probes.entry(path[..end].to_owned()).or_default() += 1;
        }
    }
    probes
}

#[test]
fn q1_one_probe_a_directory_with_many_requests_open() {
    let server = start(Web::custom(1, answer), Options::default()).unwrap();
    let crawler = Crawler::new(&format!(
        "{}/ --allow-private --delay 0 --open 8 --policy breadth-first --no-soft-404",
        server.origin(0)
    ));
    crawler.finish();
    assert_eq!(probes(&server).len(), 0);
    for _ in 0..2 {
        let status = revive(&crawler, "").wait();
        assert!(status.success(), "{}", crawler.said());
        let once = DIRECTORIES.map(|directory| (directory.to_owned(), 1));
        assert_eq!(probes(&server), BTreeMap::from(once));
        let verdicts = fs::read_to_string(crawler.directory().join("revived.tsv")).unwrap();
        let alive = verdicts.lines().filter(|line| line.contains("\talive\t"));
        assert_eq!(alive.count() as u32, 3 * PAGES + 1, "{verdicts}");
    }
}

/// What an alive page cost is told of the whole survey, however many runs it took.
#[test]
fn a_survey_in_two_runs_costs_what_both_cost() {
    let server = start(Web::custom(1, answer), Options::default()).unwrap();
    let crawler = Crawler::new("");
    let folder = crawler.directory().parent().unwrap().to_owned();
    let origin = server.origin(0);
    let pages = (0..PAGES).map(|page| format!("{origin}/a/{page}\n"));
    fs::write(folder.join("old.txt"), pages.collect::<String>()).unwrap();
    let run = |more: &str| {
        let asked = format!("revive old.txt --delay 1ms --allow-private --json{more}");
        turnstone(&folder, &asked).json()
    };
    let first = run(" --until requests=8");
    assert_eq!(first["requests"], 8, "{first}");
    let second = run("");
    assert_eq!(second["alive"], PAGES, "{second}");
    let sent = server.requests().len() as u64;
    assert_eq!(second["survey_requests"], sent, "{second}");
    assert_eq!(second["requests"], sent - 8, "{second}");
    assert_eq!(second["cost"], sent as f64 / f64::from(PAGES), "{second}");
}

/// A probe that was answered is not sent again after a kill, one that was under way once at most.
#[test]
fn q1_one_probe_a_directory_over_kills() {
    let server = start(Web::custom(1, answer), Options::default()).unwrap();
    let crawler = Crawler::new(&format!(
        "{}/ --allow-private --delay 0 --open 8 --policy breadth-first --no-soft-404",
        server.origin(0)
    ));
    crawler.finish();
    let mut kills = 0;
    for wait_ms in [60, 90, 120, 150] {
        let running = revive(&crawler, "");
        std::thread::sleep(std::time::Duration::from_millis(wait_ms));
        kills += u32::from(running.kill());
    }
    assert!(revive(&crawler, "").wait().success(), "{}", crawler.said());
    for (directory, count) in probes(&server) {
        assert!(
            count <= 1 + kills,
            "{directory}: {count} probes, {kills} kills"
        );
    }
}

#[test]
fn a_list_of_urls_is_imported_and_surveyed() {
    let server = start(Web::custom(1, answer), Options::default()).unwrap();
    let crawler = Crawler::new("");
    let folder = crawler.directory().parent().unwrap().to_owned();
    let origin = server.origin(0);
    let list = format!("{origin}/a/1\n{origin}/a/2\n{origin}/a/gone\n");
    fs::write(folder.join("old.urls.txt"), list).unwrap();
    let run = |more: &str| {
        let ran = turnstone(
            &folder,
            &format!("revive old.urls.txt --delay 1ms --allow-private --json{more}"),
        );
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        ran
    };
    for more in ["", " -o other"] {
        // The second time nothing is left to be imported.
        for fetches in [3, 0] {
            let ran = run(more);
            let into = if more.is_empty() {
                "old-revive"
            } else {
                "other"
            };
            assert!(
                ran.err
                    .contains(&format!("importing old.urls.txt into {into}")),
                "{}",
                ran.err
            );
            let json = ran.json();
            assert_eq!(json["directory"], into);
            assert_eq!(json["imported"]["fetches"], fetches);
            assert_eq!(
                (&json["alive"], &json["gone"]),
                (&2.into(), &1.into()),
                "{json}"
            );
            assert!(folder.join(into).join("revived.tsv").exists());
        }
    }
    let ran = turnstone(&folder, "revive old-revive -o third --allow-private");
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("--output"), "{}", ran.err);
}

/// Who asks is asked for first: nothing is imported in vain.
#[test]
fn without_a_contact_nothing_is_imported() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(
        folder.join("old.txt"),
        "http://127.0.0.1/\nhttps://www.example.org/a\n",
    )
    .unwrap();
    for more in ["", " --allow-private", " -o into"] {
        let ran = turnstone(folder, &format!("revive old.txt{more}"));
        assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
        assert!(
            ran.err
                .contains("--contact: to crawl www.example.org, give"),
            "{}",
            ran.err
        );
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "{more}");
    }
    done(
        folder,
        "generate history -o sites --sites 1 --pages 20 --snapshots 2",
    );
    let ran = turnstone(folder, "revive sites");
    assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("--contact: to crawl what "), "{}", ran.err);
    assert!(!folder.join("sites-revive").exists());
}
