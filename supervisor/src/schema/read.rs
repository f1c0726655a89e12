//! From JSON to a schema. Every keyword is known or refused.

use super::{Node, Schema, Types};
use regex::RegexBuilder;
use serde_json::{Map, Value};

/// Deepest nesting of schemas.
const MAX_DEPTH: usize = 32;
/// Largest compiled pattern, bytes.
const MAX_PATTERN: usize = 256 * 1024;
/// Keywords that say nothing about validity.
const ANNOTATIONS: [&str; 13] = [
    "$schema",
    "$id",
    "$comment",
    "title",
    "description",
    "default",
    "examples",
    "format",
    "deprecated",
    "readOnly",
    "writeOnly",
    "contentMediaType",
    "contentEncoding",
];

pub(super) fn schema(value: &Value) -> Result<Schema, String> {
    let mut reader = Reader { names: Vec::new() };
    let mut defs = Vec::new();
    for family in ["$defs", "definitions"] {
        let Some(members) = value.get(family) else { continue };
        let members = members.as_object().ok_or_else(|| format!("{family} must be an object"))?;
        for (name, def) in members {
            reader.names.push(format!("#/{family}/{name}"));
            defs.push((format!("/{family}/{name}"), def));
        }
    }
    // `#` itself stands behind all others.
    reader.names.push("#".to_owned());
    let mut nodes = defs.into_iter().map(|(path, def)| reader.node(def, &path, 1)).collect::<Result<Vec<_>, _>>()?;
    nodes.push(reader.node(value, "", 0)?);
    Ok(Schema { root: reader.node(value, "", 0)?, defs: nodes })
}

struct Reader {
    /// What `$ref` may say, in the order of the schema's `defs`.
    names: Vec<String>,
}

impl Reader {
    fn node(&self, value: &Value, path: &str, depth: usize) -> Result<Node, String> {
        if depth > MAX_DEPTH {
            return Err(format!("{path}: is nested too deeply"));
        }
        let members = match value {
            Value::Bool(allowed) => return Ok(Node { never: !allowed, ..Node::default() }),
            Value::Object(members) => members,
            _ => return Err(format!("{path}: a schema is an object, true or false")),
        };
        let mut node = Node::default();
        for (key, value) in members {
            let path = format!("{path}/{key}");
            let known = self.keyword(&mut node, key, value, &path, depth);
            if !known.map_err(|what| if what.starts_with('/') { what } else { format!("{path}: {what}") })? {
                let root = depth == 0 && (key == "$defs" || key == "definitions");
                if !root && !ANNOTATIONS.contains(&key.as_str()) {
                    return Err(format!("{path}: is a keyword that is not checked here"));
                }
            }
        }
        Ok(node)
    }

    /// Whether the keyword is one that is checked.
    fn keyword(&self, node: &mut Node, key: &str, value: &Value, path: &str, depth: usize) -> Result<bool, String> {
        let inside = |value: &Value| self.node(value, path, depth + 1).map(Box::new);
        match key {
            "type" => node.types = Some(types(value)?),
            "enum" => node.one_of_values = Some(list(value)?.clone()),
            "const" => node.one_of_values = Some(vec![value.clone()]),
            "$ref" => node.reference = Some(self.reference(value)?),
            "allOf" => node.all_of = self.nodes(value, path, depth)?,
            "anyOf" => node.any_of = Some(self.nodes(value, path, depth)?),
            "oneOf" => node.one_of = Some(self.nodes(value, path, depth)?),
            "not" => node.not = Some(inside(value)?),
            "minLength" => node.text.min = Some(count(value)?),
            "maxLength" => node.text.max = Some(count(value)?),
            "pattern" => {
                let pattern = value.as_str().ok_or("must be a text")?;
                let built = RegexBuilder::new(pattern).size_limit(MAX_PATTERN).build();
                node.text.pattern = Some(built.map_err(|_| "is not a regular expression that is known here")?);
            }
            "minimum" => node.number.min = Some(number(value)?),
            "maximum" => node.number.max = Some(number(value)?),
            "exclusiveMinimum" => node.number.above = Some(number(value)?),
            "exclusiveMaximum" => node.number.below = Some(number(value)?),
            "multipleOf" => {
                node.number.multiple_of =
                    Some(number(value).and_then(|n| if n > 0.0 { Ok(n) } else { Err("must be above 0".into()) })?);
            }
            "minItems" => node.array.min = Some(count(value)?),
            "maxItems" => node.array.max = Some(count(value)?),
            "uniqueItems" => node.array.unique = value.as_bool().ok_or("must be true or false")?,
            "prefixItems" => node.array.first = self.nodes(value, path, depth)?,
            "items" => node.array.rest = Some(inside(value)?),
            "minProperties" => node.object.min = Some(count(value)?),
            "maxProperties" => node.object.max = Some(count(value)?),
            "required" => node.object.required = names(value)?,
            "properties" => node.object.members = self.members(value, path, depth)?,
            "additionalProperties" => node.object.others = Some(inside(value)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn reference(&self, value: &Value) -> Result<usize, String> {
        let name = value.as_str().ok_or("must be a text")?;
        let found = self.names.iter().position(|known| known == name);
        found.ok_or_else(|| "leads neither to # nor to a member of $defs".to_owned())
    }

    fn nodes(&self, value: &Value, path: &str, depth: usize) -> Result<Vec<Node>, String> {
        let items = list(value)?.iter().enumerate();
        items.map(|(at, item)| self.node(item, &format!("{path}/{at}"), depth + 1)).collect()
    }

    fn members(&self, value: &Value, path: &str, depth: usize) -> Result<Vec<(String, Node)>, String> {
        let members: &Map<String, Value> = value.as_object().ok_or("must be an object")?;
        let read = |(name, value): (&String, &Value)| {
            Ok((name.clone(), self.node(value, &format!("{path}/{name}"), depth + 1)?))
        };
        members.iter().map(read).collect()
    }
}

fn types(value: &Value) -> Result<Types, String> {
    let bit = |value: &Value| {
        let found = Types::NAMES.iter().find(|(name, _)| value.as_str() == Some(name));
        found.map(|(_, bits)| *bits).ok_or_else(|| "names no type of JSON".to_owned())
    };
    match value {
        Value::Array(items) => {
            Ok(Types(items.iter().map(bit).collect::<Result<Vec<_>, _>>()?.iter().fold(0, |a, b| a | b)))
        }
        one => bit(one).map(Types),
    }
}

fn list(value: &Value) -> Result<&Vec<Value>, String> {
    value.as_array().filter(|items| !items.is_empty()).ok_or_else(|| "must be a list, and not empty".to_owned())
}

fn names(value: &Value) -> Result<Vec<String>, String> {
    let items = value.as_array().ok_or("must be a list of names")?;
    let name = |item: &Value| item.as_str().map(str::to_owned).ok_or_else(|| "must be a list of names".to_owned());
    items.iter().map(name).collect()
}

fn count(value: &Value) -> Result<u64, String> {
    value.as_u64().ok_or_else(|| "must be a whole number, 0 or more".to_owned())
}

fn number(value: &Value) -> Result<f64, String> {
    value.as_f64().ok_or_else(|| "must be a number".to_owned())
}
