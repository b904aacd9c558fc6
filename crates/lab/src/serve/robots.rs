//! The robots.txt that is served, and what a client must not ask for after it.
//!
//! The matcher here is the judge's own, apart from the crawler's: longest pattern wins, `*` and `$`
//! mean what RFC 9309 says, groups of one agent are one. It only has to be right about rules that
//! are served for tests.

use super::answer::Answer;
use super::request::Request;

/// How much of a robots.txt counts, as RFC 9309 lets crawlers stop there.
const RULES_BYTES_MAX: usize = 500 << 10;
/// The size of the huge preset.
const HUGE_BYTES: usize = 600 << 10;
/// Redirects of the chain preset: as many as crawlers must follow.
const CHAIN_HOPS: u32 = 5;
/// Where the hops of a chain are.
pub(super) const HOPS: &str = "/~robots/";
/// A longer Crawl-delay is not asked of a client; crawlers clamp it too.
const CRAWL_DELAY_MS_MAX: u64 = 30_000;

/// What robots.txt is answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Served {
    /// These rules.
    Text(String),
    /// An error.
    Status(u16),
    /// These rules after several redirects.
    Chain(String),
}

impl Default for Served {
    fn default() -> Self {
        Self::Text("User-agent: *\nDisallow:\n".to_owned())
    }
}

impl Served {
    /// Adds what a preset or the text of a file says to what was said before.
    pub(super) fn add(before: Option<Self>, preset: &str) -> Result<Self, String> {
        let line = |line: String| match &before {
            None => Self::Text(format!("User-agent: *\n{line}\n")),
            Some(Self::Text(text)) => Self::Text(format!("{text}{line}\n")),
            Some(Self::Chain(text)) => Self::Chain(format!("{text}{line}\n")),
            Some(Self::Status(status)) => Self::Status(*status),
        };
        let rules = "User-agent: *\nDisallow: /private\n".to_owned();
        Ok(match preset.split_once(':') {
            Some(("disallow", path)) if path.starts_with('/') => line(format!("Disallow: {path}")),
            Some(("allow", path)) if path.starts_with('/') => line(format!("Allow: {path}")),
            Some(("crawl-delay", delay)) => line(format!("Crawl-delay: {delay}")),
            None if preset == "redirect-chain" => Self::Chain(rules),
            None if preset == "huge" => Self::Text(huge(&rules)),
            None if matches!(preset, "404" | "403" | "410" | "429" | "500" | "503") => {
                Self::Status(preset.parse().expect("three digits"))
            }
            _ => {
                let text = std::fs::read_to_string(preset).map_err(|error| {
                    format!(
                        "'{preset}' is neither disallow:/PATH, allow:/PATH, crawl-delay:SECONDS, \
                         404, 403, 410, 429, 500, 503, redirect-chain or huge nor a file that \
                         can be read ({error})"
                    )
                })?;
                Self::Text(text)
            }
        })
    }

    /// The rules that a client must keep to even if it never asks.
    pub(super) fn rules(&self) -> Robots {
        match self {
            Self::Text(text) | Self::Chain(text) => Robots::Rules(Rules::parse(text.as_bytes())),
            Self::Status(status) => Robots::of_status(*status).unwrap_or(Robots::Unknown),
        }
    }

    /// The answer to robots.txt or to a hop of its chain; none for other paths.
    pub(super) fn answer(&self, request: &Request<'_>) -> Option<Answer> {
        let is_robots = request.path == "/robots.txt";
        Some(match self {
            Self::Text(text) if is_robots => Answer::text(text.as_str()),
            Self::Status(status) if is_robots => match status {
                429 | 503 => Answer::status(*status).header("Retry-After", "1"),
                _ => Answer::status(*status),
            },
            Self::Chain(text) => {
                let hop = match request.path.strip_prefix(HOPS) {
                    None if is_robots => 0,
                    None => return None,
                    Some(hop) => hop.parse().ok()?,
                };
                match hop {
                    CHAIN_HOPS => Answer::text(text.as_str()),
                    _ => Answer::redirect(301, &format!("{HOPS}{}", hop + 1)),
                }
            }
            Self::Text(_) | Self::Status(_) => return None,
        })
    }
}

/// The rules first, then comments beyond what crawlers must read, then a rule that need not count.
fn huge(rules: &str) -> String {
    let mut text = rules.to_owned();
    while text.len() < HUGE_BYTES {
        text.push_str("# nothing to see here, read on, there is more of the same below\n");
    }
    text + "Disallow: /\n"
}

/// What a host's robots.txt has said so far.
#[derive(Clone, Debug, Default)]
pub(super) enum Robots {
    /// Nothing that forbids anything is known.
    #[default]
    Unknown,
    /// These rules.
    Rules(Rules),
    /// It failed: nothing may be asked for.
    Closed(u16),
}

impl Robots {
    /// What a status without rules means; none if it means nothing yet.
    fn of_status(status: u16) -> Option<Self> {
        match status {
            429 | 500.. => Some(Self::Closed(status)),
            400..=499 => Some(Self::Rules(Rules::default())),
            _ => None,
        }
    }

    /// Takes in what was answered to robots.txt. A copy that was had before may be used while the
    /// server fails.
    pub(super) fn answered(&mut self, answer: &Answer) {
        if answer.status == 200 {
            *self = Self::Rules(Rules::parse(&answer.body));
        } else if let Some(now) = Self::of_status(answer.status)
            && !(matches!(now, Self::Closed(_)) && matches!(self, Self::Rules(_)))
        {
            *self = now;
        }
    }

