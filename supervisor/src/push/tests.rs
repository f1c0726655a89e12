//! Webhooks over a real socket to a pusher's end that the test drives by hand.

use crate::http::serve::house::{Client, House, message, rpc, say, state};
use crate::link::hand::{Hand, soon, until};
use bytes::BytesMut;
use musegate_protocol::Text;
use musegate_protocol::codec::PusherCodec;
use musegate_protocol::message::{End, FailureKind, FromWorker};
use musegate_protocol::push::{FromPusher, MediaType, Outcome, Post, ToPusher, VERSION};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::codec::{Decoder, Encoder};

const GRANT: &str = "push = true";
const ON: &str = "[push]\nenabled = true\nfirst_pause = \"10ms\"\nlongest_pause = \"1s\"\nattempts = 3\n";
const URL: &str = "https://hooks.example/in?key=hush-url";

/// The pusher's end.
struct Pusher {
    stream: UnixStream,
    codec: PusherCodec,
    input: BytesMut,
}

impl Pusher {
    async fn listen(house: &House) -> UnixListener {
        UnixListener::bind(house.folder.path().join("pusher.sock")).unwrap()
    }

    async fn accept(listener: &UnixListener) -> Self {
        let (stream, _) = soon(listener.accept()).await.unwrap();
        let mut pusher = Self { stream, codec: PusherCodec::default(), input: BytesMut::new() };
        pusher.say(FromPusher::Hello { version: VERSION, at_once: 8 }).await;
        pusher
    }

    async fn say(&mut self, said: FromPusher) {
        let mut bytes = BytesMut::new();
        self.codec.encode(&said, &mut bytes).unwrap();
        self.stream.write_all(&bytes).await.unwrap();
    }

    async fn next(&mut self) -> Post {
        soon(async {
            loop {
                if let Some(ToPusher::Post(post)) = self.codec.decode(&mut self.input).unwrap() {
                    return post;
                }
                assert_ne!(self.stream.read_buf(&mut self.input).await.unwrap(), 0, "closed");
            }
        })
        .await
    }

    async fn done(&mut self, post: &Post, status: u16) {
        self.say(FromPusher::Done { id: post.id, outcome: Outcome::Answered { status } }).await;
    }

    /// The next POST, which is taken.
    async fn take(&mut self) -> Post {
        let post = self.next().await;
        self.done(&post, 200).await;
        post
    }
}

fn json_of(post: &Post) -> Value {
    serde_json::from_slice(&post.body).unwrap()
}

/// What an event of 1.0 says, in a word.
fn word(post: &Post) -> String {
    let body = json_of(post);
    let of = |value: &Value| value["status"]["state"].as_str().unwrap_or_default().replace("TASK_STATE_", "");
    if body["task"].is_object() {
        return format!("task {}", of(&body["task"]));
    }
    if body["artifactUpdate"].is_object() {
        return format!("artifact {}", body["artifactUpdate"]["artifact"]["parts"][0]["text"].as_str().unwrap());
    }
    format!("status {}", of(&body["statusUpdate"]))
}

async fn house() -> (House, Hand, Pusher, UnixListener) {
    let (house, hand) = House::with_worker(GRANT, ON).await;
    let listener = Pusher::listen(&house).await;
    let pusher = Pusher::accept(&listener).await;
    (house, hand, pusher, listener)
}

/// A message that brings a webhook.
fn with_hook(id: &str, hook: &Value) -> Value {
    let configuration = json!({"returnImmediately": true, "taskPushNotificationConfig": hook});
    rpc("SendMessage", message(id, "go", json!({}), json!({"configuration": configuration})))
}

async fn create(client: &mut Client, task: &Value, url: &str) -> Value {
    client.call("CreateTaskPushNotificationConfig", json!({"taskId": task, "id": url, "url": url})).await
}

