//! The dashboard in a real Chromium. With `SCREENS=FOLDER` it leaves pictures of what it saw.

use serde_json::json;
use turnstone_server::Order;

use crate::chromium::Browser;
use crate::stand::{HOSTILE, Stand};

/// Nothing ran that is not ours, nothing came from elsewhere, nothing is wider than the screen.
fn unharmed(browser: &mut Browser, stand: &Stand) {
    assert_eq!(browser.value("window.broken === undefined"), true);
    assert_eq!(
        browser.value("document.getElementById('forged') === null"),
        true
    );
    let ours = stand.url("/");
    for url in browser.requested() {
        assert!(url.starts_with(&ours) || url == "about:blank", "{url}");
    }
    assert_eq!(browser.faults(), Vec::<serde_json::Value>::new());
    let wide = "document.documentElement.scrollWidth <= document.documentElement.clientWidth";
    let widest = "[...document.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > innerWidth + 1 \
                  && !e.closest('.wide')).map(e => e.outerHTML.slice(0, 200)).join('\\n')";
    let found = browser.value(widest);
    assert_eq!(browser.value(wide), true, "{found}");
}

#[test]
fn every_page_loads_unharmed_by_hostile_names_on_every_screen() {
    let stand = Stand::open(None);
    let mut browser = Browser::open();
    let name = "-b-crawl";
    let hostile = "http%3A%2F%2Fb0.example%2F%3Cscript%3Ewindow.broken%3D1%3C%2Fscript%3E";
    let long = "x".repeat(10_000);
    let pages = [
        ("overview", "/".to_owned()),
        ("crawl", format!("/c/{name}")),
        ("events", format!("/c/{name}/events")),
        ("hosts", format!("/c/{name}/hosts")),
        ("why", format!("/c/{name}/why?url={hostile}")),
        ("long", format!("/c/{name}/why?url=http%3A%2F%2Fa%2F{long}")),
        (
            "wrong",
            format!("/c/{name}/why?url=nonsense%20%3Cscript%3E"),
        ),
        ("diff", format!("/c/{name}/diff?url={hostile}")),
    ];
    for (width, scheme) in [(1100, "light"), (1100, "dark"), (400, "dark")] {
        browser.screen(width, 900, scheme);
        for (page, path) in &pages {
            browser.go(&stand.url(path));
            unharmed(&mut browser, &stand);
            let dark = browser.value(
                "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).every(n => n < 60)",
            );
            assert_eq!(dark, scheme == "dark", "{page}");
            // Whoever hears the page hears where things are.
            let heard = "document.documentElement.lang && document.title && document.querySelector('main h1') \
                         && [...document.querySelectorAll('input:not([type=hidden]),textarea,select')] \
                         .every(e => e.labels.length > 0) ? true : false";
            assert_eq!(browser.value(heard), true, "{page}");
            browser.picture(&format!("{page}-{width}-{scheme}.png"));
        }
    }
    // What they are called is there to read.
    browser.go(&stand.url(&format!("/c/{name}/events")));
    let text = browser.value("document.body.innerText");
    let text = text.as_str().unwrap();
    assert!(
        text.contains(HOSTILE[0]) && text.contains("\\u{202e}"),
        "{text}"
    );
    assert!(!text.contains('\u{202e}') && !text.contains(&"x".repeat(200)));
}

#[test]
fn a_page_changes_while_it_is_looked_at() {
    let stand = Stand::open(None);
    let mut browser = Browser::open();
    browser.go(&stand.url("/c/-b-crawl"));
    browser.until("Number(document.documentElement.dataset.updates) > 0");
    stand.comes(
        "http://fresh.example/<script>window.broken=1</script>",
        "Fresh <b>news</b>",
    );
    browser.until("document.querySelector('#live').innerText.includes('Fresh <b>news</b>')");
    // A part that somebody has the keyboard in is left alone.
    browser.value("document.querySelector('#live .events a').focus(), true");
    let held = "document.querySelector('#live .events a') === document.activeElement";
    assert_eq!(browser.value(held), true);
    let before = browser.value("Number(document.documentElement.dataset.updates)");
    stand.comes("http://fresh.example/2", "Later news");
    browser.until(&format!(
        "Number(document.documentElement.dataset.updates) > {before}"
    ));
    assert_eq!(browser.value(held), true);
    browser.value("document.activeElement.blur(), true");
    stand.comes("http://fresh.example/3", "Last news");
    browser.until("document.querySelector('#live').innerText.includes('Last news')");
    unharmed(&mut browser, &stand);
}

