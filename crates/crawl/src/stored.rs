//! Answers that another crawler stored, read as if they had come just now.
//!
//! The same functions judge and parse as in a live crawl, so that a page imported from a WARC file
//! and the same page fetched have the same facts, links and fate. What only a live crawl can know
//! (how long it took, whether the host should rest) is left out.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use turnstone_fetch::html::outline::{Outline, outline};
use turnstone_fetch::html::{Ignored, IgnoredCount, PageInput, PageLimits, read_page};
use turnstone_fetch::media::{Media, media_of};
use turnstone_fetch::soft404::PageFacts;
use turnstone_fetch::urls::KeyOptions;
use turnstone_fetch::wall::Wall;
use turnstone_fetch::{
    ErrorClass, Limits, Protocol, Redirect, Response, Timings, Truncation, TruncationMark, Url,
    header_map,
};
use turnstone_frontier::Fault;
use turnstone_pagestore::{Facts, Keyer, warc};

use crate::page::{Reading, read_response};
use crate::plan::Lists;
use crate::verdict::{Answered, Judged, of_answer};

/// An answer as it was stored.
#[derive(Debug)]
pub struct StoredAnswer<'a> {
    /// What was asked for.
    pub url: &'a Url,
    /// The status.
    pub status: u16,
    /// The head, status line to empty line; may be empty.
    pub head: &'a [u8],
    /// The body without chunks.
    pub body: Vec<u8>,
    /// What `WARC-Truncated` says, if it is there.
    pub truncated: Option<&'a str>,
    /// When it was asked for, in milliseconds of 1970.
    pub wall_ms: u64,
}

/// What a stored answer means for its page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// It came.
    Fetched,
    /// The copy before is still current.
    NotModified,
    /// It is elsewhere.
    Moved(Url),
    /// It did not come.
    Failed(Fault),
}

/// A stored answer, read.
#[derive(Clone, Debug)]
pub struct ReadAnswer {
    /// What it means.
    pub meaning: Meaning,
    /// What is known of it.
    pub facts: Facts,
    /// The pages it links to, each once, in the order of the document.
    pub links: Vec<Url>,
}

/// Reads stored answers with the limits of a live crawl.
#[derive(Debug)]
pub struct AnswerReader {
    keyer: Keyer,
    keys: KeyOptions,
    pages: PageLimits,
    bodies: Limits,
}

impl AnswerReader {
    /// With the default limits; `keyer` is that of the store the pages go to.
    pub fn new(keyer: Keyer) -> Self {
        Self {
            keyer,
            keys: KeyOptions::default(),
            pages: PageLimits::default(),
            bodies: Limits::default(),
        }
    }

    /// The longest body worth reading.
    pub fn body_bytes_max(&self) -> usize {
        self.bodies.body_bytes_max
    }

    /// Reads an answer.
    pub fn read(&self, answer: StoredAnswer<'_>) -> ReadAnswer {
        let StoredAnswer { url, wall_ms, .. } = answer;
        let truncation = answer.truncated.map(truncation);
        let response = response(answer, truncation);
        let (meaning, class, detail) = judge(url, &response);
        let mut facts = Facts {
            class,
            wall_ms,
            ..Facts::default()
        };
        let reading = Reading {
            keyer: &self.keyer,
            keys: &self.keys,
            pages: &self.pages,
            bodies: &self.bodies,
            agent: "turnstone",
            obey_nofollow: true,
            lists: Lists::Ignored,
            judges: false,
            respect: &[],
        };
        let payload = warc::Payload::new(&response.body);
        let (found, _) = read_response(&reading, url, (&response, payload), &mut facts);
        if !detail.is_empty() {
            facts.detail = detail;
        }
        let meaning = if facts.class.starts_with(Wall::CLASS) {
            Meaning::Failed(Fault::Refused)
        } else {
            meaning
        };
        ReadAnswer {
            meaning,
            facts,
            links: found.into_iter().map(|found| found.url).collect(),
        }
    }
}

/// What of a stored answer people would see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visible {
    /// The title.
    pub title: String,
    /// The visible text, a line for each block of the page.
    pub text: String,
    /// More text was there than is kept.
    pub cut: bool,
    /// How much does not count, and is not there.
    pub ignored: IgnoredCount,
}

/// The visible text of a stored answer, without what does not count; nothing if it is no text.
pub fn visible(answer: StoredAnswer<'_>, ignored: &Ignored) -> Option<Visible> {
    let url = answer.url;
    let truncation = answer.truncated.map(truncation);
    let response = response(answer, truncation);
    let content_type = response.headers.get("content-type");
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let decoded = response.decoded(&Limits::default());
    let body: &[u8] = &decoded.body;
    match media_of(content_type, body) {
        Media::Html => {
            let input = PageInput {
                url,
                content_type,
                body,
                agent: "turnstone",
            };
            let limits = PageLimits {
                lines: true,
                ignored: ignored.clone(),
                ..PageLimits::default()
            };
            let page = read_page(input, &limits);
            Some(Visible {
                title: page.title.unwrap_or_default(),
                text: page.text,
                cut: page.cuts.text,
                ignored: page.ignored,
            })
        }
        Media::Text | Media::Xml | Media::Json => Some(Visible {
            title: String::new(),
            text: String::from_utf8_lossy(body).into_owned(),
            cut: false,
            ignored: IgnoredCount::default(),
        }),
        Media::Gzip | Media::Pdf | Media::Image | Media::AudioVideo | Media::Binary => None,
    }
}

/// What a checker of links wants to know of a stored page.
#[derive(Clone, Debug)]
pub struct Outlined {
    /// Its links, and the fragments it has.
    pub outline: Outline,
    /// What tells whether it is a page that is gone.
    pub facts: PageFacts,
}

