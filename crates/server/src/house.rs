//! The server as a whole: which path is answered by what.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Form, Path, Query, Request, State as Shared};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, WWW_AUTHENTICATE,
};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{get, post};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use turnstone_pagestore::StoreError;

use crate::answers::Answers;
use crate::gate::{Gate, POLICY, REPORT_POLICY};
use crate::listen::{self, Traffic};
use crate::orders::{Budgets, Control, Order, Refused, ScopeTerms};
use crate::pages;
use crate::picture::Picture;
use crate::watch::{Watch, Watched};
use crate::{api, live, metrics};

/// The longest body of a request.
const BODY_BYTES_MAX: usize = 64 << 10;
/// How long a request may take, from its head to the head of its answer.
const REQUEST_TIME: Duration = Duration::from_secs(30);
/// The longest URL that is asked about.
const URL_BYTES_MAX: usize = 20_000;

/// Why a server cannot begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A directory cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A crawl that is shown, and who takes orders for it.
pub(crate) struct Room {
    pub(crate) watch: Watch,
    pub(crate) control: Option<Arc<dyn Control>>,
    pub(crate) last: live::Last,
}

/// Everything that requests share.
pub struct House {
    pub(crate) rooms: Vec<Room>,
    answers: Arc<dyn Answers>,
    gate: Gate,
    /// Answers that read much, one at a time.
    heavy: Arc<Semaphore>,
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) traffic: Arc<Traffic>,
    pub(crate) overview: live::Last,
}

impl House {
    /// A server for these directories. Reads their journals.
    pub fn open(
        directories: &[PathBuf],
        answers: Arc<dyn Answers>,
        gate: Gate,
    ) -> Result<Self, ServeError> {
        let mut house = Self {
            rooms: Vec::new(),
            answers,
            gate,
            heavy: Arc::new(Semaphore::new(1)),
            streams: Arc::new(Semaphore::new(live::STREAMS_MAX)),
            traffic: Arc::default(),
            overview: live::Last::default(),
        };
        for directory in directories {
            house.watch(directory.clone(), None)?;
        }
        Ok(house)
    }

    /// The same for the crawl that this process runs.
    pub fn of_crawl(
        directory: PathBuf,
        answers: Arc<dyn Answers>,
        gate: Gate,
        control: Arc<dyn Control>,
    ) -> Result<Self, ServeError> {
        let mut house = Self::open(&[], answers, gate)?;
        house.watch(directory, Some(control))?;
        Ok(house)
    }

    fn watch(
        &mut self,
        directory: PathBuf,
        control: Option<Arc<dyn Control>>,
    ) -> Result<(), ServeError> {
        let name = self.free_name(&directory);
        let watched = Watched {
            name,
            directory,
            takes_orders: control.is_some(),
        };
        self.rooms.push(Room {
            watch: Watch::start(watched, self.answers.clone())?,
            control,
            last: live::Last::default(),
        });
        Ok(())
    }

    /// The last part of a path, fit for an address, and not taken yet.
    fn free_name(&self, directory: &std::path::Path) -> String {
        let full = directory.canonicalize();
        let last = full.as_deref().unwrap_or(directory).file_name();
        let plain: String = last
            .map_or_else(|| "crawl".into(), std::ffi::OsStr::to_string_lossy)
            .chars()
            .map(|c| match c {
                c if c.is_ascii_alphanumeric() || "._-".contains(c) => c,
                _ => '-',
            })
            .take(60)
            .collect();
        let taken = |name: &str| self.rooms.iter().any(|room| room.watch.name == name);
        let mut name = plain.clone();
        let mut number = 2;
        while taken(&name) {
            name = format!("{plain}-{number}");
            number += 1;
        }
        name
    }

    /// Answers until it is dropped.
    pub async fn serve(self: Arc<Self>, listener: TcpListener) {
        let traffic = self.traffic.clone();
        listen::answer(listener, router(self), traffic).await;
    }

    pub(crate) fn room(&self, name: &str) -> Option<&Room> {
        self.rooms.iter().find(|room| room.watch.name == name)
    }

    /// How many look at once.
    pub(crate) fn streams_open(&self) -> u32 {
        let open = live::STREAMS_MAX - self.streams.available_permits();
        u32::try_from(open).unwrap_or(u32::MAX)
    }

    pub(crate) fn pictures(&self) -> Vec<Arc<Picture>> {
        self.rooms.iter().map(|room| room.watch.picture()).collect()
    }

    /// Has a heavy answer made, on a thread of its own; whoever comes meanwhile waits its turn.
    pub(crate) async fn heavy<T: Send + 'static>(
        &self,
        make: impl FnOnce(&dyn Answers) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let permit = self.heavy.clone().acquire_owned().await;
        let answers = self.answers.clone();
        let made = tokio::task::spawn_blocking(move || {
            let made = make(&*answers);
            drop(permit);
            made
        });
        made.await
            .unwrap_or_else(|_| Err("this answer could not be made; see the log".to_owned()))
    }
}

/// What comes in by an address.
pub(crate) type Asked = HashMap<String, String>;

