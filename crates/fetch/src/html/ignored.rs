//! What of a page does not count: clocks, counters, advertisements that are another at every fetch.
//!
//! Rules name elements by simple selectors (`aside`, `#clock`, `.ad`, `div.box[data-kind=ad]`) and pieces of text by
//! regular expressions. What they match is taken out before a page is fingerprinted and before its text is kept, so
//! everybody who asks whether a page changed asks about the same text. Links in it stay links.
//!
//! A page is read without a tree. So an element that matches ends at its own end tag, nested ones of the same name
//! counted; elements whose end tag may be left out (`li`, `p`, `td`…) also end where the next one begins or where the
//! list or table around them does. An element that never ends is ignored to the end of the page. Expressions see one
//! block of text at a time, with white space folded, [`LINE_BYTES_MAX`] at most.
//!
//! Cost: nothing without a rule for the page; with selectors a look at each tag, with expressions the text once more.

use std::fmt;
use std::sync::Arc;

use regex::{Regex, RegexBuilder};

use super::tag::Tag;

/// The longest block of text that expressions see as one.
const LINE_BYTES_MAX: usize = 64 << 10;
/// How large an expression may become.
const EXPRESSION_BYTES_MAX: usize = 1 << 20;

/// A rule as people write it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IgnoreRule {
    /// The hosts it is for, and those below them; all if there are none.
    pub hosts: Vec<String>,
    /// Regular expressions for the URLs it is for; all if there are none.
    pub pages: Vec<String>,
    /// Elements that do not count.
    pub selectors: Vec<String>,
    /// Regular expressions for text that does not count.
    pub text: Vec<String>,
}

/// Rules that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IgnoreError {
    /// An expression.
    #[error("'{text}' is no regular expression: {why}")]
    Expression {
        /// As written.
        text: String,
        /// Why.
        why: String,
    },
    /// A selector.
    #[error(
        "'{text}' is no selector that is understood; there are names, #id, .class and [attribute=value], together as \
         in div.ad, and none within another"
    )]
    Selector {
        /// As written.
        text: String,
    },
    /// A rule that ignores nothing.
    #[error("a rule names no selectors and no text: it ignores nothing")]
    Empty,
}

/// All rules, ready to be used.
#[derive(Clone, Default)]
pub struct Ignored {
    rules: Arc<[Rule]>,
}

struct Rule {
    written: IgnoreRule,
    pages: Vec<Regex>,
    selectors: Vec<Selector>,
    text: Vec<Regex>,
}

/// An element, by what its start tag says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Selector {
    name: Option<String>,
    id: Option<String>,
    classes: Vec<String>,
    attributes: Vec<(String, Option<String>)>,
}

/// How much of a page was ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IgnoredCount {
    /// Elements that a selector matched.
    pub elements: u64,
    /// Pieces of text that an expression matched.
    pub texts: u64,
}

impl Ignored {
    /// Reads rules.
    pub fn new(rules: &[IgnoreRule]) -> Result<Self, IgnoreError> {
        let rules: Result<Vec<Rule>, IgnoreError> = rules.iter().map(Rule::new).collect();
        Ok(Self {
            rules: rules?.into(),
        })
    }

    /// What the rules for a page say; nothing if there are none.
    pub(super) fn of(&self, url: &url::Url) -> Option<Box<Filter>> {
        let rules = self.rules.iter().filter(|rule| rule.is_for(url));
        let mut filter = Filter::default();
        for rule in rules {
            filter.selectors.extend(rule.selectors.iter().cloned());
            filter.text.extend(rule.text.iter().cloned());
        }
        let none = filter.selectors.is_empty() && filter.text.is_empty();
        (!none).then(|| Box::new(filter))
    }
}

impl PartialEq for Ignored {
    fn eq(&self, other: &Self) -> bool {
        let written = |rules: &Self| {
            rules
                .rules
                .iter()
                .map(|rule| rule.written.clone())
                .collect::<Vec<_>>()
        };
        written(self) == written(other)
    }
}

impl Eq for Ignored {}

impl fmt::Debug for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.rules.iter().map(|rule| &rule.written))
            .finish()
    }
}

