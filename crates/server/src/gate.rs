//! Who may ask: the first thing that is looked at of every request.
//!
//! | danger | what stands against it |
//! |---|---|
//! | somebody else on the network | loopback only; elsewhere a token, compared in constant time |
//! | a page that the operator's browser shows sends requests here | its `Origin`, or what the browser says of where it comes from, is not ours: refused |
//! | a name of a stranger that is made to point here (DNS rebinding) | without a token only loopback names are answered |
//! | a form on another page | orders out of forms need a token of this process; those in JSON a media type that no form can send |
//! | strangers' text in our pages | templates escape all; the policy forbids every script and style but ours |
//!
//! The token travels as a bearer token, or as the password of HTTP's own dialogue, whatever the user name. It
//! is not encrypted on its way: beyond one machine there must be a tunnel or a TLS proxy in front.

use std::net::IpAddr;

use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use data_encoding::{BASE64, HEXLOWER};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

/// The shortest token that is taken.
pub const TOKEN_BYTES_MIN: usize = 16;
/// The longest that is looked at.
const TOKEN_BYTES_MAX: usize = 1024;

/// What every answer says to the browser. Nothing is loaded but from here, nothing runs that stands in a page,
/// nobody shows us in a frame, and no other page learns that we exist.
pub(crate) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The same for a report, which brings its own style and nothing else.
pub(crate) const REPORT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";

/// Why a server cannot be guarded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GateError {
    /// Others could reach it, and nothing would keep them out.
    #[error(
        "{address} can be reached from other machines: give a file with a token (--token-file), or \
         listen on 127.0.0.1"
    )]
    Open {
        /// Where it would listen.
        address: IpAddr,
    },
    /// A token that is guessed soon.
    #[error("the token has {0} bytes; give one of {TOKEN_BYTES_MIN} to {TOKEN_BYTES_MAX}")]
    Token(usize),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    Random,
}

/// Decides who may ask.
#[derive(Debug)]
pub struct Gate {
    key: hmac::Key,
    token: Option<hmac::Tag>,
    form: String,
}

/// A request that is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) why: &'static str,
}

const fn refusal(status: StatusCode, why: &'static str) -> Refusal {
    Refusal { status, why }
}

impl Gate {
    /// A gate for a server that listens there.
    pub fn new(address: IpAddr, token: Option<&str>) -> Result<Self, GateError> {
        let token = token.map(str::trim);
        match token {
            None if !address.is_loopback() => return Err(GateError::Open { address }),
            Some(token) if !(TOKEN_BYTES_MIN..=TOKEN_BYTES_MAX).contains(&token.len()) => {
                return Err(GateError::Token(token.len()));
            }
            _ => {}
        }
        let random = SystemRandom::new();
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &random).map_err(|_| GateError::Random)?;
        let mut form = [0; 24];
        random.fill(&mut form).map_err(|_| GateError::Random)?;
        Ok(Self {
            token: token.map(|token| hmac::sign(&key, token.as_bytes())),
            key,
            form: HEXLOWER.encode(&form),
        })
    }

    /// What a form of ours brings back.
    pub(crate) fn form_token(&self) -> &str {
        &self.form
    }

    /// Whether a form is ours.
    pub(crate) fn is_our_form(&self, token: &str) -> bool {
        let ours = hmac::sign(&self.key, self.form.as_bytes());
        token.len() <= TOKEN_BYTES_MAX
            && hmac::verify(&self.key, token.as_bytes(), ours.as_ref()).is_ok()
    }

    /// Whether a request is answered.
    pub(crate) fn admit(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<(), Refusal> {
        if !matches!(*method, Method::GET | Method::HEAD | Method::POST) {
            return Err(refusal(
                StatusCode::METHOD_NOT_ALLOWED,
                "there is GET, HEAD and POST",
            ));
        }
        let host = one(headers.get_all(HOST).iter()).ok_or(refusal(
            StatusCode::BAD_REQUEST,
            "a request must name one host",
        ))?;
        if self.token.is_none() && !is_loopback_name(host) {
            return Err(refusal(
                StatusCode::MISDIRECTED_REQUEST,
                "without a token this server answers to localhost and 127.0.0.1 only",
            ));
        }
        if uri.path() == "/healthz" {
            return Ok(());
        }
        if let Some(token) = &self.token {
            let shown = one(headers.get_all(AUTHORIZATION).iter()).and_then(token_of);
            let right = shown.is_some_and(|shown| {
                hmac::verify(&self.key, shown.as_bytes(), token.as_ref()).is_ok()
            });
            if !right {
                return Err(refusal(
                    StatusCode::UNAUTHORIZED,
                    "show the token: as a bearer token, or as the password with any user name",
                ));
            }
        }
        self.same_site(method, host, headers)
    }

    /// Whether a request comes from a page of ours, or from no page at all.
    fn same_site(&self, method: &Method, host: &str, headers: &HeaderMap) -> Result<(), Refusal> {
        const ELSEWHERE: Refusal = refusal(
            StatusCode::FORBIDDEN,
            "this request comes from a page of another site",
        );
        if headers.contains_key(ORIGIN) {
            let origin = one(headers.get_all(ORIGIN).iter()).unwrap_or_default();
            let from = origin
                .strip_prefix("http://")
                .or_else(|| origin.strip_prefix("https://"));
            if from.is_none_or(|from| !from.eq_ignore_ascii_case(host)) {
                return Err(ELSEWHERE);
            }
        }
        let says = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        match says("sec-fetch-site") {
            None | Some("same-origin" | "none") => Ok(()),
            // A link that somebody follows shows a page; it changes nothing.
            Some(_) if *method != Method::POST && says("sec-fetch-mode") == Some("navigate") => {
                Ok(())
            }
            Some(_) => Err(ELSEWHERE),
        }
    }
}

