//! What the guesser does where one can say beforehand what is right, and what must hold on any site.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use proptest::prelude::*;
use turnstone_guess::{Guess, Guesser};

/// A site as it is found, and then what is there of its guesses, round by round.
struct Site {
    guesser: Guesser,
    day: i64,
}

impl Site {
    fn new(urls: &[&str]) -> Self {
        let mut guesser = Guesser::new();
        urls.iter().for_each(|url| guesser.add(url));
        Self {
            guesser,
            day: 19_000,
        }
    }

    /// A week later these pages are there too: which does the guesser hit, with at most so many misses? All are
    /// known afterwards.
    fn week(&mut self, new: &[&str], misses: usize) -> Vec<String> {
        self.day += 7;
        self.guesser.begin(self.day);
        let (mut hits, mut missed) = (Vec::new(), 0);
        while missed < misses {
            let Some(guess) = self.guesser.best(1).pop() else {
                break;
            };
            let is_there = new.contains(&guess.url.as_str());
            self.guesser.told(&guess.url, is_there);
            match is_there {
                true => hits.push(guess.url),
                false => missed += 1,
            }
        }
        new.iter().for_each(|url| self.guesser.add(url));
        hits
    }
}

fn release(number: &str) -> Vec<String> {
    let names = [
        "",
        "api.html",
        "guide/",
        "guide/start.html",
        "guide/end.html",
    ];
    names
        .iter()
        .map(|name| format!("/docs/{number}/{name}"))
        .collect()
}

fn strings(urls: &[String]) -> Vec<&str> {
    urls.iter().map(String::as_str).collect()
}

#[test]
fn a_release_is_found_and_filled() {
    let old: Vec<String> = ["1.8", "1.9"].iter().flat_map(|of| release(of)).collect();
    let mut site = Site::new(&strings(&old));
    let new = release("1.10");
    let mut hits = site.week(&strings(&new), 3);
    hits.sort();
    let mut expected = new.clone();
    expected.sort();
    assert_eq!(hits, expected);
    // Nothing new: a week in vain, and then the next.
    assert!(site.week(&[], 3).is_empty());
    assert_eq!(site.week(&strings(&release("1.11")), 3).len(), 5);
}

#[test]
fn a_folder_gets_what_its_sister_had() {
    let names: Vec<String> = (0..9)
        .map(|name| format!("x{}", ["a", "b", "c"][name % 3].repeat(name + 1)))
        .collect();
    let both = names
        .iter()
        .flat_map(|name| [format!("/{name}.html"), format!("/dev/{name}.html")]);
    let mut site = Site::new(&strings(&both.collect::<Vec<_>>()));
    let early = ["/dev/one.html", "/dev/two.html", "/dev/three.html"];
    site.week(&early, 2);
    for _ in 0..5 {
        assert!(site.week(&[], 2).is_empty());
    }
    let mut hits = site.week(&["/one.html", "/two.html", "/three.html"], 3);
    hits.sort();
    assert_eq!(hits, ["/one.html", "/three.html", "/two.html"]);
}

#[test]
fn a_name_comes_to_all_languages_at_once() {
    let languages = ["cs", "de", "en", "fr"];
    let named = |name: &str| -> Vec<String> {
        languages
            .iter()
            .map(|of| format!("/{of}/{name}.html"))
            .collect()
    };
    let old: Vec<String> = ["about", "news", "docs"]
        .iter()
        .flat_map(|name| named(name))
        .collect();
    let mut site = Site::new(&strings(&old));
    site.week(&strings(&named("donate")), 2);
    site.day += 7;
    site.guesser.begin(site.day);
    // One was found by a link; the others follow from it.
    site.guesser.add("/en/roadmap.html");
    let guesses: BTreeSet<String> = site
        .guesser
        .best(3)
        .into_iter()
        .map(|guess| guess.url)
        .collect();
    let expected = ["/cs/roadmap.html", "/de/roadmap.html", "/fr/roadmap.html"];
    assert_eq!(guesses, expected.map(str::to_owned).into_iter().collect());
}

