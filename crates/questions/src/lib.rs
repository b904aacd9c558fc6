//! What a crawl is asked: which policy answers, made for the store it is asked of.
//!
//! The journal keeps what was asked as a line of text. Whoever opens a directory (the command that
//! goes on, and those that only look) makes the same policy of the same line: there is no second place
//! that knows how a question is answered.

mod asked;
mod stored;
mod survey;

pub use asked::{Asked, AskedError, DEFAULT_SAMPLE, question_of_crawl};
pub use stored::StoredPages;
pub use survey::{begin_survey, end_survey, last_survey};
