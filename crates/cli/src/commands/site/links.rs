//! `turnstone links FILE|URL`

use std::fs;

use crate::table::Table;
use anyhow::Context as _;
use clap::Args;
use serde_json::{Value, json};
use turnstone_fetch::Url;
use turnstone_fetch::html::{Link, Page, PageInput, PageLimits, read_page};

use super::ask::{self, AGENT, Asking};
use crate::exit::{Exit, Usage};
use crate::output::Output;

/// Where a file is taken to come from when nothing is said.
const ASSUMED: &str = "http://localhost/";

/// Show the links of a page as the crawler reads them.
#[derive(Debug, Args)]
pub(crate) struct Links {
    /// An HTML file, or the URL of a page
    page: String,
    /// The URL a file came from, for its relative links [default: http://localhost/, with a warning]
    #[arg(long, value_name = "URL")]
    base: Option<String>,
    #[command(flatten)]
    asking: Asking,
}

impl Links {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let page = match ask::web_address(&self.page) {
            Some(url) => self.ask(url)?,
            None => self.read()?,
        };
        let assumed = self.assumed(&page);
        if assumed > 0 {
            output.note(&format!(
                "turnstone: {}: {assumed} relative links are shown as if it came from {ASSUMED}; \
                 give --base",
                self.page
            ));
        }
        let json = json!({
            "page": self.page,
            "base": page.base.as_str(),
            "base_assumed": assumed > 0,
            "title": page.title,
            "encoding": page.encoding,
            "links": links_json(&page),
            "cut": page.cuts.links,
            "too_long": page.cuts.urls_too_long,
            "refused": page.cuts.links_refused,
        });
        output.result(&json, || {
            if page.links.is_empty() {
                return format!("{}: no links\n", self.page);
            }
            let mut table = Table::new(&["link", "rel", "url"]);
            for link in &page.links {
                let (tag, attribute) = link.kind.tag_and_attribute();
                table.row([
                    format!("{tag} {attribute}"),
                    link.rel.clone(),
                    link.url.to_string(),
                ]);
            }
            table.text()
        })?;
        Ok(Exit::Done)
    }

    /// How many links of a file need a base that nobody gave.
    fn assumed(&self, page: &Page) -> usize {
        if self.base.is_some() || ask::web_address(&self.page).is_some() {
            return 0;
        }
        let hangs = |link: &&Link| link.url.as_str().starts_with(ASSUMED);
        page.links.iter().filter(hangs).count()
    }

    fn read(&self) -> anyhow::Result<Page> {
        let base = self.base.as_deref().unwrap_or(ASSUMED);
        let url = ask::web_address(base)
            .ok_or_else(|| Usage::of("--base", format!("'{base}' is not an http or https URL")))?;
        let body =
            fs::read(&self.page).with_context(|| format!("{}: cannot be read", self.page))?;
        Ok(read_body(&url, None, &body))
    }

    fn ask(&self, url: Url) -> anyhow::Result<Page> {
        ask::run(async {
            let (client, _) = self.asking.client(&url)?;
            let (url, response) = ask::landed(ask::follow(&client, url).await)?;
            let body = response.decoded(client.limits()).body;
            Ok(read_body(
                &url,
                ask::header(&response, "content-type"),
                &body,
            ))
        })
    }
}

/// Reads a page as the crawler would.
pub(super) fn read_body(url: &Url, content_type: Option<&str>, body: &[u8]) -> Page {
    read_page(
        PageInput {
            url,
            content_type,
            body,
            agent: AGENT,
        },
        &PageLimits::default(),
    )
}

/// The links of a page, for machines.
pub(super) fn links_json(page: &Page) -> Vec<Value> {
    let each = |link: &Link| {
        let (tag, attribute) = link.kind.tag_and_attribute();
        json!({"tag": tag, "attribute": attribute, "rel": link.rel, "url": link.url.as_str()})
    };
    page.links.iter().map(each).collect()
}
