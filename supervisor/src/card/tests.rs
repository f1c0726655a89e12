use super::*;
use crate::admission::Grant;
use hyper::header::HOST;
use musegate_protocol::bounded::Label;
use musegate_protocol::message::{JobLimits, Layer, Layers, Report};
use serde_json::Value;
use std::path::Path;

const SETTINGS: &str = "[agent]\nname = \"Muse at home\"\norganization = \"Us\"\norganization_url = \"https://us.example\"\n\
    [skills.review]\ndescription = \"reviews code\"\ntags = [\"code\"]\n[skills.write]\ndescription = \"writes\"\n";
const ABILITIES: Abilities = Abilities { streaming: true, push: false, extensions: &[("urn:x:1", "an extension")] };

fn cards(more: &str) -> Cards {
    let config = Config::parse(Path::new("/x/supervisor.toml"), &format!("{SETTINGS}{more}")).unwrap();
    Cards::new(&config, &["127.0.0.1:8181".parse().unwrap()], ABILITIES, None)
}

fn get(cards: &Cards, legacy: bool, headers: &[(HeaderName, &str)], reader: Reader) -> (StatusCode, HeaderMap, Value) {
    let headers: HeaderMap =
        headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap())).collect();
    let host = headers.get(HOST).map_or("127.0.0.1:8181", |host| host.to_str().unwrap()).to_owned();
    let (parts, body) = cards.well_known(legacy, &headers, None, &host, reader).unwrap().into_parts();
    let Body::Full(bytes) = body else { panic!("a stream") };
    let value = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap() };
    (parts.status, parts.headers, value)
}

fn no_null(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(all) => all.iter().all(no_null),
        Value::Object(all) => all.values().all(no_null),
        _ => true,
    }
}

#[test]
fn a_strict_card_has_the_fields_of_1_0_and_no_others() {
    let (_, _, card) = get(&cards(""), false, &[(A2A_VERSION, "1.0")], Reader::Known);
    let known = [
        "name",
        "description",
        "version",
        "documentationUrl",
        "iconUrl",
        "provider",
        "supportedInterfaces",
        "capabilities",
        "securitySchemes",
        "securityRequirements",
        "defaultInputModes",
        "defaultOutputModes",
        "skills",
        "signatures",
    ];
    assert!(card.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())), "{card}");
    let interface = &card["supportedInterfaces"][0];
    assert_eq!(
        (&interface["url"], &interface["protocolBinding"]),
        (&"http://127.0.0.1:8181/a2a".into(), &"JSONRPC".into())
    );
    assert_eq!(interface["protocolVersion"], "1.0");
    assert_eq!(card["securitySchemes"]["bearer"]["httpAuthSecurityScheme"]["scheme"], "Bearer");
    assert!(card["securitySchemes"]["bearer"].get("type").is_none());
    assert_eq!(card["capabilities"]["streaming"], true);
    assert_eq!(card["capabilities"]["pushNotifications"], false);
    assert_eq!(card["capabilities"]["extensions"][0]["uri"], "urn:x:1");
}

#[test]
fn a_hybrid_card_has_both_spellings_in_one_entry_and_both_sets_of_fields() {
    let (_, _, card) = get(&cards(""), false, &[], Reader::Known);
    let scheme = &card["securitySchemes"]["bearer"];
    assert_eq!((&scheme["type"], &scheme["scheme"]), (&"http".into(), &"bearer".into()));
    assert_eq!(scheme["httpAuthSecurityScheme"]["scheme"], "Bearer");
    for field in
        ["url", "preferredTransport", "protocolVersion", "additionalInterfaces", "security", "supportedInterfaces"]
    {
        assert!(card.get(field).is_some(), "{field}");
    }
    let versions: Vec<_> =
        card["supportedInterfaces"].as_array().unwrap().iter().map(|i| i["protocolVersion"].clone()).collect();
    assert_eq!(versions, ["1.0", "1.0", "0.3"]);
    let bare =
        card["supportedInterfaces"].as_array().unwrap().iter().all(|i| i["url"].as_str().unwrap().starts_with("http"));
    assert!(bare, "no bare host:port, which makes a client throw the card away");
}

#[test]
fn a_legacy_card_is_0_3_with_what_spring_2025_looks_for() {
    let cards = cards("");
    for (legacy, headers) in [(true, vec![]), (false, vec![(A2A_VERSION, "0.3")])] {
        let (_, _, card) = get(&cards, legacy, &headers, Reader::Known);
        assert_eq!(card["protocolVersion"], "0.3.0");
        assert_eq!(card["authentication"]["schemes"][0], "bearer");
        assert!(card.get("supportedInterfaces").is_none());
        assert_eq!(card["url"], "http://127.0.0.1:8181/a2a");
    }
    let strict = cards.agent.card_form;
    assert_eq!(strict, CardForm::Hybrid);
}

