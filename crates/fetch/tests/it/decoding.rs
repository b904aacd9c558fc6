//! Row T9 and decompression bombs: codings undone within bounds.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use http::header::{CONTENT_ENCODING, HeaderMap};
use turnstone_fetch::{DecodeFault, Decoded, Limits, decode};

use crate::memory::peak_of;
use crate::server::{After, Server, get, limits};

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn raw_deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn brotli(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 22);
    encoder.write_all(bytes).unwrap();
    encoder.into_inner()
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(bytes, 3).unwrap()
}

pub(crate) type Encode = fn(&[u8]) -> Vec<u8>;

pub(crate) const ENCODERS: [(&str, Encode); 5] = [
    ("gzip", gzip),
    ("deflate", zlib),
    ("deflate", raw_deflate),
    ("br", brotli),
    ("zstd", zstd),
];

pub(crate) fn declared(codings: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_ENCODING, codings.parse().unwrap());
    headers
}

fn decode_as<'a>(codings: &str, body: &'a [u8], limits: &Limits) -> Decoded<'a> {
    decode(&declared(codings), body, limits)
}

/// Decodes under the test limits and compares body and fault.
fn check(codings: &str, body: &[u8], want: &[u8], fault: &str) {
    let decoded = decode_as(codings, body, &limits());
    let got = decoded
        .fault
        .map(|fault| fault.to_string())
        .unwrap_or_default();
    assert_eq!((&*decoded.body, got.as_str()), (want, fault), "{codings}");
}

#[test]
fn every_coding_comes_back() {
    let page = b"<html>hello hello hello</html>".repeat(100);
    for (name, encode) in ENCODERS {
        check(name, &encode(&page), &page, "");
        check(name, &encode(b""), b"", "");
    }
    check("", &page, &page, "");
    check("identity", &page, &page, "");
    check("X-GZIP", &gzip(&page), &page, "");
    check("gzip , br", &brotli(&gzip(&page)), &page, "");
    check("gzip", b"", b"", "");
}

#[test]
fn t9_gzip_that_is_none() {
    check("gzip", b"plain", b"plain", "declared as gzip, but is not");
    check("zstd", b"plain", b"plain", "declared as zstd, but is not");
    check(
        "br",
        b"plain text, not brotli",
        b"",
        "br data is damaged: format huffman space",
    );
}

#[test]
fn t9_data_that_ends_early_is_kept_as_far_as_it_goes() {
    let page: Vec<u8> = (0..20_000_u32)
        .flat_map(|n| n.wrapping_mul(0x9e37_79b9).to_le_bytes())
        .collect();
    for (name, encode) in ENCODERS {
        let coded = encode(&page);
        let decoded = decode_as(name, &coded[..coded.len() - 10], &limits());
        assert!(page.starts_with(&decoded.body), "{name}");
        assert!(
            decoded.body.len() > page.len() / 4,
            "{name}: {}",
            decoded.body.len()
        );
        assert!(
            matches!(decoded.fault, Some(DecodeFault::EndsEarly(_))),
            "{name}: {:?}",
            decoded.fault
        );
    }
}

#[test]
fn t9_trailing_bytes_and_several_members() {
    let mut two = gzip(b"one ");
    two.extend(gzip(b"two"));
    check("gzip", &two, b"one two", "");
    two.extend([0; 50]);
    check("gzip", &two, b"one two", "");
    two.extend(b"junk");
    check(
        "gzip",
        &two,
        b"one two",
        "54 bytes after the end of gzip data",
    );
    let mut frames = zstd(b"one ");
    frames.extend(b"\x50\x2a\x4d\x18\x02\x00\x00\x00xx");
    frames.extend(zstd(b"two"));
    check("zstd", &frames, b"one two", "");
    let mut junk = brotli(b"one");
    junk.extend(b"junk");
    check("br", &junk, b"one", "4 bytes after the end of br data");
}

#[test]
fn t9_a_wrong_checksum_is_flagged() {
    let mut coded = gzip(b"page");
    let at = coded.len() - 8;
    coded[at] ^= 1;
    let decoded = decode_as("gzip", &coded, &limits());
    assert_eq!(&*decoded.body, b"page");
    assert!(
        matches!(decoded.fault, Some(DecodeFault::Damaged(..))),
        "{:?}",
        decoded.fault
    );
}

