//! Walls told from pages: a labelled set made from templates, with precision and recall for each class.
//!
//! The set is ours: templates after what providers send, in several wordings and settings, and ordinary pages
//! that look alike (articles about captchas, login pages that were asked for, forms with a captcha, cookie
//! banners, thin pages, plain errors). It shows that the rules do what they say and that look-alikes
//! pass. It does not show how often walls of the whole web are found: nobody labelled those.

use std::collections::BTreeMap;

use expect_test::expect;
use http::{HeaderMap, HeaderName, HeaderValue};
use turnstone_fetch::html::{PageInput, PageLimits, read_page};
use turnstone_fetch::wall::{Wall, WallInput, wall_behind, wall_of};
use url::Url;

struct Sample {
    label: &'static str,
    path: String,
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

fn prose(words: usize, salt: usize) -> String {
    let stock = [
        "river", "stone", "harbour", "ledger", "winter", "sparrow", "meadow", "copper", "lantern",
        "orchard", "quarry", "signal", "timber", "valley", "window", "yarn",
    ];
    let word = |at: usize| stock[(at * 7 + salt * 3 + at / 5) % stock.len()];
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}

const SITES: [&str; 7] = [
    "Harbour News",
    "City Library",
    "Shop Nine",
    "Der Anzeiger",
    "Le Quotidien",
    "Wiki of Knots",
    "API docs",
];

fn walls(samples: &mut Vec<Sample>) {
    let mut add = |label, status, headers: &[(&'static str, &str)], body: String, at: usize| {
        let headers = headers
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()));
        samples.push(Sample {
            label,
            path: format!("/a/{at}"),
            status,
            headers: headers.collect(),
            body,
        });
    };
    for (at, site) in SITES.into_iter().enumerate() {
        let few = prose(4 + at * 3, at);
        let doc = |title: &str, rest: &str| {
            format!(
                "<!DOCTYPE html><html><head><title>{title}</title></head><body>{rest}</body></html>"
            )
        };
        // Challenges.
        let managed = "<div id=x></div><script>(function(){window._cf_chl_opt={cvId:'3'};})()</script><noscript>Enable JavaScript and cookies to continue</noscript>";
        add(
            "challenge",
            403,
            &[("cf-mitigated", "challenge"), ("server", "cloudflare")],
            doc("Just a moment...", managed),
            at,
        );
        add(
            "challenge",
            [200, 503, 403][at % 3],
            &[],
            doc("Just a moment...", managed),
            at,
        );
        add(
            "challenge",
            403,
            &[("x-datadome", "protected")],
            doc(site, "<p>Please enable JS and disable any ad blocker</p>"),
            at,
        );
        add(
            "challenge",
            [200, 403][at % 2],
            &[],
            doc(
                site,
                "<p>Please enable JS</p><script src='https://ct.captcha-delivery.com/c.js'></script>",
            ),
            at,
        );
        add(
            "challenge",
            403,
            &[],
            doc(
                "Access to this page has been denied",
                &format!("<div id='px-captcha'></div><p>{few}</p>"),
            ),
            at,
        );
        add(
            "challenge",
            200,
            &[],
            format!(
                "<html><head><script src=\"/_Incapsula_Resource?SWJIYLWA=7{at}\"></script></head><body></body></html>"
            ),
            at,
        );
        add(
            "challenge",
            202,
            &[("x-amzn-waf-action", "challenge")],
            doc("", ""),
            at,
        );
        add(
            "challenge",
            405,
            &[],
            doc(
                "Human Verification",
                "<script>window.gokuProps={\"key\":\"x\"};</script><div id=captcha-container></div>",
            ),
            at,
        );
        add(
            "challenge",
            429,
            &[("x-vercel-mitigated", "challenge")],
            doc(
                "Vercel Security Checkpoint",
                "<p>We're verifying your browser",
            ),
            at,
        );
        add(
            "challenge",
            [200, 403, 429][at % 3],
            &[],
            doc(
                &format!("{site}: security check"),
                &format!(
                    "<p>Confirm you are human {few}<div class=g-recaptcha data-sitekey=k></div>"
                ),
            ),
            at,
        );
        // Logins.
        add(
            "login",
            401,
            &[("www-authenticate", "Basic realm=\"intranet\"")],
            doc("401", "Unauthorized"),
            at,
        );
        add("login", 401, &[], doc(site, "Unauthorized"), at);
        let form = "<form><input name=user><input type=password name=p><button>Go</button></form>";
        let title = [
            "Log in",
            "Sign in",
            "Anmelden",
            "Se connecter",
            "Iniciar sesión",
        ][at % 5];
        add(
            "login",
            200,
            &[],
            doc(&format!("{title} - {site}"), &format!("{form}<p>{few}</p>")),
            at,
        );
        // Consent.
        let title = [
            "Before you continue",
            "Cookie consent",
            "We value your privacy",
            "Bevor Sie fortfahren",
            "Avant de continuer",
        ][at % 5];
        add(
            "consent",
            200,
            &[],
            doc(
                &format!("{title} to {site}"),
                &format!(
                    "<p>We and our 812 partners {few}</p><form><button>Accept</button></form>"
                ),
            ),
            at,
        );
        add(
            "consent",
            200,
            &[],
            doc(
                title,
                "<button>Reject all</button><button>Accept all</button>",
            ),
            at,
        );
        // Bills.
        add(
            "payment",
            402,
            &[("crawler-price", "USD 0.01")],
            doc("Payment required", ""),
            at,
        );
        add(
            "payment",
            402,
            &[],
            "{\"error\":\"payment required\"}".to_owned(),
            at,
        );
        // Regions.
        add(
            "region",
            451,
            &[],
            doc("Unavailable For Legal Reasons", &few),
            at,
        );
        add(
            "region",
            403,
            &[],
            doc(
                site,
                &format!(
                    "<p>This content is not available in your {}.</p>",
                    ["country", "region", "location"][at % 3]
                ),
            ),
            at,
        );
        add(
            "region",
            200,
            &[],
            doc(
                site,
                "<h1>Unavailable in your region</h1><p>We cannot serve readers from your area.",
            ),
            at,
        );
        // Firewalls.
        add(
            "denied",
            403,
            &[("server", "AkamaiGHost")],
            doc(
                "Access Denied",
                "<h1>Access Denied</h1>You don't have permission. Reference #18.1<p>https://errors.edgesuite.net/18.1",
            ),
            at,
        );
        add(
            "denied",
            403,
            &[],
            doc(
                "Attention Required! | Cloudflare",
                "<h1>Sorry, you have been blocked</h1>",
            ),
            at,
        );
        add(
            "denied",
            429,
            &[],
            doc(
                "Error 1015",
                "<p>You are being rate limited by the owner of this website.",
            ),
            at,
        );
        add(
            "denied",
            403,
            &[("server", "CloudFront")],
            doc(
                "ERROR: The request could not be satisfied",
                "<hr>Request blocked. Generated by cloudfront (CloudFront)",
            ),
            at,
        );
        add(
            "denied",
            403,
            &[("x-sucuri-block", "1")],
            doc("Sucuri WebSite Firewall - Access Denied", ""),
            at,
        );
        add("denied", 200, &[], "<html><head><title>Request Rejected</title></head><body>The requested URL was rejected. Please consult with your administrator.<br>Your support ID is: 17</body></html>".to_owned(), at);
        // Two that the rules cannot know: a wall in words of its own.
        if at < 2 {
            add(
                "challenge",
                200,
                &[],
                doc(
                    site,
                    "<p>Solve the puzzle to go on.</p><canvas id=p></canvas>",
                ),
                at,
            );
            add(
                "login",
                200,
                &[],
                doc(site, "<p>Members only. Ask the librarian for a card.</p>"),
                at,
            );
        }
    }
}

