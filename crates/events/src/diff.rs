//! What differs between two texts: line by line, and within a changed line word by word.
//!
//! The lines are those of the visible text, one for each block of a page; so markup, scripts, styles and
//! the breaking of lines in the source never show. By the crate `similar` (Myers' algorithm): a diff
//! that people can read is more than the shortest script, and it has the clean-up that this needs.
//!
//! Limit: after two seconds the rest is told as replaced, which is true and longer than it must be.

use std::time::Duration;

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use crate::form::plain;

/// How long a diff may take before it is told more coarsely.
const TIME_MAX: Duration = Duration::from_secs(2);
/// Lines shown around a change.
const AROUND: usize = 2;

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Whether these words are not in the other text.
    pub differs: bool,
    /// The words.
    pub text: String,
}

/// On which side a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// In both.
    Both,
    /// Only in the old text.
    Old,
    /// Only in the new text.
    New,
}

/// A line of a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    /// Where it is.
    pub side: Side,
    /// Its parts.
    pub pieces: Vec<Piece>,
}

/// Changes with a few lines around each; an empty list where the texts are the same.
pub fn diff(old: &str, new: &str) -> Vec<Vec<DiffLine>> {
    let diff = TextDiff::configure().timeout(TIME_MAX).diff_lines(old, new);
    let hunk = |ops: &Vec<similar::DiffOp>| {
        let changes = ops.iter().flat_map(|op| diff.iter_inline_changes(op));
        changes
            .map(|change| DiffLine {
                side: match change.tag() {
                    ChangeTag::Equal => Side::Both,
                    ChangeTag::Delete => Side::Old,
                    ChangeTag::Insert => Side::New,
                },
                pieces: change
                    .iter_strings_lossy()
                    .map(|(differs, text)| Piece {
                        differs,
                        text: text.trim_end_matches('\n').to_owned(),
                    })
                    .filter(|piece| !piece.text.is_empty())
                    .collect(),
            })
            .collect()
    };
    diff.grouped_ops(AROUND).iter().map(hunk).collect()
}

/// A diff for a terminal: `-` and `+` lines, with the words that differ in `[-…-]` and `{+…+}`.
pub fn diff_text(hunks: &[Vec<DiffLine>]) -> String {
    let mut out = String::new();
    for (number, hunk) in hunks.iter().enumerate() {
        if number > 0 {
            out += "…\n";
        }
        for line in hunk {
            let (sign, open, close) = match line.side {
                Side::Both => (' ', "", ""),
                Side::Old => ('-', "[-", "-]"),
                Side::New => ('+', "{+", "+}"),
            };
            // A line that differs as a whole says so by its sign.
            let partly = line.pieces.iter().any(|piece| !piece.differs);
            out.push(sign);
            for piece in &line.pieces {
                let marks = if piece.differs && partly {
                    (open, close)
                } else {
                    ("", "")
                };
                out += marks.0;
                out += &plain(&piece.text);
                out += marks.1;
            }
            out.push('\n');
        }
    }
    out
}

/// A diff as JSON: hunks of lines of pieces.
pub fn diff_json(hunks: &[Vec<DiffLine>]) -> Value {
    let side = |side| match side {
        Side::Both => "both",
        Side::Old => "old",
        Side::New => "new",
    };
    let piece = |piece: &Piece| json!({"differs": piece.differs, "text": piece.text});
    let line = |line: &DiffLine| {
        json!({
            "side": side(line.side),
            "pieces": line.pieces.iter().map(piece).collect::<Vec<_>>(),
        })
    };
    let hunk = |hunk: &Vec<DiffLine>| hunk.iter().map(line).collect::<Vec<_>>();
    hunks.iter().map(hunk).collect::<Vec<_>>().into()
}

/// A diff as rows of a table, old beside new; text is escaped.
pub fn diff_rows(hunks: &[Vec<DiffLine>]) -> String {
    let cell = |line: Option<&DiffLine>| {
        let Some(line) = line else {
            return "<td></td>".to_owned();
        };
        let (class, mark) = match line.side {
            Side::Both => ("", ""),
            Side::Old => (" class=\"old\"", "del"),
            Side::New => (" class=\"new\"", "ins"),
        };
        let mut out = format!("<td{class}><bdi>");
        for piece in &line.pieces {
            let text = crate::form::markup(&plain(&piece.text));
            if piece.differs && !mark.is_empty() {
                out += &format!("<{mark}>{text}</{mark}>");
            } else {
                out += &text;
            }
        }
        out + "</bdi></td>"
    };
    let mut out = String::new();
    for hunk in hunks {
        let mut at = 0;
        while at < hunk.len() {
            let run = |side| {
                let lines = hunk[at..].iter();
                lines
                    .skip_while(|line| side == Side::New && line.side == Side::Old)
                    .take_while(|line| line.side == side)
                    .collect::<Vec<_>>()
            };
            if hunk[at].side == Side::Both {
                let both = cell(Some(&hunk[at]));
                out += &format!("<tr>{both}{both}</tr>\n");
                at += 1;
                continue;
            }
            let (old, new) = (run(Side::Old), run(Side::New));
            for row in 0..old.len().max(new.len()) {
                let pair = (old.get(row).copied(), new.get(row).copied());
                out += &format!("<tr>{}{}</tr>\n", cell(pair.0), cell(pair.1));
            }
            at += old.len() + new.len();
        }
        out += "<tr class=\"between\"><td>…</td><td>…</td></tr>\n";
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_differ_are_marked_and_strangers_text_does_nothing() {
        let old = "Head\nThe price is 10 today\nsame\n";
        let new = "Head\nThe price is 12 today\nsame\n<script>x</script>\u{202e}\x1b[2J\n";
        let hunks = diff(old, new);
        let expected = " Head\n-The price is [-10-] today\n+The price is {+12+} today\n same\n\
                        +<script>x</script>\\u{202e}\\u{1b}[2J\n";
        assert_eq!(diff_text(&hunks), expected);
        let rows = diff_rows(&hunks);
        assert!(
            rows.contains("<del>10</del>") && rows.contains("<ins>12</ins>"),
            "{rows}"
        );
        assert!(
            !rows.contains("<script>") && !rows.contains('\u{202e}'),
            "{rows}"
        );
        assert!(diff(old, old).is_empty());
    }
}
