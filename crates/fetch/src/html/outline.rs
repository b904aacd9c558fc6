//! Where the links of a page stand, with their words and lines, and which fragments the page has.
//!
//! For those who tell people about links: a crawl needs neither lines nor fragments, and reads pages faster
//! without them ([`read_page`](super::read_page)). Tags are walked as the page reader walks them; scripts, styles
//! and comments are passed over. Nothing is built of the page, so depth costs nothing.
//!
//! Cost: linear. Limits: [`ANCHORS_MAX`], [`MARKS_MAX`], [`TEXT_CHARS_MAX`].

use url::Url;

use super::encoding::{charset_of, detect};
use super::page::PageInput;
use super::references::read_value;
use super::tag::{is_space, name_end, walk};
use crate::urls::{UrlLimits, host_of, resolve};

/// Links kept of a page.
pub const ANCHORS_MAX: usize = 100_000;
/// Ids and names kept of a page.
pub const MARKS_MAX: usize = 100_000;
/// Words kept of a link.
const TEXT_CHARS_MAX: usize = 80;
/// Elements whose content is no markup.
const RAW: [&str; 7] = [
    "script", "style", "textarea", "title", "xmp", "noembed", "noframes",
];
/// What a `<link>` leads to that a reader needs.
const RELS: [&str; 6] = ["stylesheet", "icon", "next", "prev", "author", "license"];

/// A link as it stands in a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Where it leads, without its fragment.
    pub url: Url,
    /// The fragment, as it is written.
    pub fragment: Option<String>,
    /// The line it stands in, from 1.
    pub line: u32,
    /// Its words, the first of them; or those of its `alt`.
    pub text: String,
    /// It is a part of the page (a picture, a style, a script) and leads nowhere.
    pub part: bool,
}

/// The links of a page and its fragments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// Links in the order of the page.
    pub anchors: Vec<Anchor>,
    /// What fragments can point at: ids, and names of anchors.
    pub marks: Vec<String>,
}

/// Reads the outline of a page. Never fails: what makes no sense is skipped.
pub fn outline(input: &PageInput<'_>) -> Outline {
    let charset = input.content_type.and_then(charset_of);
    let (encoding, _) = detect(input.body, charset, host_of(input.url).rsplit('.').next());
    let (text, _) = encoding.decode_with_bom_removal(input.body);
    let mut reader = Reader {
        text: &text,
        base: input.url.clone(),
        based: false,
        line: 1,
        counted: 0,
        open: None,
        out: Outline::default(),
    };
    reader.read();
    reader.out
}

struct Reader<'a> {
    text: &'a str,
    base: Url,
    /// The first `<base>` was met.
    based: bool,
    line: u32,
    /// Lines are counted up to here.
    counted: usize,
    /// The link whose words are being read.
    open: Option<usize>,
    out: Outline,
}

