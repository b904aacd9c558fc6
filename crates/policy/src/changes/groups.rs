//! Members of numbered groups, and marks on numbered things: the two small structures that every
//! neighbourhood is made of.

/// Members of numbered groups, in the order they came.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    starts: Vec<u32>,
    members: Vec<u32>,
}

impl Groups {
    /// Turns "by member: its group" round. Members of group `u32::MAX` are left out.
    pub(super) fn of(group_of: impl Iterator<Item = u32> + Clone, count: usize) -> Self {
        let mut starts = vec![0u32; count + 1];
        for group in group_of.clone().filter(|group| *group != u32::MAX) {
            starts[group as usize + 1] += 1;
        }
        for group in 0..count {
            starts[group + 1] += starts[group];
        }
        let mut next = starts.clone();
        let mut members = vec![0; starts[count] as usize];
        for (member, group) in group_of.enumerate() {
            if group != u32::MAX {
                members[next[group as usize] as usize] = member as u32;
                next[group as usize] += 1;
            }
        }
        Self { starts, members }
    }

    /// The members of a group.
    #[inline]
    pub(super) fn row(&self, group: usize) -> &[u32] {
        &self.members[self.starts[group] as usize..self.starts[group + 1] as usize]
    }

    /// How many members all groups have.
    pub(super) fn member_count(&self) -> usize {
        self.members.len()
    }

    /// Puts in place of each member m what stands at m.
    pub(super) fn replace(&mut self, by: &[u32]) {
        for member in &mut self.members {
            *member = by[*member as usize];
        }
    }
}

/// Marks that are all wiped at once.
#[derive(Debug)]
pub(super) struct Marks {
    marked: Vec<u32>,
    now: u32,
}

impl Marks {
    pub(super) fn new(count: usize) -> Self {
        Self {
            marked: vec![0; count],
            now: 1,
        }
    }

    /// Wipes all marks: O(1), but once in 2³² times.
    pub(super) fn wipe(&mut self) {
        self.now = self.now.wrapping_add(1);
        if self.now == 0 {
            self.marked.fill(0);
            self.now = 1;
        }
    }

    /// Marks; true if it was not marked before.
    #[inline]
    pub(super) fn mark(&mut self, index: usize) -> bool {
        std::mem::replace(&mut self.marked[index], self.now) != self.now
    }
}
