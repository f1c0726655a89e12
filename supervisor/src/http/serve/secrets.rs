//! Secrets and hidden characters in what a worker says.

use super::house::{House, answer, say, sentence};
use crate::link::hand::soon;
use musegate_protocol::bounded::{Label, List, Text};
use musegate_protocol::message::{End, FailureKind, FromWorker, Redaction};
use serde_json::json;

#[tokio::test]
async fn a_token_of_ours_never_leaves_whoever_says_it() {
    let (house, mut hand) = House::with_worker("", "").await;
    let token = crate::admission::token::generate().unwrap().to_string();
    let (head, tail) = token.split_at(17);
    let asked = house.ask("ann", say("SendMessage", "m1", "go")).await;
    let start = hand.accept().await;
    hand.output(start.job, &format!("it is {head}")).await;
    hand.output(start.job, &format!("{tail}.")).await;
    hand.finish(start.job, End::Completed).await;
    let task = soon(asked).await.unwrap().1["result"]["task"].clone();
    assert_eq!(answer(&task), "it is mgt_[redacted:musegate].");
    assert_eq!(task["metadata"]["musegate"]["redactions"]["musegate"], 1);
    let asked = house.ask("ann", say("SendMessage", "m2", "go")).await;
    let escaped = format!("\\u{:04x}{}", u32::from(token.as_bytes()[0]), token.get(1..).unwrap());
    hand.answer(&format!(r#"{{"a2a":1,"parts":[{{"text":"{escaped}"}},{{"data":{{"k":"{escaped}"}}}}]}}"#)).await;
    let reply = soon(asked).await.unwrap().1.to_string();
    assert!(!reply.contains(tail) && reply.contains("[redacted:musegate]"), "{reply}");
    let asked = house.ask("ann", say("SendMessage", "m3", "go")).await;
    let start = hand.accept().await;
    let sentence_said = Text::cut(&format!("cannot use {token}"));
    hand.finish(start.job, End::Failed { kind: FailureKind::Other, sentence: sentence_said }).await;
    let task = soon(asked).await.unwrap().1["result"]["task"].clone();
    assert_eq!(sentence(&task), "cannot use mgt_[redacted:musegate]");
}

#[tokio::test]
async fn what_was_hidden_in_an_answer_is_counted_as_such() {
    let (house, mut hand) = House::with_worker("", "").await;
    let asked = house.ask("ann", say("SendMessage", "m1", "go")).await;
    let start = hand.accept().await;
    hand.output(start.job, "clean \u{202e}").await;
    let mut outcome = hand.outcome(start.job, End::Completed);
    let all = [("github", 2), ("hidden-zwsp", 3), ("hidden-bidi-hard", 4), ("hidden-nonsense", 5)];
    let all = all.map(|(kind, count)| Redaction { kind: Label::new(kind).unwrap(), count });
    outcome.redactions = List::new(all.into()).unwrap();
    hand.say(&FromWorker::Finished { job: start.job, outcome: Box::new(outcome) }).await;
    let task = soon(asked).await.unwrap().1["result"]["task"].clone();
    assert_eq!(answer(&task), "clean ");
    assert_eq!(task["metadata"]["musegate"]["redactions"], json!({ "github": 2 }));
    assert_eq!(task["metadata"]["musegate"]["sanitized"], json!({ "zwsp": 3, "bidi-hard": 5 }));
}