fn router(house: Arc<House>) -> Router {
    Router::new()
        .route("/", get(overview))
        .route("/live", get(live::overview))
        .route("/why", get(why_somewhere))
        .route("/c/{name}", get(crawl))
        .route("/c/{name}/live", get(live::crawl))
        .route("/c/{name}/why", get(why))
        .route("/c/{name}/diff", get(diff))
        .route("/c/{name}/events", get(events))
        .route("/c/{name}/hosts", get(hosts))
        .route("/c/{name}/report", get(report))
        .route("/c/{name}/orders", post(order))
        .route("/healthz", get(|| async { text("ok\n") }))
        .route("/metrics", get(metrics::answer))
        .route("/static/style.css", get(style))
        .route("/static/live.js", get(script))
        .route("/static/icon.svg", get(icon))
        .merge(api::routes())
        .fallback(|| async { not_found() })
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn_with_state(house.clone(), guarded))
        .with_state(house)
}

/// What comes before and after every answer.
async fn guarded(Shared(house): Shared<Arc<House>>, request: Request, next: Next) -> Response {
    let admitted = house
        .gate
        .admit(request.method(), request.uri(), request.headers());
    let mut answer = match admitted {
        Err(refusal) => {
            let mut answer = text(&format!("{}\n", refusal.why));
            *answer.status_mut() = refusal.status;
            if refusal.status == StatusCode::UNAUTHORIZED {
                let dialogue = HeaderValue::from_static("Basic realm=\"turnstone\"");
                answer.headers_mut().insert(WWW_AUTHENTICATE, dialogue);
            }
            answer
        }
        Ok(()) => match tokio::time::timeout(REQUEST_TIME, next.run(request)).await {
            Ok(answer) => answer,
            Err(_) => {
                let mut answer = text("this takes longer than a request may; try again later\n");
                *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                answer
            }
        },
    };
    let headers = answer.headers_mut();
    headers
        .entry(CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static(POLICY));
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    answer
}

/// An answer of a media type.
pub(crate) fn answer(media: &'static str, body: impl Into<Body>) -> Response {
    let mut answer = Response::new(body.into());
    answer
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(media));
    answer
}

pub(crate) fn text(body: &str) -> Response {
    answer("text/plain; charset=utf-8", body.to_owned())
}

fn html(body: String) -> Response {
    answer("text/html; charset=utf-8", body)
}

fn not_found() -> Response {
    let mut answer = html(pages::said("Not found", "There is no such page here."));
    *answer.status_mut() = StatusCode::NOT_FOUND;
    answer
}

fn see(path: &str) -> Response {
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = StatusCode::SEE_OTHER;
    if let Ok(path) = HeaderValue::from_str(path) {
        answer.headers_mut().insert(LOCATION, path);
    }
    answer
}

async fn style() -> Response {
    answer("text/css; charset=utf-8", include_str!("static/style.css"))
}

async fn script() -> Response {
    answer(
        "text/javascript; charset=utf-8",
        include_str!("static/live.js"),
    )
}

async fn icon() -> Response {
    answer("image/svg+xml", include_str!("static/icon.svg"))
}

async fn overview(Shared(house): Shared<Arc<House>>) -> Response {
    html(pages::overview::page(&house.pictures()))
}

async fn crawl(Shared(house): Shared<Arc<House>>, Path(name): Path<String>) -> Response {
    crawl_page(&house, &name, None)
}

fn crawl_page(house: &House, name: &str, said: Option<&str>) -> Response {
    let Some(room) = house.room(name) else {
        return not_found();
    };
    let picture = room.watch.picture();
    let settings = room.control.as_ref().map(|control| control.settings());
    let orders = settings
        .as_ref()
        .map(|settings| (house.gate.form_token(), settings));
    html(pages::crawl::page(&picture, orders, said))
}

async fn why_somewhere(Query(asked): Query<Asked>) -> Response {
    let part = |key: &str| crate::words::query(asked.get(key).map_or("", String::as_str));
    see(&format!("/c/{}/why?url={}", part("crawl"), part("url")))
}

/// The URL that is asked about.
pub(crate) fn url_of(asked: &Asked) -> Result<String, String> {
    match asked.get("url").map(|url| url.trim()) {
        None | Some("") => Err("give a URL such as https://example.org/".to_owned()),
        Some(url) if url.len() > URL_BYTES_MAX => {
            Err(format!("a URL has at most {URL_BYTES_MAX} bytes"))
        }
        Some(url) => Ok(url.to_owned()),
    }
}

async fn why(
    Shared(house): Shared<Arc<House>>,
    Path(name): Path<String>,
    Query(asked): Query<Asked>,
) -> Response {
    let Some(room) = house.room(&name) else {
        return not_found();
    };
    let (directory, url) = (room.watch.directory.clone(), url_of(&asked));
    let shown = asked.get("url").cloned().unwrap_or_default();
    let told = match url {
        Err(why) => Err(why),
        Ok(url) => house.heavy(move |all| all.why(&directory, &url)).await,
    };
    html(pages::single::why(&name, &shown, &told))
}

