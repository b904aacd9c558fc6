//! A plan may change between two runs, and everything that is said stays true.

use turnstone_lab::serve::{Answer, Handle, Options, Request, Web, start};
use turnstone_pagestore::{PageState, Store};

use super::audit;
use super::crawler::{Crawler, Running};
use crate::run::turnstone;

const QUICK: &str = "--allow-private --delay 0s --no-warc --clock-scale 100";

fn serve(hosts: u32, answer: impl Fn(&Request<'_>) -> Answer + Send + Sync + 'static) -> Handle {
    start(Web::custom(hosts, answer), Options::default()).unwrap()
}

fn links(paths: impl IntoIterator<Item = String>) -> Answer {
    let body: String = paths
        .into_iter()
        .map(|path| format!("<a href=\"{path}\">x</a>\n"))
        .collect();
    Answer::html(body)
}

/// Ends a crawl and tells how: its exit code and its last document.
fn end(crawler: &Crawler, running: Running) -> (Option<i32>, serde_json::Value) {
    let code = running.wait().code();
    let printed = crawler.printed();
    let documents = serde_json::Deserializer::from_str(&printed).into_iter();
    let last = documents.last().and_then(Result::ok);
    let last = last.unwrap_or_else(|| panic!("no document: {printed} {}", crawler.said()));
    (code, last)
}

fn run(crawler: &Crawler, more: &[&str]) -> (Option<i32>, serde_json::Value) {
    let more: Vec<&str> = more.iter().copied().chain(["--json"]).collect();
    end(crawler, crawler.start_with(&more))
}

fn asked(server: &Handle, path: &str) -> usize {
    let requests = server.requests();
    requests.iter().filter(|r| r.path.starts_with(path)).count()
}

fn why(crawler: &Crawler, url: &str) -> String {
    turnstone(
        &crawler.directory(),
        &format!("why {} {url}", crawler.directory().display()),
    )
    .out
}

/// A page that links to forty pages, half of them in a folder.
fn two_folders() -> Handle {
    serve(1, |request| match request.path {
        "/" => links((0..20).flat_map(|n| [format!("/a/{n}"), format!("/b/{n}")])),
        path if path.starts_with("/a/") || path.starts_with("/b/") => Answer::html("<p>here"),
        _ => Answer::not_found(),
    })
}

#[test]
fn a_narrower_scope_holds_from_the_next_request_on() {
    let server = two_folders();
    let crawler = Crawler::new(&format!("{}/ {QUICK}", server.origin(0)));
    run(&crawler, &["--until", "pages=5"]);
    let before = asked(&server, "/b/");
    let (code, said) = run(&crawler, &["--exclude", "/b/", "--until", "coverage=0.98"]);
    assert_eq!(code, Some(0), "{}", crawler.said());
    assert_eq!(asked(&server, "/b/"), before, "none was asked for any more");
    assert_eq!(asked(&server, "/a/"), 20);
    assert!(crawler.said().contains("left it"), "{}", crawler.said());
    assert!(said["guaranteed"].as_f64().unwrap() > 0.98, "{said}");
    let store = Store::look(&crawler.directory()).unwrap();
    let left = audit::pages(&store);
    let left = left.values().filter(|state| **state == PageState::Outside);
    assert_eq!(left.count(), 20 - before);
    let url = (0..20)
        .map(|n| format!("{}/b/{n}", server.origin(0)))
        .find(|url| audit::pages(&store)[url] == PageState::Outside)
        .unwrap();
    let told = why(&crawler, &url);
    assert!(told.contains("out of scope since"), "{told}");
    assert!(told.contains("exclude: /b/"), "{told}");
}

#[test]
fn a_wider_scope_finds_what_was_out_of_it_without_a_request() {
    let answer = |request: &Request<'_>| {
        let other = &request.origins[1];
        match (request.host, request.path) {
            (0, "/") => links(
                (0..3)
                    .map(|n| format!("{other}/{n}"))
                    .chain(["/near".into()]),
            ),
            (0, "/near") => Answer::html("<p>near"),
            (1, path) if path.len() == 2 => links((0..6).map(|n| format!("/deep/{n}"))),
            (1, path) if path.starts_with("/deep/") => Answer::html("<p>deep"),
            _ => Answer::not_found(),
        }
    };
    let server = serve(2, answer);
    let crawler = Crawler::new(&format!("{}/ {QUICK}", server.origin(0)));
    let (code, first) = run(&crawler, &[]);
    assert_eq!(
        (code, first["known"].as_u64()),
        (Some(0), Some(2)),
        "{first}"
    );
    let far = format!("{}/0", server.origin(1));
    let told = why(&crawler, &far);
    assert!(told.contains("1 stored page"), "{told}");
    assert!(told.contains("out of scope since"), "{told}");

    // Two pages are stored, and no request may be sent: what is proven must be what it is.
    let (_, wide) = run(&crawler, &["--everywhere", "--until", "requests=1"]);
    assert_eq!(wide["known"].as_u64(), Some(5), "{wide}");
    let fresh = Crawler::new(&format!(
        "{}/ {QUICK} --everywhere --until pages=2 --connections 1 --policy breadth-first",
        server.origin(0)
    ));
    run(&fresh, &[]);
    let proven = wide["guaranteed"].as_f64().unwrap();
    assert!(
        proven < 0.6,
        "three pages of another host are not stored: {wide}"
    );
    let possible = wide["upper_bound"].as_f64().unwrap();
    assert!(possible < 1.0 && possible >= proven, "{wide}");

    let (code, all) = run(&crawler, &["--until", "coverage=0.98"]);
    assert_eq!(code, Some(0), "{all}");
    assert_eq!(all["known"].as_u64(), Some(11), "{all}");
}

