//! JSON Schema, as much of it as an answer needs that is to satisfy one.

use serde_json::{Map, Value, json};

/// Deepest level that is filled.
const MAX_DEPTH: usize = 32;

/// Whether every object's properties are all required, which the provider insists on.
pub(crate) fn all_required(schema: &Value) -> bool {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return schema.get("items").is_none_or(all_required);
    };
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
    properties.iter().all(|(name, value)| is_required(name) && all_required(value))
}

/// A small value that satisfies the schema, where it uses only types, properties, items, constants and bounds.
pub(crate) fn instance(schema: &Value) -> Value {
    fill(schema, MAX_DEPTH)
}

fn fill(schema: &Value, depth: usize) -> Value {
    if depth == 0 {
        return Value::Null;
    }
    if let Some(value) = schema.get("const").or_else(|| schema.pointer("/enum/0")) {
        return value.clone();
    }
    if let Some(choice) = schema.pointer("/anyOf/0").or_else(|| schema.pointer("/oneOf/0")) {
        return fill(choice, depth - 1);
    }
    let kind = schema.get("type").map(|kind| kind.get(0).unwrap_or(kind)).and_then(Value::as_str);
    match kind {
        Some("object") => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let filled = properties.into_iter().flatten().map(|(name, value)| (name.clone(), fill(value, depth - 1)));
            Value::Object(filled.collect::<Map<_, _>>())
        }
        Some("array") => {
            let count = schema.get("minItems").and_then(Value::as_u64).unwrap_or(1).min(16);
            let item = schema.get("items").map_or(Value::Null, |items| fill(items, depth - 1));
            Value::Array((0..count).map(|_| item.clone()).collect())
        }
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        Some("boolean") => Value::Bool(true),
        Some("null") => Value::Null,
        _ => {
            let least =
                schema.get("minLength").and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
            let text = format!("stand-in{}", "n".repeat(least.min(4096).saturating_sub(8)));
            let most = schema.get("maxLength").and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
            Value::String(text.chars().take(most.unwrap_or(usize::MAX)).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_has_all_that_is_asked_for() {
        let schema = json!({"type": "object", "required": ["name", "tags", "n", "kind", "ok"], "properties": {
            "name": {"type": "string", "minLength": 10}, "tags": {"type": "array", "items": {"type": "string"}, "minItems": 2},
            "n": {"type": "integer", "minimum": 3}, "kind": {"enum": ["a", "b"]}, "ok": {"type": ["boolean", "null"]}}});
        assert!(all_required(&schema));
        let expected = json!({"name": "stand-innn", "tags": ["stand-in", "stand-in"], "n": 3, "kind": "a", "ok": true});
        assert_eq!(instance(&schema), expected);
    }

    #[test]
    fn a_property_that_is_not_required_is_seen_at_any_depth() {
        let inner = json!({"type": "object", "properties": {"x": {"type": "string"}}});
        assert!(!all_required(&inner));
        assert!(!all_required(&json!({"type": "array", "items": inner})));
        assert!(!all_required(&json!({"properties": {"a": inner}, "required": ["a"]})));
        assert!(all_required(&json!({})));
    }
}
