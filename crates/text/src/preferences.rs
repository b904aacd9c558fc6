//! What the publisher of a page says about its use, as the page and its answer say it.
//!
//! Three languages: robots tags (`X-Robots-Tag`, `<meta name=robots>`; with the words `noai` and `noimageai` that
//! some sites add), the TDM Reservation Protocol of the W3C community group (`tdm-reservation`, `tdm-policy`, as
//! header or `<meta>`), and the header `Content-Usage` that the IETF's AIPREF group drafts. They are kept as they
//! were said: what follows from them is for whoever uses the text, and differs by country and purpose.
//!
//! Not here: what stands in robots.txt or in `/.well-known/tdmrep.json`: that is of sites, not of pages.

use http::HeaderMap;

/// The longest wish that is kept; a longer one is cut.
const WISH_CHARS_MAX: usize = 500;

/// What is said about a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preferences {
    /// Directives for all robots, in lower case, each once, in the order in which they were met.
    pub robots: Vec<String>,
    /// Whether rights to mine text and data are reserved; nothing where it is not said.
    pub tdm_reserved: Option<bool>,
    /// Where the terms for that are.
    pub tdm_policy: String,
    /// `Content-Usage`, as written.
    pub usage: String,
}

impl Preferences {
    pub(crate) fn of_headers(headers: &HeaderMap) -> Self {
        let mut found = Self::default();
        let values = |name: &'static str| {
            let values = headers.get_all(name).iter();
            values.filter_map(|value| value.to_str().ok())
        };
        for value in values("x-robots-tag") {
            // A value that is aimed at one robot is not said to all.
            let (head, rest) = value.split_once(':').unwrap_or(("", value));
            let agent = head.trim();
            let is_valued = agent.contains(['-', '_', ',', ' ']);
            if agent.is_empty() || is_valued {
                found.add_robots(value);
            } else if agent == "*" {
                found.add_robots(rest);
            }
        }
        for value in values("tdm-reservation") {
            found.add_reservation(value);
        }
        for value in values("tdm-policy") {
            found.tdm_policy = cut(value);
        }
        let usage: Vec<&str> = values("content-usage").map(str::trim).collect();
        found.usage = cut(&usage.join(", "));
        found
    }

    /// Adds what `<meta>` elements say.
    pub(crate) fn add_metas(&mut self, metas: &[(String, String)]) {
        for (name, content) in metas {
            match name.as_str() {
                "robots" => self.add_robots(content),
                "tdm-reservation" => self.add_reservation(content),
                "tdm-policy" if self.tdm_policy.is_empty() => self.tdm_policy = cut(content),
                _ => {}
            }
        }
    }

    fn add_robots(&mut self, list: &str) {
        for word in list.split(',') {
            let word = cut(&word.trim().to_ascii_lowercase());
            if !word.is_empty() && !self.robots.contains(&word) && self.robots.len() < 50 {
                self.robots.push(word);
            }
        }
    }

    /// A reservation once said is not taken back by another place that says 0.
    fn add_reservation(&mut self, value: &str) {
        match value.trim() {
            "1" => self.tdm_reserved = Some(true),
            "0" => self.tdm_reserved = self.tdm_reserved.or(Some(false)),
            _ => {}
        }
    }
}

fn cut(text: &str) -> String {
    text.trim().chars().take(WISH_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(headers: &[(&'static str, &'static str)], metas: &[(&str, &str)], expect: &str) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        let metas: Vec<(String, String)> = metas
            .iter()
            .map(|(name, content)| ((*name).to_owned(), (*content).to_owned()))
            .collect();
        let mut found = Preferences::of_headers(&map);
        found.add_metas(&metas);
        let got = format!(
            "{} | {:?} | {} | {}",
            found.robots.join(" "),
            found.tdm_reserved,
            found.tdm_policy,
            found.usage
        );
        assert_eq!(got, expect);
    }

    #[test]
    fn wishes_are_kept_as_they_were_said() {
        check(&[], &[], " | None |  | ");
        check(
            &[
                ("x-robots-tag", "NoIndex, noai"),
                ("x-robots-tag", "otherbot: noarchive"),
            ],
            &[("robots", "noindex,max-snippet:20")],
            "noindex noai max-snippet:20 | None |  | ",
        );
        check(
            &[(
                "x-robots-tag",
                "unavailable_after: 25 Jun 2030 15:00:00 PST",
            )],
            &[],
            "unavailable_after: 25 jun 2030 15:00:00 pst | None |  | ",
        );
        check(
            &[
                ("tdm-reservation", "1"),
                ("tdm-policy", "https://a.example/terms"),
            ],
            &[("tdm-reservation", "0")],
            " | Some(true) | https://a.example/terms | ",
        );
        check(&[], &[("tdm-reservation", "0")], " | Some(false) |  | ");
        check(
            &[("content-usage", "train-ai=n")],
            &[],
            " | None |  | train-ai=n",
        );
    }
}
