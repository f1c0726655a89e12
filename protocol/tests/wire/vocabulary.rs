//! What the types of the boundary can say at all, read from their source: fields of the listed kinds only, none of them
//! unbounded, none recursive, none named like something that must never cross.

use std::collections::{BTreeMap, BTreeSet};

/// The files in which a type of the boundary may be declared.
const FILES: [&str; 3] = [
    include_str!("../../src/message.rs"),
    include_str!("../../src/message/outcome.rs"),
    include_str!("../../src/message/report.rs"),
];

/// Every kind of field that may cross. Bounded by itself, or by the constant beside it.
const KINDS: [&str; 12] =
    ["bool", "u8", "u16", "u32", "u64", "Text", "Blob", "List", "Label", "FileName", "Option", "Box"];

/// Words that no field may have in its name: they would be something that a process acts on or keeps to itself.
const NEVER: [&str; 27] = [
    "path",
    "dir",
    "folder",
    "cwd",
    "home",
    "argv",
    "arg",
    "args",
    "env",
    "environment",
    "command",
    "cmd",
    "exec",
    "program",
    "shell",
    "uid",
    "gid",
    "user",
    "pid",
    "fd",
    "descriptor",
    "signal",
    "secret",
    "password",
    "token",
    "credential",
    "key",
];

#[derive(Debug, Default)]
struct Declared {
    fields: Vec<String>,
    /// Every name in a type of a field, such as `Option` and `Text` of `Option<Text<64>>`.
    types: BTreeSet<String>,
}

/// The declarations that derive `Decode`, by name. Understands the plain style these files are written in.
fn declarations() -> BTreeMap<String, Declared> {
    let mut all = BTreeMap::new();
    for file in FILES {
        let code: String = file.lines().map(|line| format!("{}\n", line.split("//").next().unwrap())).collect();
        for block in code.split("#[derive(").skip(1) {
            let (derives, rest) = block.split_once(")]").unwrap();
            if !derives.contains("Decode") {
                continue;
            }
            let (name, body) = declaration(rest);
            assert!(all.insert(name.clone(), fields(&name, &body)).is_none(), "{name} is declared twice");
        }
    }
    all
}

/// The name and the inside of the declaration with which a text begins.
fn declaration(text: &str) -> (String, String) {
    let text = text.trim_start();
    let after = text.strip_prefix("pub struct ").or(text.strip_prefix("pub enum ")).unwrap();
    let (name, rest) = after.split_at(after.find(|c: char| !c.is_alphanumeric()).unwrap());
    let rest = rest.trim_start();
    let (open, close) = if rest.starts_with('(') { ('(', ')') } else { ('{', '}') };
    let mut depth = 0;
    let inside = rest.strip_prefix(open).unwrap().chars().take_while(|c| {
        depth += i32::from(*c == open) - i32::from(*c == close);
        depth >= 0
    });
    (name.to_owned(), inside.collect())
}

fn fields(name: &str, body: &str) -> Declared {
    let mut declared = Declared::default();
    let words: Vec<&str> = body.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_').collect();
    for word in words {
        let (text, mark) = word.split_at(word.len() - word.chars().next_back().map_or(0, char::len_utf8));
        if mark == ":" {
            declared.fields.push(text.to_owned());
        }
    }
    // Types stand after a colon, or in parentheses; variants stand before either.
    let types = body.split(['{', '}', ',']).filter_map(|part| part.split_once(':').map(|(_, kind)| kind));
    let tuples = body.split('(').skip(1).filter_map(|part| part.split(')').next());
    let whole = if body.contains(['{', ':', '(']) { "" } else { body };
    let tuple_struct = if whole.contains("pub ") { whole.trim_start_matches("pub ") } else { "" };
    for kind in types.chain(tuples).chain([tuple_struct]) {
        let names = kind.split(|c: char| !c.is_alphanumeric() && c != '_');
        let names = names.filter(|name| !name.is_empty() && *name != "pub");
        let names = names.filter(|name| !name.chars().all(|c| c.is_ascii_digit() || c.is_uppercase() || c == '_'));
        declared.types.extend(names.map(str::to_owned));
    }
    assert!(!name.is_empty());
    declared
}

#[test]
fn the_reader_understands_these_files() {
    let all = declarations();
    let names: Vec<&str> = all.keys().map(String::as_str).collect();
    assert_eq!(names.len(), 24, "{names:?}");
    assert!(
        ["ToWorker", "FromWorker", "StartJob", "Outcome", "Report", "Layers", "JobId"]
            .iter()
            .all(|n| all.contains_key(*n))
    );
    let types = |name: &str| all[name].types.iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(types("JobId"), ["u64"]);
    assert_eq!(types("InstanceId"), ["u8"]);
    assert_eq!(types("PromptPart"), ["Blob", "FileName", "Text"]);
    assert_eq!(types("Turn"), ["Role", "Text"]);
    assert_eq!(types("ByeReason"), [""; 0]);
    assert_eq!(all["Redaction"].fields, ["kind", "count"]);
    assert_eq!(all["PromptPart"].fields, ["name", "media_type", "bytes", "url", "media_type"]);
    let start = ["Box", "CancelReason", "Hello", "JobId", "StartJob", "u32", "u64"];
    assert_eq!(types("ToWorker"), start);
}

#[test]
fn every_field_is_of_a_listed_kind() {
    let all = declarations();
    for (name, declared) in &all {
        for kind in &declared.types {
            assert!(KINDS.contains(&kind.as_str()) || all.contains_key(kind), "{name} holds a {kind}");
        }
    }
}

#[test]
fn no_field_is_named_like_something_that_never_crosses() {
    for (name, declared) in declarations() {
        for field in declared.fields {
            let bad = field.split('_').find(|word| NEVER.contains(word));
            assert_eq!(bad, None, "{name}.{field}");
        }
    }
}

#[test]
fn no_type_contains_itself() {
    let all = declarations();
    for name in all.keys() {
        let mut inside: BTreeSet<&str> = BTreeSet::new();
        let mut ahead: Vec<&str> = all[name].types.iter().map(String::as_str).collect();
        while let Some(next) = ahead.pop() {
            assert_ne!(next, name, "a frame could nest {name} without end");
            if let Some(declared) = all.get(next).filter(|_| inside.insert(next)) {
                ahead.extend(declared.types.iter().map(String::as_str));
            }
        }
    }
}

/// The crate itself does nothing but decide: what it must not know it does not name.
#[test]
fn the_crate_does_no_io_and_reads_no_clock() {
    let src = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![src];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.ends_with("tests.rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            files += 1;
            for word in [
                "std::fs",
                "std::net",
                "std::env",
                "std::time",
                "std::process",
                "std::os",
                "std::thread",
                "tokio::",
                "bincode::serde",
            ] {
                assert!(!text.contains(word), "{} names {word}", path.display());
            }
            let names_bincode =
                text.lines().any(|line| line.contains("bincode::") && !line.trim_start().starts_with("//"));
            let may_name_it = ["codec.rs", "bounded.rs", "message.rs", "outcome.rs", "report.rs", "push/mod.rs"];
            assert!(
                !names_bincode || may_name_it.iter().any(|name| path.ends_with(name)),
                "{} names bincode",
                path.display()
            );
        }
    }
    assert!(files >= 10, "{files}");
}
