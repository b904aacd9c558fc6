//! What an answer means: for the page, and for how its host is treated. Pure.

use std::time::Duration;

use turnstone_fetch::preferences::Sayings;
use turnstone_fetch::{ErrorClass, FetchError, Redirect, Truncation, TruncationMark, Url};
use turnstone_frontier::{Change, Fault};
use turnstone_pagestore::Facts;

use crate::mood::Answer;

/// What an answer means for the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// It came.
    Fetched,
    /// The copy we have is still current.
    NotModified,
    /// It is elsewhere.
    Moved(Url),
    /// It will not come.
    Failed(Fault),
    /// It may come when asked for again.
    Retry,
}

/// What was answered, as far as it decides.
#[derive(Clone, Debug)]
pub(crate) struct Answered<'a> {
    pub(crate) status: u16,
    pub(crate) redirect: &'a Redirect,
    pub(crate) truncation: Option<Truncation>,
    /// Whether the request was conditional.
    pub(crate) conditional: bool,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) took: Duration,
}

/// What an answer means: for the page, in one word, in words, for the host.
pub(crate) fn of_answer(answered: &Answered<'_>) -> (Judged, String, String, Answer) {
    let Answered {
        status,
        redirect,
        truncation,
        conditional,
        retry_after,
        took,
    } = answered;
    let good = Answer::Good(*took);
    let http = || format!("http-{status}");
    if let Some(Truncation { mark, cause }) = truncation
        && *mark != TruncationMark::Length
    {
        let detail = format!("the body broke off ({})", cause.as_str());
        return (
            Judged::Retry,
            "broke-off".into(),
            detail,
            Answer::Unreachable,
        );
    }
    match (status, redirect) {
        (304, _) if *conditional => (
            Judged::NotModified,
            "not-modified".into(),
            String::new(),
            good,
        ),
        (304, _) => (
            Judged::Retry,
            http(),
            "not modified, though nothing was asked".into(),
            good,
        ),
        (200..=299, _) => {
            let cut =
                truncation.map_or(String::new(), |_| "cut at the longest body allowed".into());
            (Judged::Fetched, "ok".into(), cut, good)
        }
        (_, Redirect::To { url, downgrade }) => {
            let detail = if *downgrade { "from https to http" } else { "" };
            (
                Judged::Moved(url.clone()),
                "redirect".into(),
                detail.into(),
                good,
            )
        }
        (_, Redirect::Refused(why)) => {
            let failed = Judged::Failed(Fault::Refused);
            (failed, "redirect-refused".into(), why.to_string(), good)
        }
        (404 | 410, _) => (Judged::Failed(Fault::Gone), http(), String::new(), good),
        (429 | 503, _) => (
            Judged::Retry,
            http(),
            String::new(),
            Answer::Busy(*retry_after),
        ),
        (408 | 425, _) => (Judged::Retry, http(), String::new(), Answer::Unreachable),
        (500..=599, _) => {
            let mood = retry_after.map_or(Answer::Error, |asked| Answer::Busy(Some(asked)));
            (Judged::Retry, http(), String::new(), mood)
        }
        _ => (Judged::Failed(Fault::Refused), http(), String::new(), good),
    }
}

/// What an answer means that is a wall before the page: nobody knows what is behind it, and nothing of it
/// is the page. What may pass (429, 503) is asked for again as any such answer is.
pub(crate) fn behind_wall(judged: Judged) -> Judged {
    match judged {
        Judged::Retry => Judged::Retry,
        Judged::Fetched | Judged::NotModified | Judged::Moved(_) | Judged::Failed(_) => {
            Judged::Failed(Fault::Refused)
        }
    }
}

