//! Random small webs that move from round to round, and a driver that keeps a store of one.

use proptest::prelude::*;
use turnstone_frontier::{
    Arm, Change, Event, Fault, HostId, Links, Next, PageId, Policy, Politeness, Scheduler, Tick,
};

/// A day, in ticks.
pub(crate) const DAY: u64 = 86_400_000;

/// What pages are from round to round.
#[derive(Clone, Debug)]
pub(crate) struct MovingWeb {
    pub(crate) site_of: Vec<u32>,
    pub(crate) directory_of: Vec<Option<u32>>,
    /// By round and page: its content, 0 for absent. Round 0 is the start.
    pub(crate) contents: Vec<Vec<u8>>,
    /// By content (of 4) and page: what it links to.
    pub(crate) links: Vec<Vec<Vec<usize>>>,
    /// How many pages are known at the start.
    pub(crate) at_start: usize,
    /// By round from 1: its budget, how many days after the one before, and a page hinted at.
    pub(crate) rounds: Vec<(u64, u64, usize)>,
}

/// Up to 16 pages on up to 3 sites, over up to 8 rounds.
pub(crate) fn moving_web() -> impl Strategy<Value = MovingWeb> {
    (1usize..8, 0usize..9, 1usize..8).prop_flat_map(|(at_start, later, rounds)| {
        let pages = at_start + later;
        let links = prop::collection::btree_set(0..pages, 0..4);
        let links = links.prop_map(|links| links.into_iter().collect::<Vec<usize>>());
        let links = prop::collection::vec(prop::collection::vec(links, pages), 4);
        let step = prop::collection::vec(
            prop_oneof![4 => Just(None), 2 => (0u8..4).prop_map(Some)],
            pages,
        );
        let first = prop::collection::vec(0u8..4, pages);
        (
            prop::collection::vec(0u32..3, pages),
            prop::collection::vec(prop::option::of(0u32..3), pages),
            first,
            prop::collection::vec(step, rounds),
            links,
            prop::collection::vec((0u64..8, 1u64..20, 0..pages), rounds),
        )
            .prop_map(
                move |(site_of, directory_of, first, steps, links, rounds)| {
                    let mut contents = vec![first];
                    for step in steps {
                        let mut next = contents.last().unwrap().clone();
                        for (content, new) in next.iter_mut().zip(step) {
                            *content = new.unwrap_or(*content);
                        }
                        contents.push(next);
                    }
                    MovingWeb {
                        site_of,
                        directory_of,
                        contents,
                        links,
                        at_start,
                        rounds,
                    }
                },
            )
    })
}

/// What a driver lends: the folders of discovered pages, and the links of their last two copies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lent {
    pub(crate) folders: Vec<Option<u64>>,
    links: Vec<[Vec<PageId>; 2]>,
}

impl Lent {
    pub(crate) fn know(&mut self, folder: Option<u64>) {
        self.folders.push(folder);
        self.links.push([Vec::new(), Vec::new()]);
    }

    pub(crate) fn fetched(&mut self, page: PageId, links: &[PageId]) {
        let copies = &mut self.links[page.index()];
        copies[1] = std::mem::replace(&mut copies[0], links.to_vec());
    }
}

impl Links for Lent {
    fn links_of<'a>(&'a self, page: PageId, _: &'a mut Vec<PageId>) -> &'a [PageId] {
        &self.links[page.index()][0]
    }

    fn old_links_of<'a>(&'a self, page: PageId, _: &'a mut Vec<PageId>) -> &'a [PageId] {
        &self.links[page.index()][1]
    }

    fn folder_of(&self, page: PageId) -> Option<u64> {
        self.folders[page.index()]
    }
}

/// One thing that the policy was told, by the numbers it knows pages by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Told {
    Discovered {
        site: u32,
        directory: Option<u32>,
    },
    Page {
        page: usize,
        change: Change,
        links: Vec<usize>,
    },
    Gone {
        page: usize,
    },
    NoVerdict {
        page: usize,
    },
    Refused {
        page: usize,
    },
    Hinted {
        page: usize,
    },
    Round {
        budget: u64,
    },
}

