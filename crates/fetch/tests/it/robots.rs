//! robots.txt: reading, matching, staying fresh, and page wishes.

use std::time::Duration;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use turnstone_fetch::robots::{
    Access, AfterLongSilence, Answer, BYTES_MAX, Next, Record, RefreshOptions, Rules,
    cache_control_lifetime_s, tags::PageWishes,
};

const AGENT: &str = "turnstone";
const DAY: u64 = 24 * 3600;

/// Asks for each path and shows the verdicts.
fn check(file: impl AsRef<[u8]>, paths: &[&str], expect: &Expect) {
    let rules = Rules::parse(file.as_ref(), AGENT);
    let shown: Vec<String> = paths
        .iter()
        .map(|p| format!("{p} {}", rules.check(p)))
        .collect();
    expect.assert_eq(&shown.join("\n"));
}

#[test]
fn verdict_names_the_deciding_line() {
    check(
        "# hello\nUser-agent: Turnstone/2.0\nDisallow: /a # secret\nAllow: /a/b\n",
        &["/a", "/a/b/c", "/c", "/robots.txt"],
        &expect![[r#"
            /a disallowed by line 3: Disallow: /a
            /a/b/c allowed by line 4: Allow: /a/b
            /c allowed: no rule matches
            /robots.txt allowed: no rule matches"#]],
    );
}

#[test]
fn robots_txt_itself_is_always_allowed() {
    check(
        "User-agent: *\nDisallow: /",
        &["/robots.txt", "/robots.txt?x"],
        &expect![[r#"
        /robots.txt allowed: no rule matches
        /robots.txt?x disallowed by line 2: Disallow: /"#]],
    );
}

#[test]
fn percent_forms_meet() {
    let file = "User-agent: *\nDisallow: /%7eu\nDisallow: /caf\u{e9}\nDisallow: /s%2fx\nDisallow: /lit-%2A\nDisallow: /d-%24x\nDisallow: /a$b";
    check(
        file,
        &[
            "/~u",
            "/%7Eu",
            "/caf%c3%a9",
            "/s/x",
            "/s%2Fx",
            "/lit-*",
            "/lit-y",
            "/d-$x",
            "/a$b",
            "/a",
        ],
        &expect![[r#"
            /~u disallowed by line 2: Disallow: /%7eu
            /%7Eu disallowed by line 2: Disallow: /%7eu
            /caf%c3%a9 disallowed by line 3: Disallow: /café
            /s/x allowed: no rule matches
            /s%2Fx disallowed by line 4: Disallow: /s%2fx
            /lit-* disallowed by line 5: Disallow: /lit-%2A
            /lit-y allowed: no rule matches
            /d-$x disallowed by line 6: Disallow: /d-%24x
            /a$b disallowed by line 7: Disallow: /a$b
            /a allowed: no rule matches"#]],
    );
}

#[test]
fn r1_first_500_kib_cut_at_a_line_end() {
    let mut file = b"User-agent: *\nDisallow: /early\n".to_vec();
    while file.len() < BYTES_MAX - 20 {
        file.extend_from_slice(b"# filler\n");
    }
    // This rule straddles the limit: half a rule would forbid too much.
    file.extend_from_slice(b"Disallow: /straddling-the-limit\n");
    file.resize(510_000, b'\n');
    file.extend_from_slice(b"Disallow: /late\n");
    file.resize(600 * 1024, b'#');
    let rules = Rules::parse(&file, AGENT);
    assert_eq!(rules.rule_count(), 1);
    assert!(!rules.check("/early").allowed);
    assert!(rules.check("/straddling-the-limit").allowed && rules.check("/late").allowed);
    assert_eq!(Rules::parse(&vec![b'a'; 600 * 1024], AGENT).rule_count(), 0);
}

#[test]
fn r8_html_with_status_200_has_no_rules_and_is_flagged() {
    let rules = Rules::parse(
        b" <!DOCTYPE html><title>Not found</title>\n<p>Disallow: / is a rule",
        AGENT,
    );
    assert!(rules.is_html() && rules.check("/x").allowed);
    assert!(!Rules::parse(b"User-agent: *\nDisallow:", AGENT).is_html());
}

#[test]
fn r9_bom_line_ends_and_nul() {
    let plain = "User-agent: *\nDisallow: /x\n";
    let utf16 = |unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
        format!("\u{feff}{plain}")
            .encode_utf16()
            .flat_map(unit)
            .collect()
    };
    let forms: Vec<Vec<u8>> = vec![
        plain.into(),
        format!("\u{feff}{plain}").into(),
        plain.replace('\n', "\r").into(),
        plain.replace('\n', "\r\n").into(),
        utf16(u16::to_le_bytes),
        utf16(u16::to_be_bytes),
        format!("\0\n{plain}\0").into(),
    ];
    for form in forms {
        assert!(!Rules::parse(&form, AGENT).check("/x").allowed, "{form:?}");
    }
    check(
        b"User-agent: *\nDisallow: /a\0b\xff\x1b[1m",
        &["/a%00b%FF%1B%5B1m", "/a%00b%ff%1b[1m"],
        &expect![[r#"
        /a%00b%FF%1B%5B1m allowed: no rule matches
        /a%00b%ff%1b[1m disallowed by line 2: Disallow: /a%00b%FF%1B[1m"#]],
    );
}

#[test]
fn r11_groups_of_our_agent_merge_and_star_is_ignored() {
    let file = "User-agent: turnstone\nDisallow: /a\n\nUser-agent: *\nDisallow: /star\n\n\
                User-agent: other\nSitemap: https://e.example/s.xml\nUser-Agent: TURNSTONE\nCrawl-delay: 2\nDisallow: /b\n";
    check(
        file,
        &["/a", "/b", "/star"],
        &expect![[r#"
        /a disallowed by line 2: Disallow: /a
        /b disallowed by line 11: Disallow: /b
        /star allowed: no rule matches"#]],
    );
    let rules = Rules::parse(file.as_bytes(), AGENT);
    assert!(rules.names_us());
    assert_eq!(
        rules.sitemaps().collect::<Vec<_>>(),
        ["https://e.example/s.xml"]
    );
    let other = Rules::parse(file.as_bytes(), "other");
    assert!(!other.check("/b").allowed, "a sitemap line closes no group");
    assert_eq!(
        other.crawl_delay(Duration::MAX).unwrap().asked,
        Duration::from_secs(2)
    );
}

#[test]
fn r13_crawl_delay_is_clamped_and_nonsense_ignored() {
    let cap = Duration::from_secs(300);
    let granted = |value: &str| {
        let file = format!("User-agent: *\nCrawl-delay: {value}\nDisallow:\n");
        Rules::parse(file.as_bytes(), AGENT)
            .crawl_delay(cap)
            .map(|d| (d.granted, d.is_capped()))
    };
    assert_eq!(granted("3600"), Some((cap, true)));
    assert_eq!(granted("1e9"), Some((cap, true)));
    assert_eq!(granted("1e300"), Some((cap, true)));
    assert_eq!(granted("0"), Some((Duration::ZERO, false)));
    assert_eq!(granted("2.5"), Some((Duration::from_millis(2500), false)));
    for nonsense in ["-1", "abc", "", "NaN", "inf"] {
        assert_eq!(granted(nonsense), None, "{nonsense}");
    }
}

#[test]
fn content_usage_is_kept_verbatim() {
    let file = "Content-Usage: tdm=y\nUser-Agent: *\nContent-Usage: /img train-ai=n\nAllow: /\nUser-agent: other\nContent-Usage: search=n\n";
    let rules = Rules::parse(file.as_bytes(), AGENT);
    let kept: Vec<&str> = rules.content_usage().map(|line| &*line.text).collect();
    assert_eq!(
        kept,
        ["Content-Usage: tdm=y", "Content-Usage: /img train-ai=n"]
    );
}

#[test]
fn a_hundred_stars_cost_nothing() {
    let file = format!("User-agent: *\nDisallow: /{}b$\n", "*a".repeat(5000));
    let rules = Rules::parse(file.as_bytes(), AGENT);
    let path = format!("/{}", "a".repeat(100_000));
    assert!(rules.check(&path).allowed);
    assert!(!rules.check(&format!("{path}b")).allowed);
}

proptest! {
    /// The linear matcher agrees with a regular expression made from the same pattern.
    #[test]
    fn matcher_agrees_with_a_regex(pattern in "/[ab*]{0,8}\\$?", path in "/[ab]{0,10}") {
        let (body, end) = match pattern.strip_suffix('$') {
            Some(body) => (body, "$"),
            None => (pattern.as_str(), ""),
        };
        let slow = regex::Regex::new(&format!("^{}{end}", body.replace('*', ".*"))).unwrap();
        let rules = Rules::parse(format!("User-agent: *\nDisallow: {pattern}").as_bytes(), AGENT);
        prop_assert_eq!(rules.check(&path).allowed, !slow.is_match(&path));
    }

    /// Binary search over prefixes decides as a look at every rule does.
    #[test]
    fn deciding_rule_agrees_with_a_plain_search(
        rules in prop::collection::vec((any::<bool>(), "/[ab]{0,4}[*$]?[ab]{0,2}"), 0..25),
        path in "/[ab]{0,7}",
    ) {
        let mut file = String::from("User-agent: *\n");
        for (allow, pattern) in &rules {
            file += &format!("{}: {pattern}\n", if *allow { "Allow" } else { "Disallow" });
        }
        let slow = rules
            .iter()
            .filter(|(_, pattern)| {
                let (body, end) = pattern.strip_suffix('$').map_or((pattern.as_str(), ""), |body| (body, "$"));
                let body = regex::escape(body).replace(r"\*", ".*");
                regex::Regex::new(&format!("^{body}{end}")).unwrap().is_match(&path)
            })
            .map(|(allow, pattern)| (pattern.len(), *allow))
            .max();
        let parsed = Rules::parse(file.as_bytes(), AGENT);
        prop_assert_eq!(parsed.check(&path).allowed, slow.is_none_or(|(_, allow)| allow), "{}", file);
    }

    /// Any bytes parse, and the kept lines rebuild the same rules.
    #[test]
    fn any_file_parses_and_survives_saving(bytes in prop::collection::vec(any::<u8>(), 0..300), lines in "((user-agent: (\\*|turnstone|x)|disallow: /[a-c*$%]{0,4}|allow: /[a-c]{0,3}|crawl-delay: [0-9]|sitemap: x|junk)(\n|\r|\r\n)){0,12}", path in "/[abc%]{0,4}") {
        let file = [lines.as_bytes(), &bytes].concat();
        let mut record = Record::new("http://h.example");
        record.observe(5, answer(200, &file), AGENT, &RefreshOptions::default());
        let again = Record::restore(&record.save()).unwrap();
        prop_assert_eq!(&again, &record);
        let _ = Rules::parse(&bytes, AGENT).check(&path);
    }

    /// Damaged saved bytes are an error, never a panic.
    #[test]
    fn damaged_records_are_refused(cut in 0usize..200, flip in 0usize..200) {
        let mut record = Record::new("http://h.example");
        record.observe(5, answer(200, b"User-agent: *\nDisallow: /x"), AGENT, &RefreshOptions::default());
        let saved = record.save();
        if cut < saved.len() {
            prop_assert!(Record::restore(&saved[..cut]).is_err());
        }
        let mut flipped = saved.clone();
        let at = flip % flipped.len();
        flipped[at] ^= 0xFF;
        let _ = Record::restore(&flipped);
    }
}

fn answer(status: u16, body: &[u8]) -> Answer<'_> {
    Answer::Response {
        status,
        location: None,
        body,
        cache_control: None,
        retry_after_s: None,
    }
}

/// A record that has heard these answers, one per second from t=1000.
fn heard(answers: &[Answer<'_>]) -> Record {
    let mut record = Record::new("http://h.example");
    for (i, a) in answers.iter().enumerate() {
        record.observe(1000 + i as u64, *a, AGENT, &RefreshOptions::default());
    }
    record
}

/// What holds at a time, in a word.
fn access(record: &Record, now_s: u64) -> &'static str {
    match record.access(now_s, &RefreshOptions::default()) {
        Access::Rules { stale: false, .. } => "rules",
        Access::Rules { stale: true, .. } => "old rules",
        Access::Open { .. } => "open",
        Access::Closed { .. } => "closed",
        Access::Unknown => "unknown",
    }
}

#[test]
fn r2_a_missing_file_opens_everything_for_a_day() {
    for status in [404, 403, 401, 410] {
        let record = heard(&[answer(status, b"")]);
        assert_eq!(access(&record, 1001), "open");
        assert_eq!(
            record.next(1001),
            Next::Wait {
                until_s: 1000 + DAY
            }
        );
        assert_eq!(
            access(&record, 1000 + DAY),
            "unknown",
            "must be asked again"
        );
        assert_eq!(
            record.next(1000 + DAY),
            Next::Fetch("http://h.example/robots.txt".into())
        );
    }
}

#[test]
fn r3_429_closes_and_its_retry_after_is_kept() {
    let busy = |retry_after_s| Answer::Response {
        status: 429,
        location: None,
        body: b"",
        cache_control: None,
        retry_after_s,
    };
    let rules = answer(200, b"User-agent: *\nDisallow: /x");
    for (retry_after, until) in [
        (Some(7200), 1001 + 7200),
        (Some(1), 1001 + 300),
        (Some(u64::MAX), 1001 + DAY),
        (None, 1001 + 300),
    ] {
        let record = heard(&[rules, busy(retry_after)]);
        assert_eq!(record.next(1002), Next::Wait { until_s: until });
        assert_eq!(
            access(&record, until - 1),
            "closed",
            "an old copy does not help"
        );
    }
}

#[test]
fn r4_unreachable_is_closed_with_backoff_and_an_old_copy_is_reused() {
    for fault in [
        answer(500, b""),
        answer(503, b""),
        answer(999, b""),
        Answer::Unreachable {
            why: "connect timed out",
        },
    ] {
        let record = heard(&[fault]);
        assert_eq!(access(&record, 1001), "closed");
        assert_eq!(record.next(1001), Next::Wait { until_s: 1300 });
        let record = heard(&[fault, fault, fault]);
        assert_eq!(
            record.next(1003),
            Next::Wait {
                until_s: 1002 + 1200
            },
            "doubled twice"
        );
        let many = heard(&vec![fault; 90]);
        assert_eq!(
            many.next(1090),
            Next::Wait {
                until_s: 1089 + 6 * 3600
            },
            "capped"
        );
        let record = heard(&[answer(200, b"User-agent: *\nDisallow: /x"), fault]);
        assert_eq!(access(&record, 1001 + 10 * DAY), "old rules");
        assert_eq!(access(&heard(&[fault, answer(200, b"")]), 1002), "rules");
    }
}

#[test]
fn r5_thirty_days_of_silence_switch_as_documented() {
    let fault = Answer::Unreachable {
        why: "DNS: no such host",
    };
    let mut record = heard(&[fault]);
    assert_eq!(access(&record, 1000 + 30 * DAY - 1), "closed");
    assert_eq!(access(&record, 1000 + 30 * DAY), "open");
    assert!(record.long_silent(1000 + 30 * DAY, &RefreshOptions::default()));
    record.observe(1000 + 29 * DAY, fault, AGENT, &RefreshOptions::default());
    assert_eq!(
        access(&record, 1000 + 30 * DAY),
        "open",
        "silent since the first failure"
    );
    let never = RefreshOptions {
        after_silence: AfterLongSilence::StayClosed,
        ..RefreshOptions::default()
    };
    assert!(matches!(
        record.access(1000 + 90 * DAY, &never),
        Access::Closed { .. }
    ));
    let with_copy = heard(&[answer(200, b"User-agent: *\nDisallow: /"), fault]);
    assert_eq!(access(&with_copy, 1000 + 90 * DAY), "old rules");
}

#[test]
fn r6_redirects_five_followed_rules_bound_to_the_first_authority() {
    let to = |location| Answer::Response {
        status: 301,
        location: Some(location),
        body: b"",
        cache_control: None,
        retry_after_s: None,
    };
    let hops = [
        "http://b.example/1",
        "/2",
        "//c.example/3",
        "https://d.example/4#x",
        "5",
    ];
    let mut record = heard(&hops.map(to));
    assert_eq!(record.next(1005), Next::Fetch("https://d.example/5".into()));
    assert_eq!(
        access(&record, 1005),
        "unknown",
        "no page before the chain ends"
    );
    assert_eq!(Record::restore(&record.save()).unwrap(), record);
    let mut six = record.clone();
    record.observe(
        1005,
        answer(200, b"User-agent: *\nDisallow: /x"),
        AGENT,
        &RefreshOptions::default(),
    );
    assert_eq!(
        (access(&record, 1006), record.origin.as_str()),
        ("rules", "http://h.example")
    );
    six.observe(1005, to("/6"), AGENT, &RefreshOptions::default());
    assert_eq!(access(&six, 1006), "open");

    assert_eq!(
        access(&heard(&[to("/robots.txt")]), 1001),
        "open",
        "loop to itself"
    );
    assert_eq!(
        access(&heard(&[to("/a"), to("/b"), to("/a")]), 1003),
        "open",
        "loop"
    );
    for bad in ["file:///etc/passwd", "javascript:1", "http://"] {
        assert_eq!(access(&heard(&[to(bad)]), 1001), "open", "{bad}");
    }
    assert_eq!(
        access(&heard(&[to("/a"), answer(500, b"")]), 1002),
        "closed"
    );
    assert_eq!(
        heard(&[to("/a"), answer(500, b"")]).next(1500),
        Next::Fetch("http://h.example/robots.txt".into())
    );
}

#[test]
fn r12_a_changed_file_counts_from_the_refresh_on() {
    let mut record = heard(&[answer(200, b"User-agent: *\nAllow: /")]);
    let later = 1000 + DAY;
    record.observe(
        later,
        answer(200, b"User-agent: *\nDisallow: /"),
        AGENT,
        &RefreshOptions::default(),
    );
    let Access::Rules { rules, .. } = record.access(later, &RefreshOptions::default()) else {
        panic!()
    };
    assert!(!rules.check("/queued").allowed);
}

#[test]
fn r14_a_restart_reuses_the_copy_and_nothing_is_open_before_an_answer() {
    let fresh = Record::new("http://h.example");
    assert_eq!(access(&fresh, 0), "unknown");
    let record = heard(&[answer(200, b"User-agent: turnstone\nDisallow: /x")]);
    let again = Record::restore(&record.save()).unwrap();
    assert_eq!(
        again.next(1500),
        Next::Wait {
            until_s: 1000 + DAY
        }
    );
    assert_eq!(access(&again, 1500), "rules");
    assert_eq!(
        access(&again, 600),
        "unknown",
        "a clock that went back asks again"
    );
    assert_eq!(
        Record::restore(&[9]).unwrap_err().to_string(),
        "saved robots record has format 9, this program reads 1; fetch robots.txt again"
    );
}

#[test]
fn cache_control_shortens_a_life_but_never_lengthens_it() {
    let with = |cache_control| {
        let record = heard(&[Answer::Response {
            status: 200,
            location: None,
            body: b"",
            cache_control,
            retry_after_s: None,
        }]);
        record.ask_at_s - 1000
    };
    assert_eq!(with(Some("public, max-age=3600")), 3600);
    assert_eq!(with(Some("max-age=31536000")), DAY);
    assert_eq!(with(Some("no-store")), 300);
    assert_eq!(with(None), DAY);
    assert_eq!(
        cache_control_lifetime_s("max-age=99999999999999999999999"),
        Some(u64::MAX)
    );
    assert_eq!(cache_control_lifetime_s("max-age=-1, s-maxage=3"), None);
    assert_eq!(
        cache_control_lifetime_s("MAX-AGE=\"60\", no-transform"),
        Some(60)
    );
}

#[test]
fn r15_page_wishes_are_scoped_and_the_strictest_wins() {
    let wishes = |headers: &[&str]| {
        let mut all = PageWishes::default();
        headers.iter().for_each(|h| all.add_header(h, AGENT));
        all
    };
    assert_eq!(
        wishes(&["otherbot: noindex, nofollow"]),
        PageWishes::default()
    );
    let both = wishes(&["otherbot: nofollow", "noindex"]);
    assert!(both.noindex && !both.nofollow);
    let ours = wishes(&["otherbot: nofollow, Turnstone: NoArchive, none"]);
    assert!(ours.noarchive && ours.noindex && ours.nofollow);
    let dated = wishes(&[
        "unavailable_after: 25 Jun 2010 15:00:00 PST, noindex",
        "max-snippet: 5",
    ]);
    assert_eq!(
        dated.unavailable_after.as_deref(),
        Some("25 Jun 2010 15:00:00 PST")
    );
    assert!(dated.noindex);
    let rfc850 = wishes(&["unavailable_after: Sunday, 15-Aug-99 14:00:00 GMT, nofollow"]);
    assert!(rfc850.nofollow, "a time of day is no agent");

    let mut meta = PageWishes::default();
    meta.add_meta("otherbot", "noindex", AGENT);
    assert_eq!(meta, PageWishes::default());
    meta.add_meta(" ROBOTS", "index, NoFollow", AGENT);
    meta.merge(&wishes(&["noarchive"]));
    assert!(meta.nofollow && meta.noarchive && !meta.noindex);
}
