use super::*;
use proptest::prelude::*;

fn keys() -> [SigningKey; 2] {
    [Algorithm::Es256, Algorithm::EdDsa].map(|algorithm| SigningKey::generate(algorithm).unwrap())
}

fn trusted(key: &SigningKey) -> KeySet {
    KeySet::parse(&key.public().to_string()).unwrap()
}

/// A card of both editions, with everything that the forms differ in.
fn hybrid() -> Value {
    json!({
        "name": "Müse", "description": "", "version": "1", "url": "https://a.example/a2a", "protocolVersion": "0.3.0",
        "supportedInterfaces": [{ "url": "https://a.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }],
        "capabilities": { "streaming": false, "extensions": [{ "uri": "urn:x", "required": false, "params": { "n": 1.5 } }] },
        "securitySchemes": { "bearer": { "httpAuthSecurityScheme": { "scheme": "Bearer" }, "type": "http" } },
        "securityRequirements": [{ "schemes": { "bearer": { "list": [] } } }],
        "defaultInputModes": [], "defaultOutputModes": ["text/plain"], "skills": [],
    })
}

fn signed(key: &SigningKey) -> Value {
    let mut card = hybrid();
    sign(&mut card, key, Some("https://a.example/jwks.json"));
    card
}

fn check(card: &Value, keys: &KeySet) -> Result<Verified, Unsigned> {
    verify(card.to_string().as_bytes(), keys, false)
}

/// With the first signature's protected header changed, and signed anew by this key, as an attacker with it would.
fn forged(key: &SigningKey, header: &Value) -> Value {
    let mut card = hybrid();
    let protected = URL_SAFE_NO_PAD.encode(header.to_string());
    let payload = canonical::form(&present::present(&card));
    let signature = URL_SAFE_NO_PAD.encode(key.sign(&input(&protected, &payload)));
    card["signatures"] = json!([{ "protected": protected, "signature": signature }]);
    card
}

#[test]
fn what_was_signed_verifies_however_it_is_written() {
    for key in keys() {
        let card = signed(&key);
        assert_eq!(card["signatures"].as_array().unwrap().len(), 3, "one for each form");
        let verified = check(&card, &trusted(&key)).unwrap();
        assert_eq!((verified.kid.as_str(), verified.form), (key.kid(), Form::Specified));
        let text = serde_json::to_string_pretty(&card).unwrap().replace("Müse", "M\\u00fcse").replace("1.5", "15e-1");
        assert!(verify(text.as_bytes(), &trusted(&key), true).is_ok(), "spaces, escapes and numbers");
        let mut more = card.clone();
        more["supportedInterfaces"][0]["tenant"] = json!("");
        more["capabilities"]["extensions"][0]["description"] = Value::Null;
        assert!(check(&more, &trusted(&key)).is_ok(), "members that say nothing");
        let header = URL_SAFE_NO_PAD.decode(card["signatures"][0]["protected"].as_str().unwrap()).unwrap();
        let header: Value = serde_json::from_slice(&header).unwrap();
        let wanted = json!({ "alg": key.algorithm().name(), "kid": key.kid(), "typ": "JOSE", "jku": "https://a.example/jwks.json" });
        assert_eq!(header, wanted);
    }
}

/// Every place of a value, as a JSON pointer.
fn places(value: &Value, at: &str, out: &mut Vec<String>) {
    out.push(at.to_owned());
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| places(member, &format!("{at}/{name}"), out))
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, item)| places(item, &format!("{at}/{n}"), out));
        }
        _ => {}
    }
}

#[test]
fn a_card_that_was_altered_anywhere_does_not_verify() {
    let key = SigningKey::generate(Algorithm::EdDsa).unwrap();
    let (card, trusted) = (signed(&key), trusted(&key));
    let mut all = Vec::new();
    places(&hybrid(), "", &mut all);
    assert!(all.len() > 30);
    for place in all.iter().filter(|place| !place.is_empty()) {
        let mut other = card.clone();
        *other.pointer_mut(place).unwrap() = json!("evil");
        assert!(check(&other, &trusted).is_err(), "{place}");
    }
    for (object, name) in
        [("", "extra"), ("", "security"), ("/capabilities", "pushNotifications"), ("/supportedInterfaces/0", "tenant")]
    {
        let mut other = card.clone();
        other.pointer_mut(object).unwrap()[name] = json!("evil");
        assert!(check(&other, &trusted).is_err(), "{object}/{name} added");
    }
    for name in ["name", "url", "capabilities", "securitySchemes", "supportedInterfaces"] {
        let mut other = card.clone();
        other.as_object_mut().unwrap().remove(name);
        assert!(check(&other, &trusted).is_err(), "{name} removed");
    }
}

