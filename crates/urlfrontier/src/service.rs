//! The calls of the protocol, each answered by what the owner of the crawls says.

use std::sync::Arc;

use futures_util::stream;
use tokio::sync::mpsc;
use tonic::{Request, Response, Status, Streaming};
use turnstone_frontier::{HostId, PageId, Wish};
use turnstone_ledger::Said;

use crate::crawls::{Crawl, Crawls};
use crate::listing::{self, Pages, Place, Which};
use crate::names;
use crate::owner::{Answer, Owner};
use crate::streams::{self, Sent};
use crate::wire::turnstone::PageBatch;
use crate::wire::turnstone::pages_server::Pages as PagesService;
use crate::wire::urlfrontier::url_frontier_server::UrlFrontier;
use crate::wire::urlfrontier::*;

/// How long a page is lent where nobody says, in seconds.
pub const LOAN_S: u32 = 30;
/// The most pages that one call is lent.
pub const LENT_MAX: usize = 10_000;
/// How many are listed where nobody says.
const LISTED: usize = 100;
/// How many answers of a list are read ahead of the client.
const READ_AHEAD: usize = 256;

/// The service.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) owner: Owner,
    /// What this server is called among nodes.
    pub(crate) address: Arc<str>,
}

impl Service {
    /// Asks something of all crawls.
    async fn ask<T: Send + 'static>(
        &self,
        when: Answer,
        job: impl FnOnce(&mut Crawls) -> Result<T, Status> + Send + 'static,
    ) -> Result<Response<T>, Status> {
        self.owner.ask(when, job).await.map(Response::new)
    }

    /// Says something of a queue, if it is there. Returns whether it is.
    async fn say(
        &self,
        crawl: String,
        key: String,
        said: impl FnOnce(&Crawl) -> Said + Send + 'static,
    ) -> Result<bool, Status> {
        let job = move |crawls: &mut Crawls| {
            let Some(crawl) = crawls.find(names::crawl(&crawl)) else {
                return Ok(false);
            };
            crawl.usable().map_err(Status::unavailable)?;
            let Some((host, _)) = crawl.loans.queue(&key) else {
                return Ok(false);
            };
            let (now, said) = (crawl.now(), said(crawl));
            crawl.loans.say(now, host, said);
            Ok(true)
        };
        self.owner.ask(Answer::Durable, job).await
    }

    /// Forgets the pages of a crawl, or of a queue of it, that were first put before a moment, a slice at a time.
    async fn forget(&self, which: Forget) -> Result<u64, Status> {
        let (mut from, mut forgotten) = (0, 0);
        loop {
            let which = which.clone();
            let job = move |crawls: &mut Crawls| forget_slice(crawls, &which, from);
            let (count, next) = self.owner.ask(Answer::Durable, job).await?;
            forgotten += count;
            match next {
                Some(next) => from = next,
                None => return Ok(forgotten),
            }
        }
    }
}

/// What is to be forgotten.
#[derive(Clone)]
struct Forget {
    crawl: String,
    key: String,
    /// Only what was first put before this many days ago.
    days: Option<u32>,
    /// The queue goes with its pages.
    queue: bool,
}

