//! A value against a schema.

use super::{Array, Node, Number, Object, Schema, Text, Types, Violation};
use serde_json::{Map, Value};

/// Most schemas that are looked at for one value. References can make a small schema endless.
const MAX_STEPS: u32 = 200_000;
/// Deepest place in a value, references counted too.
const MAX_DEPTH: usize = 96;

pub(super) struct Check<'s> {
    schema: &'s Schema,
    steps: u32,
    /// A limit was reached somewhere: whatever was found since proves nothing.
    exhausted: bool,
    path: Vec<Step<'s>>,
}

enum Step<'s> {
    Member(&'s str),
    Item(usize),
}

type Held = Result<(), String>;

impl<'s> Check<'s> {
    pub(super) fn new(schema: &'s Schema) -> Self {
        Self { schema, steps: 0, exhausted: false, path: Vec::new() }
    }

    pub(super) fn whole(mut self, value: &'s Value) -> Result<(), Violation> {
        let schema = self.schema;
        let held = self.node(&schema.root, value, 0);
        let held = if self.exhausted { Err("is too much to check".to_owned()) } else { held };
        held.map_err(|what| {
            let step = |step: &Step<'_>| match step {
                Step::Member(name) => format!("/{}", name.replace('~', "~0").replace('/', "~1")),
                Step::Item(at) => format!("/{at}"),
            };
            Violation { path: self.path.iter().map(step).collect(), what }
        })
    }

    fn node(&mut self, node: &'s Node, value: &'s Value, depth: usize) -> Held {
        self.steps = self.steps.saturating_add(1);
        if self.exhausted || self.steps > MAX_STEPS || depth > MAX_DEPTH {
            self.exhausted = true;
            return Err("is too much to check".to_owned());
        }
        if node.never {
            return Err("is not allowed".to_owned());
        }
        if let Some(types) = node.types.filter(|types| types.0 & Types::of(value).0 == 0) {
            return Err(wrong_type(types));
        }
        if node.one_of_values.as_ref().is_some_and(|values| !values.iter().any(|known| same(known, value))) {
            return Err("is none of the allowed values".to_owned());
        }
        let schema = self.schema;
        if let Some(def) = node.reference.and_then(|at| schema.defs.get(at)) {
            self.node(def, value, depth + 1)?;
        }
        match value {
            Value::String(string) => text(&node.text, string)?,
            Value::Number(n) => number(&node.number, n.as_f64().unwrap_or(f64::NAN))?,
            Value::Array(items) => self.array(&node.array, items, depth)?,
            Value::Object(members) => self.object(&node.object, members, depth)?,
            Value::Null | Value::Bool(_) => {}
        }
        self.combined(node, value, depth)
    }

    fn combined(&mut self, node: &'s Node, value: &'s Value, depth: usize) -> Held {
        for part in &node.all_of {
            self.node(part, value, depth + 1)?;
        }
        if let Some(parts) = &node.any_of
            && !parts.iter().any(|part| self.holds(part, value, depth))
        {
            return Err("satisfies none of the alternatives".to_owned());
        }
        if let Some(parts) = &node.one_of {
            let held = parts.iter().filter(|part| self.holds(part, value, depth)).count();
            if held != 1 {
                return Err(format!("satisfies {held} of the alternatives, and must satisfy one"));
            }
        }
        match &node.not {
            Some(part) if self.holds(part, value, depth) => Err("satisfies what it must not".to_owned()),
            _ => Ok(()),
        }
    }

    /// Whether it holds; where it does not, nothing is remembered of the place.
    fn holds(&mut self, node: &'s Node, value: &'s Value, depth: usize) -> bool {
        let at = self.path.len();
        let held = self.node(node, value, depth + 1).is_ok();
        self.path.truncate(at);
        held
    }

    fn at(&mut self, step: Step<'s>, node: &'s Node, value: &'s Value, depth: usize) -> Held {
        self.path.push(step);
        // On a violation the path stays: it says where.
        self.node(node, value, depth + 1)?;
        self.path.pop();
        Ok(())
    }

    fn array(&mut self, rules: &'s Array, items: &'s [Value], depth: usize) -> Held {
        bounds(items.len(), rules.min, rules.max, "items")?;
        if rules.unique && has_twins(items) {
            return Err("has an item twice".to_owned());
        }
        for (at, item) in items.iter().enumerate() {
            let node = rules.first.get(at).or(rules.rest.as_deref());
            if let Some(node) = node {
                self.at(Step::Item(at), node, item, depth)?;
            }
        }
        Ok(())
    }

    fn object(&mut self, rules: &'s Object, members: &'s Map<String, Value>, depth: usize) -> Held {
        bounds(members.len(), rules.min, rules.max, "members")?;
        if let Some(missing) = rules.required.iter().find(|name| !members.contains_key(*name)) {
            return Err(format!("the member {missing} is missing"));
        }
        for (name, value) in members {
            let known = rules.members.iter().find(|(known, _)| known == name).map(|(_, node)| node);
            if let Some(node) = known.or(rules.others.as_deref()) {
                self.at(Step::Member(name), node, value, depth)?;
            }
        }
        Ok(())
    }
}

fn wrong_type(types: Types) -> String {
    let name = |(name, bits): &(&'static str, u8)| (types.0 & bits == *bits).then_some(*name);
    let mut names: Vec<&str> = Types::NAMES.iter().filter_map(name).collect();
    if names.contains(&"number") {
        names.retain(|name| *name != "integer");
    }
    format!("must be {}", names.join(" or "))
}

fn text(rules: &Text, text: &str) -> Held {
    if rules.min.is_some() || rules.max.is_some() {
        bounds(text.chars().count(), rules.min, rules.max, "characters")?;
    }
    match &rules.pattern {
        Some(pattern) if !pattern.is_match(text) => Err("does not have the demanded form".to_owned()),
        _ => Ok(()),
    }
}

fn number(rules: &Number, n: f64) -> Held {
    let low = rules.min.is_some_and(|min| n < min) || rules.above.is_some_and(|above| n <= above);
    let high = rules.max.is_some_and(|max| n > max) || rules.below.is_some_and(|below| n >= below);
    if low || high {
        return Err(format!("is too {}", if low { "small" } else { "large" }));
    }
    let uneven = |of: f64| {
        let times = n / of;
        (times - times.round()).abs() > 1e-9
    };
    if rules.multiple_of.is_some_and(uneven) { Err("is no multiple of what it must be".to_owned()) } else { Ok(()) }
}

fn bounds(count: usize, min: Option<u64>, max: Option<u64>, what: &str) -> Held {
    let count = count as u64;
    if min.is_some_and(|min| count < min) {
        return Err(format!("has too few {what}"));
    }
    if max.is_some_and(|max| count > max) {
        return Err(format!("has too many {what}"));
    }
    Ok(())
}

/// Equal as JSON Schema means it: 1 and 1.0 are one number, the order of members does not count.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

/// Compares sorted texts, since comparing each with each would be quadratic for whoever sends a long list.
fn has_twins(items: &[Value]) -> bool {
    let mut texts: Vec<String> = items.iter().map(canonical).collect();
    texts.sort_unstable();
    texts.windows(2).any(|two| matches!(two, [a, b] if a == b))
}

/// One text for all values that are the same.
fn canonical(value: &Value) -> String {
    match value {
        Value::Number(n) => n.as_f64().map_or_else(|| n.to_string(), |n| n.to_string()),
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::Object(members) => {
            let mut all: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), canonical(value)))
                .collect();
            all.sort_unstable();
            format!("{{{}}}", all.join(","))
        }
        other => other.to_string(),
    }
}
