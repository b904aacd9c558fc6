//! Exchanges of every kind that a crawl meets, for all tests of WARC files.

use std::io::Write as _;
use std::path::Path;

use turnstone_pagestore::warc::{
    Capture, Ends, Exchange, Keep, Original, Packer, Payload, RealFolder, Settings, Truncated,
    Writer, capture,
};

pub(crate) const NAMESPACE: [u8; 16] = *b"a crawl of tests";

/// One exchange, and what a replay of it must give.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) uri: String,
    pub(crate) surt: String,
    pub(crate) head: Vec<u8>,
    pub(crate) body: Vec<u8>,
    pub(crate) truncated: Option<Truncated>,
    pub(crate) kept: Kept,
    /// Milliseconds after the first.
    pub(crate) date_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    Response,
    /// The payload of the sample with this number.
    SamePayload(usize),
    NotModified(usize),
}

impl Sample {
    fn new(path: &str, head: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            uri: format!("http://www.example.org{path}"),
            surt: format!("org,example){}", path.to_ascii_lowercase()),
            head: head.replace('\n', "\r\n").into_bytes(),
            body: body.into(),
            truncated: None,
            kept: Kept::Response,
            date_ms: 0,
        }
    }

    fn cut(mut self, truncated: Truncated) -> Self {
        self.truncated = Some(truncated);
        self
    }

    fn kept(mut self, kept: Kept) -> Self {
        self.kept = kept;
        self
    }

    pub(crate) fn status(&self) -> u16 {
        std::str::from_utf8(&self.head[9..12])
            .unwrap()
            .parse()
            .unwrap()
    }

    /// The URI as it must stand in a record.
    pub(crate) fn recorded_uri(&self) -> String {
        self.uri.replace('é', "%C3%A9").replace(' ', "%20")
    }

    pub(crate) fn request(&self) -> Vec<u8> {
        let path = &self.recorded_uri()["http://www.example.org".len()..];
        format!("GET {path} HTTP/1.1\r\nHost: www.example.org\r\nUser-Agent: test\r\n\r\n")
            .into_bytes()
    }

    pub(crate) fn capture(&self, all: &[Self], packer: &mut Packer) -> Capture {
        let request = self.request();
        let exchange = Exchange {
            target_uri: &self.uri,
            date_ms: self.date_ms,
            address: Some("2001:db8::1".parse().unwrap()),
            request: &request,
            head: &self.head,
            payload: Payload::new(&self.body),
            truncated: self.truncated,
            fields: &[("WARC-Protocol", "http/1.1")],
            namespace: &NAMESPACE,
            number: 0,
        };
        let original = |i: usize| Original {
            target_uri: &all[i].uri,
            date_ms: all[i].date_ms,
        };
        let keep = match self.kept {
            Kept::Response => Keep::Response,
            Kept::SamePayload(i) => Keep::SamePayload(original(i)),
            Kept::NotModified(i) => {
                Keep::NotModified(original(i), Payload::new(&all[i].body).digest())
            }
        };
        capture(&exchange, keep, packer).unwrap()
    }
}

/// Bytes that no compressor makes shorter.
pub(crate) fn noise(count: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..count).map(|_| next()).collect()
}

