//! A desk on a file: the journal of one shard, lent to its seat.
//!
//! While the seat opens, the journal is brought to what the chain says, and sealed; nobody else has the file then. From
//! there on the shard's loop appends, and tells how far the file is on the disk: so far it is published. What the
//! loop says of itself is kept with its position until the journal is durable up to there, so that a statement is
//! always one of a durable position.
//!
//! Cost: 16 bytes a transfer that was sent; what was appended is read once more, from the system's cache.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;
use turnstone_cluster::audit::{Account, Sender, Statement, Work};
use turnstone_cluster::budget::Amounts;
use turnstone_cluster::chain::Ends;
use turnstone_cluster::channel::{Received, Transfer};
use turnstone_cluster::desk::{Taken, Wish};
use turnstone_cluster::level::Told;
use turnstone_cluster::{Desk, Millis, NodeId, Shard, Tape};
use turnstone_crawl::{Heard, Household, Mailbox, Said};
use turnstone_frontier::{Masses, Tick};
use turnstone_pagestore::{Entry, Position, RawJournal, StoreError, Written, entries_in};

/// The kind of the note that begins an epoch: epoch and node.
pub const EPOCH: &str = "epoch";
/// What a short shard asks for beyond what it has spent and under way.
const NEED: u64 = 16;
/// So many bodies of the greatest length it asks for at once.
const NEED_BODIES: u64 = 4;
/// How many statements wait for their positions to become durable.
const SAID_MAX: usize = 4096;

/// How far the shard's loop is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Working {
    /// Nobody works at it.
    Not,
    /// Its loop runs, or is being started.
    On,
    /// Its loop has ended: everything it wrote was told.
    Over,
}

/// What a crawl is, for its desks.
#[derive(Clone)]
pub(crate) struct Terms {
    pub(crate) secret: [u8; 16],
    pub(crate) cut: (u32, u32),
    pub(crate) household: Household,
    /// Which of requests, bytes and pages are bounded.
    pub(crate) bounded: [bool; 3],
    pub(crate) body_bytes_max: u64,
}

/// The journal of a shard on this machine.
pub struct FileDesk {
    shard: Shard,
    terms: Terms,
    folder: PathBuf,
    raw: RawJournal,
    /// By lane: where transfers end and begin.
    sent: BTreeMap<u32, Vec<(u64, Position)>>,
    /// By sender: how many transfers were taken in.
    known: Vec<u64>,
    latest: Tick,
    pub(crate) working: Working,
    mailbox: Option<Mailbox>,
    /// Transfers that came before the mailbox was there.
    early: Vec<Vec<u8>>,
    said: VecDeque<Said>,
    /// What its last holder stated.
    before: Option<Statement>,
    heard: watch::Sender<Heard>,
    /// Up to when requests may be sent, on the clock of leases; 0 for no more.
    deadline: Arc<AtomicU64>,
    granted: Amounts,
    asked: Amounts,
    /// What went wrong on the disk: the node cannot go on.
    fault: Option<StoreError>,
}

impl FileDesk {
    pub(crate) fn open(
        folder: &Path,
        shard: Shard,
        terms: Terms,
        before: Option<Statement>,
    ) -> Result<Self, StoreError> {
        let mut desk = Self {
            shard,
            known: vec![0; terms.cut.0 as usize],
            terms,
            folder: folder.to_owned(),
            raw: RawJournal::open(folder)?,
            sent: BTreeMap::new(),
            latest: Tick(0),
            working: Working::Not,
            mailbox: None,
            early: Vec::new(),
            said: VecDeque::new(),
            before,
            heard: watch::Sender::new(Heard::default()),
            deadline: Arc::new(AtomicU64::new(0)),
            granted: Amounts::default(),
            asked: Amounts::default(),
            fault: None,
        };
        desk.fold(0)?;
        Ok(desk)
    }