#[test]
fn codings_are_counted() {
    check(
        "gzip, gzip, gzip",
        b"x",
        b"",
        "3 content codings on top of each other",
    );
    let many = "gzip,".repeat(1000);
    check(
        &many,
        b"x",
        b"",
        "1000 content codings on top of each other",
    );
    check("compress", b"x", b"", "unknown content coding \"compress\"");
}

#[tokio::test]
async fn t9_the_raw_bytes_are_kept() {
    let mut reply = b"HTTP/1.0 200 OK\r\nContent-Encoding: gzip\r\n\r\n".to_vec();
    let coded = gzip(b"page");
    reply.extend(&coded[..coded.len() - 4]);
    let server = Server::reply(reply, After::Close).await;
    let response = get(&server).await.unwrap();
    assert_eq!(response.body, &coded[..coded.len() - 4]);
    let decoded = response.decoded(&limits());
    assert_eq!(&*decoded.body, b"page");
    assert!(matches!(decoded.fault, Some(DecodeFault::EndsEarly(_))));
}

/// 8 MiB of zeros in a few kilobytes or less.
fn bomb(encode: Encode) -> Vec<u8> {
    encode(&vec![0; 8 << 20])
}

#[test]
fn bombs_stop_at_the_size_limit() {
    let limits = Limits {
        decoded_bytes_max: 1 << 20,
        decoded_ratio_max: usize::MAX,
        ..Limits::default()
    };
    for (name, encode) in ENCODERS {
        let coded = bomb(encode);
        let (decoded, peak) = peak_of(|| decode_as(name, &coded, &limits));
        assert_eq!(decoded.body.len(), 1 << 20, "{name}");
        assert_eq!(
            decoded.fault,
            Some(DecodeFault::TooLarge(1 << 20)),
            "{name}"
        );
        // Twice the output, for it grows by doubling; br adds its window of 4 MiB. The windows of
        // zstd live in C and are not counted here.
        assert!(peak < 8 << 20, "{name}: {peak} bytes at the peak");
    }
}

#[test]
fn bombs_stop_at_the_ratio() {
    let limits = Limits {
        decoded_ratio_max: 100,
        decoded_free_bytes: 1000,
        ..Limits::default()
    };
    for (name, encode) in ENCODERS {
        let coded = bomb(encode);
        let decoded = decode_as(name, &coded, &limits);
        let most = (coded.len() * 100).max(1000).min(limits.decoded_bytes_max);
        assert_eq!(decoded.body.len(), most, "{name}");
        assert!(matches!(
            decoded.fault,
            Some(DecodeFault::Ratio { ratio_max: 100, .. } | DecodeFault::TooLarge(_))
        ));
    }
}

#[test]
fn bombs_in_bombs_are_held_to_the_bytes_received() {
    let coded = gzip(&bomb(gzip));
    let limits = Limits::default();
    let decoded = decode_as("gzip, gzip", &coded, &limits);
    assert!(
        matches!(decoded.fault, Some(DecodeFault::Ratio { .. })),
        "{:?}",
        decoded.fault
    );
    assert!(decoded.body.len() <= (coded.len() * 250).max(1 << 20));
}

#[test]
fn br_windows_beyond_the_standard_are_refused() {
    // A large-window header (RFC 9841) that asks for 2^30 bytes.
    let (decoded, peak) = peak_of(|| decode_as("br", &[0x11, 0x1e, 0, 0, 0, 0], &limits()));
    assert!(
        decoded.fault.is_some() && decoded.body.is_empty(),
        "{decoded:?}"
    );
    assert!(peak < 1 << 20, "{peak} bytes at the peak");
}

#[test]
fn zstd_windows_beyond_8_mib_are_refused() {
    // Magic, a frame header without single segment, window descriptor for 2^27.
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x88, 0x01, 0x00, 0x00];
    let decoded = decode_as("zstd", &frame, &limits());
    assert!(
        matches!(decoded.fault, Some(DecodeFault::Damaged(..))),
        "{:?}",
        decoded.fault
    );
}
