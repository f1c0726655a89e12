//! Each crate of the root's table has its reason in docs/decisions/0002-dependencies.md, and nothing else has.

use std::collections::BTreeSet;

const TABLE: &str = include_str!("../../Cargo.toml");
const REASONS: &str = include_str!("../../docs/decisions/0002-dependencies.md");

#[cfg(test)]
mod page {
    use super::*;

    /// Names on the left of the lines of one section, our own crates left out.
    fn dependencies() -> BTreeSet<&'static str> {
        let section = TABLE.split("[workspace.dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
        let names = section.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(" = "));
        let others = names.filter(|(_, version)| !version.contains("path = "));
        others.map(|(name, _)| name.trim()).collect()
    }

    #[test]
    fn each_dependency_has_a_reason_and_each_reason_a_dependency() {
        let rows = REASONS.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        let reasons: Vec<(&str, &str)> = rows.collect();
        let named: BTreeSet<&str> = reasons.iter().map(|(name, _)| *name).collect();
        assert_eq!(named, dependencies());
        assert_eq!(named.len(), reasons.len(), "no crate twice");
        assert!(named.len() > 30, "the reader understands the table");
        for (name, rest) in reasons {
            let cells: Vec<&str> = rest.trim_matches(['|', ' ']).split(" | ").collect();
            assert!(cells.len() == 2 && cells[1].len() > 15, "{name}: {cells:?}");
        }
    }
}
