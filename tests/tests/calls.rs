//! The supervisor's list of system calls against what it really calls: nothing is missing, nothing is on it for nothing.
#![cfg(target_os = "linux")]
#![expect(clippy::expect_used, reason = "a test ends at what it does not expect")]

use musegate_protocol::Label;
use musegate_sandbox_profiles::seccomp::{Answer, CallRule, If};
use musegate_sandbox_profiles::supervisor::CALLS;
use musegate_supervisor::admission::edit;
use musegate_tests::pair_bench::{PATIENCE, Pair, Programs};
use musegate_tests::pair_programs;
use musegate_tests::recorder::{Made, Recorded, Recorder, held};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::process::Stdio;

const PROGRAMS: Programs = pair_programs!();

/// Rules that this traffic may do without, by machine and by chance, and why they stand all the same.
#[rustfmt::skip] // one rule a line
const UNUSED: &[(&str, &str)] = &[
    ("epoll_pwait", "what other architectures have in place of epoll_wait"),
    ("readlinkat", "the same for readlink"),
    ("renameat", "the same for rename"),
    ("renameat2", "the same for rename"),
    ("unlinkat", "the same for unlink"),
    ("futex", "a lock that two want at once, which one thread seldom does"),
    ("fstat", "musl's way to newfstatat"),
    ("ftruncate", "a line that did not fit on a full disk, see on_a_full_disk_requests_are_refused of tests/doors.rs"),
    ("mprotect", "memory where the first heap cannot grow"),
    ("mremap", "buffers that grow large"),
    ("madvise", "memory that is given back"),
    ("clock_gettime", "machines whose clock cannot be read without a call"),
    ("restart_syscall", "the kernel's own, after a stop and a continue"),
    ("prctl", "an allocator that names its memory, GLIBC_TUNABLES=glibc.mem.decorate_maps"),
    ("gettid", "abort"),
    ("rt_sigprocmask", "abort"),
    ("tgkill", "abort"),
    ("prlimit64", "how many descriptors there may be, for the metrics"),
];

/// Whether one call is what one line of conditions allows.
fn fits(line: &[If], made: &Made) -> bool {
    let argument = |index: u8| made.arguments.get(usize::from(index)).copied().unwrap_or_default();
    line.iter().all(|condition| match *condition {
        If::Is(index, value) => argument(index) == value,
        If::Not(index, value) => argument(index) != value,
        If::Bits(index, mask, value) => argument(index) & mask == value,
    })
}

/// Lines of a rule that nothing has used; one that has none counts as one.
fn unused(rule: &CallRule, calls: &BTreeSet<Made>) -> usize {
    let mut made = calls.iter().filter(|made| made.number == rule.call.number);
    if rule.when.is_empty() {
        return usize::from(made.next().is_none());
    }
    let made: Vec<_> = made.collect();
    rule.when.iter().filter(|line| !made.iter().any(|made| fits(line, made))).count()
}

#[test]
fn every_rule_of_the_supervisors_list_is_used_by_real_traffic_and_nothing_beyond_it_is() {
    let mut pair = Pair::start(PROGRAMS);
    pair.settings("[audit]\nmax_size = \"64 KiB\"\nkeep = 1\n[log]\nper_minute = 1000000\n", "");
    Pair::stop(&mut pair.supervisor);
    let Recorded { calls, status } = watched(&mut pair);
    let log = pair.log();
    assert_eq!(status, 0, "{log}");
    assert!(calls.len() > 100, "{}", calls.len());

    let rules = || CALLS.iter().filter(|rule| rule.answer == Answer::Allow);
    let allowed = |made: &&Made| {
        let of_it = |rule: &CallRule| rule.when.is_empty() || rule.when.iter().any(|line| fits(line, made));
        rules().any(|rule| rule.call.number == made.number && of_it(rule))
    };
    let beyond: Vec<_> = calls.iter().filter(|made| !allowed(made)).collect();
    assert!(beyond.is_empty(), "calls beyond the list: {beyond:?}");
    let excused = |name: &str| UNUSED.iter().any(|(excused, why)| *excused == name && !why.is_empty());
    let idle: Vec<_> = rules().filter(|rule| unused(rule, &calls) > 0 && !excused(rule.call.name)).collect();
    let idle: Vec<_> = idle.iter().map(|rule| (rule.call.name, unused(rule, &calls), rule.why)).collect();
    assert!(idle.is_empty(), "rules that nothing uses: {idle:#?}");
}

