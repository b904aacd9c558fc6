//! The bus on real servers, on loopback.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../support/nats_server.rs"]
mod nats_server;

mod failures;
mod joining;
mod proxy;
mod requests;

use turnstone_bus::{Founding, NatsBus, Options};
use turnstone_cluster::bus::{Answer, Bus as _, Request};

const FOUNDING: Founding = Founding {
    identity: [7; 16],
    shards: 2,
    lanes: 1,
};

fn options(servers: Vec<String>) -> Options {
    Options {
        servers,
        crawl: "test".into(),
        ..Options::default()
    }
}

/// Asks, and waits for the answer.
async fn ask(bus: &mut NatsBus<u32>, request: Request) -> Answer {
    bus.ask(0, request);
    bus.answered().await.1
}