#[test]
fn what_a_list_names_is_not_stored() {
    let server = two_folders();
    let folder = tempfile::tempdir().unwrap();
    let urls = format!("{0}/a/1\n{0}/a/2\n", server.origin(0));
    std::fs::write(folder.path().join("seeds.txt"), urls).unwrap();
    let ran = turnstone(folder.path(), "import seeds.txt -o d");
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let crawl = format!("crawl {}/a/1 -o d {QUICK} --json", server.origin(0));
    let ran = turnstone(folder.path(), &crawl);
    let said = ran.json();
    assert_eq!(said["pages"].as_u64(), Some(1), "{said}");
    assert!(said["requests"].as_u64().unwrap() > 0, "{said}");
    assert_eq!(asked(&server, "/a/1"), 1);
}

#[test]
fn dead_links_do_not_stand_in_the_way() {
    let server = serve(1, |request| match request.path {
        "/" => links(
            (0..30)
                .map(|n| format!("/dead/{n}"))
                .chain(["/a".into(), "/b".into()]),
        ),
        "/a" => links(["/b".into(), "/dead/40".into()]),
        "/b" => Answer::html("<p>b"),
        _ => Answer::not_found(),
    });
    let crawler = Crawler::new(&format!("{}/ {QUICK}", server.origin(0)));
    let (code, said) = run(&crawler, &[]);
    assert_eq!(code, Some(0), "{said} {}", crawler.said());
    assert!(said["guaranteed"].as_f64().unwrap() > 0.98, "{said}");
    let verdict = said["verdict"].as_str().unwrap();
    assert_eq!(
        verdict,
        "You have all 3 pages that exist; 31 links are dead."
    );
    // The paper's figure stands beside it, in words and for machines.
    let dead = said["guaranteed_with_dead_links"].as_f64().unwrap();
    assert!((0.1..0.6).contains(&dead), "{said}");
    let status = |more: &str| {
        let directory = crawler.directory();
        turnstone(
            &directory,
            &format!("status {} {more}", directory.display()),
        )
    };
    assert_eq!(
        status("--json").json()["guaranteed_with_dead_links"].as_f64(),
        Some(dead)
    );
    let text = status("").out;
    assert!(text.contains("if dead links count too"), "{text}");
    // The sentence that anybody understands stands above every figure, everywhere.
    assert_eq!(text.lines().next(), Some(verdict));
    let report = crawler.directory().join("reports/crawl.html");
    let report = std::fs::read_to_string(report).unwrap();
    let place = |what: &str| report.find(what).unwrap_or_else(|| panic!("{what}"));
    assert!(place(verdict) < place("PageRank"), "{report}");
    assert!(report.contains("if dead links count too"), "{report}");
}

