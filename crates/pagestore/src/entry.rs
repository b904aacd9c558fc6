//! What can stand in the journal: every event, every hand-out, and what a restart must know.
//!
//! An entry is a kind, a tick and its fields; each can be read by itself, so that the index only
//! keeps positions. Links are written in the order of the page, each as its difference to the one
//! before.

use turnstone_frontier::{HostId, PageId, Tick, Visit};

use crate::bytes::{Cursor, Malformed, Put as _};
use crate::keys::Key;
use crate::links::{Links, checked_links};
use crate::outcome::{OUTCOME, Outcome};

/// One entry.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "entries are lent one at a time, never gathered"
)]
pub enum Entry<'a> {
    /// A process took the crawl over.
    Session {
        /// The wall clock, in milliseconds of 1970.
        wall_ms: u64,
        /// Which start of the machine this is; empty if it cannot be known.
        boot: &'a str,
        /// Milliseconds since that start.
        boot_ms: u64,
        /// The delay between requests to a host.
        delay_ms: u64,
        /// How many requests may be open at a host.
        open_max: u32,
        /// The policy, as a spec.
        policy: &'a str,
    },
    /// A host was named. Host ids are dense and issued in order.
    Host {
        /// The host.
        host: HostId,
        /// Its name.
        name: &'a str,
    },
    /// A URL was seen for the first time. Page ids are dense and issued in order.
    Page {
        /// The page.
        page: PageId,
        /// Its host.
        host: HostId,
        /// Named by the user rather than found through a link.
        seed: bool,
        /// Out of the crawl's scope when it was found: remembered, never asked for.
        outside: bool,
        /// Found by way of a sitemap or a feed, or one of these, when nothing else had led there.
        listed: bool,
        /// Links from the nearest seed, as far as is known.
        depth: u8,
        /// The fingerprint of its canonical URL.
        key: Key,
        /// The URL as found.
        url: &'a str,
        /// Why it is not going to be asked for, as class and detail; both empty if it is.
        refused: (&'a str, &'a str),
        /// What another crawler wants back with the page when it is lent to it; opaque here.
        metadata: &'a [u8],
    },
    /// Pages of one host were lent to another crawler. Those it has not settled by then may be lent again.
    Lent {
        /// The first tick at which they may.
        until: Tick,
        /// The pages, in the order in which they were lent.
        pages: Links<'a>,
    },
    /// A page is as if it had never been known: whoever names its URL again names a new page.
    Forgotten {
        /// The page.
        page: PageId,
        /// Its fingerprint, which is free now.
        key: Key,
    },
    /// The scheduler handed a page out.
    HandOut {
        /// The page.
        page: PageId,
    },
    /// A page was settled, by an answer or without one.
    Outcome(Outcome<'a>),
    /// A host asked not to be contacted before a time.
    Held {
        /// The host.
        host: HostId,
        /// The first tick at which it may be contacted again.
        until: Tick,
    },
    /// Pages of one host are not asked for before a time; other hosts at its address are.
    Shut {
        /// The host.
        host: HostId,
        /// The first tick at which its pages may be asked for again.
        until: Tick,
    },
    /// Something happened at a host beside its pages.
    Visit {
        /// The host.
        host: HostId,
        /// What.
        visit: Visit,
    },
    /// Two hosts are served by one address.
    Joined {
        /// The host.
        host: HostId,
        /// The other.
        with: HostId,
    },
    /// A host was found at an address where none had been met.
    Address {
        /// The host.
        host: HostId,
        /// The address, 4 bytes or 16.
        address: &'a [u8],
    },
    /// Nothing that is ranked can be asked for, for a while: the policy is to rank what it has left
    /// out so far.
    Starved,
    /// This journal is that of one shard of a crawl. It stands first.
    Cut {
        /// The shard.
        shard: u32,
        /// How many there are.
        shards: u32,
    },
    /// A host was named that belongs to another shard: its pages are away. Like [`Self::Host`], and in one
    /// entry: cut off between two, it would be taken for a host of this shard. Whose it is stands here so
    /// that another list of public suffixes changes nothing that is known.
    Away {
        /// The host.
        host: HostId,
        /// Its name.
        name: &'a str,
        /// The shard.
        shard: u32,
    },
    /// What belongs to other shards left this one: a transfer, as it travels. Opaque here.
    Sent {
        /// The lane it goes through.
        lane: u32,
        /// The transfer.
        bytes: &'a [u8],
    },
    /// A transfer of another shard was taken in. Opaque here.
    Received {
        /// What of it was for this shard.
        bytes: &'a [u8],
    },
    /// What is known of an authority's robots.txt.
    Robots {
        /// Scheme, host and port.
        authority: &'a str,
        /// The saved record, opaque here.
        record: &'a [u8],
        /// Requests sent to learn it.
        requests: u32,
        /// Bytes of body received.
        body_bytes: u64,
    },
    /// A new round began.
    Round {
        /// Which question it asks: `refresh`, `discover`, `keep`.
        question: &'a str,
        /// Its number, from 0 for each question.
        round: u32,
        /// How many fetches it may spend.
        budget: u64,
    },
    /// A page says that another changed since our copy of it was made.
    Hint(Hint),
    /// From here on the crawl is another one: it asks another question, by another policy, of other
    /// pages or with other seeds. What happened before is told to the new policy as news, so that its
    /// state is a function of the journal alone.
    Plan {
        /// Which question is asked: `crawl`, `revive`, `refresh`, `discover`, `keep`.
        question: &'a str,
        /// The policy with everything its decisions depend on.
        policy: &'a str,
        /// How many seeds there are.
        seeds: u32,
        /// The rest of what was asked, in the driver's words.
        text: &'a str,
        /// Pages known before that come into scope.
        inside: Links<'a>,
        /// Pages known before that leave it.
        outside: Links<'a>,
    },
    /// Something a driver wants to find again, opaque here.
    Note {
        /// What kind of thing.
        kind: &'a str,
        /// The thing.
        bytes: &'a [u8],
    },
}

