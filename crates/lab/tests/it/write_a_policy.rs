//! The page that teaches to write a policy shows the code of the example, to the letter.

use std::fs;
use std::path::Path;

#[test]
fn the_page_shows_the_example_as_it_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    let page = read("../../docs/write-a-policy.md");
    let example = [
        read("examples/write_a_policy/policy.rs"),
        read("examples/write_a_policy/main.rs"),
    ];
    let shown: Vec<&str> = page
        .split("```rust\n")
        .skip(1)
        .map(|block| block.split("```").next().unwrap())
        .collect();
    assert_eq!(shown.len(), 2);
    for (shown, example) in shown.iter().zip(&example) {
        assert!(example.contains(shown), "not in the example:\n{shown}");
    }
}
