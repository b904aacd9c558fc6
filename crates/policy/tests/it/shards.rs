//! A crawl cut into shards proves what is true of the whole web: whatever the order in which shards ask,
//! send and receive, whatever dies, moves or is cut, and wherever they are killed and restored.
//!
//! Every shard is a scheduler of its own that knows pages by its own numbers. Between each pair lies a queue in
//! order; a schedule drawn at random says who does something next. After each step: every shard balances
//! by itself, all together hold ONE, and the truth about the joined web lies between the bounds.

use std::collections::VecDeque;

use proptest::prelude::*;
use turnstone_frontier::{
    Arrival, Arrived, Change, Coverage, Crossing, Event, Fault, HostId, Links, Next, PageId,
    Politeness, Scheduler, Tick,
};
use turnstone_policy::coverage::{self, CoveragePolicy, Goal, Gone, Trust};
use turnstone_policy::mass::{Fraction, ONE};

use crate::known_web::{Known, KnownWeb, Reply, Unknown};
use crate::web::{Web, web_with_trust};

const SPECS: &[&str] = &["rankmass", "rankmass:push=exact", "rankmass:dangling=leak"];

type Boxed = Box<dyn CoveragePolicy>;

/// Nobody is met by himself, and nothing but the negligible may be missing.
fn goal() -> Goal {
    Goal {
        epsilon: Fraction::new(1e-5).unwrap(),
        ..Goal::default()
    }
}

/// What one shard tells another of a page, by its number in the whole web.
#[derive(Clone, Copy, Debug)]
struct Item {
    page: PageId,
    what: Arrived,
}

struct Shard {
    scheduler: Scheduler<Boxed>,
    /// By local number: the page of the whole web. And back.
    outer: Vec<PageId>,
    inner: Vec<Option<PageId>>,
    /// By local number: links, of pages that are stored here.
    links: Vec<Vec<PageId>>,
    /// By page of the whole web and shard: has sent mass for it; was told that it is dead.
    senders: Vec<Vec<bool>>,
    told: Vec<Vec<bool>>,
    now: Tick,
    trust: Trust,
    spec: &'static str,
}

struct Local<'a>(&'a [Vec<PageId>]);

impl Links for Local<'_> {
    fn links_of<'a>(&'a self, page: PageId, _: &'a mut Vec<PageId>) -> &'a [PageId] {
        &self.0[page.index()]
    }
}

fn policy(spec: &str, trust: &Trust) -> Boxed {
    coverage::build(&spec.parse().unwrap(), trust, goal()).unwrap()
}

impl Shard {
    fn tell(&mut self, event: &Event<'_>) {
        self.scheduler.observe(event, self.now, &Local(&self.links));
    }

    fn know(&mut self, page: PageId, away: bool) -> PageId {
        if let Some(known) = self.inner[page.index()] {
            return known;
        }
        let number = PageId::from_index(self.outer.len());
        self.outer.push(page);
        self.inner[page.index()] = Some(number);
        self.links.push(Vec::new());
        self.tell(&Event::Discovered {
            page: number,
            host: HostId(0),
            seed: false,
        });
        if away {
            self.tell(&Event::Crossed(Crossing::Away { page: number }));
        }
        number
    }
}

struct Cluster {
    shards: Vec<Shard>,
    owners: Vec<usize>,
    /// By sender, by receiver: what is on its way.
    queues: Vec<Vec<VecDeque<Vec<Item>>>>,
    web: KnownWeb,
    tries: Vec<usize>,
    asked: usize,
}