    /// Why a path must not be asked for; none if it may.
    pub(super) fn forbids(&self, agent: &str, path: &str) -> Option<String> {
        match self {
            Self::Unknown => None,
            Self::Closed(status) => Some(format!("robots.txt answered {status}")),
            Self::Rules(rules) => rules.forbids(agent, path),
        }
    }

    /// The Crawl-delay, if there is one to keep.
    pub(super) fn delay_ms(&self, agent: &str) -> Option<u64> {
        let Self::Rules(rules) = self else {
            return None;
        };
        let delays = rules.groups_of(agent).filter_map(|group| group.delay_ms);
        delays.max().filter(|delay| *delay <= CRAWL_DELAY_MS_MAX)
    }
}

/// The rules of a robots.txt.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    groups: Vec<Group>,
}

#[derive(Clone, Debug, Default)]
struct Group {
    /// In lower case.
    agents: Vec<String>,
    /// (whether it allows, pattern).
    lines: Vec<(bool, String)>,
    delay_ms: Option<u64>,
}

impl Rules {
    fn parse(text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(&text[..text.len().min(RULES_BYTES_MAX)]);
        let mut rules = Self::default();
        let mut naming = false;
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or("");
            let Some((key, value)) = line.split_once(':') else {
                continue;
            };
            let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
            if key == "user-agent" {
                if !naming {
                    rules.groups.push(Group::default());
                }
                naming = true;
                let agent = value.to_ascii_lowercase();
                (rules.groups.last_mut().expect("one was pushed").agents).push(agent);
                continue;
            }
            let Some(group) = rules.groups.last_mut() else {
                continue;
            };
            match key.as_str() {
                "allow" | "disallow" if !value.is_empty() => {
                    group.lines.push((key == "allow", value.to_owned()));
                }
                "crawl-delay" => {
                    let seconds = value.parse::<f64>().ok().filter(|s| (0.0..1e9).contains(s));
                    group.delay_ms = seconds.map(|s| (s * 1e3) as u64);
                }
                "allow" | "disallow" => {}
                _ => continue,
            }
            naming = false;
        }
        rules
    }

    /// The groups that name the agent; else those for all.
    fn groups_of<'a>(&'a self, agent: &str) -> impl Iterator<Item = &'a Group> + use<'a> {
        let agent = agent.to_ascii_lowercase();
        let named = |group: &Group| {
            (group.agents.iter()).any(|name| name != "*" && agent.contains(name.as_str()))
        };
        let by_name: Vec<bool> = self.groups.iter().map(named).collect();
        let any = by_name.contains(&true);
        (self.groups.iter().zip(by_name))
            .filter(move |(group, named)| {
                if any {
                    *named
                } else {
                    group.agents.iter().any(|name| name == "*")
                }
            })
            .map(|(group, _)| group)
    }

    fn forbids(&self, agent: &str, path: &str) -> Option<String> {
        if self.groups.iter().all(|group| group.lines.is_empty()) {
            return None;
        }
        let lines = self.groups_of(agent).flat_map(|group| &group.lines);
        let matching = lines.filter(|(_, pattern)| matches(pattern, path));
        // The longest pattern decides; of two alike the one that allows.
        let (allows, pattern) =
            matching.max_by_key(|(allows, pattern)| (pattern.len(), *allows))?;
        (!allows).then(|| format!("robots.txt says Disallow: {pattern}"))
    }
}

/// Whether a pattern with `*` and a final `$` fits the beginning of a path.
fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, to_the_end) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or("");
    let Some(mut rest) = path.strip_prefix(first) else {
        return false;
    };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return !to_the_end || rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if to_the_end && pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        match rest.find(piece) {
            None => return false,
            Some(at) => rest = &rest[at + piece.len()..],
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_rule_of_the_right_group_decides() {
        let text = "User-agent: other\nDisallow: /\n\nUser-agent: *\nUser-agent: turnstone\n\
                    Disallow: /a\nAllow: /a/b*c$\nDisallow: /*.pdf$ # comment\nCrawl-delay: 2\n";
        let rules = Rules::parse(text.as_bytes());
        let allowed = |path: &str| rules.forbids("turnstone/0.1", path).is_none();
        let paths = ["/", "/a", "/a/bxc", "/a/bxcd", "/x.pdf", "/x.pdf?q", "/b"];
        let found: Vec<bool> = paths.map(allowed).to_vec();
        assert_eq!(found, [true, false, true, false, false, true, true]);
        assert!(rules.forbids("OtherBot other/1", "/b").is_some());
        let robots = Robots::Rules(rules);
        assert_eq!(robots.delay_ms("turnstone"), Some(2000));
        assert_eq!(robots.delay_ms("other"), None);
    }

    #[test]
    fn a_failure_closes_a_host_only_where_no_copy_was_had() {
        let mut robots = Robots::default();
        robots.answered(&Answer::status(503));
        assert!(robots.forbids("x", "/").is_some());
        robots.answered(&Answer::text("User-agent: *\nDisallow: /p"));
        robots.answered(&Answer::status(500));
        assert!(robots.forbids("x", "/").is_none() && robots.forbids("x", "/p").is_some());
        robots.answered(&Answer::status(404));
        assert!(robots.forbids("x", "/p").is_none());
    }
}
