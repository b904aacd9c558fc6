//! JSON Feed 1.0 and 1.1.

use serde_json::Value;
use url::Url;

use super::{Feed, FeedEntry, FeedKind, FeedLimits, folded};
use crate::dates::parse_date;
use crate::urls::resolve;

pub(super) fn read(text: &str, url: &Url, limits: &FeedLimits) -> Feed {
    let mut feed = Feed::empty(FeedKind::Unknown);
    let document: Value = match serde_json::from_str(text) {
        Ok(document) => document,
        Err(error) => {
            feed.broken = Some(format!("JSON: {error}"));
            return feed;
        }
    };
    let Some(items) = document.get("items").and_then(Value::as_array) else {
        return feed;
    };
    let text_of =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    feed.kind = FeedKind::Json;
    feed.title = folded(&text_of(&document, "title").unwrap_or_default());
    feed.home =
        text_of(&document, "home_page_url").and_then(|home| resolve(url, &home, &limits.urls).ok());
    for item in items {
        let link = text_of(item, "url").or_else(|| text_of(item, "external_url"));
        // An id is often the address; resolving a bare number would invent one.
        let link = link.or_else(|| text_of(item, "id").filter(|id| id.starts_with("http")));
        let Some(Ok(mut page)) = link.map(|link| resolve(url, &link, &limits.urls)) else {
            feed.refused += 1;
            continue;
        };
        page.set_fragment(None);
        let date = text_of(item, "date_modified").or_else(|| text_of(item, "date_published"));
        let entry = FeedEntry {
            url: page,
            title: folded(&text_of(item, "title").unwrap_or_default()),
            date_s: date.and_then(|d| parse_date(&d)),
        };
        feed.push(entry, limits);
    }
    feed
}
