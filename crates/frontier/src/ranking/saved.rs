//! How a ranking is saved: each page's rank and place, in order of page.
//!
//! Heaps are not saved but built anew: the order is total, so their inner layout decides nothing.

use std::io;

use super::{
    ABSENT, ASIDE, AWAY_BIT, HOME_AWAY, HOME_PARKED, IDLE, INDEX, Lane, PARKED, QUEUED, Rank,
    Ranking, TAG, grow,
};
use crate::aside::Why;
use crate::id::PageId;
use crate::saved::{Restore, Save, corrupt};

/// How each page is written: its place's kind, then what that kind needs.
impl Save for Ranking {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        (self.lanes.len() as u64).save(out)?;
        self.open.iter().try_for_each(|open| open.save(out))?;
        self.hosts.save(out)?;
        (self.places.len() as u64).save(out)?;
        for (index, &place) in self.places.iter().enumerate() {
            let page = PageId::from_index(index);
            match place & TAG {
                QUEUED => (0u8, self.rank(page)).save(out)?,
                PARKED if place & AWAY_BIT != 0 => (7u8, self.rank(page)).save(out)?,
                PARKED => (1u8, self.rank(page)).save(out)?,
                ASIDE => match self.aside.get(page) {
                    (Why::InFlight, rank) => (2u8, rank).save(out)?,
                    (Why::Shelved, rank) => (3u8, rank).save(out)?,
                    (Why::Deferred(until), rank) => (4u8, (rank, until)).save(out)?,
                },
                _ if place & HOME_AWAY != 0 => 8u8.save(out)?,
                _ if place & HOME_PARKED != 0 => 6u8.save(out)?,
                _ => 5u8.save(out)?,
            }
        }
        Ok(())
    }
}

impl Restore for Ranking {
    fn restore(from: &mut dyn io::Read) -> io::Result<Self> {
        let mut ranking = Self::default();
        let host_count = u64::restore(from)?;
        if host_count > u64::from(u32::MAX) {
            return Err(corrupt("more hosts than can be numbered"));
        }
        for _ in 0..host_count {
            ranking.open.push(bool::restore(from)?);
            ranking.lanes.push(Lane::default());
            ranking.host_places.push(IDLE);
        }
        ranking.hosts = Restore::restore(from)?;
        if ranking
            .hosts
            .iter()
            .any(|host| u64::from(host.0) >= host_count)
        {
            return Err(corrupt("a page on a host that is not known"));
        }
        let page_count = u64::restore(from)?;
        let hosts_fit = ranking.hosts.is_empty() || ranking.hosts.len() as u64 == page_count;
        if page_count > u64::from(INDEX) || !hosts_fit || (page_count > 0 && host_count == 0) {
            return Err(corrupt("page and host counts that do not agree"));
        }
        for index in 0..page_count as usize {
            let page = PageId::from_index(index);
            grow(&mut ranking.places, ABSENT);
            match u8::restore(from)? {
                0 => ranking.come_home(page, ABSENT, Rank::restore(from)?),
                1 => ranking.come_home(page, ABSENT | HOME_PARKED, Rank::restore(from)?),
                2 => ranking.set_aside(page, Why::InFlight, Rank::restore(from)?),
                3 => ranking.set_aside(page, Why::Shelved, Rank::restore(from)?),
                4 => {
                    let (rank, until) = Restore::restore(from)?;
                    ranking.set_aside(page, Why::Deferred(until), rank);
                }
                5 => {}
                6 => ranking.places[index] = ABSENT | HOME_PARKED,
                7 => ranking.come_home(page, ABSENT | HOME_AWAY, Rank::restore(from)?),
                8 => ranking.places[index] = ABSENT | HOME_AWAY,
                _ => return Err(corrupt("a page in no known place")),
            }
        }
        Ok(ranking)
    }
}
