//! Every member of every request, with its type: what is of another type, or missing, is named in the error.

use crate::answers::body;
use crate::hostile::ask;
use crate::kinds::{Is, requests};
use musegate_supervisor::refusal::Refusal;
use proptest::prelude::*;
use serde_json::{Value, json};

fn wrong_values() -> Vec<Value> {
    let numbers = ["-1", "0.5", "1e300", "-1e300", "2147483648", "99999999999999999999999"];
    let mut values: Vec<Value> = numbers.iter().map(|number| serde_json::from_str(number).unwrap()).collect();
    values.extend([
        json!(true),
        json!(false),
        json!("\u{1}x"),
        json!(""),
        json!([]),
        json!([[]]),
        json!({}),
        json!({"a": 1}),
    ]);
    values
}

/// `/message/parts/0/text` is `message.parts[0].text`.
fn dotted(pointer: &str) -> String {
    let mut name = String::new();
    for step in pointer.split('/').skip(1) {
        match step.parse::<usize>() {
            Ok(index) => name.push_str(&format!("[{index}]")),
            Err(_) if name.is_empty() => name.push_str(step),
            Err(_) => name.push_str(&format!(".{step}")),
        }
    }
    name
}

#[test]
fn a_valid_request_of_every_kind_is_read() {
    for request in requests() {
        let read = ask(&request.route, request.version, request.body.to_string().as_bytes());
        assert!(read.is_ok(), "{:?}", read.unwrap_err().refusal);
    }
}

#[test]
fn every_member_of_a_wrong_type_is_named_in_the_error() {
    let mut tried = 0;
    for request in requests() {
        for (member, is) in &request.members {
            for wrong in wrong_values().into_iter().filter(|value| !is.fits(value)) {
                let mut body = request.body.clone();
                *body.pointer_mut(&format!("{}{member}", request.at)).unwrap_or_else(|| panic!("{member}")) =
                    wrong.clone();
                let rejection = ask(&request.route, request.version, body.to_string().as_bytes()).err();
                let refusal = rejection.unwrap_or_else(|| panic!("{member} = {wrong} was read")).refusal;
                let Refusal::InvalidParams { field, .. } = refusal else { panic!("{member} = {wrong}: {refusal}") };
                assert_eq!(field, dotted(member), "{wrong}");
                tried += 1;
            }
        }
    }
    assert!(tried > 3000, "{tried}");
}

#[test]
fn a_wrong_element_of_a_list_of_words_is_named_with_its_place() {
    for request in requests() {
        for (member, _) in request.members.iter().filter(|(_, is)| *is == Is::Words) {
            for wrong in [json!(1), json!({}), json!([]), json!(null), json!(true)] {
                let mut body = request.body.clone();
                *body.pointer_mut(&format!("{}{member}", request.at)).unwrap() = json!(["a", wrong]);
                let refusal = ask(&request.route, request.version, body.to_string().as_bytes()).unwrap_err().refusal;
                let Refusal::InvalidParams { field, .. } = refusal else { panic!("{member}: {refusal}") };
                assert_eq!(field, format!("{}[1]", dotted(member)));
            }
        }
    }
}

#[test]
fn every_required_member_is_missed_by_name() {
    for (request, missing) in [
        (0, "/message"),
        (0, "/message/messageId"),
        (0, "/message/role"),
        (0, "/message/parts"),
        (0, "/message/parts/0/text"),
        (0, "/configuration/taskPushNotificationConfig/url"),
        (0, "/configuration/taskPushNotificationConfig/authentication/scheme"),
        (4, "/id"),
        (6, "/id"),
        (8, "/taskId"),
        (8, "/url"),
        (9, "/taskId"),
        (9, "/id"),
        (12, "/message"),
        (12, "/message/messageId"),
        (12, "/message/role"),
        (12, "/message/parts/0/text"),
        (12, "/message/parts/1/file"),
        (12, "/message/parts/1/file/bytes"),
        (20, "/message"),
        (20, "/message/content/0/text"),
        (22, "/id"),
        (22, "/message"),
        (22, "/message/role"),
        (22, "/message/parts"),
    ] {
        for gone in [true, false] {
            let request = &requests()[request];
            let mut body = request.body.clone();
            let pointer = format!("{}{missing}", request.at);
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            let parent = body.pointer_mut(parent).unwrap().as_object_mut().unwrap();
            if gone {
                drop(parent.remove(name))
            } else {
                parent[name] = Value::Null
            }
            let refusal = ask(&request.route, request.version, body.to_string().as_bytes()).unwrap_err().refusal;
            let Refusal::InvalidParams { field, what } = refusal else { panic!("{missing}: {refusal}") };
            assert_eq!(field, dotted(missing));
            assert!(what.contains("required") || what.contains("at least one"), "{what}");
        }
    }
}

proptest! {
    /// A valid request with one byte changed is read, or refused with a complete answer.
    #[test]
    fn one_wrong_byte_does_no_harm(which in 0_usize..27, at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let request = &requests()[which];
        let mut bytes = request.body.to_string().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Err(rejection) = ask(&request.route, request.version, &bytes) {
            let answer = self::body(&rejection.reply.refusal(&rejection.refusal));
            prop_assert!(answer.get("error").is_some());
        }
    }
}
