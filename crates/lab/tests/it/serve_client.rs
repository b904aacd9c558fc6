//! A client that shares nothing with the server: plain sockets, and a scan for links.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// What came back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Whether all that was announced came.
    pub(crate) whole: bool,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }
}

/// A kept-alive connection to one host.
pub(crate) struct Connection {
    pub(crate) stream: BufReader<TcpStream>,
    authority: String,
}

impl Connection {
    pub(crate) fn to(origin: &str) -> Self {
        let authority = origin.strip_prefix("http://").unwrap();
        let authority = authority.split('/').next().unwrap().to_owned();
        let stream = TcpStream::connect(&authority).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream: BufReader::new(stream),
            authority,
        }
    }

    /// Sends a request without waiting for the answer; `more` are whole lines.
    pub(crate) fn send(&mut self, method: &str, path: &str, more: &str) {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\n{more}\r\n",
            self.authority
        );
        self.stream.get_mut().write_all(head.as_bytes()).unwrap();
    }

    /// Reads one answer.
    pub(crate) fn reply(&mut self, method: &str) -> std::io::Result<Reply> {
        let mut reply = Reply::default();
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        reply.status =
            status.ok_or_else(|| std::io::Error::other(format!("status line {line:?}")))?;
        loop {
            line.clear();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(std::io::Error::other("half a head"));
            }
            match line.trim_end().split_once(": ") {
                Some((name, value)) => reply.headers.push((name.to_owned(), value.to_owned())),
                None => break,
            }
        }
        let length = reply
            .header("content-length")
            .map_or(0, |length| length.parse().unwrap());
        if method != "HEAD" {
            (&mut self.stream)
                .take(length)
                .read_to_end(&mut reply.body)?;
        }
        reply.whole = method == "HEAD" || reply.body.len() as u64 == length;
        Ok(reply)
    }

    pub(crate) fn ask(&mut self, method: &str, path: &str, more: &str) -> Reply {
        self.send(method, path, more);
        self.reply(method).unwrap()
    }
}

/// Asks for one URL on a connection of its own.
pub(crate) fn get(url: &str) -> Reply {
    try_get(url).unwrap()
}

/// The same, where it may fail.
pub(crate) fn try_get(url: &str) -> std::io::Result<Reply> {
    let mut connection = Connection::to(url);
    connection.send("GET", path_of(url), "Connection: close\r\n");
    connection.reply("GET")
}

pub(crate) fn path_of(url: &str) -> &str {
    let rest = url.strip_prefix("http://").unwrap();
    &rest[rest.find('/').unwrap()..]
}

/// The links of a page in document order, resolved.
pub(crate) fn links(url: &str, body: &str) -> Vec<String> {
    let origin = url.strip_suffix(path_of(url)).unwrap();
    let between = |before: &str, after: char| -> Vec<String> {
        let pieces = body.split(before).skip(1);
        pieces
            .map(|piece| piece.split(after).next().unwrap().replace("&amp;", "&"))
            .collect()
    };
    let found = if body.contains("<loc>") {
        between("<loc>", '<')
    } else {
        between(" href=\"", '"')
    };
    let resolve = |link: String| {
        if link.starts_with('/') {
            format!("{origin}{link}")
        } else {
            link
        }
    };
    found.into_iter().map(resolve).collect()
}

/// The words a reader sees.
pub(crate) fn visible(body: &str) -> String {
    let body = body.split("<body>").nth(1).unwrap_or(body);
    let mut text = String::new();
    for piece in body.split('<') {
        if piece.starts_with("!--") {
            continue;
        }
        text.push_str(piece.split_once('>').map_or(piece, |(_, text)| text));
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
