//! docs/SPECIFICATION.md names real tests, and docs/CONFIG.md is what the code declares.
#![expect(clippy::expect_used, reason = "a test ends at what it does not expect")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

/// Every `fn name(` that stands below a test attribute in the tree.
fn tests_of(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() {
            if name != "target" && name != ".git" && name != "node_modules" {
                tests_of(&path, found);
            }
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).expect("a source file");
            let mut marked = false;
            for line in text.lines().map(str::trim) {
                marked |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
                let name = line.strip_prefix("async fn ").or_else(|| line.strip_prefix("fn "));
                if let (true, Some(name)) = (marked, name) {
                    found.insert(name.split(['(', '<']).next().unwrap_or_default().to_owned());
                    marked = false;
                }
            }
        }
    }
}

#[test]
fn every_promise_names_a_test_and_every_name_is_one() {
    let text = fs::read_to_string(root().join("docs/SPECIFICATION.md")).expect("the specification");
    let mut known = BTreeSet::new();
    tests_of(&root(), &mut known);
    let mut numbers = BTreeSet::new();
    for row in text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| #")) {
        let cells: Vec<&str> = row.split(" | ").collect();
        let [number, _, held] = cells.as_slice() else { panic!("three columns: {row}") };
        assert!(numbers.insert(number.to_owned()), "{number} stands twice");
        let names: Vec<&str> = held.trim_end_matches(" |").split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "{number} names no test");
        for name in names {
            assert!(known.contains(name), "{number} names {name}, which is no test");
        }
    }
    assert!(numbers.len() > 50, "only {} promises were read", numbers.len());
}

/// `MUSEGATE_BLESS=1` writes the page anew.
#[test]
fn the_page_of_settings_is_what_the_code_declares() {
    let path = root().join("docs/CONFIG.md");
    let page = config_page();
    if std::env::var_os("MUSEGATE_BLESS").is_some() {
        fs::write(&path, &page).expect("the page");
    }
    let written = fs::read_to_string(&path).expect("docs/CONFIG.md");
    assert!(written == page, "docs/CONFIG.md differs from the code: run this test with MUSEGATE_BLESS=1");
}

fn config_page() -> String {
    let parts = [
        ("supervisor.toml", "The process that faces the network.", musegate_supervisor::config::Config::declare()),
        ("worker.toml", "The process that runs Muse.", musegate_worker::config::Config::declare()),
        (
            "callers.toml",
            "Who may call, and what each may do. Made by `musegate token add NAME`, mode 0600.",
            musegate_supervisor::admission::Callers::declare(),
        ),
        (
            "agents.toml",
            "Agents that you call by name: `musegate send --to NAME`.",
            musegate::client::agents::declare(),
        ),
    ];
    let mut page = String::from(
        "# Settings\n\nEvery key of every file, printed from the code that reads it. `musegate up --init` writes the same as commented files;\n\
         `musegate check` tells every problem of all of them at once. Times are `\"250ms\"`, `\"30s\"`, `\"5m\"`, `\"2h\"`, `\"7d\"`; sizes `\"16 KiB\"`,\n\
         `\"1 MiB\"` or a number of bytes. A file that others can write is refused, and `callers.toml` also one that others can read.\n",
    );
    for (file, what, declared) in parts {
        page.push_str(&format!("\n## {file}\n\n{what}\n{}", musegate_settings::markdown(&declared)));
    }
    page
}
