//! A file of settings: no panic, each problem with a line that the file has, and no problem when everything is in range.

use musegate_settings::{Settings, commented_file, markdown};
use std::path::Path;
use std::time::Duration;

pub(crate) fn settings(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let mut settings = Settings::parse(Path::new("f.toml"), text);
    let read = read(&mut settings);
    let declared = settings.declared().len();
    assert!(declared == 9, "{declared} keys are declared, whatever the file says");
    match settings.finish() {
        Ok(()) => assert!((1..=65_535).contains(&read.0) && read.1 <= Duration::from_secs(60) && read.2 <= 1 << 30),
        Err(problems) => {
            assert!(!problems.0.is_empty());
            for problem in &problems.0 {
                assert!(problem.line <= text.lines().count() + 1, "{problem}");
                assert!(!problem.what.is_empty());
                assert!(!problem.to_string().contains('\u{1b}'), "no escape sequence reaches a terminal");
            }
        }
    }
}

fn read(settings: &mut Settings) -> (u64, Duration, u64) {
    let fine = |text: &str| if text.len() < 9 { Ok(text.to_owned()) } else { Err("is too long".to_owned()) };
    let name = settings.top().text("name", Some("me"), "a name", "", fine);
    assert!(name.is_some_and(|name| name.len() < 9));
    let mut http = settings.section("http");
    let port = http.number("port", 80, 1..=65_535, "");
    let wait = http.duration("wait", Duration::from_secs(1), Duration::ZERO..=Duration::from_secs(60), "");
    let size = http.size("size", 1, 0..=1 << 30, "");
    http.flag("loud", true, "");
    http.word("color", 1, &[("red", 1), ("green", 2)], "");
    assert!(http.list("hosts", &["a"], "hosts", "", fine).iter().all(|host| host.len() < 9));
    let callers = settings.each("callers", |key, caller| {
        caller.number("tries", 3, 1..=9, "");
        (key.to_owned(), caller.needed("token", "a token", "", fine))
    });
    assert!(callers.iter().all(|(_, token)| token.as_ref().is_none_or(|token| token.len() < 9)));
    let printed = commented_file("head", settings.declared());
    assert!(printed.contains("# port = 80") && markdown(settings.declared()).contains("| `port` |"));
    (port, wait, size)
}