#[test]
fn a_signature_that_is_not_what_it_says_is_refused() {
    let [es, ed] = keys();
    let trusted = trusted(&es);
    let good = json!({ "alg": "ES256", "kid": es.kid(), "typ": "JOSE" });
    assert!(check(&forged(&es, &good), &trusted).is_ok(), "the forger's tool makes good ones too");
    for (name, value) in [
        ("alg", json!("none")),
        ("alg", json!("None")),
        ("alg", json!("")),
        ("alg", json!("HS256")),
        ("alg", json!("RS256")),
        ("alg", json!("es256")),
        ("alg", json!("EdDSA")),
        ("alg", json!(["ES256"])),
        ("alg", Value::Null),
        ("crit", json!(["exp"])),
        ("crit", json!([])),
        ("b64", json!(false)),
        ("kid", json!("other")),
        ("kid", json!(7)),
    ] {
        let mut header = good.clone();
        header[name] = value;
        assert!(check(&forged(&es, &header), &trusted).is_err(), "{header}");
    }
    let wrong = |card: &Value, keys: &KeySet| match check(card, keys) {
        Err(Unsigned::Wrong(mut why)) => why.remove(0),
        other => panic!("{other:?}"),
    };
    assert!(matches!(wrong(&forged(&es, &json!({ "alg": "none", "kid": es.kid() })), &trusted), Wrong::Algorithm(_)));
    let confused = json!({ "alg": "EdDSA", "kid": es.kid() });
    assert!(matches!(wrong(&forged(&ed, &confused), &trusted), Wrong::Confusion(_)));
    assert!(matches!(wrong(&forged(&ed, &good), &trusted), Wrong::Form(_) | Wrong::Mismatch(_)));
    let stranger = SigningKey::generate(Algorithm::Es256).unwrap();
    assert!(matches!(wrong(&signed(&stranger), &trusted), Wrong::Key(_)));
    assert!(matches!(wrong(&forged(&stranger, &good), &trusted), Wrong::Mismatch(_)));
}

#[test]
fn what_is_no_signature_is_told_from_one() {
    let key = SigningKey::generate(Algorithm::Es256).unwrap();
    let keys = trusted(&key);
    assert_eq!(check(&hybrid(), &keys), Err(Unsigned::None));
    for none in [json!([]), json!({}), Value::Null, json!("x")] {
        let mut card = hybrid();
        card["signatures"] = none;
        assert_eq!(check(&card, &keys), Err(Unsigned::None));
    }
    let good = signed(&key)["signatures"][0].clone();
    let with = |signature: Value| {
        let mut card = hybrid();
        card["signatures"] = json!([signature]);
        check(&card, &keys)
    };
    assert!(with(good.clone()).is_ok());
    let beside =
        |header: Value| json!({ "protected": good["protected"], "signature": good["signature"], "header": header });
    assert!(with(beside(json!({ "x": 1 }))).is_ok());
    for header in [json!({ "alg": "none" }), json!({ "crit": [] }), json!({ "b64": false }), json!([]), json!("x")] {
        assert!(with(beside(header.clone())).is_err(), "{header}");
    }
    let padded = format!("{}==", good["signature"].as_str().unwrap());
    for wrong in [
        json!({ "protected": good["protected"] }),
        json!({ "protected": good["protected"], "signature": padded }),
        json!({ "protected": good["protected"], "signature": "" }),
        json!({ "protected": "", "signature": good["signature"] }),
        json!({ "protected": 1, "signature": good["signature"] }),
        json!({ "protected": URL_SAFE_NO_PAD.encode(r#"{"alg":"ES256","alg":"none"}"#), "signature": good["signature"] }),
        json!({ "protected": "!", "signature": good["signature"] }),
        json!("x"),
    ] {
        assert!(with(wrong.clone()).is_err(), "{wrong}");
    }
    let mut many = hybrid();
    many["signatures"] = Value::Array(vec![good.clone(); MAX_SIGNATURES + 1]);
    assert_eq!(check(&many, &keys), Err(Unsigned::TooMany));
    let twice = signed(&key).to_string().replacen("{", r#"{"name":"evil","#, 1);
    assert!(matches!(verify(twice.as_bytes(), &keys, false), Err(Unsigned::Card(_))), "a member twice");
    assert!(matches!(verify(b"[]", &keys, false), Err(Unsigned::Card(_))));
}

#[test]
fn a_right_signature_beside_wrong_ones_is_enough_as_when_keys_change() {
    let [old, new] = keys();
    let mut card = signed(&old);
    sign(&mut card, &new, None);
    for key in [&old, &new] {
        assert_eq!(check(&card, &trusted(key)).unwrap().kid, key.kid());
    }
    let set = json!({ "keys": [old.public(), { "kty": "oct", "k": "AA" }, new.public()] });
    assert!(check(&card, &KeySet::parse(&set.to_string()).unwrap()).is_ok());
}

#[test]
fn a_signature_over_the_members_of_1_0_alone_does_not_cover_a_hybrid_card() {
    let key = SigningKey::generate(Algorithm::EdDsa).unwrap();
    let (mut card, keys) = (signed(&key), trusted(&key));
    let all = card["signatures"].as_array_mut().unwrap();
    all.remove(0);
    assert!(check(&card, &keys).is_err(), "clients of 0.3 would believe its url");
    for name in ["url", "protocolVersion"] {
        card.as_object_mut().unwrap().remove(name);
    }
    card["securitySchemes"]["bearer"].as_object_mut().unwrap().remove("type");
    assert_eq!(check(&card, &keys).unwrap().form, Form::Specified);
    card["signatures"].as_array_mut().unwrap().remove(0);
    assert_eq!(check(&card, &keys).unwrap().form, Form::Sdk);
    assert!(verify(card.to_string().as_bytes(), &keys, true).is_err(), "unless only the specified form will do");
}

proptest! {
    #[test]
    fn no_bytes_make_verification_panic_or_succeed(text in "\\PC{0,200}", protected in "[A-Za-z0-9_-]{0,60}") {
        let key = SigningKey::parse(r#"{"kty":"OKP","crv":"Ed25519","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#).unwrap();
        let keys = trusted(&key);
        prop_assert!(verify(text.as_bytes(), &keys, false).is_err());
        let mut card = hybrid();
        card["signatures"] = json!([{ "protected": protected, "signature": text }]);
        prop_assert!(check(&card, &keys).is_err());
    }
}