impl Rule {
    fn new(written: &IgnoreRule) -> Result<Self, IgnoreError> {
        if written.selectors.is_empty() && written.text.is_empty() {
            return Err(IgnoreError::Empty);
        }
        let expressions = |all: &[String]| -> Result<Vec<Regex>, IgnoreError> {
            all.iter().map(|text| expression(text)).collect()
        };
        let selectors = written.selectors.iter().map(|text| Selector::read(text));
        Ok(Self {
            pages: expressions(&written.pages)?,
            selectors: selectors.collect::<Result<_, _>>()?,
            text: expressions(&written.text)?,
            written: written.clone(),
        })
    }

    fn is_for(&self, url: &url::Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let below = |name: &String| {
            let name = name.to_ascii_lowercase();
            host == name
                || host
                    .strip_suffix(&name)
                    .is_some_and(|rest| rest.ends_with('.'))
        };
        let hosts = &self.written.hosts;
        (hosts.is_empty() || hosts.iter().any(below))
            && (self.pages.is_empty() || self.pages.iter().any(|page| page.is_match(url.as_str())))
    }
}

fn expression(text: &str) -> Result<Regex, IgnoreError> {
    let mut builder = RegexBuilder::new(text);
    let built = builder.size_limit(EXPRESSION_BYTES_MAX).build();
    built.map_err(|error| IgnoreError::Expression {
        text: text.to_owned(),
        why: error
            .to_string()
            .lines()
            .last()
            .unwrap_or_default()
            .trim()
            .to_owned(),
    })
}

impl Selector {
    fn read(text: &str) -> Result<Self, IgnoreError> {
        let wrong = || IgnoreError::Selector {
            text: text.to_owned(),
        };
        let mut selector = Self::default();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let begins = rest.chars().next().unwrap_or_default();
            if begins == '[' {
                let (inside, behind) = rest[1..].split_once(']').ok_or_else(wrong)?;
                let (name, value) = match inside.split_once('=') {
                    Some((name, value)) => (name, Some(value.trim_matches(['"', '\'']).to_owned())),
                    None => (inside, None),
                };
                if !is_name(name) {
                    return Err(wrong());
                }
                selector.attributes.push((name.to_ascii_lowercase(), value));
                rest = behind;
                continue;
            }
            let from = usize::from(matches!(begins, '#' | '.'));
            let end = rest[from..]
                .find(['#', '.', '['])
                .map_or(rest.len(), |at| from + at);
            let name = &rest[from..end];
            if !is_name(name) {
                return Err(wrong());
            }
            match begins {
                '#' => selector.id = Some(name.to_owned()),
                '.' => selector.classes.push(name.to_owned()),
                _ => selector.name = Some(name.to_ascii_lowercase()),
            }
            rest = &rest[end..];
        }
        match selector == Self::default() {
            true => Err(wrong()),
            false => Ok(selector),
        }
    }

    fn matches(&self, tag: &Tag<'_>) -> bool {
        let get = |name: &str| tag.attributes.get(name);
        self.name
            .as_ref()
            .is_none_or(|name| tag.name.eq_ignore_ascii_case(name))
            && self
                .id
                .as_ref()
                .is_none_or(|id| get("id").is_some_and(|is| is == *id))
            && (self.classes.is_empty()
                || get("class").is_some_and(|is| {
                    let has = |class: &String| is.split_ascii_whitespace().any(|one| one == class);
                    self.classes.iter().all(has)
                }))
            && self
                .attributes
                .iter()
                .all(|(name, value)| match (get(name), value) {
                    (Some(is), Some(value)) => is == *value,
                    (is, None) => is.is_some(),
                    (None, Some(_)) => false,
                })
    }
}

fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':');
    !text.is_empty() && text.chars().all(fits)
}

/// Elements without content.
const EMPTY: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];
/// Elements whose end tag may be left out.
const OPEN_ENDED: [&str; 9] = [
    "dd", "dt", "li", "option", "p", "td", "th", "tr", "optgroup",
];
/// What stands around those, and ends them.
const AROUND: [&str; 20] = [
    "article", "aside", "body", "div", "dl", "fieldset", "footer", "form", "header", "main",
    "menu", "nav", "ol", "section", "select", "table", "tbody", "tfoot", "thead", "ul",
];

fn is_one_of(name: &str, all: &[&str]) -> bool {
    all.iter().any(|one| name.eq_ignore_ascii_case(one))
}

