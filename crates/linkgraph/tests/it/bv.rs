//! BV graphs: our decoder against the `webgraph` crate's, and every way a file can be bad.

use std::fs;
use std::path::Path;

use expect_test::{Expect, expect};
use lender::Lender;
use proptest::prelude::*;
use turnstone_frontier::PageId;
use turnstone_linkgraph::bv::{self, BvWriter};
use turnstone_linkgraph::{GraphBuilder, LinkGraph, PageSink, UrlTable};
use webgraph::prelude::{BvGraphSeq, CompFlags, SequentialLabeling};

use crate::random;

/// What the `webgraph` crate reads.
fn read_by_webgraph(name: &Path) -> LinkGraph {
    let graph = BvGraphSeq::with_basename(name).load().unwrap();
    let mut builder = GraphBuilder::with_capacity(0, 0);
    let mut pages = graph.iter();
    while let Some((_, links)) = pages.next() {
        builder.push(
            &links
                .into_iter()
                .map(PageId::from_index)
                .collect::<Vec<_>>(),
        );
    }
    builder.finish()
}

fn chain() -> LinkGraph {
    LinkGraph::from_links(
        200,
        &(0..199)
            .flat_map(|i| [(i, i + 1), (i, i / 3)])
            .collect::<Vec<_>>(),
    )
}

/// Writes a small graph, lets `harm` spoil it, and shows the error.
fn check(harm: impl FnOnce(&Path), expect: Expect) {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join("web");
    bv::write(&name, &chain(), None).unwrap();
    harm(folder.path());
    let error = bv::read(&name).unwrap_err().to_string();
    expect.assert_eq(&error.replace(&format!("{}/", folder.path().display()), ""));
}

/// Replaces the value of a property.
fn set(folder: &Path, key: &str, value: &str) {
    let path = folder.join("web.properties");
    let text = fs::read_to_string(&path).unwrap();
    let lines = text
        .lines()
        .filter(|line| !line.starts_with(&format!("{key}=")));
    let mut lines: Vec<String> = lines.map(str::to_owned).collect();
    lines.push(format!("{key}={value}"));
    fs::write(&path, lines.join("\n")).unwrap();
}

fn remove(folder: &Path, key: &str) {
    set(folder, key, "");
    let path = folder.join("web.properties");
    let text = fs::read_to_string(&path)
        .unwrap()
        .replace(&format!("{key}="), "");
    fs::write(&path, text).unwrap();
}

#[test]
fn what_is_refused() {
    check(
        |folder| fs::remove_file(folder.join("web.properties")).unwrap(),
        expect![
            "web.properties: not found; a BV graph needs its .properties file beside the .graph file"
        ],
    );
    check(
        |folder| fs::remove_file(folder.join("web.graph")).unwrap(),
        expect!["web.graph: No such file or directory (os error 2)"],
    );
    check(
        |folder| {
            let bytes = fs::read(folder.join("web.graph")).unwrap();
            fs::write(folder.join("web.graph"), &bytes[..bytes.len() / 2]).unwrap();
        },
        expect![
            "web.graph: ends inside page 105 of nodes=200; the file is cut off, or .properties is not its own"
        ],
    );
    check(
        |folder| fs::write(folder.join("web.graph"), b"").unwrap(),
        expect![
            "web.graph: 0 bytes are too few for the nodes=200 of its .properties; cut off, or not its own"
        ],
    );
    check(
        |folder| set(folder, "nodes", "199"),
        expect![
            "web.graph: page 198 has a link beyond nodes=; the file is damaged, or .properties is not its own"
        ],
    );
    check(
        |folder| set(folder, "nodes", "1000000"),
        expect![
            "web.graph: 472 bytes are too few for the nodes=1000000 of its .properties; cut off, or not its own"
        ],
    );
    check(
        |folder| set(folder, "nodes", "0"),
        expect!["web.properties: nodes=0: an empty web"],
    );
    check(
        |folder| set(folder, "nodes", "5000000000"),
        expect!["web.properties: nodes=5000000000; page ids are 32-bit, at most 4294967294 pages"],
    );
    check(
        |folder| set(folder, "nodes", "many"),
        expect!["web.properties: nodes=many: invalid digit found in string"],
    );
    check(
        |folder| set(folder, "arcs", "10"),
        expect![
            "web.graph: page 5 has more links than arcs=; the file is damaged, or .properties is not its own"
        ],
    );
    check(
        |folder| set(folder, "arcs", "30000"),
        expect!["web.graph: holds 398 links, but .properties says arcs=30000; it is not its own"],
    );
    check(
        |folder| set(folder, "arcs", "40001"),
        expect!["web.properties: arcs=40001 is more than 200 nodes can have"],
    );
    check(
        |folder| remove(folder, "arcs"),
        expect!["web.properties: no line arcs=…; not that of a BV graph"],
    );
    check(
        |folder| set(folder, "graphclass", "it.unimi.dsi.webgraph.EFGraph"),
        expect![
            "web.properties: graphclass=it.unimi.dsi.webgraph.EFGraph; only BVGraph can be read"
        ],
    );
    check(
        |folder| set(folder, "endianness", "middle"),
        expect!["web.properties: endianness=middle; big or little"],
    );
    check(
        |folder| set(folder, "windowsize", "99999999999"),
        expect!["web.properties: windowsize=99999999999; at most 65536"],
    );
    check(
        |folder| set(folder, "zetak", "99"),
        expect!["web.properties: Only ζ₁-ζ₇ are supported"],
    );
    check(
        |folder| set(folder, "compressionflags", "RESIDUALS_PI2"),
        expect![
            "web.graph: written in Pi(2) codes, which cannot be read here; write it again in unary, γ, δ or ζ codes"
        ],
    );
    check(
        |folder| {
            remove(folder, "length");
            let mut bytes = fs::read(folder.join("web.graph")).unwrap();
            bytes.extend([0x80; 40]);
            fs::write(folder.join("web.graph"), bytes).unwrap();
        },
        expect!["web.graph: its 200 pages end after 472 bytes of 512; .properties is not its own"],
    );
    check(
        |folder| fs::write(folder.join("web.urls"), "http://a/\n").unwrap(),
        expect!["web.urls: 1 URLs, but the graph has 200 pages"],
    );
}