    /// Where the shard is on this machine.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Takes in the entries from a position on.
    fn fold(&mut self, from: u64) -> Result<(), StoreError> {
        let (sent, known, latest) = (&mut self.sent, &mut self.known, &mut self.latest);
        if from == 0 {
            sent.clear();
            known.fill(0);
            *latest = Tick(0);
        }
        let see = |Written { at, next, tick }: Written, entry: &Entry<'_>| {
            *latest = (*latest).max(tick);
            match entry {
                Entry::Sent { lane, .. } => sent.entry(*lane).or_default().push((next.0, at)),
                Entry::Received { bytes } => {
                    if let Ok(it) = Received::decode(bytes) {
                        known[it.from.0 as usize] = known[it.from.0 as usize].max(it.number);
                    }
                }
                _ => {}
            }
        };
        self.raw.each((from, u64::MAX), see)
    }

    /// What the disk refused, if it did.
    pub(crate) fn fault(&mut self) -> Option<StoreError> {
        self.fault.take()
    }

    fn note(&mut self, done: Result<(), StoreError>) {
        if let Err(error) = done {
            self.fault.get_or_insert(error);
        }
    }

    /// The loop's journal is on this disk up to here.
    pub(crate) fn synced(&mut self, until: Position) {
        let from = self.raw.end();
        if until.0 > from {
            let grown = self.raw.grown(until.0).and_then(|()| self.fold(from));
            self.note(grown);
        }
    }

    /// The loop said where it stands.
    pub(crate) fn heard_said(&mut self, said: Said) {
        if self.said.len() == SAID_MAX {
            self.said.pop_front();
        }
        self.said.push_back(said);
    }

    /// The loop can be given transfers.
    pub(crate) fn moved_in(&mut self, mailbox: Mailbox) {
        for transfer in self.early.drain(..) {
            mailbox.transfer(transfer);
        }
        self.mailbox = Some(mailbox);
    }

    pub(crate) fn listen(&self) -> watch::Receiver<Heard> {
        self.heard.subscribe()
    }

    pub(crate) fn deadline(&self) -> Arc<AtomicU64> {
        self.deadline.clone()
    }

    /// Tells the loop what is durable, and up to when it may send.
    pub(crate) fn tell(&mut self, durable: u64, deadline: Millis) {
        self.deadline.store(deadline, Ordering::SeqCst);
        self.heard.send_if_modified(|heard| {
            let news = heard.durable.0 < durable;
            heard.durable.0 = heard.durable.0.max(durable);
            news
        });
        // The newest that is durable, and those that are not yet.
        while self.said.len() > 1 && self.said[1].at.0 <= durable {
            self.said.pop_front();
        }
    }

    fn read(&self, from: u64, until: u64) -> Vec<u8> {
        // A file that could be written a moment ago cannot be read: whatever is published without would be wrong.
        let read = self.raw.range(from, until);
        read.unwrap_or_else(|error| panic!("shard {}: {error}", self.shard.0))
    }

    fn others(&self) -> impl Iterator<Item = Shard> + use<> {
        let me = self.shard;
        (0..self.terms.cut.0)
            .map(Shard)
            .filter(move |shard| *shard != me)
    }
}

impl Tape for FileDesk {
    fn end(&self) -> u64 {
        self.raw.end()
    }

    fn piece(&self, from: u64, bytes_max: usize) -> (Vec<u8>, Ends) {
        match self.raw.piece(from, bytes_max) {
            Ok((bytes, true)) => (bytes, Ends::Whole),
            Ok((bytes, false)) => (bytes, Ends::Part),
            Err(error) => panic!("shard {}: {error}", self.shard.0),
        }
    }

    fn range(&self, from: u64, until: u64) -> Vec<u8> {
        self.read(from, until)
    }

    fn append(&mut self, bytes: &[u8]) {
        let from = self.raw.end();
        let appended = self.raw.append(bytes).and_then(|()| self.fold(from));
        self.note(appended);
    }

