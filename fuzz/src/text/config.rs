//! The three files that an operator writes, by their real readers: no panic, and every problem has its place.

use musegate_settings::Problems;
use musegate_supervisor::admission::Callers;
use std::path::Path;

const FILE: &str = "/etc/musegate/f.toml";

pub(crate) fn supervisor(input: &[u8]) {
    judge(input, |file, text| musegate_supervisor::config::Config::parse(file, text).map(drop));
}

pub(crate) fn worker(input: &[u8]) {
    judge(input, |file, text| musegate_worker::config::Config::parse(file, text).map(drop));
}

pub(crate) fn callers(input: &[u8]) {
    judge(input, |file, text| Callers::parse(file, text).map(drop));
}

fn judge(input: &[u8], parse: impl Fn(&Path, &str) -> Result<(), Problems>) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Err(problems) = parse(Path::new(FILE), text) else { return };
    assert!(!problems.0.is_empty());
    for problem in &problems.0 {
        assert!(problem.line <= text.lines().count() + 1, "{problem}");
        assert!(problem.to_string().starts_with(FILE) && !problem.what.is_empty(), "{problem}");
        assert!(!problem.to_string().contains('\u{1b}'), "no escape sequence reaches a terminal");
    }
}
