//! The walk, over real sockets on both sides.

use super::house::{House, Seen, answer, message, rpc, say, sentence, state};
use crate::link::hand::{soon, until};
use musegate_protocol::Text;
use musegate_protocol::message::{CancelReason, End, FailureKind, FromWorker, Progress, Role, ToWorker};
use serde_json::{Value, json};

#[tokio::test]
async fn a_message_becomes_a_job_and_its_answer_one_artifact() {
    let (house, mut hand) = House::with_worker("", "").await;
    let asked = house.ask("ann", say("SendMessage", "m1", "hello\u{202e}")).await;
    let start = hand.answer("hi there").await;
    let (status, reply) = soon(asked).await.unwrap();
    let task = &reply["result"]["task"];
    assert_eq!((status, state(task), answer(task)), (200, "TASK_STATE_COMPLETED", "hi there"), "{reply}");
    assert_eq!(task["status"].get("message"), None);
    assert_eq!((&*start.caller, &*start.message), ("ann", "m1"));
    assert_eq!(&*start.task, task["id"].as_str().unwrap());
    assert_eq!(task["history"][0]["parts"][0]["text"], "hello");
    let ours = &task["metadata"]["musegate"];
    assert_eq!(ours["sanitized"]["bidi-hard"], 1);
    assert_eq!(ours["trace"].as_str().unwrap().len(), 32);
    until(|| house.records().len() == 1).await;
    let record = &house.records()[0];
    assert_eq!((&record["verdict"], &record["http"], &record["task"]), (&json!("completed"), &json!(200), &task["id"]));
    assert_eq!(record["trace"], ours["trace"]);
}

#[tokio::test]
async fn a_stream_hears_progress_then_one_artifact_then_the_end() {
    let (house, mut hand) = House::with_worker("", "").await;
    let mut stream = house.client("ann").await.stream(say("SendStreamingMessage", "m1", "go"), &[]).await;
    let start = hand.accept().await;
    let tool = Progress::ToolStarted { name: Text::cut("ba\u{202e}sh") };
    hand.say(&FromWorker::Progress { job: start.job, event: tool }).await;
    hand.output(start.job, "one ").await;
    hand.output(start.job, "two").await;
    hand.finish(start.job, End::Completed).await;
    let all = stream.rest().await;
    let words: Vec<String> = all.iter().map(|seen| seen.word()).collect();
    assert_eq!(
        words,
        ["task SUBMITTED", "status WORKING", "status WORKING", "artifact last one two", "status COMPLETED"]
    );
    let progress = &all[2].data["result"]["statusUpdate"];
    assert_eq!(sentence(progress), "tool started: bash");
    assert!(all.iter().all(|seen| !seen.id.is_empty()));
}

#[tokio::test]
async fn in_pieces_text_comes_at_once_and_every_cursor_resumes_without_gap_or_repeat() {
    let (house, mut hand) = House::with_worker("", "").await;
    let raw = [("a2a-extensions", "urn:musegate:chunks:raw")];
    let mut stream = house.client("ann").await.stream(say("SendStreamingMessage", "m1", "go"), &raw).await;
    let start = hand.accept().await;
    let mut all = Vec::new();
    for piece in ["one ", "two ", "three"] {
        hand.output(start.job, piece).await;
        loop {
            let seen = stream.next().await.unwrap();
            let word = seen.word();
            all.push(seen);
            if word.ends_with(piece) {
                break;
            }
        }
    }
    hand.finish(start.job, End::Completed).await;
    all.extend(stream.rest().await);
    let words: Vec<String> = all.iter().map(|seen| seen.word()).collect();
    let expected = [
        "task SUBMITTED",
        "status WORKING",
        "artifact one ",
        "append two ",
        "append three",
        "append last ",
        "status COMPLETED",
    ];
    assert_eq!(words, expected);
    let id = all[0].data["result"]["task"]["id"].clone();
    for (at, seen) in all.iter().enumerate() {
        let headers = [raw[0], ("last-event-id", seen.id.as_str())];
        let body = rpc("SubscribeToTask", json!({ "id": id }));
        let rest = house.client("ann").await.stream(body, &headers).await.rest().await;
        assert_eq!(gist(&rest), gist(&all[at + 1..]), "after {}", seen.id);
    }
}

