//! The key of a key is the key, for every URL and every option; SURT and site never panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use turnstone_fetch::traps::{TrapOptions, judge, pattern_of};
use turnstone_fetch::urls::{KeyOptions, UrlLimits, canonical_key, parse, shown, site_of, surt};

fuzz_target!(|data: &str| {
    let _ = shown(data);
    let urls = [url::Url::parse(data), url::Url::parse(&format!("http://h.example/{data}"))];
    for url in urls.into_iter().flatten() {
        for bits in 0..8u8 {
            let options = KeyOptions { strip_sessions: bits & 1 == 1, strip_tracking: bits & 2 == 2, sort_query: bits & 4 == 4 };
            let once = canonical_key(&url, &options);
            let again = url::Url::parse(&once).expect("a key is a URL");
            assert_eq!(canonical_key(&again, &options), once, "key of {url}");
        }
        let _ = (surt(&url), site_of(&url), judge(&url, 1_700_000_000, &TrapOptions::default()), pattern_of(&url));
        let _ = parse(url.as_str(), &UrlLimits::default());
    }
});
