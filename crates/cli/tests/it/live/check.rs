//! `turnstone check`: what is said of links, and that a second run asks again.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use turnstone_lab::serve::{Answer, Handle, Options, Request, Web, start};

/// A small documentation tree on the first host; the second is somebody else's.
fn answer(request: &Request<'_>) -> Answer {
    let other = &request.origins[1];
    let page = |text: String| Answer::html(format!("<title>{}</title>\n{text}", request.path));
    match (request.host, request.path) {
        (0, "/robots.txt") => Answer::text("User-agent: *\nDisallow: /closed\n"),
        (_, "/robots.txt") => Answer::not_found(),
        (0, "/") => page(format!(
            "<a href=/a>to <b>a</b></a> <a href=/dead>dead</a>\n<a href=/a#here>here</a> <a href=/a#not>not</a>\n\
             <a href={other}/ok>ok</a> <a href={other}/dead>dead there</a> <a href={other}/wall>wall</a>\n\
             <a href={other}/soft/gone>soft</a> <a href={other}/soft/there>there</a> <a href=/old>old</a>\n\
             <a href=/closed>closed</a> <img src=/picture.png alt=picture> <a href=/late>late</a>"
        )),
        (0, "/a") => page(
            "<p id=here>page a has words of its own <a href=#top>up</a> <a href=/dead>dead</a>"
                .to_owned(),
        ),
        (0, "/old") => Answer::redirect(301, "/a"),
        (0, "/late") if request.attempt > 0 => {
            page("it is there at last, with words of its own".to_owned())
        }
        (1, "/ok") => {
            page("an ordinary page with <a href=/never>a link that is not followed</a>".to_owned())
        }
        (1, "/wall") => Answer::status(403).header("cf-mitigated", "challenge"),
        (1, "/soft/there") => page(
            "a page about birds, trees, rivers, hills, roads, towns, boats and bells".to_owned(),
        ),
        (1, path) if path.starts_with("/soft/") => Answer::html(
            "<title>Oops</title>we are sorry that what you were looking for is not to be found on this server",
        ),
        _ => Answer::not_found(),
    }
}

fn check(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_turnstone"));
    let output = command
        .arg("check")
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    (output.status.code().unwrap(), printed + &said)
}

/// Every finding in a line: page, line, kind, class, where to.
fn findings(server: &Handle, document: &Value) -> Vec<String> {
    let short = |url: &Value| {
        let url = url.as_str().unwrap_or_default();
        url.replace(server.origin(0), "")
            .replace(server.origin(1), "OTHER")
    };
    let mut lines = Vec::new();
    for page in document["findings"].as_array().unwrap() {
        for link in page["links"].as_array().unwrap() {
            let (kind, class) = (
                link["kind"].as_str().unwrap(),
                link["class"].as_str().unwrap(),
            );
            let at = format!("{}:{}", short(&page["page"]), link["line"]);
            lines.push(format!("{at} {kind} {class} {}", short(&link["url"])));
        }
    }
    lines
}

#[test]
fn links_are_told_apart_and_checked_again() {
    let server = start(Web::custom(2, answer), Options::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let seed = format!("{}/", server.origin(0));
    let arguments = [
        &*seed,
        "-o",
        "c",
        "--json",
        "--allow-private",
        "--delay",
        "0s",
        "--junit",
        "j.xml",
        "--markdown",
        "m.md",
    ];
    let (code, printed) = check(folder.path(), &arguments);
    assert_eq!(code, 1, "{printed}");
    let document = |printed: &str| -> Value {
        let end = printed.rfind("\n}").unwrap();
        serde_json::from_str(&printed[..end + 2]).unwrap()
    };
    let first = document(&printed);
    let expected = [
        "/:2 broken http-404 /dead",
        "/:3 broken fragment /a#not",
        "/:4 broken http-404 OTHER/dead",
        "/:4 blocked blocked-challenge OTHER/wall",
        "/:5 broken soft-404 OTHER/soft/gone",
        "/:5 redirect redirect /old",
        "/:6 unchecked robots /closed",
        "/:6 broken http-404 /picture.png",
        "/:6 broken http-404 /late",
        "/a:2 broken http-404 /dead",
    ];
    assert_eq!(findings(&server, &first), expected);
    assert_eq!(
        (&first["broken"], &first["blocked"]),
        (&7.into(), &1.into())
    );
    let asked = |path: &str| {
        let requests = server.requests();
        requests
            .iter()
            .filter(|it| it.host == 1 && &*it.path == path)
            .count()
    };
    assert_eq!(asked("/never"), 0, "other hosts are not followed");
    assert_eq!(asked("/ok"), 1);
    let junit = std::fs::read_to_string(folder.path().join("j.xml")).unwrap();
    assert!(
        junit.contains("tests=\"8\" failures=\"7\" skipped=\"1\""),
        "{junit}"
    );
    let markdown = std::fs::read_to_string(folder.path().join("m.md")).unwrap();
    assert!(markdown.contains("7 broken, 1 blocked"), "{markdown}");

    // The page that came late is found by the second run; probes are not sent again.
    let before = server.requests().len();
    let (code, printed) = check(folder.path(), &["c", "--json"]);
    assert_eq!(code, 1, "{printed}");
    let second = document(&printed);
    let left: Vec<&str> = expected
        .into_iter()
        .filter(|it| !it.ends_with("/late"))
        .collect();
    assert_eq!(findings(&server, &second), left);
    assert!(
        second["requests"].as_u64() < first["requests"].as_u64(),
        "{second}"
    );
    assert!(server.requests().len() > before);

    // Nobody is asked offline.
    let before = server.requests().len();
    let (_, printed) = check(folder.path(), &["c", "--json", "--offline"]);
    assert_eq!(findings(&server, &document(&printed)), left);
    assert_eq!(server.requests().len(), before);
    assert!(server.violations().is_empty());
}

#[test]
fn a_site_without_broken_links_ends_well_and_nonsense_is_refused() {
    let server = start(
        Web::custom(1, |request| match request.path {
            "/" => Answer::html("<a href=/a>a</a>"),
            "/a" => Answer::html("<p>page a <a href=/>home</a>"),
            _ => Answer::not_found(),
        }),
        Options::default(),
    )
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let seed = format!("{}/", server.origin(0));
    let (code, printed) = check(
        folder.path(),
        &[&seed, "-o", "c", "--allow-private", "--delay", "0s"],
    );
    assert_eq!(code, 0, "{printed}");
    assert!(
        printed.starts_with("No link is broken: 2 pages, 2 link targets"),
        "{printed}"
    );
    let (code, printed) = check(folder.path(), &["nowhere"]);
    assert_eq!(code, 2);
    assert!(
        printed.contains("or the directory of an earlier check"),
        "{printed}"
    );
}
