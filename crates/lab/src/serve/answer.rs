//! What is said to a request, and how it is delivered: whole, late, in drips, half or not at all.

use std::borrow::Cow;
use std::io::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::request::Request;

/// An answer before it goes out.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Fields beside Date, Content-Length and Connection, which are added.
    pub headers: Vec<(Cow<'static, str>, String)>,
    /// The body; left out of answers to HEAD, and of 204 and 304.
    pub body: Vec<u8>,
    /// How it goes out.
    pub delivery: Delivery,
}

/// How an answer goes out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Delivery {
    /// At once and whole.
    #[default]
    Whole,
    /// Whole, after a while.
    Late {
        /// How long nothing is sent.
        wait_ms: u64,
    },
    /// The connection is reset before a byte is sent.
    Reset,
    /// Half of the head is sent, then nothing; after a while the connection is closed.
    HalfHead {
        /// How long nothing is sent.
        hold_ms: u64,
    },
    /// The head at once, the body in small pieces.
    Drip {
        /// Bytes in a piece.
        bytes: usize,
        /// Time before each piece.
        every_ms: u64,
    },
    /// The body ends early, although its length was announced.
    Truncate {
        /// How many bytes of the body are sent.
        bytes: usize,
    },
    /// The body is all that is sent, byte for byte, head included; then the connection is closed.
    Raw,
}

impl Answer {
    /// An answer without body.
    pub fn status(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
            delivery: Delivery::Whole,
        }
    }

    /// 200 with a page.
    pub fn html(body: impl Into<Vec<u8>>) -> Self {
        Self::ok("text/html; charset=utf-8", body)
    }

    /// 200 with plain text, such as a robots.txt.
    pub fn text(body: impl Into<Vec<u8>>) -> Self {
        Self::ok("text/plain; charset=utf-8", body)
    }

    /// 200 with a body of this type.
    pub fn ok(content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            body: body.into(),
            ..Self::status(200).header("Content-Type", content_type)
        }
    }

    /// A redirect.
    pub fn redirect(status: u16, location: &str) -> Self {
        Self::status(status).header("Location", location)
    }

    /// A page that is not there.
    pub fn not_found() -> Self {
        Self {
            status: 404,
            ..Self::html(
                "<!DOCTYPE html><title>404 Not Found</title><p>There is no such page.</p>\n",
            )
        }
    }

    /// Exactly these bytes, head and all.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            body: bytes.into(),
            delivery: Delivery::Raw,
            ..Self::status(0)
        }
    }

    /// With a further field.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((Cow::Borrowed(name), value.into()));
        self
    }

    /// Delivered in another way.
    #[must_use]
    pub fn deliver(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    /// With validators; 304 without body if the client has this very content.
    #[must_use]
    pub fn conditional(mut self, request: &Request<'_>, etag: String, modified_s: u64) -> Self {
        let matches = match request.header("if-none-match") {
            Some(tags) => tags.split(',').any(|tag| {
                let tag = tag.trim();
                tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag
            }),
            None => request
                .header("if-modified-since")
                .and_then(|date| httpdate::parse_http_date(date).ok())
                .and_then(|date| date.duration_since(UNIX_EPOCH).ok())
                .is_some_and(|since| since.as_secs() >= modified_s),
        };
        if matches {
            self.status = 304;
            self.headers.clear();
            self.body.clear();
        }
        let modified = UNIX_EPOCH + Duration::from_secs(modified_s);
        self.header("ETag", etag)
            .header("Last-Modified", httpdate::fmt_http_date(modified))
    }

    /// Whether the body is sent.
    pub(super) fn has_body(&self, is_head: bool) -> bool {
        !is_head && !matches!(self.status, 204 | 304)
    }

    /// Writes status line and fields.
    pub(super) fn write_head(&self, close: bool, out: &mut Vec<u8>) {
        let mut put = |text: std::fmt::Arguments<'_>| {
            out.write_fmt(text)
                .expect("writing to memory does not fail");
        };
        let reason = reason(self.status);
        put(format_args!("HTTP/1.1 {} {reason}\r\n", self.status));
        DATE.with_borrow_mut(|date| put(format_args!("Date: {}\r\n", date.now())));
        for (name, value) in &self.headers {
            put(format_args!("{name}: {value}\r\n"));
        }
        if !matches!(self.status, 204 | 304) {
            put(format_args!("Content-Length: {}\r\n", self.body.len()));
        }
        put(format_args!(
            "{}\r\n",
            if close { "Connection: close\r\n" } else { "" }
        ));
    }
}

/// The Date field, written anew once a second.
#[derive(Default)]
struct DateField {
    second: u64,
    text: String,
}

thread_local! {
    static DATE: std::cell::RefCell<DateField> = std::cell::RefCell::default();
}

impl DateField {
    fn now(&mut self) -> &str {
        let now = SystemTime::now();
        let second = now
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        if second != self.second {
            self.text = httpdate::fmt_http_date(now);
            self.second = second;
        }
        &self.text
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        410 => "Gone",
        413 => "Content Too Large",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Unknown",
    }
}
