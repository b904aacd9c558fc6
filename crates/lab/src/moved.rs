//! Where the gone went: the rewrites of a site's addresses, learnt from pages known to have moved.
//!
//! A site that is rebuilt moves its pages by a few rules: `/blog/2016/09/a-title.html` is `/posts/a-title`
//! now. From pairs of old and new addresses (redirects that were seen) such rules are read off: each part of
//! the new path is either a part of the old one, counted from either end, perhaps in lower case or with
//! dashes for underscores, or fixed text. A rule that copies nothing is none: it would send every page to one
//! place. Applied to the address of a page that is gone, rules give candidates, each with a chance: how often the
//! rule was right on the site's pairs, those that share the page's first folder counting first, the site's
//! others for one (FABLE, Zhu et al. 2023, learns programs by example instead, and looks at titles).
//!
//! Cost: O(pairs · rules) to learn a site. Not here: asking whether a candidate is there.

use std::collections::{BTreeMap, BTreeSet};

/// A rule is kept if it was right at least so often.
const RIGHT_MIN: u32 = 1;

/// An address in parts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Address {
    /// Scheme and authority.
    origin: String,
    /// The parts of the path between slashes, without empty ones.
    parts: Vec<String>,
    /// Whether the path ends with a slash.
    is_folder: bool,
    /// With its question mark, or empty.
    query: String,
}

impl Address {
    /// None for what is not of the form `scheme://authority…`.
    fn read(url: &str) -> Option<Self> {
        let url = url.split('#').next().unwrap_or("");
        let start = url.find("://")? + 3;
        let end = url[start..]
            .find(['/', '?'])
            .map_or(url.len(), |at| start + at);
        let (path, query) = match url[end..].find('?') {
            Some(at) => (&url[end..end + at], &url[end + at..]),
            None => (&url[end..], ""),
        };
        let parts = path.split('/').filter(|part| !part.is_empty());
        Some(Self {
            origin: url[..end].to_ascii_lowercase(),
            parts: parts.map(str::to_owned).collect(),
            is_folder: path.is_empty() || path.ends_with('/'),
            query: query.to_owned(),
        })
    }

    fn text(&self) -> String {
        let slash = if self.is_folder && !self.parts.is_empty() {
            "/"
        } else {
            ""
        };
        format!(
            "{}/{}{slash}{}",
            self.origin,
            self.parts.join("/"),
            self.query
        )
    }

    /// What its pages have in common with their neighbours: the first folder.
    fn context(&self) -> &str {
        match self.parts.as_slice() {
            [] | [_] => "",
            [first, ..] => first,
        }
    }
}

/// How a part is written anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Style {
    Same,
    Lower,
    LowerDashes,
}

impl Style {
    fn write(self, text: &str) -> String {
        match self {
            Self::Same => text.to_owned(),
            Self::Lower => text.to_lowercase(),
            Self::LowerDashes => text
                .to_lowercase()
                .replace(['_', ' '], "-")
                .replace("%20", "-"),
        }
    }
}

/// Which part of the old path is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Which {
    FromStart(usize),
    FromEnd(usize),
}

/// One part of the new path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Piece {
    Text(String),
    /// A part of the old path without its ending, and what ends it now.
    Copy(Which, Style, String),
}

/// How a new address is made of an old one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rule {
    origin: String,
    pieces: Vec<Piece>,
    is_folder: bool,
    /// The old query is kept, or this stands in its place.
    query: Option<String>,
}

/// A part before its last dot, and the rest, if that looks like the ending of a file.
fn ending(part: &str) -> (&str, &str) {
    match part.rfind('.') {
        Some(at) if at > 0 && (1..=5).contains(&(part.len() - at - 1)) => part.split_at(at),
        _ => (part, ""),
    }
}

impl Rule {
    /// The rules that lead from one address to another: parts counted from the end, and from the start.
    fn between(old: &Address, new: &Address) -> BTreeSet<Self> {
        let count = old.parts.len();
        let from_end: fn(usize, usize) -> Which = |at, count| Which::FromEnd(count - 1 - at);
        let from_start: fn(usize, usize) -> Which = |at, _| Which::FromStart(at);
        let mut rules = BTreeSet::new();
        for which in [from_end, from_start] {
            let piece = |part: &String| {
                let (name, end) = ending(part);
                let styles = [Style::Same, Style::Lower, Style::LowerDashes];
                let mut copies = styles.into_iter().flat_map(|style| {
                    let same = move |at: &usize| style.write(ending(&old.parts[*at]).0) == name;
                    (0..count).rev().filter(same).map(move |at| (at, style))
                });
                match copies.next() {
                    Some((at, style)) => Piece::Copy(which(at, count), style, end.to_owned()),
                    None => Piece::Text(part.clone()),
                }
            };
            let rule = Self {
                origin: new.origin.clone(),
                pieces: new.parts.iter().map(piece).collect(),
                is_folder: new.is_folder,
                query: (new.query != old.query || old.query.is_empty()).then(|| new.query.clone()),
            };
            let copies = rule
                .pieces
                .iter()
                .any(|piece| matches!(piece, Piece::Copy(..)));
            if copies || rule.query.is_none() {
                rules.insert(rule);
            }
        }
        rules
    }

