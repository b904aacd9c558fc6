//! Reading WARC files: ours, other tools', and damaged ones.

use std::fs;
use std::io::{Cursor, Read as _, Write as _};
use std::path::Path;

use proptest::prelude::*;
use turnstone_pagestore::warc::{
    Capture, CaptureError, Digest, Exchange, HttpBlock, Keep, Packer, Payload, Reader, RecordHead,
    RecordKind, Span, Syncer, Truncated, Writer, capture, read_at,
};

use crate::warc_samples::{NAMESPACE, noise, samples, settings, write_all};

type Record = (RecordHead, Vec<u8>);

/// Every record of some bytes, and the damages met.
fn read_all(bytes: &[u8]) -> (Vec<Record>, Vec<String>) {
    let path = Path::new("x.warc");
    let mut reader = Reader::new(Cursor::new(bytes), path, 0, None).unwrap();
    let mut records = Vec::new();
    while let Some(head) = reader.next_record().unwrap() {
        let mut block = Vec::new();
        if reader.block().read_to_end(&mut block).is_ok() {
            records.push((head, block));
        }
    }
    let damages: Vec<String> = reader.damages().iter().map(ToString::to_string).collect();
    assert_eq!(damages.len() as u64, reader.damage_count());
    (records, damages)
}

/// A record as other tools write it.
fn record(uri: &str, block: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: <{uri}>\r\n\
         WARC-Date: 2016-09-19T17:20:24Z\r\nContent-Type: application/http;\r\n msgtype=response\r\n\
         WARC-Record-ID: <urn:uuid:0>\r\nContent-Length: {}\r\n\r\n",
        block.len()
    )
    .into_bytes();
    bytes.extend_from_slice(block);
    bytes.extend_from_slice(b"\r\n\r\n");
    bytes
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

fn uris(records: &[Record]) -> Vec<&str> {
    records
        .iter()
        .map(|(head, _)| head.target_uri().unwrap())
        .collect()
}

#[test]
fn our_own_files_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let samples = samples();
    write_all(folder.path(), &samples, settings());
    let bytes = fs::read(folder.path().join("test-00001.warc.gz")).unwrap();
    let (records, damages) = read_all(&bytes);
    assert_eq!(damages, Vec::<String>::new());
    assert_eq!(records.len(), 1 + 2 * samples.len());
    assert_eq!(records[0].0.kind(), RecordKind::Warcinfo);
    for (sample, pair) in samples.iter().zip(records[1..].chunks(2)) {
        let (head, block) = &pair[0];
        assert_eq!(head.version, "1.1");
        assert_eq!(head.target_uri(), Some(sample.recorded_uri().as_str()));
        assert_eq!(head.date_ms(), Some(sample.date_ms));
        assert!(head.is_http());
        let mut message = HttpBlock::read(&block[..]).unwrap();
        assert_eq!(message.head.status(), Some(sample.status()));
        let mut body = Vec::new();
        message.body.read_to_end(&mut body).unwrap();
        if head.kind() == RecordKind::Response {
            assert!(body == sample.body);
            assert_eq!(head.payload_digest(), Some(Digest::of(&[&body])));
        } else {
            assert_eq!(head.kind(), RecordKind::Revisit);
            assert!(body.is_empty());
        }
        let (head, block) = &pair[1];
        assert_eq!(head.kind(), RecordKind::Request);
        assert!(*block == sample.request());
    }
}

#[test]
fn plain_packed_and_packed_as_a_whole_read_alike() {
    let blocks: [&[u8]; 4] = [
        b"",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        b"\r\nWARC/1.0\r\nWARC-Type: forged\r\nContent-Length: 0\r\n\r\n",
        &noise(100_000),
    ];
    let each: Vec<Vec<u8>> = (0..)
        .zip(blocks)
        .map(|(i, b)| record(&format!("u:{i}"), b))
        .collect();
    let plain = each.concat();
    let forms = [
        plain.clone(),
        packed(&plain),
        each.iter().flat_map(|bytes| packed(bytes)).collect(),
        String::from_utf8_lossy(&each[0])
            .replace("\r\n", "\n")
            .into_bytes(),
    ];
    for (form, bytes) in forms[..3].iter().enumerate() {
        let (records, damages) = read_all(bytes);
        assert_eq!(damages, Vec::<String>::new());
        assert_eq!(uris(&records), ["u:0", "u:1", "u:2", "u:3"], "form {form}");
        for ((head, block), expect) in records.iter().zip(blocks) {
            assert!(block == expect);
            assert_eq!(
                head.get("content-type"),
                Some("application/http; msgtype=response")
            );
        }
    }
    assert_eq!(uris(&read_all(&forms[3]).0), ["u:0"]);
    let (records, _) = read_all(&forms[0]);
    let mut message = HttpBlock::read(&records[1].1[..]).unwrap();
    let mut body = String::new();
    message.body.read_to_string(&mut body).unwrap();
    assert_eq!(body, "abc");
    assert_eq!(records[1].0.offset, each[0].len() as u64);
    assert_eq!(read_all(&[]), (vec![], vec![]));
}

