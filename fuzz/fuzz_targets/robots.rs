//! Any robots.txt: parses, answers, and survives saving; a rule's own line decides what it matches.
#![no_main]

use libfuzzer_sys::fuzz_target;
use turnstone_fetch::robots::{Answer, Record, RefreshOptions, Rules};

fuzz_target!(|data: &[u8]| {
    let rules = Rules::parse(data, "turnstone");
    for line in rules.lines() {
        if let Some((_, path)) = line.text.split_once(':') {
            let _ = rules.check(path.trim());
        }
    }
    assert!(rules.check("/robots.txt").allowed);
    let mut record = Record::new("http://h.example");
    let body = Answer::Response { status: 200, location: None, body: data, cache_control: None, retry_after_s: None };
    record.observe(1, body, "turnstone", &RefreshOptions::default());
    let again = Record::restore(&record.save()).expect("what we saved can be restored");
    assert_eq!(again, record);
    let _ = Record::restore(data);
});
