//! Holds the reader of pages against html5ever's tokenizer alone.
//!
//! `cargo run --release -p turnstone-fetch --example compare -- PATH …` reads every HTML file below
//! the paths both ways. `… --example compare -- --soups COUNT [SEED]` does so with random tag soups.
//! Exit code 1 at the first difference, which is printed.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line program"
)]

mod soup;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use turnstone_fetch::html::{Page, PageInput, PageLimits, read_page, read_page_by_tokenizer};
use url::Url;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.split_first() {
        Some((first, rest)) if first == "--soups" => soups(rest),
        Some(_) => trees(&arguments),
        None => Err("usage: compare PATH … | compare --soups COUNT [SEED]".to_owned()),
    };
    match done {
        Ok(told) => {
            println!("{told}");
            ExitCode::SUCCESS
        }
        Err(trouble) => {
            eprintln!("compare: {trouble}");
            ExitCode::FAILURE
        }
    }
}

fn soups(arguments: &[String]) -> Result<String, String> {
    let number = |at: usize, otherwise: u64| match arguments.get(at) {
        None => Ok(otherwise),
        Some(text) => text.parse().map_err(|_| format!("{text} is no number")),
    };
    let (count, seed) = (number(0, 1_000_000)?, number(1, 1)?);
    let mut soups = soup::Soups::new(seed);
    let mut bytes = 0;
    for nth in 0..count {
        let soup = soups.next_soup();
        bytes += soup.len() as u64;
        compare(soup.as_bytes())
            .map_err(|difference| format!("soup {nth} of seed {seed}: {soup:?}: {difference}"))?;
    }
    Ok(format!("{count} soups of {bytes} bytes: alike"))
}

fn trees(paths: &[String]) -> Result<String, String> {
    let mut files = Vec::new();
    for path in paths {
        html_files(Path::new(path), &mut files)
            .map_err(|error| format!("{path}: {error}; name a folder of HTML files"))?;
    }
    let (mut bytes, mut links) = (0, 0);
    for file in &files {
        let body = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
        bytes += body.len() as u64;
        links +=
            compare(&body).map_err(|difference| format!("{}: {difference}", file.display()))?;
    }
    let files = files.len();
    Ok(format!(
        "{files} files of {bytes} bytes with {links} links: alike"
    ))
}

fn html_files(path: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            html_files(&path, found)?;
        } else if kind.is_file() && path.extension().is_some_and(|e| e == "html" || e == "htm") {
            found.push(path);
        }
    }
    Ok(())
}

/// Reads a body both ways; the number of links, or where they differ.
fn compare(body: &[u8]) -> Result<usize, String> {
    let url = Url::parse("https://site.example/dir/sub/page.html?x=1").expect("a plain URL");
    let input = PageInput {
        url: &url,
        content_type: Some("text/html"),
        body,
        agent: "turnstone",
    };
    let limits = PageLimits {
        bytes_max: usize::MAX,
        text_bytes_max: usize::MAX,
        tag_bytes_max: usize::MAX,
        tag_attributes_max: usize::MAX,
        ..PageLimits::default()
    };
    let (ours, truth) = (
        read_page(input, &limits),
        read_page_by_tokenizer(input, &limits),
    );
    if ours == truth {
        return Ok(ours.links.len());
    }
    Err(difference(&ours, &truth))
}

fn difference(ours: &Page, truth: &Page) -> String {
    if ours.text != truth.text {
        let same = ours.text.bytes().zip(truth.text.bytes());
        let at = same.take_while(|(a, b)| a == b).count().saturating_sub(40);
        let part = |text: &str| {
            let bytes = text.as_bytes();
            String::from_utf8_lossy(&bytes[at.min(bytes.len())..(at + 120).min(bytes.len())])
                .into_owned()
        };
        return format!(
            "text {:?}, should be {:?}",
            part(&ours.text),
            part(&truth.text)
        );
    }
    let links = ours.links.iter().zip(&truth.links);
    if let Some((ours, truth)) = links.clone().find(|(ours, truth)| ours != truth) {
        return format!("link {ours:?}, should be {truth:?}");
    }
    let without = |page: &Page| Page {
        text: String::new(),
        links: Vec::new(),
        ..page.clone()
    };
    let (count, should) = (ours.links.len(), truth.links.len());
    let (ours, truth) = (without(ours), without(truth));
    format!("{count} links, should be {should}; {ours:?}, should be {truth:?}")
}