/// A cut-off stream is refused at every length at which a page is missing.
#[test]
fn cut_off_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join("web");
    bv::write(&name, &chain(), None).unwrap();
    remove(folder.path(), "length");
    let whole = fs::read(folder.path().join("web.graph")).unwrap();
    for bytes in 0..whole.len() - 8 {
        fs::write(folder.path().join("web.graph"), &whole[..bytes]).unwrap();
        assert!(bv::read(&name).is_err(), "{bytes} bytes of {}", whole.len());
    }
}

/// The argument is the name or the .graph file; dots in the name are part of it.
#[test]
fn names() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["web", "web.v1", "uk-2007-05@100000"] {
        let path = folder.path().join(name);
        let mut urls = UrlTable::new();
        for page in chain().pages() {
            urls.push(&format!("http://a/{page}"));
        }
        assert!(!bv::is_graph(&path));
        bv::write(&path, &chain(), Some(&urls)).unwrap();
        assert!(bv::is_graph(&path));
        for argument in [name.to_owned(), format!("{name}.graph")] {
            let read = bv::read(&folder.path().join(argument)).unwrap();
            assert_eq!(read.graph, chain());
            assert_eq!(read.urls.as_ref(), Some(&urls));
        }
        assert!(folder.path().join(format!("{name}.offsets")).is_file());
    }
}

#[test]
fn no_half_written_graph_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = BvWriter::create(&folder.path().join("web")).unwrap();
    writer.page(&[PageId(0)], Some("http://a/")).unwrap();
    drop(writer);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let error = bv::write(&folder.path().join("no/such/web"), &chain(), None).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("no/such/web.graph: cannot be written"),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn reading_undoes_writing_and_agrees_with_webgraph(graph in random::graph(80)) {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("web");
        bv::write(&name, &graph, None).unwrap();
        prop_assert_eq!(&bv::read(&name).unwrap().graph, &graph);
        prop_assert_eq!(&read_by_webgraph(&name), &graph);
    }

    /// Other windows and codes than those we write.
    #[test]
    fn other_parameters(graph in random::graph(80), window in 0usize..12, interval in 0usize..6, codes in 0usize..3) {
        use dsi_bitstream::dispatch::Codes;
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("web");
        let mut flags = CompFlags { compression_window: window, min_interval_length: interval, ..Default::default() };
        if codes > 0 {
            (flags.outdegrees, flags.blocks, flags.intervals) = (Codes::Delta, Codes::Unary, Codes::Delta);
            flags.residuals = if codes == 1 { Codes::Zeta(5) } else { Codes::Gamma };
        }
        let arcs: Vec<(usize, usize)> = graph.arcs().map(|(s, t)| (s.index(), t.index())).collect();
        let mut theirs = webgraph::graphs::vec_graph::VecGraph::from_arcs(arcs);
        if graph.page_count() > 0 {
            webgraph::graphs::vec_graph::VecGraph::add_node(&mut theirs, graph.page_count() - 1);
        }
        let mut conf = webgraph::prelude::BvComp::with_basename(&name).comp_flags(flags);
        if codes == 2 {
            conf.comp_graph::<dsi_bitstream::traits::LE>(&theirs).unwrap();
        } else {
            conf.comp_graph::<dsi_bitstream::traits::BE>(&theirs).unwrap();
        }
        prop_assert_eq!(&bv::read(&name).unwrap().graph, &graph);
    }

    /// Damaged bits give an error or another graph of the same size, never a panic or a hang.
    #[test]
    fn damage_does_no_harm(graph in random::graph(80), flips in proptest::collection::vec(any::<(u16, u8)>(), 1..20), zeros: bool) {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("web");
        bv::write(&name, &graph, None).unwrap();
        let path = folder.path().join("web.graph");
        let mut bytes = fs::read(&path).unwrap();
        let length = bytes.len();
        for &(at, mask) in &flips {
            bytes[at as usize % length] ^= mask;
        }
        if zeros {
            let at = flips[0].0 as usize % length;
            bytes[at..].fill(0);
        }
        fs::write(&path, &bytes).unwrap();
        match bv::read(&name) {
            Ok(read) => {
                prop_assert_eq!(read.graph.page_count(), graph.page_count());
                prop_assert_eq!(read.graph.link_count(), graph.link_count());
            }
            Err(error) => prop_assert!(!error.to_string().contains('\n')),
        }
    }
}