#[tokio::test]
async fn each_event_is_told_once_in_order_signed_with_the_client_s_token_and_credentials() {
    let (house, mut hand, mut pusher, _listener) = house().await;
    let hook =
        json!({"url": URL, "token": "hush-token", "authentication": {"scheme": "Bearer", "credentials": "hush-cred"}});
    let sent = house.client("ann").await.rpc(with_hook("m1", &hook)).await.1;
    let task = &sent["result"]["task"]["id"];
    let mut all = vec![pusher.take().await];
    let start = hand.accept().await;
    all.push(pusher.take().await);
    let tool = musegate_protocol::message::Progress::ToolStarted { name: Text::cut("bash") };
    hand.say(&FromWorker::Progress { job: start.job, event: tool }).await;
    hand.output(start.job, "an answer").await;
    hand.finish(start.job, End::Completed).await;
    all.push(pusher.take().await);
    all.push(pusher.take().await);
    let words: Vec<String> = all.iter().map(word).collect();
    assert_eq!(words, ["task SUBMITTED", "status WORKING", "artifact an answer", "status COMPLETED"]);
    let signer = house.serve.rooms.pushes.as_ref().unwrap().0.keys.of(&musegate_protocol::Label::new("ann").unwrap());
    let mut numbers = Vec::new();
    for post in &all {
        assert_eq!((&*post.url, post.media_type), (URL, MediaType::A2aJson));
        assert_eq!(
            (post.token.as_deref(), post.authorization.as_deref()),
            (Some("hush-token"), Some("Bearer hush-cred"))
        );
        assert_eq!(post.signature, signer.sign(&post.event, post.timestamp, &post.body));
        let (head, number) = post.event.split_once('-').unwrap();
        assert!(all[0].event.starts_with(head));
        numbers.push(number.parse::<u32>().unwrap());
        let body = json_of(post);
        let id = body
            .pointer("/task/id")
            .or(body.pointer("/statusUpdate/taskId"))
            .or(body.pointer("/artifactUpdate/taskId"));
        assert_eq!(id, Some(task));
    }
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    until(|| house.serve.rooms.pushes.as_ref().unwrap().live() == 0).await;
    let counts = house.serve.rooms.pushes.as_ref().unwrap().take_counts();
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), [("taken", 4)]);
    let audit = format!("{:?}", house.audit());
    assert!(!audit.contains("hush"), "{audit}");
}

#[tokio::test]
async fn before_1_0_a_whole_task_is_told_at_each_state() {
    let (house, mut hand, mut pusher, _listener) = house().await;
    let mut client = house.client("ann").await;
    let message =
        json!({"kind": "message", "messageId": "m1", "role": "user", "parts": [{"kind": "text", "text": "go"}]});
    let hook = json!({"url": URL, "token": "t"});
    let configuration = json!({"blocking": false, "pushNotificationConfig": hook});
    let body = rpc("message/send", json!({"message": message, "configuration": configuration}));
    client.old(&body).await;
    let mut all = vec![pusher.take().await];
    hand.answer("an answer").await;
    all.push(pusher.take().await);
    all.push(pusher.take().await);
    let states: Vec<Value> = all.iter().map(|post| json_of(post)["status"]["state"].clone()).collect();
    assert_eq!(states, ["submitted", "working", "completed"]);
    assert!(all.iter().all(|post| post.media_type == MediaType::Json && json_of(post)["kind"] == "task"));
    assert_eq!(json_of(&all[1]).get("artifacts").and_then(Value::as_array).map_or(0, Vec::len), 0);
    assert_eq!(json_of(&all[2])["artifacts"][0]["parts"][0]["text"], "an answer");

    let params = json!({"id": "mine", "message": {"role": "user", "parts": [{"type": "text", "text": "go"}]},
        "pushNotification": {"url": URL, "token": "t"}});
    let asked = tokio::spawn(async move { client.old(&rpc("tasks/send", params)).await });
    hand.answer("early answer").await;
    let mut states = Vec::new();
    for _ in 0..3 {
        let post = pusher.take().await;
        assert_eq!(json_of(&post)["id"], "mine");
        states.push(json_of(&post)["status"]["state"].clone());
    }
    assert_eq!(states, ["submitted", "working", "completed"]);
    soon(asked).await.unwrap();
}

