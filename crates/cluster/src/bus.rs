//! The bus: what a cluster needs of whatever replicates its bytes.
//!
//! A request is handed over together with a ticket, and some time later an answer comes back under
//! that ticket: exactly one, [`Answer::Doubt`] at the latest when the bus has waited long enough.
//! A request in doubt may have been carried out, or may still be, so the machines never take it for
//! one or the other. Handing over never blocks. This shape was chosen over async functions because
//! a simulation can then own the order of everything; a real client starts a task per request
//! and queues its answer.
//!
//! What is asked of a log: a total order of what it keeps, and appending only at the expected end.
//! It need not keep its promises: the machines find a tail that was lost, and a write that was let
//! in although its end was wrong.

use crate::shard::{NodeId, Shard};

/// The largest message, payload and head.
pub const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// Carries out requests.
pub trait Bus<Ticket> {
    /// Takes a request over. Its answer comes later.
    fn ask(&mut self, ticket: Ticket, request: Request);

    /// The next answer, if one has come.
    fn answer(&mut self) -> Option<(Ticket, Answer)>;
}

/// A log. Every message has a subject; the order is total over all subjects of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stream {
    /// The journal of a shard, under one subject.
    Journal(Shard),
    /// What all shards send to the shards of a lane, each under its own subject.
    Lane(u32),
}

impl Stream {
    /// Its name: letters, digits and a hyphen.
    pub fn name(self) -> String {
        match self {
            Self::Journal(shard) => format!("J-{}", shard.0),
            Self::Lane(lane) => format!("X-{lane}"),
        }
    }
}

/// A small value that is swapped whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// Who holds a shard.
    Lease(Shard),
    /// That a node is alive.
    Node(NodeId),
    /// What a shard says of itself.
    Statement(Shard),
    /// What may still be spent.
    Budget,
    /// Below which rank nobody hands out, and which wave of statements is asked for.
    Level,
    /// What people told all nodes.
    Orders,
    /// Which node may send requests to an address.
    Token(Address),
    /// Which node waits for the token of an address.
    Want(Address),
}

/// An IPv6 address, or an IPv4 address mapped to one.
pub type Address = [u8; 16];

/// A kind of key, to list all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// All leases.
    Leases,
    /// All nodes.
    Nodes,
    /// All statements.
    Statements,
    /// All tokens that were ever waited for.
    Wants,
}

impl Keys {
    /// What the names of these keys begin with.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Leases => "shard.",
            Self::Nodes => "node.",
            Self::Statements => "state.",
            Self::Wants => "want.",
        }
    }

    /// Whether a key is of this kind.
    pub fn has(self, key: Key) -> bool {
        matches!(
            (self, key),
            (Self::Leases, Key::Lease(_))
                | (Self::Nodes, Key::Node(_))
                | (Self::Statements, Key::Statement(_))
                | (Self::Wants, Key::Want(_))
        )
    }
}

impl Key {
    /// Its name: letters, digits and a dot.
    pub fn name(self) -> String {
        match self {
            Self::Lease(shard) => format!("shard.{}", shard.0),
            Self::Node(node) => format!("node.{:016x}", node.0),
            Self::Statement(shard) => format!("state.{}", shard.0),
            Self::Budget => "budget".into(),
            Self::Level => "level".into(),
            Self::Orders => "orders".into(),
            Self::Token(address) => format!("token.{:032x}", u128::from_be_bytes(address)),
            Self::Want(address) => format!("want.{:032x}", u128::from_be_bytes(address)),
        }
    }

    /// The key of a name.
    pub fn parse(name: &str) -> Option<Self> {
        let shard = |text: &str| text.parse().ok().map(Shard);
        let address = |text: &str| Some(u128::from_str_radix(text, 16).ok()?.to_be_bytes());
        match name.split_once('.') {
            None if name == "budget" => Some(Self::Budget),
            None if name == "level" => Some(Self::Level),
            None if name == "orders" => Some(Self::Orders),
            Some(("token", rest)) => address(rest).map(Self::Token),
            Some(("want", rest)) => address(rest).map(Self::Want),
            Some(("shard", rest)) => shard(rest).map(Self::Lease),
            Some(("state", rest)) => shard(rest).map(Self::Statement),
            Some(("node", rest)) => {
                let number = u64::from_str_radix(rest, 16).ok()?;
                Some(Self::Node(NodeId(number)))
            }
            _ => None,
        }
    }
}

/// What a machine wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Append to a log, if the last message under the subject has this sequence; 0 if there is none.
    Append {
        /// The log.
        stream: Stream,
        /// The subject.
        subject: u32,
        /// The sequence of its last message.
        expect: u64,
        /// The message.
        payload: Vec<u8>,
    },
    /// Read a log from a sequence on, all subjects.
    Read {
        /// The log.
        stream: Stream,
        /// The first sequence wanted.
        from: u64,
    },
    /// Read the last message under a subject.
    Last {
        /// The log.
        stream: Stream,
        /// The subject.
        subject: u32,
    },
    /// Read a key.
    Load {
        /// The key.
        key: Key,
    },
    /// Read all keys of a kind.
    List {
        /// The kind.
        keys: Keys,
    },
    /// Write a key, if it has this revision; 0 if it is not there.
    Swap {
        /// The key.
        key: Key,
        /// Its revision.
        expect: u64,
        /// The value.
        value: Vec<u8>,
    },
    /// Keep bytes under a name.
    Put {
        /// The name.
        name: String,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// The bytes of a name.
    Get {
        /// The name.
        name: String,
    },
}

/// One message of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its place in the log, from 1.
    pub sequence: u64,
    /// Its subject.
    pub subject: u32,
    /// Its bytes.
    pub payload: Vec<u8>,
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Appended at this sequence.
    Appended {
        /// The sequence.
        sequence: u64,
    },
    /// Swapped; the key has this revision now.
    Swapped {
        /// The revision.
        revision: u64,
    },
    /// Neither appended nor swapped: the end or the revision was another.
    Refused,
    /// Nobody knows: it may have been done, it may be done later.
    Doubt,
    /// Messages from the sequence on, in order, perhaps not all; none at the end.
    Messages(Vec<Message>),
    /// The last message under a subject.
    Last(Option<Message>),
    /// Keys with their revisions and values.
    Values(Vec<(Key, u64, Vec<u8>)>),
    /// Kept.
    Kept,
    /// The bytes of a name.
    Blob(Option<Vec<u8>>),
}
