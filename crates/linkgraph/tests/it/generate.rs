//! Generated webs: the same from the same seed, and shaped as promised.

use std::collections::HashSet;

use expect_test::expect;
use proptest::prelude::*;
use turnstone_frontier::PageId;
use turnstone_linkgraph::generate::{GeneratedWeb, WebParameters, power_law};
use turnstone_linkgraph::{LinkGraph, bv, edges};

fn web(parameters: WebParameters) -> GeneratedWeb {
    GeneratedWeb::new(&parameters).unwrap()
}

/// Pages reachable from page 0.
fn reachable(graph: &LinkGraph) -> usize {
    let mut reached = HashSet::from([PageId(0)]);
    let mut queue = vec![PageId(0)];
    while let Some(page) = queue.pop() {
        queue.extend(
            graph
                .links(page)
                .iter()
                .filter(|&&target| reached.insert(target)),
        );
    }
    reached.len()
}

/// Maximum likelihood fit of P(k) ∝ k^−γ for k ≥ least (Clauset, Shalizi, Newman 2009, eq. 3.7).
fn fitted_exponent(indegree: &[u32], least: u32) -> f64 {
    let tail: Vec<f64> = indegree
        .iter()
        .filter(|&&k| k >= least)
        .map(|&k| (f64::from(k) / (f64::from(least) - 0.5)).ln())
        .collect();
    1.0 + tail.len() as f64 / tail.iter().sum::<f64>()
}

