//! What of a card is signed: members that say nothing are left out, as the specification (§8.4.1, §5.7) has it.
//!
//! Promises: the members of a card of 1.0 are treated by their presence in `a2a.proto`: required and `optional` ones stay
//! as they are, others go when they hold their default; `null` is no value; members that 1.0 does not know stay, so that
//! whoever adds one breaks the signature. Refuses to know keys.

use serde_json::{Map, Value};

/// A message of the specification: its members.
type Shape = &'static [Member];

/// One member.
struct Member {
    name: &'static str,
    /// It stays when it holds its default: it is required, `optional`, or a message.
    stays: bool,
    inside: Inside,
}

/// What is inside of a member.
enum Inside {
    /// Nothing that is looked into.
    Leaf,
    One(Shape),
    List(Shape),
    /// Values of names that are free.
    Map(Shape),
}

const fn member(name: &'static str, stays: bool, inside: Inside) -> Member {
    Member { name, stays, inside }
}

const fn needed(name: &'static str) -> Member {
    member(name, true, Inside::Leaf)
}

const fn plain(name: &'static str) -> Member {
    member(name, false, Inside::Leaf)
}

use Inside::{List, Map as MapOf, One};

const CARD: Shape = &[
    needed("name"),
    needed("description"),
    member("supportedInterfaces", true, List(INTERFACE)),
    member("provider", true, One(PROVIDER)),
    needed("version"),
    needed("documentationUrl"),
    member("capabilities", true, One(CAPABILITIES)),
    member("securitySchemes", false, MapOf(SCHEME)),
    member("securityRequirements", false, List(REQUIREMENT)),
    needed("defaultInputModes"),
    needed("defaultOutputModes"),
    member("skills", true, List(SKILL)),
    needed("iconUrl"),
];
const INTERFACE: Shape = &[needed("url"), needed("protocolBinding"), plain("tenant"), needed("protocolVersion")];
const PROVIDER: Shape = &[needed("url"), needed("organization")];
const CAPABILITIES: Shape = &[
    needed("streaming"),
    needed("pushNotifications"),
    member("extensions", false, List(EXTENSION)),
    needed("extendedAgentCard"),
];
const EXTENSION: Shape = &[plain("uri"), plain("description"), plain("required"), needed("params")];
const REQUIREMENT: Shape = &[member("schemes", false, MapOf(&[plain("list")]))];
const SKILL: Shape = &[
    needed("id"),
    needed("name"),
    needed("description"),
    needed("tags"),
    plain("examples"),
    plain("inputModes"),
    plain("outputModes"),
    member("securityRequirements", false, List(REQUIREMENT)),
];
const SCHEME: Shape = &[
    member("apiKeySecurityScheme", true, One(&[plain("description"), needed("location"), needed("name")])),
    member("httpAuthSecurityScheme", true, One(&[plain("description"), needed("scheme"), plain("bearerFormat")])),
    member("oauth2SecurityScheme", true, One(OAUTH)),
    member("openIdConnectSecurityScheme", true, One(&[plain("description"), needed("openIdConnectUrl")])),
    member("mtlsSecurityScheme", true, One(&[plain("description")])),
];
const OAUTH: Shape = &[plain("description"), member("flows", true, One(FLOWS)), plain("oauth2MetadataUrl")];
const FLOWS: Shape = &[
    member(
        "authorizationCode",
        true,
        One(&[
            needed("authorizationUrl"),
            needed("tokenUrl"),
            plain("refreshUrl"),
            needed("scopes"),
            plain("pkceRequired"),
        ]),
    ),
    member("clientCredentials", true, One(&[needed("tokenUrl"), plain("refreshUrl"), needed("scopes")])),
    member("implicit", true, One(&[plain("authorizationUrl"), plain("refreshUrl"), plain("scopes")])),
    member("password", true, One(&[plain("tokenUrl"), plain("refreshUrl"), plain("scopes")])),
    member(
        "deviceCode",
        true,
        One(&[needed("deviceAuthorizationUrl"), needed("tokenUrl"), plain("refreshUrl"), needed("scopes")]),
    ),
];

/// What is signed of a card: without its signatures, and without members that hold their defaults.
pub(super) fn present(card: &Value) -> Value {
    let mut card = card.clone();
    if let Value::Object(members) = &mut card {
        members.remove("signatures");
        // A card of 0.3 has other members; nothing of the schema of 1.0 is true of it.
        if is_1_0(members) {
            lay_off(members, CARD);
        }
    }
    card
}

/// The same, of the members alone that 1.0 knows. What reads a card into the types of 1.0 sees no others.
pub(super) fn known(card: &Value) -> Value {
    let mut card = present(card);
    if let Value::Object(members) = &mut card
        && is_1_0(members)
    {
        keep(members, CARD);
    }
    card
}

