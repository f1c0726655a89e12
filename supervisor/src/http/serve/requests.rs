//! What a request may look like: its body's coding, and the dialect in which a message comes again.

use super::house::{House, answer, say};
use crate::link::hand::{soon, until};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use serde_json::{Value, json};

#[tokio::test]
async fn a_body_that_is_coded_is_refused_and_what_would_be_taken_is_said() {
    let (house, _hand) = House::with_worker("", "").await;
    let mut client = house.client("ann").await;
    let body = say("SendMessage", "m1", "go");
    let request = client.build(&body).header("content-encoding", "gzip").body(Full::from(body.to_string())).unwrap();
    let response = client.request(request).await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()["accept-encoding"]),
        (415, &"identity".parse().unwrap())
    );
    let bytes = soon(response.into_body().collect()).await.unwrap().to_bytes();
    let reply: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(
        (&reply["error"]["code"], &reply["error"]["data"][0]["reason"]),
        (&json!(-32600), &json!("CONTENT_CODING"))
    );
    until(|| house.records().len() == 1).await;
    assert_eq!(house.records()[0]["reason"], "content_coding");
    let plain = say("GetTask", "", "");
    let request =
        client.build(&plain).header("content-encoding", "identity").body(Full::from(plain.to_string())).unwrap();
    assert_eq!(client.request(request).await.status().as_u16(), 200);
}

#[tokio::test]
async fn a_message_may_come_again_in_another_dialect() {
    let (house, mut hand) = House::with_worker("", "").await;
    let first = house.ask("ann", say("SendMessage", "m1", "go")).await;
    hand.answer("done").await;
    let first = soon(first).await.unwrap().1;
    let mut client = house.client("ann").await;
    let old =
        json!({ "kind": "message", "messageId": "m1", "role": "user", "parts": [{ "kind": "text", "text": "go" }] });
    let mut ask = async |body: Value| {
        let mut request: Request<Full<Bytes>> = client.build(&body).body(Full::from(body.to_string())).unwrap();
        request.headers_mut().remove("a2a-version");
        let response = client.request(request).await;
        let bytes = soon(response.into_body().collect()).await.unwrap().to_bytes();
        serde_json::from_slice::<Value>(&bytes).unwrap()
    };
    let again = ask(json!({ "jsonrpc": "2.0", "id": 1, "method": "message/send", "params": { "message": old } })).await;
    assert_eq!(again["result"]["id"], first["result"]["task"]["id"], "{again}");
    assert_eq!(answer(&again["result"]), "done");
    let other = old.to_string().replace("\"go\"", "\"stay\"");
    let other: Value = serde_json::from_str(&other).unwrap();
    let other =
        ask(json!({ "jsonrpc": "2.0", "id": 1, "method": "message/send", "params": { "message": other } })).await;
    assert_eq!(other["error"]["code"], -32602);
}
