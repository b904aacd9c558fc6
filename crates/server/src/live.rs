//! Live updates as server-sent events: the changing part of a page, when there is another picture.
//!
//! A part is made once for all who look, however many. A reader gets at most one a second (fewer where many look), and only one that
//! differs from the last; who reads slowly misses some, for what is kept is the newest picture and no queue. A
//! stream ends after an hour, and the browser begins another.
//!
//! Limit: [`STREAMS_MAX`] at once.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State as Shared};
use axum::http::StatusCode;
use axum::response::Response;
use futures_util::stream;
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout};

use crate::house::{House, answer, text};
use crate::pages;
use crate::picture::Picture;

/// The most streams at once.
pub const STREAMS_MAX: usize = 256;
/// The least time between two parts, and how much longer for each that looks: many dashboards cost the crawl
/// no more than a few.
const APART: Duration = Duration::from_secs(1);
const APART_EACH: Duration = Duration::from_millis(15);
/// When a line is sent that means nothing, so that both sides know of each other.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);
/// How long a stream lives.
const LIFE: Duration = Duration::from_secs(3600);

/// The part that was made last, and of which pictures.
#[derive(Debug, Default)]
pub(crate) struct Last(Mutex<Option<(Vec<Arc<Picture>>, Bytes)>>);

impl Last {
    /// The part for these pictures, made if it is not there.
    fn part(
        &self,
        pictures: Vec<Arc<Picture>>,
        make: impl FnOnce(&[Arc<Picture>]) -> (String, String),
    ) -> Bytes {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, part)) = &*last
            && of.len() == pictures.len()
            && of.iter().zip(&pictures).all(|(a, b)| Arc::ptr_eq(a, b))
        {
            return part.clone();
        }
        let (state, html) = make(&pictures);
        let data = json!({"state": state, "html": html});
        let part = Bytes::from(format!("data: {data}\n\n"));
        *last = Some((pictures, part.clone()));
        part
    }
}

/// Which part a stream is of.
enum Of {
    All,
    Crawl(String),
}

impl Of {
    fn part(&self, house: &House) -> Option<Bytes> {
        match self {
            Self::All => Some(house.overview.part(house.pictures(), |pictures| {
                let html = pages::overview::live(pictures).into_string();
                (String::new(), html)
            })),
            Self::Crawl(name) => {
                let room = house.room(name)?;
                let pictures = vec![room.watch.picture()];
                Some(room.last.part(pictures, |pictures| {
                    let html = pages::crawl::live(&pictures[0]).into_string();
                    (pictures[0].state.name().to_owned(), html)
                }))
            }
        }
    }
}

/// A stream under way.
struct Reader {
    house: Arc<House>,
    of: Of,
    last: Bytes,
    ends: Instant,
    _permit: OwnedSemaphorePermit,
}

pub(crate) async fn overview(Shared(house): Shared<Arc<House>>) -> Response {
    stream(house, Of::All)
}

pub(crate) async fn crawl(Shared(house): Shared<Arc<House>>, Path(name): Path<String>) -> Response {
    stream(house, Of::Crawl(name))
}

fn stream(house: Arc<House>, of: Of) -> Response {
    let (Ok(permit), Some(_)) = (house.streams.clone().try_acquire_owned(), of.part(&house)) else {
        let mut answer = text("there is no such crawl, or too many look at once\n");
        *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        return answer;
    };
    let reader = Reader {
        house,
        of,
        last: Bytes::new(),
        ends: Instant::now() + LIFE,
        _permit: permit,
    };
    let parts = stream::unfold(reader, |mut reader| async move {
        let part = reader.next().await?;
        Some((Ok::<Bytes, Infallible>(part), reader))
    });
    answer("text/event-stream", Body::from_stream(parts))
}

impl Reader {
    /// The next part that differs from the last one, or a sign of life.
    async fn next(&mut self) -> Option<Bytes> {
        if Instant::now() >= self.ends {
            return None;
        }
        let first = self.last.is_empty();
        let changed = async {
            let mut wait = !first;
            loop {
                if wait {
                    tokio::time::sleep(APART + APART_EACH * self.house.streams_open()).await;
                }
                wait = true;
                let part = self.of.part(&self.house)?;
                if part != self.last {
                    self.last = part.clone();
                    return Some(part);
                }
            }
        };
        match timeout(SIGN_OF_LIFE, changed).await {
            Ok(part) => part,
            Err(_) => Some(Bytes::from_static(b": still here\n\n")),
        }
    }
}