/// One of every kind, one second apart from 2024-05-01T12:30:00.123Z on.
pub(crate) fn samples() -> Vec<Sample> {
    let html = "<html><body>Hello, <a href=\"/b\">world</a> — ünïcode</body></html>\n".repeat(50);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(html.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let ok = "HTTP/1.1 200 OK\nContent-Type: text/html; charset=utf-8\n\n";
    let binary = noise(70_000);
    let long = |bytes: usize| format!("/long/{}", "x".repeat(bytes - 28));
    let mut all = vec![
        Sample::new("/", ok, html.clone()),
        Sample::new(
            "/chunked",
            "HTTP/1.1 200 OK\nContent-Type: text/html\nTransfer-Encoding: chunked\n\n",
            "chunks, joined\n",
        ),
        Sample::new(
            "/gzip",
            &format!(
                "HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Encoding: gzip\nContent-Length: {}\n\n",
                gzip.len()
            ),
            gzip,
        ),
        Sample::new(
            "/cut",
            "HTTP/1.1 200 OK\nContent-Type: text/plain\nContent-Length: 100000\n\n",
            "only this came",
        )
        .cut(Truncated::Disconnect),
        Sample::new(
            "/cut-chunks",
            "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n",
            "5\r\nabc",
        )
        .cut(Truncated::Length),
        Sample::new("/slow", ok, "slow").cut(Truncated::Time),
        Sample::new("/copy", ok, html.clone()).kept(Kept::SamePayload(0)),
        Sample::new("/", ok, html.clone()).kept(Kept::SamePayload(0)),
        Sample::new("/", "HTTP/1.1 304 Not Modified\nETag: \"x\"\n\n", "")
            .kept(Kept::NotModified(0)),
        Sample::new("/caf%c3%a9", ok, "escaped\n"),
        Sample::new("/thé d", ok, "not ASCII\n"),
        Sample::new(&long(8192), ok, "long\n"),
        Sample::new(&long(4096), ok, "half as long\n"),
        Sample::new("/empty", "HTTP/1.1 200 OK\nContent-Length: 0\n\n", ""),
        Sample::new("/none", "HTTP/1.1 204 No Content\n\n", ""),
        Sample::new(
            "/moved",
            "HTTP/1.1 301 Moved Permanently\nLocation: http://www.example.org/elsewhere\nContent-Length: 6\n\n",
            "moved\n",
        ),
        Sample::new(
            "/missing",
            "HTTP/1.0 404 \nContent-Type: text/html\n\n",
            "<h1>not here</h1>",
        ),
        Sample::new(
            "/binary",
            "HTTP/1.1 200 OK\nContent-Type: image/png\n\n",
            binary,
        ),
        Sample::new(
            "/odd?a=%0d%0a&b",
            "HTTP/1.1 200 OK\nServer: a\tb\n \n\nX",
            "",
        )
        .odd_head(),
        Sample::new(
            "/warc",
            "HTTP/1.1 200 OK\nContent-Type: application/warc\n\n",
            "WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 2\r\n\r\nhi\r\n\r\nWARC/1.1\r\nWARC-Type: request\r\n",
        ),
    ];
    all[10].surt = "org,example)/th%c3%a9%20d".to_owned();
    for (i, sample) in (0..).zip(&mut all) {
        sample.date_ms = 1_714_566_600_123 + 1000 * i;
    }
    all
}

impl Sample {
    /// A head with a line that some readers take for its end, bare line ends and odd bytes.
    fn odd_head(mut self) -> Self {
        self.head = b"HTTP/1.1 200 OK\nServer: \xE9\xFF a\x01b\r\n \t\r\nnot a header\r\nContent-Type: a/b\r\n\r\n".to_vec();
        self.body = b"\r\n\r\nodd".to_vec();
        self
    }
}

pub(crate) fn settings() -> Settings {
    let mut settings = Settings::new("test", NAMESPACE);
    settings.info = [
        ("software", "turnstone/0 (tests)"),
        ("format", "WARC File Format 1.1"),
        (
            "conformsTo",
            "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        ),
        ("robots", "obey"),
        ("operator", "nobody\r\nX-Forged: yes"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec();
    settings
}

/// An archive with all samples, closed and sorted.
pub(crate) fn write_all(path: &Path, samples: &[Sample], settings: Settings) -> Ends {
    let mut packer = Packer::default();
    let (mut writer, _) =
        Writer::open(path, settings, Ends::default(), Box::new(RealFolder)).unwrap();
    for sample in samples {
        let capture = sample.capture(samples, &mut packer);
        writer.append(&capture, &sample.surt).unwrap();
    }
    let ends = writer.sync().unwrap();
    writer.finish(1 << 24).unwrap();
    ends
}
