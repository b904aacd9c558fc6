//! Shards of one crawl, each a ledger of its own on a real journal, killed at any moment: mass is conserved to
//! the last bit, transfers are applied exactly once, and in the end the crawl is what one ledger makes of it.
//!
//! A schedule drawn by seed says who asks, sends, writes, syncs, receives or dies next. A kill takes what was
//! not written; a loss of power also takes any part of what was not synced, in the middle of an entry too.
//! Only what is durable is carried from one shard to another.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use turnstone_cluster::Shard;
use turnstone_cluster::channel::Admission;
use turnstone_frontier::{Change, Coverage, Fault, Next, PageId, Tick};
use turnstone_ledger::{CrossError, Flips, Ledger, LedgerError, Past, Terms, cut, sow};
use turnstone_pagestore::{Entry, Facts, NewPage, PageState, Position, Settled, Store};
use turnstone_policy::coverage::{self, CoveragePolicy, Goal, Trust};
use turnstone_policy::mass::Fraction;
use turnstone_urls::{KeyOptions, Url, canonical_key, host_of};

type Boxed = Box<dyn CoveragePolicy>;

const SECRET: [u8; 16] = [9; 16];
const PAGES: usize = 60;
const SITES: usize = 7;
const SEEDS: usize = 3;

/// Numbers by a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }
}

enum Reply {
    Page(Vec<usize>),
    Gone,
    Moved(usize),
}

/// A web of several sites with dead pages and redirects that lead onwards only.
struct Web(Vec<Reply>);

impl Web {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let reply = |page: usize| match dice.roll(10) {
            0 if page >= SEEDS => Reply::Gone,
            // A seed may be dead too, as long as one is not.
            1 if page == 1 => Reply::Gone,
            2 if page + 1 < PAGES => Reply::Moved(page + 1),
            _ => {
                let links = (0..dice.roll(7)).map(|_| dice.roll(PAGES as u64) as usize);
                let links: BTreeSet<usize> = links.collect();
                Reply::Page(links.into_iter().collect())
            }
        };
        Self((0..PAGES).map(reply).collect())
    }
}

fn url(page: usize) -> Url {
    Url::parse(&format!("http://www.s{}.example/{page}", page % SITES)).unwrap()
}

fn number(url: &str) -> usize {
    url.rsplit('/').next().unwrap().parse().unwrap()
}

fn goal() -> Goal {
    Goal {
        epsilon: Fraction::new(1e-4).unwrap(),
        ..Goal::default()
    }
}

fn policy() -> Boxed {
    let seeds: Vec<PageId> = (0..SEEDS).map(PageId::from_index).collect();
    let trust = Trust::alike(seeds).unwrap();
    coverage::build(&"rankmass".parse().unwrap(), &trust, goal()).unwrap()
}

fn terms(scope: &str) -> Terms {
    Terms {
        question: "crawl".into(),
        policy: "rankmass".into(),
        past: Past::All,
        pattern_trust: None,
        sitemaps: false,
        scope: scope.into(),
    }
}

fn open(folder: &Path, shard: Option<(u32, u32)>) -> Result<Ledger<Boxed>, LedgerError> {
    open_as(folder, shard, "everything")
}

fn open_as(
    folder: &Path,
    shard: Option<(u32, u32)>,
    scope: &str,
) -> Result<Ledger<Boxed>, LedgerError> {
    let store = match folder.join("store/journal").exists() {
        true => Store::open(folder, "a test").unwrap(),
        false => {
            let mut store = Store::create_shard(folder, "a test", SECRET).unwrap();
            if let Some((shard, shards)) = shard {
                cut(&mut store, shard, shards, Tick(0));
            }
            let seeds: Vec<Url> = (0..SEEDS).map(url).collect();
            sow(&mut store, &seeds, &KeyOptions::default(), Tick(0));
            store
        }
    };
    let tick = store.index().latest();
    let flips = |_: &Store| Ok(Flips::default());
    let (mut ledger, _) = Ledger::open(store, terms(scope), false, tick, flips, |_| policy())?;
    let tick = ledger.index().latest();
    let session = Entry::Session {
        wall_ms: 1,
        boot: "",
        boot_ms: 0,
        delay_ms: 0,
        open_max: 8,
        policy: "",
    };
    ledger.tell(tick, &session);
    let open: Vec<PageId> = ledger.store().pages_in(PageState::InFlight).collect();
    for page in open {
        let lost = Settled::Failed(Fault::Lost);
        ledger.settle(tick, page, lost, &[], Facts::default());
    }
    ledger.store_mut().write().unwrap();
    Ok(ledger)
}

