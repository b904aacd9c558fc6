//! The canonical key: one text for all spellings of one page.
//!
//! For identity only. It changes nothing that a server could tell apart by RFC 3986, but for what
//! the options say: fragment, user name and empty query go; the host loses its trailing dot;
//! percent forms are decoded where the character is unreserved, upper case elsewhere; characters
//! that must be encoded are; session ids go, tracking parameters if asked, and the query is
//! sorted if asked. Scheme, `www.`, double slashes, `index.html`, trailing slashes and empty
//! values stay: servers do tell those apart.
//!
//! Invariant: `canonical_key(canonical_key(u)) == canonical_key(u)`. Removing one thing can
//! uncover another (`/.;jsessionid=1`), so the rewrite is repeated until nothing changes; each
//! round but the first only shortens, so it ends.
//! Cost: linear per round; one look for a URL without a query that is its own key, as most are, one
//! round for other such URLs, two for nearly every other.

use url::Url;

use crate::percent::{hex_pair, is_unreserved, push_percent};

use super::session::{is_session_param, is_tracking_param, without_path_session};

/// What counts as the same page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyOptions {
    /// Remove session ids. On by default.
    pub strip_sessions: bool,
    /// Remove `utm_source`, `fbclid` and the like. Off by default: a few sites route by them.
    pub strip_tracking: bool,
    /// Sort query parameters. Off by default: order is meaning for some servers.
    pub sort_query: bool,
}

impl Default for KeyOptions {
    fn default() -> Self {
        KeyOptions {
            strip_sessions: true,
            strip_tracking: false,
            sort_query: false,
        }
    }
}

/// The key of a URL. URLs that are not http or https only lose their fragment.
pub fn canonical_key(url: &Url, options: &KeyOptions) -> String {
    if !matches!(url.scheme(), "http" | "https") {
        let mut bare = url.clone();
        bare.set_fragment(None);
        return bare.into();
    }
    if is_its_own_key(url) {
        return url.as_str().to_owned();
    }
    let mut key = rewrite(url, options);
    if key == url.as_str() {
        return key;
    }
    loop {
        let Ok(again) = Url::parse(&key) else {
            return key;
        };
        let next = rewrite(&again, options);
        if next == key {
            return key;
        }
        key = next;
    }
}

/// Whether nothing of a URL could be rewritten, by any option, as far as a glance can tell.
fn is_its_own_key(url: &Url) -> bool {
    let is_bare = url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    let host = url.host_str().unwrap_or("");
    let is_plain = |byte: u8| PARTS[usize::from(byte)] & PATH != 0 && !matches!(byte, b';' | b'(');
    is_bare && !host.ends_with('.') && url.path().bytes().all(is_plain)
}

fn rewrite(url: &Url, options: &KeyOptions) -> String {
    let mut out = String::with_capacity(url.as_str().len() + 8);
    out.push_str(url.scheme());
    out.push_str("://");
    let host = url.host_str().unwrap_or("");
    // One trailing dot is the root of DNS; more are a broken name, left as it is.
    out.push_str(
        host.strip_suffix('.')
            .filter(|bare| !bare.is_empty() && !bare.ends_with('.'))
            .unwrap_or(host),
    );
    if let Some(port) = url.port() {
        out.push(':');
        out.push_str(&port.to_string());
    }
    let mut path = String::with_capacity(url.path().len() + 8);
    percent_form(url.path(), PATH, &mut path);
    if options.strip_sessions {
        out.push_str(&without_path_session(&path));
    } else {
        out.push_str(&path);
    }
    if let Some(query) = url.query() {
        let mut text = String::with_capacity(query.len() + 8);
        percent_form(query, QUERY, &mut text);
        push_query(&text, options, &mut out);
    }
    out
}

fn push_query(query: &str, options: &KeyOptions, out: &mut String) {
    let keep = |pair: &&str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        !(options.strip_sessions && is_session_param(name, value)
            || options.strip_tracking && is_tracking_param(name))
    };
    let mut pairs: Vec<&str> = query.split('&').filter(keep).collect();
    if options.sort_query {
        pairs.sort_unstable();
    }
    if pairs.iter().all(|pair| pair.is_empty()) {
        return;
    }
    out.push('?');
    for (i, pair) in pairs.iter().enumerate() {
        if i > 0 {
            out.push('&');
        }
        out.push_str(pair);
    }
}

const PATH: u8 = 1;
const QUERY: u8 = 2;
/// Where a character may stand as it is.
static PARTS: [u8; 256] = {
    let mut parts = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        if is_unreserved(byte as u8) {
            parts[byte] = PATH | QUERY;
        }
        byte += 1;
    }
    let others = b"!$&'()*+,;=:@/";
    let mut at = 0;
    while at < others.len() {
        parts[others[at] as usize] = PATH | QUERY;
        at += 1;
    }
    parts[b'?' as usize] = QUERY;
    parts
};

/// RFC 3986 s6.2.2: one spelling for each octet.
fn percent_form(text: &str, part: u8, out: &mut String) {
    let bytes = text.as_bytes();
    let plain = bytes.iter().take_while(|byte| is_allowed(**byte, part));
    let mut i = plain.count();
    out.push_str(&text[..i]);
    while i < bytes.len() {
        let byte = bytes[i];
        i += 1;
        if byte != b'%' {
            if is_allowed(byte, part) {
                out.push(char::from(byte));
            } else {
                push_percent(out, byte);
            }
            continue;
        }
        match hex_pair(&bytes[i..]) {
            Some(value) => {
                i += 2;
                if is_unreserved(value) {
                    out.push(char::from(value));
                } else {
                    push_percent(out, value);
                }
            }
            // A percent sign that encodes nothing stands for itself.
            None => out.push_str("%25"),
        }
    }
}

fn is_allowed(byte: u8, part: u8) -> bool {
    PARTS[usize::from(byte)] & part != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a glance calls its own key, a rewrite leaves as it is.
    #[test]
    fn a_glance_agrees_with_the_rewrite() {
        let mut glanced = 0;
        let hosts = [
            "h.example",
            "h.example.",
            "u:p@h.example",
            "h.example:8080",
            "[::1]",
        ];
        for host in hosts {
            for byte in 0..128u8 {
                let url = format!("http://{host}/a{}b/c", char::from(byte));
                let Ok(url) = Url::parse(&url) else { continue };
                if is_its_own_key(&url) {
                    glanced += 1;
                    assert_eq!(rewrite(&url, &KeyOptions::default()), url.as_str());
                }
            }
        }
        // Three of the hosts, with 62 letters and digits, `-._~` and `!$&')*+,=:@/\\`, and what
        // parsers drop: tab and two line ends.
        assert_eq!(glanced, 3 * (62 + 4 + 13 + 3));
        for own in [
            "http://h.example/;jsessionid=1",
            "http://h.example/(S(x))/",
            "http://h.example/?",
        ] {
            assert!(!is_its_own_key(&Url::parse(own).unwrap()), "{own}");
        }
    }
}
