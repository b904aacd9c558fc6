//! A crawl directory as a recorded web: what went into the journal comes out of the history.

use std::path::Path;

use turnstone_frontier::{Change, Fault, PageId, Tick};
use turnstone_lab::crawled::{self, SiteHistories, SnapshotBy};
use turnstone_lab::history::{self, History};
use turnstone_lab::web::{self, WebKind};
use turnstone_pagestore::{
    Entry, Facts, Joined, Links, NewPage, Outcome, Position, Settled, Store,
};

const DAY_MS: u64 = 86_400_000;
/// 2026-01-10.
const FIRST_MS: u64 = 20_463 * DAY_MS;

/// A crawl that is written entry by entry.
struct Crawl {
    store: Store,
    wall_ms: u64,
}

impl Crawl {
    fn new(folder: &Path) -> Self {
        let store = Store::create(folder, "a test").unwrap();
        Self {
            store,
            wall_ms: FIRST_MS,
        }
    }

    fn session(&mut self, day: u64) {
        self.wall_ms = FIRST_MS + day * DAY_MS;
        let entry = Entry::Session {
            wall_ms: self.wall_ms,
            boot: "",
            boot_ms: 0,
            delay_ms: 0,
            open_max: 1,
            policy: "p",
        };
        self.store.append(Tick(self.wall_ms - FIRST_MS), &entry);
    }

    fn page(&mut self, url: &str) -> PageId {
        let key = self.store.keyer().key(url);
        let name = url.split('/').nth(2).unwrap();
        let host = self.store.host(Tick(0), name);
        let (seed, depth, refused) = (false, 1, ("", ""));
        let new = NewPage {
            key,
            url,
            host,
            seed,
            outside: false,
            listed: false,
            depth,
            refused,
            metadata: &[],
        };
        self.store.add(Tick(0), new)
    }

    fn settle(&mut self, page: PageId, settled: Settled, text: u64, links: &[PageId]) {
        let mut digest = [0; 20];
        digest[7] = text as u8;
        let facts = Facts {
            status: 200,
            wall_ms: self.wall_ms,
            text_hash: text,
            digest: Some(digest),
            title: format!("title {text}"),
            body_bytes: 100,
            ..Facts::default()
        };
        let outcome = Outcome {
            page,
            settled,
            links: Links::Ids(links),
            before: Position::default(),
            facts,
        };
        self.store.settle(Tick(self.wall_ms - FIRST_MS), outcome);
    }

    fn fetch(&mut self, page: PageId, text: u64, links: &[PageId]) {
        self.settle(page, Settled::Fetched(Change::New), text, links);
    }
}

/// Three days: a and b; then b is gone and c is new; then a changes and b is back.
fn crawl(folder: &Path) -> Store {
    let mut crawl = Crawl::new(folder);
    crawl.session(0);
    let [a, b, old, far] = ["a", "b", "old", "far"].map(|name| {
        let host = if name == "far" { "far" } else { "near" };
        crawl.page(&format!("http://{host}.example/{name}"))
    });
    crawl.settle(old, Settled::Moved(b), 0, &[]);
    crawl.fetch(a, 1, &[a, old, far]);
    crawl.fetch(b, 2, &[]);
    crawl.fetch(far, 9, &[a]);
    crawl.wall_ms += DAY_MS;
    let c = crawl.page("http://near.example/c?q=1");
    let never = crawl.page("http://near.example/never");
    crawl.settle(b, Settled::Failed(Fault::Gone), 0, &[]);
    crawl.settle(a, Settled::Failed(Fault::Unknown), 0, &[]);
    crawl.fetch(c, 3, &[never, a]);
    crawl.session(2);
    crawl.fetch(a, 4, &[c]);
    crawl.fetch(b, 2, &[]);
    crawl.store.write().unwrap();
    crawl.store
}

