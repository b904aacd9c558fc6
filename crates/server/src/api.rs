//! The same as JSON: what the pages show, and what they order. `docs/schema/server-v1.json` describes it.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, State as Shared};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::{Value, json};

use crate::gate::says_json;
use crate::house::{Asked, House, answer, give, moment_of, order_of_json, url_of};
use crate::picture::{Picture, VERSION};

/// The parts of a picture that the list of all crawls has.
const GLANCE: [&str; 18] = [
    "name",
    "directory",
    "as_of",
    "state",
    "holder",
    "stopped_by",
    "takes_orders",
    "question",
    "policy",
    "known",
    "pages",
    "requests",
    "bytes",
    "open",
    "queued",
    "rate",
    "coverage",
    "warnings",
];

pub(crate) fn routes() -> Router<Arc<House>> {
    Router::new()
        .route("/api/v1/crawls", get(crawls))
        .route("/api/v1/crawls/{name}", get(crawl))
        .route("/api/v1/crawls/{name}/settings", get(settings))
        .route("/api/v1/crawls/{name}/why", get(why))
        .route("/api/v1/crawls/{name}/diff", get(diff))
        .route("/api/v1/crawls/{name}/orders", post(order))
}

fn json(document: &Value) -> Response {
    answer("application/json", format!("{document}\n"))
}

fn error(status: StatusCode, why: &str) -> Response {
    let mut answer = json(&json!({"version": VERSION, "error": why}));
    *answer.status_mut() = status;
    answer
}

fn unknown() -> Response {
    error(StatusCode::NOT_FOUND, "there is no such crawl here")
}

fn whole(picture: &Picture) -> Value {
    serde_json::to_value(picture).unwrap_or_default()
}

async fn crawls(Shared(house): Shared<Arc<House>>) -> Response {
    let glance = |picture: &Arc<Picture>| {
        let mut all = whole(picture);
        GLANCE
            .iter()
            .map(|key| ((*key).to_owned(), all[*key].take()))
            .collect::<serde_json::Map<_, _>>()
    };
    let crawls: Vec<_> = house.pictures().iter().map(glance).collect();
    json(&json!({"version": VERSION, "crawls": crawls}))
}

async fn crawl(Shared(house): Shared<Arc<House>>, Path(name): Path<String>) -> Response {
    match house.room(&name) {
        None => unknown(),
        Some(room) => json(&whole(&room.watch.picture())),
    }
}

async fn settings(Shared(house): Shared<Arc<House>>, Path(name): Path<String>) -> Response {
    let Some(room) = house.room(&name) else {
        return unknown();
    };
    let settings = room.control.as_ref().map(|control| control.settings());
    json(&json!({"version": VERSION, "settings": settings}))
}

async fn why(
    Shared(house): Shared<Arc<House>>,
    Path(name): Path<String>,
    Query(asked): Query<Asked>,
) -> Response {
    let Some(room) = house.room(&name) else {
        return unknown();
    };
    let directory = room.watch.directory.clone();
    let told = match url_of(&asked) {
        Err(why) => Err(why),
        Ok(url) => house.heavy(move |all| all.why(&directory, &url)).await,
    };
    match told {
        Ok(told) => json(&json!({"version": VERSION, "why": told.json})),
        Err(why) => error(StatusCode::BAD_REQUEST, &why),
    }
}

async fn diff(
    Shared(house): Shared<Arc<House>>,
    Path(name): Path<String>,
    Query(asked): Query<Asked>,
) -> Response {
    let Some(room) = house.room(&name) else {
        return unknown();
    };
    let (directory, at) = (room.watch.directory.clone(), moment_of(&asked));
    let compared = match url_of(&asked) {
        Err(why) => Err(why),
        Ok(url) => house.heavy(move |all| all.diff(&directory, &url, at)).await,
    };
    match compared {
        Ok(compared) => json(&json!({"version": VERSION, "diff": compared.json})),
        Err(why) => error(StatusCode::BAD_REQUEST, &why),
    }
}

async fn order(
    Shared(house): Shared<Arc<House>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if house.room(&name).is_none() {
        return unknown();
    }
    if !says_json(&headers) {
        let why = "an order is application/json";
        return error(StatusCode::UNSUPPORTED_MEDIA_TYPE, why);
    }
    let order = match order_of_json(&body) {
        Ok(order) => order,
        Err(refused) => return error(StatusCode::BAD_REQUEST, &refused.to_string()),
    };
    match give(&house, &name, order).await {
        Ok(done) => json(&json!({"version": VERSION, "done": done})),
        Err(refused) => error(StatusCode::CONFLICT, &refused.to_string()),
    }
}
