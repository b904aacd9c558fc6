//! How a policy is named: `name` or `name:key=value,key=value`.
//!
//! A misspelt name, parameter or value is an error that names the nearest right one, or what would
//! be right.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use turnstone_frontier::Policy;

use crate::catalog::{self, PolicyInfo, Question};
use crate::guest::{Guest, Make};
use crate::mass::Fraction;

/// A policy and its parameters, as the user wrote them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    text: String,
    name: String,
    parameters: Vec<(String, String)>,
    guest: Option<Guest>,
}

/// What can be wrong with a spec. The text says what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// Not of the form `name:key=value,…`.
    #[error("policy '{spec}': '{part}' is not of the form key=value")]
    NotKeyValue {
        /// The whole spec.
        spec: String,
        /// The part that is wrong.
        part: String,
    },
    /// A parameter that stands twice.
    #[error("policy '{spec}': parameter '{parameter}' is given twice")]
    Twice {
        /// The whole spec.
        spec: String,
        /// The parameter.
        parameter: String,
    },
    /// No policy of that name answers this question.
    #[error("no policy '{name}' for {question}; did you mean '{nearest}'? (there are: {known})")]
    UnknownPolicy {
        /// What was asked for.
        name: String,
        /// The question it should answer.
        question: Question,
        /// The policy with the most similar name.
        nearest: String,
        /// All that answer the question.
        known: String,
    },
    /// A guest was asked a question that guests do not answer.
    #[error(
        "policy '{name}' is a guest: such are tried for coverage, discovery, changes and keep and in traps, \
         not for {question}"
    )]
    Guest {
        /// The guest.
        name: String,
        /// The question it should answer.
        question: Question,
    },
    /// The policy has no such parameter.
    #[error("policy '{policy}' has no parameter '{parameter}'; {advice}")]
    UnknownParameter {
        /// The policy.
        policy: String,
        /// What was given.
        parameter: String,
        /// The nearest one, or that there are none.
        advice: String,
    },
    /// The value does not fit the parameter.
    #[error("policy '{policy}': {parameter}={value} is not possible; give {wanted}")]
    BadValue {
        /// The policy.
        policy: String,
        /// The parameter.
        parameter: String,
        /// What was given.
        value: String,
        /// What would be right.
        wanted: String,
    },
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let mut parameters: Vec<(String, String)> = Vec::new();
        for part in rest.split(',').filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').ok_or_else(|| SpecError::NotKeyValue {
                spec: text.to_owned(),
                part: part.to_owned(),
            })?;
            if parameters.iter().any(|(known, _)| known == key) {
                let (spec, parameter) = (text.to_owned(), key.to_owned());
                return Err(SpecError::Twice { spec, parameter });
            }
            parameters.push((key.to_owned(), value.to_owned()));
        }
        Ok(Self {
            text: text.to_owned(),
            name: name.to_owned(),
            parameters,
            guest: None,
        })
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Spec {
    /// Splits a list of specs at commas, but not at those between a policy's parameters: a part
    /// with `=` and no `:` goes on with the policy before it.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, SpecError> {
        let mut specs: Vec<String> = Vec::new();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            match specs.last_mut() {
                Some(last) if part.contains('=') && !part.contains(':') && last.contains(':') => {
                    last.push(',');
                    last.push_str(part);
                }
                _ => specs.push(part.to_owned()),
            }
        }
        specs.iter().map(|spec| spec.parse()).collect()
    }

    /// A policy that is not in the catalogue, with who makes it.
    pub fn guest(name: &str, make: Arc<Make>) -> Self {
        Self {
            text: name.to_owned(),
            name: name.to_owned(),
            parameters: Vec::new(),
            guest: Some(Guest(make)),
        }
    }

    /// Whether this is a policy that is not in the catalogue.
    pub fn is_guest(&self) -> bool {
        self.guest.is_some()
    }

    /// Makes the policy, if it is not in the catalogue.
    pub(crate) fn made(&self) -> Option<Box<dyn Policy>> {
        self.guest.as_ref().map(|guest| (guest.0)())
    }

    /// The policy's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The policy this names among those that answer a question, its parameters' names checked.
    pub fn find(&self, question: Question) -> Result<&'static PolicyInfo, SpecError> {
        if self.is_guest() {
            let name = self.name.clone();
            return Err(SpecError::Guest { name, question });
        }
        let fitting = || catalog::policies().filter(move |info| info.answers(question));
        let Some(info) = fitting().find(|info| info.name == self.name) else {
            let nearest = nearest(&self.name, fitting().map(|info| info.name));
            let known: Vec<&str> = fitting().map(|info| info.name).collect();
            return Err(SpecError::UnknownPolicy {
                name: self.name.clone(),
                question,
                nearest: nearest.to_owned(),
                known: known.join(", "),
            });
        };
        let unknown = |(key, _): &&(String, String)| {
            !info
                .parameters
                .iter()
                .any(|parameter| parameter.name == key)
        };
        match self.parameters.iter().find(unknown) {
            None => Ok(info),
            Some((key, _)) => {
                let names = info.parameters.iter().map(|parameter| parameter.name);
                Err(SpecError::UnknownParameter {
                    policy: self.name.clone(),
                    parameter: key.clone(),
                    advice: match nearest(key, names) {
                        "" => "it has none".to_owned(),
                        name => format!("did you mean '{name}'?"),
                    },
                })
            }
        }
    }

    /// A parameter's text, if it was given.
    pub fn get(&self, parameter: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(key, _)| key == parameter);
        found.map(|(_, value)| value.as_str())
    }

    /// The same policy with a parameter as given here, whatever it was.
    pub fn with(&self, parameter: &str, value: &str) -> Self {
        let mut parameters = self.parameters.clone();
        parameters.retain(|(key, _)| key != parameter);
        parameters.push((parameter.to_owned(), value.to_owned()));
        let pairs: Vec<String> = parameters
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        Self {
            text: format!("{}:{}", self.name, pairs.join(",")),
            name: self.name.clone(),
            parameters,
            guest: self.guest.clone(),
        }
    }

    /// A parameter read by `read`, or its default.
    pub fn read<T>(
        &self,
        parameter: &str,
        default: T,
        wanted: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T, SpecError> {
        let Some(value) = self.get(parameter) else {
            return Ok(default);
        };
        read(value).ok_or_else(|| SpecError::BadValue {
            policy: self.name.clone(),
            parameter: parameter.to_owned(),
            value: value.to_owned(),
            wanted: wanted.to_owned(),
        })
    }

    /// A parameter that is one of a few words.
    pub fn choice<T: Copy>(
        &self,
        parameter: &str,
        default: T,
        choices: &[(&str, T)],
    ) -> Result<T, SpecError> {
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        self.read(
            parameter,
            default,
            &format!("one of {}", words.join(", ")),
            |value| {
                choices
                    .iter()
                    .find(|(word, _)| *word == value)
                    .map(|(_, choice)| *choice)
            },
        )
    }

    /// A parameter that is a fraction between 0 and 1, neither included.
    pub fn fraction(&self, parameter: &str, default: Fraction) -> Result<Fraction, SpecError> {
        let wanted = "a number above 0 and below 1";
        self.read(parameter, default, wanted, |value| {
            Fraction::new(value.parse().ok()?)
        })
    }
}

