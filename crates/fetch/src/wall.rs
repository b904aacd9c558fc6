//! Blocked is not dead: answers that stand before a page instead of it.
//!
//! A challenge, a login form, a consent form, a bill, a refusal by region or by a provider's firewall says
//! nothing of the page behind it. Link checkers that take such answers for dead pages are wrong more often
//! than about anything else, and a crawler that takes one with status 200 for the page stores "Just a
//! moment..." a thousand times. So a wall is a finding of its own, from status, headers and body.
//!
//! Pages *about* walls are on the web too. A phrase alone is therefore never enough: a sign is a
//! header or a status that means nothing else, machinery (a script or an attribute, not text), or a phrase
//! together with little text and something that only walls have. What stays in doubt is a page.
//!
//! Pure. Cost: constant for pages with more than [`WORDS_MAX`] words; else one pass over the first
//! [`BODY_BYTES_MAX`] for each sign. Not here: what is learned of a host over time.

use std::fmt;

use http::HeaderMap;
use url::Url;

use crate::html::Page;

/// Pages with more words are no walls.
const WORDS_MAX: u64 = 200;
/// How far into a body signs are looked for.
const BODY_BYTES_MAX: usize = 64 << 10;

/// What stands before a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wall {
    /// A test for being human.
    Challenge,
    /// A login.
    Login,
    /// A form that asks for consent before anything is shown.
    Consent,
    /// A bill.
    Payment,
    /// A refusal because of where we ask from, or of the law there.
    Region,
    /// A refusal by a provider's firewall.
    Denied,
}

impl Wall {
    /// Every wall.
    pub const ALL: [Self; 6] = [
        Self::Challenge,
        Self::Login,
        Self::Consent,
        Self::Payment,
        Self::Region,
        Self::Denied,
    ];

    /// What the classes of all walls begin with.
    pub const CLASS: &str = "blocked-";

    /// The class of a page behind it.
    pub fn class(self) -> &'static str {
        match self {
            Self::Challenge => "blocked-challenge",
            Self::Login => "blocked-login",
            Self::Consent => "blocked-consent",
            Self::Payment => "blocked-payment",
            Self::Region => "blocked-region",
            Self::Denied => "blocked-denied",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Challenge => "a test for being human stands before the page",
            Self::Login => "a login stands before the page",
            Self::Consent => "a consent form stands before the page",
            Self::Payment => "the page has a price, and nothing is paid",
            Self::Region => "the page is not shown in this region",
            Self::Denied => "a firewall refuses us",
        }
    }
}

/// A wall, and what gave it away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// What stands there.
    pub wall: Wall,
    /// The sign.
    pub sign: String,
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.wall.words(), self.sign)
    }
}

/// What is judged.
#[derive(Clone, Copy, Debug)]
pub struct WallInput<'a> {
    /// What was asked for.
    pub url: &'a Url,
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The page, if it is one.
    pub page: Option<&'a Page>,
    /// The body without its codings.
    pub body: &'a [u8],
}

/// Whether the answers of a status can be walls.
pub fn can_be_wall(status: u16) -> bool {
    matches!(
        status,
        200..=299 | 401 | 402 | 403 | 405 | 406 | 429 | 451 | 503
    )
}

/// The wall that an answer is, if it is one.
pub fn wall_of(input: &WallInput<'_>) -> Option<Blocked> {
    if !can_be_wall(input.status) {
        return None;
    }
    let blocked = |(wall, sign): (Wall, String)| Blocked { wall, sign };
    if let Some(found) = by_head(input.status, input.headers) {
        return Some(blocked(found));
    }
    let page = input.page?;
    if page.fingerprint.words > WORDS_MAX {
        return None;
    }
    let head = &input.body[..input.body.len().min(BODY_BYTES_MAX)];
    let look = Look {
        input: *input,
        text: String::from_utf8_lossy(head).to_lowercase(),
        title: page.title.as_deref().unwrap_or("").trim().to_lowercase(),
        words: page.fingerprint.words,
        asks_password: page.password_field,
    };
    let found = look
        .challenge()
        .or_else(|| look.region())
        .or_else(|| look.denied())
        .or_else(|| look.login())
        .or_else(|| look.consent());
    found.map(blocked)
}

