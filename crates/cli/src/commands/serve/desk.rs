//! Where orders are given to the crawl of this process: what people wrote becomes what the crawl knows, and
//! `turnstone.toml` what the next run shall do.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use turnstone_crawl::{GivenOrder, Make, Order as Given};
use turnstone_fetch::{Guard, Url};
use turnstone_frontier::Policy;
use turnstone_questions::Asked;
use turnstone_server::{Budgets, Control, Later, Order, Refused, SEEDS_MAX, ScopeTerms, Settings};

use crate::commands::crawl;
use crate::commands::crawl::config::{Config, ScopeConfig};
use crate::commands::live;
use crate::log;

/// Orders that wait.
const ORDERS_MAX: usize = 16;

/// What a crawl is told, and what its journal says of it.
type Noted = (Given, Value);

/// What may change of a crawl while it runs.
#[derive(Clone)]
pub(crate) struct Changes {
    /// What was asked.
    pub(crate) config: Config,
    /// Which question, by which policy.
    pub(crate) asked: Asked,
    /// Which addresses may be asked.
    pub(crate) guard: Guard,
    /// Whether a seed on another machine needs somebody who can be reached.
    pub(crate) needs_contact: bool,
}

impl Changes {
    /// Makes the policy of the crawl for its store.
    pub(crate) fn make(&self) -> Make<Box<dyn Policy>> {
        let asked = self.asked.clone();
        Box::new(move |store| asked.make(store).map_err(|error| error.to_string()))
    }

    fn settings(&self) -> Settings {
        let scope = &self.config.scope;
        let until = &self.config.until;
        Settings {
            scope: ScopeTerms {
                hosts: scope.hosts.clone(),
                sites: scope.sites.clone(),
                prefixes: scope.prefixes.clone(),
                include: scope.include.clone(),
                exclude: scope.exclude.clone(),
                everywhere: scope.everywhere.unwrap_or(false),
                depth: scope.depth,
            },
            budgets: Budgets {
                pages: until.pages,
                requests: until.requests,
                bytes: until.bytes,
                time: until.time.clone(),
            },
            fixed: None,
        }
    }

    /// The configuration after an order, and what the crawl is told.
    fn after(&self, order: &Order) -> anyhow::Result<(Config, Given)> {
        let mut config = self.config.clone();
        match order {
            Order::Seeds { add } => {
                anyhow::ensure!(!add.is_empty(), "give at least one URL");
                anyhow::ensure!(
                    add.len() <= SEEDS_MAX,
                    "at most {SEEDS_MAX} seeds at once; `turnstone crawl --seeds FILE` takes more"
                );
                for seed in add {
                    if !config.seeds.contains(seed) {
                        config.seeds.push(seed.clone());
                    }
                }
            }
            Order::Scope { scope } => {
                config.scope = ScopeConfig {
                    hosts: scope.hosts.clone(),
                    sites: scope.sites.clone(),
                    prefixes: scope.prefixes.clone(),
                    include: scope.include.clone(),
                    exclude: scope.exclude.clone(),
                    depth: scope.depth,
                    everywhere: scope.everywhere.then_some(true),
                };
            }
            Order::Budgets { budgets } => {
                let until = &mut config.until;
                until.pages = budgets.pages;
                until.requests = budgets.requests;
                until.bytes = budgets.bytes;
                until.time.clone_from(&budgets.time);
            }
            Order::Pause {} | Order::Resume {} | Order::Stop {} => {}
        }
        let seeds = crawl::seeds(&config)?;
        let plan = crawl::plan(&config, &seeds, self.asked.proves())?;
        let given = match order {
            Order::Budgets { .. } => Given::Until(plan.until),
            Order::Seeds { .. } => {
                self.check(&config, &seeds)?;
                let scope = Box::new(plan.scope);
                Given::Replan { seeds, scope }
            }
            _ => Given::Replan {
                seeds: Vec::new(),
                scope: Box::new(plan.scope),
            },
        };
        Ok((config, given))
    }

    /// What the crawl must be told to go by another configuration, with what the journal says of it, and the keys
    /// that only another run goes by.
    fn up_to(&self, config: &Config) -> anyhow::Result<(Vec<Noted>, Vec<String>)> {
        let before = &self.config;
        let seeds = crawl::seeds(config)?;
        let plan = crawl::plan(config, &seeds, self.asked.proves())?;
        let mut orders = Vec::new();
        let said = |what: &str, value: Result<Value, serde_json::Error>| json!({"order": "config", what: value.unwrap_or_default()});
        if config.until != before.until {
            let note = said("until", serde_json::to_value(&config.until));
            orders.push((Given::Until(plan.until), note));
        }
        let same = config.scope == before.scope
            && config.seeds == before.seeds
            && config.lists == before.lists
            && config.forgotten == before.forgotten;
        if !same {
            self.check(config, &seeds)?;
            let note = said("scope", serde_json::to_value(&config.scope));
            let scope = Box::new(plan.scope);
            orders.push((Given::Replan { seeds, scope }, note));
        }
        let taken = ["until", "scope", "seeds", "forgotten"];
        let (now, then) = (serde_json::to_value(config)?, serde_json::to_value(before)?);
        let keys: BTreeSet<&String> = [&now, &then]
            .into_iter()
            .filter_map(Value::as_object)
            .flat_map(|it| it.keys())
            .collect();
        let later = keys
            .into_iter()
            .filter(|key| !taken.contains(&key.as_str()) && now[*key] != then[*key]);
        Ok((orders, later.cloned().collect()))
    }