#[test]
fn links_that_a_limit_cut_are_not_proven() {
    let server = serve(1, |request| match request.path {
        "/" => {
            let early = "<a href=/early>x</a>".to_owned();
            let padding = format!("<p>{}", "word ".repeat(20_000));
            let late: String = (0..99)
                .map(|n| format!("<a href=/late/{n}>x</a>"))
                .collect();
            Answer::html(early + &padding + &late)
        }
        _ => Answer::html("<p>here"),
    });
    let crawler = Crawler::new(&format!("{}/ {QUICK} --body-bytes 50000", server.origin(0)));
    let (code, said) = run(&crawler, &[]);
    assert_eq!(code, Some(3), "{said}");
    // The truth is 15 % and what comes back by jumping: about 54 %.
    assert!(said["guaranteed"].as_f64().unwrap() < 0.55, "{said}");
    assert!(said["upper_bound"].as_f64().unwrap() > 0.54, "{said}");
    let told = why(&crawler, &format!("{}/", server.origin(0)));
    assert!(told.contains("could not be seen"), "{told}");
    let verdict = said["verdict"].as_str().unwrap();
    assert!(
        verdict.starts_with("The goal cannot be proven"),
        "{verdict}"
    );
    assert_eq!(
        said["waiting"].as_u64(),
        Some(1),
        "it says so at once: {said}"
    );
    let (_, all) = run(&crawler, &["--until", "pages=50"]);
    let verdict = all["verdict"].as_str().unwrap();
    assert!(
        verdict.contains("1 page has more links that nobody has seen"),
        "{verdict}"
    );
    let report = crawler.directory().join("reports/crawl.html");
    let report = std::fs::read_to_string(report).unwrap();
    assert!(
        report.contains("1 page has more links that nobody has seen"),
        "{report}"
    );
    assert!(report.contains("can never be proven"), "{report}");
    let told = why(&crawler, &format!("{}/late/7", server.origin(0)));
    let front = format!(
        "a limit cut links that may lead to it, on {}/",
        server.origin(0)
    );
    assert!(told.contains(&front), "{told}");
}

/// A command that asks for what cannot be says so in a line, and the crawl is as it was.
#[test]
fn a_bad_change_of_plan_changes_nothing() {
    let server = two_folders();
    let origin = server.origin(0).to_owned();
    let crawler = Crawler::new(&format!("{origin}/ {QUICK}"));
    run(&crawler, &["--until", "pages=5"]);
    let directory = crawler.directory();
    let files = ["store/journal", "turnstone.toml"];
    let kept = || files.map(|file| std::fs::read(directory.join(file)).unwrap());
    let before = kept();
    let check = |arguments: &str, words: &str| {
        let said = turnstone(
            &directory,
            &format!("crawl -o {} {arguments}", directory.display()),
        );
        assert_eq!(said.code, 2, "{arguments}: {}", said.err);
        assert_eq!(said.out, "", "{arguments}");
        assert_eq!(said.err.lines().count(), 1, "{arguments}: {}", said.err);
        assert!(said.err.contains(words), "{arguments}: {}", said.err);
    };
    for (arguments, words) in [
        ("--policy rankmass:mood=1", "no parameter 'mood'"),
        (
            "--policy breadth-first --until coverage=90%",
            "proves no coverage",
        ),
        ("--until mood=1", "there is no such goal"),
        ("--until coverage=2", "not a share"),
        ("--until time=0s", "give more than none"),
        ("--exclude (", "unclosed group"),
        (
            "--everywhere --hosts a.example",
            "--hosts says where to stay",
        ),
        ("--everywhere --include x", "--include says where to stay"),
        ("--prefix nowhere", "not an http or https URL"),
        ("--body-bytes 0", "at least one byte"),
        ("--host-pages 0", "at least one page"),
        ("ftp://a.example/", "only http and https"),
    ] {
        check(arguments, words);
        assert_eq!(kept(), before, "{arguments}");
    }
    // The same of a word that nobody knows, in the file.
    let good = String::from_utf8(before[1].clone()).unwrap();
    std::fs::write(
        directory.join("turnstone.toml"),
        format!("{good}\n[mood]\n"),
    )
    .unwrap();
    check("", "unknown field `mood`");
    assert_eq!(kept()[0], before[0]);
    std::fs::write(directory.join("turnstone.toml"), good).unwrap();
    let (code, _) = run(&crawler, &["--until", "coverage=0.98"]);
    assert_eq!(code, Some(0), "{}", crawler.said());
}

