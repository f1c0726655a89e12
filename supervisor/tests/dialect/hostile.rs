//! Requests that mean harm, or that are merely wrong: each gets an answer that says what is wrong, under the id that it
//! came with where it had a legal one.

use crate::answers::body;
use hyper::HeaderMap;
use musegate_supervisor::dialect::{Call, Rejection, decode};
use musegate_supervisor::http::router::{RestCall, Route, route};
use musegate_supervisor::refusal::Refusal;
use proptest::prelude::*;
use serde_json::{Value, json};

pub(crate) fn ask(route: &Route, version: &str, body: &[u8]) -> Result<Call, Rejection> {
    let mut headers = HeaderMap::new();
    headers.insert("a2a-version", version.parse().unwrap());
    headers.insert("content-type", "application/json".parse().unwrap());
    decode(route, &headers, None, body)
}

fn refused(body: impl AsRef<[u8]>) -> Value {
    let rejection = ask(&Route::Rpc, "1.0", body.as_ref()).expect_err("refused");
    self::body(&rejection.reply.refusal(&rejection.refusal))
}

const MESSAGE: &str = r#"{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}"#;

fn send_with(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"SendMessage","params":{{"message":{MESSAGE}}}}}"#)
}

#[test]
fn what_is_not_one_json_text_is_a_parse_error_without_an_id() {
    let request = send_with("1");
    for text in [
        "".to_owned(),
        " \n".to_owned(),
        "not json".to_owned(),
        format!("\u{feff}{request}"),
        format!("{request}{request}"),
        format!("{request} x"),
        format!("{request}\0"),
        request.strip_suffix('}').unwrap().to_owned(),
        request.replace(r#""x""#, r#""\ud800""#),
        request.replace(r#""x""#, r#""\udc00\ud800""#),
        request.replace(r#""x""#, "\"a\u{1}b\""),
        request.replace(r#""x""#, "1e400"),
        request.replace(r#""x""#, "-1e400"),
        request.replace(r#""x""#, &"9".repeat(400)),
        request.replace(r#""x""#, "NaN"),
        request.replace(r#""x""#, "'x'"),
        format!("/* hi */{request}"),
    ] {
        let answer = refused(&text);
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32700), &Value::Null), "{text}");
    }
    for bytes in [&b"\xff\xfe"[..], b"\xef\xbb\xbf", b"\"\xc0\x80\"", &[0; 100]] {
        assert_eq!(refused(bytes)["error"]["code"], -32700);
    }
}

#[test]
fn what_is_json_and_no_request_is_an_invalid_request() {
    let request = send_with("1");
    let deep = request.replace(r#""x""#, &format!("{}{}", "[".repeat(500), "]".repeat(500)));
    let many = request.replace(r#""x""#, &format!("[{}0]", "0,".repeat(200_000)));
    for (text, id, says) in [
        ("[]".to_owned(), Value::Null, "batches"),
        (format!("[{request}]"), Value::Null, "batches"),
        (format!("[{request},{request}]"), Value::Null, "batches"),
        ("1".to_owned(), Value::Null, "object"),
        ("\"x\"".to_owned(), Value::Null, "object"),
        ("null".to_owned(), Value::Null, "object"),
        ("{}".to_owned(), Value::Null, "id is required"),
        (request.replace(r#""id":1,"#, ""), Value::Null, "notifications"),
        (request.replace(r#""jsonrpc":"2.0","#, ""), json!(1), "jsonrpc"),
        (request.replace("\"2.0\"", "\"1.0\""), json!(1), "jsonrpc"),
        (request.replace("\"2.0\"", "2.0"), json!(1), "jsonrpc"),
        (request.replace("\"SendMessage\"", "7"), json!(1), "method"),
        (request.replace("\"SendMessage\"", "null"), json!(1), "method"),
        (request.replace(r#""method""#, r#""Method""#), json!(1), "method"),
        (request.replace(r#""id":1"#, r#""id":1,"id":1"#), Value::Null, "twice"),
        (request.replace(r#""text":"x""#, r#""text":"x","text":"x""#), Value::Null, "twice"),
        (request.replace(r#""text":"x""#, r#""text":"x","t\u0065xt":"y""#), Value::Null, "twice"),
        (deep, Value::Null, "deeper"),
        (many, Value::Null, "more than"),
    ] {
        let answer = refused(&text);
        let shown: String = text.chars().take(200).collect();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32600), &id), "{shown}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(says), "{answer}");
    }
}

#[test]
fn an_id_comes_back_byte_for_byte_whatever_its_legal_type() {
    for id in [
        "0",
        "-0",
        "1",
        "-7",
        "1.0",
        "1.50",
        "1e3",
        "1E+3",
        "123456789012345678901234567890",
        "\"\"",
        "\"a\"",
        "null",
        r#""\u0041\/\ud83d\ude00""#,
        "\"ไทย\"",
        "\" \"",
        r#""<script>""#,
        r#""\"\\""#,
    ] {
        let call = ask(&Route::Rpc, "1.0", send_with(id).as_bytes()).unwrap();
        assert_eq!(&*call.reply.id.0, id);
        let reply = call.reply.refusal(&Refusal::TaskNotFound);
        let text = String::from_utf8(reply.body.to_vec()).unwrap();
        assert!(text.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":"#)), "{text}");
    }
}

#[test]
fn an_id_of_another_type_is_refused_and_not_echoed() {
    let long = format!("\"{}\"", "x".repeat(600));
    for id in ["true", "false", "[]", "[1]", "{}", r#"{"a":1}"#, long.as_str()] {
        let answer = refused(send_with(id));
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32600), &Value::Null), "{id}");
    }
}

#[test]
fn parameters_by_position_are_no_parameters() {
    for params in ["[]", "[1]", "\"x\"", "1", "true"] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{params}}}"#);
        let answer = refused(&text);
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32602), &json!(1)), "{params}");
    }
}

#[test]
fn what_is_too_much_is_named() {
    let message = |member: &str, value: Value| {
        let mut message: Value = serde_json::from_str(MESSAGE).unwrap();
        message[member] = value;
        json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}})
    };
    let part = json!({"text": "x"});
    for (body, field) in [
        (message("messageId", json!("x".repeat(129))), "message.messageId"),
        (message("messageId", json!("a\u{7}b")), "message.messageId"),
        (message("contextId", json!("x".repeat(129))), "message.contextId"),
        (message("contextId", json!("a/b")), "message.contextId"),
        (message("contextId", json!("ไทย")), "message.contextId"),
        (message("parts", json!(vec![part; 65])), "message.parts"),
        (message("parts", json!([])), "message.parts"),
        (message("parts", json!([{"raw": "a"}])), "message.parts[0].raw"),
        (message("parts", json!([{"raw": "a b="}])), "message.parts[0].raw"),
        (message("parts", json!([{"url": "x".repeat(3000)}])), "message.parts[0].url"),
        (message("extensions", json!(vec!["u"; 33])), "message.extensions"),
        (message("metadata", json!({"x": "y".repeat(70_000)})), "message.metadata"),
        (message("context_id", json!("x")), ""),
    ] {
        let mut body = body;
        if field.is_empty() {
            body["params"]["message"]["contextId"] = json!("y");
        }
        let refusal = ask(&Route::Rpc, "1.0", body.to_string().as_bytes()).unwrap_err().refusal;
        let Refusal::InvalidParams { field: named, .. } = refusal else { panic!("{field}: {refusal}") };
        assert_eq!(named, if field.is_empty() { "message.contextId" } else { field });
    }
}

#[test]
fn a_task_id_that_cannot_be_ours_is_one_that_does_not_exist() {
    for id in ["a/b", "a b", "ไทย", "\u{202e}", &"x".repeat(129), &"x".repeat(100_000), "'; drop table", "../x"] {
        for method in ["GetTask", "CancelTask", "SubscribeToTask", "tasks/get", "tasks/cancel"] {
            let version = if method.contains('/') { "0.3" } else { "1.0" };
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"id": id}}).to_string();
            let refusal = ask(&Route::Rpc, version, body.as_bytes()).unwrap_err().refusal;
            assert_eq!(refusal, Refusal::TaskNotFound, "{method} {id}");
        }
        let rest =
            Route::Rest { version: musegate_supervisor::dialect::Version::V1, call: RestCall::Get(id.to_owned()) };
        assert_eq!(ask(&rest, "1.0", b"").unwrap_err().refusal, Refusal::TaskNotFound);
    }
}

#[test]
fn a_query_is_bounded_and_must_be_text() {
    let list = |query: &str| {
        let mut headers = HeaderMap::new();
        headers.insert("a2a-version", "1.0".parse().unwrap());
        decode(&route(&hyper::Method::GET, "/tasks").unwrap(), &headers, Some(query), b"").map_err(|no| no.refusal)
    };
    assert!(list("").is_ok() && list("&&").is_ok() && list("x").is_ok() && list("unknown=1").is_ok());
    for query in ["a=%", "a=%f", "a=%zz", "a=%ff", "%ff=a", &"a=1&".repeat(40), "a=1&a=2", "a=1&%61=2"] {
        assert!(matches!(list(query), Err(Refusal::BadRequest(_))), "{query}");
    }
    for (query, field) in [
        ("pageSize=x", "pageSize"),
        ("pageSize=-1", "pageSize"),
        ("status=working", "status"),
        ("contextId=a%20b", "contextId"),
        ("statusTimestampAfter=yesterday", "statusTimestampAfter"),
    ] {
        let Err(Refusal::InvalidParams { field: named, .. }) = list(query) else { panic!("{query}") };
        assert_eq!(named, field);
    }
}

proptest! {
    #[test]
    fn no_body_is_too_hostile(body in prop::collection::vec(any::<u8>(), 0..300), version in "[0-9.]{0,5}") {
        for path in ["/", "/message:send", "/v1/message:send", "/tasks/send", "/tasks/t:cancel"] {
            let mut headers = HeaderMap::new();
            headers.insert("a2a-version", version.parse().unwrap());
            if let Err(rejection) = decode(&route(&hyper::Method::POST, path).unwrap(), &headers, None, &body) {
                self::body(&rejection.reply.refusal(&rejection.refusal));
            }
        }
    }
}
