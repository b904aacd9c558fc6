//! Where a redirect leads: read, judged, never followed.
//!
//! The client returns 3xx responses like any other. A caller that wants to go on asks
//! [`Redirect::of`] for the target and a [`RedirectChain`] whether to, and must put the target
//! through its own robots rules, queue and delay, for it may be another host's.

use http::HeaderMap;
use http::header::LOCATION;
use url::Url;

use crate::urls::read_standard;

/// Redirects followed in a row, by default.
pub const REDIRECTS_MAX: usize = 10;

/// What a response says about going elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redirect {
    /// It is no redirect.
    None,
    /// It leads to this URL.
    To {
        /// The target, resolved against the URL asked for.
        url: Url,
        /// Whether it leads from https to http.
        downgrade: bool,
    },
    /// It leads nowhere we go.
    Refused(RedirectRefusal),
}

/// Why a redirect leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedirectRefusal {
    /// There is no `Location`, or it is empty.
    #[error("redirect without a target")]
    NoTarget,
    /// There are several, and they differ.
    #[error("redirect with several targets")]
    SeveralTargets,
    /// The target is not a URL.
    #[error("redirect target is not a URL: {0}")]
    Unparsable(String),
    /// The target is a URL of another scheme than http and https.
    #[error("redirect to a {0}: URL")]
    Scheme(String),
}

impl Redirect {
    /// Reads the redirect in the response to a request for `asked`.
    pub fn of(status: u16, headers: &HeaderMap, asked: &Url) -> Self {
        if !matches!(status, 301 | 302 | 303 | 307 | 308) {
            return Self::None;
        }
        let mut lines = headers.get_all(LOCATION).iter();
        let Some(line) = lines
            .next()
            .filter(|line| !line.as_bytes().trim_ascii().is_empty())
        else {
            return Self::Refused(RedirectRefusal::NoTarget);
        };
        if lines.any(|other| other != line) {
            return Self::Refused(RedirectRefusal::SeveralTargets);
        }
        let target = text(line.as_bytes());
        let url = match read_standard(Some(asked), &target) {
            Ok(url) => url,
            Err(error) => return Self::Refused(RedirectRefusal::Unparsable(error.to_string())),
        };
        if !matches!(url.scheme(), "http" | "https") {
            return Self::Refused(RedirectRefusal::Scheme(url.scheme().to_owned()));
        }
        let downgrade = asked.scheme() == "https" && url.scheme() == "http";
        Self::To { url, downgrade }
    }
}

/// Servers send UTF-8 or, of old, Latin-1; browsers cope with both.
fn text(bytes: &[u8]) -> String {
    match str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&byte| char::from(byte)).collect(),
    }
}

/// The redirects followed so far from one URL.
#[derive(Clone, Debug)]
pub struct RedirectChain {
    seen: Vec<Url>,
    redirects_max: usize,
}

/// Why a chain of redirects ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainEnd {
    /// It came back to a URL already asked for.
    #[error("redirect loop")]
    Loop,
    /// It is too long.
    #[error("too many redirects")]
    TooMany,
}

impl RedirectChain {
    /// A chain that starts at `url` and may have `redirects_max` steps.
    pub fn new(url: Url, redirects_max: usize) -> Self {
        Self {
            seen: vec![without_fragment(url)],
            redirects_max,
        }
    }

    /// Goes on to `url`, unless the chain ends here.
    pub fn step(&mut self, url: Url) -> Result<(), ChainEnd> {
        let url = without_fragment(url);
        if self.seen.contains(&url) {
            return Err(ChainEnd::Loop);
        }
        if self.seen.len() > self.redirects_max {
            return Err(ChainEnd::TooMany);
        }
        self.seen.push(url);
        Ok(())
    }
}

fn without_fragment(mut url: Url) -> Url {
    url.set_fragment(None);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(asked: &str, location: &[u8]) -> Redirect {
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, http::HeaderValue::from_bytes(location).unwrap());
        Redirect::of(302, &headers, &Url::parse(asked).unwrap())
    }

    fn check(asked: &str, location: &[u8], want: &str) {
        let got = match read(asked, location) {
            Redirect::None => "none".into(),
            Redirect::To { url, downgrade } => {
                format!("{url}{}", if downgrade { " down" } else { "" })
            }
            Redirect::Refused(why) => why.to_string(),
        };
        assert_eq!(got, want, "{asked} {location:?}");
    }

    #[test]
    fn targets_resolve_as_in_a_browser() {
        let asked = "https://a.example/dir/page?q#f";
        check(asked, b"other", "https://a.example/dir/other");
        check(asked, b" /x y ", "https://a.example/x%20y");
        check(asked, b"//b.example", "https://b.example/");
        check(asked, b"///b.example/x", "https://b.example/x");
        check(
            asked,
            b"http://b.example/#frag",
            "http://b.example/#frag down",
        );
        check(asked, "/é".as_bytes(), "https://a.example/%C3%A9");
        check(asked, b"/\xe9", "https://a.example/%C3%A9");
        check(asked, b"", "redirect without a target");
        check(
            asked,
            b"http://",
            "redirect target is not a URL: empty host",
        );
    }

    #[test]
    fn other_schemes_are_refused() {
        for scheme in ["file", "javascript", "data", "ftp"] {
            check(
                "http://a.example/",
                format!("{scheme}:/x").as_bytes(),
                &format!("redirect to a {scheme}: URL"),
            );
        }
    }

    #[test]
    fn only_redirect_statuses_redirect() {
        let mut headers = HeaderMap::new();
        let asked = Url::parse("http://a.example/").unwrap();
        assert_eq!(
            Redirect::of(301, &headers, &asked),
            Redirect::Refused(RedirectRefusal::NoTarget)
        );
        headers.append(LOCATION, http::HeaderValue::from_static("/x"));
        assert_eq!(Redirect::of(200, &headers, &asked), Redirect::None);
        assert_eq!(Redirect::of(304, &headers, &asked), Redirect::None);
        headers.append(LOCATION, http::HeaderValue::from_static("/y"));
        assert_eq!(
            Redirect::of(301, &headers, &asked),
            Redirect::Refused(RedirectRefusal::SeveralTargets)
        );
    }

    #[test]
    fn chains_end() {
        let url = |path: usize| Url::parse(&format!("http://a.example/{path}#f")).unwrap();
        let mut chain = RedirectChain::new(url(0), REDIRECTS_MAX);
        assert_eq!(chain.step(url(0)), Err(ChainEnd::Loop));
        let followed = (1..50).take_while(|&n| chain.step(url(n)).is_ok()).count();
        assert_eq!(followed, REDIRECTS_MAX);
        assert_eq!(chain.step(url(50)), Err(ChainEnd::TooMany));
        assert_eq!(chain.step(url(3)), Err(ChainEnd::Loop));
    }
}
