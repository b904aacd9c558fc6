//! The head of a stored response: as received, but for what the stored body would make a lie.
//!
//! Bodies are stored with chunking removed, and sometimes cut. So `Transfer-Encoding` is kept
//! under another name, and a `Content-Length` that is not the length of the stored body too; the
//! true length takes its place (as RFC 9112 §7.1.3 has it for removing chunks). Lines that a
//! reader could take for the end of the head are dropped: everybody must agree where the body,
//! and with it the payload digest, begins.
//!
//! Not here: judging the response. A head that a reader cannot split is refused.

use std::fmt::Write as _;

/// What header names that would lie are renamed to: this, and the name.
pub const RENAMED_PREFIX: &str = "X-Crawler-";

/// A head ready to be stored, and what an index says about it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StoredHead {
    pub(super) bytes: Vec<u8>,
    pub(super) status: u16,
    pub(super) mime: String,
}

/// What of the payload the head must be true to.
#[derive(Clone, Copy)]
pub(super) enum Body {
    /// The body is, or would be, of this length.
    Bytes(usize),
    /// There is none by nature (HEAD, 204, 304): a length tells of another response.
    None,
}

/// Makes the stored head. The error says what is wrong with the head.
pub(super) fn stored_head(head: &[u8], body: Body) -> Result<StoredHead, &'static str> {
    let (status, first_end) = status_line(head)?;
    let body = match status {
        204 | 304 => Body::None,
        _ => body,
    };
    let mut stored = StoredHead {
        bytes: Vec::with_capacity(head.len() + 64),
        status,
        mime: String::new(),
    };
    stored.bytes.extend_from_slice(&head[..first_end]);
    let mut told = Told::default();
    let mut rest = &head[first_end..];
    loop {
        let (line, after) = split_line(rest).ok_or("does not end with an empty line")?;
        if content(line).is_empty() {
            if !after.is_empty() {
                return Err("goes on after its empty line");
            }
            break;
        }
        if !looks_empty(content(line)) {
            push_line(line, body, &mut stored, &mut told);
        }
        rest = after;
    }
    if let Body::Bytes(len) = body
        && told.lied
        && !told.length
    {
        stored
            .bytes
            .extend_from_slice(format!("Content-Length: {len}\r\n").as_bytes());
    }
    stored.bytes.extend_from_slice(b"\r\n");
    if stored.mime.is_empty() {
        stored.mime.push_str("unk");
    }
    Ok(stored)
}

/// What the lines so far have told of the body.
#[derive(Default)]
struct Told {
    lied: bool,
    length: bool,
}

fn push_line(line: &[u8], body: Body, stored: &mut StoredHead, told: &mut Told) {
    let (name, value) = name_and_value(line);
    let lies = if name.eq_ignore_ascii_case(b"transfer-encoding") {
        true
    } else if name.eq_ignore_ascii_case(b"content-length") {
        match body {
            Body::Bytes(len) => {
                let right = value == len.to_string().as_bytes();
                told.length |= right;
                !right
            }
            Body::None => false,
        }
    } else {
        if name.eq_ignore_ascii_case(b"content-type") && stored.mime.is_empty() {
            stored.mime = mime_of(value);
        }
        false
    };
    if lies {
        told.lied = true;
        stored.bytes.extend_from_slice(RENAMED_PREFIX.as_bytes());
    }
    stored.bytes.extend_from_slice(line);
}

/// The status, and where the first line ends.
pub(super) fn status_line(head: &[u8]) -> Result<(u16, usize), &'static str> {
    let (line, rest) = split_line(head).ok_or("has no status line")?;
    let mut words = content(line).splitn(3, |&b| b == b' ');
    let version = words.next().unwrap_or_default();
    let status = words.next().unwrap_or_default();
    if !version.starts_with(b"HTTP/") {
        return Err("does not begin with HTTP/");
    }
    if status.len() != 3 || !status.iter().all(u8::is_ascii_digit) {
        return Err("has no status of three digits");
    }
    let status = status
        .iter()
        .fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'));
    Ok((status, head.len() - rest.len()))
}

/// The first line with its end, and what follows; `None` without a line end.
pub(super) fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    memchr::memchr(b'\n', bytes).map(|at| bytes.split_at(at + 1))
}

/// A line without its end.
pub(super) fn content(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The name before the colon and the value after it, trimmed; no name in a continuation line.
pub(super) fn name_and_value(line: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b':', line) {
        Some(at) if !line.starts_with(b" ") && !line.starts_with(b"\t") => (
            line[..at].trim_ascii(),
            content(&line[at + 1..]).trim_ascii(),
        ),
        _ => (b"", content(line)),
    }
}