/// The links, fragments and facts of a stored page; nothing if it is no HTML.
pub fn outlined(answer: StoredAnswer<'_>) -> Option<Outlined> {
    let url = answer.url;
    let truncation = answer.truncated.map(truncation);
    let response = response(answer, truncation);
    let content_type = response.headers.get("content-type");
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let decoded = response.decoded(&Limits::default());
    if media_of(content_type, &decoded.body) != Media::Html {
        return None;
    }
    let input = PageInput {
        url,
        content_type,
        body: &decoded.body,
        agent: "turnstone",
    };
    let page = read_page(input, &PageLimits::default());
    Some(Outlined {
        outline: outline(&input),
        facts: PageFacts::of_page(url, url, response.status, &page),
    })
}

/// What a status alone means, where an index tells nothing else: meaning, class and detail.
pub fn judge_status(status: u16) -> (Meaning, String, String) {
    if (300..400).contains(&status) && status != 304 {
        let detail = "its target is not recorded".to_owned();
        return (Meaning::Failed(Fault::Unknown), "redirect".into(), detail);
    }
    meaning(&Answered {
        status,
        redirect: &Redirect::None,
        truncation: None,
        conditional: true,
        retry_after: None,
        took: Duration::ZERO,
    })
}

fn judge(url: &Url, response: &Response) -> (Meaning, String, String) {
    meaning(&Answered {
        status: response.status,
        redirect: &Redirect::of(response.status, &response.headers, url),
        truncation: response.truncation,
        // Nobody stores a 304 to a question that was not asked.
        conditional: true,
        retry_after: None,
        took: Duration::ZERO,
    })
}

fn meaning(answered: &Answered<'_>) -> (Meaning, String, String) {
    let (verdict, class, detail, _) = of_answer(answered);
    let meaning = match verdict {
        Judged::Fetched => Meaning::Fetched,
        Judged::NotModified => Meaning::NotModified,
        Judged::Moved(to) => Meaning::Moved(to),
        Judged::Failed(fault) => Meaning::Failed(fault),
        Judged::Retry => Meaning::Failed(Fault::Unknown),
    };
    (meaning, class, detail)
}

fn truncation(reason: &str) -> Truncation {
    let (mark, cause) = match reason {
        "time" => (TruncationMark::Time, ErrorClass::TimeoutTotal),
        "disconnect" => (TruncationMark::Disconnect, ErrorClass::Disconnect),
        _ => (TruncationMark::Length, ErrorClass::BodyLimit),
    };
    Truncation { mark, cause }
}

fn response(answer: StoredAnswer<'_>, truncation: Option<Truncation>) -> Response {
    Response {
        status: answer.status,
        protocol: Protocol::Http11,
        headers: header_map(answer.head),
        request_bytes: Vec::new(),
        head_bytes: Vec::new(),
        body: answer.body,
        room: None,
        truncation,
        notes: Vec::new(),
        remote: SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
        tls: None,
        timings: Timings::default(),
        reused: false,
        requests_sent: 0,
        sent_at: std::time::Instant::now(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(head: &str, body: &str, truncated: Option<&str>, expect: &str) {
        let url = Url::parse("https://example.org/a").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let keyer = Keyer::new([7; 16]);
        let read = AnswerReader::new(keyer).read(StoredAnswer {
            url: &url,
            status,
            head: head.as_bytes(),
            body: body.as_bytes().to_vec(),
            truncated,
            wall_ms: 5,
        });
        let links: Vec<&str> = read.links.iter().map(Url::as_str).collect();
        let got = format!(
            "{:?} {} {:?} {}",
            read.meaning,
            read.facts.class,
            read.facts.title,
            links.join(" ")
        );
        assert_eq!(got, expect);
        assert_eq!((read.facts.wall_ms, read.facts.requests), (5, 0));
    }

    #[test]
    fn stored_answers_mean_what_live_ones_do() {
        let html = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
        let page = "<title>A</title><a href=b>b</a><a href=b#c>c</a><img src=i>";
        let expect = "Fetched ok \"A\" https://example.org/b";
        check(html, page, None, expect);
        check(html, page, Some("length"), expect);
        let broken = "Failed(Unknown) broke-off \"A\" https://example.org/b";
        check(html, page, Some("disconnect"), broken);
        check(
            "HTTP/1.1 404 Not Found\n\n",
            page,
            None,
            "Failed(Gone) http-404 \"\" ",
        );
        check(
            "HTTP/1.1 503 No\n\n",
            "",
            None,
            "Failed(Unknown) http-503 \"\" ",
        );
        check(
            "HTTP/1.1 304 No\n\n",
            "",
            None,
            "NotModified not-modified \"\" ",
        );
        let moved = "HTTP/1.1 301 Moved\r\nLocation: /b\r\n\r\n";
        let read = AnswerReader::new(Keyer::new([7; 16])).read(StoredAnswer {
            url: &Url::parse("https://example.org/a").unwrap(),
            status: 301,
            head: moved.as_bytes(),
            body: Vec::new(),
            truncated: None,
            wall_ms: 5,
        });
        let to = Url::parse("https://example.org/b").unwrap();
        assert_eq!(read.meaning, Meaning::Moved(to));
    }

    #[test]
    fn a_status_alone_tells_less() {
        assert_eq!(judge_status(200).0, Meaning::Fetched);
        assert_eq!(judge_status(301).0, Meaning::Failed(Fault::Unknown));
        assert_eq!(judge_status(304).0, Meaning::NotModified);
        assert_eq!(judge_status(410).0, Meaning::Failed(Fault::Gone));
    }
}
