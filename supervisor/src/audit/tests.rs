use super::keys::hex;
use super::*;
use crate::a2a::{ContextId, MessageId, Metadata, TaskId};
use crate::admission::{Admission, edit};
use crate::config::Config;
use crate::dialect::{Binding, Version};
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use musegate_protocol::bounded::Label;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::PermissionsExt;

/// A trail in a folder, and a caller to write about.
struct Place {
    _folder: tempfile::TempDir,
    config: config::Audit,
    admitted: Admitted,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let all = Config::defaults(folder.path());
        let token = edit::add(&all.callers.file, &Label::new("hermes").unwrap(), None).unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::try_from(format!("Bearer {}", *token.clear)).unwrap());
        let admitted = Admission::new(&all).unwrap().authenticate(&headers, [127, 0, 0, 1].into()).unwrap();
        Self { _folder: folder, config: all.audit, admitted }
    }

    fn open(&self) -> Audit {
        Audit::open(&self.config).unwrap()
    }

    fn write(&self, audit: &Audit, count: usize) {
        for _ in 0..count {
            let mut record = audit.begin(&self.admitted).unwrap();
            record.operation("GetTask", Version::V1, Binding::JsonRpc);
            record.verdict(Verdict::Answered);
        }
    }

    fn lines(&self) -> Vec<Value> {
        let lines = read(&self.config.file).unwrap();
        lines.map(|line| serde_json::from_str(&line.unwrap().text).unwrap()).collect()
    }

    fn edit(&self, change: impl FnOnce(&mut Vec<String>)) {
        let text = fs::read_to_string(&self.config.file).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        change(&mut lines);
        fs::write(&self.config.file, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    }

    fn verify(&self) -> Verified {
        verify(&self.config).unwrap()
    }
}

/// Makes every write fail, as a full disk does.
fn fill(audit: &Audit, file: &std::path::Path) {
    audit.inner().trail.exchange_file(File::open(file).unwrap());
}

fn make_room(audit: &Audit, file: &std::path::Path) {
    audit.inner().trail.exchange_file(OpenOptions::new().append(true).open(file).unwrap());
}

#[test]
fn a_record_says_all_that_it_was_told_and_nothing_is_null() {
    let place = Place::new();
    let audit = place.open();
    let mut record = audit.begin(&place.admitted).unwrap();
    record.operation("SendMessage", Version::V03, Binding::Rest);
    let mut digester = record.digester();
    digester.update(b"hello");
    record.request(120, Some(2), Some(digester));
    const OURS: &str = "01234567-89ab-4def-8123-456789abcdef";
    let ids = (TaskId(OURS.into()), ContextId("call-me-at-home".into()), MessageId("secret-message".into()));
    record.ids(&ids.0, &ids.1, Some(&ids.2));
    record.waited(Duration::from_millis(1500));
    record.answered(200);
    record.answer(64, None);
    let usage =
        crate::a2a::Usage { calls: 1, input_tokens: 5, cached_tokens: 1, output_tokens: 7, reasoning_tokens: 2 };
    record.metadata(&Metadata {
        trace: "0123456789abcdef0123456789abcdef".into(),
        usage: Some(usage),
        redactions: vec![("api-key".to_owned(), 2)],
        sanitized: vec![("bidi", 3)],
        ..Metadata::default()
    });
    record.verdict(Verdict::Failed("timed_out_wall"));
    drop(record);
    let text = fs::read_to_string(&place.config.file).unwrap();
    let said = ["null", "hello", "call-me", "secret-message"];
    assert!(said.iter().all(|said| !text.contains(said)), "{text}");
    let line = &place.lines()[1];
    let wanted = serde_json::json!({
        "seq": 2, "kind": "request", "caller": "hermes", "peer": "127.0.0.1", "trace": "0123456789abcdef0123456789abcdef",
        "operation": "SendMessage", "version": "0.3", "binding": "rest", "task": OURS,
        "answer": { "bytes": 64 }, "verdict": "failed", "reason": "timed_out_wall", "http": 200,
        "usage": { "calls": 1, "input": 5, "cached": 1, "output": 7, "reasoning": 2 },
        "redactions": { "api-key": 2 }, "sanitized": { "bidi": 3 },
    });
    for (key, value) in wanted.as_object().unwrap() {
        assert_eq!(&line[key], value, "{key}");
    }
    assert_eq!((&line["request"]["bytes"], &line["request"]["parts"]), (&120.into(), &2.into()));
    assert_eq!(line["request"]["digest"].as_str().unwrap().len(), 32);
    assert!(["message", "context"].iter().all(|id| line[id].as_str().unwrap().starts_with("digest:")));
    assert_eq!(line["ms"]["waited"], 1500);
    assert!(show(&line.to_string()).contains("hermes  SendMessage  failed (timed_out_wall)"));
}

