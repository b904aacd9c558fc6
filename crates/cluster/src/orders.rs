//! What people tell a cluster, and what a node says of itself to people: two keys, read by all.
//!
//! An order is a state, not an event: "stopped", "these nodes are to leave". So it may be written twice and read
//! late, and a node that comes back learns it from the key.

use std::collections::BTreeSet;

use crate::shard::NodeId;
use crate::wire::{Cursor, Malformed, Put as _};

const VERSION: u8 = 1;
/// The longest name of a node.
const NAME_BYTES_MAX: usize = 200;

/// What people told all nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// All are to end.
    pub stop: bool,
    /// These nodes are to give their shards back and leave.
    pub leave: BTreeSet<NodeId>,
}

impl Orders {
    /// As the value of a key.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION, u8::from(self.stop)];
        out.put_number(self.leave.len() as u64);
        for node in &self.leave {
            out.put_number(node.0);
        }
        out
    }

    /// From the value of a key.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut from = Cursor::versioned(bytes, VERSION)?;
        let mut orders = Self {
            stop: from.byte()? != 0,
            leave: BTreeSet::new(),
        };
        for _ in 0..from.count(1)? {
            orders.leave.insert(NodeId(from.number()?));
        }
        from.end()?;
        Ok(orders)
    }
}

/// What a node says of itself: the value of its sign of life.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Card {
    /// What people call it: machine and process.
    pub name: String,
    /// The wall clock when it was written, in milliseconds of 1970: for people.
    pub wall_ms: u64,
    /// It gives everything back and ends.
    pub leaving: bool,
}

impl Card {
    /// As the value of a key.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION, u8::from(self.leaving)];
        out.put_number(self.wall_ms);
        let name = self.name.as_bytes();
        out.put_bytes(&name[..name.len().min(NAME_BYTES_MAX)]);
        out
    }

    /// From the value of a key.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut from = Cursor::versioned(bytes, VERSION)?;
        let leaving = from.byte()? != 0;
        let wall_ms = from.number()?;
        let name = String::from_utf8_lossy(from.bytes()?).into_owned();
        from.end()?;
        Ok(Self {
            name,
            wall_ms,
            leaving,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cut_is_refused() {
        let orders = Orders {
            stop: true,
            leave: BTreeSet::from([NodeId(300), NodeId(1)]),
        };
        let card = Card {
            name: "a machine".into(),
            wall_ms: 1 << 40,
            leaving: true,
        };
        let (orders_bytes, card_bytes) = (orders.encode(), card.encode());
        assert_eq!(Orders::decode(&orders_bytes), Ok(orders));
        assert_eq!(Card::decode(&card_bytes), Ok(card));
        for cut in 0..orders_bytes.len() {
            assert!(Orders::decode(&orders_bytes[..cut]).is_err());
        }
        for cut in 0..card_bytes.len() {
            assert!(Card::decode(&card_bytes[..cut]).is_err());
        }
    }
}