#[tokio::test]
async fn webhooks_are_set_shown_without_secrets_replaced_and_taken_away_by_their_caller_only() {
    let (house, mut hand, mut pusher, _listener) = house().await;
    let mut ann = house.client("ann").await;
    let sent = ann.rpc(say("SendMessage", "m1", "go"));
    let (sent, ()) = tokio::join!(sent, async {
        hand.answer("done").await;
    });
    let task = sent.1["result"]["task"]["id"].clone();
    let hook = json!({"taskId": task, "id": "c1", "url": URL, "token": "hush", "authentication": {"scheme": "Basic", "credentials": "hush"}});
    let set = ann.call("CreateTaskPushNotificationConfig", hook.clone()).await;
    assert_eq!(set["result"]["id"], "c1", "{set}");
    assert_eq!(word(&pusher.take().await), "task COMPLETED");
    let got = ann.call("GetTaskPushNotificationConfig", json!({"taskId": task, "id": "c1"})).await;
    assert_eq!(got["result"]["url"], URL);
    assert!(!got.to_string().contains("\"hush\"") && !set.to_string().contains("\"hush\""), "{got}");
    ann.call("CreateTaskPushNotificationConfig", hook).await;
    pusher.take().await;
    let list = ann.call("ListTaskPushNotificationConfigs", json!({"taskId": task})).await;
    assert_eq!(list["result"]["configs"].as_array().unwrap().len(), 1, "{list}");

    let mut bob = house.client("bob").await;
    for method in
        ["CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig", "DeleteTaskPushNotificationConfig"]
    {
        let no = bob.call(method, json!({"taskId": task, "id": "c1", "url": URL})).await;
        assert_eq!(no["error"]["code"], -32001, "{method}: {no}");
    }
    let no = bob.call("ListTaskPushNotificationConfigs", json!({"taskId": task})).await;
    assert_eq!(no["error"]["code"], -32001);

    for _ in 0..2 {
        let gone = ann.call("DeleteTaskPushNotificationConfig", json!({"taskId": task, "id": "c1"})).await;
        assert_eq!(gone["result"], json!({}));
    }
    let no = ann.call("GetTaskPushNotificationConfig", json!({"taskId": task, "id": "c1"})).await;
    assert_eq!(no["error"]["code"], -32001);
}

#[tokio::test]
async fn without_the_grant_none_is_set_and_without_the_setting_there_are_none() {
    let (house, _hand) = House::with_worker("", ON).await;
    let mut ann = house.client("ann").await;
    let (status, no) = ann.rpc(with_hook("m1", &json!({"url": URL}))).await;
    assert_eq!(status, 403, "{no}");
    let (status, _) = ann.rpc(rpc("CreateTaskPushNotificationConfig", json!({"taskId": "t", "url": URL}))).await;
    assert_eq!(status, 403);
    let card = ann.call("GetExtendedAgentCard", json!({})).await;
    assert_eq!(card["result"]["capabilities"]["pushNotifications"], false, "{card}");

    let (house, _hand) = House::with_worker(GRANT, "").await;
    let mut ann = house.client("ann").await;
    let no = ann.rpc(with_hook("m1", &json!({"url": URL}))).await.1;
    assert_eq!(no["error"]["code"], -32003, "{no}");
    for method in [
        "CreateTaskPushNotificationConfig",
        "GetTaskPushNotificationConfig",
        "DeleteTaskPushNotificationConfig",
        "ListTaskPushNotificationConfigs",
    ] {
        let no = ann.call(method, json!({"taskId": "t", "id": "c", "url": URL})).await;
        assert_eq!(no["error"]["code"], -32003, "{method}: {no}");
    }
    assert!(!house.folder.path().join("push.secret").exists());

    let (house, ..) = self::house().await;
    let card = house.client("ann").await.call("GetExtendedAgentCard", json!({})).await;
    assert_eq!(card["result"]["capabilities"]["pushNotifications"], true, "{card}");
}

