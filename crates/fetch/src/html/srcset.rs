//! `srcset`: the standard's comma grammar for "one picture in several sizes".
//!
//! Candidates whose descriptors make no sense are dropped, as browsers do. Cost: linear.

/// One usable candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate<'a> {
    /// The address as written.
    pub url: &'a str,
    /// Pixel density (`2x`), if given.
    pub density: Option<f64>,
    /// Width in pixels (`100w`), if given.
    pub width: Option<u64>,
}

/// The usable candidates of a `srcset` attribute, in order.
pub fn parse_srcset(input: &str) -> impl Iterator<Item = Candidate<'_>> {
    let mut rest = input;
    std::iter::from_fn(move || {
        loop {
            rest = rest.trim_start_matches(|c| is_space(c) || c == ',');
            if rest.is_empty() {
                return None;
            }
            let end = rest.find(is_space).unwrap_or(rest.len());
            let (url, after) = rest.split_at(end);
            let bare = url.trim_end_matches(',');
            if bare.len() < url.len() {
                rest = after;
                return Some(Candidate {
                    url: bare,
                    density: None,
                    width: None,
                });
            }
            let (descriptors, after) = split_descriptors(after);
            rest = after;
            if let Some(candidate) = with_descriptors(url, descriptors) {
                return Some(candidate);
            }
        }
    })
}

/// Up to the next comma outside parentheses.
fn split_descriptors(text: &str) -> (&str, &str) {
    let mut in_parens = false;
    for (i, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => in_parens = true,
            b')' => in_parens = false,
            b',' if !in_parens => return (&text[..i], &text[i + 1..]),
            _ => {}
        }
    }
    (text, "")
}

fn with_descriptors<'a>(url: &'a str, descriptors: &str) -> Option<Candidate<'a>> {
    let (mut width, mut density, mut height) = (None, None, None);
    for word in words(descriptors) {
        let (number, unit) =
            word.split_at(word.len() - word.chars().last().map_or(0, char::len_utf8));
        match unit {
            "w" if width.is_none() && density.is_none() => width = Some(positive_integer(number)?),
            "x" if width.is_none() && density.is_none() && height.is_none() => {
                density = Some(valid_float(number).filter(|d| *d >= 0.0)?);
            }
            "h" if height.is_none() && density.is_none() => {
                height = Some(positive_integer(number)?);
            }
            _ => return None,
        }
    }
    // A height says something only beside a width.
    (height.is_none() || width.is_some()).then_some(Candidate {
        url,
        density,
        width,
    })
}

/// Words between spaces; a parenthesis keeps its spaces.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(is_space);
        if rest.is_empty() {
            return None;
        }
        let mut in_parens = false;
        let end = rest.find(|c| {
            match c {
                '(' => in_parens = true,
                ')' => in_parens = false,
                _ => {}
            }
            !in_parens && is_space(c)
        });
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        Some(word)
    })
}

fn positive_integer(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some(text.parse().unwrap_or(u64::MAX)).filter(|n| *n > 0)
}

/// The standard's valid floating-point number: no plus sign, no bare dot at either end, no names.
fn valid_float(text: &str) -> Option<f64> {
    let body = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match body.find(['e', 'E']) {
        Some(at) => (&body[..at], Some(&body[at + 1..])),
        None => (body, None),
    };
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let mantissa_ok = match mantissa.split_once('.') {
        Some((whole, part)) => (whole.is_empty() || digits(whole)) && digits(part),
        None => digits(mantissa),
    };
    let exponent_ok = exponent.is_none_or(|e| digits(e.strip_prefix(['+', '-']).unwrap_or(e)));
    if !mantissa_ok || !exponent_ok {
        return None;
    }
    text.parse().ok()
}

fn is_space(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\x0C' | '\r' | ' ')
}
