//! A year of keeping: exact measures on a site of two pages, and `keep` beside what crawlers do on
//! made-up sites.

use tempfile::TempDir;
use turnstone_frontier::PageId;
use turnstone_lab::backtest::keep::{
    Announced, Compare, Day, MovingWeb, Outcome, Rules, Total, try_policy,
};
use turnstone_lab::generate::history::{HistoryPlan, write_site};
use turnstone_lab::history::{self, Date, History, Page, Rows, Snapshot, Version, VersionId};

fn tried(web: &MovingWeb, spec: &str, rules: Rules) -> Outcome {
    try_policy(web, &spec.parse().unwrap(), rules, 1, &mut |_, _| {}).unwrap()
}

/// A front page that links to a second page from day 10 on, when that is born. 14 days.
fn two_pages() -> MovingWeb {
    let page = |url: &str| Page {
        url: url.to_owned(),
        is_xml: false,
    };
    let version = |text| Version {
        text,
        raw: text,
        ..Version::default()
    };
    let set = |set: &[(u32, u32)]| Snapshot {
        set: set
            .iter()
            .map(|(p, v)| (PageId(*p), VersionId(*v)))
            .collect(),
        gone: Vec::new(),
    };
    let start: Date = "2020-01-01".parse().unwrap();
    let history = History {
        site: "two.example".to_owned(),
        origin: "https://two.example/".to_owned(),
        dates: [0, 10, 14].map(|days| start.plus_days(days)).to_vec(),
        pages: vec![page("/"), page("/new.html")],
        versions: [1, 2, 3].map(version).to_vec(),
        links: [vec![], vec![PageId(1)], vec![]]
            .into_iter()
            .collect::<Rows<PageId>>(),
        snapshots: vec![set(&[(0, 0)]), set(&[(0, 1), (1, 2)]), set(&[])],
        ..History::default()
    };
    MovingWeb::of(vec![history], 14, Compare::Text)
}

/// What the front page counts for: 1 of 1 + 1.85, two pages making 2.
const FRONT: u64 = 701_754;

#[test]
fn one_request_a_day_finds_the_link_on_its_day_and_the_page_a_day_later() {
    // One page, seven requests a week.
    let rules = Rules {
        days: 14,
        round_days: 1,
        share: 7.0,
        hints: Announced::default(),
    };
    for spec in ["uniform", "keep", "interval:initial=1"] {
        let outcome = tried(&two_pages(), spec, rules);
        let exact = Total {
            // One of one for nine days, one of two on the tenth, then both.
            freshness: 18.0 / 19.0,
            weighted_freshness: (10 * FRONT + 8_000_000) as f64 / (9 * FRONT + 10_000_000) as f64,
            stored_freshness: 1.0,
            new_pages: 1,
            known_share: 1.0,
            found_share: 1.0,
            median_delay: Some(1),
            median_known_delay: Some(0),
            budget: 14,
            requests: 14,
        };
        assert_eq!(outcome.together, exact, "{spec}");
        assert_eq!(outcome.alone_total, exact, "{spec}");
        let tenth = Day {
            live: 2,
            fresh: 1,
            stored: 1,
            live_weight: 2_000_000,
            fresh_weight: FRONT,
            budget: 1,
            requests: 1,
        };
        assert_eq!(outcome.days[9], tenth, "{spec}");
    }
}

#[test]
fn a_page_that_is_never_stored_is_later_than_all_others() {
    // A request on the first day of each week: both before the link is there.
    let rules = Rules {
        days: 14,
        round_days: 7,
        share: 1.0,
        hints: Announced::default(),
    };
    let total = tried(&two_pages(), "uniform", rules).together;
    assert_eq!((total.requests, total.known_share), (2, 0.0));
    assert_eq!((total.found_share, total.median_delay), (0.0, None));
}

#[test]
fn sites_with_too_short_a_history_are_left_out() {
    let history = two_pages().sites.remove(0).history;
    let web = MovingWeb::of(vec![history], 15, Compare::Text);
    assert!(web.sites.is_empty());
    assert_eq!(web.too_short, ["two.example"]);
}

/// Made-up sites whose directories grow and change at very different rates.
fn made_up(folder: &TempDir) -> MovingWeb {
    let histories = (1..=4).map(|seed| {
        let file = folder.path().join(format!("{seed}.jsonl.zst"));
        let plan = HistoryPlan {
            pages: 200,
            snapshots: 54,
            changes: 0.03,
            seed,
            ..HistoryPlan::default()
        };
        write_site(&file, &format!("site{seed}.example"), plan).unwrap();
        history::read(&file).unwrap()
    });
    MovingWeb::of(histories.collect(), 364, Compare::Text)
}

#[test]
fn announced_changes_are_found_sooner() {
    let folder = TempDir::new().unwrap();
    let web = made_up(&folder);
    let rules = |hints| Rules {
        days: 364,
        round_days: 1,
        share: 0.1,
        hints,
    };
    let said = |changes, false_daily| Announced {
        changes,
        false_daily,
    };
    let fresh = |spec, hints| tried(&web, spec, rules(hints)).together.freshness;
    let silent = fresh("keep", Announced::default());
    let told = fresh("keep", said(0.9, 0.0));
    let lied_to = fresh("keep", said(0.0, 0.2));
    assert!(told > silent + 0.01, "{told} {silent}");
    assert!(lied_to > silent - 0.02, "{lied_to} {silent}");
    // Who does not listen is not helped.
    let deaf = |hints| fresh("uniform", hints);
    assert_eq!(deaf(Announced::default()), deaf(said(0.9, 0.0)));
}

