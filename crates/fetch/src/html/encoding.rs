//! Which encoding a page is in, in the order of the HTML standard.
//!
//! Byte-order mark, then the HTTP header, then a `<meta>` in the first 1,024 bytes, then a guess
//! from the bytes (UTF-8 if it is, else `chardetng`), and windows-1252 when all is ASCII.
//!
//! Cost: one UTF-8 check when nothing else says; the guess looks at the first 256 KiB.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

/// How far into a page a `<meta charset>` counts.
pub const META_BYTES_MAX: usize = 1024;
/// How much of a page the guess looks at.
const GUESS_BYTES_MAX: usize = 256 * 1024;

/// What decided the encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncodingSource {
    /// A byte-order mark.
    ByteOrderMark,
    /// The charset of the `Content-Type` header.
    Header,
    /// A `<meta>` element near the top.
    Meta,
    /// Guessed from the bytes.
    Guess,
    /// Nothing said anything and all is ASCII.
    Default,
}

impl EncodingSource {
    /// The word for people and JSON.
    pub fn name(self) -> &'static str {
        match self {
            EncodingSource::ByteOrderMark => "byte-order mark",
            EncodingSource::Header => "header",
            EncodingSource::Meta => "meta",
            EncodingSource::Guess => "guess",
            EncodingSource::Default => "default",
        }
    }
}

/// The encoding of a page. `charset` is the parameter of its `Content-Type` header, if any;
/// `top_level_domain` (lower case, no dot) helps the guess.
pub fn detect(
    body: &[u8],
    charset: Option<&str>,
    top_level_domain: Option<&str>,
) -> (&'static Encoding, EncodingSource) {
    if let Some((encoding, _)) = Encoding::for_bom(body) {
        return (encoding, EncodingSource::ByteOrderMark);
    }
    if let Some(encoding) = charset.and_then(|label| Encoding::for_label(label.trim().as_bytes())) {
        return (encoding, EncodingSource::Header);
    }
    if let Some(encoding) = prescan(&body[..body.len().min(META_BYTES_MAX)]) {
        return (encoding, EncodingSource::Meta);
    }
    if body.is_ascii() {
        return (WINDOWS_1252, EncodingSource::Default);
    }
    let sample = &body[..body.len().min(GUESS_BYTES_MAX)];
    if std::str::from_utf8(sample).map_or_else(|e| e.error_len().is_none(), |_| true) {
        return (UTF_8, EncodingSource::Guess);
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(sample, true);
    let domain = top_level_domain.map(str::as_bytes).filter(|d| {
        d.iter()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
    });
    (
        detector.guess(domain, Utf8Detection::Deny),
        EncodingSource::Guess,
    )
}

/// The charset parameter of a `Content-Type` header value.
pub fn charset_of(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        (name.trim().eq_ignore_ascii_case("charset") && !value.is_empty()).then_some(value)
    })
}

/// The standard's "prescan a byte stream to determine its encoding".
fn prescan(head: &[u8]) -> Option<&'static Encoding> {
    // The standard's extra step for XML-ish UTF-16 without a mark.
    if head.starts_with(b"<\0?\0x\0") {
        return Some(UTF_16LE);
    }
    if head.starts_with(b"\0<\0?\0x") {
        return Some(UTF_16BE);
    }
    let mut at = 0;
    while at < head.len() {
        let rest = &head[at..];
        if rest.starts_with(b"<!--") {
            // `<!-->` is a whole comment: the dashes may be shared.
            at += 2 + memchr::memmem::find(&rest[2..], b"-->")? + 3;
        } else if is_meta(rest) {
            let mut attributes = Attributes {
                bytes: head,
                at: at + 5,
            };
            if let Some(encoding) = meta_encoding(&mut attributes) {
                return Some(encoding);
            }
            at = attributes.at.max(at + 1);
        } else if is_tag(rest) {
            let name = rest.iter().position(|b| is_space(*b) || *b == b'>')?;
            let mut attributes = Attributes {
                bytes: head,
                at: at + name,
            };
            while attributes.next().is_some() {}
            at = attributes.at.max(at + 1);
        } else if rest.starts_with(b"<!") || rest.starts_with(b"</") || rest.starts_with(b"<?") {
            at += memchr::memchr(b'>', rest)? + 1;
        } else {
            at += 1 + memchr::memchr(b'<', &rest[1..])?;
        }
    }
    None
}

