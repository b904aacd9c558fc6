//! Parameters as users write them: `key=value,key=value`, each known, each within bounds.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// The longest wait that can be asked for.
pub(super) const MS_MAX: u64 = 3_600_000;

/// A fault is not written as it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{item}': {what}")]
pub struct SpecError {
    item: String,
    what: String,
}

impl SpecError {
    pub(super) fn new(item: &str, what: impl Into<String>) -> Self {
        Self {
            item: item.to_owned(),
            what: what.into(),
        }
    }
}

/// The parameters of one item, taken out as they are understood.
#[derive(Debug)]
pub(super) struct Parameters {
    item: String,
    given: BTreeMap<String, String>,
    known: Vec<&'static str>,
}

impl Parameters {
    pub(super) fn parse(item: &str, text: &str) -> Result<Self, SpecError> {
        let mut given = BTreeMap::new();
        for pair in text.split(',').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| SpecError::new(item, format!("'{pair}' is not key=value")))?;
            if given.insert(key.to_owned(), value.to_owned()).is_some() {
                return Err(SpecError::new(item, format!("{key} stands twice")));
            }
        }
        let item = item.to_owned();
        let known = Vec::new();
        Ok(Self { item, given, known })
    }

    pub(super) fn word(&mut self, key: &'static str) -> Result<Option<String>, SpecError> {
        self.known.push(key);
        Ok(self.given.remove(key))
    }

    pub(super) fn share(&mut self, key: &'static str, default: f64) -> Result<f64, SpecError> {
        let Some(text) = self.word(key)? else {
            return Ok(default);
        };
        let share = text
            .parse()
            .ok()
            .filter(|share| (0.0..=1.0).contains(share));
        share.ok_or_else(|| {
            SpecError::new(
                &self.item,
                format!("{key} must be between 0 and 1, not '{text}'"),
            )
        })
    }

    pub(super) fn whole(
        &mut self,
        key: &'static str,
        default: u64,
        bounds: RangeInclusive<u64>,
    ) -> Result<u64, SpecError> {
        Ok(self.optional(key, bounds)?.unwrap_or(default))
    }

    pub(super) fn optional(
        &mut self,
        key: &'static str,
        bounds: RangeInclusive<u64>,
    ) -> Result<Option<u64>, SpecError> {
        let Some(text) = self.word(key)? else {
            return Ok(None);
        };
        let number = text.parse().ok().filter(|number| bounds.contains(number));
        number.map(Some).ok_or_else(|| {
            let (low, high) = (bounds.start(), bounds.end());
            let what = format!("{key} must be a whole number from {low} to {high}, not '{text}'");
            SpecError::new(&self.item, what)
        })
    }

    /// Refuses what nobody asked for.
    pub(super) fn finish(self) -> Result<(), SpecError> {
        match self.given.keys().next() {
            None => Ok(()),
            Some(key) => {
                let known = self.known.join(", ");
                let what = format!("there is no parameter '{key}'; there are {known}");
                Err(SpecError::new(&self.item, what))
            }
        }
    }
}