/// The wall that a redirect leads to: a login or a consent form that is told where we came from.
pub fn wall_behind(from: &Url, to: &Url) -> Option<Blocked> {
    let wall = if !names(from, &LOGINS) && names(to, &LOGINS) {
        Wall::Login
    } else if !names(from, &CONSENTS)
        && (names(to, &CONSENTS)
            || to
                .host_str()
                .is_some_and(|host| host.starts_with("consent.")))
    {
        Wall::Consent
    } else {
        return None;
    };
    let came_from = |(name, value): (std::borrow::Cow<'_, str>, std::borrow::Cow<'_, str>)| {
        let name = name.to_ascii_lowercase();
        RETURNS.contains(&name.as_str()) || from.path().len() > 1 && value.contains(from.path())
    };
    to.query_pairs().any(came_from).then(|| Blocked {
        wall,
        sign: format!("redirects to {}", to.path()),
    })
}

const LOGINS: [&str; 12] = [
    "login",
    "log-in",
    "signin",
    "sign-in",
    "sign_in",
    "logon",
    "sso",
    "anmelden",
    "connexion",
    "wp-login",
    "authenticate",
    "oauth2",
];
const CONSENTS: [&str; 6] = [
    "consent",
    "cookiewall",
    "cookie-wall",
    "cookie-consent",
    "gdpr-consent",
    "privacy-gate",
];
/// Parameters by which a form is told where to go on.
const RETURNS: [&str; 16] = [
    "next",
    "return",
    "returnurl",
    "return_url",
    "return_to",
    "returnto",
    "redirect",
    "redirect_uri",
    "redirect_url",
    "redirect_to",
    "continue",
    "goto",
    "destination",
    "relaystate",
    "service",
    "rd",
];

fn names(url: &Url, words: &[&str]) -> bool {
    url.path().split('/').any(|segment| {
        let stem = segment.split('.').next().unwrap_or(segment);
        words.iter().any(|word| stem.eq_ignore_ascii_case(word))
    })
}

/// Signs that need no body.
fn by_head(status: u16, headers: &HeaderMap) -> Option<(Wall, String)> {
    let value = |name: &str| {
        let value = headers.get(name)?.to_str().ok()?.trim();
        Some(
            value
                .chars()
                .take(80)
                .collect::<String>()
                .to_ascii_lowercase(),
        )
    };
    let said = |name: &str, value: String| format!("{name}: {value}");
    if status == 402 {
        let sign = match value("crawler-price") {
            Some(price) => said("402, crawler-price", price),
            None => "402".to_owned(),
        };
        return Some((Wall::Payment, sign));
    }
    for name in ["cf-mitigated", "x-vercel-mitigated", "x-amzn-waf-action"] {
        let Some(value) = value(name) else { continue };
        let wall = match value.as_str() {
            "challenge" | "captcha" => Wall::Challenge,
            _ if status >= 400 => Wall::Denied,
            _ => continue,
        };
        return Some((wall, said(name, value)));
    }
    // These stand on ordinary answers too.
    let (datadome, sucuri) = (value("x-datadome"), value("x-sucuri-block"));
    match (status, datadome, sucuri) {
        (403 | 429, Some(value), _) => Some((Wall::Challenge, said("x-datadome", value))),
        (403 | 429, _, Some(value)) => Some((Wall::Denied, said("x-sucuri-block", value))),
        (451, ..) => Some((
            Wall::Region,
            "451, unavailable for legal reasons".to_owned(),
        )),
        (401, ..) => {
            let scheme = value("www-authenticate").unwrap_or_default();
            let scheme = scheme
                .split([' ', ','])
                .next()
                .unwrap_or_default()
                .to_owned();
            Some((Wall::Login, format!("401 {scheme}").trim_end().to_owned()))
        }
        _ => None,
    }
}

/// A short page, looked at closely.
struct Look<'a> {
    input: WallInput<'a>,
    /// The head of the body, in lower case.
    text: String,
    title: String,
    words: u64,
    asks_password: bool,
}

