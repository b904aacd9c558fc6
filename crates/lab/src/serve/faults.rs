//! Faults on demand: which requests go wrong, how, and when they recover.
//!
//! A fault afflicts a share of all paths; which ones hangs on the seed, the host and the path alone. An
//! afflicted path fails when first asked for; at each further attempt it recovers for good with a
//! set chance. So a run can be repeated, in whatever order its requests come.
//!
//! Of several faults that afflict a path, the first in the order of [`KINDS`] that has not recovered shows.
//! robots.txt is never afflicted; it has faults of its own.

use super::answer::{Answer, Delivery};
use super::mix::{mix, mix_bytes, share};
use super::request::Request;
use super::robots::Served;
use super::spec::{self, Parameters, SpecError};
use super::traps::Trap;

/// Where redirected pages are.
pub(super) const MOVED: &str = "/~moved/";
/// After so many attempts a path is not followed any further: it stays as it is.
const ATTEMPTS_MAX: u32 = 64;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Reset,
    HalfHead { hold_ms: u64 },
    Server { status: u16 },
    TooMany { retry_after_s: u64 },
    Redirect { hops: u32, status: u16 },
    Slow { wait_ms: u64 },
    Drip { bytes: usize, every_ms: u64 },
    Truncate { share: f64 },
    Gone { status: u16 },
    Wall { kind: WallKind },
}

/// What stands before a page instead of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WallKind {
    Challenge,
    Login,
    Consent,
    Payment,
    Region,
    Denied,
}

const WALLS: [(&str, WallKind); 6] = [
    ("challenge", WallKind::Challenge),
    ("login", WallKind::Login),
    ("consent", WallKind::Consent),
    ("payment", WallKind::Payment),
    ("region", WallKind::Region),
    ("denied", WallKind::Denied),
];

/// The faults a share of the paths has, in the order in which they show.
pub(super) const KINDS: [&str; 10] = [
    "reset",
    "half-head",
    "5xx",
    "429",
    "redirect",
    "slow",
    "drip",
    "truncate",
    "gone",
    "wall",
];

/// A fault, how many paths have it, and how soon they lose it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Fault {
    /// Its place in [`KINDS`].
    order: usize,
    kind: Kind,
    /// The only host that has it, if it is not all.
    host: Option<usize>,
    rate: f64,
    recover: f64,
}

/// What a page that is not there looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Missing {
    #[default]
    NotFound,
    /// 200 with an apology.
    SoftPage,
    /// A redirect to `/`.
    SoftHome,
}

/// Everything that is to go wrong.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults {
    seed: u64,
    faults: Vec<Fault>,
    pub(super) missing: Missing,
    pub(super) traps: Vec<Trap>,
    pub(super) robots: Option<Served>,
}

impl Faults {
    /// Nothing goes wrong.
    pub fn none() -> Self {
        Self::default()
    }

    /// Reads faults as a user writes them, such as `slow:rate=0.05,ms=800;5xx:rate=0.03;trap=calendar`.
    pub fn parse(text: &str, seed: u64) -> Result<Self, SpecError> {
        let mut faults = Self {
            seed,
            ..Self::default()
        };
        for item in text
            .split(';')
            .map(str::trim)
            .filter(|item| !item.is_empty())
        {
            faults.add(item)?;
        }
        faults.faults.sort_by_key(|fault| fault.order);
        Ok(faults)
    }

    fn add(&mut self, item: &str) -> Result<(), SpecError> {
        if let Some(preset) = item.strip_prefix("robots=") {
            let robots = Served::add(self.robots.take(), preset);
            self.robots = Some(robots.map_err(|what| SpecError::new(item, what))?);
            return Ok(());
        }
        if let Some(names) = item.strip_prefix("trap=") {
            for name in names.split('|') {
                let trap = Trap::named(name).ok_or_else(|| {
                    let known = Trap::ALL.map(|(name, _)| name).join(", ");
                    SpecError::new(
                        item,
                        format!("there is no trap '{name}'; there are {known}"),
                    )
                })?;
                self.traps.push(trap);
            }
            return Ok(());
        }
        let (name, parameters) = item.split_once(':').unwrap_or((item, ""));
        let mut given = Parameters::parse(item, parameters)?;
        if name == "soft404" {
            self.missing = match given.word("as")?.as_deref() {
                None | Some("page") => Missing::SoftPage,
                Some("home") => Missing::SoftHome,
                Some(_) => return Err(SpecError::new(item, "as is page or home")),
            };
        } else {
            self.faults.push(fault(item, name, &mut given)?);
        }
        given.finish()
    }

    /// Whether attempts must be counted.
    pub(super) fn any(&self) -> bool {
        !self.faults.is_empty()
    }

    /// The fault that a request meets.
    pub(super) fn of(&self, request: &Request<'_>) -> Option<Kind> {
        if self.faults.is_empty() || request.path == "/robots.txt" {
            return None;
        }
        let path = mix(&[request.host as u64, mix_bytes(request.path.bytes())]);
        let shows = |fault: &&Fault| {
            let draw = |attempt: u64| share(mix(&[self.seed, fault.order as u64, path, attempt]));
            let last = u64::from(request.attempt.min(ATTEMPTS_MAX));
            fault.host.is_none_or(|host| host == request.host)
                && draw(0) < fault.rate
                && !(1..=last).any(|attempt| draw(attempt) < fault.recover)
        };
        self.faults.iter().find(shows).map(|fault| fault.kind)
    }

