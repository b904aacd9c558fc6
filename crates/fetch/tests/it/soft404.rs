//! Soft 404: small sites that lie in different ways, and what we make of them.

use expect_test::expect;
use turnstone_fetch::html::{PageInput, PageLimits, read_page};
use turnstone_fetch::soft404::{
    HostEvidence, PageFacts, SoftOptions, Verdict, directory_of, judge, probe_url, says_not_found,
};
use url::Url;

const DAY: u64 = 24 * 3600;

fn url(path: &str) -> Url {
    Url::parse(&format!("http://site.example{path}")).unwrap()
}

/// What a site answers: status, where it lands, body.
type Site = fn(&str) -> (u16, String, String);

fn article(path: &str) -> String {
    let words: Vec<String> = (0..80u32)
        .map(|i| format!("{}word{}", &path[1..3], i * i * 7 % 61))
        .collect();
    format!(
        "<title>About {path}</title><nav>Home News</nav>{}",
        words.join(" ")
    )
}

fn fetch(site: Site, path: &str) -> PageFacts {
    let (status, landed, body) = site(path);
    let landed = url(&landed);
    let input = PageInput {
        url: &landed,
        content_type: None,
        body: body.as_bytes(),
        agent: "turnstone",
    };
    PageFacts::of_page(
        &url(path),
        &landed,
        status,
        &read_page(input, &PageLimits::default()),
    )
}

/// Judges paths in order as a crawler would, and counts the probes it took.
fn run(site: Site, paths: &[&str]) -> String {
    let mut host = HostEvidence::default();
    let mut probes = 0;
    let mut out = Vec::new();
    for path in paths {
        let facts = fetch(site, path);
        host.add_page(&facts);
        let verdict = loop {
            match judge(
                &facts,
                &host,
                100,
                0x1234_5678_9ABC ^ probes,
                &SoftOptions::default(),
            ) {
                Verdict::Probe { url, directory } => {
                    probes += 1;
                    host.add_probe(&directory, fetch(site, url.path()), 100);
                }
                verdict => break verdict,
            }
        };
        let (word, evidence) = match verdict {
            Verdict::Alive(e) => ("alive", e),
            Verdict::HardGone(e) => ("gone (honest)", e),
            Verdict::SoftGone(e) => ("gone", e),
            Verdict::Unknown(e) => ("unknown", e),
            Verdict::Probe { .. } => unreachable!(),
        };
        let evidence: Vec<String> = evidence.iter().map(ToString::to_string).collect();
        out.push(format!("{path} {word}: {}", evidence.join("; ")));
    }
    out.push(format!("{probes} probes"));
    out.join("\n")
}

const ERROR: &str = "<title>Oops</title><nav>Home News</nav>Something went wrong with this address, please use the search above.";

