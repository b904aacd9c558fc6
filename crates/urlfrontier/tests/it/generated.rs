//! The code in `generated/` is that of the `.proto` files. It is checked in so that building Turnstone needs no
//! compiler for them; this test has one, in Rust. After a change: `UPDATE=1 cargo test -p turnstone-urlfrontier`.

use std::fs;
use std::path::Path;

#[test]
fn generated_code_is_that_of_the_protocol() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = tempfile::tempdir().unwrap();
    let files = protox::compile(
        ["turnstone.proto", "urlfrontier.proto"],
        [root.join("proto")],
    )
    .unwrap_or_else(|error| panic!("{error}"));
    tonic_prost_build::configure()
        .btree_map(".")
        .build_transport(false)
        .out_dir(out.path())
        .compile_fds(files)
        .unwrap();
    for name in ["urlfrontier.rs", "turnstone.rs"] {
        let made = fs::read_to_string(out.path().join(name)).unwrap();
        let checked_in = root.join("generated").join(name);
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&checked_in, &made).unwrap();
        }
        let there = fs::read_to_string(&checked_in).unwrap_or_default();
        assert!(there == made, "{} is not current", checked_in.display());
    }
}
