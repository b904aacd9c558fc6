//! What the guesser costs on a site of many pages: `cargo bench -p turnstone-guess`.
//!
//! Releases of a thousand pages each, in folders of fifty, as documentation sites have them. Told in all: the mean time
//! to take in a page, to begin a round, and for a guess and its answer while a new release is gone through.
#![allow(clippy::disallowed_methods, clippy::print_stdout, missing_docs)]

use std::time::Instant;

use turnstone_guess::Guesser;

const PAGES: u32 = 1_000;
const FOLDER: u32 = 50;

fn release(number: u32) -> impl Iterator<Item = String> {
    (0..PAGES).map(move |page| {
        let (folder, name) = (page / FOLDER, page % FOLDER);
        format!(
            "/docs/{}.{}/api/part-{folder}/name{name}.html",
            number / 10,
            number % 10
        )
    })
}

fn main() {
    for releases in [10, 100, 400] {
        let mut guesser = Guesser::new();
        let started = Instant::now();
        for url in (0..releases).flat_map(release) {
            guesser.add(&url);
        }
        let pages = f64::from(releases * PAGES);
        let added = started.elapsed().as_secs_f64();
        let started = Instant::now();
        guesser.begin(19_000);
        let began = started.elapsed().as_secs_f64();
        let there: std::collections::BTreeSet<String> = release(releases).collect();
        let started = Instant::now();
        let (mut hits, mut guesses) = (0, 0);
        while guesses - hits < 20 {
            let Some(guess) = guesser.best(4).into_iter().next() else {
                break;
            };
            guesses += 1;
            let is_there = there.contains(&guess.url);
            hits += u32::from(is_there);
            guesser.told(&guess.url, is_there);
        }
        let guessed = started.elapsed().as_secs_f64() / f64::from(guesses.max(1));
        println!(
            "{pages} pages: {:.1} µs a page, {:.1} ms a round, {:.1} µs a guess; {hits} of {guesses} hit",
            1e6 * added / pages,
            1e3 * began,
            1e6 * guessed
        );
    }
}