/// Forgets a slice. Returns how many pages that were, and where the next slice begins.
fn forget_slice(
    crawls: &mut Crawls,
    which: &Forget,
    from: usize,
) -> Result<(u64, Option<usize>), Status> {
    let Some(crawl) = crawls.find(names::crawl(&which.crawl)) else {
        return Ok((0, None));
    };
    crawl.usable().map_err(Status::unavailable)?;
    let only = match which.key.is_empty() {
        true => None,
        false => match crawl.loans.queue(&which.key) {
            Some((host, _)) => Some(host),
            None => return Ok((0, None)),
        },
    };
    let now = crawl.now();
    let before = which
        .days
        .map(|days| now.0.saturating_sub(u64::from(days) * 86_400_000));
    let disk = |error: turnstone_pagestore::StoreError| Status::unavailable(error.to_string());
    let (mut forgotten, mut page) = (0, from);
    let end = crawl.loans.index().page_count();
    while page < end && page < from + listing::SLICE && forgotten < FORGOTTEN_AT_ONCE {
        let id = PageId::from_index(page);
        page += 1;
        if only.is_some_and(|only| only != crawl.loans.lender().host(id))
            || !crawl.loans.is_there(id)
        {
            continue;
        }
        if let Some(before) = before
            && crawl.loans.found_at(id).map_err(disk)?.0 >= before
        {
            // Pages are numbered in the order in which they were found.
            return Ok((forgotten, None));
        }
        crawl.loans.forget(now, id).map_err(disk)?;
        forgotten += 1;
    }
    if page < end {
        return Ok((forgotten, Some(page)));
    }
    if let (true, Some(host)) = (which.queue, only) {
        crawl.loans.say(now, host, Said::Deleted);
    }
    Ok((forgotten, None))
}

/// How many pages are forgotten before others have their turn.
const FORGOTTEN_AT_ONCE: u64 = 2048;

/// A page that was lent.
struct Lent {
    crawl: usize,
    key: Arc<str>,
    place: Place,
}

/// Lends what a call asks for.
fn lend(crawls: &mut Crawls, asked: &GetParams) -> Result<(Vec<Pages>, Vec<Lent>), Status> {
    let (mut pages, mut all) = (Vec::new(), Vec::new());
    let named = match &asked.item {
        Some(get_params::Item::CrawlId(crawl)) => Some(names::crawl(crawl)),
        Some(get_params::Item::AnyCrawlId(_)) | None => None,
    };
    if !crawls.active || (named.is_none() && !asked.key.is_empty()) {
        return Ok((pages, all));
    }
    let which = match named {
        Some(crawl) => vec![Arc::from(crawl)],
        None => crawls.in_turn(),
    };
    let mut queues_left = match asked.max_queues {
        0 => usize::MAX,
        most => most as usize,
    };
    for name in which {
        let Some(crawl) = crawls.find(&name) else {
            continue;
        };
        crawl.usable().map_err(Status::unavailable)?;
        let only = match asked.key.is_empty() {
            true => None,
            false => match crawl.loans.queue(&asked.key) {
                Some((host, _)) => Some(host),
                None => continue,
            },
        };
        let from = all.len();
        lend_of(crawl, pages.len(), asked, only, &mut queues_left, &mut all);
        if all.len() > from {
            pages.push(Pages::of(crawl));
            crawls.turn = Some(name);
        }
        if queues_left == 0 || all.len() >= LENT_MAX {
            break;
        }
    }
    Ok((pages, all))
}

/// Lends from one crawl.
fn lend_of(
    crawl: &mut Crawl,
    number: usize,
    asked: &GetParams,
    only: Option<HostId>,
    queues_left: &mut usize,
    all: &mut Vec<Lent>,
) {
    let now = crawl.now();
    let loan_s = match asked.delay_requestable {
        0 => LOAN_S,
        seconds => seconds,
    };
    let mut lent = Vec::new();
    while *queues_left > 0 && all.len() < LENT_MAX {
        let room = u32::try_from(LENT_MAX - all.len()).unwrap_or(u32::MAX);
        let wish = Wish {
            now,
            until: now.plus(u64::from(loan_s) * 1000),
            pages_max: room,
            loans_max: match asked.max_urls_per_queue {
                0 => u32::MAX,
                most => most,
            },
            only,
        };
        lent.clear();
        let Some(host) = crawl.loans.lend(&wish, &mut lent) else {
            return;
        };
        let key: Arc<str> = crawl.loans.index().host_name(host).into();
        let places = lent.iter().map(|page| Lent {
            crawl: number,
            key: key.clone(),
            place: listing::place(crawl, *page),
        });
        all.extend(places);
        *queues_left -= 1;
    }
}

/// Sends what a thread reads, and no faster than the client takes it.
fn sent<T: Send + 'static>(answers: mpsc::Receiver<Result<T, Status>>) -> Response<Sent<T>> {
    let answers = stream::unfold(answers, |mut answers| async {
        let answer = answers.recv().await?;
        Some((answer, answers))
    });
    Response::new(Box::pin(answers))
}