/// What is said in all: text may be cut otherwise.
fn gist(all: &[Seen]) -> String {
    let words =
        all.iter().map(|seen| match seen.data["result"]["artifactUpdate"]["artifact"]["parts"][0]["text"].as_str() {
            Some(text) => text.to_owned(),
            None => format!("|{}|", seen.word()),
        });
    words.collect()
}

#[tokio::test]
async fn the_same_message_again_attaches_and_another_under_its_id_is_refused() {
    let (house, mut hand) = House::with_worker("", "").await;
    let first = house.ask("ann", say("SendMessage", "m1", "go")).await;
    let start = hand.accept().await;
    let second = house.ask("ann", say("SendMessage", "m1", "go")).await;
    let mut client = house.client("ann").await;
    let other = client.rpc(say("SendMessage", "m1", "something else")).await.1;
    assert_eq!(other["error"]["code"], -32602);
    hand.output(start.job, "done").await;
    hand.finish(start.job, End::Completed).await;
    let (first, second) = (soon(first).await.unwrap().1, soon(second).await.unwrap().1);
    assert_eq!(first["result"]["task"]["id"], second["result"]["task"]["id"]);
    assert_eq!(answer(&second["result"]["task"]), "done");
    // Another caller's message of the same id is another message, and takes the free slot.
    let bob = house.ask("bob", say("SendMessage", "m1", "go")).await;
    hand.answer("bob's").await;
    assert_eq!(answer(&soon(bob).await.unwrap().1["result"]["task"]), "bob's");
    let verdicts: Vec<Value> = house.records().iter().map(|record| record["verdict"].clone()).collect();
    assert_eq!(verdicts, ["refused", "completed", "repeated", "completed"]);
}

#[tokio::test]
async fn a_second_job_is_told_busy_and_an_absent_worker_is_said() {
    let house = House::new("", "").await;
    let mut client = house.client("ann").await;
    let (status, reply) = client.rpc(say("SendMessage", "m0", "go")).await;
    assert_eq!((status, &reply["error"]["data"][0]["reason"]), (503, &json!("WORKER_AWAY")));
    let mut hand = house.worker().await;
    let first = house.ask("ann", say("SendMessage", "m1", "go")).await;
    let start = hand.accept().await;
    let (status, reply) = client.rpc(say("SendMessage", "m2", "go")).await;
    assert_eq!((status, &reply["error"]["data"][0]["reason"]), (503, &json!("BUSY")));
    hand.finish(start.job, End::Completed).await;
    soon(first).await.unwrap();
    let again = house.ask("ann", say("SendMessage", "m2", "go")).await;
    hand.answer("now").await;
    assert_eq!(answer(&soon(again).await.unwrap().1["result"]["task"]), "now", "a busy message may come again");
}

