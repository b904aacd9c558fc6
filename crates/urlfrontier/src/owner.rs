//! The one thread that owns all crawls, and how it is asked.
//!
//! Whoever wants something sends a job: a function of all crawls. The owner runs what waits, writes the journals
//! once, and only then lets answers go: those of [`Answer::Written`] at once, those of [`Answer::Durable`] when a
//! second thread has synced the files. Jobs that arrive meanwhile share the next write and the next sync. So
//! nothing is lent that is not in the journal, nothing acknowledged that a loss of power could take back, and many
//! small calls cost hardly more than one large one.
//!
//! Limits: [`JOBS_MAX`] jobs wait; whoever sends one more waits with it, and does not read from its client.

use std::sync::Arc;
use std::sync::mpsc as threads;
use std::thread;

use tokio::sync::{mpsc, oneshot};
use tonic::Status;
use turnstone_pagestore::{StoreError, Syncer};

use crate::crawls::Crawls;

/// How many jobs may wait.
const JOBS_MAX: usize = 1024;
/// How many jobs share a write.
const SHARED_MAX: usize = 256;
/// How many bytes do, and more than one job: as much as is taken in within some milliseconds.
const WAITING_BYTES_MAX: usize = 2 << 20;
/// How many groups of answers may wait for the disk.
const GROUPS_MAX: usize = 8;

/// When an answer may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// At once: nothing was changed.
    Now,
    /// When it is written: a process that is killed has it.
    Written,
    /// When it is synced: a machine that loses power has it.
    Durable,
}

/// Told whether what was done is where it must be; answers, or says that it failed.
type Reply = Box<dyn FnOnce(Result<(), &str>) + Send>;
type Job = Box<dyn FnOnce(&mut Crawls) -> (Answer, Reply) + Send>;

/// Where jobs are sent.
#[derive(Clone)]
pub(crate) struct Owner {
    jobs: mpsc::Sender<Job>,
    /// Those for which somebody waits who is not putting anything.
    urgent: mpsc::Sender<Job>,
}

/// Answers that wait for the disk.
struct Group {
    syncers: Vec<(Arc<str>, Syncer)>,
    replies: Vec<Reply>,
}

impl Owner {
    /// Gives the crawls to a thread of their own; it ends when nobody can ask any more.
    pub(crate) fn of(crawls: Crawls) -> (Self, thread::JoinHandle<()>) {
        let (jobs, work) = mpsc::channel(JOBS_MAX);
        let (urgent, first) = mpsc::channel(JOBS_MAX);
        let thread = thread::Builder::new()
            .name("frontier".to_owned())
            .spawn(move || own(crawls, Work { work, first }))
            .expect("a process may have two more threads");
        (Self { jobs, urgent }, thread)
    }

    /// Asks. What comes is the answer, still to come. Jobs whose answers are durable are done in the order in which they
    /// were taken, all others before them.
    pub(crate) async fn submit<T: Send + 'static>(
        &self,
        when: Answer,
        job: impl FnOnce(&mut Crawls) -> Result<T, Status> + Send + 'static,
    ) -> Result<oneshot::Receiver<Result<T, Status>>, Status> {
        let (send, answer) = oneshot::channel();
        let job: Job = Box::new(move |crawls| {
            let done = job(crawls);
            let reply: Reply = Box::new(move |written| {
                let written = written.map_err(|why| Status::unavailable(why.to_owned()));
                // Who asked may be gone.
                let _ = send.send(written.and(done));
            });
            (when, reply)
        });
        // What is put comes in streams, and waits for the disk anyway; all else goes before it.
        let jobs = match when {
            Answer::Durable => &self.jobs,
            Answer::Now | Answer::Written => &self.urgent,
        };
        jobs.send(job).await.map_err(|_| ended())?;
        Ok(answer)
    }

    /// Asks, and waits for the answer.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        when: Answer,
        job: impl FnOnce(&mut Crawls) -> Result<T, Status> + Send + 'static,
    ) -> Result<T, Status> {
        self.submit(when, job).await?.await.map_err(|_| ended())?
    }
}