fn internal(error: &turnstone_pagestore::StoreError) -> Status {
    Status::internal(error.to_string())
}

#[tonic::async_trait]
impl UrlFrontier for Service {
    type GetURLsStream = Sent<UrlInfo>;
    type PutURLsStream = Sent<AckMessage>;
    type PutDiscoveredStream = Sent<BatchAck>;
    type ListURLsStream = Sent<UrlItem>;

    async fn list_nodes(&self, _: Request<Empty>) -> Result<Response<StringList>, Status> {
        let values = vec![(*self.address).to_owned()];
        Ok(Response::new(StringList { values }))
    }

    async fn list_crawls(&self, _: Request<Local>) -> Result<Response<StringList>, Status> {
        self.ask(Answer::Now, |crawls| {
            let crawls = crawls.all.values();
            let with_queues = crawls.filter(|crawl| crawl.loans.lender().queues().next().is_some());
            let values = with_queues.map(|crawl| (*crawl.name).to_owned()).collect();
            Ok(StringList { values })
        })
        .await
    }

    async fn delete_crawl(
        &self,
        asked: Request<DeleteCrawlMessage>,
    ) -> Result<Response<Long>, Status> {
        let name = names::crawl(&asked.into_inner().value).to_owned();
        let job = move |crawls: &mut Crawls| {
            let removed = crawls.remove(&name);
            removed.map_err(|error| Status::unavailable(error.to_string()))
        };
        let (value, folder) = self.owner.ask(Answer::Durable, job).await?;
        if let Some(folder) = folder {
            // A folder that cannot be removed now is when the server starts again.
            let _ = tokio::task::spawn_blocking(|| std::fs::remove_dir_all(folder)).await;
        }
        Ok(Response::new(Long { value }))
    }

    async fn list_queues(&self, asked: Request<Pagination>) -> Result<Response<QueueList>, Status> {
        let asked = asked.into_inner();
        self.ask(Answer::Now, move |crawls| {
            let name = names::crawl(&asked.crawl_id);
            let size = match asked.size {
                0 => LISTED,
                size => size as usize,
            };
            let values: Vec<String> = crawls.find(name).map_or_else(Vec::new, |crawl| {
                let now = crawl.now();
                crawl.loans.pass(now);
                let lender = crawl.loans.lender();
                let matching = lender.queues().filter(|(_, queue)| {
                    asked.include_inactive || (queue.scheduled > 0 && !queue.is_blocked(now))
                });
                let shown = matching.skip(asked.start as usize).take(size);
                shown
                    .map(|(host, _)| crawl.loans.index().host_name(host).to_owned())
                    .collect()
            });
            Ok(QueueList {
                total: 0,
                start: asked.start,
                size: u32::try_from(values.len()).unwrap_or(u32::MAX),
                values,
                crawl_id: name.to_owned(),
            })
        })
        .await
    }

    async fn get_ur_ls(
        &self,
        asked: Request<GetParams>,
    ) -> Result<Response<Self::GetURLsStream>, Status> {
        let asked = asked.into_inner();
        let job = move |crawls: &mut Crawls| lend(crawls, &asked);
        let (pages, lent) = self.owner.ask(Answer::Written, job).await?;
        let (sender, answers) = mpsc::channel(READ_AHEAD);
        tokio::task::spawn_blocking(move || {
            for Lent { crawl, key, place } in lent {
                let read = pages[crawl].read(place, (*key).to_owned());
                let read = read.map(|read| read.info).map_err(|error| internal(&error));
                if sender.blocking_send(read).is_err() {
                    return;
                }
            }
        });
        Ok(sent(answers))
    }

    async fn put_ur_ls(
        &self,
        asked: Request<Streaming<UrlItem>>,
    ) -> Result<Response<Self::PutURLsStream>, Status> {
        Ok(streams::items(self.owner.clone(), asked.into_inner()))
    }

