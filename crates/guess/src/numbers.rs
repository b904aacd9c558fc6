//! Numbers inside a path segment, and what the next one may be.
//!
//! `plus74.html` is the template `plus#.html` with the number 74; `1.10.2` is `#.#.#` with 1, 10 and 2. Segments
//! of one folder with one template are a sequence, and most sequences go on in one of a few ways: the last
//! number grows by one, or an earlier one does and those after it begin anew.

/// More digits than this are an identifier, not a count.
const DIGITS_MAX: usize = 6;
/// More numbers than this are no version and no date.
const NUMBERS_MAX: usize = 4;
/// What stands for a number in a template, and for one of three digits or more that begins with a zero: `0110` and
/// `38` do not count the same things.
const MARK: char = '#';
const LONG_MARK: char = '@';
const LONG: usize = 3;

/// A segment with its numbers taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Numbered {
    /// The segment, each number replaced by a mark.
    pub(crate) template: String,
    pub(crate) numbers: Vec<u32>,
    /// By number: with how many digits it is written, if it is filled up with zeros.
    pub(crate) widths: Vec<usize>,
}

impl Numbered {
    /// None if the segment has no number that could count something.
    pub(crate) fn read(segment: &str) -> Option<Self> {
        if segment.contains([MARK, LONG_MARK]) {
            return None;
        }
        let mut found = Self {
            template: String::with_capacity(segment.len()),
            numbers: Vec::new(),
            widths: Vec::new(),
        };
        let mut rest = segment;
        while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
            let digits = rest[start..].bytes().take_while(u8::is_ascii_digit).count();
            let number = &rest[start..start + digits];
            if digits > DIGITS_MAX || found.numbers.len() == NUMBERS_MAX {
                return None;
            }
            found.template.push_str(&rest[..start]);
            let filled = number.starts_with('0') && digits > 1;
            let is_long = filled && digits >= LONG;
            found.template.push(if is_long { LONG_MARK } else { MARK });
            found.numbers.push(number.parse().ok()?);
            found.widths.push(if filled { digits } else { 0 });
            rest = &rest[start + digits..];
        }
        found.template.push_str(rest);
        (!found.numbers.is_empty()).then_some(found)
    }
}

/// A segment from its template and numbers.
pub(crate) fn write(template: &str, numbers: &[u32], widths: &[usize]) -> String {
    let mut segment = String::with_capacity(template.len() + 8);
    let mut at = 0;
    for letter in template.chars() {
        if letter == MARK || letter == LONG_MARK {
            segment.push_str(&format!("{:0width$}", numbers[at], width = widths[at]));
            at += 1;
        } else {
            segment.push(letter);
        }
    }
    segment
}

/// The numbers with the one at `place` grown by one, and those after it begun anew at `first`.
pub(crate) fn grown(numbers: &[u32], place: usize, first: u32) -> Vec<u32> {
    let mut next = numbers.to_vec();
    next[place] = next[place].saturating_add(1);
    next[place + 1..].fill(first);
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_out_and_go_back() {
        let check = |segment: &str, template: &str, numbers: &[u32]| {
            let read = Numbered::read(segment).unwrap();
            assert_eq!(
                (read.template.as_str(), &read.numbers[..]),
                (template, numbers)
            );
            assert_eq!(write(template, numbers, &read.widths), segment);
        };
        check("plus74.html", "plus#.html", &[74]);
        check("1.10.2", "#.#.#", &[1, 10, 2]);
        check("2024-05-07", "#-#-#", &[2024, 5, 7]);
        check("ch06", "ch#", &[6]);
        check("0110", "@", &[110]);
        for segment in ["about", "", "1234567", "1.2.3.4.5", "a#1"] {
            assert_eq!(Numbered::read(segment), None, "{segment}");
        }
        assert_eq!(grown(&[1, 9, 4], 1, 0), [1, 10, 0]);
    }
}