fn export(store: &Store, folder: &Path, by: SnapshotBy) -> Vec<History> {
    let histories = SiteHistories::read(store, by).unwrap();
    let count = histories.origins().count();
    let one = |number: usize| {
        let path = folder.join(format!("{number}.jsonl.zst"));
        let file = std::fs::File::create(&path).unwrap();
        let counts = histories.write(number, file).unwrap();
        let history = history::read(&path).unwrap();
        assert_eq!(counts.pages as usize, history.page_count());
        assert_eq!(counts.versions as usize, history.versions.len());
        assert_eq!(counts.snapshots as usize, history.snapshots.len());
        history
    };
    (0..count).map(one).collect()
}

/// What each snapshot shows: page and text, in the order of pages.
fn shown(history: &History) -> Vec<String> {
    let mut walk = history.walk();
    let steps = 0..history.snapshots.len();
    steps
        .map(|snapshot| {
            walk.step();
            let pages = walk.present().map(|(page, version)| {
                let text = history.versions[version.index()].text;
                let links: Vec<&str> = history
                    .links_of(version)
                    .iter()
                    .map(|link| history.pages[link.index()].url.as_str())
                    .collect();
                let url = &history.pages[page.index()].url;
                format!("{url}={text}>{}", links.join("+"))
            });
            let pages: Vec<String> = pages.collect();
            format!("{} {}", history.dates[snapshot], pages.join(" "))
        })
        .collect()
}

#[test]
fn days_make_snapshots() {
    let folder = tempfile::tempdir().unwrap();
    let store = crawl(&folder.path().join("c"));
    let histories = export(&store, folder.path(), SnapshotBy::Day);
    let near = &histories[0];
    assert_eq!(
        (near.site.as_str(), near.origin.as_str()),
        ("near.example", "http://near.example/")
    );
    assert_eq!(
        shown(near),
        [
            "2026-01-10 /a=1>/b /b=2>",
            "2026-01-11 /a=1>/b /c?q=1=3>/a",
            "2026-01-12 /a=4>/c?q=1 /b=2> /c?q=1=3>/a",
        ]
    );
    // One link of a leads to another host; one of c to a page never fetched.
    assert_eq!((near.versions[0].offsite, near.versions[0].broken), (1, 0));
    assert_eq!((near.versions[2].offsite, near.versions[2].broken), (0, 1));
    assert_eq!(near.hosts, ["far.example"]);
    assert_eq!(near.versions.len(), 4, "b came back as it was");
    assert_eq!(shown(&histories[1]), ["2026-01-10 /far=9>"]);
}

#[test]
fn so_do_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let store = crawl(&folder.path().join("c"));
    let histories = export(&store, folder.path(), SnapshotBy::Session);
    assert_eq!(
        shown(&histories[0]),
        [
            "2026-01-10 /a=1>/b /c?q=1=3>/a",
            "2026-01-12 /a=4>/c?q=1 /b=2> /c?q=1=3>/a",
        ]
    );
}

#[test]
fn the_link_graph_has_every_known_page() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("c");
    let store = crawl(&directory);
    let web = Joined::of(vec![store]).unwrap();
    let graph = crawled::graph(&web).unwrap();
    drop(web);
    let kind = web::recognise(&directory).unwrap();
    assert_eq!(kind, WebKind::CrawlDirectory(directory.clone()));
    let again = web::open_graph(&directory).unwrap();
    assert_eq!(again.graph, graph.graph);
    let links: Vec<String> = graph
        .graph
        .arcs()
        .map(|(from, to)| format!("{}>{}", graph.name(from), graph.name(to)))
        .collect();
    let expected = [
        "http://near.example/a>http://near.example/c?q=1",
        "http://near.example/old>http://near.example/b",
        "http://far.example/far>http://near.example/a",
        "http://near.example/c?q=1>http://near.example/a",
        "http://near.example/c?q=1>http://near.example/never",
    ];
    assert_eq!(links, expected);
}
