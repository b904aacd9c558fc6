//! Active site first: sites by the share of their sample that is alive (section 2.4).
//!
//! What Cho and Ntoulas (2002) do for changes, done for liveness. Ties between sites go by id;
//! within a site pages come at random or by PageRank; sites without a tested page come last, all
//! their pages mixed at random, since nothing is known to set them apart.
//!
//! Cost: a sort, when the sample is back; 24 bytes a site while it lasts.

use std::cmp::Ordering;

use turnstone_frontier::PageId;

use super::OldCrawl;
use super::live_rank::{Order, Rest};
use super::survey::Fate;

/// How the pages of one site are ordered.
#[derive(Clone, Copy, Debug)]
pub(super) enum Inside {
    Random,
    PageRank,
}

/// Sites by activity.
#[derive(Clone, Copy, Debug)]
pub(super) struct ActiveSiteFirst {
    pub(super) inside: Inside,
}

/// How much of a site's tested pages is alive.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Activity {
    alive: u64,
    tested: u64,
}

impl Activity {
    /// How much likelier life is than death, one of each added to what was seen.
    pub(super) fn odds(self) -> f64 {
        (self.alive + 1) as f64 / (self.tested - self.alive + 1) as f64
    }

    /// Which of two shares is larger, exactly: by multiplication, not by division.
    fn compare(self, other: Self) -> Ordering {
        let product = |alive: u64, tested: u64| u128::from(alive) * u128::from(tested);
        product(self.alive, other.tested).cmp(&product(other.alive, self.tested))
    }
}

impl Order for ActiveSiteFirst {
    fn sample_is_back(&mut self, old: &OldCrawl, seed: u64, rest: &mut Rest<'_>) {
        let random = old.at_random(seed);
        let places = site_places(&activities(rest));
        let place = |page: PageId| {
            let site = rest.ranking.host(page);
            places.get(site.index()).copied().flatten()
        };
        let inside = match self.inside {
            Inside::Random => &random,
            Inside::PageRank => old.by_pagerank(),
        };
        let known = inside.iter().filter(|page| place(**page).is_some());
        let mut order: Vec<PageId> = known.copied().collect();
        // A stable sort: within a site the order stays.
        order.sort_by_key(|page| place(*page));
        order.extend(random.iter().filter(|page| place(**page).is_none()));
        rest.rank_in_order(&order);
    }
}

/// By site: what was tested, and how much of it is alive.
pub(super) fn activities(rest: &Rest<'_>) -> Vec<Activity> {
    let mut sites: Vec<Activity> = Vec::new();
    for (verdict, is_alive) in [(Fate::Alive, 1), (Fate::Gone, 0)] {
        for page in rest.survey.pages(verdict) {
            let site = rest.ranking.host(page).index();
            if sites.len() <= site {
                sites.resize(site + 1, Activity::default());
            }
            sites[site].alive += is_alive;
            sites[site].tested += 1;
        }
    }
    sites
}

/// By site: its place among the sites with a tested page, the most active first, ties by id.
fn site_places(activities: &[Activity]) -> Vec<Option<u32>> {
    let tested = (0..activities.len()).filter(|site| activities[*site].tested > 0);
    let mut sites: Vec<usize> = tested.collect();
    sites.sort_by(|a, b| activities[*b].compare(activities[*a]));
    let mut places = vec![None; activities.len()];
    for (place, site) in sites.into_iter().enumerate() {
        places[site] = Some(place as u32);
    }
    places
}
