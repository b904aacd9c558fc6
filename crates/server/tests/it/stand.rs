//! A crawl that a test writes entry by entry, and a server in front of it.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use turnstone_frontier::{Arm, ArmShare, Change, Coverage, Fault, PageId, Reason, Split, Tick};
use turnstone_ledger::{CoverageNote, Slice, SliceNote};
use turnstone_pagestore::{Entry, Facts, Links, Mood, NewPage, Outcome, Position, Settled, Store};
use turnstone_server::{
    Answers, Compared, Control, Gate, House, Later, Limits, ORDER_NOTE, Order, Refused, Settings,
    Told,
};

/// Names that try to be more than names.
pub(crate) const HOSTILE: [&str; 6] = [
    "<script>window.broken=1</script>",
    "<img src=x onerror=window.broken=1>",
    "\"><svg onload=window.broken=1>",
    "\u{202e}\u{2066}gnp.exe\u{200b}",
    "</title></bdi></li></ol><h1 id=forged>forged</h1>",
    "javascript:window.broken=1",
];

pub(crate) struct Stand {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) store: Arc<Mutex<Store>>,
    pub(crate) orders: Arc<Mutex<Vec<Order>>>,
    pub(crate) address: SocketAddr,
    _runtime: Runtime,
}

/// An answer over HTTP.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

impl Stand {
    /// A crawl of a few hosts with hostile names, and a server that takes orders for it.
    pub(crate) fn open(token: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("<b>crawl");
        let mut store = Store::create(&directory, "a test").unwrap();
        write(&mut store);
        let store = Arc::new(Mutex::new(store));
        let orders = Arc::default();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let control = Arc::new(Desk {
            store: store.clone(),
            orders: Arc::clone(&orders),
        });
        let gate = Gate::new(Ipv4Addr::LOCALHOST.into(), token).unwrap();
        let house = House::of_crawl(directory, Arc::new(Knows), gate, control).unwrap();
        let listener = runtime
            .block_on(async { turnstone_server::bind((Ipv4Addr::LOCALHOST, 0).into()) })
            .unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(Arc::new(house).serve(listener));
        Self {
            folder,
            store,
            orders,
            address,
            _runtime: runtime,
        }
    }

    pub(crate) fn directory(&self) -> std::path::PathBuf {
        self.folder.path().join("<b>crawl")
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Sends bytes and reads until the other side closes.
    pub(crate) fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        // A server that answers before it has read all may close meanwhile.
        let _ = stream.write_all(request);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        Answer {
            status: head
                .split(' ')
                .nth(1)
                .and_then(|status| status.parse().ok())
                .unwrap_or(0),
            head: head.to_lowercase(),
            body: body.to_owned(),
        }
    }

    /// A request with more lines of head, each ended.
    pub(crate) fn ask(&self, method: &str, path: &str, more: &str, body: &str) -> Answer {
        let length = body.len();
        self.raw(
            format!(
                "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {length}\r\n\
                 {more}\r\n{body}",
                self.address
            )
            .as_bytes(),
        )
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.raw(
            format!(
                "GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
                self.address
            )
            .as_bytes(),
        )
    }

    /// Writes a page that comes, and what is written is seen by who follows.
    pub(crate) fn comes(&self, url: &str, title: &str) -> PageId {
        let mut store = self.store.lock().unwrap();
        let page = add(&mut store, url);
        settle(&mut store, page, Settled::Fetched(Change::New), title, 200);
        store.write().unwrap();
        page
    }
}

fn add(store: &mut Store, url: &str) -> PageId {
    let tick = store.index().latest();
    let name = url.split('/').nth(2).unwrap_or("a.example");
    let host = store.host(tick, name);
    let key = store.keyer().key(url);
    store.add(
        tick,
        NewPage {
            key,
            url,
            host,
            seed: store.index().page_count() == 0,
            outside: false,
            listed: false,
            depth: 0,
            refused: ("", ""),
            metadata: &[],
        },
    )
}

fn settle(store: &mut Store, page: PageId, settled: Settled, title: &str, status: u16) {
    let tick = store.index().latest().plus(700);
    store.append(tick, &Entry::HandOut { page });
    let came = matches!(settled, Settled::Fetched(_));
    let facts = Facts {
        class: if came { "ok" } else { "timeout" }.to_owned(),
        detail: if came { "" } else { HOSTILE[0] }.to_owned(),
        title: title.to_owned(),
        status,
        requests: 1,
        body_bytes: 4321,
        milliseconds: if came { 40 } else { 9000 },
        mood: Some(if came { Mood::Good } else { Mood::Unreachable }),
        digest: came.then_some([page.0 as u8; 20]),
        wall_ms: 1_790_000_000_000 + tick.0,
        ..Facts::default()
    };
    store.settle(
        tick,
        Outcome {
            page,
            settled,
            links: Links::Ids(&[]),
            before: Position(0),
            facts,
        },
    );
}