/// An element that is being ignored.
#[derive(Debug)]
struct Inside {
    name: String,
    open_ended: bool,
    /// Elements of its name that are open, itself included.
    depth: u32,
    /// Of one that may end without an end tag: lists and tables that began inside.
    around: u32,
}

/// The rules for one page, while it is read.
#[derive(Debug, Default)]
pub(super) struct Filter {
    selectors: Vec<Selector>,
    text: Vec<Regex>,
    inside: Option<Inside>,
    /// The block of text being read, where expressions want to see it.
    line: String,
    pub(super) count: IgnoredCount,
}

impl Filter {
    /// A start tag; `is_whole` says that it has no content.
    pub(super) fn start(&mut self, tag: &Tag<'_>, is_whole: bool) {
        if is_whole || is_one_of(tag.name, &EMPTY) {
            return;
        }
        if let Some(inside) = &mut self.inside {
            let same = tag.name.eq_ignore_ascii_case(&inside.name);
            let around = is_one_of(tag.name, &AROUND);
            let ends =
                inside.open_ended && inside.around == 0 && (same || (inside.name == "p" && around));
            if !ends {
                inside.depth += u32::from(same && !inside.open_ended);
                inside.around += u32::from(around);
                return;
            }
            self.inside = None;
        }
        if self.selectors.iter().any(|selector| selector.matches(tag)) {
            self.count.elements += 1;
            self.inside = Some(Inside {
                name: tag.name.to_ascii_lowercase(),
                open_ended: is_one_of(tag.name, &OPEN_ENDED),
                depth: 1,
                around: 0,
            });
        }
    }

    /// An end tag.
    pub(super) fn end(&mut self, name: &str) {
        let Some(inside) = &mut self.inside else {
            return;
        };
        let same = name.eq_ignore_ascii_case(&inside.name);
        if inside.open_ended {
            match (is_one_of(name, &AROUND), inside.around) {
                (true, 0) => self.inside = None,
                (true, _) => inside.around -= 1,
                (false, 0) if same => self.inside = None,
                (false, _) => {}
            }
        } else if same {
            inside.depth -= 1;
            if inside.depth == 0 {
                self.inside = None;
            }
        }
    }

    /// Whether tags are looked at.
    pub(super) fn has_selectors(&self) -> bool {
        !self.selectors.is_empty()
    }

    /// Whether text here does not count.
    pub(super) fn is_inside(&self) -> bool {
        self.inside.is_some()
    }

    /// Keeps text until its block is whole, if expressions want to see it. Returns whether it was kept.
    pub(super) fn keep(&mut self, text: &str) -> bool {
        if !self.text.is_empty() {
            self.line.push_str(text);
        }
        !self.text.is_empty()
    }

    /// Whether as much is kept as may be.
    pub(super) fn is_full(&self) -> bool {
        self.line.len() > LINE_BYTES_MAX
    }

