//! A crawl that several processes share over real NATS servers: killed, paused, joined and left, it stores what one
//! process would, proves no more than is so, asks nobody too early and spends no more than it may.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use turnstone_pagestore::{PageState, Store};

use super::audit;
use super::crawler::Crawler;
use super::dice::Dice;
use super::nats_server::Servers;
use super::shards::{SITES, one_address};
use super::town::{Plan, Town};
use crate::run::turnstone;

/// Leases run so much faster than time: 5 s are given up after 1.
const LEASES: u32 = 5;
/// A crawl that takes longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(120);

const TOWN: Plan = Plan {
    hosts: 6,
    pages: 30,
    delay_ms: 25,
    scale: 20,
    faults: true,
};

/// What the binary makes of the town in one piece.
fn whole(plan: Plan) -> audit::Pages {
    let town = Town::open(plan);
    let crawler = Crawler::new(&format!("{} --until pages=100000", town.arguments()));
    crawler.finish();
    let store = Store::look(&crawler.directory()).unwrap();
    relative(&town, audit::pages(&store))
}

/// URLs without the port, which differs from town to town.
fn relative(town: &Town, pages: audit::Pages) -> audit::Pages {
    let port = format!(":{}", town.server.port());
    let pages = pages.into_iter();
    pages
        .map(|(url, state)| (url.replace(&port, ""), state))
        .collect()
}

/// Several processes that share a crawl.
struct Party {
    folder: tempfile::TempDir,
    servers: String,
    /// What the crawl is asked for.
    arguments: String,
    /// What whoever joins is told besides.
    joined: String,
    /// The founder shares a crawl that is there.
    adopts: bool,
    scale: u64,
    nodes: Vec<Node>,
}

struct Node {
    directory: PathBuf,
    /// Where it finds the servers.
    servers: String,
    wires: Vec<Wire>,
    child: Option<Child>,
}

impl Party {
    /// The founder first; the crawl is begun with these arguments.
    fn found_through(servers: &Servers, wires: Wires, arguments: &str, scale: u64) -> Self {
        let mut party = Self::unfounded(servers, wires, arguments, scale);
        party.start(0);
        party
    }

    fn unfounded(servers: &Servers, wires: Wires, arguments: &str, scale: u64) -> Self {
        let mut party = Self {
            folder: tempfile::tempdir().unwrap(),
            servers: servers.addresses().join(","),
            arguments: arguments.to_owned(),
            joined: String::new(),
            adopts: false,
            scale,
            nodes: Vec::new(),
        };
        party.add(servers, wires);
        party
    }