/// The page of a URL, found now if it is new.
fn page_of(ledger: &mut Ledger<Boxed>, tick: Tick, page: usize) -> PageId {
    let url = url(page);
    let key = ledger.store().keyer();
    let key = key.key(&canonical_key(&url, &KeyOptions::default()));
    if let Some(page) = ledger.index().find(key) {
        return page;
    }
    let host = ledger.host(tick, host_of(&url));
    let new = NewPage {
        key,
        url: url.as_str(),
        host,
        seed: false,
        outside: false,
        listed: false,
        depth: 1,
        refused: ("", ""),
        metadata: &[],
    };
    ledger.add(tick, new)
}

/// Asks for one page, if there is one.
fn ask(ledger: &mut Ledger<Boxed>, web: &Web) -> bool {
    let mut tick = Tick(ledger.index().latest().0 + 1);
    let asked = loop {
        match ledger.next(tick) {
            Next::Fetch(page) => break page,
            Next::WaitUntil(later) => tick = later,
            Next::Empty => return false,
        }
    };
    let away = ledger.index().away(ledger.index().host(asked));
    assert_eq!(away, None, "a page of another shard was handed out");
    let facts = Facts {
        requests: 1,
        ..Facts::default()
    };
    match &web.0[number(&ledger.store().url(asked).unwrap())] {
        Reply::Gone => ledger.settle(tick, asked, Settled::Failed(Fault::Gone), &[], facts),
        Reply::Moved(to) => {
            let to = page_of(ledger, tick, *to);
            ledger.settle(tick, asked, Settled::Moved(to), &[], facts);
        }
        Reply::Page(links) => {
            let links: Vec<PageId> = links.iter().map(|to| page_of(ledger, tick, *to)).collect();
            ledger.settle(tick, asked, Settled::Fetched(Change::New), &links, facts);
        }
    }
    true
}

struct Node {
    folder: PathBuf,
    shard: (u32, u32),
    ledger: Option<Ledger<Boxed>>,
    durable: Position,
}

impl Node {
    fn ledger(&mut self) -> &mut Ledger<Boxed> {
        self.ledger.as_mut().unwrap()
    }

    fn look(&self) -> &Ledger<Boxed> {
        self.ledger.as_ref().unwrap()
    }

    fn sync(&mut self) {
        let store = self.ledger().store_mut();
        store.write().unwrap();
        // The disk is the test's: it keeps what it is told to.
        self.durable = store.end();
    }

    /// The process ends without a word; with `power` the disk forgets some of what was never synced.
    fn die(&mut self, power: Option<&mut Dice>) {
        self.ledger = None;
        if let Some(dice) = power {
            let journal = self.folder.join("store/journal");
            let file = OpenOptions::new().write(true).open(journal).unwrap();
            let length = file.metadata().unwrap().len();
            let kept = length - dice.roll(length - self.durable.0 + 1);
            file.set_len(kept).unwrap();
        }
        self.ledger = Some(open(&self.folder, Some(self.shard)).unwrap());
    }
}

/// Carries the next durable transfer from one shard to another. Whether there was one.
fn carry(nodes: &mut [Node], from: usize, to: usize) -> bool {
    let sender = Shard(u32::try_from(from).unwrap());
    let lane = nodes[from]
        .look()
        .lane_of(Shard(u32::try_from(to).unwrap()));
    let inbox = nodes[to].look().crossings().unwrap().inbox();
    let next = inbox.known(sender).number + 1;
    let durable = nodes[from].durable;
    let Some(bytes) = nodes[from].look().transfer(lane, next, durable).unwrap() else {
        return false;
    };
    let tick = Tick(nodes[to].look().index().latest().0 + 1);
    let ledger = nodes[to].ledger();
    let came = ledger.receive(tick, &bytes, |_| None).unwrap();
    assert!(matches!(came, Admission::Apply(_)), "{came:?}");
    let again = ledger.receive(tick, &bytes, |_| None).unwrap();
    assert_eq!(again, Admission::Skip, "a transfer counts once");
    true
}

fn check(nodes: &[Node]) -> Coverage {
    let mut total = 0;
    for node in nodes {
        let masses = node.look().masses().unwrap();
        assert!(masses.balanced(), "{masses:?}");
        total += masses.total();
        for other in nodes {
            if node.shard != other.shard {
                node.look().check_pair(other.look()).unwrap();
            }
        }
    }
    assert_eq!(
        total,
        i128::from(Coverage::ONE),
        "mass appeared or vanished"
    );
    let masses = nodes.iter().map(|node| node.look().masses().unwrap());
    Coverage::of_shards(masses, goal().mass())
}

