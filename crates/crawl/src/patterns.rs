//! Budgets for URL patterns, host by host, as the journal tells them.
//!
//! Admitting a page and learning what it brought are both the fold of entries, so that a restart
//! remembers which corner of a site was endless.

use std::collections::BTreeMap;
use std::io;

use turnstone_fetch::Url;
use turnstone_fetch::traps::{self, BudgetOptions, OverBudget, PatternBudget, TrapOptions};
use turnstone_frontier::{HostId, Restore, Save, corrupt};

/// The budgets of all hosts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Patterns {
    hosts: BTreeMap<HostId, PatternBudget>,
}

impl Patterns {
    /// Admits a page that is about to be asked for.
    pub(crate) fn admit(
        &mut self,
        host: HostId,
        url: &Url,
        now_s: u64,
        (traps, budgets): (&TrapOptions, &BudgetOptions),
    ) -> Result<(), OverBudget> {
        let class = traps::judge(url, now_s, traps).map(|finding| finding.class);
        let host = self.hosts.entry(host).or_default();
        host.admit(url, class, budgets)
    }

    /// A page brought text not seen before.
    pub(crate) fn brought_new(&mut self, host: HostId, url: &Url, budgets: &BudgetOptions) {
        let host = self.hosts.entry(host).or_default();
        host.brought_new(url, budgets);
    }
}

impl Save for Patterns {
    fn save(&self, out: &mut dyn io::Write) -> io::Result<()> {
        (self.hosts.len() as u64).save(out)?;
        for (host, budget) in &self.hosts {
            host.save(out)?;
            let entries = budget.entries();
            (entries.len() as u64).save(out)?;
            for (hash, admitted, new) in entries {
                hash.save(out)?;
                admitted.save(out)?;
                new.save(out)?;
            }
        }
        Ok(())
    }
}

impl Restore for Patterns {
    fn restore(from: &mut dyn io::Read) -> io::Result<Self> {
        let mut hosts = BTreeMap::new();
        for _ in 0..u64::restore(from)? {
            let host = HostId::restore(from)?;
            let entries: Vec<(u64, (u32, u32))> = Restore::restore(from)?;
            let entries = entries
                .into_iter()
                .map(|(hash, (admitted, new))| (hash, admitted, new));
            if hosts
                .insert(host, PatternBudget::from_entries(entries))
                .is_some()
            {
                return Err(corrupt("a host whose patterns come twice"));
            }
        }
        Ok(Self { hosts })
    }
}