/// The most similar of some names; empty when there are none.
pub(crate) fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> &'a str {
    names
        .min_by_key(|known| strsim::damerau_levenshtein(name, known))
        .unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, expected: Expect) {
        let outcome = Spec::parse_list(text).and_then(|specs| {
            specs
                .iter()
                .map(|spec| Ok(spec.find(Question::Coverage)?.name))
                .collect()
        });
        let shown = outcome.map_or_else(
            |error| error.to_string(),
            |names: Vec<&str>| names.join(" "),
        );
        expected.assert_eq(&shown);
    }

    #[test]
    fn lists_split_between_policies_not_between_parameters() {
        check(
            "rankmass,windowed-rankmass:window=0.2,of=fetched,l-neighbor",
            expect!["rankmass windowed-rankmass l-neighbor"],
        );
    }

    #[test]
    fn errors_say_what_would_be_right() {
        check(
            "rankmas",
            expect![
                "no policy 'rankmas' for coverage; did you mean 'rankmass'? (there are: l-neighbor, rankmass, windowed-rankmass, breadth-first)"
            ],
        );
        check(
            "windowed-rankmass:windw=0.1",
            expect!["policy 'windowed-rankmass' has no parameter 'windw'; did you mean 'window'?"],
        );
        check(
            "l-neighbor:depth=3",
            expect!["policy 'l-neighbor' has no parameter 'depth'; did you mean 'gone'?"],
        );
        check(
            "breadth-first:depth=3",
            expect!["policy 'breadth-first' has no parameter 'depth'; it has none"],
        );
        check(
            "rankmass:push",
            expect!["policy 'rankmass:push': 'push' is not of the form key=value"],
        );
        check(
            "rankmass:push=exact,push=exact",
            expect!["policy 'rankmass:push=exact,push=exact': parameter 'push' is given twice"],
        );
    }
}
