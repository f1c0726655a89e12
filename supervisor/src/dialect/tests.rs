//! What docs/dialects.md says is what is done.

use super::method::{Family, named};
use super::refuse::code;
use super::*;
use std::time::Duration;

const PAGE: &str = include_str!("../../../docs/dialects.md");

/// The rows of the table behind `mark`, without its head; backquotes and spaces are laid off.
fn table(mark: &str) -> Vec<Vec<String>> {
    let (_, table) = PAGE.split_once(mark).unwrap();
    let (table, _) = table.split_once("<!-- end -->").unwrap();
    let rows = table.lines().filter(|line| line.starts_with('|')).skip(2);
    let cell = |cell: &str| cell.trim().trim_matches('`').to_owned();
    rows.map(|row| row.trim_matches('|').split('|').map(cell).collect()).collect()
}

#[test]
fn the_page_names_every_method_of_every_edition() {
    let mut found = 0;
    for row in table("<!-- methods") {
        let of_1_0 = named(&row[1]).unwrap();
        assert_eq!(of_1_0.0, Family::Only(Version::V1), "{}", row[1]);
        for (cell, version) in [(&row[1], Version::V1), (&row[2], Version::V03), (&row[3], Version::Early)] {
            if cell.is_empty() {
                continue;
            }
            let (family, method) = named(cell).unwrap_or_else(|| panic!("{cell}"));
            assert_eq!(method, of_1_0.1, "{cell}");
            assert!(family == Family::Only(version) || family == Family::Shared && version != Version::V1, "{cell}");
            found += 1;
        }
    }
    // 11 of 1.0, 10 of 0.3, 7 of 0.1; a method that is added has to be counted here and named there.
    assert_eq!(found, 28);
}

#[test]
fn the_page_has_every_code_that_differs_and_no_other() {
    let rows = table("<!-- codes");
    let retry = Duration::from_secs(1);
    let all = [
        Refusal::Unauthenticated,
        Refusal::Forbidden("x"),
        Refusal::ForeignHost,
        Refusal::TooManyRequests { retry },
        Refusal::Busy { retry, in_band: false },
        Refusal::WorkerAway { retry },
        Refusal::Unavailable { retry, why: "x" },
        Refusal::NoRoute,
        Refusal::MethodNotAllowed { allow: "GET" },
        Refusal::BodyTooLarge { limit: 1 },
        Refusal::BodyTimeout,
        Refusal::MediaType,
        Refusal::ContentCoding,
        Refusal::BadRequest(String::new()),
        Refusal::Parse(String::new()),
        Refusal::InvalidRequest(String::new()),
        Refusal::MethodNotFound,
        Refusal::InvalidParams { field: String::new(), what: String::new() },
        Refusal::TaskNotFound,
        Refusal::TaskNotCancelable,
        Refusal::PushNotSupported,
        Refusal::UnsupportedOperation("x"),
        Refusal::ContentTypeNotSupported(String::new()),
        Refusal::InvalidAgentResponse,
        Refusal::ExtendedCardNotConfigured,
        Refusal::ExtensionSupportRequired(String::new()),
        Refusal::VersionNotSupported(String::new()),
        Refusal::Fault { incident: String::new() },
    ];
    let mut differ = 0;
    for refusal in &all {
        let codes = [Version::V1, Version::V03, Version::Early].map(|version| code(version, refusal));
        if codes.iter().any(|code| *code != codes[0]) {
            let row = rows.iter().find(|row| row[0] == refusal.row().word).unwrap_or_else(|| panic!("{refusal:?}"));
            assert_eq!(row[1..], codes.map(|code| code.to_string()), "{refusal:?}");
            differ += 1;
        }
    }
    assert_eq!(differ, rows.len());
}

#[test]
fn the_page_states_the_bounds() {
    for (bound, words) in [
        (json::MAX_DEPTH, "at most 64 containers"),
        (json::MAX_NODES, "and 65,536 values"),
        (musegate_protocol::message::MAX_PARTS, "At most 64 parts"),
        (fields::MAX_ID, "ids of 128 bytes"),
        (fields::MAX_URL, "urls of 2,048"),
        (fields::MAX_METADATA / 1024, "metadata of 64 KiB"),
        (crate::answer::MAX_STRUCTURED / 1024 / 1024, "at most 4 MiB and 64 parts"),
    ] {
        assert!(PAGE.contains(words), "{words}");
        assert!(words.replace(',', "").split(' ').any(|word| word.parse() == Ok(bound)), "{words} is {bound}");
    }
    for uri in extension::ALL {
        assert!(PAGE.contains(&format!("`{uri}`")), "{uri}");
    }
}