    /// Refuses seeds as the start of a crawl would.
    fn check(&self, config: &Config, seeds: &[Url]) -> anyhow::Result<()> {
        if self.needs_contact {
            crawl::need_contact(seeds)?;
        }
        live::refuse_proxy(config, seeds)?;
        Ok(live::check_seeds(&self.guard, seeds)?)
    }
}

/// The desk.
pub(crate) struct Desk {
    directory: PathBuf,
    orders: mpsc::Sender<GivenOrder>,
    changes: Option<Arc<Mutex<Changes>>>,
}

/// The crawl's side of the desk at which orders are given.
pub(crate) struct Desks {
    pub(crate) given: mpsc::Receiver<GivenOrder>,
    pub(crate) make: Make<Box<dyn Policy>>,
}

impl Desk {
    /// A desk for the crawl of this process.
    pub(crate) fn open(directory: &Path, changes: Option<Changes>) -> (Arc<Self>, Desks) {
        let (orders, given) = mpsc::channel(ORDERS_MAX);
        let make: Make<Box<dyn Policy>> = match &changes {
            Some(changes) => changes.make(),
            None => Box::new(|_| Err("this command keeps its plan".to_owned())),
        };
        let desk = Self {
            directory: directory.to_owned(),
            orders,
            changes: changes.map(|changes| Arc::new(Mutex::new(changes))),
        };
        (Arc::new(desk), Desks { given, make })
    }

    /// Takes up `turnstone.toml` as it is now; says what changed, or why nothing did.
    pub(crate) async fn take_up(&self) -> Result<String, String> {
        let Some(changes) = &self.changes else {
            return Err("this command keeps its plan; the next run goes by the file".to_owned());
        };
        let wrong = |error: anyhow::Error| format!("{error:#}");
        let config = Config::read(&self.directory).map_err(wrong)?;
        let config = config.ok_or("it is not there any more")?;
        let (orders, later) = locked(changes).up_to(&config).map_err(wrong)?;
        let mut said = Vec::new();
        for (order, note) in orders {
            said.push(
                self.give(order, serde_json::to_vec(&note).unwrap_or_default())
                    .await?,
            );
        }
        locked(changes).config = config;
        if !later.is_empty() {
            let keys = later.join(", ");
            said.push(format!("{keys}: from the next run on"));
        }
        Ok(match said.is_empty() {
            true => "nothing in it changed".to_owned(),
            false => said.join("; "),
        })
    }

    /// Gives the crawl an order; says what came of it.
    async fn give(&self, order: Given, note: Vec<u8>) -> Result<String, String> {
        let (done, came) = oneshot::channel();
        let given = GivenOrder { order, note, done };
        let ended = || "the crawl has ended".to_owned();
        self.orders.send(given).await.map_err(|_| ended())?;
        came.await.map_err(|_| ended())?
    }
}

impl Control for Desk {
    fn settings(&self) -> Settings {
        match &self.changes {
            Some(changes) => locked(changes).settings(),
            None => Settings {
                fixed: Some(
                    "This command keeps its seeds, its scope and its budget: they are what it was asked. They \
                     change with `turnstone crawl`."
                        .to_owned(),
                ),
                ..Settings::default()
            },
        }
    }

    fn carry_out(&self, order: Order) -> Later<Result<String, Refused>> {
        let (changes, orders) = (self.changes.clone(), self.orders.clone());
        let directory = self.directory.clone();
        Box::pin(async move {
            let refused = |error: anyhow::Error| Refused(format!("{error:#}"));
            let (config, given) = match &order {
                Order::Pause {} => (None, Given::Pause),
                Order::Resume {} => (None, Given::Resume),
                Order::Stop {} => (None, Given::Stop),
                Order::Seeds { .. } | Order::Scope { .. } | Order::Budgets { .. } => {
                    let Some(changes) = &changes else {
                        let what = "this command keeps its seeds, its scope and its budget";
                        return Err(Refused(what.to_owned()));
                    };
                    let (config, given) = locked(changes).after(&order).map_err(refused)?;
                    (Some(config), given)
                }
            };
            let (done, came) = oneshot::channel();
            let given = GivenOrder {
                order: given,
                note: serde_json::to_vec(&order).unwrap_or_default(),
                done,
            };
            let ended = || Refused("the crawl has ended".to_owned());
            orders.send(given).await.map_err(|_| ended())?;
            let said = came.await.map_err(|_| ended())?.map_err(Refused)?;
            let fields = serde_json::to_value(&order).unwrap_or_default();
            log::say("info", &format!("turnstone: ordered: {said}"), &fields);
            if let (Some(config), Some(changes)) = (config, &changes) {
                let written = config.write(&directory);
                locked(changes).config = config;
                written.map_err(|error| {
                    Refused(format!("{said}; but the next run will not know: {error:#}"))
                })?;
            }
            Ok(said)
        })
    }
}

fn locked(changes: &Mutex<Changes>) -> std::sync::MutexGuard<'_, Changes> {
    // Whatever panicked, a configuration is replaced whole.
    changes.lock().unwrap_or_else(PoisonError::into_inner)
}