/// A store that is being kept, and can be stopped after every answer.
pub(crate) struct Keeping<'a> {
    web: &'a MovingWeb,
    pub(crate) scheduler: Scheduler<Box<dyn Policy>>,
    pub(crate) lent: Lent,
    /// By page of the web: its number for the policy.
    numbers: Vec<Option<usize>>,
    /// By number for the policy: the page.
    pub(crate) pages: Vec<usize>,
    copies: Vec<u8>,
    pub(crate) round: usize,
    day: u64,
    pub(crate) told: Vec<(u64, Told)>,
    /// By round from 0: the pages answered, by number.
    pub(crate) asked: Vec<Vec<usize>>,
    /// The arm of each answer, where the policy has arms, since the first round.
    pub(crate) arms: Vec<Option<Arm>>,
    /// Every so many answers, one is no verdict.
    pub(crate) fault_every: usize,
    answers: usize,
}

impl<'a> Keeping<'a> {
    pub(crate) fn start(web: &'a MovingWeb, policy: Box<dyn Policy>) -> Self {
        let mut keeping = Self {
            web,
            scheduler: Scheduler::new(policy, Politeness::OFF),
            lent: Lent::default(),
            numbers: vec![None; web.site_of.len()],
            pages: Vec::new(),
            copies: vec![0; web.site_of.len()],
            round: 0,
            day: 0,
            told: Vec::new(),
            asked: Vec::new(),
            arms: Vec::new(),
            fault_every: usize::MAX,
            answers: 0,
        };
        for page in 0..web.at_start {
            keeping.discover(page);
        }
        // Every other page of the start is stored.
        for number in (0..web.at_start).step_by(2) {
            keeping.answer(number);
        }
        keeping
    }

    pub(crate) fn now(&self) -> Tick {
        Tick(self.day * DAY)
    }

    fn tell(&mut self, told: Told, event: &Event<'_>) {
        self.told.push((self.day, told));
        self.scheduler.observe(event, self.now(), &self.lent);
    }

    fn discover(&mut self, page: usize) -> usize {
        if let Some(number) = self.numbers[page] {
            return number;
        }
        let number = self.pages.len();
        self.numbers[page] = Some(number);
        self.pages.push(page);
        let (site, directory) = (self.web.site_of[page], self.web.directory_of[page]);
        self.lent.know(directory.map(u64::from));
        let event = Event::Discovered {
            page: PageId::from_index(number),
            host: HostId(site),
            seed: false,
        };
        self.tell(Told::Discovered { site, directory }, &event);
        number
    }

    /// Answers for a page, by its number.
    fn answer(&mut self, number: usize) {
        self.answers += 1;
        let (page, id) = (self.pages[number], PageId::from_index(number));
        let content = self.web.contents[self.round][page];
        if self.answers.is_multiple_of(self.fault_every) {
            let (fault, told) = match self.answers % 2 {
                0 => (Fault::Unknown, Told::NoVerdict { page: number }),
                _ => (Fault::Refused, Told::Refused { page: number }),
            };
            return self.tell(told, &Event::Failed { page: id, fault });
        }
        let copy = std::mem::replace(&mut self.copies[page], content);
        if content == 0 {
            let fault = Fault::Gone;
            let event = Event::Failed { page: id, fault };
            return self.tell(Told::Gone { page: number }, &event);
        }
        let links = self.web.links[usize::from(content)][page].clone();
        let links: Vec<usize> = links.into_iter().map(|link| self.discover(link)).collect();
        let change = match copy {
            0 => Change::New,
            copy if copy == content => Change::Unchanged,
            _ => Change::Changed,
        };
        let ids: Vec<PageId> = links.iter().map(|link| PageId::from_index(*link)).collect();
        self.lent.fetched(id, &ids);
        let event = Event::Fetched {
            page: id,
            change,
            links: &ids,
        };
        let page = number;
        self.tell(
            Told::Page {
                page,
                change,
                links,
            },
            &event,
        );
    }

    /// One answer, or the start of the next round. False at the end.
    pub(crate) fn step(&mut self) -> bool {
        if self.round > 0
            && let Next::Fetch(page) = self.scheduler.next(self.now())
        {
            self.asked[self.round - 1].push(page.index());
            self.arms.push(self.scheduler.arm(page));
            self.answer(page.index());
            return true;
        }
        let Some(&(budget, days, hinted)) = self.web.rounds.get(self.round) else {
            return false;
        };
        self.round += 1;
        self.day += days;
        if let Some(page) = self.numbers[hinted] {
            let event = Event::Hinted {
                page: PageId::from_index(page),
                by: None,
            };
            self.tell(Told::Hinted { page }, &event);
        }
        self.asked.push(Vec::new());
        let round = self.round as u32 - 1;
        self.tell(Told::Round { budget }, &Event::Round { round, budget });
        true
    }

    pub(crate) fn run(mut self) -> Self {
        while self.step() {}
        self
    }
}