#[test]
fn q1_an_honest_host_is_believed_after_one_probe_per_directory() {
    let site: Site = |path| {
        if path.starts_with("/a/page") {
            (200, path.into(), article(path))
        } else {
            (404, path.into(), ERROR.into())
        }
    };
    expect![[r#"
        /a/page1 alive: a random sibling got an honest 404
        /a/page2 alive: a random sibling got an honest 404
        /a/gone gone (honest): the server answered 404
        1 probes"#]]
    .assert_eq(&run(site, &["/a/page1", "/a/page2", "/a/gone"]));
}

#[test]
fn q1_error_pages_with_status_200_are_found_by_their_text() {
    let site: Site = |path| match path {
        "/" | "/a/real" => (200, path.into(), article("/front")),
        _ => (
            200,
            path.into(),
            format!(
                "{ERROR} You asked for {path}. Reference 8f3a{}.",
                path.len() * 7919
            ),
        ),
    };
    expect![[r#"
        / alive: the front page of a host is never judged
        /a/real alive: text differs from a random sibling's in 28 of 64 bits; its title is not that of a random sibling
        /a/old-story.html gone: text differs from a random sibling's in 0 of 64 bits
        /a/older-story.html gone: text differs from a random sibling's in 0 of 64 bits
        1 probes"#]]
    .assert_eq(&run(site, &["/", "/a/real", "/a/old-story.html", "/a/older-story.html"]));
}

#[test]
fn q1_redirects_home_and_to_an_error_page() {
    let home: Site = |path| {
        if path == "/a/real" {
            (200, path.into(), article(path))
        } else {
            (200, "/".into(), article("/front"))
        }
    };
    expect![[r#"
        /a/real alive: text differs from a random sibling's in 27 of 64 bits; its title is not that of a random sibling
        /a/old gone: redirected to http://site.example/, as a random sibling was
        1 probes"#]]
    .assert_eq(&run(home, &["/a/real", "/a/old"]));
    // Honest about random names, but retired pages are sent home.
    let retired: Site = |path| match path {
        "/a/1" | "/a/2" | "/a/3" => (200, "/".into(), article("/front")),
        "/a/moved" => (200, "/b/new".into(), article(path)),
        _ => (404, path.into(), ERROR.into()),
    };
    expect![[r#"
        /a/1 unknown: redirected to the front page
        /a/2 unknown: redirected to the front page
        /a/3 gone: redirected to the front page; 3 pages were redirected there
        /a/moved alive: a random sibling got an honest 404
        1 probes"#]]
    .assert_eq(&run(retired, &["/a/1", "/a/2", "/a/3", "/a/moved"]));
}

#[test]
fn q2_a_login_wall_is_not_death() {
    let wall: Site = |path| {
        match path {
        "/login" => (200, path.into(), "<title>Sign in</title>Please sign in to go on reading with us today.<input type=password>".into()),
        "/a/free" => (200, path.into(), article(path)),
        _ => (200, format!("/login?next={path}"), "<title>Sign in</title>Please sign in to go on reading with us today.<input type=password>".into()),
    }
    };
    expect![[r#"
        /a/x unknown: behind a login page
        /a/free alive: a random sibling is behind a login page, this page is not
        /login alive: a random sibling is behind a login page, this page is not
        2 probes"#]]
    .assert_eq(&run(wall, &["/a/x", "/a/free", "/login"]));
    let inline: Site = |path| {
        (200, path.into(), "<title>Sign in</title>Please sign in to go on reading with us today.<input type=password>".into())
    };
    expect![[r#"
        /a/x unknown: behind a login page
        1 probes"#]]
    .assert_eq(&run(inline, &["/a/x"]));
}

#[test]
fn pages_made_by_scripts_and_pages_made_from_any_name_live() {
    let shell: Site = |path| {
        (
            200,
            path.into(),
            "<title>App</title><div id=root></div>Please enable JavaScript".into(),
        )
    };
    expect![[r#"
        /a/x unknown: too little text to compare
        1 probes"#]]
    .assert_eq(&run(shell, &["/a/x"]));
    let any: Site = |path| (200, path.into(), article(path).replace("/a", "/b"));
    let shown = run(any, &["/xy/someone", "/zz/someone-else"]);
    assert!(!shown.contains(" gone"), "{shown}");
}

#[test]
fn probes_keep_the_shape_and_count_for_a_day() {
    let probe = |path| probe_url(&url(path), 7).map(|u| u.to_string());
    assert_eq!(probe("/"), None);
    let asked = probe("/a/b/story.html?x=1").unwrap();
    assert!(
        asked.starts_with("http://site.example/a/b/") && asked.ends_with(".html"),
        "{asked}"
    );
    assert!(probe("/a/b/").unwrap().ends_with('/'));
    assert_ne!(probe_url(&url("/a/x"), 1), probe_url(&url("/a/x"), 2));
    assert_eq!(
        directory_of(&url("/a/b/story.html")),
        "http://site.example/a/b/"
    );
    assert_eq!(directory_of(&url("/a/b/")), "http://site.example/a/");
    assert_eq!(directory_of(&url("/about")), "http://site.example/");

    let facts = PageFacts::of_status(&url("/a/x"), &url("/a/x"), 404);
    let mut host = HostEvidence::default();
    host.add_probe("http://site.example/a/", facts.clone(), 100);
    let alive = PageFacts::of_status(&url("/a/y"), &url("/a/y"), 200);
    let at = |host: &HostEvidence, now| judge(&alive, host, now, 1, &SoftOptions::default());
    assert!(matches!(at(&host, 99 + DAY), Verdict::Alive(_)));
    assert!(matches!(at(&host, 100 + DAY), Verdict::Probe { .. }));
    for i in 0..4 {
        host.add_probe(&format!("http://site.example/{i}/"), facts.clone(), 100);
    }
    assert!(
        matches!(at(&host, 100 + DAY), Verdict::Alive(_)),
        "five honest directories vouch for the host"
    );
    let failed = PageFacts::of_status(&url("/a/x"), &url("/a/x"), 503);
    host.add_probe("http://site.example/a/", failed.clone(), 100);
    assert!(matches!(at(&host, 101), Verdict::Unknown(_)));
    assert!(matches!(
        judge(&failed, &host, 101, 1, &SoftOptions::default()),
        Verdict::Unknown(_)
    ));
}

#[test]
fn phrases_are_the_last_straw() {
    assert!(
        says_not_found("Seite nicht gefunden - Haus") && says_not_found("ページが見つかりません")
    );
    assert!(!says_not_found("Peugeot 404: a review"));
}
