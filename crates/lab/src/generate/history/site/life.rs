//! What happens to a site from one snapshot to the next.
//!
//! Each kind of event is drawn by directory, so that it comes in bunches: one directory in five is
//! touched and then changes hard, most deaths are purges of a whole directory, births come several
//! at a time, and all of it passes on along links with some chance.

use super::{Kind, LISTED_IN_FEED, Page, Site, Witness};
use crate::generate::history::content::{mix, word};

/// How likely a change and a death pass along a link.
const CHANGE_PASSES: f64 = 0.04;
const DEATH_PASSES: f64 = 0.25;

impl Site {
    /// One snapshot later.
    pub(super) fn step(&mut self, witness: &mut dyn Witness) {
        for page in &mut self.pages {
            page.is_present |= std::mem::take(&mut page.is_returning);
        }
        // Deaths come first: what is born or moves in a snapshot is seen in it.
        self.deaths();
        if self.happens(self.plan.redesigns) {
            self.redesign(witness);
        }
        self.changes();
        self.births(witness);
        if self.happens(0.01) {
            self.failed_deployment();
        }
    }

    fn births(&mut self, witness: &mut dyn Witness) {
        let present = self.pages.iter().filter(|page| page.is_present).count();
        let mut left = self.around(self.plan.births * present as f64);
        // Now and then a whole directory comes at once: a release, a new section.
        if left > 0 && self.happens(0.05) {
            let directory = self.new_directory(witness);
            for _ in 0..left * 3 {
                self.article(directory, witness);
            }
            return;
        }
        while left > 0 {
            let directory = self.growing_directory();
            for _ in 0..left.min(1 + self.random.below(4)) {
                self.article(directory, witness);
                left -= 1;
            }
        }
    }

    fn changes(&mut self) {
        for directory in 0..self.directories.len() {
            let rate =
                self.plan.changes * self.restlessness * self.directories[directory].restlessness;
            // One snapshot in five touches a directory, and then five times as hard.
            let rate = if self.happens(0.2) {
                4.0 * rate
            } else {
                0.25 * rate
            };
            for place in 0..self.directories[directory].articles.len() {
                let page = self.directories[directory].articles[place];
                if self.pages[page as usize].is_present && self.happens(rate) {
                    self.revise(page);
                    self.pass_change_on(page);
                }
            }
        }
    }

    fn pass_change_on(&mut self, page: u32) {
        for place in 0..self.pages[page as usize].links.len() {
            let link = self.pages[page as usize].links[place];
            let Page {
                kind, is_present, ..
            } = self.pages[link as usize];
            if is_present && kind == Kind::Article && self.happens(CHANGE_PASSES) {
                self.revise(link);
            }
        }
    }

    fn deaths(&mut self) {
        for directory in 0..self.directories.len() {
            let rate = self.plan.deaths * self.mortality * self.directories[directory].mortality;
            // Most deaths are purges, which take most of a directory at once.
            let purged = self.happens(rate);
            let rate = if purged {
                0.4 + 0.6 * self.random.unit()
            } else {
                0.2 * rate
            };
            let mut dying = Vec::new();
            for place in 0..self.directories[directory].articles.len() {
                let page = self.directories[directory].articles[place];
                if self.pages[page as usize].is_present && self.happens(rate) {
                    dying.push(page);
                }
            }
            self.bury(dying);
        }
    }

    /// Lets pages go, and some of those they link to.
    fn bury(&mut self, dying: Vec<u32>) {
        for page in dying {
            self.go(page);
            for place in 0..self.pages[page as usize].links.len() {
                let link = self.pages[page as usize].links[place];
                let Page {
                    kind, is_present, ..
                } = self.pages[link as usize];
                if is_present && kind == Kind::Article && self.happens(DEATH_PASSES) {
                    self.go(link);
                }
            }
        }
    }

    /// New markup everywhere, some new texts; a third of the directories move to new addresses.
    fn redesign(&mut self, witness: &mut dyn Witness) {
        self.design += 1;
        let before = self.pages.len();
        let mut moved: Vec<Option<u32>> = vec![None; before];
        for directory in 1..self.directories.len() {
            let index = self.directories[directory].index;
            if !self.pages[index as usize].is_present || !self.happens(0.33) {
                continue;
            }
            let articles = std::mem::take(&mut self.directories[directory].articles);
            let to = self.new_directory(witness);
            self.directories[to].topic = self.directories[directory].topic;
            for page in articles {
                if self.pages[page as usize].is_present {
                    let copy = self.move_page(page, to, witness);
                    moved[page as usize] = Some(copy);
                }
            }
            moved[index as usize] = Some(self.directories[to].index);
            self.go(index);
        }
        for page in 0..self.pages.len() {
            if !self.pages[page].is_present {
                continue;
            }
            self.pages[page].is_touched = true;
            let mut links = std::mem::take(&mut self.pages[page].links);
            for link in &mut links {
                // Some links are forgotten and lead nowhere from now on.
                if let Some(to) = moved.get(*link as usize).copied().flatten()
                    && self.happens(0.8)
                {
                    *link = to;
                }
            }
            self.pages[page].links = links;
            if self.happens(0.3) {
                self.revise(page as u32);
            }
        }
    }

