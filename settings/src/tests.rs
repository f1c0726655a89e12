//! A whole file with everything wrong, each reader with each kind of value, and what is printed of the declarations.

use super::*;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Color {
    Red,
    Green,
}

#[derive(Debug, PartialEq)]
struct Caller {
    name: String,
    token: Option<String>,
    tries: u64,
}

#[derive(Debug, PartialEq)]
struct Read {
    name: Option<String>,
    loud: bool,
    port: u64,
    wait: Duration,
    size: u64,
    color: Color,
    hosts: Vec<String>,
    callers: Vec<Caller>,
}

fn host(text: &str) -> Result<String, String> {
    if text.contains(' ') { Err("holds a space".to_owned()) } else { Ok(text.to_owned()) }
}

/// A file with one key of each kind.
fn read(settings: &mut Settings) -> Read {
    let seconds = Duration::from_secs(1)..=Duration::from_secs(3600);
    let name = settings.top().text("name", None, "any host", "Who it is.", host);
    let mut http = settings.section("http");
    let loud = http.flag("loud", false, "Says more.");
    let port = http.number("port", 80, 1..=65535, "Where it listens.");
    let wait = http.duration("wait", Duration::from_secs(30), seconds, "How long it waits.");
    let size = http.size("size", 1 << 20, 1..=1 << 30, "How much it takes.");
    let color = http.word("color", Color::Red, &[("red", Color::Red), ("green", Color::Green)], "Looks.");
    let hosts = http.list("hosts", &["localhost"], "hosts", "Who is answered.", host);
    let callers = settings.each("callers", |name, caller| Caller {
        name: name.to_owned(),
        token: caller.needed("token", "a host", "Its token.", host),
        tries: caller.number("tries", 3, 1..=9, "How often."),
    });
    Read { name, loud, port, wait, size, color, hosts, callers }
}

fn parse(text: &str) -> (Read, Vec<String>) {
    let mut settings = Settings::parse(Path::new("/etc/x.toml"), text);
    let read = read(&mut settings);
    (read, settings.finish().map_or_else(|problems| problems.0.iter().map(Problem::to_string).collect(), |()| vec![]))
}

fn defaults() -> Read {
    Read {
        name: None,
        loud: false,
        port: 80,
        wait: Duration::from_secs(30),
        size: 1 << 20,
        color: Color::Red,
        hosts: vec!["localhost".to_owned()],
        callers: vec![],
    }
}

#[test]
fn an_empty_file_has_all_defaults_and_no_problem() {
    assert_eq!(parse(""), (defaults(), vec![]));
    assert_eq!(parse("# only a comment\n[http]\n"), (defaults(), vec![]));
}

#[test]
fn a_file_with_everything_is_read() {
    let text = r#"
name = "me"
[http]
loud = true
port = 8080
wait = "5m"
size = "16 KiB"
color = "green"
hosts = ["a", "b"]
[callers.hermes]
token = "t"
[callers."other one"]
token = "u"
tries = 1
"#;
    let caller = |name: &str, token: &str, tries| Caller { name: name.into(), token: Some(token.into()), tries };
    let expected = Read {
        name: Some("me".into()),
        loud: true,
        port: 8080,
        wait: Duration::from_secs(300),
        size: 16_384,
        color: Color::Green,
        hosts: vec!["a".into(), "b".into()],
        callers: vec![caller("hermes", "t", 3), caller("other one", "u", 1)],
    };
    assert_eq!(parse(text), (expected, vec![]));
}

#[test]
fn inline_and_dotted_sections_are_sections() {
    let (read, problems) = parse("http = { port = 1, color = \"green\" }\ncallers.h.token = \"t\"\n");
    assert_eq!((read.port, read.color, problems), (1, Color::Green, vec![]));
    assert_eq!(read.callers.len(), 1);
    let (read, problems) = parse("http.port = 2\nhttp.prot = 3\ncallers = { h = { token = \"t\" } }\n");
    assert_eq!((read.port, read.callers.len()), (2, 1));
    assert_eq!(problems, ["/etc/x.toml:2: http.prot: is unknown; did you mean http.port?"]);
}

#[test]
fn every_problem_is_told_at_once_with_its_line_and_key() {
    let text = r#"nam = "x"
name = 5
[http]
loud = "yes"
port = 0
wait = "5 parsecs"
size = "9 GiB"
color = "blue"
hosts = ["a b", 7, "fine", "c d"]
prot = 1

[callers.hermes]
tries = 10
token = "a b"
[callers.second]
[callers]
third = 3
[nonsense]
a = 1
b = 2
"#;
    let (read, problems) = parse(text);
    let expected = [
        "/etc/x.toml:1: nam: is unknown; did you mean name?",
        "/etc/x.toml:2: name: must be text in quotes",
        "/etc/x.toml:4: http.loud: must be true or false",
        "/etc/x.toml:5: http.port: must be a whole number from 1 to 65535",
        "/etc/x.toml:6: http.wait: must be a time such as \"250ms\", \"30s\", \"5m\" or \"2h\"",
        "/etc/x.toml:7: http.size: must be from 1 B to 1 GiB",
        "/etc/x.toml:8: http.color: must be one of \"red\", \"green\"",
        "/etc/x.toml:9: http.hosts: item 1: holds a space",
        "/etc/x.toml:9: http.hosts: item 2: must be text in quotes",
        "/etc/x.toml:9: http.hosts: item 4: holds a space",
        "/etc/x.toml:10: http.prot: is unknown; did you mean http.port?",
        "/etc/x.toml:13: callers.hermes.tries: must be a whole number from 1 to 9",
        "/etc/x.toml:14: callers.hermes.token: holds a space",
        "/etc/x.toml:15: callers.second.token: is missing; write token = … (a host)",
        "/etc/x.toml:17: callers.third: is not a section; write [callers.third]",
        "/etc/x.toml:18: nonsense: is unknown",
    ];
    assert_eq!(problems, expected);
    let callers = ["hermes", "second"].map(|name| Caller { name: name.to_owned(), token: None, tries: 3 });
    assert_eq!(read, Read { callers: callers.into(), ..defaults() }, "what is wrong has its default");
}