/// Everything that a supervisor does, from its start to its stop.
fn watched(pair: &mut Pair) -> Recorded {
    // Paths from here, as settings may have them.
    let text = fs::read_to_string(pair.path("supervisor.toml")).expect("settings");
    let here = format!("{}/", pair.path("").display()).replace("//", "/");
    fs::write(pair.path("supervisor.toml"), text.replace(&here, "")).expect("settings");
    let notify = UnixDatagram::bind(pair.path("notify.sock")).expect("a socket");
    notify.set_read_timeout(Some(PATIENCE)).expect("a time");
    let mut command = held(Path::new(PROGRAMS.supervisor));
    let log = fs::OpenOptions::new().append(true).open(pair.path("log")).expect("a log");
    // A relative path, and a stdin that is watched: both are ways that a start can take.
    command.args(["--config", "supervisor.toml", "--until-stdin-closes"]).current_dir(pair.path(""));
    let (stdin, held_open) = io::pipe().expect("a pipe");
    command.stdin(stdin).stdout(Stdio::null()).stderr(log);
    command.env("NOTIFY_SOCKET", pair.path("notify.sock")).env("WATCHDOG_USEC", "300000");
    let recorder = Recorder::start(command);
    pair.until_it_answers();
    operations(pair);
    early_and_wrong(pair);
    changes(pair, recorder.pid);
    rotations(pair);
    Pair::kill(&mut pair.worker);
    pair.start_worker();
    pair.until_it_answers();
    let mut status = String::new();
    UnixStream::connect(pair.path("status.sock"))
        .and_then(|mut socket| socket.read_to_string(&mut status))
        .expect("a status");
    assert!(status.contains("landlock-files"), "{status}");
    let mut heard = [0; 64];
    while !notify.recv(&mut heard).is_ok_and(|len| heard.get(..len).is_some_and(|said| said.starts_with(b"WATCHDOG"))) {
    }
    let running = pair.send("@stub hang", false).expect("an answer");
    assert_eq!(running.status, 200, "{running:?}");
    kill(Pid::from_raw(recorder.pid), Signal::SIGTERM).expect("a signal");
    let recorded = recorder.finish();
    drop(held_open);
    recorded
}

/// Every operation of 1.0, a stream that is resumed, an answer of a megabyte, one that nobody reads for a while.
fn operations(pair: &Pair) {
    let hanging = pair.send("@stub hang", false).expect("an answer").task();
    let id = json!({"id": hanging});
    assert_eq!(pair.get(&hanging).status, 200);
    pair.call("ListTasks", json!({})).expect("an answer");
    pair.call("GetExtendedAgentCard", json!({})).expect("an answer");
    let params = json!({"taskId": hanging, "url": "https://example.com/hook"});
    pair.call("CreateTaskPushNotificationConfig", params).expect("an answer");
    assert_eq!(pair.call("CancelTask", id).expect("an answer").status, 200);
    pair.until("it is over", || pair.get(&hanging).state() == "CANCELED");
    let streamed = post(pair, "SendStreamingMessage", "@stub answer=\"drop by drop\"");
    assert!(streamed.contains("TASK_STATE_COMPLETED"), "{streamed}");
    let large = pair.send("@stub stream=1000 bytes=1000", true).expect("an answer");
    assert_eq!(large.status, 200, "{:?}", large.head);
    let text = "a".repeat(200_000);
    assert_eq!(pair.send(&text, true).expect("an answer").status, 200);
}

/// A stream, read slowly at first.
fn post(pair: &Pair, method: &str, text: &str) -> String {
    let message = json!({"messageId": "s-1", "role": "ROLE_USER", "parts": [{"text": text}]});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": message}}).to_string();
    let head = format!(
        "POST / HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nA2A-Version: 1.0\r\nAccept: text/event-stream\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        pair.address,
        pair.token,
        body.len()
    );
    exchange(pair, &format!("{head}{body}"))
}

fn exchange(pair: &Pair, request: &str) -> String {
    let mut stream = TcpStream::connect(pair.address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time");
    stream.write_all(request.as_bytes()).expect("a request");
    let mut all = Vec::new();
    stream.read_to_end(&mut all).expect("an answer");
    String::from_utf8_lossy(&all).into_owned()
}

/// The card, a wrong token, a path that is none, bytes that are no HTTP, a connection that says nothing.
fn early_and_wrong(pair: &Pair) {
    let get = |path: &str, more: &str| {
        exchange(pair, &format!("GET {path} HTTP/1.1\r\nHost: {}\r\n{more}Connection: close\r\n\r\n", pair.address))
    };
    assert!(get("/.well-known/agent-card.json", "").contains(" 200 "));
    assert!(get("/v1/card", "Authorization: Bearer wrong\r\n").contains(" 401 "));
    assert!(get("/nothing", "").contains(" 404 "));
    let _ = exchange(pair, "nonsense\r\n\r\n");
    drop(TcpStream::connect(pair.address).expect("a connection"));
}

/// The file of callers is edited, and read again at once by a signal.
fn changes(pair: &Pair, pid: i32) {
    let file = pair.path("callers.toml");
    edit::add(&file, &Label::new("another").expect("a name"), None).expect("a token");
    let text = fs::read_to_string(&file).expect("callers");
    let unbounded = text.replace("[callers.tester]\n", "[callers.tester]\nrate_per_minute = 0\n");
    fs::write(&file, unbounded).expect("callers");
    kill(Pid::from_raw(pid), Signal::SIGHUP).expect("a signal");
    pair.until("the callers are read again", || pair.log().contains("callers read again"));
}

/// So many records that files of the trail are put aside and the oldest forgotten.
fn rotations(pair: &Pair) {
    let older = || -> BTreeSet<String> {
        let names = fs::read_dir(pair.path("")).expect("a folder").flatten().map(|entry| entry.file_name());
        names.filter_map(|name| name.into_string().ok()).filter(|name| name.starts_with("audit.jsonl.0")).collect()
    };
    let mut first: Option<String> = None;
    pair.until("the oldest file is forgotten", || {
        assert_eq!(pair.call("ListTasks", Value::Null).expect("an answer").head.get(..8), Some("http/1.1"));
        let there = older();
        first = first.take().or_else(|| there.first().cloned());
        first.as_ref().is_some_and(|first| !there.contains(first))
    });
}
