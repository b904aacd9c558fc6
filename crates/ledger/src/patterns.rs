//! Budgets for URL patterns, host by host, as the journal tells them.
//!
//! A page counts when an outcome says that it was asked for, not when it is about to be: so a
//! process that was killed in between and one that was not count alike. Requests under way may pass
//! a budget by their number; that is bounded, and forgetting them would not be.

use std::collections::BTreeMap;
use std::io;

use turnstone_frontier::{HostId, Restore, Save, corrupt};
use turnstone_urls::Url;
use turnstone_urls::traps::{self, BudgetOptions, OverBudget, PatternBudget, TrapOptions};

/// The budgets of all hosts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Patterns {
    hosts: BTreeMap<HostId, PatternBudget>,
}

impl Patterns {
    /// Whether a page may be asked for.
    pub(crate) fn allows(
        &self,
        host: HostId,
        url: &Url,
        now_s: u64,
        (traps, budgets): &(TrapOptions, BudgetOptions),
    ) -> Result<(), OverBudget> {
        let class = traps::judge(url, now_s, traps).map(|finding| finding.class);
        match self.hosts.get(&host) {
            Some(host) => host.allows(url, class, budgets),
            None => PatternBudget::default().allows(url, class, budgets),
        }
    }

    /// A page was asked for, and perhaps brought text not seen before.
    pub(crate) fn asked(&mut self, host: HostId, url: &Url, novel: bool, budgets: &BudgetOptions) {
        let host = self.hosts.entry(host).or_default();
        host.asked(url, budgets);
        if novel {
            host.brought_new(url, budgets);
        }
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