/// Everything that a dashboard shows, once.
fn write(store: &mut Store) {
    let session = Entry::Session {
        wall_ms: 1_790_000_000_000,
        boot: "",
        boot_ms: 0,
        delay_ms: 0,
        open_max: 1,
        policy: "",
    };
    store.append(Tick(0), &session);
    for number in 0..20 {
        let page = add(store, &format!("http://a.example/{number}"));
        if number < 12 {
            settle(store, page, Settled::Fetched(Change::New), "A page", 200);
            let share = |of: u64| Coverage::ONE / 100 * of;
            let note = CoverageNote {
                requests: number,
                guaranteed: share(number * 5),
                stuck: share(number),
            };
            let tick = store.index().latest();
            store.append(
                tick,
                &Entry::Note {
                    kind: CoverageNote::KIND,
                    bytes: &note.to_bytes(),
                },
            );
        }
    }
    for (number, name) in HOSTILE.iter().enumerate() {
        let page = add(store, &format!("http://b{number}.example/{name}"));
        settle(store, page, Settled::Fetched(Change::New), name, 200);
    }
    let long = "x".repeat(10_000);
    let page = add(store, &format!("http://long.example/{long}"));
    settle(store, page, Settled::Fetched(Change::New), &long, 200);
    for number in 0..4 {
        let page = add(store, &format!("http://silent.example/{number}"));
        settle(store, page, Settled::Failed(Fault::Unknown), "", 0);
    }
    let held = store.host(store.index().latest(), "a.example");
    let until = store.index().latest().plus(1 << 40);
    let tick = store.index().latest();
    store.append(tick, &Entry::Held { host: held, until });
    let note = slice();
    store.append(
        tick,
        &Entry::Note {
            kind: SliceNote::KIND,
            bytes: &note.to_bytes(),
        },
    );
    let plan = Entry::Plan {
        question: "crawl",
        policy: "rankmass damping=0.85",
        seeds: 1,
        text: "past all\npattern-trust none\nscope hosts a.example\nexclude <b>bold</b>\n",
        inside: Links::Ids(&[]),
        outside: Links::Ids(&[]),
    };
    store.append(tick, &plan);
    store.write().unwrap();
}

fn slice() -> SliceNote {
    let share = |arm: Arm| ArmShare {
        arm,
        candidates: 1200,
        planned: 25,
        spent_in_round: 7,
        spent: 70,
        gain: 3.0,
        gain_per_request: 0.25,
        marginal: 0.2,
        floor: 0.05,
        reason: Reason::Worth,
    };
    SliceNote {
        slice: Slice {
            round: 12,
            began: Tick(1000),
            budget: 100,
            requests: 41,
            new: 5,
            changed: 7,
            unchanged: 20,
            gone: 3,
            hints: 2,
        },
        began_s: 1_790_000_000,
        split: Some(Split {
            round: 12,
            budget: 100,
            arms: Arm::ALL.map(share),
        }),
    }
}

/// Carries orders out as a crawl does: they are in the journal when they are answered.
struct Desk {
    store: Arc<Mutex<Store>>,
    orders: Arc<Mutex<Vec<Order>>>,
}

impl Control for Desk {
    fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        settings.scope.exclude = vec!["</textarea><script>window.broken=1</script>".to_owned()];
        for order in self.orders.lock().unwrap().iter() {
            match order {
                Order::Scope { scope } => settings.scope = scope.clone(),
                Order::Budgets { budgets } => settings.budgets = budgets.clone(),
                _ => {}
            }
        }
        settings
    }

    fn carry_out(&self, order: Order) -> Later<Result<String, Refused>> {
        if let Order::Seeds { add } = &order
            && add.iter().any(|seed| !seed.starts_with("http"))
        {
            let refused = Refused(format!("seed {}: no URL", add[0]));
            return Box::pin(async { Err(refused) });
        }
        let mut store = self.store.lock().unwrap();
        let tick = store.index().latest();
        let bytes = serde_json::to_vec(&order).unwrap();
        store.append(
            tick,
            &Entry::Note {
                kind: ORDER_NOTE,
                bytes: &bytes,
            },
        );
        store.write().unwrap();
        self.orders.lock().unwrap().push(order);
        Box::pin(async { Ok("done".to_owned()) })
    }
}

/// Answers as the command line would, with hostile words.
struct Knows;

impl Answers for Knows {
    fn limits(&self, _: &Path) -> Limits {
        Limits {
            requests: Some(1000),
            ..Limits::default()
        }
    }

    fn why(&self, _: &Path, url: &str) -> Result<Told, String> {
        if url.starts_with("nonsense") {
            return Err(format!("{url}: no URL"));
        }
        Ok(Told {
            json: json!({"url": url, "known": true, "state": "fetched"}),
            text: format!("{url}\nstate  fetched\n{}\n", HOSTILE.join("\n")),
        })
    }

    fn diff(&self, _: &Path, url: &str, _: Option<u64>) -> Result<Compared, String> {
        let old = format!("same\nold {}\n", HOSTILE[0]);
        let new = format!("same\nnew {}\n", HOSTILE[3]);
        let hunks = turnstone_events::diff(&old, &new);
        Ok(Compared {
            json: json!({"url": url, "hunks": turnstone_events::diff_json(&hunks)}),
            moments: ["2026-11-01T00:00:00Z".into(), "2026-11-02T00:00:00Z".into()],
            titles: ["before".into(), HOSTILE[1].into()],
            hunks,
            notes: vec!["ignored: markup".into()],
        })
    }

    fn report(&self, _: &Path) -> Result<String, String> {
        Ok("<!doctype html><title>r</title><style>p{color:red}</style><p>report".to_owned())
    }
}