impl Cluster {
    fn start(spec: &'static str, web: &Web, trust: &Trust, owners: &[usize], count: usize) -> Self {
        let pages = web.page_count();
        // All shards know the trusted pages first, and by the same numbers.
        let local = by_weights(trust, |number, _| PageId::from_index(number));
        let mut shards = Vec::new();
        for me in 0..count {
            let mut shard = Shard {
                scheduler: Scheduler::new(policy(spec, &local), Politeness::OFF),
                outer: Vec::new(),
                inner: vec![None; pages],
                links: Vec::new(),
                senders: vec![vec![false; count]; pages],
                told: vec![vec![false; count]; pages],
                now: Tick(0),
                trust: local.clone(),
                spec,
            };
            shard.tell(&Event::Crossed(Crossing::Cut));
            for &(page, _) in trust.masses() {
                shard.know(page, owners[page.index()] != me);
                shard.senders[page.index()].fill(true);
            }
            shards.push(shard);
        }
        Self {
            shards,
            owners: owners.to_vec(),
            queues: vec![vec![VecDeque::new(); count]; count],
            web: KnownWeb(vec![Known::Open; pages]),
            tries: vec![0; pages],
            asked: 0,
        }
    }

    /// Asks for one page, if the shard has one. Returns whether it did.
    fn ask(&mut self, me: usize, reply: &impl Fn(PageId, usize) -> Reply) -> bool {
        let page = loop {
            let shard = &mut self.shards[me];
            match shard.scheduler.next(shard.now) {
                Next::Fetch(page) => break page,
                Next::WaitUntil(tick) => shard.now = tick,
                Next::Empty => return false,
            }
        };
        self.asked += 1;
        assert!(self.asked < 20_000, "the crawl does not end");
        let whole = self.shards[me].outer[page.index()];
        assert_eq!(
            self.owners[whole.index()],
            me,
            "a foreign page was handed out"
        );
        let tries = self.tries[whole.index()];
        self.tries[whole.index()] += 1;
        match reply(whole, tries) {
            Reply::Page { links, unseen } => {
                let numbers: Vec<PageId> = links
                    .iter()
                    .map(|link| {
                        let away = self.owners[link.index()] != me;
                        self.shards[me].know(*link, away)
                    })
                    .collect();
                let shard = &mut self.shards[me];
                shard.links[page.index()].clone_from(&numbers);
                if unseen > 0 {
                    let links = unseen;
                    shard.tell(&Event::Unseen { page, links });
                }
                shard.tell(&Event::Fetched {
                    page,
                    change: Change::New,
                    links: &numbers,
                });
                self.web.0[whole.index()] = Known::Stored { links, unseen };
            }
            Reply::Gone | Reply::Refused => {
                self.web.0[whole.index()] = Known::Dead;
                let fault = Fault::Gone;
                self.shards[me].tell(&Event::Failed { page, fault });
            }
            Reply::Unknown => {
                let fault = Fault::Unknown;
                self.shards[me].tell(&Event::Failed { page, fault });
            }
            Reply::Moved(to) => {
                let away = self.owners[to.index()] != me;
                let number = self.shards[me].know(to, away);
                self.shards[me].tell(&Event::Moved { page, to: number });
                self.web.0[whole.index()] = Known::Moved(to);
                self.break_circles(whole);
            }
        }
        true
    }

    /// A circle of redirects has a dead end, in whichever shard that is found out.
    fn break_circles(&mut self, page: PageId) {
        let mut at = page;
        for _ in 0..=self.web.0.len() {
            match *self.web.state(at) {
                Known::Moved(to) => at = to,
                _ => return,
            }
        }
        self.web.0[page.index()] = Known::Dead;
    }