#[tokio::test]
async fn a_webhook_that_may_not_be_is_refused_before_anything_begins() {
    let (house, _hand, _pusher, _listener) = house().await;
    let mut ann = house.client("ann").await;
    for (hook, field) in [
        (json!({"url": "http://hooks.example/"}), "url"),
        (json!({"url": "https://127.0.0.1/"}), "url"),
        (json!({"url": "https://0x7f.1/"}), "url"),
        (json!({"url": "https://169.254.169.254/latest"}), "url"),
        (json!({"url": "https://[::ffff:10.0.0.1]/"}), "url"),
        (json!({"url": "https://user@hooks.example/"}), "url"),
        (json!({"url": "https://hooks.example:22/"}), "url"),
        (json!({"url": URL, "token": "a\r\nX-Evil: 1"}), "token"),
        (json!({"url": URL, "authentication": {"scheme": "Bearer x", "credentials": "c"}}), "authentication.scheme"),
        (
            json!({"url": URL, "authentication": {"scheme": "Bearer", "credentials": "c\nd"}}),
            "authentication.credentials",
        ),
    ] {
        let no = ann.rpc(with_hook("m1", &hook)).await.1;
        assert_eq!(no["error"]["code"], -32602, "{hook}: {no}");
        assert!(no["error"].to_string().contains(field), "{hook}: {no}");
    }
    assert_eq!(house.serve.tasks.kept().0, 0, "no Task was made");
}

#[tokio::test]
async fn a_failed_attempt_is_repeated_with_the_same_id_and_nothing_overtakes_it() {
    let (house, mut hand, mut pusher, _listener) = house().await;
    house.client("ann").await.rpc(with_hook("m1", &json!({"url": URL}))).await;
    hand.answer("done").await;
    let first = pusher.next().await;
    pusher.done(&first, 500).await;
    let second = pusher.next().await;
    assert_eq!((&first.event, &first.body), (&second.event, &second.body));
    pusher.say(FromPusher::Done { id: second.id, outcome: Outcome::Timeout }).await;
    let third = pusher.take().await;
    assert_eq!(first.event, third.event);
    let rest = [word(&pusher.take().await), word(&pusher.take().await), word(&pusher.take().await)];
    assert_eq!(rest, ["status WORKING", "artifact done", "status COMPLETED"]);
}

#[tokio::test]
async fn what_is_refused_redirected_or_tried_often_enough_is_given_up_counted_and_followed_by_the_next() {
    let (house, mut hand, mut pusher, _listener) = house().await;
    house.client("ann").await.rpc(with_hook("m1", &json!({"url": URL}))).await;
    hand.answer("done").await;
    let redirected = pusher.next().await;
    pusher.done(&redirected, 302).await;
    let mut last = None;
    for _ in 0..3 {
        let post = pusher.next().await;
        assert_eq!(word(&post), "status WORKING");
        pusher.done(&post, 503).await;
        last = Some(post.event);
    }
    let next = pusher.next().await;
    assert_ne!(Some(&next.event), last.as_ref());
    assert_eq!(word(&next), "artifact done");
    pusher.done(&next, 410).await;
    let pushes = house.serve.rooms.pushes.clone().unwrap();
    until(|| pushes.live() == 0).await;
    let counts: Vec<_> = pushes.take_counts().into_iter().collect();
    assert_eq!(counts, [("given_up", 2), ("left", 1), ("retried", 2)]);
}

#[tokio::test]
async fn a_pusher_that_is_away_is_waited_for_and_one_that_comes_back_gets_what_was_not_answered() {
    let (house, mut hand) = House::with_worker(GRANT, ON).await;
    house.client("ann").await.rpc(with_hook("m1", &json!({"url": URL}))).await;
    hand.answer("done").await;
    let listener = Pusher::listen(&house).await;
    let mut pusher = Pusher::accept(&listener).await;
    let lost = pusher.next().await;
    drop(pusher);
    let mut pusher = Pusher::accept(&listener).await;
    let again = pusher.take().await;
    assert_eq!(lost.event, again.event);
    let rest = [word(&pusher.take().await), word(&pusher.take().await), word(&pusher.take().await)];
    assert_eq!(rest, ["status WORKING", "artifact done", "status COMPLETED"]);
}

