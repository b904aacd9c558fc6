//! Life and death diffuse along links: orders by PageRank from the sample (section 2.4).
//!
//! - `pa`: PageRank with all teleports to the pages of the sample that are alive.
//! - `pa-ratio`: that, divided by PageRank with all teleports to those that are gone; where the
//!   latter is 0 its smallest other value stands in. Each vector has its own total, so how many of
//!   the sample are alive does not weigh in.
//! - `pa-recursive`: PageRank from as many pages of highest rank as the sample has alive, again and
//!   again. The paper describes this one and drops it, because it does not leave the neighbourhood
//!   of the sample. Reading: pages known to be gone are never teleported to.
//! - `pa-site`, which is ours: the ratio of `pa-ratio`, where 0 is replaced in both vectors, times the
//!   odds of the page's site, (alive + 1)/(gone + 1) in the sample. A page that no rank reaches is
//!   then judged by its site and not put behind everything that any rank reaches.
//!
//! Ties, and with them all pages no rank reaches in the paper's orders, go by static PageRank, then id.
//!
//! Cost: one, two (at once), 1 + rounds, and two (at once) PageRank runs, and a sort, when the sample is back.

use turnstone_frontier::PageId;

use super::OldCrawl;
use super::active_site::activities;
use super::live_rank::{Order, Rest};
use super::survey::{Fate, Survey};

/// An order by PageRank from the sample.
#[derive(Clone, Copy, Debug)]
pub(super) enum Diffusion {
    Alive,
    Ratio,
    Recursive { rounds: u32 },
    Site,
}

impl Order for Diffusion {
    fn sample_is_back(&mut self, old: &OldCrawl, _: u64, rest: &mut Rest<'_>) {
        let scores = match *self {
            Self::Alive => alive_scores(old, rest.survey),
            Self::Ratio => ratio_scores(old, rest.survey),
            Self::Recursive { rounds } => recursive_scores(old, rest.survey, rounds),
            Self::Site => site_scores(old, rest),
        };
        let pages = old.by_pagerank().iter().copied();
        let order = old.by_score(pages.filter(|page| rest.has(*page)), &scores);
        rest.rank_in_order(&order);
    }
}

fn alive_scores(old: &OldCrawl, survey: &Survey) -> Vec<f64> {
    old.rank_from(&survey.pages(Fate::Alive).collect::<Vec<_>>())
}

fn ratio_scores(old: &OldCrawl, survey: &Survey) -> Vec<f64> {
    let alive: Vec<PageId> = survey.pages(Fate::Alive).collect();
    let gone: Vec<PageId> = survey.pages(Fate::Gone).collect();
    if alive.is_empty() || gone.is_empty() {
        return old.rank_from(&alive);
    }
    let [mut scores, anti] = old.rank_from_both([&alive, &gone]);
    for (score, anti) in scores.iter_mut().zip(without_zeros(anti)) {
        *score /= anti;
    }
    scores
}

fn site_scores(old: &OldCrawl, rest: &Rest<'_>) -> Vec<f64> {
    let alive: Vec<PageId> = rest.survey.pages(Fate::Alive).collect();
    let gone: Vec<PageId> = rest.survey.pages(Fate::Gone).collect();
    let [life, death] = if alive.is_empty() || gone.is_empty() {
        [old.rank_from(&alive), old.rank_from(&gone)]
    } else {
        old.rank_from_both([&alive, &gone])
    };
    let sites = activities(rest);
    let mut scores = without_zeros(life);
    for (index, (score, death)) in scores.iter_mut().zip(without_zeros(death)).enumerate() {
        let site = rest.ranking.host(PageId::from_index(index));
        let site = sites.get(site.index()).copied().unwrap_or_default();
        *score = *score / death * site.odds();
    }
    scores
}

/// The same, with the smallest value above 0 in place of every 0; all 1 if there is none.
fn without_zeros(mut ranks: Vec<f64>) -> Vec<f64> {
    let above_zero = ranks.iter().copied().filter(|rank| *rank > 0.0);
    let least = above_zero.reduce(f64::min).unwrap_or(1.0);
    for rank in &mut ranks {
        if *rank <= 0.0 {
            *rank = least;
        }
    }
    ranks
}

fn recursive_scores(old: &OldCrawl, survey: &Survey, rounds: u32) -> Vec<f64> {
    let mut from: Vec<PageId> = survey.pages(Fate::Alive).collect();
    let size = from.len();
    let mut scores = old.rank_from(&from);
    for _ in 0..rounds {
        let pages = old.by_pagerank().iter().copied();
        let hopeful =
            |page: &PageId| survey.verdict(*page) != Fate::Gone && scores[page.index()] > 0.0;
        from = old.by_score(pages.filter(hopeful), &scores);
        from.truncate(size);
        scores = old.rank_from(&from);
    }
    scores
}
