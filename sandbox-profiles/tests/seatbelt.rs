//! The Seatbelt profiles in a small model of their language: a table of what must be allowed and denied. A model, not
//! the kernel of macOS: it proves what the text says, not that a Mac reads it so.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends at what it does not expect")]

use musegate_sandbox_profiles::seatbelt::{Options, Profile};
use std::path::{Path, PathBuf};

/// One expression.
#[derive(Clone, Debug, PartialEq)]
enum Expression {
    Word(String),
    Text(String),
    List(Vec<Expression>),
}
use Expression::{List, Text, Word};

fn parse(text: &str) -> Vec<Expression> {
    let mut characters = text.chars().peekable();
    let mut open: Vec<Vec<Expression>> = vec![Vec::new()];
    while let Some(character) = characters.next() {
        match character {
            ';' => while characters.next().is_some_and(|character| character != '\n') {},
            '(' => open.push(Vec::new()),
            ')' => {
                let list = open.pop().unwrap();
                open.last_mut().unwrap().push(List(list));
            }
            '"' => {
                let text = characters.by_ref().take_while(|character| *character != '"').collect();
                open.last_mut().unwrap().push(Text(text));
            }
            space if space.is_whitespace() => {}
            first => {
                let mut word = String::from(first);
                while let Some(next) = characters.next_if(|next| !next.is_whitespace() && !"()\";".contains(*next)) {
                    word.push(next);
                }
                open.last_mut().unwrap().push(Word(word));
            }
        }
    }
    assert_eq!(open.len(), 1, "every bracket is closed");
    open.pop().unwrap()
}

