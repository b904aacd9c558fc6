//! In which language a text is, by trigrams and alphabets (`whatlang`).
//!
//! Short texts cannot be told: below [`CHARS_MIN`] letters, or where the two best languages are close, there is no
//! answer rather than a guess. Cost: the first [`CHARS_MAX`] characters, about 0.1 ms.

/// The shortest text that is judged.
const CHARS_MIN: usize = 20;
/// How much of a text is looked at.
const CHARS_MAX: usize = 4000;

/// A language, and how sure that is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Language {
    /// Its code in ISO 639-3, such as `eng`.
    pub code: &'static str,
    /// From 0 to 1.
    pub confidence: f64,
}

/// The language of a text; nothing where it cannot be told.
pub(crate) fn of(text: &str) -> Option<Language> {
    let end = text.char_indices().nth(CHARS_MAX);
    let text = &text[..end.map_or(text.len(), |(at, _)| at)];
    if text.chars().filter(|c| c.is_alphabetic()).count() < CHARS_MIN {
        return None;
    }
    let found = whatlang::detect(text).filter(whatlang::Info::is_reliable)?;
    Some(Language {
        code: found.lang().code(),
        confidence: found.confidence(),
    })
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn a_language_is_told_or_not_at_all() {
        let code = |text| of(text).map(|it| it.code);
        let german = "Der Fluss stieg in der Nacht, und die untere Straße wurde noch vor dem Morgen gesperrt.";
        assert_eq!(code(german), Some("deu"));
        assert_eq!(
            code("川は夜のあいだに上がり、下の道は夜明け前に通行止めになった。"),
            Some("jpn")
        );
        assert_eq!(code("Hello"), None);
        assert_eq!(code("1234567890 1234567890 1234567890"), None);
    }
}