fn found(root: &Path, shards: u32) -> Vec<Node> {
    let node = |shard| {
        let folder = root.join(format!("shards/{shard}"));
        let mut node = Node {
            ledger: Some(open(&folder, Some((shard, shards))).unwrap()),
            shard: (shard, shards),
            folder,
            durable: Position::FIRST,
        };
        node.sync();
        node
    };
    (0..shards).map(node).collect()
}

fn stored(ledger: &Ledger<Boxed>) -> BTreeSet<usize> {
    let pages = ledger.store().pages_in(PageState::Fetched);
    pages
        .map(|page| number(&ledger.store().url(page).unwrap()))
        .collect()
}

/// What a run came to.
struct Ran {
    coverage: Coverage,
    stored: BTreeSet<usize>,
    sent: u64,
}

fn run(seed: u64, shards: u32, deaths: bool) -> Ran {
    let root = tempfile::tempdir().unwrap();
    let web = Web::new(seed);
    let mut dice = Dice(seed ^ 0xabcd);
    let mut nodes = found(root.path(), shards);
    let count = nodes.len() as u64;
    for _ in 0..250 {
        let (me, other) = (dice.roll(count) as usize, dice.roll(count) as usize);
        let tick = Tick(nodes[me].look().index().latest().0);
        match dice.roll(12) {
            0..=3 => drop(ask(nodes[me].ledger(), &web)),
            4 => drop(nodes[me].ledger().send(tick, 0).unwrap()),
            // Only what is worth it: the rest stays under way.
            5 => drop(nodes[me].ledger().send(tick, 1 << 57).unwrap()),
            6 => nodes[me].ledger().store_mut().write().unwrap(),
            7 => nodes[me].sync(),
            8 | 9 if me != other => drop(carry(&mut nodes, other, me)),
            10 if deaths => nodes[me].die(Some(&mut dice)),
            11 if deaths => nodes[me].die(None),
            10 => {
                nodes[me].ledger().checkpoint().unwrap();
                nodes[me].durable = nodes[me].look().store().end();
            }
            _ => {}
        }
        check(&nodes);
    }
    // To the end.
    for turn in 0..400 {
        let mut busy = false;
        for me in 0..nodes.len() {
            while ask(nodes[me].ledger(), &web) {
                busy = true;
            }
            let ledger = nodes[me].ledger();
            let tick = Tick(ledger.index().latest().0);
            let news = ledger.crossings().unwrap().has_news();
            let away = ledger.scheduler().ranking().away_total();
            if news || away > u128::from(Coverage::ONE >> 26) {
                busy |= ledger.send(tick, 0).unwrap() > 0;
            }
            nodes[me].sync();
            if deaths && turn < 5 {
                nodes[me].die(None);
            }
            for from in 0..nodes.len() {
                while from != me && carry(&mut nodes, from, me) {
                    busy = true;
                }
            }
        }
        if !busy {
            break;
        }
    }
    let mut all = BTreeSet::new();
    for node in &nodes {
        for page in stored(node.look()) {
            assert!(all.insert(page), "two shards stored page {page}");
        }
    }
    let sent = nodes.iter().map(|node| {
        let crossings = node.look().crossings().unwrap();
        let lanes = (0..shards).map(|lane| crossings.outbox().number(lane));
        lanes.sum::<u64>()
    });
    Ran {
        sent: sent.sum(),
        coverage: check(&nodes),
        stored: all,
    }
}

/// The same crawl by one ledger that was never cut.
fn whole(seed: u64) -> Ran {
    let root = tempfile::tempdir().unwrap();
    let mut ledger = open(root.path(), None).unwrap();
    let web = Web::new(seed);
    while ask(&mut ledger, &web) {}
    assert_eq!(ledger.masses(), None, "only shards have such an account");
    Ran {
        coverage: ledger.coverage().unwrap(),
        stored: stored(&ledger),
        sent: 0,
    }
}

#[test]
fn shards_that_are_killed_at_any_moment_prove_what_one_ledger_proves() {
    let mut sent = 0;
    for seed in 0..24 {
        let one = whole(seed);
        assert!(one.coverage.met(), "seed {seed}: {:?}", one.coverage);
        for shards in [1, 2, 4] {
            let ran = run(seed, shards, seed % 4 != 3);
            let note = format!("seed {seed}, {shards} shards: {:?}", ran.coverage);
            assert!(ran.coverage.met(), "{note}");
            // What neither stored is worth less than what is left open.
            let missing: Vec<&usize> = one.stored.difference(&ran.stored).collect();
            assert!(missing.len() <= 2, "{note}: missing {missing:?}");
            assert_eq!(shards > 1, ran.sent > 0, "{note}");
            sent += ran.sent;
        }
    }
    assert!(sent > 500, "only {sent} transfers");
}