    /// Sends everything that pages elsewhere hold, and all news of the dead.
    fn send(&mut self, me: usize) -> bool {
        let count = self.shards.len();
        let shard = &mut self.shards[me];
        let mut away: Vec<(PageId, u64)> = shard.scheduler.ranking().away().collect();
        away.sort_unstable();
        let mut parcels: Vec<Vec<Item>> = vec![Vec::new(); count];
        for &(page, mass) in &away {
            let whole = shard.outer[page.index()];
            let (_, hops) = shard.scheduler.shard().unwrap().sent_for(page);
            let what = Arrived::Mass { mass, hops };
            parcels[self.owners[whole.index()]].push(Item { page: whole, what });
        }
        if !away.is_empty() {
            shard.tell(&Event::Crossed(Crossing::Sent { items: &away }));
        }
        for page in shard.scheduler.shard().unwrap().dead().to_vec() {
            let whole = shard.outer[page.index()];
            for (to, parcel) in parcels.iter_mut().enumerate().filter(|(to, _)| *to != me) {
                if shard.senders[whole.index()][to] && !shard.told[whole.index()][to] {
                    shard.told[whole.index()][to] = true;
                    let what = Arrived::Dead;
                    parcel.push(Item { page: whole, what });
                }
            }
        }
        let mut sent = false;
        for (to, parcel) in parcels.into_iter().enumerate() {
            if !parcel.is_empty() {
                sent = true;
                self.queues[me][to].push_back(parcel);
            }
        }
        sent
    }

    /// Takes in the next parcel of a pair.
    fn receive(&mut self, from: usize, me: usize) -> bool {
        let Some(parcel) = self.queues[from][me].pop_front() else {
            return false;
        };
        let (mut items, mut backs) = (Vec::new(), Vec::new());
        for Item { page, what } in parcel {
            let away = self.owners[page.index()] != me;
            let shard = &mut self.shards[me];
            let number = shard.know(page, away);
            match what {
                Arrived::Mass { .. } => shard.senders[page.index()][from] = true,
                Arrived::Dead => {
                    let (sent, _) = shard.scheduler.shard().unwrap().sent_for(number);
                    if sent > 0 {
                        let what = Arrived::Back { mass: sent };
                        backs.push(Item { page, what });
                    }
                }
                Arrived::Back { .. } => {}
            }
            items.push(Arrival { page: number, what });
        }
        let shard = &mut self.shards[me];
        shard.tell(&Event::Crossed(Crossing::Received { items: &items }));
        if !backs.is_empty() {
            self.queues[me][from].push_back(backs);
        }
        true
    }

    fn kill(&mut self, me: usize) {
        let shard = &mut self.shards[me];
        let mut saved = Vec::new();
        shard.scheduler.save(&mut saved).unwrap();
        let policy = policy(shard.spec, &shard.trust);
        shard.scheduler = Scheduler::restore(policy, &mut saved.as_slice()).unwrap();
    }

    fn coverage(&self) -> Coverage {
        let masses = self
            .shards
            .iter()
            .map(|it| it.scheduler.shard().unwrap().masses());
        Coverage::of_shards(masses, goal().mass())
    }