/// Whether a body is JSON by its own word: no form of another page can say so.
pub(crate) fn says_json(headers: &HeaderMap) -> bool {
    let said = one(headers.get_all(CONTENT_TYPE).iter()).unwrap_or_default();
    let media = said.split(';').next().unwrap_or_default().trim();
    media.eq_ignore_ascii_case("application/json")
}

/// The only value of a header.
fn one<'h>(mut values: impl Iterator<Item = &'h HeaderValue>) -> Option<&'h str> {
    let only = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(only)
}

/// Whether a `Host` names this machine.
fn is_loopback_name(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => name.eq_ignore_ascii_case("localhost"),
    }
}

/// The token of an `Authorization`.
fn token_of(header: &str) -> Option<String> {
    if header.len() > 2 * TOKEN_BYTES_MAX {
        return None;
    }
    let (scheme, rest) = header.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(rest.trim().to_owned());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = BASE64.decode(rest.trim().as_bytes()).ok()?;
    let pair = String::from_utf8(pair).ok()?;
    pair.split_once(':')
        .map(|(_, password)| password.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const TOKEN: &str = "correct-horse-battery";

    fn check(token: Option<&str>, request: &str, expect: u16) {
        let gate = Gate::new(Ipv4Addr::LOCALHOST.into(), token).unwrap();
        let mut lines = request.split('|');
        let (method, path) = lines.next().unwrap().split_once(' ').unwrap();
        let mut headers = HeaderMap::new();
        for line in lines {
            let (name, value) = line.split_once(": ").unwrap();
            let name = http::HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, value.parse().unwrap());
        }
        let admitted = gate.admit(&method.parse().unwrap(), &path.parse().unwrap(), &headers);
        let status = admitted.map_or_else(|refusal| refusal.status.as_u16(), |()| 200);
        assert_eq!(status, expect, "{request}");
    }

    #[test]
    fn who_may_ask() {
        check(None, "GET /|host: 127.0.0.1:7700", 200);
        check(None, "GET /|host: [::1]:7700", 200);
        check(None, "GET /|host: LocalHost", 200);
        // Names of strangers that point here.
        check(None, "GET /|host: evil.example", 421);
        check(None, "GET /|host: 127.0.0.1.evil.example:7700", 421);
        check(None, "GET /healthz|host: evil.example", 421);
        check(None, "GET /|host: localhost|host: evil.example", 400);
        check(None, "GET /", 400);
        check(None, "PUT /|host: localhost", 405);
        // Pages of strangers.
        let post = "POST /c/a/orders|host: localhost:1";
        check(None, post, 200);
        check(None, &format!("{post}|origin: http://localhost:1"), 200);
        check(None, &format!("{post}|origin: http://localhost:2"), 403);
        check(None, &format!("{post}|origin: null"), 403);
        check(None, &format!("{post}|origin: https://evil.example"), 403);
        check(
            None,
            &format!("{post}|sec-fetch-site: cross-site|sec-fetch-mode: navigate"),
            403,
        );
        check(
            None,
            "GET /metrics|host: localhost|sec-fetch-site: cross-site|sec-fetch-mode: no-cors",
            403,
        );
        check(
            None,
            "GET /|host: localhost|sec-fetch-site: cross-site|sec-fetch-mode: navigate",
            200,
        );
        // Tokens.
        let get = "GET /|host: crawls.example";
        check(Some(TOKEN), get, 401);
        check(Some(TOKEN), "GET /healthz|host: crawls.example", 200);
        check(
            Some(TOKEN),
            &format!("{get}|authorization: Bearer {TOKEN}"),
            200,
        );
        check(
            Some(TOKEN),
            &format!("{get}|authorization: Bearer {TOKEN}x"),
            401,
        );
        check(Some(TOKEN), &format!("{get}|authorization: Bearer "), 401);
        let basic = BASE64.encode(format!("anybody:{TOKEN}").as_bytes());
        check(
            Some(TOKEN),
            &format!("{get}|authorization: Basic {basic}"),
            200,
        );
        let basic = BASE64.encode(TOKEN.as_bytes());
        check(
            Some(TOKEN),
            &format!("{get}|authorization: Basic {basic}"),
            401,
        );
    }

    #[test]
    fn who_can_be_reached_by_others_needs_a_token() {
        let all = IpAddr::from(Ipv4Addr::UNSPECIFIED);
        assert!(matches!(Gate::new(all, None), Err(GateError::Open { .. })));
        assert!(matches!(
            Gate::new(all, Some("short")),
            Err(GateError::Token(5))
        ));
        let gate = Gate::new(all, Some("  correct-horse-battery\n")).unwrap();
        assert!(gate.is_our_form(gate.form_token()));
        assert!(!gate.is_our_form("") && !gate.is_our_form(TOKEN));
    }
}