/// What a failure means for the page and for the host.
pub(crate) fn of_error(error: &FetchError) -> (Judged, Option<Answer>) {
    use ErrorClass::{
        BodyLimit, ConnectFailed, ConnectRefused, ConnectTimeout, ContactMissing, Disconnect,
        DnsFailure, DnsNxdomain, GuardRefused, HeaderLimit, NotPermitted, OutOfFiles, Protocol,
        StaleConnection, TimeoutFirstByte, TimeoutTotal, TlsBadCertificate, TlsExpired,
        TlsHandshake, TlsTimeout, TlsUnknownIssuer, TlsWrongHost, TooSlow, UrlRefused, UrlTooLong,
    };
    match error.class {
        UrlRefused | UrlTooLong | GuardRefused | ContactMissing => {
            (Judged::Failed(Fault::Refused), None)
        }
        DnsNxdomain => (Judged::Failed(Fault::Gone), None),
        TlsExpired | TlsWrongHost | TlsUnknownIssuer | TlsBadCertificate | HeaderLimit
        | BodyLimit | Protocol => (Judged::Failed(Fault::Refused), Some(Answer::Error)),
        DnsFailure | ConnectRefused | ConnectTimeout | ConnectFailed | TlsHandshake
        | TlsTimeout | TimeoutFirstByte | TimeoutTotal | TooSlow | Disconnect => {
            (Judged::Retry, Some(Answer::Unreachable))
        }
        OutOfFiles | NotPermitted | StaleConnection => (Judged::Retry, None),
    }
}

/// How a page compares with the copy before it. The same bytes are the same page; so is the same
/// text. A copy of which nothing but its existence is known is not said to have changed.
pub fn change(copy: Option<&Facts>, now: &Facts) -> Change {
    let Some(copy) = copy else {
        return Change::New;
    };
    let unknown = copy.text_hash == 0 && copy.digest.is_none();
    let same_bytes = copy.digest.is_some() && copy.digest == now.digest;
    if unknown || same_bytes || copy.text_hash == now.text_hash {
        Change::Unchanged
    } else {
        Change::Changed
    }
}

/// The copy is still current: what is known of it is known of the page.
pub fn still_current(facts: &mut Facts, copy: Facts) {
    facts.text_hash = copy.text_hash;
    facts.simhash = copy.simhash;
    facts.words = copy.words;
    facts.title = copy.title;
    facts.digest = copy.digest;
    // What the rules said then is not what they say now; what the page said is.
    let mut said = Sayings::read(&facts.preferences);
    said.extend(&Sayings::read(&copy.preferences).without_rules());
    facts.preferences = said.to_string();
    if facts.etag.is_empty() && facts.last_modified.is_empty() {
        facts.etag = copy.etag;
        facts.last_modified = copy.last_modified;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(status: u16, conditional: bool, expected: &str) {
        let answered = Answered {
            status,
            redirect: &Redirect::None,
            truncation: None,
            conditional,
            retry_after: None,
            took: Duration::ZERO,
        };
        let (verdict, class, _, _) = of_answer(&answered);
        assert_eq!(format!("{verdict:?} {class}"), expected);
    }

    #[test]
    fn statuses() {
        check(200, false, "Fetched ok");
        check(204, false, "Fetched ok");
        check(206, false, "Fetched ok");
        check(304, true, "NotModified not-modified");
        check(304, false, "Retry http-304");
        check(404, false, "Failed(Gone) http-404");
        check(410, false, "Failed(Gone) http-410");
        check(403, false, "Failed(Refused) http-403");
        check(451, false, "Failed(Refused) http-451");
        check(429, false, "Retry http-429");
        check(503, false, "Retry http-503");
        check(500, false, "Retry http-500");
        check(999, false, "Failed(Refused) http-999");
    }

    #[test]
    fn a_body_that_broke_off_is_never_whole() {
        let answered = |mark| Answered {
            status: 200,
            redirect: &Redirect::None,
            truncation: Some(Truncation {
                mark,
                cause: ErrorClass::Disconnect,
            }),
            conditional: false,
            retry_after: None,
            took: Duration::ZERO,
        };
        let verdict = |mark| of_answer(&answered(mark)).0;
        assert_eq!(verdict(TruncationMark::Disconnect), Judged::Retry);
        assert_eq!(verdict(TruncationMark::Time), Judged::Retry);
        assert_eq!(verdict(TruncationMark::Length), Judged::Fetched);
    }
}
