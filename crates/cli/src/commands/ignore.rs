//! `turnstone ignore DIR`: what pages change at every fetch, proposed as rules that make it not count.
//!
//! A page that was stored three times or more is looked at copy by copy. A line that is another in *every* copy, and
//! differs in nothing but numbers and names of months and days, is a clock or a counter: its shape, with these
//! masked, becomes a regular expression. What people change has other words, or does not change every time.
//!
//! Only proposed: what counts is for people to say, and a rule stands in `turnstone.toml` where they put it.
//!
//! Cost: reads the last [`COPIES`] bodies of up to [`PAGES`] pages out of the WARC files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::LazyLock;

use clap::Args;
use regex::Regex;
use serde_json::json;
use turnstone_fetch::urls::{UrlLimits, parse};
use turnstone_frontier::PageId;

use super::copies::Copies;
use super::directory::Directory;
use super::shards;
use crate::exit::Exit;
use crate::output::Output;

/// The most pages that are looked at; of more, those that were stored first.
const PAGES: usize = 2000;
/// The most copies of a page.
const COPIES: usize = 5;
/// With fewer, nobody can tell what changes every time.
const COPIES_MIN: usize = 3;
/// The most rules for a host.
const RULES: usize = 20;

/// Propose what does not count as a change: dates and counters that pages change at every fetch
///
/// Looks at pages of which three copies or more are stored, and prints rules for turnstone.toml. What a rule ignores is
/// ignored by refresh, keep, events and diff alike.
#[derive(Debug, Args)]
pub(crate) struct Ignore {
    /// A crawl directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// What was seen at one host.
#[derive(Default)]
struct Host {
    /// Pages of which enough copies are stored.
    pages: usize,
    /// How often one of them had another text than before.
    changes: usize,
    /// Of them, those in which nothing else differed.
    explained: usize,
    /// By expression: on how many pages it is another every time.
    shapes: BTreeMap<String, usize>,
}

impl Ignore {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let mut hosts: BTreeMap<String, Host> = BTreeMap::new();
        let mut looked = 0;
        let mut folders = shards::folders(&self.directory)?;
        if folders.is_empty() {
            folders.push(self.directory.clone());
        }
        for folder in folders {
            let directory = Directory::look(&folder)?;
            let ignored = directory.plan.pages.ignored.clone();
            let store = Rc::new(directory.store);
            let index = store.index();
            for page in (0..index.page_count()).map(PageId::from_index) {
                if looked == PAGES || !index.is_stored(page) || index.is_outside(page) {
                    continue;
                }
                let Ok(url) = parse(&store.url(page)?, &UrlLimits::default()) else {
                    continue;
                };
                let Ok(copies) = Copies::in_store(&store, ignored.clone(), (url, page)) else {
                    continue;
                };
                let texts = texts(&copies);
                if texts.len() < COPIES_MIN {
                    continue;
                }
                looked += 1;
                let host = index.host_name(index.host(page)).to_owned();
                hosts.entry(host).or_default().take_in(&texts);
            }
        }
        hosts.retain(|_, host| !host.shapes.is_empty());
        let document = json!({
            "directory": self.directory.display().to_string(),
            "pages": looked,
            "hosts": hosts.iter().map(|(name, host)| json!({
                "host": name,
                "pages": host.pages,
                "changes": host.changes,
                "explained": host.explained,
                "text": host.best().iter().map(|(shape, pages)| json!({
                    "expression": shape,
                    "pages": pages,
                })).collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
        });
        output.result(&document, || text(&hosts, looked))?;
        Ok(Exit::Done)
    }
}

/// The visible lines of the last copies, oldest first; bodies that are not kept are left out.
fn texts(copies: &Copies) -> Vec<Vec<String>> {
    let from = copies.all.len().saturating_sub(COPIES);
    let read = copies.all[from..].iter().filter_map(|copy| {
        let visible = copies.counted(&copies.read(copy).ok()?).ok()?;
        Some(visible.text.lines().map(str::to_owned).collect())
    });
    read.collect()
}

impl Host {
    fn take_in(&mut self, texts: &[Vec<String>]) {
        self.pages += 1;
        let mut always: Option<BTreeSet<String>> = None;
        let mut pairs = Vec::new();
        for pair in texts.windows(2) {
            let [old, new] = [&pair[0], &pair[1]].map(|text| text.iter().collect::<BTreeSet<_>>());
            let shapes = |from: &BTreeSet<&String>, less: &BTreeSet<&String>| {
                from.difference(less)
                    .map(|line| shape(line))
                    .collect::<BTreeSet<Option<String>>>()
            };
            let (gone, came) = (shapes(&old, &new), shapes(&new, &old));
            // Both copies have it, with other numbers.
            let both: BTreeSet<String> = gone.intersection(&came).flatten().cloned().collect();
            always = Some(match always {
                None => both,
                Some(always) => always.intersection(&both).cloned().collect(),
            });
            pairs.push((gone, came));
        }
        let always = always.unwrap_or_default();
        for (gone, came) in pairs {
            let differ = !gone.is_empty() || !came.is_empty();
            let mut all = gone.iter().chain(&came);
            let known =
                |shape: &Option<String>| shape.as_ref().is_some_and(|shape| always.contains(shape));
            self.changes += usize::from(differ);
            self.explained += usize::from(differ && all.all(known));
        }
        for shape in always {
            *self.shapes.entry(shape).or_default() += 1;
        }
    }

    /// The expressions that are found on most pages.
    fn best(&self) -> Vec<(&String, usize)> {
        let mut shapes: Vec<(&String, usize)> = self
            .shapes
            .iter()
            .map(|(shape, pages)| (shape, *pages))
            .collect();
        shapes.sort_by_key(|(shape, pages)| (std::cmp::Reverse(*pages), shape.len(), *shape));
        shapes.truncate(RULES);
        shapes
    }
}

/// A line with its numbers and names of months and days masked, as an expression; nothing for one that has none.
fn shape(line: &str) -> Option<String> {
    static PARTS: LazyLock<Regex> = LazyLock::new(|| {
        let months = "jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?|oct(ober)?|\
                      nov(ember)?|dec(ember)?";
        let days = "(mon|tues?|wed(nes)?|thu(rs)?|fri|sat(ur)?|sun)(day)?";
        let all = format!(r"(?i)\d+|\b({months}|{days}|[ap]m)\b");
        Regex::new(&all).expect("the expression is ours")
    });
    // Expressions see blocks of text with spaces folded.
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let (mut shape, mut end) = (String::from("^"), 0);
    for part in PARTS.find_iter(&line) {
        shape += &regex::escape(&line[end..part.start()]);
        shape += match part.as_str().starts_with(|c: char| c.is_ascii_digit()) {
            true => r"\d+",
            false => r"\p{L}+",
        };
        end = part.end();
    }
    shape += &regex::escape(&line[end..]);
    shape.push('$');
    (end > 0).then_some(shape)
}

fn text(hosts: &BTreeMap<String, Host>, looked: usize) -> String {
    if hosts.is_empty() {
        return match looked {
            0 => format!(
                "No page has {COPIES_MIN} copies in the WARC files yet: nothing can be told.\n"
            ),
            _ => format!(
                "No place changes at every fetch on the {looked} pages that were looked at.\n"
            ),
        };
    }
    let mut text = format!(
        "# What changes at every fetch, by the copies of {looked} pages. Put what does not count into turnstone.toml;\n\
         # a page whose text a new rule touches counts as changed once.\n"
    );
    for (name, host) in hosts {
        text += &format!(
            "\n# {name}: {} of {} changes were nothing else.\n[[ignore]]\nhosts = [\"{name}\"]\ntext = [\n",
            host.explained, host.changes
        );
        for (shape, pages) in host.best() {
            let quoted = toml::Value::String(shape.clone());
            let of = if pages == 1 { "page" } else { "pages" };
            text += &format!("    {quoted}, # {pages} {of}\n");
        }
        text += "]\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copies(all: &[&str]) -> Vec<Vec<String>> {
        all.iter()
            .map(|text| text.lines().map(str::to_owned).collect())
            .collect()
    }

    #[test]
    fn what_changes_every_time_is_proposed_and_what_people_write_is_not() {
        let mut host = Host::default();
        host.take_in(&copies(&[
            "News\nMade in 17 ms\nMonday, 3 March\nPrice: 5\nold story",
            "News\nMade in 9 ms\nTuesday, 4 March\nPrice: 5\nold story",
            "News\nMade in 12 ms\nSunday, 5 April\nPrice: 6\nnew story 1",
        ]));
        let shapes: Vec<&String> = host.shapes.keys().collect();
        assert_eq!(shapes, [r"^Made in \d+ ms$", r"^\p{L}+, \d+ \p{L}+$"]);
        assert_eq!((host.changes, host.explained), (2, 1));
        for (shape, _) in host.best() {
            Regex::new(shape).unwrap();
        }
        host.take_in(&copies(&["same 1", "same 1", "same 1"]));
        assert_eq!((host.pages, host.changes), (2, 2));
    }
}