    async fn put_discovered(
        &self,
        asked: Request<Streaming<DiscoveredBatch>>,
    ) -> Result<Response<Self::PutDiscoveredStream>, Status> {
        Ok(streams::batches(self.owner.clone(), asked.into_inner()))
    }

    async fn get_stats(
        &self,
        asked: Request<QueueWithinCrawlParams>,
    ) -> Result<Response<Stats>, Status> {
        let asked = asked.into_inner();
        self.ask(Answer::Now, move |crawls| {
            let name = names::crawl(&asked.crawl_id);
            let mut stats = Stats {
                crawl_id: name.to_owned(),
                ..Stats::default()
            };
            let (mut completed, mut active) = (0, 0);
            if let Some(crawl) = crawls.find(name) {
                let now = crawl.now();
                crawl.loans.pass(now);
                let only = crawl.loans.queue(&asked.key).map(|(host, _)| host);
                for (host, queue) in crawl.loans.lender().queues() {
                    if asked.key.is_empty() || only == Some(host) {
                        stats.size += u64::from(queue.scheduled);
                        stats.in_process += queue.lent;
                        stats.number_of_queues += 1;
                        completed += u64::from(queue.completed);
                        active += u64::from(queue.scheduled > 0);
                    }
                }
            }
            stats.counts.insert("completed".to_owned(), completed);
            stats.counts.insert("active_queues".to_owned(), active);
            Ok(stats)
        })
        .await
    }

    async fn delete_queue(
        &self,
        asked: Request<QueueWithinCrawlParams>,
    ) -> Result<Response<Long>, Status> {
        let asked = asked.into_inner();
        if asked.key.is_empty() {
            return Ok(Response::new(Long { value: 0 }));
        }
        let which = Forget {
            crawl: asked.crawl_id,
            key: asked.key,
            days: None,
            queue: true,
        };
        let value = self.forget(which).await?;
        Ok(Response::new(Long { value }))
    }

    async fn block_queue_until(
        &self,
        asked: Request<BlockQueueParams>,
    ) -> Result<Response<Empty>, Status> {
        let asked = asked.into_inner();
        let until = asked.time;
        // Until a second means through it.
        let said = move |crawl: &Crawl| Said::Blocked(crawl.tick_of(until.saturating_add(1)));
        let _ = self.say(asked.crawl_id, asked.key, said).await?;
        Ok(Response::new(Empty {}))
    }

    async fn set_active(&self, asked: Request<Active>) -> Result<Response<Empty>, Status> {
        let state = asked.into_inner().state;
        self.ask(Answer::Now, move |crawls| {
            crawls.active = state;
            Ok(Empty {})
        })
        .await
    }

    async fn get_active(&self, _: Request<Local>) -> Result<Response<Boolean>, Status> {
        self.ask(Answer::Now, |crawls| {
            let state = crawls.active;
            Ok(Boolean { state })
        })
        .await
    }

    async fn set_delay(&self, asked: Request<QueueDelayParams>) -> Result<Response<Empty>, Status> {
        let asked = asked.into_inner();
        let delay_s = asked.delay_requestable;
        if asked.key.is_empty() {
            let job = move |crawls: &mut Crawls| {
                crawls.set_delay(delay_s);
                Ok(Empty {})
            };
            return self.ask(Answer::Now, job).await;
        }
        let _ = self
            .say(asked.crawl_id, asked.key, move |_| Said::Delay(delay_s))
            .await?;
        Ok(Response::new(Empty {}))
    }

    /// There are no loggers to be set; any name is accepted.
    async fn set_log_level(&self, _: Request<LogLevelParams>) -> Result<Response<Empty>, Status> {
        Ok(Response::new(Empty {}))
    }

    async fn set_crawl_limit(
        &self,
        asked: Request<CrawlLimitParams>,
    ) -> Result<Response<Empty>, Status> {
        let asked = asked.into_inner();
        let limit = asked.limit;
        let unknown = Status::not_found(format!(
            "no queue '{}' in crawl '{}'",
            asked.key,
            names::crawl(&asked.crawl_id)
        ));
        match self
            .say(asked.crawl_id, asked.key, move |_| Said::Limit(limit))
            .await?
        {
            true => Ok(Response::new(Empty {})),
            false => Err(unknown),
        }
    }

