//! The bytes of every format, as `docs/cluster.md` describes them: a change here is a new version.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use turnstone_cluster::audit::{Account, Sender, Statement, Work};
use turnstone_cluster::budget::{Ledger, Slot};
use turnstone_cluster::chain::{Chunk, Ends};
use turnstone_cluster::channel::{Carries, Item, Parcel, Transfer};
use turnstone_cluster::lane::Envelope;
use turnstone_cluster::lease::{Hold, Lease};
use turnstone_cluster::level::Told;
use turnstone_cluster::{Digest, NodeId, Shard};

/// `[]` stands for the fingerprint.
fn check(bytes: &[u8], expect: &str) {
    let expect = expect.replace("[]", &"ab".repeat(16));
    let mut hex = String::new();
    for byte in bytes {
        write!(hex, "{byte:02x}").unwrap();
    }
    assert_eq!(hex, expect);
}

#[test]
fn formats_stay_as_they_are() {
    let (node, previous) = (NodeId(300), Digest([0xab; 16]));
    let lease = Lease {
        node,
        life: 2,
        epoch: 3,
        counter: 4,
        position: 5,
        hold: Hold::Refused,
    };
    check(&lease.encode(), "01ac020203040502");
    let chunk = Chunk {
        epoch: 3,
        node,
        position: 128,
        previous,
        ends: Ends::Part,
        bytes: b"xy",
    };
    check(&chunk.encode(), "0103ac028001[]017879");
    let item = Item {
        key: [1; 12],
        carries: Carries::Mass { hops: 4 },
        mass: 5,
        depth: 6,
        url: Some("u".into()),
    };
    let parcel = Parcel {
        cumulative: 1 << 70,
        items: vec![item],
    };
    let parcels = BTreeMap::from([(Shard(9), parcel)]);
    let transfer = Transfer {
        from: Shard(1),
        number: 2,
        previous,
        parcels,
    };
    check(
        &transfer.encode(),
        "020102[]01098080808080808080808001010101010101010101010101010604050175",
    );
    let envelope = Envelope {
        claim: (3, node),
        serial: 7,
        through: 8,
        transfer: b"t",
    };
    check(&envelope.encode(), "0103ac02070874");
    let statement = Statement {
        shard: Shard(1),
        claim: (3, node),
        wave: 4,
        position: 5,
        work: Work::Idle,
        best: 6,
        account: Account {
            endowed: 1,
            received: 2,
            sent: 3,
            covered: 4,
            residuals: 5,
            lost: 6,
            owed: 11,
            doubt: 12,
            missing: 13,
            stuck: 14,
        },
        sent: BTreeMap::from([(Shard(2), 7)]),
        senders: BTreeMap::from([(
            Shard(3),
            Sender {
                mass: 8,
                applied: 9,
                heard: 10,
            },
        )]),
        figures: vec![15, 16],
    };
    check(
        &statement.encode(),
        "020103ac0204050106010203040506\
         0b0c0d0e010207010308090a020f10",
    );
    let mut ledger = Ledger::new([1, 2, 3], 1);
    ledger.slots[0] = Slot {
        stamp: (4, 5),
        given: [6, 7, 8],
    };
    check(&ledger.encode(), "01010203010405060708");
    let told = Told {
        epoch: 1,
        level: 2,
        wave: 3,
        end: 4,
    };
    check(&told.encode(), "0201020304");
}
