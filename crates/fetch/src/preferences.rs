//! What publishers say of how their pages may be used: kept as they said it, and read where we are asked to.
//!
//! Five small languages say much the same: `Content-Usage` (a header, and a rule of robots.txt), `Content-Signal` (robots.txt),
//! `X-Robots-Tag` and `<meta name=robots>` with `noai`, the TDM reservation protocol (headers and `<meta>`),
//! and `License:` of Really Simple Licensing (robots.txt, headers). None is settled, so what stands in the
//! journal is what was said, word for word, each with where it was said: readings may change, sayings
//! may not. A reading is a *no* to one use; the most restrictive of all sayings wins, as their drafts ask.
//!
//! [`Sayings`] is a text of lines, `source: value`. Limits: [`VALUE_BYTES_MAX`] of each saying and
//! [`SAYINGS_MAX`] of them; what is beyond is cut, and a cut saying still counts for what is left of it.
//! Cost: linear in what was said.
//!
//! Not here: whether a page may be *asked for*. That is robots.txt's to say, and obeyed always.

use std::fmt;
use std::str::FromStr;

use http::HeaderMap;

/// The longest saying kept.
pub const VALUE_BYTES_MAX: usize = 300;
/// The most sayings kept of a page.
pub const SAYINGS_MAX: usize = 16;

/// Where what was said stands in robots.txt.
const RULE: &str = "robots.txt ";

/// A use to which a page may be put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// To train models.
    TrainAi,
    /// To answer with, by a model that reads it.
    AiInput,
    /// To be found by searching.
    Search,
    /// To be mined, whatever for.
    Mining,
    /// To be kept and shown as a copy.
    Archive,
}

impl Use {
    /// Every use, with its name.
    pub const ALL: [(&str, Self); 5] = [
        ("train-ai", Self::TrainAi),
        ("ai-input", Self::AiInput),
        ("search", Self::Search),
        ("tdm", Self::Mining),
        ("archive", Self::Archive),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(_, of)| *of == self);
        named.map_or("", |(name, _)| name)
    }
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Use {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.iter().find(|(name, _)| *name == text);
        named.map(|(_, of)| *of).ok_or_else(|| {
            let known = Self::ALL.map(|(name, _)| name).join(", ");
            format!("'{text}' is no use that publishers speak of; there are {known}")
        })
    }
}

/// What was said of a page, word for word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sayings {
    lines: Vec<String>,
}

/// Headers that say something.
const HEADERS: [&str; 4] = [
    "content-usage",
    "x-robots-tag",
    "tdm-reservation",
    "tdm-policy",
];
/// `<meta>` names that do.
const METAS: [&str; 3] = ["robots", "tdm-reservation", "tdm-policy"];

impl Sayings {
    /// What headers say.
    pub fn add_headers(&mut self, headers: &HeaderMap) {
        for name in HEADERS {
            for value in headers.get_all(name) {
                let value = String::from_utf8_lossy(value.as_bytes());
                if name != "x-robots-tag" || !says_nothing(&value) {
                    self.add(name, &value);
                }
            }
        }
        for value in headers.get_all("link") {
            let value = String::from_utf8_lossy(value.as_bytes());
            if value.contains("rel=\"license\"") || value.contains("rel=license") {
                self.add("link", &value);
            }
        }
    }

    /// What a `<meta>` of a page says, if it says anything of the kind.
    pub fn add_meta(&mut self, name: &str, content: &str) {
        let name = name.trim();
        if let Some(known) = METAS.iter().find(|meta| name.eq_ignore_ascii_case(meta))
            && !says_nothing(content)
        {
            self.add(&format!("meta {known}"), content);
        }
    }

    /// What a line of robots.txt says.
    pub fn add_rule(&mut self, name: &str, value: &str) {
        self.add(&format!("{RULE}{}", name.to_ascii_lowercase()), value);
    }

    /// The sayings of another.
    pub fn extend(&mut self, other: &Self) {
        for line in &other.lines {
            if self.lines.len() < SAYINGS_MAX && !self.lines.contains(line) {
                self.lines.push(line.clone());
            }
        }
    }

    /// What was said beside robots.txt.
    #[must_use]
    pub fn without_rules(mut self) -> Self {
        self.lines.retain(|line| !line.starts_with(RULE));
        self
    }

