//! Files that the answers are compared with.

use serde_json::Value;
use std::path::PathBuf;

pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden/dialect").join(name)
}

fn blessing() -> bool {
    std::env::var_os("MUSEGATE_BLESS").is_some_and(|value| value == "1")
}

/// Compares with the file, byte for byte, or writes it.
pub(crate) fn same_text(name: &str, text: &str) {
    let path = path(name);
    if blessing() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(golden == text, "{} differs; is:\n{text}\nshould be:\n{golden}", path.display());
}

/// The same for JSON, laid out for reading.
pub(crate) fn same_json(name: &str, json: &Value) {
    same_text(name, &format!("{}\n", serde_json::to_string_pretty(json).unwrap()));
}

/// A file of cases.
pub(crate) fn read(name: &str) -> Value {
    let path = path(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// No member and no element is `null`, but for the id of an answer to what had none and for what is the client's own.
pub(crate) fn no_null(json: &Value, place: &str) {
    match json {
        Value::Null => panic!("null at {place}"),
        Value::Array(items) => items.iter().enumerate().for_each(|(n, item)| no_null(item, &format!("{place}[{n}]"))),
        Value::Object(members) => members
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "data" | "metadata"))
            .for_each(|(name, value)| no_null(value, &format!("{place}.{name}"))),
        _ => {}
    }
}
