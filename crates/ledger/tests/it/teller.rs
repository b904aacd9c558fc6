//! A crawl told by hand: pages by number, breadth first.

use std::path::Path;

use turnstone_frontier::{Change, Event, Fault, Links, Next, PageId, Policy, Ranking, Tick};
use turnstone_ledger::{Flips, Ledger, Opened, Past, Terms, flips, sow};
use turnstone_pagestore::{Entry, Facts, NewPage, Settled, Store};
use turnstone_urls::scope::{Scope, ScopeRules};
use turnstone_urls::{KeyOptions, Url, host_of};

/// First found, first asked for; counts what it is told.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct InOrder {
    pub(crate) pages: u64,
    /// Links that counted.
    pub(crate) links: u64,
    /// Links that nobody saw.
    pub(crate) unseen: u64,
    pub(crate) rounds: u64,
}

impl Policy for InOrder {
    fn observe(&mut self, event: &Event<'_>, _: Tick, _: &dyn Links, ranking: &mut Ranking) {
        match *event {
            Event::Discovered { page, .. } => {
                self.pages += 1;
                ranking.set(page, u64::MAX - u64::from(page.0));
            }
            Event::Fetched { page, links, .. } => {
                self.links += links.len() as u64;
                ranking.park(page);
            }
            Event::Unseen { links, .. } => self.unseen = self.unseen.saturating_add(links),
            Event::Round { .. } => self.rounds += 1,
            Event::Failed {
                page,
                fault: Fault::Lost,
            } => ranking.queue(page),
            _ => {}
        }
    }

    fn save(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
        use turnstone_frontier::Save as _;
        [self.pages, self.links, self.unseen, self.rounds]
            .iter()
            .try_for_each(|number| number.save(out))
    }

    fn restore(&mut self, saved: &mut dyn std::io::Read) -> std::io::Result<()> {
        use turnstone_frontier::Restore as _;
        self.pages = u64::restore(saved)?;
        self.links = u64::restore(saved)?;
        self.unseen = u64::restore(saved)?;
        self.rounds = u64::restore(saved)?;
        Ok(())
    }
}

pub(crate) fn scope(exclude: &[&str], hosts: &[&str]) -> Scope {
    let list = |words: &[&str]| words.iter().map(ToString::to_string).collect();
    Scope::new(ScopeRules {
        hosts: list(hosts),
        exclude: list(exclude),
        ..ScopeRules::default()
    })
    .unwrap()
}

pub(crate) fn terms(question: &str, scope: &Scope) -> Terms {
    Terms {
        question: question.into(),
        policy: "in order".into(),
        past: Past::All,
        pattern_trust: None,
        sitemaps: false,
        scope: scope.to_string(),
    }
}

/// Opens the crawl of a folder, made if it is not there.
pub(crate) fn open(
    folder: &Path,
    terms: Terms,
    within: &Scope,
    anew: bool,
) -> (Ledger<InOrder>, Opened) {
    let store = match folder.join("store/journal").exists() {
        true => Store::open(folder, "a test").unwrap(),
        false => {
            let mut store = Store::create(folder, "a test").unwrap();
            let seed = Url::parse("http://a.example/0").unwrap();
            sow(&mut store, &[seed], &KeyOptions::default(), Tick(0));
            store
        }
    };
    let tick = store.index().latest();
    let find = |store: &Store| -> Result<Flips, _> { flips(store, within) };
    Ledger::open(store, terms, anew, tick, find, |_| InOrder::default()).unwrap()
}

/// The page of a URL, found now if it is new.
pub(crate) fn page(ledger: &mut Ledger<InOrder>, within: &Scope, url: &str, tick: Tick) -> PageId {
    let key = ledger.store().keyer().key(url);
    if let Some(page) = ledger.index().find(key) {
        return page;
    }
    let parsed = Url::parse(url).unwrap();
    let host = ledger.host(tick, host_of(&parsed));
    let new = NewPage {
        key,
        url,
        host,
        seed: false,
        outside: within.check(&parsed, 1).is_err(),
        listed: false,
        depth: 1,
        refused: ("", ""),
        metadata: &[],
    };
    ledger.add(tick, new)
}

/// Hands out the next page and settles it with these links. Returns its URL.
pub(crate) fn fetch(
    ledger: &mut Ledger<InOrder>,
    within: &Scope,
    tick: Tick,
    links: &[&str],
) -> String {
    let Next::Fetch(asked) = ledger.next(tick) else {
        panic!("nothing is left at {tick:?}");
    };
    let links: Vec<PageId> = links
        .iter()
        .map(|url| page(ledger, within, url, tick))
        .collect();
    let facts = Facts {
        requests: 1,
        ..Facts::default()
    };
    ledger.settle(tick, asked, Settled::Fetched(Change::New), &links, facts);
    ledger.store().url(asked).unwrap()
}

pub(crate) fn session(ledger: &mut Ledger<InOrder>, tick: Tick) {
    let entry = Entry::Session {
        wall_ms: 1,
        boot: "",
        boot_ms: 0,
        delay_ms: 0,
        open_max: 8,
        policy: "",
    };
    ledger.tell(tick, &entry);
}