#[test]
fn reading_goes_on_behind_damage() {
    let check = |bytes: &[u8], expect: &[&str], reasons: &[&str]| {
        let (records, damages) = read_all(bytes);
        assert_eq!(uris(&records), expect, "{damages:?}");
        assert_eq!(damages.len(), reasons.len(), "{damages:?}");
        for (damage, reason) in damages.iter().zip(reasons) {
            assert!(damage.contains(reason), "{damage}");
            assert!(damage.starts_with("x.warc: record at byte "), "{damage}");
        }
    };
    let [a, b, c] = ["u:a", "u:b", "u:c"].map(|uri| record(uri, &noise(50_000)));
    let change = |bytes: &[u8], from: &str, to: &str| {
        let at = bytes
            .windows(from.len())
            .position(|w| w == from.as_bytes())
            .unwrap();
        [&bytes[..at], to.as_bytes(), &bytes[at + from.len()..]].concat()
    };
    let text = "it does not end where its length says";
    let bad = [
        (
            change(&b, "Content-Length: 50000", "Content-Length: 5000x"),
            "no number",
        ),
        (
            change(&b, "Content-Length: 50000", "Content-Size: 50000"),
            "no Content-Length",
        ),
        (
            change(&b, "WARC/1.0", "WORC/1.0"),
            "does not begin with WARC/",
        ),
        (change(&b, "WARC/1.0", "WARC/7.0"), "unknown version"),
        (change(&b, "WARC-Type: response\r\n", ""), "no WARC-Type"),
        (
            change(&b, "WARC-Type", "nonsense\r\nWARC-Type"),
            "without a colon",
        ),
        (
            change(
                &b,
                "WARC-Type",
                &format!("X: {}\r\nWARC-Type", "y".repeat(200_000)),
            ),
            "too long",
        ),
        (
            change(&b, "WARC-Type", "Content-Length: 7\r\nWARC-Type"),
            "two lengths",
        ),
    ];
    for (bad, reason) in &bad {
        // In plain text, in members, in one member.
        check(&[&a[..], bad, &c].concat(), &["u:a", "u:c"], &[reason]);
        check(
            &[packed(&a), packed(bad), packed(&c)].concat(),
            &["u:a", "u:c"],
            &[reason],
        );
        check(
            &packed(&[&a[..], bad, &c].concat()),
            &["u:a", "u:c"],
            &[reason],
        );
        check(&[&bad[..], &c].concat(), &["u:c"], &[reason]);
    }
    // A length that is too short or too long: the record was handed out before that shows.
    let short = change(&b, "Content-Length: 50000", "Content-Length: 40000");
    let long = change(&b, "Content-Length: 50000", "Content-Length: 60000");
    check(
        &[&a[..], &short, &c].concat(),
        &["u:a", "u:b", "u:c"],
        &[text],
    );
    check(
        &[&a[..], &long, &c].concat(),
        &["u:a", "u:b", "u:c"],
        &[text],
    );
    let huge = change(
        &b,
        "Content-Length: 50000",
        "Content-Length: 9999999999999999",
    );
    check(
        &[&a[..], &huge, &c].concat(),
        &["u:a", "u:c"],
        &["its block is cut short"],
    );
    check(
        &[packed(&a), packed(&huge), packed(&c)].concat(),
        &["u:a", "u:c"],
        &["its block is cut short"],
    );
    // Bytes that cannot be unpacked, junk between members, and a torn end.
    let mut broken = packed(&b);
    broken[30_000] ^= 0xFF;
    broken[30_001] ^= 0xFF;
    let (records, damages) = read_all(&[packed(&a), broken, packed(&c)].concat());
    assert_eq!(damages.len(), 1, "{damages:?}");
    assert_eq!(uris(&records).last(), Some(&"u:c"));
    let unpack = "it cannot be unpacked";
    let mut wrong_sum = packed(&b);
    let at = wrong_sum.len() - 6;
    wrong_sum[at] ^= 1;
    check(
        &[packed(&a), wrong_sum, packed(&c)].concat(),
        &["u:a", "u:b", "u:c"],
        &[unpack],
    );
    check(
        &[packed(&a), vec![0; 500], packed(&c)].concat(),
        &["u:a", "u:c"],
        &["does not begin with WARC/"],
    );
    check(
        &[&packed(&a)[..], &packed(&b)[..9000]].concat(),
        &["u:a"],
        &[unpack],
    );
    check(&packed(b""), &[], &[]);
    check(b"no archive at all", &[], &["does not begin with WARC/"]);
}