    fn cut(&mut self, at: u64) {
        if at < self.raw.end() {
            let cut = self.raw.cut(at).and_then(|()| self.fold(0));
            self.note(cut);
        }
    }

    fn seal(&mut self, epoch: u64, node: NodeId) {
        let mut begun = Ok(());
        if self.raw.end() == 0 {
            let first = Entry::Cut {
                shard: self.shard.0,
                shards: self.terms.cut.0,
            };
            begun = self.raw.begin(self.terms.secret, &first);
        }
        let mut bytes = epoch.to_le_bytes().to_vec();
        bytes.extend_from_slice(&node.0.to_le_bytes());
        let note = Entry::Note {
            kind: EPOCH,
            bytes: &bytes,
        };
        let latest = self.latest;
        let sealed = begun
            .and_then(|()| self.raw.tell(latest, &note))
            .and_then(|()| self.raw.sync());
        self.note(sealed);
    }

    fn sent(&self, lane: u32, until: u64) -> u64 {
        let sent = self.sent.get(&lane).map_or(&[][..], Vec::as_slice);
        sent.partition_point(|(end, _)| *end <= until) as u64
    }

    fn transfer(&self, lane: u32, number: u64) -> Vec<u8> {
        let sent = self.sent.get(&lane).and_then(|sent| {
            let at = usize::try_from(number.checked_sub(1)?).ok()?;
            sent.get(at).copied()
        });
        let Some((end, at)) = sent else {
            return Vec::new();
        };
        let mut transfer = Vec::new();
        let piece = self.read(at.0, end);
        let _ = entries_in(&piece, at.0, &mut |_, entry| {
            if let Entry::Sent { bytes, .. } = entry {
                transfer = bytes.to_vec();
            }
        });
        transfer
    }

    fn lane_of(&self, shard: Shard) -> u32 {
        shard.0 % self.terms.cut.1
    }

    fn statement(&self, durable: u64) -> Statement {
        let applied = |from: Shard| {
            // What was handed on counts, durable or not.
            self.known[from.0 as usize]
        };
        let mut statement = Statement {
            shard: self.shard,
            claim: (0, NodeId(0)),
            wave: 0,
            position: durable,
            work: Work::Busy,
            best: 0,
            account: Account::default(),
            sent: BTreeMap::new(),
            senders: BTreeMap::new(),
            figures: Vec::new(),
        };
        let said = self.said.iter().rev().find(|said| said.at.0 <= durable);
        if let Some(said) = said {
            let newest = self.said.back().is_some_and(|newest| newest.at == said.at);
            let quiet = newest && self.raw.end() == durable && said.standing.idle;
            statement.wave = said.wave;
            statement.work = if quiet { Work::Idle } else { Work::Busy };
            statement.best = said.standing.best.unwrap_or(0);
            statement.account = account(&said.standing.masses);
            for to in self.others() {
                statement.sent.insert(to, said.sent[to.0 as usize]);
                let mass = said.received[to.0 as usize];
                statement.senders.insert(
                    to,
                    Sender {
                        mass,
                        applied: applied(to),
                        heard: 0,
                    },
                );
            }
            statement.figures = said.figures.to_numbers();
        } else {
            // Nobody has worked at it yet: what was last said of it is still so.
            if let Some(before) = &self.before {
                statement.account = before.account;
                statement.sent.clone_from(&before.sent);
                statement.senders.clone_from(&before.senders);
                statement.figures.clone_from(&before.figures);
            }
            for from in self.others() {
                let sender = statement.senders.entry(from).or_default();
                sender.applied = applied(from);
                sender.heard = 0;
            }
        }
        statement
    }
}

/// The masses of a ledger as they are stated.
pub fn account(masses: &Masses) -> Account {
    Account {
        endowed: masses.endowed,
        received: masses.received,
        sent: masses.sent,
        covered: masses.covered,
        residuals: masses.residuals,
        lost: masses.lost,
        owed: masses.owed,
        doubt: masses.doubt,
        missing: masses.missing,
        stuck: masses.stuck,
    }
}

