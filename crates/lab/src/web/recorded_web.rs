//! A recorded web by the places that hold it: what a question is asked of.
//!
//! Nothing is read here. A question reads what it needs, in the form it needs: one graph, the sites one
//! after the other, or an old crawl.

use std::path::{Path, PathBuf};

use super::{RecordedSite, WebError};
use crate::run::RunError;

/// Where a web is; several places together are one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedWeb {
    places: Vec<PathBuf>,
}

/// Every other site, to choose parameters on one half and report the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// The first, third, fifth, … site.
    Odd,
    /// The second, fourth, sixth, … site.
    Even,
}

impl Half {
    /// The sites of this half; all, if none is chosen.
    pub(crate) fn of<T>(half: Option<Self>, sites: Vec<T>) -> Vec<T> {
        let Some(half) = half else {
            return sites;
        };
        let skip = usize::from(half == Self::Even);
        sites.into_iter().skip(skip).step_by(2).collect()
    }
}

impl RecordedWeb {
    /// The web at these places; none for questions that make up their own.
    pub fn at(places: &[PathBuf]) -> Self {
        let places = places.to_vec();
        Self { places }
    }

    /// The places, one behind the other.
    pub fn name(&self) -> String {
        let names = self.places.iter().map(|place| place.display().to_string());
        names.collect::<Vec<_>>().join(" ")
    }

    /// Each place.
    pub fn places(&self) -> &[PathBuf] {
        &self.places
    }

    /// The only place, for questions about one web.
    pub fn place(&self) -> Result<&Path, RunError> {
        match self.places.as_slice() {
            [place] => Ok(place),
            _ => Err(RunError::wrong("web", "name one web")),
        }
    }

    /// The sites of all places that have a past, in the order of the places.
    pub fn sites(&self) -> Result<Vec<RecordedSite>, WebError> {
        let mut sites = Vec::new();
        for place in &self.places {
            sites.extend(RecordedSite::all(place)?);
        }
        Ok(sites)
    }
}