/// Whether some reader takes the line for empty: white space of any alphabet, or controls.
fn looks_empty(line: &[u8]) -> bool {
    let is_blank = |c: char| c.is_whitespace() || c.is_control();
    match std::str::from_utf8(line) {
        Ok(text) => text.chars().all(is_blank),
        Err(_) => line.iter().all(|&b| is_blank(char::from(b))),
    }
}

/// The media type without parameters, or `unk`, as indexes write it.
fn mime_of(value: &[u8]) -> String {
    let end = value
        .iter()
        .position(|b| matches!(b, b';' | b' ' | b','))
        .unwrap_or(value.len());
    let mut mime = String::new();
    if end <= 128 && value[..end].iter().all(u8::is_ascii_graphic) {
        let _ = write!(mime, "{}", String::from_utf8_lossy(&value[..end]));
    }
    mime
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(head: &str, body: Body, expect: Expect) {
        let told = match stored_head(head.as_bytes(), body) {
            Ok(stored) => format!(
                "{} {}\n{}",
                stored.status,
                stored.mime,
                String::from_utf8(stored.bytes).unwrap().replace('\r', "")
            ),
            Err(reason) => reason.to_owned(),
        };
        expect.assert_eq(&told);
    }

    #[test]
    fn a_head_that_is_true_stays_as_it_came() {
        check(
            "HTTP/1.1 200 OK\r\nServer: a\r\nContent-type: Text/HTML;charset=x\nContent-Length: 5\r\n\r\n",
            Body::Bytes(5),
            expect![[r#"
                200 Text/HTML
                HTTP/1.1 200 OK
                Server: a
                Content-type: Text/HTML;charset=x
                Content-Length: 5

            "#]],
        );
    }

    #[test]
    fn removed_chunking_and_cut_bodies_are_told() {
        check(
            "HTTP/1.1 200 OK\r\ntransfer-encoding : chunked\r\nA: b\r\n\r\n",
            Body::Bytes(5),
            expect![[r#"
                200 unk
                HTTP/1.1 200 OK
                X-Crawler-transfer-encoding : chunked
                A: b
                Content-Length: 5

            "#]],
        );
        check(
            "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n",
            Body::Bytes(5),
            expect![[r#"
                200 unk
                HTTP/1.1 200 OK
                X-Crawler-Content-Length: 900
                Content-Length: 5

            "#]],
        );
        check(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\nContent-Length: 5,5\r\n\r\n",
            Body::Bytes(5),
            expect![[r#"
                200 unk
                HTTP/1.1 200 OK
                X-Crawler-Transfer-Encoding: chunked
                Content-Length: 5
                X-Crawler-Content-Length: 5,5

            "#]],
        );
    }

    #[test]
    fn without_a_body_a_length_tells_of_another_response() {
        check(
            "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n",
            Body::None,
            expect![[r#"
                200 unk
                HTTP/1.1 200 OK
                Content-Length: 900

            "#]],
        );
        check(
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 900\r\n\r\n",
            Body::Bytes(0),
            expect![[r#"
                304 unk
                HTTP/1.1 304 Not Modified
                Content-Length: 900

            "#]],
        );
    }

    #[test]
    fn lines_that_look_empty_are_dropped() {
        check(
            "HTTP/1.1 200\r\nA: b\r\n \t\r\n\u{a0}\r\n\x0c\r\nC: d\r\n\r\n",
            Body::Bytes(0),
            expect![[r#"
                200 unk
                HTTP/1.1 200
                A: b
                C: d

            "#]],
        );
    }

    #[test]
    fn what_cannot_be_split_is_refused() {
        for (head, reason) in [
            ("", expect!["has no status line"]),
            ("HTTP/1.1 200 OK", expect!["has no status line"]),
            ("ICY 200 OK\r\n\r\n", expect!["does not begin with HTTP/"]),
            (
                "HTTP/1.1 OK\r\n\r\n",
                expect!["has no status of three digits"],
            ),
            (
                "HTTP/1.1 200 OK\r\nA: b\r\n",
                expect!["does not end with an empty line"],
            ),
            (
                "HTTP/1.1 200 OK\r\n\r\nA: b\r\n\r\n",
                expect!["goes on after its empty line"],
            ),
        ] {
            check(head, Body::Bytes(0), reason);
        }
    }
}
