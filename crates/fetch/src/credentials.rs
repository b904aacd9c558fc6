//! What some hosts alone are told: passwords, tokens, cookies, headers of their own.
//!
//! A secret belongs to an *origin*, that is scheme, host and port, as in a browser. A request is told only
//! the secrets of the origin it goes to. A redirect is a request of its own, so a secret never follows a
//! redirect to another origin, nor from https to http. Patterns of hosts would be shorter to write, and
//! one careless pattern would hand a password to strangers.
//!
//! A secret is sent and nothing else. Its header value is marked sensitive: `http` shows no such value in
//! debug texts, HTTP/2 keeps it out of its tables, and [`hide`] takes it out of the bytes that an archive
//! keeps of a request.
//!
//! Cost: one look-up in a hash table for each request. Limits: [`SECRET_BYTES_MAX`] a value,
//! [`HEADERS_MAX`] headers an origin.

use std::collections::HashMap;
use std::fmt;

use data_encoding::BASE64;
use http::header::{AUTHORIZATION, COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use crate::pool::Origin;

/// The longest value of a header that we are told to send.
const SECRET_BYTES_MAX: usize = 8 << 10;
/// The most headers that one origin, or everybody, is sent beside our own.
const HEADERS_MAX: usize = 16;
/// What an archive keeps of a secret.
pub(crate) const HIDDEN: &[u8] = b"(not kept)";

/// Headers that are the client's own business: two of them, or a false one, would break a request or
/// what we read of its answer.
const OURS: [&str; 18] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "range",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
];
/// Headers that carry secrets: only an origin may be told them.
const SECRETS: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];

/// Why something cannot be sent. Texts never hold the secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialsError {
    /// Not an origin.
    #[error("{0}: give scheme, host and port as in https://example.org, without a path")]
    Origin(String),
    /// A value that no header can hold.
    #[error(
        "{0}: the value is empty, longer than 8 KiB, or has characters that no header may have"
    )]
    Value(String),
    /// A user name that would be read as user name and password.
    #[error("user: a user name must not contain a colon")]
    Colon,
    /// Not the name of a header.
    #[error("{0:?} is not the name of a header")]
    Name(String),
    /// A header that is not for users to set.
    #[error("{0}: turnstone sets this header itself")]
    Ours(String),
    /// A secret for everybody.
    #[error(
        "{0} is a secret: put it into the file of --credentials, for the host that it is meant for"
    )]
    Secret(String),
    /// More than one may set.
    #[error("more than 16 headers")]
    TooMany,
}

/// One thing that an origin is told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Secret<'a> {
    /// User name and password, by the scheme Basic.
    Basic {
        /// Who.
        user: &'a str,
        /// The password.
        password: &'a str,
    },
    /// A token, by the scheme Bearer.
    Bearer(&'a str),
    /// The `Cookie` header.
    Cookie(&'a str),
    /// Any other header.
    Header {
        /// Its name.
        name: &'a str,
        /// Its value.
        value: &'a str,
    },
}

/// What each origin is told.
#[derive(Clone, Default)]
pub struct Credentials {
    by_origin: HashMap<Origin, HeaderMap>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials for {} origins", self.by_origin.len())
    }
}

impl Credentials {
    /// Has `origin` told `secret` from now on. A second secret in the same header takes the place of the first.
    pub fn add(&mut self, origin: &str, secret: Secret<'_>) -> Result<(), CredentialsError> {
        let origin = read_origin(origin)?;
        let (name, value) = header_of(secret)?;
        let headers = self.by_origin.entry(origin).or_default();
        if headers.len() >= HEADERS_MAX {
            return Err(CredentialsError::TooMany);
        }
        headers.insert(name, value);
        Ok(())
    }

    /// Adds what the origin of `url` is told.
    pub(crate) fn tell(&self, url: &Url, headers: &mut HeaderMap) {
        if self.by_origin.is_empty() {
            return;
        }
        if let Some(told) = self.by_origin.get(&Origin::of(url)) {
            for (name, value) in told {
                headers.insert(name, value.clone());
            }
        }
    }
}