#[tokio::test]
async fn who_waits_for_a_slot_has_a_submitted_task_that_can_be_canceled() {
    let grant = "busy = \"wait\"\nwait_time = \"60s\"\nwait_depth = 2";
    let (house, mut hand) = House::with_worker(grant, "").await;
    let first = house.ask("ann", say("SendMessage", "m1", "go")).await;
    let start = hand.accept().await;
    let waiting = house.ask("ann", say("SendMessage", "m2", "go")).await;
    let dropped = house.ask("ann", say("SendMessage", "m3", "go")).await;
    let mut client = house.client("ann").await;
    let submitted = json!({ "status": "TASK_STATE_SUBMITTED" });
    let mut listed = Value::Null;
    for _ in 0..1000 {
        listed = client.call("ListTasks", submitted.clone()).await["result"].clone();
        if listed["totalSize"] == 2 {
            break;
        }
        tokio::task::yield_now().await;
    }
    let full = client.rpc(say("SendMessage", "m4", "go")).await;
    assert_eq!((full.0, &listed["totalSize"]), (503, &json!(2)));
    let third =
        listed["tasks"].as_array().unwrap().iter().find(|task| task["history"][0]["messageId"] == "m3").unwrap();
    let canceled = client.call("CancelTask", json!({ "id": third["id"] })).await;
    assert_eq!(state(&canceled["result"]), "TASK_STATE_CANCELED");
    assert_eq!(state(&soon(dropped).await.unwrap().1["result"]["task"]), "TASK_STATE_CANCELED");
    hand.finish(start.job, End::Completed).await;
    soon(first).await.unwrap();
    let start = hand.answer("second").await;
    assert_eq!(&*start.message, "m2", "the canceled one never reached the worker");
    assert_eq!(answer(&soon(waiting).await.unwrap().1["result"]["task"]), "second");
}

#[tokio::test]
async fn a_task_of_another_caller_does_not_exist() {
    let (house, mut hand) = House::with_worker("", "").await;
    let asked = house.ask("ann", say("SendMessage", "m1", "secret")).await;
    hand.answer("answer").await;
    let task = soon(asked).await.unwrap().1["result"]["task"].clone();
    let mut bob = house.client("bob").await;
    let missing = bob.call("GetTask", json!({ "id": "no-such-task" })).await;
    for (method, params) in [
        ("GetTask", json!({ "id": task["id"] })),
        ("CancelTask", json!({ "id": task["id"] })),
        ("SendMessage", message("b1", "x", json!({ "taskId": task["id"] }), json!({}))),
    ] {
        let reply = bob.call(method, params).await;
        assert_eq!(reply["error"], missing["error"], "{method}");
    }
    assert_eq!(bob.call("ListTasks", json!({})).await["result"]["totalSize"], 0);
    let stream = bob.call("SubscribeToTask", json!({ "id": task["id"] }));
    drop(stream);
    assert_eq!(house.client("ann").await.call("ListTasks", json!({})).await["result"]["totalSize"], 1);
}

#[tokio::test]
async fn a_cancel_ends_the_job_and_answers_when_it_is_gone() {
    let (house, mut hand) = House::with_worker("", "").await;
    let asked = house.ask("ann", say("SendMessage", "m1", "go")).await;
    let start = hand.accept().await;
    let mut client = house.client("ann").await;
    let id = client.call("ListTasks", json!({})).await["result"]["tasks"][0]["id"].clone();
    let cancel = house.ask("ann", rpc("CancelTask", json!({ "id": id }))).await;
    assert_eq!(hand.hear().await, ToWorker::Cancel { job: start.job, reason: CancelReason::Caller });
    assert!(!cancel.is_finished());
    hand.finish(start.job, End::Cancelled { reason: CancelReason::Caller }).await;
    let task = soon(cancel).await.unwrap().1["result"].clone();
    assert_eq!((state(&task), sentence(&task)), ("TASK_STATE_CANCELED", "canceled as asked"));
    assert_eq!(state(&soon(asked).await.unwrap().1["result"]["task"]), "TASK_STATE_CANCELED");
    let again = client.call("CancelTask", json!({ "id": id })).await;
    assert_eq!(state(&again["result"]), "TASK_STATE_CANCELED", "a second cancel is no error");
    let more = client.call("SendMessage", message("m2", "x", json!({ "taskId": id }), json!({}))).await;
    assert_eq!(more["error"]["code"], -32004);
    let done = house.ask("ann", say("SendMessage", "m3", "go")).await;
    hand.answer("x").await;
    let id = soon(done).await.unwrap().1["result"]["task"]["id"].clone();
    let late = client.call("CancelTask", json!({ "id": id })).await;
    assert_eq!(late["error"]["code"], -32002);
}