/// Without anything that is empty, at whatever depth: the form over which the official SDKs sign. `None`: all of it.
pub(super) fn not_empty(value: Value) -> Option<Value> {
    match value {
        Value::Object(members) => {
            let members: Map<String, Value> =
                members.into_iter().filter_map(|(name, member)| Some((name, not_empty(member)?))).collect();
            (!members.is_empty()).then_some(Value::Object(members))
        }
        Value::Array(items) => {
            let items: Vec<Value> = items.into_iter().filter_map(not_empty).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        Value::String(text) if text.is_empty() => None,
        Value::Null => None,
        other => Some(other),
    }
}

fn is_1_0(card: &Map<String, Value>) -> bool {
    card.contains_key("supportedInterfaces")
}

fn lay_off(members: &mut Map<String, Value>, shape: Shape) {
    members.retain(|name, value| match shape.iter().find(|member| member.name == name) {
        Some(member) => !value.is_null() && (member.stays || !is_default(value)),
        None => true,
    });
    inside(members, shape, lay_off);
}

fn keep(members: &mut Map<String, Value>, shape: Shape) {
    members.retain(|name, _| shape.iter().any(|member| member.name == name));
    inside(members, shape, keep);
}

/// Does the same to every message inside.
fn inside(members: &mut Map<String, Value>, shape: Shape, act: fn(&mut Map<String, Value>, Shape)) {
    let of = |value: &mut Value, shape| {
        if let Value::Object(members) = value {
            act(members, shape);
        }
    };
    for member in shape {
        match (&member.inside, members.get_mut(member.name)) {
            (Inside::One(shape), Some(value)) => of(value, shape),
            (Inside::List(shape), Some(Value::Array(items))) => items.iter_mut().for_each(|item| of(item, shape)),
            (Inside::Map(shape), Some(Value::Object(values))) => {
                values.iter_mut().for_each(|(_, value)| of(value, shape));
            }
            _ => {}
        }
    }
}

fn is_default(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_example_of_the_specification_has_the_form_that_it_gives() {
        // §8.4.1, with the member by which a card of 1.0 is told.
        let card = json!({ "name": "Example Agent", "description": "", "supportedInterfaces": [], "skills": [],
            "capabilities": { "streaming": false, "pushNotifications": false, "extensions": [] } });
        let wanted = json!({ "name": "Example Agent", "description": "", "supportedInterfaces": [], "skills": [],
            "capabilities": { "streaming": false, "pushNotifications": false } });
        assert_eq!(present(&card), wanted);
    }

    #[test]
    fn defaults_go_where_the_schema_says_so_and_nowhere_else() {
        let card = json!({
            "supportedInterfaces": [{ "url": "u", "tenant": "", "protocolBinding": "", "protocolVersion": "1.0" }],
            "documentationUrl": "", "iconUrl": null, "provider": {}, "securitySchemes": {}, "foreign": [], "x": false,
            "securityRequirements": [{ "schemes": { "bearer": { "list": [] } } }, { "schemes": {} }],
            "capabilities": { "extensions": [{ "uri": "", "required": false, "params": { "a": "", "b": null, "c": [] } }] },
            "skills": [{ "id": "", "tags": [], "examples": [], "inputModes": ["a"] }],
            "signatures": [{}],
        });
        let wanted = json!({
            "supportedInterfaces": [{ "url": "u", "protocolBinding": "", "protocolVersion": "1.0" }],
            "documentationUrl": "", "provider": {}, "foreign": [], "x": false,
            "securityRequirements": [{ "schemes": { "bearer": {} } }, {}],
            "capabilities": { "extensions": [{ "params": { "a": "", "b": null, "c": [] } }] },
            "skills": [{ "id": "", "tags": [], "inputModes": ["a"] }],
        });
        assert_eq!(present(&card), wanted);
        let known = known(&card);
        assert!(known.get("foreign").is_none() && known.get("x").is_none() && known.get("provider").is_some());
        let left = not_empty(present(&card)).unwrap();
        assert_eq!(
            left,
            json!({ "supportedInterfaces": [{ "url": "u", "protocolVersion": "1.0" }], "x": false,
            "skills": [{ "inputModes": ["a"] }] })
        );
    }

    #[test]
    fn a_card_of_0_3_is_taken_as_it_stands() {
        let card = json!({ "name": "x", "url": "u", "skills": [], "signatures": [] });
        assert_eq!(present(&card), json!({ "name": "x", "url": "u", "skills": [] }));
        assert_eq!(known(&card), present(&card));
    }
}