#[test]
fn every_form_says_what_an_answer_is_and_holds_no_null() {
    let cards = cards("");
    for legacy in [false, true] {
        for version in ["1.0", "", "0.3"] {
            for reader in [Reader::Stranger, Reader::Known] {
                let (_, _, card) = get(&cards, legacy, &[(A2A_VERSION, version)], reader);
                assert!(card["description"].as_str().unwrap().contains("fresh, headless run"));
                assert!(no_null(&card));
            }
        }
    }
}

#[test]
fn a_stranger_sees_what_the_setting_says() {
    let skills = |card: &Value| card["skills"].as_array().unwrap().iter().map(|s| s["id"].clone()).collect::<Vec<_>>();
    let minimal = cards("");
    let (_, headers, card) = get(&minimal, false, &[], Reader::Stranger);
    assert_eq!((skills(&card), card.get("provider")), (vec!["general".into()], None));
    assert!(headers[CACHE_CONTROL].to_str().unwrap().starts_with("public"));
    let (_, headers, card) = get(&minimal, false, &[], Reader::Known);
    assert_eq!(skills(&card), ["review", "write"]);
    assert!(headers[CACHE_CONTROL].to_str().unwrap().starts_with("private"));
    let (_, headers, card) = get(&minimal, false, &[], Reader::Known);
    assert!(headers[VARY].to_str().unwrap().contains("Authorization") && card["provider"]["organization"] == "Us");
    let config = Config::parse(Path::new("/x/s.toml"), "[agent]\ncard = \"authenticated\"\n").unwrap();
    let closed = Cards::new(&config, &[], ABILITIES, None);
    let refused = closed.well_known(false, &HeaderMap::new(), None, "", Reader::Stranger).unwrap_err();
    assert_eq!(refused, Refusal::Unauthenticated);
    let config =
        Config::parse(Path::new("/x/s.toml"), &SETTINGS.replace("[agent]\n", "[agent]\ncard = \"public\"\n")).unwrap();
    let open = Cards::new(&config, &["127.0.0.1:1".parse().unwrap()], ABILITIES, None);
    assert_eq!(skills(&get(&open, false, &[], Reader::Stranger).2), ["review", "write"]);
}

#[test]
fn the_query_names_an_edition_as_the_header_does_which_counts_first() {
    let cards = cards("");
    let form = |header: Option<&'static str>, query: Option<&str>| {
        let headers = header.map(|value| (A2A_VERSION, HeaderValue::from_static(value))).into_iter().collect();
        cards.form(&headers, query)
    };
    for (header, query, wanted) in [
        (None, None, Form::Hybrid),
        (None, Some("A2A-Version=1.0"), Form::Strict),
        (None, Some("x=1&a2a-version=0.3"), Form::Legacy),
        (None, Some("A2A-Version="), Form::Hybrid),
        (Some(""), Some("A2A-Version=1.0"), Form::Strict),
        (Some("1.0"), Some("A2A-Version=0.3"), Form::Strict),
        (Some("0.3"), None, Form::Legacy),
    ] {
        assert_eq!(form(header, query), wanted, "{header:?} {query:?}");
    }
}

#[test]
fn the_url_is_one_of_ours_whatever_host_says() {
    let url = |cards: &Cards, host: &str| get(cards, false, &[(HOST, host)], Reader::Stranger).2["url"].clone();
    let local = cards("");
    assert_eq!(url(&local, "localhost:8181"), "http://localhost:8181/a2a");
    assert_eq!(url(&local, "127.0.0.1:8181"), "http://127.0.0.1:8181/a2a");
    assert_eq!(url(&local, "evil.example"), "http://127.0.0.1:8181/a2a");
    let public = cards("[listen]\npublic_urls = [\"https://a.example/muse\", \"http://b.example:81\"]\n");
    assert_eq!(url(&public, "b.example:81"), "http://b.example:81/a2a");
    assert_eq!(url(&public, "localhost:8181"), "https://a.example/muse/a2a");
}