    fn check(&self, trust: &Trust, circle: bool) -> Result<(), TestCaseError> {
        let mut total = 0;
        for shard in &self.shards {
            let masses = shard.scheduler.shard().unwrap().masses();
            prop_assert!(masses.balanced(), "{masses:?}");
            prop_assert!(circle || masses.owed == 0, "{masses:?}");
            let ranking = shard.scheduler.ranking();
            let pages = (0..shard.outer.len()).map(PageId::from_index);
            let held: u128 = pages.map(|page| u128::from(ranking.rank(page))).sum();
            prop_assert_eq!(held, masses.residuals);
            total += masses.total();
        }
        prop_assert_eq!(total, i128::from(ONE));
        let coverage = self.coverage();
        let leak = self.shards[0].spec.contains("leak");
        for open in [Unknown::Away, Unknown::Back] {
            for unseen in [Unknown::Away, Unknown::Back] {
                let rules = (goal().damping.number(), Gone::Skip, leak);
                let truth = self.web.stored_share(trust, rules, (open, unseen));
                let (least, most) = (coverage.guaranteed_fraction(), coverage.possible_fraction());
                prop_assert!(least <= truth + 1e-12, "{least} > {truth} {coverage:?}");
                prop_assert!(truth <= most + 1e-12, "{truth} > {most} {coverage:?}");
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug)]
struct Kind {
    kind: u8,
    number: u8,
}

fn reply(web: &Web, kinds: &[Kind], page: PageId, tries: usize) -> Reply {
    let Kind { kind, number } = kinds[page.index() % kinds.len()];
    let other = PageId::from_index(usize::from(number) % web.page_count());
    let links = web.0[page.index()].clone();
    match kind {
        0 | 1 => Reply::Gone,
        3 if tries == 0 => Reply::Unknown,
        4 | 5 if other != page => Reply::Moved(other),
        6 => Reply::Page {
            links,
            unseen: [1, 2, 7, u64::MAX][usize::from(number) % 4],
        },
        _ => Reply::Page { links, unseen: 0 },
    }
}

/// The same trust under other numbers. Weights are rounded, so the whole web must be asked with rounded ones too.
fn by_weights(trust: &Trust, number: impl Fn(usize, PageId) -> PageId) -> Trust {
    let masses = trust.masses().iter().enumerate();
    let weights = masses.map(|(at, &(page, mass))| (number(at, page), mass as f64));
    Trust::weighted(weights.collect()).unwrap()
}

/// Whether some redirects lead round, or would.
fn has_circle(web: &Web, kinds: &[Kind]) -> bool {
    let next = |page: PageId| match reply(web, kinds, page, 1) {
        Reply::Moved(to) => Some(to),
        _ => None,
    };
    (0..web.page_count()).map(PageId::from_index).any(|page| {
        let mut at = Some(page);
        for _ in 0..=web.page_count() {
            at = at.and_then(next);
        }
        at.is_some()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn shards_prove_what_is_true_of_the_whole(
        (web, trust) in web_with_trust(),
        kinds in prop::collection::vec(
            (0u8..14, any::<u8>()).prop_map(|(kind, number)| Kind { kind, number }), 1..24),
        owners in prop::collection::vec(0usize..4, 24),
        count in 1usize..5,
        schedule in prop::collection::vec((0usize..4, 0usize..4, 0u8..8), 0..400),
    ) {
        let owners: Vec<usize> = owners.iter().take(web.page_count()).map(|it| it % count).collect();
        let answer = |page, tries| reply(&web, &kinds, page, tries);
        let circle = has_circle(&web, &kinds);
        let (weights, trust) = (&trust, by_weights(&trust, |_, page| page));
        for spec in SPECS {
            let mut cluster = Cluster::start(spec, &web, weights, &owners, count);
            cluster.check(&trust, circle)?;
            for &(me, other, what) in &schedule {
                let (me, other) = (me % count, other % count);
                match what {
                    0..=2 => { cluster.ask(me, &answer); }
                    3 | 4 => { cluster.send(me); }
                    5 | 6 => { cluster.receive(other, me); }
                    _ => cluster.kill(me),
                }
                // While a circle goes round, nobody knows yet that its end is dead.
                if !circle {
                    cluster.check(&trust, circle)?;
                }
            }
            // To the end: everybody asks, sends and receives until nothing is left but the negligible.
            for _ in 0..4000 {
                let mut busy = false;
                for me in 0..count {
                    while cluster.ask(me, &answer) { busy = true; }
                    let away = cluster.shards[me].scheduler.ranking().away_total();
                    let told = cluster.shards[me].scheduler.shard().unwrap().dead().len();
                    if away > u128::from(ONE / 100_000_000) || told > 0 {
                        busy |= cluster.send(me);
                    }
                    for from in 0..count {
                        while cluster.receive(from, me) { busy = true; }
                    }
                }
                if !busy { break; }
            }
            cluster.check(&trust, circle)?;
            let plain = kinds.iter().all(|kind| kind.kind != 6) && !spec.contains("leak");
            let barren = trust.masses().iter().all(|(page, _)| cluster.web.ends_dead(*page));
            if plain && !circle {
                let coverage = cluster.coverage();
                prop_assert_eq!(coverage.met(), !barren, "{} {:?}", spec, coverage);
            }
        }
    }
}