#[test]
fn dates_are_not_guessed_before_their_day() {
    // 2022-01-08 is day 19,000.
    let old = [
        "/2021-12-18/",
        "/2021-12-25/",
        "/2022-01-01/",
        "/2022-01-08/",
    ];
    let mut site = Site::new(&old);
    assert_eq!(site.week(&["/2022-01-15/"], 1), ["/2022-01-15/"]);
    assert_eq!(site.week(&["/2022-01-22/"], 1), ["/2022-01-22/"]);
}

#[test]
fn a_site_without_order_is_left_alone() {
    let mut site = Site::new(&[
        "/",
        "/about.html",
        "/blog/a-story.html",
        "/blog/the-end.html",
    ]);
    assert!(site.week(&["/blog/again.html"], 3).is_empty());
    site.guesser.begin(19_100);
    assert_eq!(site.guesser.best(8), []);
}

/// Addresses of few segments, so that many are sisters and sequences.
fn url() -> impl Strategy<Value = String> {
    let segment = prop_oneof![
        Just("a".to_owned()),
        Just("b".to_owned()),
        (0u32..12).prop_map(|number| number.to_string()),
        (0u32..4, 0u32..12).prop_map(|(one, two)| format!("v{one}.{two:02}")),
        (2020u32..2024, 1u32..13).prop_map(|(year, month)| format!("{year}-{month:02}")),
        Just(String::new()),
    ];
    prop::collection::vec(segment, 1..5).prop_map(|segments| format!("/{}", segments.join("/")))
}

/// Rounds: what becomes known in each, and what is there to be guessed.
fn rounds() -> impl Strategy<Value = Vec<(Vec<String>, Vec<String>)>> {
    let urls = || prop::collection::vec(url(), 0..20);
    prop::collection::vec((urls(), urls()), 1..7)
}

/// All guesses of some rounds, each checked; `check` is told the guess, what is known and what was asked.
fn play(
    rounds: &[(Vec<String>, Vec<String>)],
    mut check: impl FnMut(&Guess, &BTreeSet<String>, &BTreeSet<String>),
) -> Vec<Guess> {
    let mut guesser = Guesser::new();
    let (mut known, mut all) = (BTreeSet::new(), Vec::new());
    for (round, (found, there)) in rounds.iter().enumerate() {
        if round > 0 {
            guesser.begin(19_000 + 9 * round as i64);
        }
        let mut asked = BTreeSet::new();
        for url in found {
            guesser.add(url);
            known.insert(url.clone());
            for _ in 0..3 {
                let Some(guess) = guesser.best(2).into_iter().next() else {
                    break;
                };
                check(&guess, &known, &asked);
                let is_there = there.contains(&guess.url);
                guesser.told(&guess.url, is_there);
                asked.insert(guess.url.clone());
                if is_there {
                    known.insert(guess.url.clone());
                }
                all.push(guess);
            }
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn nothing_known_or_asked_is_guessed_and_chances_are_chances(rounds in rounds()) {
        play(&rounds, |guess, known, asked| {
            assert!(guess.url.starts_with('/'), "{guess:?}");
            assert!(!known.contains(&guess.url) && !asked.contains(&guess.url), "{guess:?}");
            assert!(guess.chance > 0.0 && guess.chance < 1.0 && guess.brings >= 1.0, "{guess:?}");
            assert!(guess.index().is_finite());
        });
    }

    #[test]
    fn the_same_calls_give_the_same_guesses(rounds in rounds()) {
        prop_assert_eq!(play(&rounds, |_, _, _| {}), play(&rounds, |_, _, _| {}));
    }

    #[test]
    fn the_best_come_first(rounds in rounds()) {
        let mut guesser = Guesser::new();
        for (round, (found, _)) in rounds.iter().enumerate() {
            if round > 0 {
                guesser.begin(19_000 + round as i64);
            }
            found.iter().for_each(|url| guesser.add(url));
            let best = guesser.best(6);
            prop_assert!(best.is_sorted_by(|a, b| a.index() >= b.index()));
            prop_assert_eq!(&guesser.best(6), &best, "asking changes nothing");
            prop_assert_eq!(guesser.best(2), &best[..best.len().min(2)]);
        }
    }
}
