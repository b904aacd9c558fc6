//! Killed at any moment, a server has what it acknowledged, and lends nothing twice that is lent.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use turnstone_urlfrontier::wire::urlfrontier::ack_message::Status;
use turnstone_urlfrontier::wire::urlfrontier::*;

use crate::stand::{Client, Process, discovered, info, known};

/// What the client knows: every URL that was acknowledged, and whether it is done.
#[derive(Default)]
struct Told {
    discovered: BTreeSet<String>,
    done: BTreeSet<String>,
    /// Pages whose loan has not ended and was not settled.
    lent: BTreeSet<String>,
}

/// Puts, gets and tells until the server is gone.
async fn work(mut client: Client, run: usize, mut told: Told) -> Told {
    for number in 0.. {
        let urls: Vec<String> = (0..50)
            .map(|at| format!("http://h{}/{run}/{number}/{at}", at % 7))
            .collect();
        let items: Vec<UrlItem> = urls
            .iter()
            .map(|url| discovered(info("", "", url)))
            .collect();
        let Ok(acks) = client.calls.put_ur_ls(tokio_stream::iter(items)).await else {
            return told;
        };
        let mut acks = acks.into_inner();
        loop {
            match acks.message().await {
                Ok(Some(ack)) if ack.status() == Status::Ok => {
                    told.discovered.insert(ack.id);
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return told,
            }
        }
        let params = GetParams {
            max_urls_per_queue: 3 + told.lent.len() as u32,
            delay_requestable: 3600,
            ..GetParams::default()
        };
        let Ok(lent) = client.calls.get_ur_ls(params).await else {
            return told;
        };
        let (mut lent, mut done) = (lent.into_inner(), Vec::new());
        loop {
            match lent.message().await {
                Ok(Some(page)) => {
                    assert!(
                        told.lent.insert(page.url.clone()),
                        "{} was lent twice",
                        page.url
                    );
                    assert!(!told.done.contains(&page.url), "{} is done", page.url);
                    done.push(page.url);
                }
                Ok(None) => break,
                Err(_) => return told,
            }
        }
        // Every other page is told of; the others stay lent.
        let items: Vec<UrlItem> = done
            .iter()
            .step_by(2)
            .map(|url| known(info("", "", url), 0))
            .collect();
        let Ok(acks) = client.calls.put_ur_ls(tokio_stream::iter(items)).await else {
            return told;
        };
        let mut acks = acks.into_inner();
        loop {
            match acks.message().await {
                Ok(Some(ack)) => {
                    told.lent.remove(&ack.id);
                    told.done.insert(ack.id);
                }
                Ok(None) => break,
                Err(_) => return told,
            }
        }
    }
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_and_nothing_lent_is_lent_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut told = Told::default();
    let kills: usize = std::env::var("KILLS").map_or(8, |kills| kills.parse().unwrap());
    for run in 0..kills {
        let server = Process::start(folder.path());
        let client = Client::to(&server.address).await;
        let killed = async {
            tokio::time::sleep(Duration::from_millis(150 + 37 * (run as u64 % 9))).await;
            server.kill();
        };
        (told, ()) = tokio::join!(work(client, run, told), killed);
        assert!(told.discovered.len() > run, "run {run} did nothing");
    }
    let server = Process::start(folder.path());
    let mut client = Client::to(&server.address).await;
    let all = ListUrlParams {
        size: i32::MAX as u32,
        ..ListUrlParams::default()
    };
    let mut listed = BTreeMap::new();
    for item in client.list(all).await {
        let Some(url_item::Item::Known(item)) = item.item else {
            panic!("every item is a known one");
        };
        let url = item.info.unwrap().url;
        assert!(
            listed
                .insert(url.clone(), item.refetchable_from_date)
                .is_none(),
            "{url} is there twice"
        );
    }
    for url in &told.discovered {
        assert!(
            listed.contains_key(url),
            "{url} was acknowledged and is not there"
        );
    }
    for url in &told.done {
        assert_eq!(listed[url], 0, "{url} was told of and is not done");
    }
    let (size, completed, in_process) = client.stats("", "").await;
    assert_eq!(size + completed, listed.len() as u64);
    assert!(completed >= told.done.len() as u64);
    // Pages may be lent whose answer never came; none that came is free.
    assert!(u64::from(in_process) >= told.lent.len() as u64);
    // The loans and rests are what they were: nothing that is lent is lent again.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    for page in client.get(1_000_000, 0).await {
        assert!(!told.lent.contains(&page.url), "{} is lent", page.url);
        assert!(!told.done.contains(&page.url), "{} is done", page.url);
    }
}
