//! A server for tests, in this process or in one that can be killed, and a client.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio_stream::iter;
use tonic::transport::Channel;
use turnstone_urlfrontier::wire::turnstone::pages_client::PagesClient;
use turnstone_urlfrontier::wire::urlfrontier::ack_message::Status;
use turnstone_urlfrontier::wire::urlfrontier::url_frontier_client::UrlFrontierClient;
use turnstone_urlfrontier::wire::urlfrontier::*;
use turnstone_urlfrontier::{Frontier, Settings};

/// The folder that the server process works in.
const FOLDER: &str = "TURNSTONE_TEST_FRONTIER";

pub(crate) fn settings() -> Settings {
    Settings {
        make: Arc::new(|_| Ok(None)),
        policy: "oldest".to_owned(),
        delay_s: 0,
    }
}

/// A client that is connected.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) calls: UrlFrontierClient<Channel>,
    pub(crate) pages: PagesClient<Channel>,
}

impl Client {
    pub(crate) async fn to(address: &str) -> Self {
        let channel = Channel::from_shared(format!("http://{address}")).unwrap();
        let channel = channel.connect().await.unwrap();
        Self {
            calls: UrlFrontierClient::new(channel.clone()),
            pages: PagesClient::new(channel),
        }
    }

    /// Puts items in one stream, and returns the acknowledgements.
    pub(crate) async fn put(&mut self, items: Vec<UrlItem>) -> Vec<(String, Status)> {
        let mut acks = self
            .calls
            .put_ur_ls(iter(items))
            .await
            .unwrap()
            .into_inner();
        let mut all = Vec::new();
        while let Some(ack) = acks.message().await.unwrap() {
            all.push((ack.id.clone(), ack.status()));
        }
        all
    }

    /// Puts one item.
    pub(crate) async fn put_one(&mut self, item: UrlItem) -> Status {
        let acks = self.put(vec![item]).await;
        assert_eq!(acks.len(), 1);
        acks[0].1
    }

    /// Gets URLs: at most so many of each queue, of at most so many queues.
    pub(crate) async fn get(&mut self, per_queue: u32, queues: u32) -> Vec<UrlInfo> {
        self.get_of(GetParams {
            max_urls_per_queue: per_queue,
            max_queues: queues,
            ..GetParams::default()
        })
        .await
    }

    pub(crate) async fn get_of(&mut self, params: GetParams) -> Vec<UrlInfo> {
        let mut urls = self.calls.get_ur_ls(params).await.unwrap().into_inner();
        let mut all = Vec::new();
        while let Some(url) = urls.message().await.unwrap() {
            all.push(url);
        }
        all
    }

    pub(crate) async fn stats(&mut self, crawl: &str, key: &str) -> (u64, u64, u32) {
        let asked = QueueWithinCrawlParams {
            key: key.to_owned(),
            crawl_id: crawl.to_owned(),
            local: false,
        };
        let stats = self.calls.get_stats(asked).await.unwrap().into_inner();
        (stats.size, stats.counts["completed"], stats.in_process)
    }

    pub(crate) async fn list(&mut self, params: ListUrlParams) -> Vec<UrlItem> {
        let mut urls = self.calls.list_ur_ls(params).await.unwrap().into_inner();
        let mut all = Vec::new();
        while let Some(url) = urls.message().await.unwrap() {
            all.push(url);
        }
        all
    }
}

/// A URL of a crawl and a queue; an empty key is derived by the server.
pub(crate) fn info(crawl: &str, key: &str, url: &str) -> UrlInfo {
    UrlInfo {
        url: url.to_owned(),
        key: key.to_owned(),
        crawl_id: crawl.to_owned(),
        ..UrlInfo::default()
    }
}

pub(crate) fn discovered(info: UrlInfo) -> UrlItem {
    UrlItem {
        item: Some(url_item::Item::Discovered(DiscoveredUrlItem {
            info: Some(info),
        })),
        ..UrlItem::default()
    }
}

pub(crate) fn known(info: UrlInfo, refetchable_from_date: u64) -> UrlItem {
    UrlItem {
        item: Some(url_item::Item::Known(KnownUrlItem {
            info: Some(info),
            refetchable_from_date,
        })),
        ..UrlItem::default()
    }
}

/// A server in this process, until it is dropped.
pub(crate) struct Stand {
    pub(crate) address: String,
    pub(crate) folder: tempfile::TempDir,
    server: tokio::task::JoinHandle<()>,
}

impl Stand {
    pub(crate) async fn start(settings: Settings) -> (Self, Client) {
        Self::with_token(settings, None).await
    }

    pub(crate) async fn with_token(settings: Settings, token: Option<String>) -> (Self, Client) {
        let folder = tempfile::tempdir().unwrap();
        let frontier = Frontier::open(folder.path(), settings, token).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = tokio::spawn(async move {
            frontier
                .serve(listener, std::future::pending())
                .await
                .unwrap();
        });
        let client = Client::to(&address).await;
        let stand = Self {
            address,
            folder,
            server,
        };
        (stand, client)
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// A server in a process of its own, which ends with this value as if by loss of power.
pub(crate) struct Process {
    child: Child,
    pub(crate) address: String,
}

impl Process {
    pub(crate) fn start(folder: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "stand::server_process",
                "--ignored",
                "--nocapture",
            ])
            .env(FOLDER, folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut said = lines.map_while(Result::ok).filter_map(|line| {
            line.split_once("frontier: ")
                .map(|(_, address)| address.to_owned())
        });
        let address = said.next().expect("the server says where it listens");
        Self { child, address }
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Not a test: the server of [`Process`].
#[test]
#[ignore = "the server process of other tests"]
fn server_process() {
    let folder = std::env::var_os(FOLDER).expect("other tests start it");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let frontier = Frontier::open(Path::new(&folder), settings(), None).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("frontier: {}", listener.local_addr().unwrap());
        let end = tokio::time::sleep(Duration::from_secs(120));
        frontier.serve(listener, end).await.unwrap();
    });
}