/// Reads `Name: value`, a header that everybody is sent.
pub fn common_header(text: &str) -> Result<(HeaderName, HeaderValue), CredentialsError> {
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| CredentialsError::Name(shorten(text)))?;
    let name = name_of(name.trim())?;
    if SECRETS.contains(&name.as_str()) {
        return Err(CredentialsError::Secret(name.to_string()));
    }
    let value = value_of(name.as_str(), value.trim().to_owned())?;
    Ok((name, value))
}

fn header_of(secret: Secret<'_>) -> Result<(HeaderName, HeaderValue), CredentialsError> {
    let (name, value) = match secret {
        Secret::Basic { user, .. } if user.contains(':') => return Err(CredentialsError::Colon),
        Secret::Basic { user, password } => {
            let pair = BASE64.encode(format!("{user}:{password}").as_bytes());
            (
                AUTHORIZATION,
                value_of("password", format!("Basic {pair}"))?,
            )
        }
        Secret::Bearer("") => return Err(CredentialsError::Value("bearer".to_owned())),
        Secret::Bearer(token) => (
            AUTHORIZATION,
            value_of("bearer", format!("Bearer {token}"))?,
        ),
        Secret::Cookie(value) => (COOKIE, value_of("cookie", value.to_owned())?),
        Secret::Header { name, value } => {
            (name_of(name)?, value_of(&shorten(name), value.to_owned())?)
        }
    };
    let mut value = value;
    value.set_sensitive(true);
    Ok((name, value))
}

fn name_of(name: &str) -> Result<HeaderName, CredentialsError> {
    let wrong = || CredentialsError::Name(shorten(name));
    let name = HeaderName::try_from(name).map_err(|_| wrong())?;
    if OURS.contains(&name.as_str()) {
        return Err(CredentialsError::Ours(name.to_string()));
    }
    Ok(name)
}

fn value_of(what: &str, value: String) -> Result<HeaderValue, CredentialsError> {
    let wrong = || CredentialsError::Value(what.to_owned());
    if value.is_empty() || value.len() > SECRET_BYTES_MAX {
        return Err(wrong());
    }
    HeaderValue::try_from(value).map_err(|_| wrong())
}

fn read_origin(text: &str) -> Result<Origin, CredentialsError> {
    let wrong = || CredentialsError::Origin(shorten(text));
    let url = Url::parse(text).map_err(|_| wrong())?;
    let bare = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    if bare {
        Ok(Origin::of(&url))
    } else {
        Err(wrong())
    }
}

/// The beginning of what somebody wrote, without what may be a password in a URL.
fn shorten(text: &str) -> String {
    let text = text.rsplit_once('@').map_or(text, |(_, behind)| behind);
    text.chars().take(80).collect()
}

/// The names of the headers whose values nobody is to keep.
pub(crate) fn sensitive(headers: &HeaderMap) -> Vec<HeaderName> {
    let marked = headers.iter().filter(|(_, value)| value.is_sensitive());
    marked.map(|(name, _)| name.clone()).collect()
}

