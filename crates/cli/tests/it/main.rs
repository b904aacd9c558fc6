//! The binary as a user meets it, and the rules of the house.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod advise;
mod bad_input;
mod changes;
mod coverage;
mod demo;
mod discovery;
mod e2e;
mod import;
mod importance;
mod keep;
mod live;
mod liveness;
mod run;
mod schemas;
mod seeing;
mod serve_web;
mod serving;
mod site;
mod tables;
mod texts;
mod tidy;
mod tutorial;
mod uploads;
mod wacz;
mod webs;