async fn diff(
    Shared(house): Shared<Arc<House>>,
    Path(name): Path<String>,
    Query(asked): Query<Asked>,
) -> Response {
    let Some(room) = house.room(&name) else {
        return not_found();
    };
    let (directory, at) = (room.watch.directory.clone(), moment_of(&asked));
    let shown = asked.get("url").cloned().unwrap_or_default();
    let compared = match url_of(&asked) {
        Err(why) => Err(why),
        Ok(url) => house.heavy(move |all| all.diff(&directory, &url, at)).await,
    };
    html(pages::single::diff(&name, &shown, &compared))
}

/// The moment that is asked about.
pub(crate) fn moment_of(asked: &Asked) -> Option<u64> {
    turnstone_pagestore::warc::parse_warc_date(asked.get("at")?)
}

async fn events(
    Shared(house): Shared<Arc<House>>,
    Path(name): Path<String>,
    Query(asked): Query<Asked>,
) -> Response {
    match house.room(&name) {
        None => not_found(),
        Some(room) => html(pages::single::events(
            &room.watch.picture(),
            asked.get("kind").map(String::as_str),
        )),
    }
}

async fn hosts(Shared(house): Shared<Arc<House>>, Path(name): Path<String>) -> Response {
    match house.room(&name) {
        None => not_found(),
        Some(room) => html(pages::single::hosts(&room.watch.picture())),
    }
}

async fn report(Shared(house): Shared<Arc<House>>, Path(name): Path<String>) -> Response {
    let Some(room) = house.room(&name) else {
        return not_found();
    };
    let directory = room.watch.directory.clone();
    match house.heavy(move |all| all.report(&directory)).await {
        Err(why) => html(pages::said("No report", &crate::words::shown(&why))),
        Ok(report) => {
            let mut answer = html(report);
            let policy = HeaderValue::from_static(REPORT_POLICY);
            answer.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
            answer
        }
    }
}

/// An order out of a form.
async fn order(
    Shared(house): Shared<Arc<House>>,
    Path(name): Path<String>,
    Form(form): Form<Asked>,
) -> Response {
    let token = form.get("token").map_or("", String::as_str);
    if !house.gate.is_our_form(token) {
        let mut answer = html(pages::said(
            "Not done",
            "This form is of an earlier start of the server, or of another page. Load the page again.",
        ));
        *answer.status_mut() = StatusCode::FORBIDDEN;
        return answer;
    }
    let carried_out = match order_of(&form) {
        Err(refused) => Err(refused),
        Ok(order) => give(&house, &name, order).await,
    };
    match carried_out {
        Ok(_) => see(&format!("/c/{}#orders", crate::words::query(&name))),
        Err(refused) => {
            let mut answer = crawl_page(&house, &name, Some(&refused.to_string()));
            if answer.status() == StatusCode::OK {
                *answer.status_mut() = StatusCode::CONFLICT;
            }
            answer
        }
    }
}

/// Gives an order to whoever runs the crawl.
pub(crate) async fn give(house: &House, name: &str, order: Order) -> Result<String, Refused> {
    let control = house.room(name).and_then(|room| room.control.clone());
    match control {
        Some(control) => control.carry_out(order).await,
        None => Err(Refused(
            "orders are taken by the process that runs the crawl, where it was started with --listen"
                .to_owned(),
        )),
    }
}

/// An order as a form says it.
fn order_of(form: &Asked) -> Result<Order, Refused> {
    let text = |key: &str| form.get(key).map_or("", |text| text.trim());
    let lines = |key: &str| {
        let lines = text(key).lines().map(str::trim);
        lines
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let figure = |key: &str| match text(key) {
        "" => Ok(None),
        figure => figure
            .parse()
            .map(Some)
            .map_err(|_| Refused(format!("{key}: '{figure}' is no whole number"))),
    };
    Ok(match text("order") {
        "pause" => Order::Pause {},
        "resume" => Order::Resume {},
        "stop" => Order::Stop {},
        "seeds" => Order::Seeds { add: lines("add") },
        "budgets" => Order::Budgets {
            budgets: Budgets {
                pages: figure("pages")?,
                requests: figure("requests")?,
                bytes: figure("bytes")?,
                time: Some(text("time").to_owned()).filter(|time| !time.is_empty()),
            },
        },
        "scope" => Order::Scope {
            scope: ScopeTerms {
                hosts: lines("hosts"),
                sites: lines("sites"),
                prefixes: lines("prefixes"),
                include: lines("include"),
                exclude: lines("exclude"),
                everywhere: text("everywhere") == "yes",
                depth: figure("depth")?
                    .map(u32::try_from)
                    .transpose()
                    .map_err(|_| Refused("depth: too large".to_owned()))?,
            },
        },
        other => {
            return Err(Refused(format!(
                "there is no order '{}'; there are pause, resume, stop, seeds, scope, budgets",
                crate::words::shown(other)
            )));
        }
    })
}

/// Bytes of an order in JSON.
pub(crate) fn order_of_json(body: &Bytes) -> Result<Order, Refused> {
    serde_json::from_slice(body).map_err(|error| Refused(format!("this is no order: {error}")))
}
