//! A disk in memory that fills up, tears writes, and forgets what was never synced.

use std::io;
use std::sync::{Mutex, MutexGuard};

use turnstone_pagestore::Disk;

use super::dice::Dice;

#[derive(Debug, Default)]
pub(super) struct VirtualDisk {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What a process that reads sees.
    written: Vec<u8>,
    /// What a power loss leaves for certain.
    durable: Vec<u8>,
    /// So many writes fail, the first of them after writing a part.
    full_for: u32,
    /// After so many more changes the process that makes them is dead, in the middle of the last.
    dies_after: Option<u32>,
}

impl State {
    /// Whether the process lives on after one more change.
    fn survives(&mut self) -> bool {
        match &mut self.dies_after {
            None => true,
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                *left > 0
            }
        }
    }
}

fn dead() -> io::Error {
    io::Error::other("the process is dead")
}

impl VirtualDisk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// So many writes fail from now on.
    pub(super) fn fill(&self, writes: u32) {
        self.state().full_for = writes;
    }

    /// The process dies in the middle of its n-th change from now on.
    pub(super) fn die_after(&self, changes: u32) {
        self.state().dies_after = Some(changes + 1);
    }

    pub(super) fn is_dead(&self) -> bool {
        self.state().dies_after == Some(0)
    }

    /// Another process has it.
    pub(super) fn revive(&self) {
        self.state().dies_after = None;
    }

    pub(super) fn durable_length(&self) -> u64 {
        self.state().durable.len() as u64
    }

    /// The power goes: of what was never synced some part is left, its last bytes perhaps other ones.
    /// Returns how much is there for certain.
    pub(super) fn lose_power(&self, dice: &mut Dice) -> u64 {
        let mut state = self.state();
        let sure = state.durable.len();
        let unsure = state.written.len().saturating_sub(sure) as u64;
        let keep = sure + dice.below(unsure + 1) as usize;
        state.written.truncate(keep);
        let torn = dice.below(4).min((keep - sure.min(keep)) as u64) as usize;
        for byte in &mut state.written[keep - torn..] {
            *byte = dice.bits() as u8;
        }
        let left = state.written.clone();
        state.durable = left;
        state.full_for = 0;
        sure as u64
    }
}

impl Disk for VirtualDisk {
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        let state = self.state();
        let from = state.written.get(at as usize..).unwrap_or_default();
        let count = from.len().min(bytes.len());
        bytes[..count].copy_from_slice(&from[..count]);
        Ok(count)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<usize> {
        let mut state = self.state();
        let at = at as usize;
        let was_dead = state.dies_after == Some(0);
        let lives = state.survives();
        if was_dead {
            return Err(dead());
        }
        let part = if !lives {
            bytes.len() / 2
        } else if state.full_for > 0 {
            state.full_for -= 1;
            bytes.len() / 2
        } else {
            bytes.len()
        };
        let end = at + part;
        if state.written.len() < end {
            state.written.resize(end, 0);
        }
        state.written[at..end].copy_from_slice(&bytes[..part]);
        if !lives {
            return Err(dead());
        }
        if part < bytes.len() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(part)
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        let mut state = self.state();
        if !state.survives() {
            return Err(dead());
        }
        state.written.truncate(length as usize);
        let length = state.durable.len().min(length as usize);
        state.durable.truncate(length);
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.state().written.len() as u64)
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.state();
        if !state.survives() {
            return Err(dead());
        }
        let written = state.written.clone();
        state.durable = written;
        Ok(())
    }
}
