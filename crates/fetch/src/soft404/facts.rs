//! What one fetch tells about life and death of a page.
//!
//! Error pages echo the address they were asked for and add reference numbers, so both are taken
//! out of title and text before fingerprints are made: what is left is the same for every missing
//! page of a site.

use url::Url;

use crate::html::{Fingerprint, Page};
use crate::urls::host_of;
use crate::wall::Wall;

/// The facts of one fetch, its redirects followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageFacts {
    /// What was asked for.
    pub requested: Url,
    /// Where it ended.
    pub landed: Url,
    /// The last status.
    pub status: u16,
    /// The title, without echoes and numbers, lower case.
    pub title: String,
    /// The title as it is.
    pub full_title: String,
    /// Fingerprint of the text without echoes and numbers.
    pub fingerprint: Fingerprint,
    /// The page's own idea of its address.
    pub canonical: Option<Url>,
    /// The page asks for a password.
    pub password_field: bool,
    /// The answer is a wall before the page, not the page.
    pub wall: Option<Wall>,
}

impl PageFacts {
    /// Facts of a page that was read.
    pub fn of_page(requested: &Url, landed: &Url, status: u16, page: &Page) -> PageFacts {
        let full_title = page.title.clone().unwrap_or_default();
        PageFacts {
            requested: requested.clone(),
            landed: landed.clone(),
            status,
            title: without_echo(&full_title, requested).to_lowercase(),
            full_title,
            fingerprint: Fingerprint::of(&without_echo(&page.text, requested)),
            canonical: page.canonical.clone(),
            password_field: page.password_field,
            wall: None,
        }
    }

    /// Facts of an answer whose body was not read (an error status, or no page).
    pub fn of_status(requested: &Url, landed: &Url, status: u16) -> PageFacts {
        PageFacts {
            requested: requested.clone(),
            landed: landed.clone(),
            status,
            title: String::new(),
            full_title: String::new(),
            fingerprint: Fingerprint::default(),
            canonical: None,
            password_field: false,
            wall: None,
        }
    }

    /// The server says the page is gone.
    pub fn is_hard_gone(&self) -> bool {
        matches!(self.status, 404 | 410)
    }

    /// The fetch ended somewhere else than at the same page by another spelling.
    pub fn is_redirected(&self) -> bool {
        let bare = |url: &Url| {
            let host = host_of(url).trim_start_matches("www.").to_owned();
            (
                host,
                url.path().trim_end_matches('/').to_ascii_lowercase(),
                url.query().map(str::to_owned),
            )
        };
        bare(&self.requested) != bare(&self.landed)
    }

    /// The fetch was led to a page that asks who we are.
    pub fn is_login_wall(&self) -> bool {
        const WORDS: [&str; 9] = [
            "login",
            "log-in",
            "signin",
            "sign-in",
            "sign_in",
            "logon",
            "sso",
            "anmelden",
            "connexion",
        ];
        // Forums carry a password field beside every text; a wall has little else.
        const WALL_WORDS_MAX: u64 = 150;
        let by_name = || {
            self.landed.path().split('/').any(|segment| {
                let name = segment.split('.').next().unwrap_or(segment);
                WORDS.iter().any(|word| name.eq_ignore_ascii_case(word))
            })
        };
        let by_form = self.password_field && self.fingerprint.words <= WALL_WORDS_MAX;
        self.is_redirected() && (by_form || by_name())
    }
}

/// Whether a URL is the front page of its host.
pub fn is_root(url: &Url) -> bool {
    url.path() == "/" && url.query().is_none()
}

/// Text without the requested address, numbers and reference tokens.
fn without_echo(text: &str, requested: &Url) -> String {
    const ECHO_MIN: usize = 4;
    const TOKEN_MIN: usize = 6;
    let path = requested.path();
    let last = path.rsplit('/').next().unwrap_or("");
    let stem = last.split('.').next().unwrap_or("");
    let query = requested.query().unwrap_or("");
    let mut text = text.to_owned();
    for echo in [
        requested.as_str(),
        query,
        path,
        path.trim_start_matches('/'),
        last,
        stem,
    ] {
        if echo.len() >= ECHO_MIN && text.contains(echo) {
            text = text.replace(echo, " ");
        }
    }
    let is_token = |word: &str| {
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        digits > 0 && (digits == word.len() || word.len() >= TOKEN_MIN)
            || word.len() >= 2 * TOKEN_MIN && word.bytes().all(|b| b.is_ascii_hexdigit())
    };
    text.split(|c: char| c.is_whitespace() || c == '/' || c == '-')
        .filter(|word| !is_token(word.trim_matches(|c: char| !c.is_alphanumeric())))
        .collect::<Vec<_>>()
        .join(" ")
}