/// The last word on how far a crawl reaches counts.
#[test]
fn everywhere_takes_the_place_of_hosts_and_hosts_that_of_everywhere() {
    let server = serve(2, |request| match request.path {
        "/" => links([format!("{}/far", request.origins[1])]),
        _ => Answer::html("<p>far"),
    });
    let host = |number: u32| {
        let origin = server.origin(number as _);
        let address = origin.trim_start_matches("http://");
        address.split(':').next().unwrap().to_owned()
    };
    let crawler = Crawler::new(&format!("{}/ {QUICK}", server.origin(0)));
    let (_, near) = run(&crawler, &["--hosts", &host(0)]);
    assert_eq!(near["pages"].as_u64(), Some(1), "{near}");
    let verdict = near["verdict"].as_str().unwrap();
    assert_eq!(verdict, "You have the only page in scope that exists.");
    let (_, far) = run(&crawler, &["--everywhere"]);
    assert_eq!(far["pages"].as_u64(), Some(2), "{far}");
    let (_, near) = run(&crawler, &["--hosts", &host(0)]);
    assert_eq!(near["known"].as_u64(), Some(1), "{near}");
    let config = std::fs::read_to_string(crawler.directory().join("turnstone.toml")).unwrap();
    assert!(!config.contains("everywhere"), "{config}");
}

/// What was asked last is what `status` and `why` speak of.
#[test]
fn those_who_look_see_the_plan_in_force() {
    let server = two_folders();
    let origin = server.origin(0).to_owned();
    let crawler = Crawler::new(&format!("{origin}/ {QUICK} --until pages=5"));
    run(&crawler, &[]);
    let directory = crawler.directory();
    let say = |command: &str| {
        let ran = turnstone(&directory, &format!("{command} {}", directory.display()));
        assert!(
            ran.code == 0 || ran.code == 3,
            "{command}: {}{}",
            ran.out,
            ran.err
        );
        ran
    };
    let status = || say("status --json").json();
    let crawled = status();
    assert_eq!(
        (&crawled["question"], &crawled["policy"]),
        (&"crawl".into(), &"rankmass".into())
    );
    assert!(crawled["guaranteed"].is_f64(), "{crawled}");
    let quick = "--allow-private --delay 0s --clock-scale 100";
    for (command, question, policy) in [
        ("refresh --budget 2", "refresh", "cohorts:ahead=16"),
        ("keep --until requests=4 --rate 1000/s", "keep", "keep"),
        ("revive --until requests=2", "revive", "tree"),
    ] {
        say(&format!("{command} {quick}"));
        let said = status();
        assert_eq!(
            (&said["question"], &said["policy"]),
            (&question.into(), &policy.into())
        );
        assert!(
            said["guaranteed"].is_null(),
            "{command} proves nothing: {said}"
        );
        let told = why(&crawler, &format!("{origin}/a/1"));
        assert!(!told.contains("rankmass"), "{told}");
    }
    let text = say("status").out;
    assert!(text.contains("tree (for revive)"), "{text}");
}