/// One shard alone decides as a crawl that was never cut, page for page.
#[test]
fn one_shard_decides_like_a_whole_crawl() {
    let hand_outs = |ledger: &Ledger<Boxed>| {
        let mut scan = ledger.store().scan(Position::FIRST);
        let mut pages = Vec::new();
        while let Some((_, _, entry)) = scan.next().unwrap() {
            if let Entry::HandOut { page } = entry {
                pages.push(number(&ledger.store().url(page).unwrap()));
            }
        }
        pages
    };
    for seed in 0..10 {
        let web = Web::new(seed);
        let (one, cut) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut one = open(one.path(), None).unwrap();
        let mut cut = open(cut.path(), Some((0, 1))).unwrap();
        for ledger in [&mut one, &mut cut] {
            while ask(ledger, &web) {}
            if ledger.crossings().is_some() {
                assert_eq!(ledger.send(Tick(99), 0).unwrap(), 0);
            }
            ledger.store_mut().write().unwrap();
        }
        assert_eq!(hand_outs(&one), hand_outs(&cut), "seed {seed}");
    }
}

/// Two shards between which something was sent and received.
fn pair(root: &Path) -> Vec<Node> {
    let web = Web::new(1);
    let mut nodes = found(root, 2);
    for _ in 0..20 {
        for me in 0..2 {
            ask(nodes[me].ledger(), &web);
            let tick = Tick(nodes[me].look().index().latest().0);
            nodes[me].ledger().send(tick, 0).unwrap();
            nodes[me].sync();
            while carry(&mut nodes, 1 - me, me) {}
            nodes[me].sync();
        }
    }
    nodes
}

#[test]
fn what_is_not_durable_is_not_carried() {
    let root = tempfile::tempdir().unwrap();
    let mut nodes = found(root.path(), 2);
    let web = Web::new(1);
    let sent = (0..2).find(|me| {
        while ask(nodes[*me].ledger(), &web) {}
        nodes[*me].ledger().send(Tick(50), 0).unwrap() > 0
    });
    let from = sent.expect("some link crosses");
    nodes[from].ledger().store_mut().write().unwrap();
    assert!(!carry(&mut nodes, from, 1 - from), "written is not durable");
    nodes[from].sync();
    assert!(carry(&mut nodes, from, 1 - from));
}

/// A journal that was put back to an older state would send the same mass again.
#[test]
fn a_journal_that_lost_what_another_received_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let nodes = pair(root.path());
    let at = nodes[0].look().crossings().unwrap().sent_at(1, 1).unwrap();
    let (folder, shard) = (nodes[0].folder.clone(), nodes[0].shard);
    let mut nodes = nodes.into_iter();
    drop(nodes.next());
    let other = nodes.next().unwrap();
    let journal = folder.join("store/journal");
    let file = OpenOptions::new().write(true).open(journal).unwrap();
    file.set_len(at.0).unwrap();
    let ledger = open(&folder, Some(shard)).unwrap();
    let error = ledger.check_pair(other.look()).unwrap_err();
    assert!(
        matches!(
            error,
            LedgerError::Cross(CrossError::Beyond {
                from: 0,
                to: 1,
                sent: 0,
                ..
            })
        ),
        "{error}"
    );
}

#[test]
fn a_shard_keeps_its_plan() {
    let root = tempfile::tempdir().unwrap();
    drop(pair(root.path()));
    let folder = root.path().join("shards/0");
    assert!(open_as(&folder, Some((0, 2)), "everything").is_ok());
    let error = open_as(&folder, Some((0, 2)), "hosts a.example")
        .err()
        .unwrap();
    assert!(
        matches!(error, LedgerError::Replanned { shard: 0 }),
        "{error}"
    );
}

/// A checkpoint is the same shard: outbox, inbox, who is owed a word.
#[test]
fn a_checkpoint_holds_what_crossed() {
    let root = tempfile::tempdir().unwrap();
    let mut nodes = pair(root.path());
    let mut kept = BTreeMap::new();
    for node in &mut nodes {
        node.ledger().checkpoint().unwrap();
        kept.insert(node.shard, node.look().crossings().unwrap().clone());
    }
    drop(nodes);
    for (shard, before) in kept {
        let folder = root.path().join(format!("shards/{}", shard.0));
        let ledger = open(&folder, Some(shard)).unwrap();
        assert!(ledger.entries() < 40, "the checkpoint served");
        assert_eq!(ledger.crossings(), Some(&before));
    }
}
