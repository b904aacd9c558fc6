//! Tokens: at an address only the node sends requests that holds its token.
//!
//! Politeness is owed to an address, and two sites on one address may belong to shards of two nodes. Within a
//! node one book says who asks where; between nodes a key for each address says whose it is. A node swaps itself
//! in before its first request there, and keeps the token until another node *wants* it: then it lets its open
//! request end, rests what the address is due, and gives the token back. So an address that one node uses
//! costs one write, ever, and one that several use changes hands every [`KEEP_MS`] or so.
//!
//! A holder that died is told by its sign of life, as with a lease: who sends under a token does so no later than
//! [`Register::deadline`](crate::register::Register::deadline) of its own sign; who takes one away has seen the
//! sign unchanged for longer, and rests a full delay first. A node that slept through its deadline looks at
//! all its tokens again.
//!
//! Rejected: a home shard for each address that gives a permit for each request. It needs messages between
//! nodes for every request at a shared address, and a journal entry for each; and an address whose home has
//! no holder can be asked by nobody.
//!
//! Cost: one write an address, one read a second of the list of those that were ever wanted.

use std::collections::BTreeMap;

use crate::Millis;
use crate::bus::{Address, Answer, Key, Request};
use crate::shard::NodeId;
use crate::wire::{Cursor, Malformed, Put as _};

/// How long a token is kept before it is given to who wants it.
pub const KEEP_MS: Millis = 3_000;
/// How long a node that gave a token back leaves it to others.
const AGAIN_MS: Millis = 1_500;
/// How often a token that another node has is looked at.
pub const LOOK_MS: Millis = 250;

const VERSION: u8 = 1;
/// Nobody.
const NOBODY: NodeId = NodeId(0);

/// The value of a token or of a want.
fn encode(node: NodeId) -> Vec<u8> {
    let mut out = vec![VERSION];
    out.put_number(node.0);
    out
}

fn decode(bytes: &[u8]) -> Result<NodeId, Malformed> {
    let mut from = Cursor::versioned(bytes, VERSION)?;
    let node = NodeId(from.number()?);
    from.end()?;
    Ok(node)
}

/// What became of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// Its token is ours. Where it was taken from a node that died, the address rests a full delay first.
    Ours {
        /// Nobody had given it back.
        taken: bool,
    },
    /// Its token is not ours any more.
    Lost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// The key must be read.
    Unsure,
    Loading,
    /// Nobody's, or of somebody who is gone: being swapped.
    Taking {
        taken: bool,
        /// Our sign of life ran out since: what comes of it is not ours to use any more.
        late: bool,
    },
    /// Another node's; to be looked at again.
    Theirs {
        look_at: Millis,
    },
    Ours,
    /// Being given back.
    Giving,
    /// Given back, and not wanted here any more.
    Done,
}

#[derive(Clone, Copy, Debug)]
struct Token {
    mode: Mode,
    revision: u64,
    since: Millis,
    /// Another node wants it.
    wanted: bool,
    /// Whether we said that we want it.
    want: Want,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    No,
    /// To be said.
    ToSay,
    Loading,
    Swapping,
    Said,
}

/// The tokens of one node.
#[derive(Debug)]
pub struct Tokens {
    me: NodeId,
    tokens: BTreeMap<Address, Token>,
    wants: BTreeMap<Address, u64>,
}

impl Tokens {
    /// None yet.
    pub fn new(me: NodeId) -> Self {
        Self {
            me,
            tokens: BTreeMap::new(),
            wants: BTreeMap::new(),
        }
    }

    /// Requests are to be sent to an address: its token is asked for, unless it is ours.
    pub fn need(&mut self, address: Address) {
        let token = self.tokens.entry(address).or_insert(Token {
            mode: Mode::Unsure,
            revision: 0,
            since: 0,
            wanted: false,
            want: Want::No,
        });
        if token.mode == Mode::Done {
            // Whoever waited for it comes first.
            let look_at = token.since + AGAIN_MS;
            token.mode = Mode::Theirs { look_at };
        }
    }

    /// Whether the token of an address is ours.
    pub fn is_ours(&self, address: &Address) -> bool {
        let token = self.tokens.get(address);
        token.is_some_and(|token| token.mode == Mode::Ours)
    }

