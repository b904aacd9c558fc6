//! Which store a URL names, and how its server is asked.

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use object_store::aws::AmazonS3Builder;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStore, RetryConfig};
use turnstone_fetch::{AllowPrivate, Url};

use super::files::DepotError;
use crate::guarded;

/// How long one request may take: a part of a file up a slow line.
const TIME_MAX: Duration = Duration::from_secs(300);
/// How often a request is made again.
const RETRIES_MAX: usize = 4;
/// How long requests are made again.
const RETRY_TIME_MAX: Duration = Duration::from_secs(60);
/// The longest answer that is taken: more than any part that we ask for.
const ANSWER_BYTES_MAX: u64 = 256 << 20;

/// A store, the folder in it, and the URL of that.
pub(super) struct Place {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) folder: Path,
    pub(super) url: String,
}

impl Place {
    pub(super) fn of(text: &str, private: &AllowPrivate) -> Result<Self, DepotError> {
        let refuse = |why: &str| DepotError::Place {
            // Whatever somebody wrote there by mistake.
            url: text.split('@').next_back().unwrap_or_default().to_owned(),
            why: why.to_owned(),
        };
        let url =
            Url::parse(text).map_err(|_| refuse("write s3://BUCKET/PREFIX or file:///FOLDER"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refuse(
                "no credentials in a URL; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment",
            ));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(refuse("a URL of a store has no '?' and no '#'"));
        }
        let shown = text.trim_end_matches('/').to_owned();
        match url.scheme() {
            "s3" => {
                let bucket = url.host_str().filter(|host| !host.is_empty());
                let bucket = bucket.ok_or_else(|| refuse("it names no bucket"))?;
                let path =
                    Path::from_url_path(url.path()).map_err(|error| refuse(&error.to_string()))?;
                let store = AmazonS3Builder::from_env()
                    .with_bucket_name(bucket)
                    // The scheme of the endpoint is what the operator wrote.
                    .with_allow_http(true)
                    .with_retry(RetryConfig {
                        max_retries: RETRIES_MAX,
                        retry_timeout: RETRY_TIME_MAX,
                        ..RetryConfig::default()
                    })
                    .with_http_connector(Asking(private.clone()))
                    .build()
                    .map_err(|error| refuse(&error.to_string()))?;
                Ok(Self {
                    store: Arc::new(store),
                    folder: path,
                    url: shown,
                })
            }
            "file" => {
                let folder = url
                    .to_file_path()
                    .map_err(|()| refuse("no folder of this machine"))?;
                std::fs::create_dir_all(&folder).map_err(|error| refuse(&error.to_string()))?;
                let store = LocalFileSystem::new_with_prefix(&folder)
                    .map_err(|error| refuse(&error.to_string()))?
                    .with_fsync(true);
                Ok(Self {
                    store: Arc::new(store),
                    folder: Path::default(),
                    url: shown,
                })
            }
            _ => Err(refuse("write s3://BUCKET/PREFIX or file:///FOLDER")),
        }
    }
}

/// Makes the client; whom it may ask.
#[derive(Debug)]
struct Asking(AllowPrivate);

impl HttpConnector for Asking {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Client(guarded::agent(&self.0, TIME_MAX))))
    }
}

/// Asks by the blocking client, on a thread that may block.
#[derive(Debug)]
struct Client(ureq::Agent);

#[async_trait::async_trait]
impl HttpService for Client {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let agent = self.0.clone();
        let (parts, body) = request.into_parts();
        let unsent = |error| HttpError::new(HttpErrorKind::Request, error);
        let body: Bytes = match body.as_bytes() {
            Some(bytes) => bytes.clone(),
            None => body.collect().await?.to_bytes(),
        };
        let asked = tokio::task::spawn_blocking(move || ask(&agent, parts, &body)).await;
        asked.map_err(unsent)?
    }
}

fn ask(
    agent: &ureq::Agent,
    parts: http::request::Parts,
    body: &[u8],
) -> Result<HttpResponse, HttpError> {
    let request = http::Request::from_parts(parts, body);
    let answer = agent.run(request).map_err(|error| {
        let kind = match &error {
            ureq::Error::Timeout(_) => HttpErrorKind::Timeout,
            // What the guard refuses is refused again.
            ureq::Error::Other(_) | ureq::Error::BadUri(_) => HttpErrorKind::Unknown,
            ureq::Error::Io(_) => HttpErrorKind::Interrupted,
            _ => HttpErrorKind::Connect,
        };
        HttpError::new(kind, error)
    })?;
    let (parts, body) = answer.into_parts();
    let mut bytes = Vec::new();
    let read = body
        .into_reader()
        .take(ANSWER_BYTES_MAX)
        .read_to_end(&mut bytes);
    read.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error))?;
    let body = Full::new(Bytes::from(bytes)).map_err(|never| match never {});
    Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(body)))
}