fn ordinary(samples: &mut Vec<Sample>) {
    for (at, site) in SITES.into_iter().enumerate() {
        let mut add = |path: &str,
                       status: u16,
                       headers: &[(&'static str, &str)],
                       title: &str,
                       rest: &str| {
            let headers = headers
                .iter()
                .map(|(name, value)| (*name, (*value).to_owned()));
            samples.push(Sample {
                label: "page",
                path: format!("{path}{at}"),
                status,
                headers: headers.collect(),
                body: format!("<!DOCTYPE html><html><head><title>{title}</title></head><body>{rest}</body></html>"),
            });
        };
        let long = prose(260 + at, at);
        let short = prose(30 + at, at);
        let banner = "<div class=banner><p>We use cookies.</p><button>Accept all</button></div>";
        let jsd = "<script src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'></script>";
        add(
            "/a/",
            200,
            &[("server", "cloudflare"), ("x-datadome", "protected")],
            site,
            &format!("<p>{long}</p>{jsd}"),
        );
        add(
            "/b/",
            200,
            &[],
            &format!("{site} home"),
            &format!("<p>{short}</p>{banner}{jsd}"),
        );
        add(
            "/c/",
            200,
            &[],
            "Are you a robot? How captchas work",
            &format!("<p>Click I'm not a robot. {long}</p>"),
        );
        add(
            "/d/",
            200,
            &[],
            "Are you a robot?",
            &format!("<p>A short poem. Are you a robot? {short}</p>"),
        );
        add(
            "/e/",
            200,
            &[],
            "Contact us",
            &format!(
                "<form><input name=mail><textarea></textarea><div class=g-recaptcha></div></form><p>{short}</p>"
            ),
        );
        add(
            "/f/",
            200,
            &[],
            "Debugging challenges",
            &format!("<p>Look for <code>window._cf_chl_opt</code> in the page.</p><p>{short}</p>"),
        );
        add(
            "/login/",
            200,
            &[],
            &format!("Log in - {site}"),
            "<form><input name=user><input type=password></form>",
        );
        add(
            "/g/",
            200,
            &[],
            &format!("Forum of {site}"),
            &format!("<form><input type=password></form><p>{long}</p>"),
        );
        add(
            "/h/",
            200,
            &[],
            &format!("{site} board"),
            &format!("<form>Log in <input type=password></form><p>{short}</p>"),
        );
        add(
            "/i/",
            200,
            &[],
            "Privacy policy",
            &format!("<p>We value your privacy. {short}</p><button>Print</button>"),
        );
        add(
            "/j/",
            200,
            &[],
            "Before you continue reading Kant",
            &format!("<p>{short}</p>"),
        );
        add(
            "/k/",
            200,
            &[],
            "Blue kettle",
            &format!(
                "<p>This item is not available in your country.</p><p>{short}</p><button>Buy</button>"
            ),
        );
        add(
            "/l/",
            200,
            &[],
            "What is HTTP 402?",
            &format!("<p>Payment required, crawler-price. {short}</p>"),
        );
        add(
            "/m/",
            200,
            &[],
            "Why am I blocked?",
            &format!("<p>Sites say Attention Required! | Cloudflare. {short}</p>"),
        );
        add("/n/", 200, &[], site, "<p>Nothing here yet.</p>");
        add(
            "/o/",
            200,
            &[],
            "",
            "<div id=root></div><script src=/app.js></script><noscript>You need to enable JavaScript to run this app.</noscript>",
        );
        add(
            "/p/",
            404,
            &[],
            "404",
            "<p>Not found. Checking your browser is of no use.</p>",
        );
        add(
            "/q/",
            403,
            &[("server", "nginx")],
            "403 Forbidden",
            "<h1>403 Forbidden</h1><hr>nginx",
        );
        add("/r/", 503, &[], "503", "<h1>Service Unavailable</h1>");
        add("/s/", 429, &[], "429", "<h1>Too Many Requests</h1>");
    }
}

fn judged(sample: &Sample) -> &'static str {
    let url = Url::parse(&format!("https://site.example{}", sample.path)).unwrap();
    let mut headers = HeaderMap::new();
    for (name, value) in &sample.headers {
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_str(value).unwrap(),
        );
    }
    let input = PageInput {
        url: &url,
        content_type: Some("text/html"),
        body: sample.body.as_bytes(),
        agent: "turnstone",
    };
    let page = read_page(input, &PageLimits::default());
    let page = (!sample.body.starts_with('{')).then_some(&page);
    let found = wall_of(&WallInput {
        url: &url,
        status: sample.status,
        headers: &headers,
        page,
        body: sample.body.as_bytes(),
    });
    match found {
        Some(blocked) => blocked.wall.class().strip_prefix(Wall::CLASS).unwrap(),
        None => "page",
    }
}