#[test]
fn a_section_that_is_none_and_a_value_that_is_one_are_told() {
    let (_, problems) = parse("http = 3\ncallers = true\n[name]\nx = 1\n");
    let expected = [
        "/etc/x.toml:1: http: is not a section; write [http]",
        "/etc/x.toml:2: callers: is not a section; write [callers.NAME]",
        "/etc/x.toml:3: name: is a section, not a value",
    ];
    assert_eq!(problems, expected);
    let (_, problems) = parse("[[http]]\nport = 1\n[http2]\n");
    let expected =
        ["/etc/x.toml:1: http: is not a section; write [http]", "/etc/x.toml:3: http2: is unknown; did you mean http?"];
    assert_eq!(problems, expected);
}

#[test]
fn a_syntax_error_is_told_alone() {
    for (text, line) in [("name = \n[callers.h]\n", 1), ("[http]\nport = 1\nport = 2\n", 3), ("a\n", 1), ("[http\n", 1)]
    {
        let (read, problems) = parse(text);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with(&format!("/etc/x.toml:{line}: ")), "{problems:?}");
        assert!(!problems[0].contains('\n'));
        assert_eq!(read, defaults());
    }
}

#[test]
fn a_suggestion_is_near() {
    let near = |key: &str| parse(&format!("[http]\n{key} = 1\n")).1.concat();
    assert!(near("colour").ends_with("did you mean http.color?"));
    assert!(near("Port").ends_with("did you mean http.port?"));
    assert!(near("siez").ends_with("did you mean http.size?"));
    assert!(near("x").ends_with("http.x: is unknown"));
    assert!(near("timeout").ends_with("http.timeout: is unknown"));
    assert!(near("po").ends_with("http.po: is unknown"), "two of two letters are not near");
    assert!(near(&"long".repeat(40)).ends_with("is unknown"));
    assert!(near("\"\\u001b[2J\"").contains("http.\\u{1b}[2J: is unknown"), "no escape sequence reaches a terminal");
}

#[test]
fn a_problem_that_only_the_reader_sees_has_its_line_too() {
    let mut settings = Settings::parse(Path::new("f"), "\n[http]\nport = 1\n");
    let mut http = settings.section("http");
    assert!(http.present() && http.has("port") && !http.has("tls"));
    http.number("port", 1, 0..=9, "");
    http.problem("port", "needs tls");
    http.problem("tls", "is needed by port");
    let Err(problems) = settings.finish() else { panic!() };
    assert_eq!(problems.to_string(), "f:2: http.tls: is needed by port\nf:3: http.port: needs tls");
}

#[test]
fn the_printed_file_has_every_default_and_reads_as_them() {
    let mut settings = Settings::empty();
    read(&mut settings);
    let text = commented_file("A head.\n\nTwo lines.", settings.declared());
    assert!(text.starts_with("# A head.\n#\n# Two lines.\n\n# Who it is. (any host)\n# name = …\n\n[http]\n"));
    assert!(text.contains("\n# [callers.NAME]\n"), "{text}");
    assert_eq!(parse(&text), (defaults(), vec![]), "as it is");
    let lines = text.lines().map(|line| line.strip_prefix("# ").filter(|line| line.contains(" = ")).unwrap_or(line));
    let lines: String = lines.filter(|line| !line.contains('…')).map(|line| format!("{line}\n")).collect();
    let without_callers = lines.split("# [callers").next().unwrap();
    assert_eq!(parse(without_callers), (defaults(), vec![]), "with every comment sign of a key removed");
    assert!(without_callers.contains("\nwait = \"30s\"\n") && without_callers.contains("\nhosts = [\"localhost\"]\n"));
}

#[test]
fn keys_before_any_section_are_printed_first() {
    let mut settings = Settings::empty();
    settings.section("b").flag("x", true, "X.");
    settings.top().flag("t", true, "T.");
    settings.section("a").flag("y", false, "Y.");
    settings.section("b").flag("z", false, "Z.");
    settings.section("b").flag("z", false, "Z.");
    assert_eq!(
        commented_file("", settings.declared()),
        "\n# T. (true or false)\n# t = true\n\n[b]\n\n# X. (true or false)\n# x = true\n\n# Z. (true or false)\n# z = false\n\
         \n[a]\n\n# Y. (true or false)\n# y = false\n"
    );
    let table = markdown(settings.declared());
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| `") || line.starts_with('#')).collect();
    let expected = [
        "### Top",
        "| `t` | `true` | true or false | T. |",
        "### `[b]`",
        "| `x` | `true` | true or false | X. |",
        "| `z` | `false` | true or false | Z. |",
        "### `[a]`",
        "| `y` | `false` | true or false | Y. |",
    ];
    assert_eq!(rows, expected);
}

#[test]
fn arbitrary_text_never_panics() {
    let pieces = [
        "[", "]", "[[", "]]", "=", "\"", "'", "http", ".", "port", "\n", "{", "}", ",", "1", "é", "\u{feff}", "#",
        "\\u",
    ];
    let mut seed = 7u64;
    for _ in 0..4000 {
        let mut text = String::new();
        for _ in 0..12 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(pieces[(seed >> 33) as usize % pieces.len()]);
        }
        let (_, problems) = parse(&text);
        assert!(problems.iter().all(|problem| problem.starts_with("/etc/x.toml:")), "{text:?}: {problems:?}");
    }
}
