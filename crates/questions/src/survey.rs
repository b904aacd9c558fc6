//! Where a survey begins and ends in the journal.
//!
//! A survey that was stopped, by a limit or a kill, goes on: its policy is told what happened since
//! the survey began, and nothing older, for that a page was alive last year is what is in doubt. So
//! its beginning is a note in the journal, which says of whom it is; its end is another. A survey
//! with another policy or sample is another survey, and so is one after a crawl or a round was asked in
//! between: what those fetched is no verdict of the survey.

use turnstone_frontier::Tick;
use turnstone_ledger::{Past, Terms};
use turnstone_pagestore::{Entry, Position, Store, StoreError};
use turnstone_policy::Question;

use crate::Asked;

/// The kind of the notes.
const NOTE: &str = "revive";

/// Where the survey began: here, or where one of the same mark did that was not finished.
pub fn begin_survey(store: &mut Store, tick: Tick, mark: &str) -> Result<Past, StoreError> {
    let mark = format!("begun {mark}");
    let in_force = store.index().plan().and_then(Terms::read);
    let in_force = in_force.and_then(|terms| Asked::read(&terms.question, &terms.policy));
    let between = in_force.is_some_and(|asked| asked.question != Question::Liveness);
    let unfinished = !between
        && store
            .note(NOTE)?
            .is_some_and(|note| note == mark.as_bytes());
    if let (true, Some(at)) = (unfinished, store.index().note_at(NOTE)) {
        return Ok(Past::Since(at));
    }
    let entry = Entry::Note {
        kind: NOTE,
        bytes: mark.as_bytes(),
    };
    Ok(Past::Since(store.append(tick, &entry)))
}

/// Notes that the survey is over, so that the next one begins anew.
pub fn end_survey(store: &mut Store) {
    let at = store.index().note_at(NOTE).unwrap_or(Position::FIRST);
    let tick = store.index().latest();
    let bytes = format!("done {}", at.0);
    let entry = Entry::Note {
        kind: NOTE,
        bytes: bytes.as_bytes(),
    };
    store.append(tick, &entry);
}

/// Where the last survey began, whether or not it is over.
pub fn last_survey(store: &Store) -> Result<Position, StoreError> {
    let note = store.note(NOTE)?.unwrap_or_default();
    let note = String::from_utf8_lossy(&note).into_owned();
    let begun = note.strip_prefix("done ").and_then(|at| at.parse().ok());
    let begun = begun.map(Position).or_else(|| store.index().note_at(NOTE));
    Ok(begun.unwrap_or(Position::FIRST))
}