/// What an operation is about.
#[derive(Clone, Copy, Debug)]
enum Subject {
    Path(&'static str),
    Target(&'static str),
    Name(&'static str),
    Remote(u16),
    Local(&'static str),
}
use Subject::{Local, Name, Remote, Target};

/// The last rule that matches decides.
fn allows(profile: &Profile, operation: &str, subject: Subject) -> bool {
    let mut verdict = None;
    for rule in parse(profile.text()) {
        let List(rule) = rule else { panic!("{rule:?} is no rule") };
        let [Word(action), rest @ ..] = rule.as_slice() else { panic!("{rule:?} has no action") };
        if action == "version" {
            continue;
        }
        let operations: Vec<&String> =
            rest.iter().map_while(|word| if let Word(word) = word { Some(word) } else { None }).collect();
        let filters = rest.get(operations.len()..).unwrap();
        let about = operations.iter().any(|pattern| matches_operation(pattern, operation));
        if about && (filters.is_empty() || filters.iter().any(|filter| matches(profile, filter, subject))) {
            verdict = Some(action == "allow");
        }
    }
    verdict.unwrap() // the profile begins with a default
}

fn matches_operation(pattern: &str, operation: &str) -> bool {
    pattern == "default"
        || pattern == operation
        || pattern.strip_suffix('*').is_some_and(|prefix| operation.starts_with(prefix))
}

fn matches(profile: &Profile, filter: &Expression, subject: Subject) -> bool {
    let List(words) = filter else { panic!("{filter:?} is no filter") };
    let [Word(kind), rest @ ..] = words.as_slice() else { panic!("{filter:?} has no kind") };
    let first = || value(profile, rest.first().unwrap());
    match (kind.as_str(), subject) {
        ("literal", Subject::Path(path)) => first() == path,
        ("subpath", Subject::Path(path)) => Path::new(path).starts_with(first()),
        ("target", Target(target)) => first() == target,
        ("sysctl-name" | "global-name", Name(name)) => first() == name,
        ("sysctl-name-prefix", Name(name)) => name.starts_with(&first()),
        ("remote", Remote(port)) => value(profile, rest.get(1).unwrap()) == format!("*:{port}"),
        ("local", Local(host)) => value(profile, rest.get(1).unwrap()) == format!("{host}:*"),
        (
            "literal" | "subpath" | "target" | "sysctl-name" | "global-name" | "sysctl-name-prefix" | "remote"
            | "local",
            _,
        ) => false,
        (other, _) => panic!("the model does not know {other}"),
    }
}

fn value(profile: &Profile, expression: &Expression) -> String {
    match expression {
        Word(text) | Text(text) => text.clone(),
        List(list) => {
            let [Word(param), Text(name)] = list.as_slice() else { panic!("{list:?} is no parameter") };
            assert_eq!(param, "param");
            let found = profile.parameters().iter().find(|(known, _)| known == name);
            found.unwrap_or_else(|| panic!("nobody passes {name}")).1.display().to_string()
        }
    }
}

fn path(path: &'static str) -> Subject {
    Subject::Path(path)
}

const JOB: &str = "/private/var/musegate/jobs/job-1";

fn job(connect: &[u16], names: bool) -> Profile {
    let options =
        Options { read: vec!["/opt/data".into()], exec: vec!["/opt/tools".into()], connect: connect.to_vec(), names };
    Profile::muse(&options, Path::new(JOB), Path::new("/opt/muse/bin/muse"))
}

fn check(profile: &Profile, table: &[(&str, Subject, bool)]) {
    let wrong: Vec<_> = table
        .iter()
        .filter(|(operation, subject, expected)| allows(profile, operation, *subject) != *expected)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
#[rustfmt::skip] // a table
fn a_job_on_macos_reads_the_system_and_writes_its_folder() {
    check(&job(&[], false), &[
        ("file-read-data", path("/private/var/musegate/jobs/job-1/prompt"), true),
        ("file-write-create", path("/private/var/musegate/jobs/job-1/ws/a"), true),
        ("file-write-data", path("/private/var/musegate/jobs/job-1/ws/a"), true),
        ("file-write-unlink", path("/private/var/musegate/jobs/job-1/ws/a"), true),
        ("file-write-unlink", path("/private/var/musegate/jobs/job-1"), false),
        ("file-write-setugid", path("/private/var/musegate/jobs/job-1/ws/a"), false),
        ("file-link", path("/private/var/musegate/jobs/job-1/ws/a"), false),
        ("file-link", path("/Users/me/.ssh/id_ed25519"), false),
        ("file-read-data", path("/private/var/musegate/jobs/job-2/prompt"), false),
        ("file-write-create", path("/private/var/musegate/jobs/job-2/a"), false),
        ("file-write-create", path("/private/var/musegate/jobs/job-11"), false),
        ("file-read-data", path("/private/var/musegate/jobs"), true),
        ("file-read-data", path("/private/var"), true),
        ("file-read-data", path("/"), true),
        ("file-read-data", path("/Users"), false),
        ("file-read-data", path("/Users/me/.ssh/id_ed25519"), false),
        ("file-read-metadata", path("/Users/me/.ssh/id_ed25519"), false),
        ("file-read-data", path("/Users/me/Library/Keychains/login.keychain-db"), false),
        ("file-read-data", path("/private/etc/musegate/callers.toml"), false),
        ("file-read-data", path("/private/etc/master.passwd"), false),
        ("file-read-data", path("/private/etc/hosts"), true),
        ("file-read-data", path("/private/etc/ssl/cert.pem"), true),
        ("file-read-data", path("/usr/lib/libSystem.B.dylib"), true),
        ("file-read-data", path("/System/Library/Frameworks/Security.framework/Security"), true),
        ("file-read-data", path("/usr/local/bin/musegate"), false),
        ("file-write-create", path("/private/tmp/a"), false),
        ("file-write-create", path("/usr/lib/a"), false),
        ("file-write-data", path("/dev/null"), true),
        ("file-read-data", path("/dev/disk0"), false),
        ("file-write-mode", path("/Users/me/.ssh/id_ed25519"), false),
        ("file-read-data", path("/opt/data/x"), true),
        ("file-write-data", path("/opt/data/x"), false),
        ("file-read-data", path("/opt/tools/x"), true),
        ("process-exec", path("/opt/tools/x"), true),
        ("process-exec", path("/opt/muse/bin/muse"), true),
        ("process-exec", path("/opt/muse/bin/other"), false),
        ("process-exec", path("/private/var/musegate/jobs/job-1/ws/dropped"), false),
        ("process-exec", path("/bin/sh"), true),
        ("process-fork", Target("self"), true),
    ]);
}

#[test]
#[rustfmt::skip] // a table
fn a_job_on_macos_reaches_nobody() {
    check(&job(&[], false), &[
        ("signal", Target("same-sandbox"), true),
        ("signal", Target("others"), false),
        ("process-info-pidinfo", Target("others"), false),
        ("process-info-pidinfo", Target("same-sandbox"), true),
        ("network-outbound", Remote(443), false),
        ("network-outbound", path("/private/var/run/mDNSResponder"), false),
        ("network-outbound", path("/private/var/musegate/run/worker.sock"), false),
        ("network-inbound", Local("localhost"), false),
        ("network-bind", Local("localhost"), false),
        ("system-socket", Target("self"), false),
        ("mach-lookup", Name("com.apple.SecurityServer"), false),
        ("mach-lookup", Name("com.apple.securityd.xpc"), false),
        ("mach-lookup", Name("com.apple.pasteboard.1"), false),
        ("mach-lookup", Name("com.apple.windowserver.active"), false),
        ("mach-lookup", Name("com.apple.system.opendirectoryd.libinfo"), true),
        ("mach-register", Name("anything"), false),
        ("sysctl-read", Name("hw.ncpu"), true),
        ("sysctl-read", Name("kern.procargs2"), false),
        ("sysctl-write", Name("hw.ncpu"), false),
        ("iokit-open", Name("IOHIDSystem"), false),
        ("ipc-posix-shm-write-create", path("/anything"), false),
        ("appleevent-send", Name("com.apple.finder"), false),
    ]);
}

#[test]
#[rustfmt::skip] // a table
fn ports_and_names_are_opened_only_where_they_are_wanted() {
    check(&job(&[443], true), &[
        ("network-outbound", Remote(443), true),
        ("network-outbound", Remote(22), false),
        ("network-outbound", path("/private/var/run/mDNSResponder"), true),
        ("network-outbound", path("/private/var/musegate/run/worker.sock"), false),
        ("network-inbound", Local("localhost"), false),
    ]);
}

#[test]
#[rustfmt::skip] // a table
fn a_supervisor_on_macos_serves_asks_the_worker_and_keeps_its_log() {
    let (log, callers) = (PathBuf::from("/private/var/musegate/audit"), PathBuf::from("/private/etc/musegate"));
    let profile = Profile::supervisor(&[PathBuf::from("/private/var/musegate/run/worker.sock")], &[log], &[callers]);
    check(&profile, &[
        ("network-inbound", Local("localhost"), true),
        ("network-outbound", path("/private/var/musegate/run/worker.sock"), true),
        ("network-outbound", path("/private/var/run/mDNSResponder"), false),
        ("network-outbound", Remote(443), false),
        ("process-exec", path("/bin/sh"), false),
        ("process-fork", Target("self"), false),
        ("signal", Target("self"), true),
        ("signal", Target("others"), false),
        ("file-write-create", path("/private/var/musegate/audit/audit.jsonl"), true),
        ("file-read-data", path("/private/etc/musegate/callers.toml"), true),
        ("file-write-data", path("/private/etc/musegate/callers.toml"), false),
        ("file-read-data", path("/private/var/musegate/jobs/job-1/prompt"), false),
        ("file-read-data", path("/Users/me/.ssh/id_ed25519"), false),
        ("mach-lookup", Name("com.apple.SecurityServer"), false),
    ]);
}

#[test]
fn a_name_that_looks_like_a_rule_stays_a_name() {
    let evil = Path::new("/tmp/x\")) (allow default) ((\"");
    let profile = Profile::muse(&Options { read: vec![evil.into()], ..Options::default() }, evil, evil);
    assert!(!profile.text().contains("allow default"));
    assert!(!allows(&profile, "file-read-data", path("/Users/me/.ssh/id_ed25519")));
}