/// What only challenges have in their scripts and attributes, by whom, and how many words they show at most.
const MACHINERY: [(&str, &str, u64); 8] = [
    ("_cf_chl_opt", "Cloudflare", 150),
    ("captcha-delivery.com", "DataDome", 80),
    ("px-captcha", "HUMAN", 150),
    ("_incapsula_resource", "Imperva", 60),
    ("awswafcookiedomainlist", "AWS WAF", 120),
    ("gokuprops", "AWS WAF", 120),
    ("/_sec/cp_challenge/", "Akamai", 60),
    ("sgcaptcha", "SiteGround", 60),
];
const WIDGETS: [&str; 4] = ["g-recaptcha", "h-captcha", "cf-turnstile", "frc-captcha"];
const HUMANS: [&str; 12] = [
    "you are human",
    "you're human",
    "are you a robot",
    "not a robot",
    "checking your browser",
    "unusual traffic",
    "security check",
    "pardon our interruption",
    "kein roboter",
    "êtes pas un robot",
    "no eres un robot",
    "bot verification",
];
const REGIONS: [&str; 10] = [
    "not available in your country",
    "not available in your region",
    "not available in your location",
    "unavailable in your country",
    "unavailable in your region",
    "unavailable in your location",
    "in ihrem land nicht verfügbar",
    "pas disponible dans votre pays",
    "no está disponible en tu país",
    "from your location is not permitted",
];
/// What firewalls write, by whom.
const FIREWALLS: [(&str, &str); 8] = [
    ("attention required! | cloudflare", "Cloudflare"),
    ("used cloudflare to restrict access", "Cloudflare"),
    ("you are being rate limited", "Cloudflare"),
    ("generated by cloudfront", "CloudFront"),
    ("sucuri website firewall", "Sucuri"),
    ("incapsula incident id", "Imperva"),
    (
        "the requested url was rejected. please consult with your administrator",
        "F5",
    ),
    ("errors.edgesuite.net", "Akamai"),
];
const LOGIN_TITLES: [&str; 10] = [
    "log in",
    "login",
    "sign in",
    "signin",
    "anmelden",
    "einloggen",
    "se connecter",
    "connexion",
    "iniciar sesión",
    "accedi",
];
const CONSENT_TITLES: [&str; 9] = [
    "before you continue",
    "cookie consent",
    "we value your privacy",
    "consent required",
    "manage consent",
    "bevor sie fortfahren",
    "bevor du fortfährst",
    "avant de continuer",
    "antes de continuar",
];

impl Look<'_> {
    fn challenge(&self) -> Option<(Wall, String)> {
        for (sign, whose, words_max) in MACHINERY {
            if self.words <= words_max && self.is_machinery(sign) {
                return Some((Wall::Challenge, format!("{sign}, {whose}")));
            }
        }
        let phrase = HUMANS.iter().find(|phrase| self.text.contains(*phrase))?;
        let widget = WIDGETS.iter().any(|widget| self.is_machinery(widget));
        let wants_scripts =
            self.text.contains("enable javascript") && self.text.contains("cookies");
        let alone = self.words <= 120 && (widget || self.input.status >= 400 || wants_scripts);
        alone.then(|| (Wall::Challenge, format!("\"{phrase}\"")))
    }

    fn region(&self) -> Option<(Wall, String)> {
        let heads = ["<title", "<h1", "<h2"];
        let in_head = |phrase: &str| {
            self.title.contains(phrase)
                || heads.iter().any(|tag| {
                    let mut behind = self.text.split(tag).skip(1);
                    behind.any(|head| {
                        head.split("</")
                            .next()
                            .is_some_and(|it| it.contains(phrase))
                    })
                })
        };
        let shows = |phrase: &&&str| match self.input.status {
            200..=299 => self.words <= 120 && in_head(phrase),
            _ => self.text.contains(**phrase),
        };
        let phrase = REGIONS.iter().find(shows)?;
        Some((Wall::Region, format!("\"{phrase}\"")))
    }

    fn denied(&self) -> Option<(Wall, String)> {
        let (phrase, whose) = FIREWALLS
            .iter()
            .find(|(phrase, _)| self.text.contains(phrase))?;
        // One of them sends its refusals with status 200.
        let refuses = self.input.status >= 400 || *whose == "F5" && self.words <= 40;
        refuses.then(|| {
            (
                Wall::Denied,
                format!("{} by {whose}, \"{phrase}\"", self.input.status),
            )
        })
    }

    fn login(&self) -> Option<(Wall, String)> {
        let asks = self.asks_password
            && self.words <= 150
            && !names(self.input.url, &LOGINS)
            && LOGIN_TITLES.iter().any(|word| self.title.contains(word));
        asks.then(|| {
            (
                Wall::Login,
                "asks for a password and shows nothing else".to_owned(),
            )
        })
    }

    fn consent(&self) -> Option<(Wall, String)> {
        let phrase = CONSENT_TITLES
            .iter()
            .find(|phrase| self.title.starts_with(*phrase))?;
        let asks = ["<form", "<button"]
            .iter()
            .any(|tag| self.text.contains(tag));
        (asks && !names(self.input.url, &CONSENTS))
            .then(|| (Wall::Consent, format!("its title is \"{phrase}\"")))
    }

    /// Whether a sign is in a script or a tag, not in text that people read.
    fn is_machinery(&self, sign: &str) -> bool {
        self.text.match_indices(sign).any(|(at, _)| {
            let before = &self.text[..at];
            let in_tag = before.rfind('<') > before.rfind('>');
            in_tag || before.rfind("<script") > before.rfind("</script")
        })
    }
}