fn is_meta(rest: &[u8]) -> bool {
    rest.get(..5)
        .is_some_and(|s| s.eq_ignore_ascii_case(b"<meta"))
        && rest.get(5).is_some_and(|b| is_space(*b) || *b == b'/')
}

fn is_tag(rest: &[u8]) -> bool {
    let name = rest.strip_prefix(b"</").or_else(|| rest.strip_prefix(b"<"));
    name.and_then(|n| n.first())
        .is_some_and(u8::is_ascii_alphabetic)
}

fn meta_encoding(attributes: &mut Attributes<'_>) -> Option<&'static Encoding> {
    let (mut has_pragma, mut need_pragma, mut label) = (false, None, None);
    let mut seen: Vec<Vec<u8>> = Vec::new();
    while let Some((name, value)) = attributes.next() {
        if seen.contains(&name) {
            continue;
        }
        match name.as_slice() {
            b"http-equiv" => has_pragma |= value == b"content-type",
            b"content" if label.is_none() => {
                if let Some(found) = charset_in_content(&value) {
                    (label, need_pragma) = (Some(found.to_vec()), Some(true));
                }
            }
            b"charset" => (label, need_pragma) = (Some(value.clone()), Some(false)),
            _ => {}
        }
        seen.push(name);
    }
    if need_pragma? && !has_pragma {
        return None;
    }
    let encoding = Encoding::for_label(&label?)?;
    Some(match encoding {
        // A meta that could be read is not in UTF-16.
        e if e == UTF_16BE || e == UTF_16LE => UTF_8,
        e if e == X_USER_DEFINED => WINDOWS_1252,
        e => e,
    })
}

/// The standard's "extracting a character encoding from a meta element"; input in lower case.
fn charset_in_content(content: &[u8]) -> Option<&[u8]> {
    let mut rest = content;
    loop {
        let at = memchr::memmem::find(rest, b"charset")?;
        rest = rest[at + 7..].trim_ascii_start();
        let Some(value) = rest.strip_prefix(b"=") else {
            continue;
        };
        let value = value.trim_ascii_start();
        return match value.first()? {
            quote @ (b'"' | b'\'') => {
                let end = memchr::memchr(*quote, &value[1..])?;
                Some(&value[1..=end])
            }
            _ => {
                let end = value.iter().position(|b| is_space(*b) || *b == b';');
                Some(&value[..end.unwrap_or(value.len())])
            }
        };
    }
}

/// The standard's "get an attribute" on raw bytes; names and values come in lower case.
struct Attributes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Attributes<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip(&mut self, wanted: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&wanted) {
            self.at += 1;
        }
    }

    fn take(&mut self, wanted: impl Fn(u8) -> bool) -> Vec<u8> {
        let start = self.at;
        self.skip(wanted);
        self.bytes[start..self.at].to_ascii_lowercase()
    }

    fn next(&mut self) -> Option<(Vec<u8>, Vec<u8>)> {
        self.skip(|b| is_space(b) || b == b'/');
        if self.peek()? == b'>' {
            self.at += 1;
            return None;
        }
        let mut name = Vec::new();
        if self.peek() == Some(b'=') {
            name.push(b'=');
            self.at += 1;
        }
        name.extend(self.take(|b| !is_space(b) && !matches!(b, b'=' | b'/' | b'>')));
        self.skip(is_space);
        if self.peek() != Some(b'=') {
            return Some((name, Vec::new()));
        }
        self.at += 1;
        self.skip(is_space);
        let value = match self.peek()? {
            quote @ (b'"' | b'\'') => {
                self.at += 1;
                let value = self.take(|b| b != quote);
                // An unclosed value at the end of the sample is no value.
                self.peek()?;
                self.at += 1;
                value
            }
            b'>' => Vec::new(),
            _ => {
                let value = self.take(|b| !is_space(b) && b != b'>');
                self.peek()?;
                value
            }
        };
        Some((name, value))
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0C | b'\r' | b' ')
}