    /// The block that was kept, without what does not count; nothing if none was.
    pub(super) fn take(&mut self) -> Option<String> {
        if self.line.is_empty() {
            return None;
        }
        let line = std::mem::take(&mut self.line);
        // A space at either end parts it from what stands beside.
        let spaces = (
            line.starts_with(char::is_whitespace),
            line.ends_with(char::is_whitespace),
        );
        let mut folded = line.split_whitespace().collect::<Vec<_>>().join(" ");
        for text in &self.text {
            let found = text.find_iter(&folded).count();
            if found > 0 {
                self.count.texts += found as u64;
                folded = text.replace_all(&folded, " ").into_owned();
            }
        }
        let (before, behind) = (
            if spaces.0 { " " } else { "" },
            if spaces.1 { " " } else { "" },
        );
        Some(format!("{before}{folded}{behind}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::{PageInput, PageLimits, read_page, read_page_by_tokenizer};

    fn rule(selectors: &[&str], text: &[&str]) -> IgnoreRule {
        let owned = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
        IgnoreRule {
            selectors: owned(selectors),
            text: owned(text),
            ..IgnoreRule::default()
        }
    }

    /// What is left of a page's text, and how much was ignored.
    fn check(rule: IgnoreRule, html: &str, text: &str, count: (u64, u64)) {
        let url = "https://example.org/a".parse().unwrap();
        let limits = PageLimits {
            ignored: Ignored::new(&[rule]).unwrap(),
            ..PageLimits::default()
        };
        let input = PageInput {
            url: &url,
            content_type: Some("text/html"),
            body: html.as_bytes(),
            agent: "turnstone",
        };
        let page = read_page(input, &limits);
        assert_eq!(page.text, text, "{html}");
        assert_eq!((page.ignored.elements, page.ignored.texts), count, "{html}");
        assert_eq!(page, read_page_by_tokenizer(input, &limits), "{html}");
        // The fingerprint is that of a page without it.
        assert_eq!(
            page.fingerprint,
            crate::html::Fingerprint::of(text),
            "{html}"
        );
    }

    #[test]
    fn elements_and_text_that_do_not_count_are_not_there() {
        let clock = || rule(&["#clock"], &[]);
        check(clock(), "a <b ID=clock>12:30</b> b", "a b", (1, 0));
        check(
            clock(),
            "<p>a<div id=clock>1<div>2</div>3</div>b",
            "a b",
            (1, 0),
        );
        check(
            clock(),
            "<p>a<div id='clock'>1<p>2<p>3</div>b<img id=clock>c",
            "a b c",
            (1, 0),
        );
        check(clock(), "<p>a<div id=clock>it never ends", "a", (1, 0));
        check(clock(), "a<span id=clocks>b</span>", "ab", (0, 0));
        let ads = || rule(&["div.ad.big", "[data-ad]", "li.ad"], &[]);
        check(
            ads(),
            "<div class='x ad  big'>1</div>a<i data-ad=0>2</i>b",
            "ab",
            (2, 0),
        );
        check(
            ads(),
            "<ul><li>a<li class=ad>1<ul><li>2</ul>3<li>b</ul>c",
            "a b c",
            (1, 0),
        );
        check(ads(), "<ul><li>a<li class=ad>1</ul>c<li>d", "a c d", (1, 0));
        check(ads(), "<div class=ad>a</div>", "a", (0, 0));
        check(
            rule(&["P.now"], &[]),
            "<p class=now>1<p>a<p class=now>2<div>b</div>",
            "a b",
            (2, 0),
        );
        let numbers = || rule(&[], &[r"^\d+ visitors$", r"in \d+ ms"]);
        check(
            numbers(),
            "<p>17 <b>visitors</b><p>17 visitors came<p>Made in\n 3 ms.",
            "17 visitors came Made .",
            (0, 2),
        );
        check(
            rule(&["svg"], &["x"]),
            "<svg><text>x</text></svg>x<svg/>yx z",
            "y z",
            (1, 2),
        );
        check(
            numbers(),
            &"1 ".repeat(100_000),
            "1 ".repeat(100_000).trim(),
            (0, 0),
        );
    }

    #[test]
    fn rules_are_for_their_pages_alone() {
        let for_pages = |hosts: &[&str], pages: &[&str]| {
            let owned = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
            let rule = IgnoreRule {
                hosts: owned(hosts),
                pages: owned(pages),
                ..rule(&["b"], &[])
            };
            Ignored::new(&[rule]).unwrap()
        };
        let url = "https://www.example.org/news/1".parse().unwrap();
        for (hosts, pages, is) in [
            (&[][..], &[][..], true),
            (&["Example.org"], &[], true),
            (&["ample.org"], &[], false),
            (&["other.org", "www.example.org"], &["/news/"], true),
            (&[], &["/old/", "1$"], true),
            (&[], &["^/news/"], false),
        ] {
            assert_eq!(
                for_pages(hosts, pages).of(&url).is_some(),
                is,
                "{hosts:?} {pages:?}"
            );
        }
    }

    #[test]
    fn rules_that_cannot_be_are_refused_with_their_text() {
        for (selector, named) in [
            ("a b", "a b"),
            ("", ""),
            (".", "."),
            ("a > b", "a > b"),
            ("a[b", "a[b"),
            ("*", "*"),
        ] {
            let said = Ignored::new(&[rule(&[selector], &[])])
                .unwrap_err()
                .to_string();
            assert!(said.contains(&format!("'{named}'")), "{said}");
        }
        let said = Ignored::new(&[rule(&[], &["("])]).unwrap_err().to_string();
        assert!(said.contains("'('") && !said.contains('\n'), "{said}");
        assert!(Ignored::new(&[rule(&[], &["x{99999}{9999}"])]).is_err());
        assert_eq!(
            Ignored::new(&[rule(&[], &[])]).unwrap_err(),
            IgnoreError::Empty
        );
    }
}
