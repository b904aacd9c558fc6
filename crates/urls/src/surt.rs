//! SURT: the key by which web archives sort their indexes, `org,example)/path?query`.
//!
//! The form is the one the Internet Archive's tools write by default, so that an index of ours
//! answers theirs: host parts reversed, `www.` and its numbered forms dropped, everything lower
//! case, escapes undone as often as they were applied, session ids dropped, query sorted, the
//! trailing slash of a path dropped. It is coarser than the canonical key, and one-way.
//!
//! Cost: linear, times the number of escape layers (at most a third of the length).

use url::{Host, Url};

use crate::percent::{hex_pair, push_percent};

use super::session::{is_session_param, without_path_session};

/// The SURT of a URL; URLs without a host stay as they are.
pub fn surt(url: &Url) -> String {
    let Some(host) = url.host() else {
        return url.as_str().to_owned();
    };
    let mut out = String::with_capacity(url.as_str().len());
    match host {
        Host::Domain(name) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            let bare = without_www(&name);
            for (i, label) in bare.rsplit('.').enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(label);
            }
        }
        // As pywb looks them up: numbers reversed like names, IPv6 as it is, without brackets.
        Host::Ipv4(address) => {
            let [a, b, c, d] = address.octets();
            out.push_str(&format!("{d},{c},{b},{a}"));
        }
        Host::Ipv6(address) => out.push_str(&address.to_string()),
    }
    if let Some(port) = url.port() {
        out.push(':');
        out.push_str(&port.to_string());
    }
    out.push(')');
    let path = unescaped(url.path()).to_ascii_lowercase();
    let path = without_path_session(&path);
    let path = path.trim_end_matches('/');
    out.push_str(if path.is_empty() { "/" } else { path });
    if let Some(query) = url.query() {
        push_query(&unescaped(query).to_ascii_lowercase(), &mut out);
    }
    out
}

fn push_query(query: &str, out: &mut String) {
    let mut pairs: Vec<&str> = query
        .split('&')
        .filter(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            !is_session_param(name, value)
        })
        .collect();
    pairs.sort_unstable();
    let joined = pairs.join("&");
    if !joined.is_empty() {
        out.push('?');
        out.push_str(&joined);
    }
}

/// `www.`, `www2.` and the like removed, if anything is left.
fn without_www(name: &str) -> &str {
    let Some(rest) = name.strip_prefix("www") else {
        return name;
    };
    match rest
        .trim_start_matches(|c: char| c.is_ascii_digit())
        .strip_prefix('.')
    {
        Some(bare) if bare.contains('.') => bare,
        _ => name,
    }
}

/// Escapes undone until none is left, then put back where the octet cannot be written plainly.
fn unescaped(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    loop {
        let mut next = Vec::with_capacity(bytes.len());
        let mut i = 0;
        while i < bytes.len() {
            match hex_pair(&bytes[i + 1..]) {
                Some(value) if bytes[i] == b'%' => {
                    next.push(value);
                    i += 3;
                }
                _ => {
                    next.push(bytes[i]);
                    i += 1;
                }
            }
        }
        if next.len() == bytes.len() {
            break;
        }
        bytes = next;
    }
    let mut out = String::with_capacity(bytes.len());
    for byte in bytes {
        if byte <= b' ' || byte >= 0x7F || byte == b'#' || byte == b'%' {
            push_percent(&mut out, byte);
        } else {
            out.push(char::from(byte));
        }
    }
    out
}
