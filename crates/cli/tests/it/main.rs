//! The binary as a user meets it, and the rules of the house.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod advise;
mod bad_input;
mod changes;
mod coverage;
mod demo;
mod discovery;
mod e2e;
mod frontier;
mod import;
mod importance;
mod keep;
mod league;
mod live;
mod liveness;
mod run;
mod schemas;
mod seeing;
mod serve_web;
mod serving;
mod site;
mod tables;
mod tidy;
mod webs;
