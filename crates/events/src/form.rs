//! An event as others read it: JSON, an entry of an Atom feed, text that is safe on a terminal.
//!
//! Titles and URLs are strangers' text. In XML everything that could be markup is escaped and what XML
//! forbids is left out; on a terminal control characters and marks that turn the direction of writing
//! are shown as escapes, so that nobody can draw over a line or reverse it.

use std::fmt::Write as _;

use serde_json::{Value, json};
use turnstone_frontier::{Arm, Chance};
use turnstone_pagestore::warc::{Digest, warc_date};

use crate::stream::SiteEvent;

/// An event as JSON. Its form is in `docs/events.md`.
pub fn json(event: &SiteEvent) -> Value {
    let digest = |digest: Option<[u8; 20]>| digest.map(|digest| Digest(digest).to_string());
    json!({
        "id": event.id,
        "position": event.at.0,
        "next": event.next.0,
        "kind": event.kind.name(),
        "url": event.url,
        "host": event.host,
        "time": warc_date(event.when_ms),
        "first_seen": warc_date(event.first_seen_ms),
        "found_by": event.found_by,
        "seed": event.seed,
        "title": event.title,
        "bytes": event.bytes,
        "words": event.words,
        "status": (event.status > 0).then_some(event.status),
        "class": event.class,
        "detail": event.detail,
        "old_digest": digest(event.old_digest),
        "new_digest": digest(event.new_digest),
        "moved_to": event.moved_to,
        "why": {
            "question": event.why.question,
            "arm": event.why.arm.map(Arm::name),
            "chance": Chance::from_units(event.why.chance).number(),
        },
    })
}

/// Text that is safe to print: what would move the cursor, change the direction of writing or
/// not be seen is shown as an escape.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let hidden = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{61c}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
        if c.is_control() || hidden {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// An Atom feed of events, the newest first.
pub fn atom(name: &str, title: &str, events: &[SiteEvent]) -> String {
    let updated = events.iter().map(|event| event.when_ms).max().unwrap_or(0);
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n  \
         <id>urn:turnstone:{name}</id>\n  <title>{}</title>\n  <updated>{}</updated>\n  \
         <author><name>turnstone</name></author>\n",
        markup(title),
        warc_date(updated),
    );
    for event in events.iter().rev() {
        let called = match event.title.as_str() {
            "" => &event.url,
            title => title,
        };
        let mut said = format!("{} {}", event.kind.name(), event.url);
        if let Some(to) = &event.moved_to {
            let _ = write!(said, "\nleads to {to}");
        }
        if let Some(by) = &event.found_by {
            let _ = write!(said, "\nfound by {by}");
        }
        if !event.detail.is_empty() {
            let _ = write!(said, "\n{}", event.detail);
        }
        let _ = write!(
            out,
            "  <entry>\n    <id>urn:turnstone:{}</id>\n    <title>{}: {}</title>\n    \
             <link href=\"{}\"/>\n    <updated>{}</updated>\n    <category term=\"{}\"/>\n    \
             <summary>{}</summary>\n  </entry>\n",
            event.id,
            event.kind.name(),
            markup(called),
            markup(&event.url),
            warc_date(event.when_ms),
            event.kind.name(),
            markup(&said),
        );
    }
    out + "</feed>\n"
}

/// Text inside an element or an attribute of XML or HTML, with nothing in it that is markup.
pub fn markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            // A title that turns the line around would turn the reader's list around.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_text_moves_nothing() {
        assert_eq!(
            plain("a\x1b[2Jb\u{202e}c\nd"),
            "a\\u{1b}[2Jb\\u{202e}c\\u{a}d"
        );
        assert_eq!(plain("Äpfel 漢字"), "Äpfel 漢字");
        assert_eq!(
            markup("<script>&\"'\u{0}\u{202e}"),
            "&lt;script&gt;&amp;&quot;&#39;"
        );
    }
}
