//! Parameters that name a visit, not a page: session ids and tracking marks.
//!
//! Names that only ever mean a session count whatever their value; names that also mean other
//! things (`sid`) count only with a value that looks like a token: 16 or more hex digits.

use std::borrow::Cow;

/// Names that are a session whatever they hold, lower case.
const SESSION_NAMES: [&str; 5] = ["jsessionid", "phpsessid", "cfid", "cftoken", "zenid"];
/// Names that are a session when they hold a token, lower case.
const TOKEN_NAMES: [&str; 7] = [
    "sid",
    "sessionid",
    "session_id",
    "session",
    "sess",
    "s_id",
    "osid",
];
/// Names that tell the site where a visitor came from, lower case.
const TRACKING_NAMES: [&str; 16] = [
    "fbclid", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "msclkid", "yclid", "twclid",
    "ttclid", "igshid", "mc_cid", "mc_eid", "_ga", "_gl", "_hsenc",
];
/// How long a token must be to be taken for a session id.
const TOKEN_DIGITS_MIN: usize = 16;

/// Whether a query parameter carries a session id.
pub fn is_session_param(name: &str, value: &str) -> bool {
    let is = |known: &&str| name.eq_ignore_ascii_case(known);
    SESSION_NAMES.iter().any(&is)
        || starts_with_ignore_case(name, "aspsessionid")
        || TOKEN_NAMES.iter().any(is) && is_token(value)
}

/// Whether a query parameter only tracks where a visitor came from.
pub fn is_tracking_param(name: &str) -> bool {
    starts_with_ignore_case(name, "utm_")
        || TRACKING_NAMES
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
}

/// A path without session ids: `;jsessionid=…` and the `(S(…))` folders of ASP.NET.
pub fn without_path_session(path: &str) -> Cow<'_, str> {
    if !path.contains([';', '(']) {
        return Cow::Borrowed(path);
    }
    let mut out = String::with_capacity(path.len());
    for (i, segment) in path.split('/').enumerate() {
        if i > 0 && is_aspnet_session(segment) {
            continue;
        }
        if i > 0 {
            out.push('/');
        }
        for (j, part) in segment.split(';').enumerate() {
            let name = part.split('=').next().unwrap_or(part);
            if j > 0 && part.contains('=') && is_session_param(name, "") {
                continue;
            }
            if j > 0 {
                out.push(';');
            }
            out.push_str(part);
        }
    }
    if out.is_empty() {
        out.push('/');
    }
    if out == path {
        Cow::Borrowed(path)
    } else {
        Cow::Owned(out)
    }
}

/// `(S(token))`, `(A(token)S(token))`, `(token)`, each token 24 lower-case letters and digits.
fn is_aspnet_session(segment: &str) -> bool {
    const TOKEN_CHARS: usize = 24;
    let Some(inner) = segment.strip_prefix('(').and_then(|s| s.strip_suffix(')')) else {
        return false;
    };
    let is_token = |t: &str| {
        t.len() == TOKEN_CHARS
            && t.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    if is_token(inner) {
        return true;
    }
    let Some(body) = inner.strip_suffix(')') else {
        return false;
    };
    !body.is_empty()
        && body.split(')').all(|item| {
            item.split_once('(').is_some_and(|(letter, token)| {
                letter.len() == 1
                    && letter.bytes().all(|b| b.is_ascii_alphabetic())
                    && is_token(token)
            })
        })
}

fn is_token(value: &str) -> bool {
    value.len() >= TOKEN_DIGITS_MIN && value.bytes().all(|b| b.is_ascii_hexdigit())
}

fn starts_with_ignore_case(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(prefix))
}