#[tokio::test]
async fn a_lost_worker_fails_its_task_with_a_hint_and_the_stream_ends_well() {
    let (mut house, mut hand) = House::with_worker("", "").await;
    let mut stream = house.client("ann").await.stream(say("SendStreamingMessage", "m1", "go"), &[]).await;
    hand.accept().await;
    house.place.vanish();
    drop(hand);
    let all = stream.rest().await;
    let last = &all.last().unwrap().data["result"]["statusUpdate"];
    assert_eq!(state(last), "TASK_STATE_FAILED");
    assert!(sentence(last).starts_with("worker restarted"));
    let mut client = house.client("ann").await;
    let task = client.call("ListTasks", json!({})).await["result"]["tasks"][0].clone();
    assert_eq!(task["metadata"]["musegate"]["retryAfterSeconds"], 2);
    assert_eq!(client.rpc(say("SendMessage", "m2", "go")).await.0, 503);
    house.place.listen();
    let mut hand = house.worker().await;
    let asked = house.ask("ann", say("SendMessage", "m2", "go")).await;
    hand.answer("back").await;
    assert_eq!(answer(&soon(asked).await.unwrap().1["result"]["task"]), "back");
}

#[tokio::test]
async fn a_conversation_goes_on_with_roles_that_we_set() {
    let (house, mut hand) = House::with_worker("", "").await;
    let in_context =
        |id: &str, text: &str| rpc("SendMessage", message(id, text, json!({ "contextId": "c1" }), json!({})));
    for n in 0..8 {
        let asked = house.ask("ann", in_context(&format!("m{n}"), &format!("q{n}"))).await;
        let start = hand.answer(&format!("a{n}")).await;
        soon(asked).await.unwrap();
        let said: Vec<String> = start.turns.iter().map(|turn| format!("{:?} {}", turn.role, &*turn.text)).collect();
        let from = usize::try_from(n).unwrap().saturating_sub(6);
        let expected: Vec<String> = (from..usize::try_from(n).unwrap())
            .flat_map(|n| [format!("{:?} q{n}", Role::Caller), format!("{:?} a{n}", Role::Agent)])
            .collect();
        assert_eq!(said, expected);
    }
    let bob = house.ask("bob", in_context("m", "q")).await;
    assert!(hand.answer("x").await.turns.is_empty(), "another caller's conversation of the same name");
    soon(bob).await.unwrap();
}