#[test]
fn walls_are_told_from_pages_that_look_alike() {
    let mut samples = Vec::new();
    walls(&mut samples);
    ordinary(&mut samples);
    assert!(samples.len() >= 200, "{}", samples.len());
    // By class: right, said, labelled.
    let mut counts: BTreeMap<&str, [u32; 3]> = BTreeMap::new();
    for sample in &samples {
        let said = judged(sample);
        counts.entry(said).or_default()[1] += 1;
        counts.entry(sample.label).or_default()[2] += 1;
        if said == sample.label {
            counts.get_mut(said).unwrap()[0] += 1;
        } else {
            assert_eq!(
                said, "page",
                "{} {}: taken for {said}\n{}",
                sample.label, sample.path, sample.body
            );
        }
    }
    let row = |(class, [right, said, labelled]): (&&str, &[u32; 3])| {
        let share = |of: u32| f64::from(*right) * 100.0 / f64::from(of);
        format!(
            "{class:<10} {labelled:>4} {:>6.1} {:>6.1}\n",
            share(*said),
            share(*labelled)
        )
    };
    let table: String = counts.iter().map(row).collect();
    expect![[r#"
        challenge    72  100.0   97.2
        consent      14  100.0  100.0
        denied       42  100.0  100.0
        login        23  100.0   91.3
        page        140   97.2  100.0
        payment      14  100.0  100.0
        region       21  100.0  100.0
    "#]]
    .assert_eq(&table);
}

#[test]
fn redirects_to_forms_that_send_us_back_are_walls() {
    let behind = |from: &str, to: &str| {
        let base = Url::parse("https://site.example/").unwrap();
        let (from, to) = (base.join(from).unwrap(), base.join(to).unwrap());
        wall_behind(&from, &to).map(|blocked| blocked.wall)
    };
    assert_eq!(behind("/a/b", "/login?next=%2Fa%2Fb"), Some(Wall::Login));
    assert_eq!(
        behind("/a/b", "/wp-login.php?redirect_to=x"),
        Some(Wall::Login)
    );
    assert_eq!(
        behind(
            "/a/b",
            "https://sso.example/SSO/?x=https://site.example/a/b"
        ),
        Some(Wall::Login)
    );
    assert_eq!(
        behind("/a/b", "https://consent.example/m?continue=x"),
        Some(Wall::Consent)
    );
    assert_eq!(behind("/a/b", "/login"), None, "perhaps it moved there");
    assert_eq!(
        behind("/login", "/login/?next=%2F"),
        None,
        "it was asked for"
    );
    assert_eq!(behind("/a/b", "/a/b/?next=2"), None);
}