/// The same back.
pub fn masses(account: &Account) -> Masses {
    Masses {
        endowed: account.endowed,
        received: account.received,
        sent: account.sent,
        covered: account.covered,
        residuals: account.residuals,
        lost: account.lost,
        owed: account.owed,
        doubt: account.doubt,
        missing: account.missing,
        stuck: account.stuck,
    }
}

impl Desk for FileDesk {
    fn known(&self, from: Shard) -> u64 {
        self.known.get(from.0 as usize).copied().unwrap_or(0)
    }

    fn take(&mut self, transfer: &[u8]) -> Taken {
        let Ok(it) = Transfer::decode(transfer) else {
            // Of another release, or damaged: it is read in its sender's journal if it ever was one.
            return Taken::In;
        };
        let Some(known) = self.known.get_mut(it.from.0 as usize) else {
            return Taken::In;
        };
        if it.from == self.shard || it.number <= *known {
            return Taken::In;
        }
        if it.number > *known + 1 {
            return Taken::Gap;
        }
        *known += 1;
        match &self.mailbox {
            Some(mailbox) => mailbox.transfer(transfer.to_vec()),
            None => self.early.push(transfer.to_vec()),
        }
        Taken::In
    }

    fn transfers_in(&self, piece: &[u8], lane: u32) -> Vec<Vec<u8>> {
        let mut transfers = Vec::new();
        let mut see = |_: Written, entry: &Entry<'_>| {
            if let Entry::Sent { lane: of, bytes } = entry
                && *of == lane
            {
                transfers.push(bytes.to_vec());
            }
        };
        // Only the first piece of a journal begins with its head.
        let position = u64::from(!piece.starts_with(b"TSJOURNL"));
        let _ = entries_in(piece, position, &mut see);
        transfers
    }

    fn wish(&self) -> Wish {
        let shard = self.shard.0 as usize;
        let Some(said) = self.said.back() else {
            return Wish::Nothing;
        };
        let spent = said.standing.spent;
        if self.terms.household.is_short(shard) {
            let open = spent.requests_open + spent.pages_open;
            let all = [
                spent.requests + open + NEED,
                spent.bytes + (spent.requests_open + NEED_BODIES) * self.terms.body_bytes_max,
                spent.pages + open + NEED,
            ];
            let kinds = [0, 1, 2];
            return Wish::Reach(kinds.map(|kind| match self.terms.bounded[kind] {
                true => all[kind].max(self.granted[kind] + 1),
                false => 0,
            }));
        }
        if said.standing.done && self.granted != Amounts::default() {
            let least = self.terms.household.lower(shard, self.terms.body_bytes_max);
            let kinds = [0, 1, 2];
            let keeps = kinds.map(|kind| least[kind].min(self.granted[kind]));
            if kinds
                .iter()
                .any(|kind| self.terms.bounded[*kind] && keeps[*kind] < self.granted[*kind])
            {
                return Wish::Keep(keeps);
            }
        }
        Wish::Nothing
    }

    fn wished(&mut self, up_to: Amounts) {
        self.asked = up_to;
    }

    fn granted(&mut self, limit: Amounts) {
        let kinds = [0, 1, 2];
        let dry = kinds.iter().any(|kind| {
            self.terms.bounded[*kind]
                && limit[*kind] < self.asked[*kind]
                && limit[*kind] == self.granted[*kind]
        });
        self.granted = limit;
        self.terms
            .household
            .grant(self.shard.0 as usize, limit, dry);
    }

    fn hear(&mut self, told: &Told) {
        self.terms.household.level(told.level);
        self.heard.send_if_modified(|heard| {
            let news = heard.wave != told.wave;
            heard.wave = told.wave;
            news
        });
    }

    fn is_closed(&self) -> bool {
        self.working == Working::Over
    }
}