#[test]
fn a_crawl_of_a_host_that_does_not_answer_ends() {
    // Nobody listens there: the port was ours a moment ago.
    let port = std::net::TcpListener::bind("127.9.1.9:0").unwrap();
    let address = port.local_addr().unwrap();
    drop(port);
    let crawler = Crawler::new(&format!(
        "http://{address}/ --allow-private --no-warc --clock-scale 100"
    ));
    let (code, said) = run(&crawler, &[]);
    assert_eq!(code, Some(3), "{said}");
    assert_eq!(said["stopped_by"], "unreachable", "{said}");
    let host = &said["hosts_without_answer"][0];
    assert_eq!(host["host"], "127.9.1.9", "{said}");
    assert_eq!(host["tries"], 3, "{said}");

    // It is up now: the next run takes it up again.
    let listener = std::net::TcpListener::bind(address);
    let Ok(listener) = listener else {
        return; // another process was quicker
    };
    std::thread::spawn(move || {
        for stream in listener.incoming().take(4).flatten() {
            answer_gone(stream);
        }
    });
    let (_, again) = run(&crawler, &[]);
    assert_ne!(again["stopped_by"], "unreachable", "{again}");
}

fn answer_gone(mut stream: std::net::TcpStream) {
    use std::io::{Read as _, Write as _};
    let mut request = [0; 4096];
    let _ = stream.read(&mut request);
    let _ = stream
        .write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

/// The file is edited while the crawl runs, and taken up at a hang-up; one that is wrong changes nothing.
#[test]
fn an_edited_file_is_taken_up_while_the_crawl_runs() {
    use std::time::{Duration, Instant};
    let server = turnstone_lab::serve::start(
        turnstone_lab::serve::Web::custom(1, |request| match request.path {
            "/robots.txt" => turnstone_lab::serve::Answer::not_found(),
            path => {
                // Two endless roads.
                let next = path.len();
                let text = format!("<p>{path} <a href={path}a>on</a> <a href=/b{next}>b</a>");
                turnstone_lab::serve::Answer::html(text)
            }
        }),
        turnstone_lab::serve::Options::default(),
    )
    .unwrap();
    let crawler = Crawler::new(&format!(
        "{}/ --allow-private --delay 20ms --policy breadth-first --until requests=2000",
        server.origin(0)
    ));
    let running = crawler.start();
    let file = crawler.directory().join("turnstone.toml");
    let wait = |what: &str, is_so: &dyn Fn() -> bool| {
        let began = Instant::now();
        while !is_so() {
            assert!(
                began.elapsed() < Duration::from_secs(40),
                "{what}: {}",
                crawler.said()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    wait("it asks", &|| server.request_count() > 5);
    let good = std::fs::read_to_string(&file).unwrap();
    let take_up = |text: &str, says: &str| {
        std::fs::write(&file, text).unwrap();
        running.signal("HUP");
        wait(says, &|| crawler.said().contains(says));
    };
    take_up("seeds = 7", "everything stays as it was");
    let scoped = good.clone() + "\n[scope]\nexclude = [\"/b\"]\n";
    let scoped = scoped.replace("[scope]\n\n[scope]", "[scope]");
    take_up(&scoped, "the plan changed");
    let asked = |road: &str| {
        let requests = server.requests();
        requests
            .iter()
            .filter(|it| it.path.starts_with(road))
            .count()
    };
    let (b, a) = (asked("/b"), asked("/a"));
    wait("the other road goes on", &|| asked("/a") > a + 5);
    assert_eq!(asked("/b"), b, "the rule holds at once");
    take_up(
        &scoped.replace("requests = 2000", "requests = 1"),
        "the budgets are set",
    );
    assert!(running.wait().success(), "{}", crawler.said());
    let journal = super::audit::journal(&crawler.directory());
    let notes = journal
        .windows(18)
        .filter(|it| it == b"{\"order\":\"config\",");
    assert_eq!(notes.count(), 2, "each is an entry");
}