#[test]
fn a_search_is_answered_and_orders_are_given_by_hand() {
    let stand = Stand::open(None);
    let mut browser = Browser::open();
    browser.go(&stand.url("/"));
    browser.value("document.querySelector('#url').value = 'http://a.example/1?q=<i>&r=ü', true");
    browser.click_through(".search button");
    browser.until("document.querySelector('pre.told') !== null");
    let told = browser.value("document.querySelector('pre.told').innerText");
    let told = told.as_str().unwrap();
    assert!(
        told.starts_with("http://a.example/1?q=<i>&r=ü\nstate  fetched"),
        "{told}"
    );

    browser.go(&stand.url("/c/-b-crawl"));
    browser.click_through("button[value=pause]");
    browser.until("document.querySelector('#live .state').innerText === 'paused'");
    browser.until("document.querySelector('#live').innerText.includes('{\"order\":\"pause\"}')");
    browser.picture("paused.png");
    browser.click_through("button[value=resume]");
    browser.until("document.querySelector('#live .state').innerText === 'running'");

    browser.value(
        "document.querySelector('[name=hosts]').value = 'a.example\\n<b>.example', \
         document.querySelector('[name=exclude]').value = '', \
         document.querySelector('[name=depth]').value = '3', true",
    );
    browser.click_through("button[value=scope]");
    let kept = "document.querySelector('[name=hosts]').value === 'a.example\\n<b>.example'";
    assert_eq!(browser.value(kept), true);

    browser.value("document.querySelector('[name=add]').value = 'nowhere <script>', true");
    browser.click_through("button[value=seeds]");
    let said = browser.value("document.querySelector('[role=alert]').innerText");
    assert_eq!(said, "seed nowhere <script>: no URL");
    browser.value("document.querySelector('[name=requests]').value = '77', true");
    browser.click_through("button[value=budgets]");

    let orders = stand.orders.lock().unwrap().clone();
    let told: Vec<_> = orders
        .iter()
        .map(|order| serde_json::to_value(order).unwrap())
        .collect();
    assert_eq!(told.len(), 4, "{told:?}");
    assert_eq!(
        (&orders[0], &orders[1]),
        (&Order::Pause {}, &Order::Resume {})
    );
    assert_eq!(
        told[2]["scope"]["hosts"],
        json!(["a.example", "<b>.example"])
    );
    assert_eq!(
        (&told[2]["scope"]["depth"], &told[2]["scope"]["exclude"]),
        (&json!(3), &json!([]))
    );
    assert_eq!(told[3]["budgets"]["requests"], 77);
    assert_eq!(browser.value("window.broken === undefined"), true);
}

#[test]
fn without_javascript_it_is_a_page_all_the_same() {
    let stand = Stand::open(None);
    let mut browser = Browser::open();
    browser.call(
        "Emulation.setScriptExecutionDisabled",
        json!({"value": true}),
    );
    browser.go(&stand.url("/c/-b-crawl"));
    let refresh =
        browser.value("document.querySelector('noscript meta[http-equiv=refresh]') !== null");
    assert_eq!(refresh, true);
    browser.click_through("button[value=pause]");
    while browser.value("document.querySelector('#live .state').innerText") != "paused" {
        browser.go(&stand.url("/c/-b-crawl"));
    }
    assert_eq!(*stand.orders.lock().unwrap(), [Order::Pause {}]);
}