/// A saying that a page changed: a date in a sitemap or a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The page that is said to have changed.
    pub page: PageId,
    /// The page that says so.
    pub by: PageId,
    /// When it is said to have changed, in seconds of 1970.
    pub changed_s: u64,
}

impl Entry<'_> {
    /// Writes the entry with its tick.
    pub(crate) fn put(&self, tick: Tick, out: &mut Vec<u8>) {
        out.push(self.kind());
        out.put_number(tick.0);
        match self {
            Self::Session {
                wall_ms,
                boot,
                boot_ms,
                delay_ms,
                open_max,
                policy,
            } => {
                out.put_number(*wall_ms);
                out.put_bytes(boot.as_bytes());
                out.put_number(*boot_ms);
                out.put_number(*delay_ms);
                out.put_number(u64::from(*open_max));
                out.put_bytes(policy.as_bytes());
            }
            Self::Host { host, name } => {
                out.put_number(u64::from(host.0));
                out.put_bytes(name.as_bytes());
            }
            Self::Page {
                page,
                host,
                seed,
                outside,
                listed,
                depth,
                key,
                url,
                refused: (class, detail),
                metadata,
            } => {
                out.put_number(u64::from(page.0));
                out.put_number(u64::from(host.0));
                let described = !metadata.is_empty();
                let marks = [*seed, *outside, *listed, described];
                let marks = marks.iter().enumerate();
                out.push(marks.fold(0, |byte, (bit, mark)| byte | u8::from(*mark) << bit));
                out.push(*depth);
                out.extend_from_slice(&key.to_bytes());
                out.put_bytes(url.as_bytes());
                out.put_bytes(class.as_bytes());
                out.put_bytes(detail.as_bytes());
                if described {
                    out.put_bytes(metadata);
                }
            }
            Self::Lent { until, pages } => {
                out.put_number(until.0);
                pages.put(out);
            }
            Self::Forgotten { page, key } => {
                out.put_number(u64::from(page.0));
                out.extend_from_slice(&key.to_bytes());
            }
            Self::HandOut { page } => out.put_number(u64::from(page.0)),
            Self::Outcome(outcome) => outcome.put(out),
            Self::Held { host, until } | Self::Shut { host, until } => {
                out.put_number(u64::from(host.0));
                out.put_number(until.0);
            }
            Self::Visit { host, visit } => {
                out.put_number(u64::from(host.0));
                out.push(code(&VISITS, visit));
            }
            Self::Joined { host, with } => {
                out.put_number(u64::from(host.0));
                out.put_number(u64::from(with.0));
            }
            Self::Starved => {}
            Self::Cut { shard, shards } => {
                out.put_number(u64::from(*shard));
                out.put_number(u64::from(*shards));
            }
            Self::Away { host, name, shard } => {
                out.put_number(u64::from(host.0));
                out.put_bytes(name.as_bytes());
                out.put_number(u64::from(*shard));
            }
            Self::Sent { lane, bytes } => {
                out.put_number(u64::from(*lane));
                out.put_bytes(bytes);
            }
            Self::Received { bytes } => out.put_bytes(bytes),
            Self::Address { host, address } => {
                out.put_number(u64::from(host.0));
                out.put_bytes(address);
            }
            Self::Robots {
                authority,
                record,
                requests,
                body_bytes,
            } => {
                out.put_bytes(authority.as_bytes());
                out.put_bytes(record);
                out.put_number(u64::from(*requests));
                out.put_number(*body_bytes);
            }
            Self::Round {
                question,
                round,
                budget,
            } => {
                out.put_bytes(question.as_bytes());
                out.put_number(u64::from(*round));
                out.put_number(*budget);
            }
            Self::Hint(Hint {
                page,
                by,
                changed_s,
            }) => {
                out.put_number(u64::from(page.0));
                out.put_number(u64::from(by.0));
                out.put_number(*changed_s);
            }
            Self::Plan {
                question,
                policy,
                seeds,
                text,
                inside,
                outside,
            } => {
                out.put_bytes(question.as_bytes());
                out.put_bytes(policy.as_bytes());
                out.put_number(u64::from(*seeds));
                out.put_bytes(text.as_bytes());
                let mut bytes = Vec::new();
                inside.put(&mut bytes);
                out.put_bytes(&bytes);
                outside.put(out);
            }
            Self::Note { kind, bytes } => {
                out.put_bytes(kind.as_bytes());
                out.put_bytes(bytes);
            }
        }
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Session { .. } => 1,
            Self::Host { .. } => 2,
            Self::Page { .. } => 3,
            Self::HandOut { .. } => 4,
            Self::Outcome(_) => OUTCOME,
            Self::Held { .. } => 6,
            Self::Visit { .. } => 7,
            Self::Joined { .. } => 8,
            Self::Robots { .. } => 9,
            Self::Round { .. } => 10,
            Self::Note { .. } => 11,
            Self::Hint(_) => 12,
            Self::Plan { .. } => 13,
            Self::Shut { .. } => 14,
            Self::Address { .. } => 15,
            Self::Starved => 16,
            Self::Cut { .. } => 17,
            Self::Away { .. } => 18,
            Self::Sent { .. } => 19,
            Self::Received { .. } => 20,
            Self::Lent { .. } => 24,
            Self::Forgotten { .. } => 25,
        }
    }
}

