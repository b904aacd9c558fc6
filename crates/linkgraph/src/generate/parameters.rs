//! What a generated web should look like, with limits on every number.

/// Parameters of a [`GeneratedWeb`](super::GeneratedWeb).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WebParameters {
    /// How many pages: 1 to 2³²−2. Default 100 000.
    pub pages: usize,
    /// Mean links of a page, those without links included: 0 to 1000. Default 12. What comes out is
    /// within a few per cent, unless pages are too few for so many distinct links.
    pub links_per_page: f64,
    /// Share of pages without links: 0 to 0.6. Default 0.2.
    pub dangling: f64,
    /// Exponent γ of the in-degree distribution, P(k) ∝ k^−γ, fitted above 100 links; hosts' sizes have
    /// about the same: 1.8 to 4. Default 2.1.
    pub exponent: f64,
    /// Share of links drawn from their own host: 0 to 1. Default 0.8. What comes out is somewhat less,
    /// because small hosts run out of pages.
    pub local: f64,
    /// Share of local links that stay in their directory: 0 to 1. Default 0.4.
    pub same_directory: f64,
    /// Share of pages with links that link to themselves: 0 to 1. Default 0.02.
    pub self_links: f64,
    /// Pages of the smallest hosts: 1 to 1 000 000. Default 8.
    pub host_pages_min: usize,
    /// Everything random follows from it. Default 1.
    pub seed: u64,
}

impl Default for WebParameters {
    fn default() -> Self {
        Self {
            pages: 100_000,
            links_per_page: 12.0,
            dangling: 0.2,
            exponent: 2.1,
            local: 0.8,
            same_directory: 0.4,
            self_links: 0.02,
            host_pages_min: 8,
            seed: 1,
        }
    }
}

/// A parameter out of its limits.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{name} = {value}: must be from {from} to {to}")]
pub struct ParameterError {
    /// Name of the parameter.
    pub name: &'static str,
    /// What was given.
    pub value: f64,
    /// The least it may be.
    pub from: f64,
    /// The most it may be.
    pub to: f64,
}

impl WebParameters {
    /// Says which parameter is out of its limits, if one is.
    pub fn check(&self) -> Result<(), ParameterError> {
        let pages_max = f64::from(u32::MAX - 1);
        within("pages", self.pages as f64, 1.0, pages_max)?;
        within("links_per_page", self.links_per_page, 0.0, 1000.0)?;
        within("dangling", self.dangling, 0.0, 0.6)?;
        within("exponent", self.exponent, 1.8, 4.0)?;
        within("local", self.local, 0.0, 1.0)?;
        within("same_directory", self.same_directory, 0.0, 1.0)?;
        within("self_links", self.self_links, 0.0, 1.0)?;
        within("host_pages_min", self.host_pages_min as f64, 1.0, 1e6)
    }
}

/// Not a number is not within anything.
pub(super) fn within(
    name: &'static str,
    value: f64,
    from: f64,
    to: f64,
) -> Result<(), ParameterError> {
    if (from..=to).contains(&value) {
        return Ok(());
    }
    Err(ParameterError {
        name,
        value,
        from,
        to,
    })
}