    async fn get_url_status(
        &self,
        asked: Request<UrlStatusRequest>,
    ) -> Result<Response<UrlItem>, Status> {
        let UrlStatusRequest { url, key, crawl_id } = asked.into_inner();
        let none = "no key is given, and none can be derived from the URL";
        let key = names::queue(&key, &url).ok_or_else(|| Status::invalid_argument(none))?;
        let unknown = Status::not_found(format!("the URL is not known in queue '{key}'"));
        let queue = key.clone();
        let job = move |crawls: &mut Crawls| {
            let crawl = crawls.find(names::crawl(&crawl_id));
            Ok(crawl.and_then(|crawl| {
                let page = crawl.loans.find(&url, &queue)?;
                Some((Pages::of(crawl), listing::place(crawl, page)))
            }))
        };
        let found = self.owner.ask(Answer::Written, job).await?;
        let (pages, place) = found.ok_or(unknown)?;
        let read = pages.read(place, key).map_err(|error| internal(&error))?;
        Ok(Response::new(read.item()))
    }

    async fn list_ur_ls(
        &self,
        asked: Request<ListUrlParams>,
    ) -> Result<Response<Self::ListURLsStream>, Status> {
        let asked = asked.into_inner();
        let which = Which::new(&asked.crawl_id, asked.key, asked.filter, asked.ignore_case);
        let mut skip = asked.start as usize;
        let mut left = match asked.size {
            0 => LISTED,
            size => size as usize,
        };
        let (sender, answers) = mpsc::channel(READ_AHEAD);
        let (owner, failed) = (self.owner.clone(), sender.clone());
        tokio::spawn(async move {
            let listed = listing::each(&owner, which, move |read| {
                if skip > 0 {
                    skip -= 1;
                    return true;
                }
                left -= 1;
                sender.blocking_send(Ok(read.item())).is_ok() && left > 0
            });
            if let Err(status) = listed.await {
                let _ = failed.send(Err(status)).await;
            }
        });
        Ok(sent(answers))
    }

    async fn count_ur_ls(&self, asked: Request<CountUrlParams>) -> Result<Response<Long>, Status> {
        let asked = asked.into_inner();
        let which = Which::new(
            &asked.crawl_id,
            asked.key.clone(),
            asked.filter,
            asked.ignore_case,
        );
        if which.is_filtered() {
            let count = Arc::new(std::sync::atomic::AtomicU64::new(0));
            let counted = count.clone();
            listing::each(&self.owner, which, move |_| {
                counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                true
            })
            .await?;
            let value = count.load(std::sync::atomic::Ordering::Relaxed);
            return Ok(Response::new(Long { value }));
        }
        let stats = QueueWithinCrawlParams {
            key: asked.key,
            crawl_id: asked.crawl_id,
            local: false,
        };
        let stats = self.get_stats(Request::new(stats)).await?.into_inner();
        let completed = stats.counts.get("completed").copied().unwrap_or(0);
        let value = stats.size + completed;
        Ok(Response::new(Long { value }))
    }

    async fn purge_ur_ls(&self, asked: Request<PurgeUrlParams>) -> Result<Response<Long>, Status> {
        let asked = asked.into_inner();
        let which = Forget {
            crawl: asked.crawl_id,
            key: asked.key,
            days: Some(asked.days),
            queue: false,
        };
        let value = self.forget(which).await?;
        Ok(Response::new(Long { value }))
    }
}

#[tonic::async_trait]
impl PagesService for Service {
    type PutPagesStream = Sent<BatchAck>;

    async fn put_pages(
        &self,
        asked: Request<Streaming<PageBatch>>,
    ) -> Result<Response<Self::PutPagesStream>, Status> {
        Ok(streams::batches(self.owner.clone(), asked.into_inner()))
    }
}