    /// A place for one more process.
    fn add(&mut self, servers: &Servers, wires: Wires) -> usize {
        let number = self.nodes.len();
        let count = servers.addresses().len();
        let wires: Vec<Wire> = match wires {
            Wires::None => Vec::new(),
            Wires::Own => (0..count)
                .map(|number| Wire::to(servers.port(number)))
                .collect(),
        };
        let own: Vec<String> = wires
            .iter()
            .map(|wire| format!("nats://127.0.0.1:{}", wire.port))
            .collect();
        let own = if own.is_empty() {
            servers.addresses()
        } else {
            own
        };
        self.nodes.push(Node {
            directory: self.folder.path().join(format!("node-{number}")),
            servers: own.join(","),
            wires,
            child: None,
        });
        number
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Starts a process, or starts it again.
    fn start(&mut self, number: usize) {
        let directory = self.nodes[number].directory.clone();
        let scales = format!("--clock-scale {} --lease-scale {LEASES}", self.scale);
        let own = &self.nodes[number].servers;
        let place = directory.display();
        let asked = match number {
            0 if self.adopts => {
                format!("cluster adopt {place} {own} --cluster-name town {scales}")
            }
            0 => format!(
                "crawl {} --cluster {own} --cluster-name town --lease-scale {LEASES} -o {place}",
                self.arguments
            ),
            _ => format!(
                "cluster join {own} town {scales} {} -o {place}",
                self.joined
            ),
        };
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(directory.with_extension("log"))
            .unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_turnstone"))
            .args(asked.split_whitespace())
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        self.nodes[number].child = Some(child);
    }

    fn log(&self, number: usize) -> String {
        let log = self.nodes[number].directory.with_extension("log");
        std::fs::read_to_string(log).unwrap_or_default()
    }

    fn logs(&self) -> String {
        let log = |number| format!("--- node {number}\n{}", self.log(number));
        (0..self.nodes.len()).map(log).collect()
    }

    /// Whether a process has ended by itself; it must have ended well.
    fn has_ended(&mut self, number: usize) -> bool {
        let Some(child) = &mut self.nodes[number].child else {
            return true;
        };
        match child.try_wait().unwrap() {
            None => false,
            Some(status) => {
                self.nodes[number].child = None;
                assert!(status.success(), "node {number}: {status}\n{}", self.logs());
                true
            }
        }
    }

    /// kill -9.
    fn kill(&mut self, number: usize) {
        if let Some(mut child) = self.nodes[number].child.take() {
            let _ = child.kill();
            child.wait().unwrap();
        }
    }

    fn signal(&mut self, number: usize, name: &str) {
        if let Some(child) = &self.nodes[number].child {
            let status = Command::new("kill")
                .args(["-s", name, &child.id().to_string()])
                .status()
                .unwrap();
            assert!(status.success());
        }
    }

    /// Waits until something is so.
    fn wait(&mut self, is_so: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            let gone = (0..self.nodes.len()).all(|number| self.has_ended(number));
            assert!(
                !gone && began.elapsed() < PATIENCE,
                "waited in vain: {}\n{}",
                self.logs(),
                self.status()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until all processes that are left have ended.
    fn finish(&mut self) {
        let began = Instant::now();
        while !(0..self.nodes.len()).all(|number| self.has_ended(number)) {
            assert!(
                began.elapsed() < PATIENCE,
                "the crawl does not end\n{}\n{}",
                self.logs(),
                self.status()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn status(&self) -> Value {
        let ran = turnstone(
            self.path(),
            &format!("cluster status {} town --json", self.servers),
        );
        serde_json::from_str(&ran.out).unwrap_or_default()
    }

    /// Requests that were durable a moment ago, by all shards.
    fn requests(&self) -> u64 {
        self.status()["requests"].as_u64().unwrap_or(0)
    }

    /// Reads all journals from the servers.
    fn copy(&self) -> PathBuf {
        let copy = self.path().join("copy");
        let ran = turnstone(
            self.path(),
            &format!("cluster copy {} town -o {}", self.servers, copy.display()),
        );
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        copy
    }

    /// The audit, which must find nothing.
    fn audit(&self) -> Value {
        let ran = turnstone(
            self.path(),
            &format!("cluster audit {} town --json", self.servers),
        );
        assert!(ran.code == 0 || ran.code == 3, "{}{}", ran.out, ran.err);
        let audit: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(audit["difference"], 0, "{audit}");
        audit
    }
}

impl Drop for Party {
    fn drop(&mut self) {
        for number in 0..self.nodes.len() {
            self.kill(number);
        }
    }
}

/// A wire between the nodes and a server that can be cut: nothing gets through, in either direction.
struct Wire {
    port: u16,
    is_cut: std::sync::Arc<std::sync::atomic::AtomicBool>,
}

impl Wire {
    /// To a server on this machine.
    fn to(server: u16) -> Self {
        use std::io::{Read as _, Write as _};
        use std::net::{Shutdown, TcpListener, TcpStream};
        use std::sync::atomic::{AtomicBool, Ordering};
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_cut = std::sync::Arc::new(AtomicBool::new(false));
        let carry = |mut from: TcpStream, mut to: TcpStream, is_cut: std::sync::Arc<AtomicBool>| {
            std::thread::spawn(move || {
                let mut buffer = vec![0; 64 << 10];
                while let Ok(read @ 1..) = from.read(&mut buffer) {
                    if is_cut.load(Ordering::SeqCst) || to.write_all(&buffer[..read]).is_err() {
                        break;
                    }
                }
                // Half a message would be worse than none.
                let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
            });
        };
        let shared = is_cut.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if shared.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else {
                    continue;
                };
                let both = (client.try_clone().unwrap(), server.try_clone().unwrap());
                carry(client, server, shared.clone());
                carry(both.1, both.0, shared.clone());
            }
        });
        Self { port, is_cut }
    }

    fn cut(&self, is_cut: bool) {
        self.is_cut
            .store(is_cut, std::sync::atomic::Ordering::SeqCst);
    }
}

/// `make cluster-soak KILLS=300 SEED=1`
#[test]
#[ignore = "takes minutes: make cluster-soak"]
fn cluster_soak_by_hand() {
    let number = |name: &str, default| {
        std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
    };
    let (kills, seed) = (number("KILLS", 30), number("SEED", 1));
    let (mut done, mut round) = (0, 0);
    while done < kills {
        let some = (kills - done).min(10);
        let seed = seed * 1000 + round;
        println!("round {round}: {some} kills, seed {seed}; {done} of {kills} done");
        soak(Servers::three(), Wires::Own, (4, 6), some, seed);
        done += some;
        round += 1;
    }
}

/// Every page that some shard has, each once; and how many requests all journals speak of.
fn look(copy: &Path, shards: u32) -> (audit::Pages, u64) {
    let (mut pages, mut requests) = (audit::Pages::new(), 0);
    for shard in 0..shards {
        let store = Store::look(&copy.join(format!("shards/{shard}"))).unwrap();
        requests += store.index().tally().requests;
        for (url, state) in audit::pages(&store) {
            if state != PageState::Away {
                let twice = pages.insert(url.clone(), state);
                assert_eq!(twice, None, "{url} is of two shards");
            }
        }
    }
    (pages, requests)
}

const ALL: &str = "--until pages=100000";

#[test]
fn two_nodes_store_what_one_process_does() {
    let whole = whole(TOWN);
    let servers = Servers::one("");
    let town = Town::open(TOWN);
    let asked = format!("{} {ALL} --shards 4", town.arguments());
    let mut party = Party::found_through(&servers, Wires::None, &asked, TOWN.scale);
    party.wait(|party| party.requests() > 0);
    let second = party.add(&servers, Wires::None);
    party.start(second);
    party.finish();
    town.assert_polite("two nodes");
    let (pages, _) = look(&party.copy(), 4);
    assert_eq!(relative(&town, pages), whole, "{}", party.logs());
    let audit = party.audit();
    assert_eq!(audit["transfers_under_way"], 0, "{audit}");
    assert!(
        audit["guaranteed"].as_f64().unwrap() > 1.0 - 1e-5,
        "{audit}"
    );
    let status = party.status();
    assert_eq!(status["stopped_by"], "exhausted", "{status}");
    assert_eq!(status["mass_accounted_for"], true, "{status}");
    let ends = party.logs().matches("The crawl has ended").count();
    assert_eq!(ends, 2, "{}", party.logs());
    looked_at(&party, &town);
}

/// Commands that look at a directory see the whole crawl, from any machine; what is printed as JSON is what the
/// schemas say; and whoever goes on with a crawl that has ended finds that it has.
fn looked_at(party: &Party, town: &Town) {
    let documents = tempfile::tempdir().unwrap();
    let node = party.nodes[1].directory.display().to_string();
    let page = format!("{}/p/2", town.server.origin(2));
    let json = |number: usize, arguments: String| -> Value {
        let ran = turnstone(party.path(), &format!("{arguments} --json"));
        assert!(
            ran.code == 0 || ran.code == 3,
            "{arguments}: {}{}",
            ran.out,
            ran.err
        );
        let file = documents.path().join(format!("{number}.json"));
        std::fs::write(file, &ran.out).unwrap();
        serde_json::from_str(&ran.out).unwrap()
    };
    let status = json(1, format!("status {node}"));
    assert_eq!(status["stopped_by"], "exhausted", "{status}");
    let why = json(2, format!("why {node} {page}"));
    assert_eq!(why["state"], "fetched", "{why}");
    let pages = json(3, format!("export pages {node} -o {node}.jsonl"));
    assert_eq!(pages["pages"], status["known"], "{pages} {status}");
    json(4, format!("report {node}"));
    let events = turnstone(party.path(), &format!("events {node} --json"));
    assert!(events.out.lines().count() > 10, "{}", events.out);
    let where_ = format!("{} town", party.servers);
    json(5, format!("cluster status {where_}"));
    json(6, format!("cluster audit {node}"));
    json(7, format!("cluster copy {where_} -o {node}-copy"));
    json(8, format!("cluster stop {where_}"));
    let nodes = party.status()["nodes"].clone();
    let name = nodes[0]["name"].as_str().unwrap().to_owned();
    json(9, format!("cluster drain {name} {where_}"));
    let again = json(
        10,
        format!(
            "crawl -o {node} --clock-scale {} --lease-scale {LEASES}",
            party.scale
        ),
    );
    assert_eq!(again["stopped_by"], "exhausted", "{again}");
    assert_eq!(again["shards_ended_here"], 4, "{again}");
    crate::schemas::hold(documents.path(), &["all"]);
}

#[test]
fn sites_of_one_address_are_asked_one_at_a_time_by_all_nodes() {
    let servers = Servers::one("");
    let folder = tempfile::tempdir().unwrap();
    let server = one_address(folder.path());
    let hosts = folder.path().join("hosts");
    let asked = format!(
        "{}/ --hosts-file {} --allow-private --everywhere --contact me@example.org --no-warc {ALL} --delay 500ms \
         --shards 4",
        server.origin(0),
        hosts.display(),
    );
    let mut party = Party::found_through(&servers, Wires::None, &asked, 20);
    party.joined = format!("--hosts-file {}", hosts.display());
    party.wait(|party| party.requests() > 0);
    let second = party.add(&servers, Wires::None);
    party.start(second);
    std::thread::sleep(Duration::from_millis(4_000));
    party.kill(0);
    party.start(0);
    party.finish();
    let violations = server.violations();
    assert_eq!(violations.first(), None, "{}", party.logs());
    let (pages, _) = look(&party.copy(), 4);
    let stored = pages.values().filter(|state| **state == PageState::Fetched);
    assert_eq!(stored.count(), SITES as usize * 6 + 1, "{}", party.logs());
}

#[test]
fn what_cannot_be_joined_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let check = |arguments: &str, code: i32, words: &[&str]| {
        let ran = turnstone(folder.path(), arguments);
        assert_eq!(ran.code, code, "{arguments}: {}{}", ran.out, ran.err);
        assert_eq!(
            ran.err.lines().count(),
            1,
            "{arguments}: one line: {}",
            ran.err
        );
        for word in words {
            assert!(ran.err.contains(word), "'{word}' is not in: {}", ran.err);
        }
    };
    // Where nobody listens.
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let crawl = &format!("crawl http://127.0.0.1:{port}/ --allow-private --until pages=5");
    let nobody = "nats://127.0.0.1:1";
    check(
        &format!("{crawl} -o a --cluster {nobody}"),
        1,
        &[nobody, "no NATS server answers", "is it started?"],
    );
    check(
        &format!("{crawl} -o a --cluster nats://192.0.2.1:4222"),
        1,
        &["not this machine", "TLS and credentials"],
    );
    check(
        &format!("{crawl} -o a --cluster 127.0.0.1"),
        1,
        &["nats://HOST:PORT"],
    );
    check(
        &format!("{crawl} -o a --cluster {nobody} --cluster-name a.b"),
        1,
        &["letters, digits and hyphens"],
    );
    check(
        &format!("{crawl} -o a --cluster {nobody} --policy opic"),
        2,
        &["opic", "cannot be cut into shards"],
    );
    check(
        &format!("{crawl} -o a --cluster {nobody} --shards 300"),
        2,
        &["1 to 256"],
    );
    let plain = Servers::without_jetstream();
    let plain = &plain.addresses()[0];
    check(
        &format!("{crawl} -o a --cluster {plain}"),
        1,
        &["JetStream is not enabled", "store_dir"],
    );
    let locked = Servers::one("authorization { user: me, password: right }\n");
    let locked = &locked.addresses()[0];
    let key = folder.path().join("key");
    std::fs::write(&key, "me:wrong\n").unwrap();
    check(
        &format!("{crawl} -o a --cluster {locked} --cluster-key key"),
        2,
        &["others may read", "chmod 600"],
    );
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&key, mode).unwrap();
    check(
        &format!("{crawl} -o a --cluster {locked} --cluster-key key"),
        1,
        &["credentials are refused"],
    );
    let servers = Servers::one("");
    let server = &servers.addresses()[0];
    check(
        &format!("cluster join {server} nobody -o b"),
        1,
        &["no crawl named nobody"],
    );
    check(
        &format!("{crawl} -o a --cluster {server} --clock-offset 5000"),
        1,
        &["5", "ms ahead", "synchronise"],
    );
    // It ends at once: nobody listens there.
    let founded = format!(
        "{crawl} --cluster {server} --cluster-name web --shards 2 --clock-scale 1000 --lease-scale 5"
    );
    let ran = turnstone(folder.path(), &format!("{founded} -o a"));
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    check(
        &format!("{founded} -o other"),
        1,
        &["named web is there already", "another name"],
    );
    check(
        &format!("{crawl} --cluster {server} --cluster-name web --shards 3 -o a"),
        2,
        &["2 shards", "for good"],
    );
    let whole = turnstone(
        folder.path(),
        &format!("{crawl} -o whole --clock-scale 1000"),
    );
    assert_eq!(whole.code, 3, "{}", whole.err);
    check(
        &format!("cluster adopt whole {server}"),
        2,
        &["in one piece", "--shards"],
    );
    check(
        &format!("cluster join {server} web -o whole"),
        2,
        &["in one piece"],
    );
    check(
        "cluster status whole",
        2,
        &["not a directory of a crawl that machines share"],
    );
}

#[test]
fn a_crawl_in_shards_is_shared_later() {
    let whole = whole(TOWN);
    let servers = Servers::one("");
    let town = Town::open(TOWN);
    let crawler = Crawler::new(&format!("{} --until pages=20 --shards 3", town.arguments()));
    crawler.finish();
    let before = town.server.requests().len();
    assert!((20..80).contains(&before), "{before}");
    let asked = format!("{} {ALL}", town.arguments());
    let mut party = Party::unfounded(&servers, Wires::None, &asked, TOWN.scale);
    // Where the founder would be, the directory of the crawl is.
    std::fs::rename(crawler.directory(), &party.nodes[0].directory).unwrap();
    let config = party.nodes[0].directory.join("turnstone.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(config, text.replace("pages = 20", "pages = 100000")).unwrap();
    party.adopts = true;
    party.start(0);
    party.finish();
    town.assert_polite("adopted");
    let (pages, _) = look(&party.copy(), 3);
    assert_eq!(relative(&town, pages), whole, "{}", party.logs());
    party.audit();
}

/// How processes reach the servers.
#[derive(Clone, Copy, PartialEq)]
enum Wires {
    /// Straight.
    None,
    /// Each through wires of its own, which can be cut.
    Own,
}

/// Kills, pauses and cuts off processes at random moments, and kills servers where there are several, until so many
/// kills were made.
fn disturb(party: &mut Party, servers: &mut Servers, dice: &mut Dice, kills: u64) {
    let mut killed = 0;
    let nodes = party.nodes.len() as u64;
    let several = party.nodes[0].wires.len() > 1;
    while killed < kills {
        if (0..party.nodes.len()).all(|number| party.has_ended(number)) {
            return;
        }
        let number = dice.below(nodes) as usize;
        match dice.below(if several { 8 } else { 5 }) {
            0 => {
                party.signal(number, "STOP");
                // Beyond its lease, and long enough for others to have its shards.
                std::thread::sleep(Duration::from_millis(5_000 + dice.below(3_000)));
                party.signal(number, "CONT");
            }
            5 => {
                let server = dice.below(3) as usize;
                servers.kill(server);
                std::thread::sleep(Duration::from_millis(500 + dice.below(4_000)));
                servers.begin(server);
            }
            6 | 7 => {
                for wire in &party.nodes[number].wires {
                    wire.cut(true);
                }
                std::thread::sleep(Duration::from_millis(200 + dice.below(7_000)));
                for wire in &party.nodes[number].wires {
                    wire.cut(false);
                }
            }
            _ => {
                party.kill(number);
                killed += 1;
                std::thread::sleep(Duration::from_millis(dice.below(3_000)));
                party.start(number);
            }
        }
        std::thread::sleep(Duration::from_millis(200 + dice.below(2_500)));
    }
}

/// Everything that must hold in the end, whatever happened.
fn check(party: &Party, town: &Town, shards: u32, whole: &audit::Pages) {
    town.assert_polite("a cluster");
    let copy = party.copy();
    let (pages, requests) = look(&copy, shards);
    assert_eq!(&relative(town, pages), whole, "{}", party.logs());
    let served = town.server.requests().len() as u64;
    assert!(
        served <= requests,
        "{served} requests were served, the journals know of {requests}"
    );
    for shard in 0..shards {
        let store = Store::look(&copy.join(format!("shards/{shard}"))).unwrap();
        for (page, (fetched, _)) in audit::outcomes(&store) {
            let url = store.url(page).unwrap();
            assert!(fetched <= 1, "{url} was fetched {fetched} times");
        }
    }
    let audit = party.audit();
    assert_eq!(audit["transfers_under_way"], 0, "{audit}");
    assert!(
        audit["guaranteed"].as_f64().unwrap() > 1.0 - 1e-5,
        "{audit}"
    );
}

fn soak(mut servers: Servers, wires: Wires, (nodes, shards): (usize, u32), kills: u64, seed: u64) {
    let whole = whole(TOWN);
    let town = Town::open(TOWN);
    let asked = format!("{} {ALL} --shards {shards}", town.arguments());
    let mut party = Party::found_through(&servers, wires, &asked, TOWN.scale);
    party.wait(|party| {
        let status = party.status();
        status["nodes"]
            .as_array()
            .is_some_and(|nodes| !nodes.is_empty())
    });
    for _ in 1..nodes {
        let number = party.add(&servers, wires);
        party.start(number);
    }
    disturb(&mut party, &mut servers, &mut Dice(seed), kills);
    party.finish();
    check(&party, &town, shards, &whole);
}

#[test]
fn killed_and_paused_it_stores_the_same() {
    soak(Servers::one(""), Wires::None, (3, 4), 3, 11);
}

#[test]
fn a_budget_is_spent_by_all_together_and_never_passed() {
    let servers = Servers::one("");
    let town = Town::open(TOWN);
    let asked = format!("{} --until requests=70 --shards 4", town.arguments());
    let mut party = Party::found_through(&servers, Wires::None, &asked, TOWN.scale);
    party.wait(|party| party.requests() > 0);
    let second = party.add(&servers, Wires::None);
    party.start(second);
    std::thread::sleep(Duration::from_millis(1_500));
    party.kill(0);
    std::thread::sleep(Duration::from_millis(500));
    party.start(0);
    party.finish();
    town.assert_polite("budget");
    let (_, requests) = look(&party.copy(), 4);
    assert_eq!(requests, 70, "{}", party.logs());
    assert!(town.server.requests().len() <= 70);
    assert_eq!(party.status()["stopped_by"], "requests");
}
