//! Splits the block of an HTTP response into head and body, and removes chunking.
//!
//! We store bodies without chunks; other tools store them as they came, and some remove the
//! chunks but not the header that tells of them. So a body is un-chunked if its head says so and
//! its first line is a chunk size; otherwise it is handed out as it is.
//!
//! Cost: one buffer; the head is bounded, chunks are never held.

use std::io::{self, BufRead, BufReader, Read};

use super::head::{content, name_and_value, split_line, status_line};

/// The longest HTTP head that is read.
pub const HTTP_HEAD_BYTES_MAX: usize = 1 << 20;

/// The longest line between chunks.
const CHUNK_LINE_BYTES_MAX: u64 = 4096;

/// The head of an HTTP message, as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpHead {
    bytes: Vec<u8>,
}

impl HttpHead {
    /// All of it, first line to empty line.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The status of a response.
    pub fn status(&self) -> Option<u16> {
        status_line(&self.bytes).ok().map(|(status, _)| status)
    }

    /// The first value of a header.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        let mut rest = &self.bytes[..];
        while let Some((line, after)) = split_line(rest) {
            let (found, value) = name_and_value(line);
            if found.eq_ignore_ascii_case(name.as_bytes()) {
                return Some(value);
            }
            rest = after;
        }
        None
    }

    fn is_chunked(&self) -> bool {
        self.get("Transfer-Encoding").is_some_and(|value| {
            value
                .rsplit(|&b| b == b',')
                .next()
                .is_some_and(|last| last.trim_ascii().eq_ignore_ascii_case(b"chunked"))
        })
    }
}

/// An HTTP message: its head, and its body to be read.
pub struct HttpBlock<R> {
    /// The head.
    pub head: HttpHead,
    /// The body without chunks.
    pub body: HttpBody<R>,
}

impl<R: Read> HttpBlock<R> {
    /// Reads the head. Too long a head, or none that ends, is an error of kind `InvalidData`.
    pub fn read(block: R) -> io::Result<Self> {
        let mut input = BufReader::new(block);
        let mut bytes = Vec::new();
        loop {
            let before = bytes.len();
            let left = HTTP_HEAD_BYTES_MAX - before;
            (&mut input)
                .take(left as u64)
                .read_until(b'\n', &mut bytes)?;
            let line = &bytes[before..];
            if !line.ends_with(b"\n") {
                return Err(invalid("the HTTP head has no end"));
            }
            if content(line).is_empty() {
                break;
            }
        }
        let head = HttpHead { bytes };
        let state = if head.is_chunked() {
            State::First
        } else {
            State::AsIs(Vec::new())
        };
        Ok(Self {
            head,
            body: HttpBody { input, state },
        })
    }
}

/// The body of an HTTP message without chunks.
pub struct HttpBody<R> {
    input: BufReader<R>,
    state: State,
}

enum State {
    /// Before the first chunk, which may turn out not to be one.
    First,
    /// Within a chunk, with so many bytes left.
    Chunk(u64),
    /// Between chunks.
    Between,
    /// Not chunked: what was read to find out, and the rest.
    AsIs(Vec<u8>),
    Done,
}

impl<R: Read> Read for HttpBody<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match &mut self.state {
                State::First => self.first_size()?,
                State::Between => {
                    let line = self.line()?;
                    let size = chunk_size(&line).ok_or_else(|| invalid("a chunk has no size"))?;
                    self.begin_chunk(size)?;
                }
                State::Chunk(0) => {
                    if !content(&self.line()?).is_empty() {
                        return Err(invalid("a chunk is longer than its size"));
                    }
                    self.state = State::Between;
                }
                State::Chunk(left) => {
                    let count = self.input.by_ref().take(*left).read(buffer)?;
                    if count == 0 {
                        return Err(invalid("the chunked body is cut short"));
                    }
                    *left -= count as u64;
                    return Ok(count);
                }
                State::AsIs(before) if !before.is_empty() => {
                    let count = before.len().min(buffer.len());
                    buffer[..count].copy_from_slice(&before[..count]);
                    before.drain(..count);
                    return Ok(count);
                }
                State::AsIs(_) => return self.input.read(buffer),
                State::Done => return Ok(0),
            }
        }
    }
}