    fn add(&mut self, source: &str, value: &str) {
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        let value: String = value.chars().filter(|c| !c.is_control()).collect();
        let mut end = value.len().min(VALUE_BYTES_MAX);
        while !value.is_char_boundary(end) {
            end -= 1;
        }
        let line = format!("{source}: {}", &value[..end]);
        if self.lines.len() < SAYINGS_MAX && !value.is_empty() && !self.lines.contains(&line) {
            self.lines.push(line);
        }
    }

    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Reads the text that [`fmt::Display`] wrote.
    pub fn read(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.is_empty());
        Self {
            lines: lines.map(str::to_owned).take(SAYINGS_MAX).collect(),
        }
    }

    /// The saying that keeps a page from a use, if there is one; `agent` is our name, at which a tag may be
    /// aimed.
    pub fn forbids(&self, of: Use, agent: &str) -> Option<&str> {
        let no = |line: &&String| {
            let (source, value) = line.split_once(": ").unwrap_or((line, ""));
            let source = source.strip_prefix(RULE).unwrap_or(source);
            match source {
                "content-usage" => usage(value, of) == Some(false),
                "content-signal" => signal(value, of) == Some(false),
                "x-robots-tag" => tags(value, of, Some(agent)),
                "meta robots" => tags(value, of, None),
                "tdm-reservation" | "meta tdm-reservation" => {
                    value.trim() == "1" && matches!(of, Use::Mining | Use::TrainAi | Use::AiInput)
                }
                _ => false,
            }
        };
        self.lines.iter().find(no).map(String::as_str)
    }
}

impl fmt::Display for Sayings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines.join("\n"))
    }
}

/// Whether robots tags only say what holds without them: half of all pages do, and the journal keeps no
/// "index, follow" a million times.
fn says_nothing(content: &str) -> bool {
    const EMPTY: [&str; 4] = ["", "index", "follow", "all"];
    let known = |item: &str| {
        EMPTY.iter().any(|word| item.eq_ignore_ascii_case(word))
            || item.to_ascii_lowercase().starts_with("max-")
    };
    content.split(',').all(|item| known(item.trim()))
}

/// `train-ai=n, search=y`, perhaps behind the path of a rule. Tokens that are not known say nothing.
fn usage(value: &str, of: Use) -> Option<bool> {
    let value = match value.strip_prefix('/') {
        // `Content-Usage: /path train-ai=n`: a rule for a path, which whoever kept it looked at.
        Some(rule) => rule.split_once(' ').map_or("", |(_, said)| said),
        None => value,
    };
    let names: &[&str] = match of {
        Use::TrainAi => &["train-ai", "train-genai", "genai"],
        Use::AiInput => &["ai-input", "ai-use"],
        Use::Search => &["search"],
        Use::Mining => &["bots", "tdm", "automated"],
        Use::Archive => &[],
    };
    said(value, names)
}

/// `search=yes, ai-train=no`.
fn signal(value: &str, of: Use) -> Option<bool> {
    let names: &[&str] = match of {
        Use::TrainAi => &["ai-train"],
        Use::AiInput => &["ai-input"],
        Use::Search => &["search"],
        Use::Mining | Use::Archive => &[],
    };
    said(value, names)
}

/// The last word on any of these names; no beats yes.
fn said(value: &str, names: &[&str]) -> Option<bool> {
    let mut found = None;
    for item in value.split([',', ';']) {
        let Some((name, value)) = item.split_once('=') else {
            continue;
        };
        let name = name.trim().to_ascii_lowercase();
        if !names.contains(&name.as_str()) {
            continue;
        }
        let value = value.trim().trim_matches('"').to_ascii_lowercase();
        match value.as_str() {
            "n" | "no" | "?0" => found = Some(false),
            "y" | "yes" | "?1" => found = found.or(Some(true)),
            _ => {}
        }
    }
    found
}

/// `noai, noindex, nosnippet`, perhaps aimed at crawlers by name.
fn tags(value: &str, of: Use, agent: Option<&str>) -> bool {
    let words: &[&str] = match of {
        Use::TrainAi | Use::AiInput => &["noai", "noml"],
        Use::Search => &["noindex", "none"],
        Use::Mining => &["noai", "notdm"],
        Use::Archive => &["noarchive", "nocache"],
    };
    let mut ours = true;
    value.split(',').any(|item| {
        let mut item = item.trim();
        if let (Some(agent), Some((name, rest))) = (agent, item.split_once(':')) {
            let dated = [
                "unavailable_after",
                "max-snippet",
                "max-image-preview",
                "max-video-preview",
            ];
            if !dated.contains(&name.trim().to_ascii_lowercase().as_str()) {
                ours = name.trim() == "*" || name.trim().eq_ignore_ascii_case(agent);
                item = rest.trim();
            }
        }
        ours && words.iter().any(|word| item.eq_ignore_ascii_case(word))
    })
}