#[tokio::test]
async fn a_receiver_that_never_answers_holds_up_no_task_and_no_other_caller() {
    let (house, mut hand, mut pusher, _listener) = house().await;
    for number in 0..6 {
        house.client("ann").await.rpc(with_hook(&format!("m{number}"), &json!({"url": URL}))).await;
        hand.answer("done").await;
    }
    // Four of ann's are on their way, and stay there.
    for _ in 0..4 {
        pusher.next().await;
    }
    house.client("bob").await.rpc(with_hook("b1", &json!({"url": "https://bob.example/"}))).await;
    hand.answer("done").await;
    let mut words = Vec::new();
    while words.len() < 4 {
        let post = pusher.take().await;
        assert_eq!(&*post.url, "https://bob.example/");
        words.push(word(&post));
    }
    assert_eq!(words.last().map(String::as_str), Some("status COMPLETED"));
    let tasks = house.client("ann").await.call("ListTasks", json!({})).await;
    assert!(tasks["result"]["tasks"].as_array().unwrap().iter().all(|task| state(task) == "TASK_STATE_COMPLETED"));
}

#[tokio::test]
async fn a_lost_worker_is_told_as_a_failed_task() {
    let (house, mut hand, mut pusher, _listener) = house().await;
    house.client("ann").await.rpc(with_hook("m1", &json!({"url": URL}))).await;
    hand.accept().await;
    drop(hand);
    let words = [word(&pusher.take().await), word(&pusher.take().await), word(&pusher.take().await)];
    assert_eq!(words, ["task SUBMITTED", "status WORKING", "status FAILED"]);
    let _worker = house.worker().await;
}

#[tokio::test]
async fn webhooks_are_bounded_per_task_and_per_caller() {
    let settings = format!("{ON}per_task = 2\nper_caller = 3\n");
    let (house, mut hand) = House::with_worker(GRANT, &settings).await;
    let mut ann = house.client("ann").await;
    let mut tasks = Vec::new();
    for number in 0..2 {
        let body =
            message(&format!("m{number}"), "go", json!({}), json!({"configuration": {"returnImmediately": true}}));
        tasks.push(ann.call("SendMessage", body).await["result"]["task"]["id"].clone());
        let start = hand.accept().await;
        let end = End::Failed { kind: FailureKind::Other, sentence: Text::cut("no") };
        hand.finish(start.job, end).await;
    }
    assert!(create(&mut ann, &tasks[0], "https://a.example/1").await["result"].is_object());
    assert!(create(&mut ann, &tasks[0], "https://a.example/2").await["result"].is_object());
    assert!(create(&mut ann, &tasks[0], "https://a.example/2").await["result"].is_object(), "replaces its own");
    let no = create(&mut ann, &tasks[0], "https://a.example/3").await;
    assert_eq!(no["error"]["code"], -32602, "{no}");
    soon(async {
        while house.serve.rooms.pushes.as_ref().unwrap().live() != 2 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    assert!(create(&mut ann, &tasks[1], "https://a.example/1").await["result"].is_object());
    let (status, no) =
        ann.rpc(rpc("CreateTaskPushNotificationConfig", json!({"taskId": tasks[1], "id": "x", "url": URL}))).await;
    assert_eq!(status, 503, "{no}");
    assert!(create(&mut house.client("bob").await, &tasks[1], URL).await["error"]["code"] == -32001);
}

#[tokio::test]
async fn a_body_over_the_bound_goes_without_what_is_large() {
    let (house, mut hand) = House::with_worker(GRANT, &format!("{ON}max_body = \"2 KiB\"\n")).await;
    let listener = Pusher::listen(&house).await;
    let mut pusher = Pusher::accept(&listener).await;
    house.client("ann").await.rpc(with_hook("m1", &json!({"url": URL}))).await;
    hand.answer(&"x".repeat(4096)).await;
    let words = [word(&pusher.take().await), word(&pusher.take().await), word(&pusher.take().await)];
    assert_eq!(words, ["task SUBMITTED", "status WORKING", "status COMPLETED"]);
    let pushes = house.serve.rooms.pushes.clone().unwrap();
    until(|| pushes.live() == 0).await;
    assert_eq!(pushes.take_counts().get("too_large"), Some(&1));
}
