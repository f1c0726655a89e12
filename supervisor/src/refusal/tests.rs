use super::*;
use std::fmt::Write;

/// The variant after this one; the compiler sees to it that none is forgotten.
fn after(refusal: Option<&Refusal>) -> Option<Refusal> {
    let retry = Duration::from_secs(5);
    let text = || "x".to_owned();
    Some(match refusal {
        None => Refusal::Unauthenticated,
        Some(Refusal::Unauthenticated) => Refusal::Forbidden("SendMessage"),
        Some(Refusal::Forbidden(_)) => Refusal::ForeignHost,
        Some(Refusal::ForeignHost) => Refusal::TooManyRequests { retry },
        Some(Refusal::TooManyRequests { .. }) => Refusal::Busy { retry, in_band: false },
        Some(Refusal::Busy { in_band: false, .. }) => Refusal::Busy { retry, in_band: true },
        Some(Refusal::Busy { in_band: true, .. }) => Refusal::WorkerAway { retry },
        Some(Refusal::WorkerAway { .. }) => Refusal::Unavailable { retry, why: "it is stopping" },
        Some(Refusal::Unavailable { .. }) => Refusal::NoRoute,
        Some(Refusal::NoRoute) => Refusal::MethodNotAllowed { allow: "POST" },
        Some(Refusal::MethodNotAllowed { .. }) => Refusal::BodyTooLarge { limit: 1 },
        Some(Refusal::BodyTooLarge { .. }) => Refusal::BodyTimeout,
        Some(Refusal::BodyTimeout) => Refusal::MediaType,
        Some(Refusal::MediaType) => Refusal::ContentCoding,
        Some(Refusal::ContentCoding) => Refusal::BadRequest(text()),
        Some(Refusal::BadRequest(_)) => Refusal::Parse(text()),
        Some(Refusal::Parse(_)) => Refusal::InvalidRequest(text()),
        Some(Refusal::InvalidRequest(_)) => Refusal::MethodNotFound,
        Some(Refusal::MethodNotFound) => Refusal::InvalidParams { field: text(), what: text() },
        Some(Refusal::InvalidParams { .. }) => Refusal::TaskNotFound,
        Some(Refusal::TaskNotFound) => Refusal::TaskNotCancelable,
        Some(Refusal::TaskNotCancelable) => Refusal::PushNotSupported,
        Some(Refusal::PushNotSupported) => Refusal::UnsupportedOperation("SubscribeToTask"),
        Some(Refusal::UnsupportedOperation(_)) => Refusal::ContentTypeNotSupported(text()),
        Some(Refusal::ContentTypeNotSupported(_)) => Refusal::InvalidAgentResponse,
        Some(Refusal::InvalidAgentResponse) => Refusal::ExtendedCardNotConfigured,
        Some(Refusal::ExtendedCardNotConfigured) => Refusal::ExtensionSupportRequired(text()),
        Some(Refusal::ExtensionSupportRequired(_)) => Refusal::VersionNotSupported(text()),
        Some(Refusal::VersionNotSupported(_)) => Refusal::Fault { incident: text() },
        Some(Refusal::Fault { .. }) => return None,
    })
}

fn all() -> Vec<Refusal> {
    let mut all: Vec<Refusal> = Vec::new();
    while let Some(next) = after(all.last()) {
        all.push(next);
    }
    all
}

fn table() -> String {
    let mut out = String::from(
        "| refusal (audit, metrics) | HTTP, REST | HTTP, JSON-RPC | JSON-RPC code | status | reason | domain | Retry-After |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for refusal in all() {
        let row = refusal.row();
        let busy = matches!(refusal, Refusal::Busy { in_band: true, .. });
        let note = if busy { " (`busy = \"rpc\"`)" } else { "" };
        let retry = if refusal.retry_seconds().is_some() { "yes" } else { "" };
        let Row { http, rpc_http, code, grpc, reason, domain, word } = row;
        let _ =
            writeln!(out, "| `{word}`{note} | {http} | {rpc_http} | {code} | {grpc} | {reason} | {domain} | {retry} |");
    }
    out
}

#[test]
fn the_documentation_shows_the_table_as_it_is() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/refusals.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once("<!-- table -->\n").unwrap();
    let (shown, after) = rest.split_once("<!-- end -->").unwrap();
    if std::env::var_os("MUSEGATE_WRITE_DOCS").is_some() {
        std::fs::write(path, format!("{before}<!-- table -->\n{}<!-- end -->{after}", table())).unwrap();
        return;
    }
    assert_eq!(shown, table(), "run: MUSEGATE_WRITE_DOCS=1 cargo test -p musegate-supervisor the_documentation_shows");
}

#[test]
fn no_two_refusals_share_a_word_and_the_codes_are_the_specifications() {
    let mut words: Vec<&str> = all().iter().map(|refusal| refusal.row().word).collect();
    words.sort_unstable();
    let total = words.len();
    words.dedup();
    assert_eq!(words.len(), total - 1, "only both forms of busy share one");
    for refusal in all() {
        let row = refusal.row();
        assert!((400..600).contains(&row.http) && (row.rpc_http == 200 || row.rpc_http == row.http));
        let a2a = (-32009..=-32001).contains(&row.code);
        assert_eq!(row.domain == A2A_DOMAIN, a2a, "{refusal:?}");
    }
}

#[test]
fn a_retry_is_told_in_whole_seconds_and_never_at_once() {
    let told = |ms| Refusal::WorkerAway { retry: Duration::from_millis(ms) }.retry_seconds();
    assert_eq!([told(0), told(1), told(1000), told(1001)], [Some(1), Some(1), Some(1), Some(2)]);
    assert_eq!(Refusal::NoRoute.retry_seconds(), None);
}

#[test]
fn every_refusal_says_something_to_its_reader() {
    for refusal in all() {
        let text = refusal.to_string();
        assert!(text.len() > 10 && !text.ends_with('.'), "{text}");
    }
}
