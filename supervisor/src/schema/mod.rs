//! JSON Schema, as far as a skill needs it to say what it takes and gives: draft 2020-12 without what leads outside.
//!
//! Promises: a schema with a keyword that is not checked here is refused when the settings are read, so that nothing is
//! passed on as valid that only part of a schema was held against; checking is bounded in depth and in steps, whatever
//! schema and value are. Refuses to know: files, networks, formats (`format` is an annotation), other documents than its
//! own (`$ref` leads to `#` and its `$defs` only).

mod check;
mod read;

use regex::Regex;
use serde_json::Value;

/// A schema that can be checked against.
#[derive(Debug)]
pub struct Schema {
    root: Node,
    /// What `$ref` leads to.
    defs: Vec<Node>,
}

impl Schema {
    /// From text.
    ///
    /// # Errors
    /// A lowercase fragment: no JSON, no schema, or a keyword that is not checked here, and where.
    pub fn parse(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))?;
        read::schema(&value)
    }

    /// What no value satisfies.
    #[must_use]
    pub fn nothing() -> Self {
        Self { root: Node { never: true, ..Node::default() }, defs: Vec::new() }
    }

    /// Whether a value satisfies it.
    ///
    /// # Errors
    /// A [`Violation`]: the first that was found.
    pub fn check(&self, value: &Value) -> Result<(), Violation> {
        check::Check::new(self).whole(value)
    }
}

/// What is wrong with a value. Says nothing of its content but names of members.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}", if path.is_empty() { String::new() } else { format!("{path}: ") })]
pub struct Violation {
    /// JSON pointer of the place, empty for the whole.
    pub path: String,
    /// A lowercase fragment.
    pub what: String,
}

/// The types of JSON, as bits: integers are numbers too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Types(u8);

impl Types {
    const NAMES: [(&str, u8); 7] =
        [("null", 1), ("boolean", 2), ("integer", 4), ("number", 12), ("string", 16), ("array", 32), ("object", 64)];

    fn of(value: &Value) -> Self {
        Self(match value {
            Value::Null => 1,
            Value::Bool(_) => 2,
            Value::Number(number) if number.is_f64() && number.as_f64().is_none_or(|n| n.fract() != 0.0) => 8,
            Value::Number(_) => 4,
            Value::String(_) => 16,
            Value::Array(_) => 32,
            Value::Object(_) => 64,
        })
    }
}

/// One schema within a schema.
#[derive(Debug, Default)]
struct Node {
    /// `false`: nothing satisfies it.
    never: bool,
    types: Option<Types>,
    one_of_values: Option<Vec<Value>>,
    reference: Option<usize>,
    all_of: Vec<Node>,
    any_of: Option<Vec<Node>>,
    one_of: Option<Vec<Node>>,
    not: Option<Box<Node>>,
    text: Text,
    number: Number,
    array: Array,
    object: Object,
}

#[derive(Debug, Default)]
struct Text {
    min: Option<u64>,
    max: Option<u64>,
    pattern: Option<Regex>,
}

#[derive(Debug, Default)]
struct Number {
    min: Option<f64>,
    max: Option<f64>,
    above: Option<f64>,
    below: Option<f64>,
    multiple_of: Option<f64>,
}

#[derive(Debug, Default)]
struct Array {
    min: Option<u64>,
    max: Option<u64>,
    unique: bool,
    first: Vec<Node>,
    rest: Option<Box<Node>>,
}

#[derive(Debug, Default)]
struct Object {
    min: Option<u64>,
    max: Option<u64>,
    required: Vec<String>,
    members: Vec<(String, Node)>,
    others: Option<Box<Node>>,
}

#[cfg(test)]
mod tests;
