//! How many connections fit into the files that this process may open.
//!
//! A socket is a file, and so are the journal, the WARC file, its index and whatever else a crawl opens
//! now and then. Where the system allows few, fewer connections are used and kept; then nothing that the
//! crawl needs is ever refused. First the limit is raised, as far as the system lets us.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use turnstone_crawl::Plan;
use turnstone_fetch::Limits;

/// Files for all but connections: the terminal, the runtime, journal, lock, WARC file, index, status,
/// checkpoint, report, and some to spare.
const RESERVE: u64 = 28;
/// Sockets that one look-up may have open.
const SOCKETS_PER_LOOK_UP: u64 = 2;

/// What each kind of socket may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Share {
    connections: usize,
    idle: usize,
    look_ups: usize,
}

impl Share {
    /// Shares out what a limit leaves, wanting no more than `wanted`.
    fn of(files_max: u64, wanted: Self) -> Self {
        let left = files_max.saturating_sub(RESERVE);
        let number = |files: u64| usize::try_from(files).unwrap_or(usize::MAX);
        let look_ups = wanted.look_ups.min(number(left / 8)).max(1);
        let left = left.saturating_sub(look_ups as u64 * SOCKETS_PER_LOOK_UP);
        // Those that fetch come first, but half of them would come to nothing without the other half.
        let connections = wanted.connections.min(number(left - left / 3)).max(1);
        let left = left.saturating_sub(connections as u64);
        Self {
            connections,
            idle: wanted.idle.min(number(left)),
            look_ups,
        }
    }

    fn files(self) -> u64 {
        RESERVE
            + self.connections as u64
            + self.idle as u64
            + self.look_ups as u64 * SOCKETS_PER_LOOK_UP
    }
}

/// Brings connections within what this process may open, and says so where that is less than was asked.
pub(super) fn fit(plan: &mut Plan, limits: &mut Limits) {
    let wanted = Share {
        connections: plan.connections,
        idle: limits.idle_connections_max,
        look_ups: limits.dns_open_max,
    };
    let Some(files_max) = files_max(wanted.files()) else {
        return;
    };
    let share = Share::of(files_max, wanted);
    if share.connections < wanted.connections {
        crate::log::warning(&format!(
            "turnstone: --connections {} lowered to {}: this process may open {files_max} files \
             (raise it with `ulimit -n`)",
            wanted.connections, share.connections,
        ));
    }
    plan.connections = share.connections;
    limits.idle_connections_max = share.idle;
    limits.dns_open_max = share.look_ups;
}

/// How many files this process may open, after asking for as many as wanted.
fn files_max(wanted: u64) -> Option<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    if soft < wanted && soft < hard {
        let raised = wanted.min(hard);
        if setrlimit(Resource::RLIMIT_NOFILE, raised, hard).is_ok() {
            return Some(raised);
        }
    }
    Some(soft)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files_max: u64, connections: usize, expected: (usize, usize, usize)) {
        let wanted = Share {
            connections,
            idle: 256,
            look_ups: 64,
        };
        let share = Share::of(files_max, wanted);
        assert_eq!((share.connections, share.idle, share.look_ups), expected);
        assert!(share.files() <= files_max.max(RESERVE + 3), "{share:?}");
    }

    #[test]
    fn few_files_are_shared_out() {
        check(1024, 64, (64, 256, 64)); // enough
        check(256, 64, (64, 108, 28)); // fewer are kept
        check(40, 64, (7, 3, 1));
        check(30, 64, (1, 0, 1));
        check(0, 64, (1, 0, 1)); // a crawl is tried all the same
    }
}