/// What is said where nobody owns the crawls any more.
pub(crate) fn ended() -> Status {
    Status::unavailable("the frontier has ended")
}

/// What is to be done.
struct Work {
    work: mpsc::Receiver<Job>,
    first: mpsc::Receiver<Job>,
}

impl Work {
    /// The next job, once there is one; nothing when nobody can ask any more.
    async fn next(&mut self) -> Option<Job> {
        tokio::select! {
            biased;
            Some(job) = self.first.recv() => Some(job),
            Some(job) = self.work.recv() => Some(job),
            else => None,
        }
    }

    /// The next job, if there is one.
    fn waiting(&mut self) -> Option<Job> {
        self.first.try_recv().or_else(|_| self.work.try_recv()).ok()
    }
}

fn own(mut crawls: Crawls, mut jobs: Work) {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a thread that only waits needs nothing");
    let (groups, work) = threads::sync_channel::<Group>(GROUPS_MAX);
    let (failed, failures) = threads::channel();
    let syncing = thread::Builder::new()
        .name("frontier-sync".to_owned())
        .spawn(move || sync(&work, &failed))
        .expect("a process may have one more thread");
    while let Some(first) = runtime.block_on(jobs.next()) {
        let mut replies = Vec::new();
        let mut job = Some(first);
        while let Some(next) = job {
            replies.push(next(&mut crawls));
            // Whoever is waited for hears as soon as it is written.
            let urgent = replies
                .last()
                .is_some_and(|(when, _)| *when == Answer::Written);
            let room = !urgent && crawls.waiting_bytes() < WAITING_BYTES_MAX;
            job = match room && replies.len() < SHARED_MAX {
                true => jobs.waiting(),
                false => None,
            };
        }
        for (name, why) in failures.try_iter() {
            if let Some(crawl) = crawls.find(&name) {
                crawl.unsafe_because = Some(why);
            }
        }
        let wants = |wanted| replies.iter().any(|(when, _)| *when == wanted);
        let durable = wants(Answer::Durable);
        let (mut syncers, mut written) = (Vec::new(), Ok(()));
        for crawl in crawls
            .all
            .values_mut()
            .filter(|crawl| crawl.loans.waiting_bytes() > 0)
        {
            match crawl.loans.write() {
                Ok(()) if durable => syncers.push((crawl.name.clone(), crawl.loans.syncer())),
                Ok(()) => {}
                Err(error) => {
                    crawl.must_write = true;
                    written = Err(told(&error));
                }
            }
        }
        let mut waiting = Vec::new();
        for (when, reply) in replies {
            match when {
                Answer::Durable if written.is_ok() => waiting.push(reply),
                Answer::Now => reply(Ok(())),
                Answer::Written | Answer::Durable => {
                    reply(written.as_ref().copied().map_err(|why| why.as_str()));
                }
            }
        }
        if !waiting.is_empty() {
            let replies = waiting;
            let group = Group { syncers, replies };
            groups.send(group).expect("the other thread listens");
        }
    }
    drop(groups);
    let _ = syncing.join();
}

/// Makes durable what was written, for all groups that wait at once.
fn sync(groups: &threads::Receiver<Group>, failed: &threads::Sender<(Arc<str>, String)>) {
    while let Ok(mut group) = groups.recv() {
        for more in groups.try_iter() {
            group.replies.extend(more.replies);
            for (name, syncer) in more.syncers {
                if !group.syncers.iter().any(|(known, _)| *known == name) {
                    group.syncers.push((name, syncer));
                }
            }
        }
        let mut synced = Ok(());
        for (name, syncer) in group.syncers {
            if let Err(error) = syncer.sync() {
                // Its owner may be ending.
                let _ = failed.send((name, told(&error)));
                synced = Err(told(&error));
            }
        }
        for reply in group.replies {
            reply(synced.as_ref().copied().map_err(|why| why.as_str()));
        }
    }
}

fn told(error: &StoreError) -> String {
    format!("nothing can be kept: {error}")
}
