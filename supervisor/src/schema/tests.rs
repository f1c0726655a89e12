use super::*;
use serde_json::json;

fn checked(schema: Value, value: Value) -> Result<(), String> {
    Schema::parse(&schema.to_string()).unwrap().check(&value).map_err(|violation| violation.to_string())
}

/// Schema, values that satisfy it, values that do not.
#[test]
fn every_keyword_takes_and_refuses() {
    let table: Vec<(Value, Vec<Value>, Vec<Value>)> = vec![
        (json!(true), vec![json!(null), json!([1])], vec![]),
        (json!(false), vec![], vec![json!(null)]),
        (json!({"type": "integer"}), vec![json!(1), json!(1.0), json!(-7)], vec![json!(1.5), json!("1"), json!(null)]),
        (json!({"type": "number"}), vec![json!(1), json!(1.5)], vec![json!("1")]),
        (json!({"type": ["null", "string"]}), vec![json!(null), json!("")], vec![json!(0), json!([])]),
        (
            json!({"enum": [1, "a", {"x": [1, 2]}]}),
            vec![json!(1.0), json!("a"), json!({"x": [1, 2]})],
            vec![json!("b"), json!({"x": [2, 1]})],
        ),
        (json!({"const": {"a": 1, "b": 2}}), vec![json!({"b": 2, "a": 1})], vec![json!({"a": 1})]),
        (
            json!({"minLength": 2, "maxLength": 3}),
            vec![json!("éé"), json!("abc"), json!(5)],
            vec![json!("a"), json!("abcd")],
        ),
        (json!({"pattern": "^[a-z]\\d+$"}), vec![json!("a1"), json!(1)], vec![json!("1a"), json!("a")]),
        (
            json!({"minimum": 1, "exclusiveMaximum": 3}),
            vec![json!(1), json!(2.9), json!("x")],
            vec![json!(0.9), json!(3)],
        ),
        (json!({"exclusiveMinimum": 1, "maximum": 3}), vec![json!(1.1), json!(3)], vec![json!(1), json!(4)]),
        (json!({"multipleOf": 0.1}), vec![json!(0.3), json!(7)], vec![json!(0.35)]),
        (
            json!({"items": {"type": "string"}, "minItems": 1, "maxItems": 2}),
            vec![json!(["a"])],
            vec![json!([]), json!(["a", 1]), json!(["a", "b", "c"])],
        ),
        (
            json!({"prefixItems": [{"type": "string"}], "items": false}),
            vec![json!(["a"]), json!([])],
            vec![json!([1]), json!(["a", 1])],
        ),
        (
            json!({"uniqueItems": true}),
            vec![json!([1, "1", [1], {"a": 1, "b": 2}])],
            vec![json!([1, 1.0]), json!([{"a": 1, "b": 2}, {"b": 2, "a": 1}])],
        ),
        (
            json!({"required": ["a"], "minProperties": 2, "maxProperties": 2}),
            vec![json!({"a": 1, "b": 2})],
            vec![json!({"b": 1, "c": 1}), json!({"a": 1}), json!({"a": 1, "b": 1, "c": 1})],
        ),
        (
            json!({"properties": {"a": {"type": "string"}}, "additionalProperties": false}),
            vec![json!({"a": ""}), json!({})],
            vec![json!({"a": 1}), json!({"b": ""})],
        ),
        (
            json!({"properties": {"a": true}, "additionalProperties": {"type": "null"}}),
            vec![json!({"a": 1, "b": null})],
            vec![json!({"b": 1})],
        ),
        (json!({"allOf": [{"minimum": 1}, {"maximum": 2}]}), vec![json!(1)], vec![json!(0), json!(3)]),
        (json!({"anyOf": [{"type": "string"}, {"minimum": 5}]}), vec![json!("x"), json!(5)], vec![json!(4)]),
        (json!({"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}]}), vec![json!(2), json!(9)], vec![json!(6), json!(5)]),
        (json!({"not": {"type": "string"}}), vec![json!(1)], vec![json!("x")]),
        (
            json!({"$defs": {"n": {"type": "null"}}, "items": {"$ref": "#/$defs/n"}}),
            vec![json!([null])],
            vec![json!([1])],
        ),
        (
            json!({"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": false}),
            vec![json!({"next": {"next": {}}})],
            vec![json!({"next": {"next": 1}}), json!({"x": 1})],
        ),
    ];
    for (schema, good, bad) in table {
        for value in good {
            assert_eq!(checked(schema.clone(), value.clone()), Ok(()), "{schema} {value}");
        }
        for value in bad {
            assert!(checked(schema.clone(), value.clone()).is_err(), "{schema} {value}");
        }
    }
}

#[test]
fn a_violation_says_where_and_what_and_nothing_of_the_content() {
    let schema = json!({"properties": {"a/b": {"items": {"anyOf": [{"properties": {"z": {"type": "null"}}}], "properties": {"n": {"type": "integer"}}}}}});
    let said = checked(schema, json!({"a/b": [{}, {"n": "geheim"}]})).unwrap_err();
    assert_eq!(said, "/a~1b/1/n: must be integer");
    assert_eq!(checked(json!({"required": ["x"]}), json!({})).unwrap_err(), "the member x is missing");
}

#[test]
fn what_is_not_checked_here_is_refused_when_it_is_read() {
    for schema in [
        json!({"patternProperties": {}}),
        json!({"$ref": "https://example.org/schema"}),
        json!({"$ref": "#/properties/a"}),
        json!({"properties": {"a": {"if": true}}}),
        json!({"type": "strin"}),
        json!({"pattern": "(?=x)"}),
        json!({"minLength": -1}),
        json!({"multipleOf": 0}),
        json!({"anyOf": []}),
        json!({"items": [true]}),
        json!({"properties": {"a": {"$defs": {}}}}),
        json!([]),
    ] {
        let refused = Schema::parse(&schema.to_string());
        assert!(refused.is_err(), "{schema}");
    }
    let said = Schema::parse(r#"{"properties":{"a":{"contains":1}}}"#).unwrap_err();
    assert_eq!(said, "/properties/a/contains: is a keyword that is not checked here");
    let mut deep = json!({});
    for _ in 0..40 {
        deep = json!({ "items": deep });
    }
    assert!(Schema::parse(&deep.to_string()).is_err());
}

#[test]
fn an_endless_schema_is_an_end_and_no_hang() {
    let itself = json!({"$ref": "#"});
    assert!(checked(itself, json!(1)).unwrap_err().contains("too much"));
    let wide = json!({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}, {"$ref": "#/$defs/b"}]}, "b": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"});
    let since = std::time::Instant::now();
    assert!(checked(wide.clone(), json!(1)).is_err());
    assert!(checked(json!({"$defs": wide["$defs"], "not": {"$ref": "#/$defs/a"}}), json!(1)).is_err(), "not proven");
    assert!(since.elapsed() < std::time::Duration::from_secs(5));
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!([deep]);
    }
    let nested =
        json!({"$defs": {"n": {"items": {"$ref": "#/$defs/n"}, "not": {"const": 1}}}, "not": {"$ref": "#/$defs/n"}});
    assert!(checked(nested, deep).is_err(), "too deep to prove that it is not so");
    let long: Vec<Value> = (0..50_000).map(|n| json!(n)).collect();
    assert_eq!(checked(json!({"uniqueItems": true}), json!(long)), Ok(()));
}