/// Takes the values of these headers out of a request head as it was sent.
pub(crate) fn hide(head: Vec<u8>, names: &[HeaderName]) -> Vec<u8> {
    if names.is_empty() {
        return head;
    }
    let mut shown = Vec::with_capacity(head.len());
    for line in head.split_inclusive(|byte| *byte == b'\n') {
        let colon = line.iter().position(|byte| *byte == b':');
        let secret = colon.filter(|colon| {
            let name = &line[..*colon];
            names
                .iter()
                .any(|hidden| hidden.as_str().as_bytes().eq_ignore_ascii_case(name))
        });
        match secret {
            None => shown.extend_from_slice(line),
            Some(colon) => {
                shown.extend_from_slice(&line[..=colon]);
                shown.push(b' ');
                shown.extend_from_slice(HIDDEN);
                shown.extend_from_slice(b"\r\n");
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(credentials: &Credentials, url: &str) -> Vec<String> {
        let mut headers = HeaderMap::new();
        credentials.tell(&Url::parse(url).unwrap(), &mut headers);
        let shown = |(name, value): (&HeaderName, &HeaderValue)| {
            assert!(value.is_sensitive());
            format!("{name}: {}", value.to_str().unwrap())
        };
        headers.iter().map(shown).collect()
    }

    #[test]
    fn an_origin_is_told_its_own_secrets_and_no_other() {
        let mut credentials = Credentials::default();
        let basic = Secret::Basic {
            user: "me",
            password: "a:b",
        };
        credentials.add("https://example.org", basic).unwrap();
        credentials
            .add("http://example.org:8080/", Secret::Cookie("a=1; b=2"))
            .unwrap();
        assert_eq!(
            told(&credentials, "https://example.org:443/deep?x"),
            ["authorization: Basic bWU6YTpi"]
        );
        assert_eq!(
            told(&credentials, "http://example.org:8080/x"),
            ["cookie: a=1; b=2"]
        );
        for other in [
            "http://example.org/",
            "https://example.org:8443/",
            "https://www.example.org/",
            "https://example.org.evil.net/",
            "https://example.org@evil.net/",
        ] {
            assert!(told(&credentials, other).is_empty(), "{other}");
        }
        let shown = format!("{credentials:?}");
        assert!(!shown.contains("bWU6") && !shown.contains("a=1"), "{shown}");
    }

    #[test]
    fn what_cannot_be_sent_is_refused_without_telling_it() {
        let mut credentials = Credentials::default();
        let mut check = |origin: &str, secret: Secret<'_>, expect: &str| {
            let said = credentials.add(origin, secret).unwrap_err().to_string();
            assert!(said.contains(expect), "{said}");
            assert!(!said.contains("s3cret"), "{said}");
        };
        let token = Secret::Bearer("s3cret");
        check("example.org", token, "give scheme, host and port");
        check("https://me:s3cret@example.org", token, "give scheme");
        check("https://example.org/path", token, "give scheme");
        check("ftp://example.org", token, "give scheme");
        check(
            "https://example.org",
            Secret::Bearer("s3cret\r\nX: y"),
            "bearer: the value",
        );
        check(
            "https://example.org",
            Secret::Cookie(""),
            "cookie: the value",
        );
        let colon = Secret::Basic {
            user: "a:b",
            password: "s3cret",
        };
        check("https://example.org", colon, "colon");
        let header = |name| Secret::Header {
            name,
            value: "s3cret",
        };
        check(
            "https://example.org",
            header("Host"),
            "sets this header itself",
        );
        check("https://example.org", header("X Y"), "not the name");
    }

    #[test]
    fn headers_for_everybody_carry_no_secrets() {
        let (name, value) = common_header("X-Crawl-Id:  42 ").unwrap();
        assert_eq!(
            (name.as_str(), value.to_str().unwrap()),
            ("x-crawl-id", "42")
        );
        for (bad, expect) in [
            ("no colon", "not the name"),
            ("Authorization: Bearer x", "--credentials"),
            ("cookie: a=b", "--credentials"),
            ("User-Agent: x", "itself"),
            ("X-A:", "the value is empty"),
        ] {
            let said = common_header(bad).unwrap_err().to_string();
            assert!(said.contains(expect), "{bad}: {said}");
        }
    }

    #[test]
    fn an_archive_keeps_the_name_of_a_header_and_not_its_secret() {
        let head = b"GET / HTTP/1.1\r\nAuthorization: Basic abc\r\nX-Key: k\r\nHost: a\r\n\r\n";
        let names = [AUTHORIZATION, HeaderName::from_static("x-key")];
        let shown = String::from_utf8(hide(head.to_vec(), &names)).unwrap();
        assert_eq!(
            shown,
            "GET / HTTP/1.1\r\nAuthorization: (not kept)\r\nX-Key: (not kept)\r\nHost: a\r\n\r\n"
        );
        assert_eq!(hide(head.to_vec(), &[]), head);
    }
}