    /// Where the rule leads; none where a part it copies is missing.
    fn apply(&self, old: &Address) -> Option<Address> {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => Some(text.clone()),
            Piece::Copy(which, style, end) => {
                let at = match *which {
                    Which::FromStart(at) => at,
                    Which::FromEnd(at) => old.parts.len().checked_sub(at + 1)?,
                };
                let (name, _) = ending(old.parts.get(at)?);
                Some(format!("{}{end}", style.write(name)))
            }
        };
        Some(Address {
            origin: self.origin.clone(),
            parts: self.pieces.iter().map(piece).collect::<Option<_>>()?,
            is_folder: self.is_folder,
            query: self.query.clone().unwrap_or_else(|| old.query.clone()),
        })
    }
}

/// How often a rule was tried and right.
#[derive(Clone, Copy, Debug, Default)]
struct Tried {
    right: u32,
    tried: u32,
}

/// What was learnt of one site.
#[derive(Clone, Debug, Default)]
pub struct Rewrites {
    rules: BTreeMap<Rule, BTreeMap<String, Tried>>,
}

/// Where a page may be now.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The new address.
    pub url: String,
    /// How likely it is right, as the site's pairs tell.
    pub chance: f64,
    /// How many pairs speak for it.
    pub pairs: u32,
}

impl Rewrites {
    /// Learns from the pairs (old, new) of one site. Pairs that are no addresses, and pages that moved
    /// nowhere, are passed over.
    pub fn learn<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let read = |(old, new)| Some((Address::read(old)?, Address::read(new)?));
        let pairs: Vec<(Address, Address)> = pairs.into_iter().filter_map(read).collect();
        let pairs: Vec<_> = pairs.into_iter().filter(|(old, new)| old != new).collect();
        let all = pairs.iter().flat_map(|(old, new)| Rule::between(old, new));
        let all: BTreeSet<Rule> = all.collect();
        let mut rules = BTreeMap::new();
        for rule in all {
            let mut contexts: BTreeMap<String, Tried> = BTreeMap::new();
            for (old, new) in &pairs {
                if let Some(guess) = rule.apply(old).filter(|guess| guess != old) {
                    let tried = contexts.entry(old.context().to_owned()).or_default();
                    tried.tried += 1;
                    tried.right += u32::from(guess == *new);
                }
            }
            if contexts.values().map(|tried| tried.right).sum::<u32>() >= RIGHT_MIN {
                rules.insert(rule, contexts);
            }
        }
        Self { rules }
    }

    /// Where a page that is gone may be now, the likeliest first.
    pub fn candidates(&self, url: &str) -> Vec<Candidate> {
        let Some(old) = Address::read(url) else {
            return Vec::new();
        };
        let mut found: BTreeMap<String, Candidate> = BTreeMap::new();
        for (rule, contexts) in &self.rules {
            let Some(new) = rule.apply(&old).filter(|new| *new != old) else {
                continue;
            };
            let sum = |all: Tried, one: &Tried| Tried {
                right: all.right + one.right,
                tried: all.tried + one.tried,
            };
            let site = contexts.values().fold(Tried::default(), sum);
            let here = contexts.get(old.context()).copied().unwrap_or_default();
            // As if the rule had been tried once more and been half right.
            let of_site = (f64::from(site.right) + 0.5) / (f64::from(site.tried) + 1.0);
            let chance = (f64::from(here.right) + of_site) / (f64::from(here.tried) + 1.0);
            let candidate = Candidate {
                url: new.text(),
                chance,
                pairs: site.right,
            };
            let best = found
                .entry(candidate.url.clone())
                .or_insert_with(|| candidate.clone());
            if candidate.chance > best.chance {
                *best = candidate;
            }
        }
        let mut found: Vec<Candidate> = found.into_values().collect();
        found.sort_by(|a, b| b.chance.total_cmp(&a.chance).then(b.pairs.cmp(&a.pairs)));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(pairs: &[(&str, &str)], url: &str, expected: Expect) {
        let rewrites = Rewrites::learn(pairs.iter().copied());
        let lines = rewrites.candidates(url);
        let lines: Vec<String> = lines
            .iter()
            .map(|one| format!("{:.2} of {} {}", one.chance, one.pairs, one.url))
            .collect();
        expected.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn parts_are_copied_and_written_anew() {
        let moved = [
            (
                "http://a.org/blog/2016/09/First_Post.html",
                "https://a.org/posts/first-post/",
            ),
            (
                "http://a.org/blog/2017/01/Second_Post.html",
                "https://a.org/posts/second-post/",
            ),
        ];
        check(
            &moved,
            "http://a.org/blog/2018/11/Third_Post.html",
            expect!["0.94 of 2 https://a.org/posts/third-post/"],
        );
    }

    #[test]
    fn the_own_folder_counts_first() {
        let moved = [
            ("http://a.org/x/1.php", "http://a.org/new/1"),
            ("http://a.org/x/2.php", "http://a.org/new/2"),
            ("http://a.org/y/3.php", "http://a.org/old/3"),
        ];
        check(
            &moved,
            "http://a.org/y/4.php",
            expect![[r#"
                0.69 of 1 http://a.org/old/4
                0.31 of 2 http://a.org/new/4"#]],
        );
    }

    #[test]
    fn what_copies_nothing_is_no_rule() {
        let moved = [("http://a.org/x/1.php", "http://a.org/")];
        check(&moved, "http://a.org/x/2.php", expect![""]);
        check(
            &[("nonsense", "http://a.org/")],
            "more nonsense",
            expect![""],
        );
        check(
            &[("http://a.org/p?id=1", "http://b.org/q?id=1")],
            "http://a.org/p?id=2",
            expect!["0.88 of 1 http://b.org/q?id=2"],
        );
    }
}