#[test]
fn keep_is_fresher_finds_more_and_finds_sooner_than_what_crawlers_do() {
    let folder = TempDir::new().unwrap();
    let web = made_up(&folder);
    assert_eq!(web.sites.len(), 4);
    let rules = Rules {
        days: 364,
        round_days: 1,
        share: 0.1,
        hints: Announced::default(),
    };
    let [keep, uniform, interval] =
        ["keep", "uniform", "interval"].map(|spec| tried(&web, spec, rules));
    let of = |outcome: &Outcome| [outcome.together, outcome.alone_total];
    for other in [&uniform, &interval] {
        for (ours, theirs) in of(&keep).into_iter().zip(of(other)) {
            assert_eq!(
                (ours.budget, ours.new_pages),
                (theirs.budget, theirs.new_pages)
            );
            assert!(ours.requests <= ours.budget && theirs.requests <= theirs.budget);
            assert!(ours.freshness > theirs.freshness, "{ours:?} {theirs:?}");
            assert!(
                ours.found_share >= theirs.found_share,
                "{ours:?} {theirs:?}"
            );
            let late = |total: Total| total.median_delay.unwrap_or(u32::MAX);
            assert!(late(ours) <= late(theirs), "{ours:?} {theirs:?}");
        }
    }
    let split = keep.split.unwrap();
    let booked: u64 = split.arms.iter().map(|arm| arm.spent).sum();
    assert_eq!(
        booked, keep.together.requests,
        "every request is booked in one arm"
    );
    assert_eq!(
        tried(&web, "keep", rules).days,
        keep.days,
        "the same seed, the same year"
    );
}

/// Three hundred pages that change every week, and a folder of as many that is away from week 2 to week 40 and comes
/// back with three hundred new pages, each linked from one of its own.
fn folder_that_returns() -> MovingWeb {
    const SIZE: u32 = 300;
    const WEEKS: u32 = 53;
    let folders = ["/busy/", "/folder/", "/folder/new-"];
    let names = folders
        .iter()
        .flat_map(|folder| (0..SIZE).map(move |at| format!("{folder}{at}.html")));
    let page = |url: String| Page { url, is_xml: false };
    let of = |folder: u32| (1 + folder * SIZE..1 + (folder + 1) * SIZE).map(PageId);
    // Versions: the front page, the busy pages by week, and the pages of the folder after its return.
    let front = of(0).chain(of(1)).collect();
    let busy = (0..WEEKS).map(|_| Vec::new());
    let links = std::iter::once(front)
        .chain(busy)
        .chain(of(2).map(|new| vec![new]));
    let links: Vec<Vec<PageId>> = links.collect();
    let version = |text: usize| Version {
        text: text as u64 + 1,
        raw: text as u64 + 1,
        ..Version::default()
    };
    let snapshot = |week: u32| {
        let mut moment = Snapshot {
            set: of(0).map(|page| (page, VersionId(1 + week))).collect(),
            gone: Vec::new(),
        };
        match week {
            0 => {
                moment.set.push((PageId(0), VersionId(0)));
                moment.set.extend(of(1).map(|page| (page, VersionId(1))));
            }
            2 => moment.gone = of(1).collect(),
            40 => {
                moment.set.extend(of(1).zip((1 + WEEKS..).map(VersionId)));
                moment.set.extend(of(2).map(|page| (page, VersionId(1))));
            }
            _ => {}
        }
        moment
    };
    let start: Date = "2020-01-01".parse().unwrap();
    let history = History {
        site: "folder.example".to_owned(),
        origin: "https://folder.example/".to_owned(),
        dates: (0..WEEKS)
            .map(|week| start.plus_days(7 * week as i32))
            .collect(),
        pages: std::iter::once("/".to_owned())
            .chain(names)
            .map(page)
            .collect(),
        versions: (0..links.len()).map(version).collect(),
        links: links.into_iter().collect::<Rows<PageId>>(),
        snapshots: (0..WEEKS).map(snapshot).collect(),
        ..History::default()
    };
    MovingWeb::of(vec![history], 364, Compare::Text)
}

#[test]
fn a_folder_that_returns_is_found_again_with_what_came_with_it() {
    let rules = Rules {
        days: 364,
        round_days: 1,
        share: 0.05,
        hints: Announced::default(),
    };
    let web = folder_that_returns();
    let [keep, uniform] = ["keep", "uniform"].map(|spec| tried(&web, spec, rules).together);
    assert_eq!((keep.new_pages, uniform.new_pages), (300, 300));
    // Without a call for the rest of the folder it stores 2 % of them. Uniform refresh stores 11 %.
    assert!(keep.found_share >= 0.05, "{keep:?} {uniform:?}");
    assert!(
        keep.known_share >= uniform.known_share,
        "{keep:?} {uniform:?}"
    );
}
