//! Facts as aligned lines: a name and what there is to say.

/// Names to the left, values in a column of their own; a value may have several lines.
pub(crate) fn aligned(facts: &[(&str, String)]) -> String {
    let width = facts.iter().map(|(name, _)| name.chars().count()).max();
    let width = width.unwrap_or(0) + 2;
    let mut text = String::new();
    for (name, value) in facts {
        let mut name = *name;
        for line in value.lines() {
            text += format!("{name:<width$}{line}").trim_end();
            text.push('\n');
            name = "";
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_below_each_other() {
        let facts = [
            ("state", "a\nb".to_owned()),
            ("pages known", "7".to_owned()),
        ];
        assert_eq!(
            aligned(&facts),
            "state        a\n             b\npages known  7\n"
        );
    }
}