#[test]
fn only_an_id_of_our_own_form_stands_in_the_trail() {
    let place = Place::new();
    let audit = place.open();
    for id in [
        "x",
        "01234567-89AB-4def-8123-456789abcdef",
        "01234567-89ab-4def-8123-456789abcdef-",
        "1-2-3-4-5",
        "early-0123",
        "",
    ] {
        audit.begin(&place.admitted).unwrap().task(&TaskId(id.into()));
    }
    let lines = place.lines();
    assert!(lines[1..].iter().all(|line| line["task"].as_str().unwrap().starts_with("digest:")), "{lines:?}");
}

#[test]
fn a_record_is_written_once_also_when_nobody_said_how_it_ended() {
    let place = Place::new();
    let audit = place.open();
    drop(audit.begin(&place.admitted).unwrap());
    let mut refused = audit.begin(&place.admitted).unwrap();
    refused.refused(&Refusal::TaskNotFound);
    drop(refused);
    let lines = place.lines();
    assert_eq!(lines.len(), 3);
    assert_eq!((&lines[1]["verdict"], &lines[2]["verdict"]), (&"dropped".into(), &"refused".into()));
    assert_eq!(lines[2]["reason"], "task_not_found");
}

#[test]
fn digests_of_short_texts_cannot_be_recomputed_without_the_key() {
    let (one, two) = (Place::new(), Place::new());
    let digest = |audit: &Audit| {
        let mut digester = audit.digester();
        digester.update(b"ye");
        digester.update(b"s");
        digester.finish()
    };
    let audit = one.open();
    assert_eq!(digest(&audit), digest(&audit));
    assert_ne!(digest(&audit), digest(&two.open()));
    let mode = fs::metadata(&one.config.key_file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    drop(audit);
    assert_eq!(digest(&one.open()), digest(&one.open()), "the key outlives the process");
    fs::set_permissions(&one.config.key_file, fs::Permissions::from_mode(0o604)).unwrap();
    assert!(Audit::open(&one.config).unwrap_err().to_string().contains("chmod"));
}

#[test]
fn an_honest_trail_verifies_over_restarts_and_rotation() {
    let mut place = Place::new();
    place.config.max_bytes = 2000;
    place.config.keep = 1000;
    for _ in 0..3 {
        let audit = place.open();
        place.write(&audit, 20);
        audit.end();
    }
    let seen = place.verify();
    assert_eq!((seen.damages.as_slice(), seen.requests, seen.first, seen.killed), (&[][..], 60, 1, 0));
    assert!(seen.files > 5, "{seen:?}");
    assert_eq!(seen.last, seen.records);
    let audit = place.open();
    drop(audit);
    drop(place.open());
    assert_eq!(place.verify().killed, 1, "a start that follows no stop");
}

#[test]
fn old_files_beyond_the_number_kept_are_gone_and_the_rest_still_verifies() {
    let mut place = Place::new();
    place.config.max_bytes = 2000;
    place.config.keep = 2;
    let audit = place.open();
    place.write(&audit, 100);
    let seen = place.verify();
    assert_eq!((seen.files, seen.damages.as_slice()), (3, &[][..]));
    assert!(seen.first > 1 && seen.last > 100);
}

#[test]
fn every_kind_of_tampering_is_found_where_it_was_done() {
    let fresh = || {
        let place = Place::new();
        place.write(&place.open(), 6);
        place
    };
    let damaged = |change: &dyn Fn(&mut Vec<String>)| {
        let place = fresh();
        place.edit(change);
        place.verify().damages.iter().map(|damage| (damage.line, damage.what.clone())).collect::<Vec<_>>()
    };
    assert_eq!(damaged(&|_| {}), []);
    let changed = damaged(&|lines| lines[2] = lines[2].replace("answered", "refused!"));
    assert_eq!(changed, [(3, "was changed, or the record before it was".to_owned())]);
    let removed = damaged(&|lines| drop(lines.remove(3)));
    assert_eq!(removed, [(4, "is record 5 and follows record 3".to_owned())]);
    let swapped = damaged(&|lines| lines.swap(2, 3));
    assert_eq!(swapped.len(), 3, "{swapped:?}");
    let doubled = damaged(&|lines| lines.insert(2, lines[1].clone()));
    assert_eq!(doubled.first().map(|(line, _)| *line), Some(3));
    let foreign = damaged(&|lines| lines.insert(4, "{\"hello\":1}".to_owned()));
    assert_eq!(foreign, [(5, "is not a record".to_owned())]);
    let first = damaged(&|lines| lines[0] = lines[0].replace("begin", "began"));
    assert_eq!(first, [(1, "was changed".to_owned())]);
    // Without the key a changed line cannot be given a fitting link.
    let resealed = damaged(&|lines| {
        let link = hex(&Sha256::digest(lines[2].as_bytes()));
        let cut = lines[2].len() - 66;
        lines[2] = format!("{}{link}\"}}", lines[2].get(..cut).unwrap());
    });
    assert_eq!(resealed.len(), 2, "its own and the next: {resealed:?}");
}

#[test]
fn a_line_torn_by_a_crash_is_cut_off_and_said_so() {
    let place = Place::new();
    place.write(&place.open(), 2);
    let mut bytes = fs::read(&place.config.file).unwrap();
    let whole = bytes.len();
    bytes.extend_from_slice(b"{\"seq\":4,\"kind\":\"requ");
    fs::write(&place.config.file, &bytes).unwrap();
    assert_eq!(place.verify().damages.len(), 1, "before the start that mends it");
    drop(place.open());
    let lines = place.lines();
    assert_eq!(lines.last().unwrap()["torn_bytes"], bytes.len() - whole);
    assert_eq!(place.verify().damages, []);
}

#[test]
fn on_a_full_disk_requests_are_refused_until_there_is_room_and_no_record_is_missing() {
    let place = Place::new();
    let audit = place.open();
    let inside = audit.begin(&place.admitted).unwrap();
    fill(&audit, &place.config.file);
    drop(inside);
    assert!(audit.failing());
    assert!(matches!(audit.begin(&place.admitted), Err(Refusal::Unavailable { .. })));
    make_room(&audit, &place.config.file);
    place.write(&audit, 1);
    assert!(!audit.failing());
    let seen = place.verify();
    assert_eq!((seen.requests, seen.lost, seen.damages.as_slice()), (2, 0, &[][..]));
}

#[test]
fn where_the_policy_is_to_go_on_the_trail_says_how_many_records_are_missing() {
    let mut place = Place::new();
    place.config.on_full = OnFull::Continue;
    let audit = place.open();
    fill(&audit, &place.config.file);
    place.write(&audit, 1500);
    assert!(audit.failing());
    make_room(&audit, &place.config.file);
    place.write(&audit, 1);
    let seen = place.verify();
    assert_eq!(seen.requests + seen.lost, 1501);
    assert_eq!((seen.lost, seen.damages.as_slice()), (476, &[][..]), "1024 are kept in memory");
}

#[test]
fn refusals_of_strangers_are_written_in_sum() {
    let place = Place::new();
    let audit = place.open();
    for _ in 0..1000 {
        audit.count(&Refusal::Unauthenticated);
    }
    audit.count(&Refusal::ForeignHost);
    assert_eq!(place.lines().len(), 1);
    audit.end();
    let lines = place.lines();
    assert_eq!(lines[1]["refusals"], serde_json::json!({ "unauthenticated": 1000, "foreign_host": 1 }));
    assert_eq!(lines.len(), 3);
}
