//! Any chunked body, coded or not: joined as a slow reference joins it, or cut, or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use turnstone_fetch::{ErrorClass, Method, Protocol, allowed};
use turnstone_fuzz::{Script, limits, talk};

const CODINGS: [&str; 8] = ["", "gzip", "deflate", "br", "zstd", "gzip, br", "zstd, deflate", "x"];

fuzz_target!(|data: &[u8]| {
    let Some((script, sent)) = Script::split(data) else { return };
    let script = Script { method: Method::Get, protocol: Protocol::Http11, ..script };
    let coding = CODINGS[usize::from(script.choice) % CODINGS.len()];
    let head = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: {coding}\r\n\r\n");
    let talk = talk(&script, &[head.as_bytes(), sent].concat());
    assert!(talk.second.is_err(), "an answer that nobody gave: {:?}", talk.second);
    let joined = join(sent);
    match talk.first {
        Ok(response) => {
            assert!(response.body.len() <= limits().body_bytes_max);
            assert!(joined.body.starts_with(&response.body), "{:?}", response.body);
            match response.truncation {
                None => assert!(joined.whole && joined.body == response.body, "a part taken for the whole"),
                Some(cut) if cut.cause == ErrorClass::BodyLimit => {
                    assert_eq!(response.body.len(), limits().body_bytes_max);
                }
                Some(_) => assert!(!joined.plain, "cut, though whole"),
            }
            let decoded = response.decoded(&limits());
            assert!(decoded.body.len() <= allowed(response.body.len(), &limits()).max(response.body.len()));
        }
        Err(error) => assert!(!joined.plain, "refused, though plain: {error}"),
    }
});

/// What the chunks amount to.
struct Joined {
    body: Vec<u8>,
    /// The last chunk and the empty line came.
    whole: bool,
    /// Whole, and without anything that a reader may refuse: extensions, trailers, odd sizes.
    plain: bool,
}

/// Joins chunks line by line, as lenient as anybody may be (RFC 9112, 7.1).
fn join(mut rest: &[u8]) -> Joined {
    let mut joined = Joined { body: Vec::new(), whole: false, plain: false };
    let mut plain = true;
    while let Some(line) = take_line(&mut rest) {
        let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        plain &= digits == line.len() && digits <= 8;
        let text = str::from_utf8(&line[..digits]).expect("digits are text");
        let Ok(size) = usize::from_str_radix(text, 16) else { return joined };
        if size == 0 {
            while let Some(line) = take_line(&mut rest) {
                if line.is_empty() {
                    joined.whole = true;
                    joined.plain = plain;
                    return joined;
                }
                plain = false;
            }
            return joined;
        }
        joined.body.extend_from_slice(&rest[..size.min(rest.len())]);
        let Some(after) = rest.get(size..).and_then(|after| after.strip_prefix(b"\r\n")) else {
            return joined;
        };
        rest = after;
    }
    joined
}

/// The next line without its end; `None` if it does not end.
fn take_line<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.windows(2).position(|pair| pair == b"\r\n")?;
    let line = &rest[..end];
    *rest = &rest[end + 2..];
    Some(line)
}
