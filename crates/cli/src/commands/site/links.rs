//! `turnstone links FILE|URL`

use std::fs;

use anyhow::Context as _;
use clap::Args;
use serde_json::{Value, json};
use turnstone_fetch::Url;
use turnstone_fetch::html::{Page, PageInput, PageLimits, read_page};
use turnstone_lab::table::Table;

use super::ask::{self, AGENT, Asking};
use crate::exit::{Exit, Usage};
use crate::output::Output;

/// Show the links of a page as the crawler reads them.
#[derive(Debug, Args)]
pub(crate) struct Links {
    /// An HTML file, or the URL of a page
    page: String,
    /// The URL a file came from, for its relative links
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
        let json = json!({
            "page": self.page,
            "base": page.base.as_str(),
            "title": page.title,
            "encoding": page.encoding,
            "links": links_json(&page),
            "cut": page.cuts.links,
            "refused": page.cuts.links_refused,
        });
        output.result(&json, || {
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

    fn read(&self) -> anyhow::Result<Page> {
        let base = self.base.as_deref().unwrap_or("http://localhost/");
        let url = ask::web_address(base)
            .ok_or_else(|| Usage::of("--base", format!("'{base}' is not an http or https URL")))?;
        let body =
            fs::read(&self.page).with_context(|| format!("{}: cannot be read", self.page))?;
        Ok(read_body(&url, None, &body))
    }

    fn ask(&self, url: Url) -> anyhow::Result<Page> {
        ask::run(async {
            let client = self.asking.client()?;
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
    let each = |link: &turnstone_fetch::html::Link| {
        let (tag, attribute) = link.kind.tag_and_attribute();
        json!({"tag": tag, "attribute": attribute, "rel": link.rel, "url": link.url.as_str()})
    };
    page.links.iter().map(each).collect()
}