    /// Those to be given back now, if nothing is open there and the address has rested.
    pub fn to_give(&self, now: Millis) -> impl Iterator<Item = Address> + '_ {
        let due = move |(_, token): &(&Address, &Token)| {
            token.mode == Mode::Ours && token.wanted && now >= token.since + KEEP_MS
        };
        self.tokens.iter().filter(due).map(|(address, _)| *address)
    }

    /// Gives a token back: no request is open there, and none is due a rest.
    pub fn give(&mut self, address: &Address) {
        if let Some(token) = self.tokens.get_mut(address)
            && token.mode == Mode::Ours
        {
            token.mode = Mode::Giving;
            token.wanted = false;
        }
    }

    /// Our sign of life was not renewed in time: others may have taken what was ours.
    pub fn lapse(&mut self, lost: &mut Vec<(Address, Came)>) {
        for (address, token) in &mut self.tokens {
            match &mut token.mode {
                Mode::Ours => {
                    token.mode = Mode::Unsure;
                    lost.push((*address, Came::Lost));
                }
                Mode::Taking { late, .. } => *late = true,
                _ => {}
            }
        }
    }

    /// Takes the list of what is wanted.
    pub fn listed(&mut self, answer: &Answer) {
        let Answer::Values(values) = answer else {
            return;
        };
        for (key, revision, value) in values {
            let Key::Want(address) = *key else { continue };
            self.wants.insert(address, *revision);
            let Some(token) = self.tokens.get_mut(&address) else {
                continue;
            };
            let who = decode(value).unwrap_or(NOBODY);
            match token.mode {
                Mode::Ours => token.wanted = who != self.me && who != NOBODY,
                // Another node that waits, or has waited, wrote over it.
                Mode::Theirs { .. } if token.want == Want::Said && who != self.me => {
                    token.want = Want::ToSay;
                }
                _ => {}
            }
        }
    }

    /// Everything that is to be asked now.
    pub fn want(&mut self, now: Millis, out: &mut Vec<(Key, Request)>) {
        for (address, token) in &mut self.tokens {
            let key = Key::Token(*address);
            let swap = |revision, who| Request::Swap {
                key,
                expect: revision,
                value: encode(who),
            };
            match token.mode {
                Mode::Theirs { look_at } if now < look_at => {}
                Mode::Unsure | Mode::Theirs { .. } => {
                    token.mode = Mode::Loading;
                    out.push((key, Request::Load { key }));
                }
                Mode::Giving if token.since != Millis::MAX => {
                    token.since = Millis::MAX;
                    out.push((key, swap(token.revision, NOBODY)));
                }
                Mode::Taking { .. } if token.since != Millis::MAX => {
                    token.since = Millis::MAX;
                    out.push((key, swap(token.revision, self.me)));
                }
                _ => {}
            }
            let key = Key::Want(*address);
            let says = match (token.want, token.mode) {
                (Want::ToSay, _) => Some(self.me),
                (Want::Said, Mode::Ours) => Some(NOBODY),
                _ => None,
            };
            if let Some(who) = says {
                let expect = self.wants.get(address).copied().unwrap_or(0);
                let value = encode(who);
                token.want = if who == NOBODY {
                    Want::No
                } else {
                    Want::Swapping
                };
                out.push((key, Request::Swap { key, expect, value }));
            } else if token.want == Want::Loading {
                token.want = Want::Swapping;
                out.push((key, Request::Load { key }));
            }
        }
    }

    /// Takes an answer. `is_gone` says of a node that its sign of life was not renewed for so long that it
    /// sends no more.
    pub fn answered(
        &mut self,
        key: Key,
        answer: &Answer,
        now: Millis,
        is_gone: impl Fn(NodeId) -> bool,
    ) -> Option<(Address, Came)> {
        match key {
            Key::Token(address) => {
                let came = self.token_answered(&address, answer, now, is_gone)?;
                Some((address, came))
            }
            Key::Want(address) => {
                self.want_answered(address, answer);
                None
            }
            _ => None,
        }
    }

    fn token_answered(
        &mut self,
        address: &Address,
        answer: &Answer,
        now: Millis,
        is_gone: impl Fn(NodeId) -> bool,
    ) -> Option<Came> {
        let token = self.tokens.get_mut(address)?;
        let before = std::mem::replace(&mut token.mode, Mode::Unsure);
        token.since = now;
        match (before, answer) {
            (Mode::Loading, Answer::Values(values)) => {
                let found = values.first();
                token.revision = found.map_or(0, |(_, revision, _)| *revision);
                let holder = found.and_then(|(_, _, value)| decode(value).ok());
                token.mode = match holder {
                    None | Some(NOBODY) => Mode::Taking {
                        taken: false,
                        late: false,
                    },
                    // Swapped in although no answer came.
                    Some(holder) if holder == self.me => Mode::Taking {
                        taken: false,
                        late: false,
                    },
                    Some(holder) if is_gone(holder) => Mode::Taking {
                        taken: true,
                        late: false,
                    },
                    Some(_) => {
                        if token.want == Want::No {
                            token.want = Want::ToSay;
                        }
                        Mode::Theirs {
                            look_at: now + LOOK_MS,
                        }
                    }
                };
                None
            }
            (Mode::Taking { taken, late: false }, Answer::Swapped { revision }) => {
                token.revision = *revision;
                token.mode = Mode::Ours;
                token.wanted = false;
                Some(Came::Ours { taken })
            }
            (Mode::Giving, Answer::Swapped { revision }) => {
                token.revision = *revision;
                token.mode = Mode::Done;
                Some(Came::Lost)
            }
            (Mode::Giving, _) => Some(Came::Lost),
            _ => None,
        }
    }

    fn want_answered(&mut self, address: Address, answer: &Answer) {
        let Some(token) = self.tokens.get_mut(&address) else {
            return;
        };
        match answer {
            Answer::Swapped { revision } => {
                self.wants.insert(address, *revision);
                if token.want == Want::Swapping {
                    token.want = Want::Said;
                }
            }
            Answer::Values(values) => {
                let revision = values.first().map_or(0, |(_, revision, _)| *revision);
                self.wants.insert(address, revision);
                token.want = Want::ToSay;
            }
            _ if token.want == Want::Swapping => token.want = Want::Loading,
            _ => {}
        }
    }
}