impl<'a> Entry<'a> {
    /// Reads an entry and its tick.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<(Tick, Self), Malformed> {
        let mut from = Cursor::new(bytes);
        let kind = from.byte()?;
        let tick = Tick(from.number()?);
        let entry = match kind {
            1 => Self::Session {
                wall_ms: from.number()?,
                boot: from.text()?,
                boot_ms: from.number()?,
                delay_ms: from.number()?,
                open_max: from.small()?,
                policy: from.text()?,
            },
            2 => Self::Host {
                host: HostId(from.small()?),
                name: from.text()?,
            },
            3 => {
                let page = PageId(from.small()?);
                let host = HostId(from.small()?);
                let marks = from.byte()?;
                Self::Page {
                    page,
                    host,
                    seed: marks & 1 != 0,
                    outside: marks & 2 != 0,
                    listed: marks & 4 != 0,
                    depth: from.byte()?,
                    key: Key::from_bytes(from.array()?),
                    url: from.text()?,
                    refused: (from.text()?, from.text()?),
                    metadata: match marks & 8 {
                        0 => &[],
                        _ => from.bytes()?,
                    },
                }
            }
            4 => Self::HandOut {
                page: PageId(from.small()?),
            },
            OUTCOME => Self::Outcome(Outcome::read(&mut from)?),
            6 => Self::Held {
                host: HostId(from.small()?),
                until: Tick(from.number()?),
            },
            7 => Self::Visit {
                host: HostId(from.small()?),
                visit: decoded(&VISITS, from.byte()?)?,
            },
            8 => Self::Joined {
                host: HostId(from.small()?),
                with: HostId(from.small()?),
            },
            9 => Self::Robots {
                authority: from.text()?,
                record: from.bytes()?,
                requests: from.small()?,
                body_bytes: from.number()?,
            },
            10 => Self::Round {
                question: from.text()?,
                round: from.small()?,
                budget: from.number()?,
            },
            11 => Self::Note {
                kind: from.text()?,
                bytes: from.bytes()?,
            },
            12 => Self::Hint(Hint {
                page: PageId(from.small()?),
                by: PageId(from.small()?),
                changed_s: from.number()?,
            }),
            13 => Self::Plan {
                question: from.text()?,
                policy: from.text()?,
                seeds: from.small()?,
                text: from.text()?,
                inside: checked_links(from.bytes()?)?,
                outside: checked_links(from.take(from.left())?)?,
            },
            14 => Self::Shut {
                host: HostId(from.small()?),
                until: Tick(from.number()?),
            },
            15 => Self::Address {
                host: HostId(from.small()?),
                address: from.bytes()?,
            },
            16 => Self::Starved,
            17 => Self::Cut {
                shard: from.small()?,
                shards: from.small()?,
            },
            18 => Self::Away {
                host: HostId(from.small()?),
                name: from.text()?,
                shard: from.small()?,
            },
            19 => Self::Sent {
                lane: from.small()?,
                bytes: from.bytes()?,
            },
            20 => Self::Received {
                bytes: from.bytes()?,
            },
            24 => Self::Lent {
                until: Tick(from.number()?),
                pages: checked_links(from.take(from.left())?)?,
            },
            25 => Self::Forgotten {
                page: PageId(from.small()?),
                key: Key::from_bytes(from.array()?),
            },
            _ => return Err(Malformed("an entry of unknown kind")),
        };
        from.end()?;
        Ok((tick, entry))
    }
}

const VISITS: [Visit; 3] = [Visit::Spared, Visit::Opened, Visit::Closed];

pub(crate) fn code<T: PartialEq>(all: &[T], one: &T) -> u8 {
    let at = all.iter().position(|other| other == one);
    at.expect("the list has every one") as u8
}

pub(crate) fn decoded<T: Copy>(all: &[T], code: u8) -> Result<T, Malformed> {
    let found = all.get(usize::from(code)).copied();
    found.ok_or(Malformed("a code that means nothing"))
}
