//! What all connections of a server know: the web, the judge, the clock, and when to stop.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use tokio::sync::watch as signal;
use turnstone_frontier::PageId;

use super::addresses::{address, count_for};
use super::options::{Naming, OnViolation, Options, ServeError};
use super::respond::Responder;
use super::robots::{Robots, Served};
use super::timeline::At;
use super::violation::{Politeness, Violation};
use super::watch::Watch;
use super::web::{Moment, Web};

/// What all connections know.
pub(super) struct Shared {
    pub(super) responder: Responder,
    pub(super) counts_attempts: bool,
    /// By host: where its URLs begin.
    pub(super) origins: Vec<String>,
    pub(super) idle_ms: u64,
    pub(super) stop: signal::Receiver<bool>,
    pub(super) naming: Naming,
    by_name: HashMap<String, u32>,
    pub(super) politeness: Politeness,
    watch: Mutex<Watch>,
    started: Instant,
    scale: f64,
    pub(super) connections: AtomicUsize,
    pub(super) connections_max: usize,
    fail_fast: bool,
    halted: AtomicBool,
    on_violation: Option<OnViolation>,
}

impl Shared {
    pub(super) fn new(
        web: Web,
        options: Options,
        port: u16,
        stop: signal::Receiver<bool>,
    ) -> Result<Self, ServeError> {
        let addresses = count_for(web.host_count(), options.naming);
        let origin = |(host, name): (usize, &String)| match options.naming {
            Naming::ByAddress => format!("http://{}:{port}", address(host)),
            Naming::ByName => format!("http://{name}:{port}"),
        };
        let origins = web.hosts.iter().enumerate().map(origin).collect();
        let by_name = match options.naming {
            Naming::ByAddress => HashMap::new(),
            Naming::ByName => (web.hosts.iter().cloned()).zip(0..).collect(),
        };
        let responder = Responder::new(web, options.faults, options.sitemaps);
        let robots = responder
            .robots
            .as_ref()
            .map_or(Robots::Unknown, Served::rules);
        let names = &responder.web.hosts;
        let mut watch = Watch::new(names, addresses, options.politeness, &robots);
        watch.keep(options.requests_kept);
        if let Some(path) = options.log {
            let log = std::fs::File::create(&path).and_then(|file| watch.log_to(file));
            log.map_err(|source| ServeError::Log { path, source })?;
        }
        let shared = Self {
            counts_attempts: responder.counts_attempts(),
            responder,
            origins,
            idle_ms: options.idle_ms,
            stop,
            naming: options.naming,
            by_name,
            politeness: options.politeness,
            watch: Mutex::new(watch),
            started: Instant::now(),
            scale: options.clock,
            connections: AtomicUsize::new(0),
            connections_max: options.connections_max,
            fail_fast: options.fail_fast,
            halted: AtomicBool::new(false),
            on_violation: options.on_violation,
        };
        shared.go(None, options.at);
        Ok(shared)
    }

    pub(super) fn now_us(&self) -> u64 {
        self.started.elapsed().as_micros() as u64
    }

    pub(super) fn moment(&self) -> Moment {
        Moment {
            scale: self.scale,
            now_us: self.now_us(),
        }
    }

    pub(super) fn watch(&self) -> MutexGuard<'_, Watch> {
        self.watch.lock().expect("nobody panics holding it")
    }

    /// Whether it matters exactly when a request arrives.
    pub(super) fn judges_time(&self) -> bool {
        self.politeness.delay_ms.is_some() || self.politeness.delay_per_address_ms.is_some()
    }

    /// The host a request means.
    pub(super) fn host_of(&self, authority: Option<&str>, address: u32) -> Option<u32> {
        match self.naming {
            Naming::ByAddress => Some(address),
            Naming::ByName => {
                let authority = authority?.to_ascii_lowercase();
                let name = authority
                    .split_once(':')
                    .map_or(authority.as_str(), |(name, _)| name);
                self.by_name.get(name).copied()
            }
        }
    }

    /// Writes accusations down and tells whoever wants to know.
    pub(super) fn accuse(&self, violations: impl IntoIterator<Item = Violation>) {
        for violation in violations {
            if let Some(tell) = &self.on_violation {
                tell(&violation);
            }
            self.watch().accuse(violation);
            if self.fail_fast {
                self.halted.store(true, Ordering::Release);
            }
        }
    }

    /// Whether nothing is answered any more, after an impolite request.
    pub(super) fn is_halted(&self) -> bool {
        self.halted.load(Ordering::Acquire)
    }

    /// Moves one site, or all, in time.
    pub(super) fn go(&self, site: Option<usize>, at: At) {
        let now_us = self.now_us();
        match site {
            Some(site) => self.responder.web.go(site, at, now_us),
            None => (0..self.responder.web.sites.len())
                .for_each(|site| self.responder.web.go(site, at, now_us)),
        }
    }

    pub(super) fn url_of(&self, page: PageId) -> String {
        let places = &self.responder.web.places;
        let mut path = Vec::new();
        super::places::push_escaped(&places.path(page), &mut path);
        let path = String::from_utf8_lossy(&path).replace("&amp;", "&");
        format!("{}{path}", self.origins[places.host(page) as usize])
    }
}

/// A connection that counts as long as it lives.
pub(super) struct Counted {
    shared: Arc<Shared>,
    pub(super) number: usize,
}

impl Counted {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        let number = shared.connections.fetch_add(1, Ordering::AcqRel) + 1;
        let shared = shared.clone();
        Self { shared, number }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.shared.connections.fetch_sub(1, Ordering::AcqRel);
    }
}