#[test]
fn a_record_is_read_by_its_place_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.warc.gz");
    let members = ["u:a", "u:b"].map(|uri| packed(&record(uri, &noise(1000))));
    fs::write(&path, members.concat()).unwrap();
    let (first, second) = (members[0].len() as u64, members[1].len() as u64);
    let read = |offset, length, block_bytes_max| {
        read_at(
            &path,
            Span {
                offset,
                length,
                block_bytes_max,
            },
        )
        .map(|(head, block)| (head.target_uri().unwrap().to_owned(), block.len()))
        .map_err(|error| error.to_string())
    };
    assert_eq!(read(0, first, 1000), Ok(("u:a".to_owned(), 1000)));
    assert_eq!(read(first, second, 1000), Ok(("u:b".to_owned(), 1000)));
    for (offset, length, max, expect) in [
        (0, first, 999, "at most 999 are read"),
        (0, first + second, 1000, "more than one record"),
        (0, first - 1, 1000, "cannot be unpacked"),
        (first + 1, second - 1, 1000, "record at byte"),
        (0, 0, 1000, "no record here"),
        (1 << 40, 100, 1000, "no record here"),
        (u64::MAX, 1, 1000, "no file is that long"),
    ] {
        let error = read(offset, length, max).unwrap_err();
        assert!(error.contains(expect), "{error}");
        assert!(error.contains("a.warc.gz"), "{error}");
    }
}

#[test]
fn what_cannot_be_recorded_is_refused() {
    let exchange = Exchange {
        target_uri: "http://example.org/",
        date_ms: 0,
        address: None,
        request: b"",
        head: b"HTTP/1.1 200 OK\r\n\r\n",
        payload: Payload::new(b""),
        truncated: None,
        fields: &[],
        namespace: &NAMESPACE,
        number: 0,
    };
    let fails = |exchange: Exchange<'_>| {
        capture(&exchange, Keep::Response, &mut Packer::default())
            .unwrap_err()
            .to_string()
    };
    let head = b"HTTP/1.1 200 OK\r\n\r\n\r\n";
    assert_eq!(
        fails(Exchange { head, ..exchange }),
        "response head of http://example.org/: it goes on after its empty line"
    );
    let target_uri = &"é".repeat(10_000);
    assert_eq!(
        fails(Exchange {
            target_uri,
            ..exchange
        }),
        "a target URI of 60000 bytes cannot be recorded (1 to 32768)"
    );
    for name in ["a b", "Content-Length", "warc-type", "X\r\nY"] {
        let fields = &[(name, "x")];
        let error = capture(
            &Exchange { fields, ..exchange },
            Keep::Response,
            &mut Packer::default(),
        );
        assert!(matches!(error, Err(CaptureError::Field { .. })), "{name}");
    }
}

#[test]
fn a_head_request_keeps_the_length_it_was_told() {
    let exchange = Exchange {
        target_uri: "http://example.org/",
        date_ms: 0,
        address: None,
        request: b"HEAD / HTTP/1.1\r\n\r\n",
        head: b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n",
        payload: Payload::new(b""),
        truncated: None,
        fields: &[],
        namespace: &NAMESPACE,
        number: 0,
    };
    let capture = capture(&exchange, Keep::Response, &mut Packer::default()).unwrap();
    let (records, _) = read_all(capture.bytes());
    assert!(records[0].1 == exchange.head);
}