impl Reader<'_> {
    fn read(&mut self) {
        let (text, bytes) = (self.text, self.text.as_bytes());
        let mut at = 0;
        while let Some(found) = memchr::memchr(b'<', &bytes[at..]) {
            let tag = at + found;
            self.words(&text[at..tag]);
            let rest = &text[tag + 1..];
            at = if let Some(comment) = rest.strip_prefix("!--") {
                let end = memchr::memmem::find(comment.as_bytes(), b"-->");
                end.map_or(text.len(), |end| tag + 4 + end + 3)
            } else if rest.starts_with(['!', '?']) {
                memchr::memchr(b'>', rest.as_bytes()).map_or(text.len(), |end| tag + 1 + end + 1)
            } else if let Some(name) = rest.strip_prefix('/') {
                if name.get(..1).is_some_and(|a| a.eq_ignore_ascii_case("a"))
                    && name
                        .as_bytes()
                        .get(1)
                        .is_none_or(|byte| *byte == b'>' || is_space(*byte))
                {
                    self.open = None;
                }
                memchr::memchr(b'>', rest.as_bytes()).map_or(text.len(), |end| tag + 1 + end + 1)
            } else if rest.starts_with(|first: char| first.is_ascii_alphabetic()) {
                self.start_tag(tag)
            } else {
                self.words("<");
                tag + 1
            };
        }
    }

    /// Takes a tag. Returns where to read on.
    fn start_tag(&mut self, at: usize) -> usize {
        let (text, bytes) = (self.text, self.text.as_bytes());
        let end = name_end(bytes, at + 1);
        let name = text[at + 1..end].to_ascii_lowercase();
        let mut found: [Option<&str>; 8] = [None; 8];
        const WANTED: [&str; 8] = ["href", "src", "id", "name", "rel", "alt", "data", "title"];
        let walked = walk(text, end, |name, value| {
            let wanted = WANTED.iter().position(|it| it.eq_ignore_ascii_case(name));
            if let Some(slot) = wanted.map(|at| &mut found[at]) {
                slot.get_or_insert(value);
            }
        });
        if !walked.closed {
            return text.len();
        }
        let [href, src, id, called, rel, alt, data, title] = found;
        self.mark(id);
        let link = |reader: &mut Self, address: Option<&str>, part| {
            reader.anchor(at, address, part, alt.or(title))
        };
        match name.as_str() {
            "a" => {
                self.mark(called);
                self.open = link(self, href, false);
            }
            "area" => drop(link(self, href, false)),
            "iframe" | "frame" => drop(link(self, src, false)),
            "img" | "script" | "source" | "video" | "audio" | "embed" | "track" => {
                link(self, src, true);
            }
            "object" => drop(link(self, data, true)),
            "link" => {
                let rel = rel.unwrap_or_default().to_ascii_lowercase();
                if rel
                    .split(|c: char| c.is_ascii_whitespace())
                    .any(|word| RELS.contains(&word))
                {
                    link(self, href, true);
                }
            }
            "base" if !self.based => {
                if let Some(Ok(base)) = href.map(|href| self.base.join(&read_value(href))) {
                    self.base = base;
                    self.based = true;
                }
            }
            _ => {}
        }
        if RAW.contains(&name.as_str()) {
            return self.raw_end(walked.end, &name);
        }
        walked.end
    }

    /// Where the content of an element ends that is no markup.
    fn raw_end(&self, from: usize, name: &str) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = from;
        while let Some(found) = memchr::memmem::find(&bytes[at..], b"</") {
            at += found;
            let end = at + 2 + name.len();
            if bytes
                .get(at + 2..end)
                .is_some_and(|it| it.eq_ignore_ascii_case(name.as_bytes()))
            {
                return at;
            }
            at += 2;
        }
        bytes.len()
    }

    fn mark(&mut self, mark: Option<&str>) {
        if let Some(mark) = mark.filter(|mark| !mark.is_empty())
            && self.out.marks.len() < MARKS_MAX
        {
            self.out.marks.push(read_value(mark).into_owned());
        }
    }

    fn anchor(
        &mut self,
        at: usize,
        address: Option<&str>,
        part: bool,
        words: Option<&str>,
    ) -> Option<usize> {
        let address = read_value(address?);
        if self.out.anchors.len() == ANCHORS_MAX {
            return None;
        }
        let mut url = resolve(&self.base, address.trim(), &UrlLimits::default()).ok()?;
        self.line +=
            memchr::memchr_iter(b'\n', &self.text.as_bytes()[self.counted..at]).count() as u32;
        self.counted = at;
        let fragment = url
            .fragment()
            .filter(|it| !it.is_empty())
            .map(str::to_owned);
        url.set_fragment(None);
        self.out.anchors.push(Anchor {
            url,
            fragment,
            line: self.line,
            text: String::new(),
            part,
        });
        let last = self.out.anchors.len() - 1;
        let before = self.open.replace(last);
        self.words(&read_value(words.unwrap_or_default()));
        self.open = before;
        // The words of a picture are those of the link around it.
        if let Some(words) = words.filter(|_| part) {
            self.words(&read_value(words));
        }
        Some(last)
    }

    fn words(&mut self, text: &str) {
        let Some(anchor) = self.open.and_then(|open| self.out.anchors.get_mut(open)) else {
            return;
        };
        for word in read_value(text).split_whitespace() {
            if anchor.text.chars().count() >= TEXT_CHARS_MAX {
                return;
            }
            if !anchor.text.is_empty() {
                anchor.text.push(' ');
            }
            anchor.text.extend(word.chars().take(TEXT_CHARS_MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, anchors: &str, marks: &str) {
        let url = Url::parse("https://example.org/docs/").unwrap();
        let found = outline(&PageInput {
            url: &url,
            content_type: Some("text/html"),
            body: body.as_bytes(),
            agent: "turnstone",
        });
        let line = |anchor: &Anchor| {
            let fragment = anchor
                .fragment
                .as_ref()
                .map_or_else(String::new, |it| format!("#{it}"));
            let part = if anchor.part { " (part)" } else { "" };
            format!(
                "{}:{}{fragment} {}{part}",
                anchor.line,
                anchor.url.path(),
                anchor.text
            )
        };
        let lines: Vec<String> = found.anchors.iter().map(line).collect();
        assert_eq!(lines.join("\n"), anchors);
        assert_eq!(found.marks.join(" "), marks);
    }

    #[test]
    fn links_come_with_words_lines_and_fragments() {
        check(
            "<h1 id=top>x</h1>\n<a href='a.html#b'>to <b>a</b>\n page</a> and <A HREF=/b>b</A>\n\n<a name=here></a><a href=#top>up</a>",
            "2:/docs/a.html#b to a page\n3:/b b\n5:/docs/#top up",
            "top here",
        );
        check(
            "<a href=x><img src=p.png alt='a bird'></a><link rel='shortcut icon' href=i.ico><link rel=preconnect href=//c.example>",
            "1:/docs/x a bird\n1:/docs/p.png a bird (part)\n1:/docs/i.ico  (part)",
            "",
        );
    }

    #[test]
    fn what_is_no_markup_has_no_links() {
        check(
            "<!-- <a href=no> --><script src=s.js>'<a href=no>'</script><style><a href=no></style><a href=mailto:x@y>m</a>\
             <title><a href=no></title><a href=\"yes?a=1&amp;b=2\">y</a><p title='<a href=no>'>",
            "1:/docs/s.js  (part)\n1:/docs/yes y",
            "",
        );
        check(
            "<base href=/other/><a href=x>1</a><a href='un",
            "1:/other/x 1",
            "",
        );
    }
}
