//! A request as a client wrote it: one head of at most 16 KiB, and no body of use.

use httparse::{EMPTY_HEADER, Header, Status};

/// The longest head that is read.
pub const HEAD_BYTES_MAX: usize = 16 << 10;
/// The most fields a head may have.
const FIELDS_MAX: usize = 96;

/// A request that reached a host of the web.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// `GET` or `HEAD`.
    pub method: &'a str,
    /// The host, by number.
    pub host: usize,
    /// The host, by name.
    pub name: &'a str,
    /// Path and query, as asked for; begins with a slash.
    pub path: &'a str,
    /// How often this path of this host was asked for before.
    pub attempt: u32,
    /// By host: where its URLs begin, without a trailing slash.
    pub origins: &'a [String],
    pub(super) head: &'a Head<'a>,
}

impl Request<'_> {
    /// The first field of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.field(name)
    }

    /// Where the URLs of the host that was asked begin, without a trailing slash.
    pub fn origin(&self) -> &str {
        &self.origins[self.host]
    }

    /// Whether only the head of the answer is wanted.
    pub fn is_head(&self) -> bool {
        self.method == "HEAD"
    }
}

/// A head, taken apart.
#[derive(Clone, Debug)]
pub(super) struct Head<'a> {
    pub(super) method: &'a str,
    /// Path and query.
    pub(super) path: &'a str,
    /// The host of a target in absolute form, as proxies are asked; else the Host field.
    pub(super) authority: Option<&'a str>,
    pub(super) keep_alive: bool,
    /// Bytes of body that follow; None if their number is not known.
    pub(super) body_bytes: Option<u64>,
    fields: Vec<Header<'a>>,
}

impl<'a> Head<'a> {
    fn field(&self, name: &str) -> Option<&'a str> {
        let found = (self.fields.iter()).find(|field| field.name.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(found.value).ok()
    }

    /// Takes the head at the beginning of what was read apart: the head and its length; none if
    /// it is not all there; what is wrong if it is no request.
    pub(super) fn parse(read: &'a [u8]) -> Result<Option<(Self, usize)>, &'static str> {
        let mut fields = [EMPTY_HEADER; FIELDS_MAX];
        let mut parsed = httparse::Request::new(&mut fields);
        let length = match parsed.parse(read) {
            Ok(Status::Complete(length)) => length,
            Ok(Status::Partial) => return Ok(None),
            Err(_) => return Err("not an HTTP/1.1 request"),
        };
        let (Some(method), Some(target), Some(version)) =
            (parsed.method, parsed.path, parsed.version)
        else {
            return Err("not an HTTP/1.1 request");
        };
        let mut head = Self {
            method,
            path: target,
            authority: None,
            keep_alive: version == 1,
            body_bytes: Some(0),
            fields: parsed.headers.to_vec(),
        };
        head.authority = head.field("host");
        if let Some(rest) = target.strip_prefix("http://") {
            let end = rest.find('/').ok_or("a target without a path")?;
            head.authority = Some(&rest[..end]);
            head.path = &rest[end..];
        }
        if !head.path.starts_with('/') {
            return Err("the target must begin with a slash");
        }
        let closes = |value: &str| value.eq_ignore_ascii_case("close");
        head.keep_alive &= !head.field("connection").is_some_and(closes);
        if head.field("transfer-encoding").is_some() {
            head.body_bytes = None;
        } else if let Some(length) = head.field("content-length") {
            head.body_bytes = length.parse().ok();
        }
        Ok(Some((head, length)))
    }
}