/// The web of a seed never changes: benchmarks and results rest on it.
#[test]
fn a_small_web() {
    let web = web(WebParameters {
        pages: 12,
        links_per_page: 3.0,
        host_pages_min: 3,
        ..WebParameters::default()
    });
    let urls = web.urls();
    let shown: Vec<String> = web
        .graph()
        .pages()
        .map(|page| {
            format!(
                "{} {} {:?}",
                web.host(page),
                urls.url(page),
                web.graph().links(page)
            )
        })
        .collect();
    expect![[r#"
        0 https://h0.example/ [1, 3, 6, 9]
        0 https://h0.example/dir0/ [0, 2, 3, 5, 6, 9]
        0 https://h0.example/dir0/p1.html []
        1 https://h1.example/ [1, 4, 5, 6, 9]
        1 https://h1.example/dir0/ [3, 5, 6]
        1 https://h1.example/dir0/p1.html [1, 4]
        2 https://h2.example/ [7]
        2 https://h2.example/dir0/ [6, 8]
        2 https://h2.example/dir0/p1.html []
        3 https://h3.example/ [0, 10, 11]
        3 https://h3.example/dir0/ [0, 6, 9, 11]
        3 https://h3.example/dir0/p1.html []"#]]
    .assert_eq(&shown.join("\n"));
}

#[test]
fn the_seed_decides() {
    let parameters = WebParameters {
        pages: 20_000,
        ..WebParameters::default()
    };
    let first = web(parameters).graph();
    assert!(first == web(parameters).graph());
    let other = web(WebParameters {
        seed: 2,
        ..parameters
    })
    .graph();
    assert!(first != other);
    // A checksum, so that a change of the generator does not go unnoticed.
    let sum = first.arcs().fold(0u64, |sum, (s, t)| {
        (sum ^ (u64::from(s.0) << 32 | u64::from(t.0)))
            .wrapping_mul(0x0100_0000_01b3)
            .rotate_left(5)
    });
    expect!["238791 links, a683179653b40245"]
        .assert_eq(&format!("{} links, {sum:016x}", first.link_count()));
}

#[test]
fn the_shape_is_as_promised() {
    let web = web(WebParameters {
        pages: 200_000,
        ..WebParameters::default()
    });
    let graph = web.graph();
    let pages = graph.page_count() as f64;
    let mean = graph.link_count() as f64 / pages;
    assert!((11.5..12.5).contains(&mean), "mean degree {mean}");
    let dangling = graph
        .pages()
        .filter(|&page| graph.outdegree(page) == 0)
        .count() as f64
        / pages;
    assert!((0.19..0.21).contains(&dangling), "dangling {dangling}");
    let own = graph.arcs().filter(|(s, t)| s == t).count() as f64 / pages;
    assert!((0.012..0.02).contains(&own), "self-links {own}");
    let local = graph
        .arcs()
        .filter(|&(s, t)| web.host(s) == web.host(t))
        .count() as f64;
    let local = local / graph.link_count() as f64;
    assert!((0.6..0.8).contains(&local), "links on their host {local}");
    let exponent = fitted_exponent(&graph.indegree(), 100);
    assert!(
        (2.0..2.25).contains(&exponent),
        "in-degree exponent {exponent}"
    );
    assert_eq!(reachable(&graph), graph.page_count());
    assert!(
        (500..20_000).contains(&web.host_count()),
        "{} hosts",
        web.host_count()
    );
}

#[test]
fn urls_ascend_and_hosts_agree() {
    let web = web(WebParameters {
        pages: 30_000,
        ..WebParameters::default()
    });
    let urls = web.urls();
    let hosts = urls.hosts();
    assert_eq!(hosts.len(), web.host_count());
    for page in 0..30_000 {
        let page = PageId(page);
        assert_eq!(hosts.host(page), web.host(page));
        if page.0 > 0 {
            assert!(
                urls.url(PageId(page.0 - 1)) < urls.url(page),
                "{}",
                urls.url(page)
            );
        }
    }
}

#[test]
fn a_streamed_web_is_the_web() {
    let folder = tempfile::tempdir().unwrap();
    let web = web(WebParameters {
        pages: 5000,
        links_per_page: 4.0,
        ..WebParameters::default()
    });
    let mut told = Vec::new();
    let list = folder.path().join("web.tsv.zst");
    web.write(
        Box::new(edges::EdgeWriter::create(&list).unwrap()),
        &mut |done| told.push(done),
    )
    .unwrap();
    let name = folder.path().join("web-bv");
    web.write(Box::new(bv::BvWriter::create(&name).unwrap()), &mut |_| {})
        .unwrap();
    for read in [edges::read(&list).unwrap(), bv::read(&name).unwrap()] {
        assert!(read.graph == web.graph());
        assert!(read.urls.unwrap() == web.urls());
    }
    assert_eq!(told, [0, 4096]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// However odd the parameters: distinct ascending links, every page reachable, page by page as
    /// well as streamed.
    #[test]
    fn any_parameters(
        (pages, links_per_page) in (1usize..400, 0.0..40.0f64),
        (dangling, local) in (0.0..=0.6f64, 0.0..=1.0f64),
        (same_directory, self_links) in (0.0..=1.0f64, 0.0..=1.0f64),
        exponent in prop_oneof![Just(2.15), Just(2.3), 1.8..=4.0f64],
        (host_pages_min, seed) in (1usize..100, any::<u64>()),
    ) {
        let parameters = WebParameters {
            pages, links_per_page, dangling, exponent, local, same_directory, self_links, host_pages_min, seed,
        };
        let web = web(parameters);
        let graph = web.graph();
        prop_assert_eq!(graph.page_count(), pages);
        prop_assert_eq!(reachable(&graph), pages);
        let mut links = vec![PageId(7)];
        for page in graph.pages().rev() {
            web.links(page, &mut links);
            prop_assert_eq!(&links[..], graph.links(page));
        }
    }
}

#[test]
fn parameters_have_limits() {
    let check =
        |parameters: WebParameters| GeneratedWeb::new(&parameters).err().map(|e| e.to_string());
    let usual = WebParameters::default();
    let said = [
        check(WebParameters { pages: 0, ..usual }),
        check(WebParameters {
            pages: 1 << 32,
            ..usual
        }),
        check(WebParameters {
            links_per_page: f64::NAN,
            ..usual
        }),
        check(WebParameters {
            dangling: 0.7,
            ..usual
        }),
        check(WebParameters {
            exponent: 1.0,
            ..usual
        }),
        power_law(1, 2.1, 1).err().map(|e| e.to_string()),
    ];
    let said: Vec<String> = said.into_iter().map(Option::unwrap).collect();
    expect![[r#"
        pages = 0: must be from 1 to 4294967294
        pages = 4294967296: must be from 1 to 4294967294
        links_per_page = NaN: must be from 0 to 1000
        dangling = 0.7: must be from 0 to 0.6
        exponent = 1: must be from 1.8 to 4
        pages = 1: must be from 2 to 4294967294"#]]
    .assert_eq(&said.join("\n"));
}

/// In-degrees of the power-law graph against their exact probabilities.
#[test]
fn power_law_in_degrees() {
    let pages = 200_000;
    let graph = power_law(pages, 2.1, 1).unwrap();
    assert!(graph == power_law(pages, 2.1, 1).unwrap());
    assert!(graph != power_law(pages, 2.1, 2).unwrap());
    assert!(graph.arcs().all(|(source, target)| source != target));
    let indegree = graph.indegree();
    let total: f64 = (1..pages).map(|k| (k as f64).powf(-2.1)).sum();
    for k in 1..=20u32 {
        let expected = f64::from(k).powf(-2.1) / total * pages as f64;
        let seen = indegree.iter().filter(|&&seen| seen == k).count() as f64;
        // Five standard deviations of a binomial count.
        assert!(
            (seen - expected).abs() < 5.0 * expected.sqrt(),
            "{k}: {seen} of {expected}"
        );
    }
    assert!(indegree.iter().all(|&k| k >= 1));
    let exponent = fitted_exponent(&indegree, 10);
    assert!((2.05..2.15).contains(&exponent), "{exponent}");
}

/// Sources are uniform: out-degrees of a dense little web, where in-degrees can reach every page.
#[test]
fn power_law_sources_are_uniform() {
    let mut outdegree = [0u32; 12];
    for seed in 0..4000 {
        let graph = power_law(12, 1.5, seed).unwrap();
        graph
            .pages()
            .for_each(|page| outdegree[page.index()] += graph.outdegree(page));
    }
    let mean = f64::from(outdegree.iter().sum::<u32>()) / 12.0;
    for count in outdegree {
        assert!(
            (f64::from(count) - mean).abs() < 6.0 * mean.sqrt(),
            "{count} of {mean}"
        );
    }
}