    /// Where a redirected path leads, and what is left of the way: (hops to go, path).
    pub(super) fn moved<'a>(&self, path: &'a str) -> Option<(u32, &'a str)> {
        let redirects = |fault: &Fault| matches!(fault.kind, Kind::Redirect { .. });
        if !self.faults.iter().any(redirects) {
            return None;
        }
        let rest = path.strip_prefix(MOVED)?;
        let (hops, _) = rest.split_once('/')?;
        Some((hops.parse().ok()?, &rest[hops.len()..]))
    }
}

impl WallKind {
    fn answer(self, request: &Request<'_>) -> Answer {
        let page = |status: u16, body: &str| Answer {
            status,
            ..Answer::html(body)
        };
        match self {
            Self::Challenge => page(
                200,
                "<!DOCTYPE html><title>Just a moment...</title><script>window._cf_chl_opt={cType:'managed'};\
                 </script><noscript>Enable JavaScript and cookies to continue</noscript>",
            ),
            Self::Login => {
                let from: String = request
                    .path
                    .bytes()
                    .map(|byte| format!("%{byte:02X}"))
                    .collect();
                Answer::redirect(302, &format!("/~wall/login?next={from}"))
            }
            Self::Consent => page(
                200,
                "<!DOCTYPE html><title>Before you continue</title><p>We use cookies.\
                 <form method=post><button>Accept all</button><button>Reject all</button></form>",
            ),
            Self::Payment => page(
                402,
                "<!DOCTYPE html><title>Payment required</title><p>Pay per crawl.",
            )
            .header("crawler-price", "USD 0.01"),
            Self::Region => page(
                200,
                "<!DOCTYPE html><title>Sorry</title><h1>This page is not available in your country</h1>",
            ),
            Self::Denied => page(
                403,
                "<!DOCTYPE html><title>Access Denied</title><h1>Access Denied</h1>You don't have permission.\
                 <p>Reference #18.2f1<p>https://errors.edgesuite.net/18.2f1",
            ),
        }
    }
}

impl Kind {
    /// The answer that stands instead of the page; none if the page is only delivered badly.
    pub(super) fn instead(self, request: &Request<'_>) -> Option<Answer> {
        Some(match self {
            Self::Reset => Answer::status(200).deliver(Delivery::Reset),
            Self::Gone { status } | Self::Server { status } => Answer::status(status),
            Self::TooMany { retry_after_s } => {
                Answer::status(429).header("Retry-After", retry_after_s.to_string())
            }
            Self::Wall { kind } => kind.answer(request),
            Self::Redirect { hops, status } => {
                Answer::redirect(status, &format!("{MOVED}{hops}{}", request.path))
            }
            Self::HalfHead { .. }
            | Self::Slow { .. }
            | Self::Drip { .. }
            | Self::Truncate { .. } => {
                return None;
            }
        })
    }

    /// How the page goes out.
    pub(super) fn delivery(self, body_bytes: usize) -> Delivery {
        match self {
            Self::HalfHead { hold_ms } => Delivery::HalfHead { hold_ms },
            Self::Slow { wait_ms } => Delivery::Late { wait_ms },
            Self::Drip { bytes, every_ms } => Delivery::Drip { bytes, every_ms },
            Self::Truncate { share } => Delivery::Truncate {
                bytes: (body_bytes as f64 * share) as usize,
            },
            Self::Reset => Delivery::Reset,
            Self::Gone { .. }
            | Self::Server { .. }
            | Self::TooMany { .. }
            | Self::Wall { .. }
            | Self::Redirect { .. } => Delivery::Whole,
        }
    }
}

fn fault(item: &str, name: &str, given: &mut Parameters) -> Result<Fault, SpecError> {
    let order = KINDS.iter().position(|kind| *kind == name).ok_or_else(|| {
        let known = KINDS.join(", ");
        let what =
            format!("there is no fault '{name}'; there are {known}, soft404, trap=, robots=");
        SpecError::new(item, what)
    })?;
    let rate = given.share("rate", 1.0)?;
    let lasts = matches!(name, "gone" | "redirect" | "wall");
    let recover = given.share("recover", if lasts { 0.0 } else { 0.5 })?;
    let host = given.optional("host", 0..=u64::from(u32::MAX))?;
    let kind = match name {
        "reset" => Kind::Reset,
        "half-head" => Kind::HalfHead {
            hold_ms: given.whole("ms", 60_000, 1..=spec::MS_MAX)?,
        },
        "gone" => Kind::Gone {
            status: given.whole("status", 404, 400..=499)? as u16,
        },
        "5xx" => Kind::Server {
            status: given.whole("status", 503, 500..=599)? as u16,
        },
        "429" => Kind::TooMany {
            retry_after_s: given.whole("retry-after", 1, 0..=86_400)?,
        },
        "wall" => {
            let word = given.word("as")?.unwrap_or_else(|| "challenge".to_owned());
            let kind = WALLS.iter().find(|(name, _)| *name == word);
            let Some((_, kind)) = kind else {
                let known = WALLS.map(|(name, _)| name).join(", ");
                return Err(SpecError::new(item, format!("as is one of {known}")));
            };
            Kind::Wall { kind: *kind }
        }
        "redirect" => Kind::Redirect {
            hops: given.whole("hops", 1, 1..=100)? as u32,
            status: given.whole("status", 301, 301..=308)? as u16,
        },
        "slow" => Kind::Slow {
            wait_ms: given.whole("ms", 1000, 1..=spec::MS_MAX)?,
        },
        "drip" => Kind::Drip {
            bytes: given.whole("bytes", 1, 1..=1 << 20)? as usize,
            every_ms: given.whole("ms", 1000, 1..=spec::MS_MAX)?,
        },
        _ => Kind::Truncate {
            share: given.share("share", 0.5)?,
        },
    };
    Ok(Fault {
        order,
        kind,
        host: host.map(|host| host as usize),
        rate,
        recover,
    })
}
