//! Reading URLs from strangers, with limits.
//!
//! [`read_standard`] does the WHATWG parsing; here are the limits around it: length, number of
//! query parameters, scheme, a host that DNS can hold, no user name or password. A refusal says
//! which limit it was and never repeats the text, which may hold a password.
//!
//! Cost: linear in the text, which is measured before anything else looks at it.

use std::borrow::Cow;

use encoding_rs::{EncoderResult, Encoding};
use thiserror::Error;
use url::{Host, Url};

use super::standard::{read_encoded, read_standard};

/// What a URL may be. The defaults suit the open web.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlLimits {
    /// Longest URL, in bytes, before and after parsing.
    pub bytes_max: usize,
    /// Most query parameters.
    pub params_max: usize,
    /// What to do with a user name or password.
    pub userinfo: UserinfoRule,
}

impl Default for UrlLimits {
    fn default() -> Self {
        UrlLimits {
            bytes_max: 8192,
            params_max: 512,
            userinfo: UserinfoRule::Strip,
        }
    }
}

/// What to do with `user:password@` in a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserinfoRule {
    /// Drop it and go on.
    Strip,
    /// Refuse the URL.
    Refuse,
}

/// Why a URL is not used. The text of the URL is not repeated: it may hold a secret.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum UrlError {
    /// Longer than the limit.
    #[error("URL of {bytes} bytes is longer than the limit of {max}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// More query parameters than the limit.
    #[error("URL has {count} query parameters, more than the limit of {max}")]
    TooManyParams {
        /// How many it has.
        count: usize,
        /// The limit.
        max: usize,
    },
    /// Not http or https.
    #[error("URL scheme \"{scheme}\" is not fetched; only http and https are")]
    Scheme {
        /// The scheme, shortened.
        scheme: String,
    },
    /// A user name or password, and the rule says to refuse.
    #[error("URL holds a user name or password; remove it")]
    Userinfo,
    /// A host name that DNS cannot hold.
    #[error("URL host is not a usable name: {why}")]
    Host {
        /// What is wrong with it.
        why: &'static str,
    },
    /// Not a URL by the WHATWG standard.
    #[error("not a URL: {0}")]
    Invalid(#[from] url::ParseError),
}

/// Reads an absolute http or https URL.
pub fn parse(text: &str, limits: &UrlLimits) -> Result<Url, UrlError> {
    check_length(text.len(), limits)?;
    accept(read_standard(None, text)?, limits)
}

/// Reads a URL found in the document at `base`.
pub fn resolve(base: &Url, text: &str, limits: &UrlLimits) -> Result<Url, UrlError> {
    check_length(text.len(), limits)?;
    accept(read_standard(Some(base), text)?, limits)
}

/// As [`resolve`], with the query encoded in the document's encoding, as browsers do.
pub fn resolve_in(
    base: &Url,
    text: &str,
    encoding: &'static Encoding,
    limits: &UrlLimits,
) -> Result<Url, UrlError> {
    let encoding = encoding.output_encoding();
    // ISO-2022-JP has no plain shift characters, so even ASCII can change there.
    let as_utf_8 =
        encoding == encoding_rs::UTF_8 || text.is_ascii() && encoding != encoding_rs::ISO_2022_JP;
    if as_utf_8 {
        return resolve(base, text, limits);
    }
    check_length(text.len(), limits)?;
    let encode = query_encoder(encoding);
    accept(read_encoded(Some(base), text, Some(&encode))?, limits)
}

/// Encodes a query; what the encoding lacks becomes `&#N;` in percent form.
fn query_encoder(encoding: &'static Encoding) -> impl Fn(&str) -> Cow<'_, [u8]> {
    move |query| {
        let mut encoder = encoding.new_encoder();
        let mut out = Vec::with_capacity(query.len() + 16);
        let mut rest = query;
        loop {
            let room = encoder.max_buffer_length_from_utf8_without_replacement(rest.len());
            out.reserve(room.unwrap_or(rest.len() * 4 + 16));
            let (result, read) =
                encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut out, true);
            rest = &rest[read..];
            match result {
                EncoderResult::InputEmpty => return Cow::Owned(out),
                EncoderResult::OutputFull => {}
                EncoderResult::Unmappable(c) => {
                    out.extend_from_slice(format!("%26%23{}%3B", u32::from(c)).as_bytes());
                }
            }
        }
    }
}

fn check_length(bytes: usize, limits: &UrlLimits) -> Result<(), UrlError> {
    if bytes > limits.bytes_max {
        return Err(UrlError::TooLong {
            bytes,
            max: limits.bytes_max,
        });
    }
    Ok(())
}

fn accept(mut url: Url, limits: &UrlLimits) -> Result<Url, UrlError> {
    if !matches!(url.scheme(), "http" | "https") {
        let scheme = url.scheme().chars().take(16).collect();
        return Err(UrlError::Scheme { scheme });
    }
    if !url.username().is_empty() || url.password().is_some() {
        if limits.userinfo == UserinfoRule::Refuse {
            return Err(UrlError::Userinfo);
        }
        let stripped = url.set_username("").and_then(|()| url.set_password(None));
        stripped.map_err(|()| UrlError::Userinfo)?;
    }
    check_host(&url)?;
    check_length(url.as_str().len(), limits)?;
    let count = url.query().map_or(0, |q| q.split('&').count());
    if count > limits.params_max {
        return Err(UrlError::TooManyParams {
            count,
            max: limits.params_max,
        });
    }
    Ok(url)
}

/// DNS holds labels of 1 to 63 bytes and names of at most 253; one trailing dot is allowed.
fn check_host(url: &Url) -> Result<(), UrlError> {
    let Some(host) = url.host() else {
        return Err(UrlError::Host {
            why: "it is missing",
        });
    };
    let Host::Domain(name) = host else {
        return Ok(());
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.len() > 253 {
        return Err(UrlError::Host {
            why: "it is longer than 253 bytes",
        });
    }
    for label in name.split('.') {
        if label.is_empty() {
            return Err(UrlError::Host {
                why: "a part between dots is empty",
            });
        }
        if label.len() > 63 {
            return Err(UrlError::Host {
                why: "a part between dots is longer than 63 bytes",
            });
        }
    }
    Ok(())
}

/// Any text that claims to be a URL, safe to print: without user name and password, without
/// control characters, at most 200 characters.
pub fn shown(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    // Parsers drop these anywhere, so a password may hide behind them.
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    let (head, rest) = match text.find(':') {
        // A scheme is letters, digits and +-. only; else there is no scheme before the host.
        Some(at)
            if text[..at]
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b)) =>
        {
            text.split_at(at + 1)
        }
        _ => text.split_at(0),
    };
    let slashes = rest.len() - rest.trim_start_matches(['/', '\\']).len();
    let (slashes, rest) = rest.split_at(slashes);
    let end = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    let host = authority
        .rfind('@')
        .map_or(authority, |at| &authority[at + 1..]);
    let full = format!("{head}{slashes}{host}{}", &rest[end..]);
    match full.char_indices().nth(CHARS_MAX) {
        Some((cut, _)) => format!("{}…", &full[..cut]),
        None => full,
    }
}