#[test]
fn what_crosses_threads_can() {
    fn check<T: Send>() {}
    check::<Packer>();
    check::<Capture>();
    check::<Writer>();
    check::<Syncer>();
    check::<Reader<fs::File>>();
}

/// A response head as a server may send it, with nasty header values.
fn heads() -> impl Strategy<Value = Vec<u8>> {
    let value = proptest::collection::vec(
        any::<u8>().prop_filter("no line end", |b| *b != b'\n'),
        0..40,
    );
    let name = prop_oneof![
        Just("Content-Length"),
        Just("transfer-encoding"),
        Just("Content-Type"),
        Just("X-Other"),
        Just(" folded"),
        Just(""),
    ];
    (
        100_u16..=999,
        proptest::collection::vec((name, value), 0..6),
    )
        .prop_map(|(status, lines)| {
            let mut head = format!("HTTP/1.1 {status} Reason\r\n").into_bytes();
            for (name, value) in lines {
                let line = [name.as_bytes(), b":", &value].concat();
                head.extend_from_slice(&line);
                head.extend_from_slice(b"\r\n");
            }
            head.extend_from_slice(b"\r\n");
            head
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_written_is_read(
        uri in "http://[ -~é]{1,60}",
        head in heads(),
        body in proptest::collection::vec(any::<u8>(), 0..3000),
        note in any::<String>(),
        date_ms in 0..4_000_000_000_000_u64,
        truncated in proptest::option::of(Just(Truncated::Time)),
    ) {
        let exchange = Exchange {
            target_uri: &uri,
            date_ms,
            address: None,
            request: b"GET / HTTP/1.1\r\n\r\n",
            head: &head,
            payload: Payload::new(&body),
            truncated,
            fields: &[("X-Note", &note)],
            namespace: &NAMESPACE,
            number: 7,
        };
        let capture = capture(&exchange, Keep::Response, &mut Packer::default()).unwrap();
        let (records, damages) = read_all(capture.bytes());
        prop_assert_eq!(damages, Vec::<String>::new());
        prop_assert_eq!(records.len(), 2);
        let (read, block) = &records[0];
        prop_assert_eq!(read.block_len, block.len() as u64);
        prop_assert_eq!(read.date_ms(), Some(date_ms));
        let recorded = read.target_uri().unwrap();
        prop_assert_eq!(recorded, &capture.facts().url);
        prop_assert!(recorded.bytes().all(|b| b.is_ascii_graphic()));
        prop_assert_eq!(read.get("WARC-Truncated"), truncated.map(|_| "time"));
        let names: Vec<&str> = read.fields.iter().map(|(name, _)| name.as_str()).collect();
        prop_assert_eq!(names.len(), 9 + usize::from(truncated.is_some()), "{:?}", names);
        let mut message = HttpBlock::read(&block[..]).unwrap();
        let mut again = Vec::new();
        message.body.read_to_end(&mut again).unwrap();
        prop_assert!(again == body);
        prop_assert_eq!(read.payload_digest(), Some(Digest::of(&[&body])));
        let whole = Digest::of(&[message.head.bytes(), &body]);
        let block_digest = read.get("WARC-Block-Digest").and_then(Digest::parse);
        prop_assert_eq!(block_digest, Some(whole));
        prop_assert_eq!(records[1].0.get("WARC-Concurrent-To"), read.get("WARC-Record-ID"));
    }

    #[test]
    fn no_bytes_make_the_reader_panic_or_hang(
        mut bytes in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..400),
            Just([record("u:a", b"x"), record("u:b", b"y")].concat()),
            Just([packed(&record("u:a", b"x")), packed(&record("u:b", b"y"))].concat()),
            Just(packed(&[record("u:a", b"x"), record("u:b", b"y")].concat())),
        ],
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        end in any::<prop::sample::Index>(),
    ) {
        if !bytes.is_empty() {
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes.truncate(end.index(bytes.len() + 1));
        }
        let (records, _) = read_all(&bytes);
        prop_assert!(records.len() <= 3);
        for (_, block) in records {
            if let Ok(mut message) = HttpBlock::read(&block[..]) {
                let _ = message.body.read_to_end(&mut Vec::new());
            }
        }
    }
}