#[tokio::test]
async fn a_question_waits_for_the_client_and_the_task_goes_on_with_its_history() {
    let (house, mut hand) = House::with_worker("history = false", "").await;
    let asked = house.ask("ann", say("SendMessage", "m1", "paint it")).await;
    hand.answer(r#"{"a2a":1,"state":"input-required","parts":[{"text":"which\u202e colour?"}]}"#).await;
    let task = soon(asked).await.unwrap().1["result"]["task"].clone();
    assert_eq!((state(&task), sentence(&task)), ("TASK_STATE_INPUT_REQUIRED", "which colour?"));
    assert_eq!(task.get("artifacts"), None);
    let other = json!({ "taskId": task["id"], "contextId": "another" });
    let mut client = house.client("ann").await;
    let wrong = client.call("SendMessage", message("m2", "red", other, json!({}))).await;
    assert_eq!(wrong["error"]["code"], -32602);
    let follow = rpc("SendMessage", message("m2", "red", json!({ "taskId": task["id"] }), json!({})));
    let asked = house.ask("ann", follow).await;
    let start = hand.accept().await;
    let said: Vec<&str> = start.turns.iter().map(|turn| &*turn.text).collect();
    assert_eq!(said, ["paint it", "which colour?"]);
    assert!(!asked.is_finished(), "a follow-up waits for its own turn");
    hand.output(start.job, "painted").await;
    hand.finish(start.job, End::Completed).await;
    let done = soon(asked).await.unwrap().1["result"]["task"].clone();
    assert_eq!((&done["id"], state(&done), answer(&done)), (&task["id"], "TASK_STATE_COMPLETED", "painted"));
    let texts: Vec<&str> =
        done["history"].as_array().unwrap().iter().map(|m| m["parts"][0]["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["paint it", "which colour?", "red"]);
}

#[tokio::test]
async fn a_missing_credential_of_the_agent_is_auth_required() {
    let (house, mut hand) = House::with_worker("", "").await;
    let asked = house.ask("ann", say("SendMessage", "m1", "go")).await;
    let start = hand.accept().await;
    let sentence_said = Text::cut("the agent has no key");
    hand.finish(start.job, End::Failed { kind: FailureKind::CredentialMissing, sentence: sentence_said }).await;
    let task = soon(asked).await.unwrap().1["result"]["task"].clone();
    assert_eq!((state(&task), sentence(&task)), ("TASK_STATE_AUTH_REQUIRED", "the agent has no key"));
    assert_eq!(task["metadata"]["musegate"]["failure"], "credential-missing");
}

#[tokio::test]
async fn a_structured_answer_becomes_parts_or_a_message_and_is_never_heard_in_pieces() {
    let (house, mut hand) = House::with_worker("", "").await;
    let raw = [("a2a-extensions", "urn:musegate:chunks:raw")];
    let mut stream = house.client("ann").await.stream(say("SendStreamingMessage", "m1", "go"), &raw).await;
    let start = hand.accept().await;
    hand.output(start.job, r#"{"a2a":1,"parts":[{"text":"hi"},"#).await;
    hand.output(start.job, r#"{"data":{"n":1}}]}"#).await;
    hand.finish(start.job, End::Completed).await;
    let all = stream.rest().await;
    let words: Vec<String> = all.iter().map(|seen| seen.word()).collect();
    assert_eq!(words, ["task SUBMITTED", "status WORKING", "artifact last hi", "status COMPLETED"]);
    assert_eq!(all[2].data["result"]["artifactUpdate"]["artifact"]["parts"][1]["data"], json!({ "n": 1 }));
    let asked = house.ask("ann", say("SendMessage", "m2", "go")).await;
    hand.answer(r#"{"a2a":1,"reply":"message","parts":[{"text":"direct"}]}"#).await;
    let reply = soon(asked).await.unwrap().1;
    assert_eq!(reply["result"]["message"]["parts"][0]["text"], "direct");
    assert_eq!(reply["result"]["message"]["role"], "ROLE_AGENT");
    let asked = house.ask("ann", say("SendMessage", "m3", "go")).await;
    hand.answer(r#"{"a2a":1,"state":"rejected","parts":[{"text":"not that"}]}"#).await;
    let task = soon(asked).await.unwrap().1["result"]["task"].clone();
    assert_eq!((state(&task), sentence(&task)), ("TASK_STATE_REJECTED", "not that"));
}

#[tokio::test]
async fn a_client_that_leaves_ends_nothing_unless_its_grant_says_so() {
    let (house, mut hand) = House::with_worker("", "").await;
    let mut stream = house.client("ann").await.stream(say("SendStreamingMessage", "m1", "go"), &[]).await;
    let start = hand.accept().await;
    stream.next().await.unwrap();
    drop(stream);
    hand.output(start.job, "kept").await;
    hand.finish(start.job, End::Completed).await;
    until(|| house.records().len() == 1).await;
    assert_eq!(house.records()[0]["verdict"], "completed");
    let grant = "on_leave = \"cancel\"\nleave_grace = \"0s\"";
    let (house, mut hand) = House::with_worker(grant, "").await;
    let blocking = house.ask("ann", say("SendMessage", "m1", "go")).await;
    let start = hand.accept().await;
    blocking.abort();
    assert_eq!(hand.hear().await, ToWorker::Cancel { job: start.job, reason: CancelReason::CallerLeft });
    hand.finish(start.job, End::Cancelled { reason: CancelReason::CallerLeft }).await;
    until(|| house.records().len() == 1).await;
    assert_eq!(
        (&house.records()[0]["verdict"], &house.records()[0]["reason"]),
        (&json!("canceled"), &json!("caller-left"))
    );
    let mut client = house.client("ann").await;
    let task = client.call("ListTasks", json!({})).await["result"]["tasks"][0].clone();
    assert!(sentence(&task).contains("client left"), "{task}");
}

#[tokio::test]
async fn a_silent_stream_is_kept_alive_by_a_comment_with_one_line_end() {
    let (house, mut hand) = House::with_worker("", "").await;
    let mut stream = house.client("ann").await.stream(say("SendStreamingMessage", "m1", "go"), &[]).await;
    let start = hand.accept().await;
    let since = std::time::Instant::now();
    let text = stream.bytes_until(": ka\n").await;
    assert!(since.elapsed() < std::time::Duration::from_secs(5));
    assert!(text.ends_with("\n\n: ka\n"), "{text:?}");
    hand.finish(start.job, End::Completed).await;
}

#[tokio::test]
async fn files_of_a_job_follow_the_answer_as_artifacts() {
    let (house, mut hand) = House::with_worker("files = 2\nfile_types = [\"text/csv\"]", "").await;
    let asked = house.ask("ann", say("SendMessage", "m1", "go")).await;
    let start = hand.accept().await;
    for (name, last) in [("a.csv", false), ("a.csv", true), ("b.png", true)] {
        let name = musegate_protocol::message::FileName::new(name).unwrap();
        let bytes = musegate_protocol::Blob::new(vec![b'x'; 3]).unwrap();
        hand.say(&FromWorker::File { job: start.job, name, bytes, last }).await;
    }
    hand.output(start.job, "see file").await;
    hand.finish(start.job, End::Completed).await;
    let task = soon(asked).await.unwrap().1["result"]["task"].clone();
    assert_eq!(task["artifacts"].as_array().unwrap().len(), 2, "{task}");
    assert_eq!(
        task["artifacts"][1]["parts"][0],
        json!({ "raw": "eHh4eHh4", "filename": "a.csv", "mediaType": "text/csv" })
    );
}

#[tokio::test]
async fn a_skill_s_schemas_hold_for_what_goes_in_and_for_what_comes_out() {
    let settings = r#"
[skills.sum]
description = "adds"
input_schema = '{"type":"object","properties":{"n":{"type":"array"}},"required":["n"]}'
output_schema = '{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}'
"#;
    let (house, mut hand) = House::with_worker("", settings).await;
    let ask =
        |id: &str, data: Value| rpc("SendMessage", message(id, "", json!({ "parts": [{ "data": data }] }), json!({})));
    let mut client = house.client("ann").await;
    let wrong = client.rpc(ask("m0", json!({ "n": 1 }))).await.1;
    assert_eq!(wrong["error"]["code"], -32602);
    assert!(wrong.to_string().contains("/n: must be array"), "{wrong}");
    let asked = house.ask("ann", ask("m1", json!({ "n": [1, 2] }))).await;
    let start = hand.answer(" {\"sum\": 3}\n").await;
    assert!(start.output_schema.is_some() && !start.structured);
    let task = soon(asked).await.unwrap().1["result"]["task"].clone();
    assert_eq!(task["artifacts"][0]["parts"][0], json!({ "data": { "sum": 3 }, "mediaType": "application/json" }));
    for (id, text) in [("m2", r#"{"sum":"3"}"#), ("m3", "three"), ("m4", "")] {
        let asked = house.ask("ann", ask(id, json!({ "n": [] }))).await;
        hand.answer(text).await;
        let task = soon(asked).await.unwrap().1["result"]["task"].clone();
        assert_eq!(state(&task), "TASK_STATE_FAILED", "{task}");
        assert_eq!(task["metadata"]["musegate"]["failure"], "schema-violation");
        assert_eq!(task.get("artifacts"), None);
    }
}