impl<R: Read> HttpBody<R> {
    fn first_size(&mut self) -> io::Result<()> {
        let mut line = Vec::new();
        (&mut self.input)
            .take(CHUNK_LINE_BYTES_MAX)
            .read_until(b'\n', &mut line)?;
        match chunk_size(&line) {
            Some(size) => self.begin_chunk(size),
            None => {
                self.state = State::AsIs(line);
                Ok(())
            }
        }
    }

    fn begin_chunk(&mut self, size: u64) -> io::Result<()> {
        self.state = State::Chunk(size);
        if size == 0 {
            // Trailers up to an empty line, or the end; nobody asks for them.
            let mut trailers = 0;
            while !content(&self.line_or_end()?).is_empty() {
                trailers += 1;
                if trailers > 1000 {
                    return Err(invalid("the chunked body has too many trailers"));
                }
            }
            self.state = State::Done;
        }
        Ok(())
    }

    fn line(&mut self) -> io::Result<Vec<u8>> {
        let line = self.line_or_end()?;
        if line.is_empty() {
            return Err(invalid("the chunked body is cut short"));
        }
        Ok(line)
    }

    fn line_or_end(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        (&mut self.input)
            .take(CHUNK_LINE_BYTES_MAX)
            .read_until(b'\n', &mut line)?;
        if !line.is_empty() && !line.ends_with(b"\n") {
            return Err(invalid("the chunked body is cut short"));
        }
        Ok(line)
    }
}

/// The size on a line such as `1a2b;name=value`.
fn chunk_size(line: &[u8]) -> Option<u64> {
    if !line.ends_with(b"\n") {
        return None;
    }
    let digits = content(line).split(|&b| b == b';').next()?.trim_ascii();
    if digits.is_empty() || digits.len() > 15 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn invalid(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(block: &str, expect: Result<&str, &str>) {
        let mut message = HttpBlock::read(block.as_bytes()).unwrap();
        let mut body = String::new();
        let read = message.body.read_to_string(&mut body);
        match (read, expect) {
            (Ok(_), Ok(expect)) => assert_eq!(body, expect, "{block:?}"),
            (Err(error), Err(expect)) => assert_eq!(error.to_string(), expect, "{block:?}"),
            (read, _) => panic!("{block:?}: {read:?} {body:?}"),
        }
    }

    #[test]
    fn bodies_without_chunks_are_as_they_are() {
        check("HTTP/1.1 200 OK\r\n\r\n5\r\nhello", Ok("5\r\nhello"));
        check(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno chunks\r\nhere",
            Ok("no chunks\r\nhere"),
        );
        check("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n", Ok(""));
        check(
            "HTTP/1.1 200 OK\r\nX-Crawler-Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            Ok("3\r\nabc\r\n0\r\n\r\n"),
        );
    }

    #[test]
    fn chunks_are_joined() {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n";
        for (body, expect) in [
            (
                "5\r\nhello\r\n3;a=b\r\n, w\r\n0\r\nT: x\r\n\r\n",
                Ok("hello, w"),
            ),
            ("0\r\n\r\n", Ok("")),
            ("00a \r\n0123456789\r\n0\r\n", Ok("0123456789")),
            ("5\nhello\n0\n\n", Ok("hello")),
            ("5\r\nhel", Err("the chunked body is cut short")),
            ("5\r\nhello\r\n", Err("the chunked body is cut short")),
            (
                "5\r\nhello world\r\n",
                Err("a chunk is longer than its size"),
            ),
            ("5\r\nhello\r\nxyz\r\n", Err("a chunk has no size")),
        ] {
            check(&format!("{head}{body}"), expect);
        }
    }

    #[test]
    fn heads_are_bounded_and_parsed() {
        let endless = "HTTP/1.1 200 OK\r\n".to_owned() + &"A: b\r\n".repeat(400_000);
        assert!(HttpBlock::read(endless.as_bytes()).is_err());
        assert!(HttpBlock::read(&b"HTTP/1.1 200 OK\r\nA: b"[..]).is_err());
        let message =
            HttpBlock::read(&b"HTTP/1.1 404 Not Found\r\nA : b \r\n c\r\na: d\r\n\r\n"[..])
                .unwrap();
        assert_eq!(message.head.status(), Some(404));
        assert_eq!(message.head.get("a"), Some(&b"b"[..]));
        assert_eq!(message.head.get("b"), None);
    }
}