#[test]
fn a_card_that_the_client_has_is_not_sent_again() {
    let cards = cards("");
    let (status, headers, _) = get(&cards, false, &[], Reader::Stranger);
    assert_eq!(status, StatusCode::OK);
    let (tag, date) = (headers[ETAG].to_str().unwrap().to_owned(), headers[LAST_MODIFIED].to_str().unwrap().to_owned());
    for (name, value) in [
        (IF_NONE_MATCH, tag.clone()),
        (IF_NONE_MATCH, format!("\"x\", W/{tag}")),
        (IF_NONE_MATCH, "*".to_owned()),
        (IF_MODIFIED_SINCE, date),
    ] {
        let (status, headers, body) = get(&cards, false, &[(name, &value)], Reader::Stranger);
        assert_eq!((status, body), (StatusCode::NOT_MODIFIED, Value::Null), "{value}");
        assert_eq!(headers[ETAG].to_str().unwrap(), tag);
    }
    let (status, ..) = get(&cards, false, &[(IF_NONE_MATCH, &tag)], Reader::Known);
    assert_eq!(status, StatusCode::OK, "another reader, another card");
}

#[test]
fn the_extended_card_shows_a_callers_skills_and_what_is_enforced() {
    let cards = cards("");
    let caller = Caller {
        name: Label::new("hermes").unwrap(),
        grant: Grant { skills: vec!["write".to_owned()], ..Grant::default() },
    };
    let holds = Layers::default().with(Layer::Seccomp);
    let report = Report { holds, lacks: Layers::default().with(Layer::Seatbelt), landlock_abi: 0 };
    let limits = JobLimits { wall_seconds: 60, output_bytes: 5, files: 0, file_bytes: 0 };
    let extended = |cards: &Cards| -> Value {
        serde_json::from_slice(&cards.extended(Form::Strict, "localhost:8181", &caller)).unwrap()
    };
    assert_eq!(extended(&cards)["capabilities"]["extensions"].as_array().unwrap().len(), 1, "the worker is away");
    let worker = Report { holds: Layers::default().with(Layer::LandlockFiles), ..Report::default() };
    let supervisor = Report { lacks: Layers::default().with(Layer::LandlockTcp), ..Report::default() };
    cards.set_enforced(Some(Enforced { report, worker, supervisor, limits, slots: 1, backend: "muse".to_owned() }));
    let card = extended(&cards);
    let enforcement = &card["capabilities"]["extensions"][1]["params"];
    assert_eq!((&enforcement["holds"][0], &enforcement["lacks"][0]), (&"seccomp".into(), &"seatbelt".into()));
    assert_eq!(enforcement["worker"]["holds"][0], "landlock-files");
    assert_eq!(enforcement["supervisor"]["lacks"][0], "landlock-tcp");
    assert_eq!(card["skills"].as_array().unwrap().len(), 1);
    assert_eq!(card["skills"][0]["id"], "write");
    assert!(no_null(&card));
}

#[test]
fn dates_of_headers_are_dates_of_http() {
    assert_eq!(http_date(Duration::from_secs(784_111_777)), "Sun, 06 Nov 1994 08:49:37 GMT");
    assert_eq!(http_date(Duration::from_secs(0)), "Thu, 01 Jan 1970 00:00:00 GMT");
}

#[test]
fn a_signed_card_verifies_in_every_form_and_says_where_the_key_is() {
    use jws::{Algorithm, KeySet, SigningKey};
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("card.jwk");
    let settings = "[agent]\ncard_key_file = \"card.jwk\"\ncard_keys_url = \"https://us.example/jwks.json\"\n\
        description = \"M\u{fc}se\"\n";
    let config = Config::parse(&folder.path().join("supervisor.toml"), settings).unwrap();
    assert!(Signer::open(&config.agent).unwrap_err().to_string().contains("card.jwk"), "no such file");
    for algorithm in [Algorithm::Es256, Algorithm::EdDsa] {
        let key = SigningKey::generate(algorithm).unwrap();
        std::fs::write(&file, key.private().as_str()).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(Signer::open(&config.agent).unwrap_err().to_string().contains("chmod"), "others can read it");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let signer = Signer::open(&config.agent).unwrap();
        let cards = Cards::new(&config, &["127.0.0.1:1".parse().unwrap()], ABILITIES, signer);
        let keys = KeySet::parse(&key.public().to_string()).unwrap();
        let mut all: Vec<Vec<u8>> = cards.ready.iter().map(|card| card.body.to_vec()).collect();
        let caller = Caller { name: Label::new("ann").unwrap(), grant: Grant::default() };
        all.extend([Form::Strict, Form::Legacy].map(|form| cards.extended(form, "", &caller).to_vec()));
        assert_eq!(all.len(), Form::ALL.len() * 2 * 2 + 2);
        for card in all {
            let verified = jws::verify(&card, &keys, true).unwrap();
            assert_eq!(verified.kid, key.kid());
            let altered = String::from_utf8(card).unwrap().replace("Muse", "Fuse");
            assert!(jws::verify(altered.as_bytes(), &keys, false).is_err());
        }
    }
    std::fs::write(&file, "{}").unwrap();
    assert!(Signer::open(&config.agent).unwrap_err().to_string().contains("must be of kty"));
}