    fn move_page(&mut self, page: u32, to: usize, witness: &mut dyn Witness) -> u32 {
        let copy = self.birth(Kind::Article, to, witness);
        let Page { text, revision, .. } = self.pages[page as usize];
        let links = self.pages[page as usize].links.clone();
        let moved = &mut self.pages[copy as usize];
        (moved.text, moved.revision, moved.links) = (text, revision, links);
        self.directories[to].articles.push(copy);
        self.go(page);
        copy
    }

    /// A directory is missing for one snapshot.
    fn failed_deployment(&mut self) {
        let directory = self.random.below(self.directories.len() as u64) as usize;
        for page in self.directories[directory].articles.clone() {
            if self.pages[page as usize].is_present && self.pages[page as usize].was_present {
                self.go(page);
                self.pages[page as usize].is_returning = true;
            }
        }
    }

    fn revise(&mut self, page: u32) {
        self.pages[page as usize].revision += 1;
        self.pages[page as usize].is_touched = true;
        if self.happens(0.2) {
            let directory = self.pages[page as usize].directory;
            let fresh = self.links_of_new(directory).pop();
            let links = &mut self.pages[page as usize].links;
            if let Some(fresh) = fresh.filter(|fresh| *fresh != page && !links.contains(fresh)) {
                links.pop();
                links.push(fresh);
            }
        }
    }

    /// A directory, by how much it tends to grow: the better of a few.
    pub(super) fn growing_directory(&mut self) -> usize {
        let count = self.directories.len() as u64;
        let mut best = self.random.below(count) as usize;
        for _ in 0..2 {
            let other = self.random.below(count) as usize;
            let index = self.directories[other].index;
            let is_present = self.pages[index as usize].is_present;
            if is_present && self.directories[other].growth > self.directories[best].growth {
                best = other;
            }
        }
        let index = self.directories[best].index;
        if self.pages[index as usize].is_present {
            best
        } else {
            0
        }
    }

    pub(super) fn new_directory(&mut self, witness: &mut dyn Witness) -> usize {
        let number = self.directories.len() as u64;
        let parent = match self.random.below(3) {
            0 if number > 1 => 1 + self.random.below(number - 1) as usize,
            _ => 0,
        };
        let parent = match &self.directories[parent].path {
            deep if deep.matches('/').count() > 3 => "/",
            path => path,
        };
        let name = word(mix(&[self.plan.seed, number, 11]));
        let path = format!("{parent}{name}{number}/");
        self.directory(path, Kind::Index, witness)
    }

    /// A new article links to the front page, its index, the article before it, and some others:
    /// of its directory, or of what other pages link to, so that what is popular becomes more so.
    fn links_of_new(&mut self, directory: usize) -> Vec<u32> {
        let siblings = self.directories[directory].articles.len() as u64;
        let mut links = vec![0, self.directories[directory].index];
        links.extend(self.directories[directory].articles.last());
        for _ in 0..1 + self.random.below(6) {
            let link = if siblings > 0 && self.happens(0.6) {
                let place = self.random.below(siblings) as usize;
                self.directories[directory].articles[place]
            } else {
                let from = self.random.below(self.pages.len() as u64) as usize;
                match self.pages[from].links.len() as u64 {
                    0 => from as u32,
                    links => self.pages[from].links[self.random.below(links) as usize],
                }
            };
            if self.pages[link as usize].is_present && !links.contains(&link) {
                links.push(link);
            }
        }
        links
    }

    pub(super) fn article(&mut self, directory: usize, witness: &mut dyn Witness) {
        let links = self.links_of_new(directory);
        let page = self.birth(Kind::Article, directory, witness);
        self.pages[page as usize].links = links;
        self.directories[directory].articles.push(page);
        self.newest.push(page);
        if self.newest.len() > 2 * LISTED_IN_FEED {
            self.newest.drain(..LISTED_IN_FEED);
        }
        let hubs = [0, 1, self.directories[directory].index];
        for hub in hubs {
            self.pages[hub as usize].is_touched = true;
        }
    }

    /// A whole number with this mean, often 0 and sometimes large.
    fn around(&mut self, mean: f64) -> u64 {
        let drawn = -mean * (1.0 - self.random.unit()).ln();
        drawn.floor() as u64 + u64::from(self.random.unit() < drawn.fract())
    }
}
