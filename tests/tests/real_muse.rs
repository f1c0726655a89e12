//! A smoke test for machines that have the real Muse Code: `MUSEGATE_REAL_MUSE=/path/to/muse`. Its echo provider needs no
//! credential and no network. Elsewhere the test is skipped, and says so in a line that can be counted.

use musegate_tests::pair_bench::{Pair, Programs};
use musegate_tests::pair_programs;
use serde_json::Value;
use std::io::Write;
use std::path::Path;

const PROGRAMS: Programs = pair_programs!();

#[test]
fn the_real_muse_echoes_through_the_pair() {
    let Some(muse) = std::env::var_os("MUSEGATE_REAL_MUSE") else {
        let _ = writeln!(std::io::stderr(), "skipped 1: MUSEGATE_REAL_MUSE names no Muse Code on this machine");
        return;
    };
    let pair = Pair::start_with(PROGRAMS, Path::new(&muse), "provider = \"echo\"\n");
    let answer = pair.send("a lantern at sea, seen from the harbour", true).expect("an answer");
    assert_eq!((answer.status, answer.state()), (200, "COMPLETED"), "{answer:?}\n{}", pair.log());
    let text = answer.body.pointer("/result/task/artifacts/0/parts/0/text").and_then(Value::as_str);
    assert!(text.is_some_and(|text| text.contains("lantern")), "{answer:?}");
}
