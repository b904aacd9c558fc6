//! `turnstone scope`: what belongs to a crawl is changed between two runs, without asking anybody.

use turnstone_lab::serve::{Answer, Options, Web, start};
use turnstone_pagestore::Lock;

use super::crawler::Crawler;
use crate::run::turnstone;

#[test]
fn a_scope_is_changed_without_a_request() {
    let web = Web::custom(1, |request| match request.path {
        "/" => {
            let links = (0..10).flat_map(|n| [format!("/a/{n}"), format!("/b/{n}")]);
            Answer::html(
                links
                    .map(|path| format!("<a href={path}>x</a>\n"))
                    .collect::<String>(),
            )
        }
        path if path.starts_with("/a/") || path.starts_with("/b/") => {
            Answer::html(format!("<p>{path} is here"))
        }
        _ => Answer::not_found(),
    });
    let server = start(web, Options::default()).unwrap();
    let arguments = format!(
        "{}/ --allow-private --delay 0s --no-warc --connections 1 --policy breadth-first",
        server.origin(0)
    );
    let crawler = Crawler::new(&arguments);
    crawler.finish_with(&["--until", "pages=1"]);
    let directory = crawler.directory();
    let scope = |more: &[&str]| {
        let mut all = vec!["scope".to_owned(), directory.display().to_string()];
        all.extend(more.iter().map(|&it| it.to_owned()));
        turnstone(&directory, &all.join(" "))
    };
    let asked = |prefix: &str| {
        let requests = server.requests();
        requests
            .iter()
            .filter(|it| it.path.starts_with(prefix))
            .count()
    };

    let before = server.requests().len();
    let told = scope(&["--exclude", "/a/"]);
    assert!(told.out.contains("10 known pages left it"), "{}", told.out);
    assert_eq!(server.requests().len(), before, "nobody is asked");
    crawler.finish_with(&["--until", "all"]);
    assert_eq!((asked("/a/"), asked("/b/")), (0, 10));

    let held = Lock::take(&directory, "somebody").unwrap();
    let told = scope(&["--drop", "/a/"]);
    assert!(
        told.err.contains("somebody works in it; end that one"),
        "{}",
        told.err
    );
    drop(held);
    let told = scope(&["--drop", "/b/"]);
    assert!(told.err.contains("there is no such rule"), "{}", told.err);

    let told = scope(&["--drop", "/a/"]);
    assert!(
        told.out.contains("10 known pages came into the scope"),
        "{}",
        told.out
    );
    crawler.finish_with(&["--until", "all"]);
    assert_eq!((asked("/a/"), asked("/b/")), (10, 10), "each once");
    let rules = scope(&[]);
    assert!(
        rules.out.contains("host") && !rules.out.contains("/a/"),
        "{}",
        rules.out
    );
}
