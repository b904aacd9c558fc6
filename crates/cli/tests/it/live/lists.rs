//! Seeds and scope out of files and standard input, and URLs that differ only in tracking.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use turnstone_lab::serve::{Answer, Handle, Options, Web, start};
use turnstone_pagestore::{PageState, Store};

use super::audit;
use super::crawler::Crawler;

const ARGUMENTS: &str = "--allow-private --delay 0s --policy breadth-first";

/// Two hosts; each home page links to two pages here and one there.
fn serve() -> Handle {
    let web = Web::custom(2, |request| match request.path {
        "/robots.txt" => Answer::not_found(),
        "/" => {
            let other = &request.origins[1 - request.host];
            Answer::html(format!(
                "<a href=/a>a</a><a href=/b/c>c</a><a href={other}/d>d</a>"
            ))
        }
        path => Answer::html(format!("<p>{path} of {}", request.host)),
    });
    start(web, Options::default()).unwrap()
}

fn stored(crawler: &Crawler) -> Vec<String> {
    let store = Store::look(&crawler.directory()).unwrap();
    let pages = audit::pages(&store);
    let stored = pages
        .into_iter()
        .filter(|(_, state)| *state == PageState::Fetched);
    let mut stored: Vec<String> = stored.map(|(url, _)| url).collect();
    stored.sort();
    stored
}

#[test]
fn seeds_and_rules_come_out_of_files_and_stay() {
    let server = serve();
    let (here, there) = (server.origin(0), server.origin(1));
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let seeds = format!("# two\n\n{here}/\n{there}/  # the other\n{here}/\n");
    fs::write(
        path("seeds"),
        zstd::encode_all(seeds.as_bytes(), 0).unwrap(),
    )
    .unwrap();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed
        .write_all(format!("{there}/d\n{here}/b/\n").as_bytes())
        .unwrap();
    fs::write(path("out"), packed.finish().unwrap()).unwrap();
    let arguments = format!(
        "--seeds {} --exclude-list {} {ARGUMENTS}",
        path("seeds"),
        path("out")
    );
    let crawler = Crawler::new(&format!("{arguments} --until requests=1"));
    crawler.finish();
    drop(folder);
    // The directory has all it needs; the files are not there any more.
    let crawler = Crawler::resume(crawler, "--until pages=100");
    crawler.finish();
    let mut expect: Vec<String> = vec![
        format!("{here}/"),
        format!("{here}/a"),
        format!("{here}/d"),
        format!("{there}/"),
        format!("{there}/a"),
        format!("{there}/b/c"),
    ];
    expect.sort();
    assert_eq!(stored(&crawler), expect);
    let why = Command::new(env!("CARGO_BIN_EXE_turnstone"))
        .args([
            "why",
            &crawler.directory().display().to_string(),
            &format!("{here}/b/c"),
        ])
        .output()
        .unwrap();
    let why = String::from_utf8(why.stdout).unwrap();
    assert!(
        why.contains(&format!("scope exclude list: {here}/b/")),
        "{why}"
    );
    // Another list takes its place, and seeds on it are not asked for.
    let list = crawler.directory().join("other");
    fs::write(&list, format!("{there}/\n{here}/a\n")).unwrap();
    let more = format!("--exclude-list {}", list.display());
    let crawler = Crawler::resume(crawler, &more);
    crawler.finish();
    assert!(
        crawler
            .said()
            .contains("the exclude list keeps out 1 of the seeds"),
        "{}",
        crawler.said()
    );
    let store = Store::look(&crawler.directory()).unwrap();
    let index = store.index();
    let outside = index
        .seeds()
        .iter()
        .filter(|page| index.is_outside(**page))
        .count();
    assert_eq!((index.seeds().len(), outside), (2, 1));
    drop(store);
    assert!(
        stored(&crawler).contains(&format!("{here}/b/c")),
        "it is in scope now"
    );
}

#[test]
fn standard_input_names_seeds_and_errors_name_the_line() {
    let server = serve();
    let folder = tempfile::tempdir().unwrap();
    let run = |input: &str, more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_turnstone"));
        command
            .args(["crawl", "--seeds", "-", "--output"])
            .arg(folder.path().join("crawl"));
        command
            .args(ARGUMENTS.split(' '))
            .args(["--until", "pages=1"])
            .args(more);
        let pipes = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, said) = run(&format!("{}/\nno host\n", server.origin(0)), &[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("standard input:2: 'no host': not a host name"),
        "{said}"
    );
    let (code, said) = run("", &["--exclude-list", "-"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("standard input can be read once"), "{said}");
    assert_eq!(server.request_count(), 0);
    let (code, said) = run(&format!("{}/\n", server.origin(0)), &[]);
    assert_eq!(code, Some(0), "{said}");
    let lists = folder.path().join("crawl/lists/seeds.txt");
    assert_eq!(
        fs::read_to_string(lists).unwrap(),
        format!("{}/\n", server.origin(0))
    );
}

#[test]
fn twins_by_tracking_are_one_page_if_asked() {
    for (flag, expect) in [("", 5), ("--strip-tracking", 3)] {
        let server = start(
            Web::custom(1, |request| match request.path {
                "/robots.txt" => Answer::not_found(),
                "/" => Answer::html("<a href=/a>a</a><a href=/a?gclid=1>b</a><a href=/a?utm_source=x>c</a><a href=/a?id=1>d</a>"),
                path => Answer::html(format!("<p>{path}")),
            }),
            Options::default(),
        )
        .unwrap();
        let crawler = Crawler::new(&format!(
            "{}/ {ARGUMENTS} --until pages=9 {flag}",
            server.origin(0)
        ));
        crawler.finish();
        assert_eq!(
            stored(&crawler).len(),
            expect,
            "{flag}: {:?}",
            stored(&crawler)
        );
        let crawler = Crawler::resume(crawler, "");
        crawler.finish();
        assert_eq!(
            stored(&crawler).len(),
            expect,
            "{flag}: the directory remembers"
        );
    }
}
