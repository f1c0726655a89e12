//! How fast redaction is, in MB/s, beside copying the text while searching it for three bytes:
//! `cargo run --release -p musegate-worker --example redact_speed`.

#![expect(clippy::print_stdout, reason = "a program that prints figures")]

use musegate_worker::redact::{Redactor, RuleError, Rules};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use zeroize::Zeroizing;

const TOTAL: usize = 2 * 1024 * 1024;
const ROUNDS: usize = 40;

const PROSE: &str = "The harbour was quiet that morning, and nobody had yet opened the office. She looked at the list again: \
    eleven crates, two of them damaged, one without a label. \"We should wait,\" he said; it would not help anybody to be early. ";
const CODE: &str = "    let mut token_count: usize = 0;\n    for (index, item) in self.items.iter().enumerate() {\n        if item.kind == \
    Kind::Task && !item.is_done() {\n            token_count += item.tokens; // see https://example.com/tasks#count\n        }\n    }\n";
const JSON: &str = "{\"id\":\"018f0000-0000-7000-8000-00000000c351\",\"kind\":\"task_started\",\"count\":42,\"ok\":true,\"tags\":[\"a\",\"b\"],\
    \"path\":\"/srv/job/ws\"}\n";
const THAI: &str = "ท่าเรือเงียบสงบในเช้าวันนั้น และยังไม่มีใครเปิดสำนักงาน เธอดูรายการอีกครั้ง มีลังสิบเอ็ดใบ สองใบเสียหาย ";

fn main() -> Result<(), RuleError> {
    let own = Zeroizing::new("an-own-secret-of-the-worker-0123456789".to_owned());
    let rules = Arc::new(Rules::new(&[own], &[])?);
    let secret = format!("gh{}_{}", "p", "a1B2".repeat(9));
    let secrets = format!("{}{secret} ", PROSE.repeat(4));
    println!("{:>8} {:>7} {:>12} {:>12}", "text", "piece", "redact MB/s", "memchr MB/s");
    for (name, unit) in [("prose", PROSE), ("code", CODE), ("json", JSON), ("thai", THAI), ("secrets", &secrets)] {
        for piece in [64, 4096, 65536] {
            let text = pieces(unit, piece);
            let mut best = [0f64; 2];
            for _ in 0..ROUNDS {
                let figures =
                    [speed(&text, |out| redact(&rules, &text, out)), speed(&text, |out| baseline(&text, out))];
                best.iter_mut().zip(figures).for_each(|(best, figure)| *best = best.max(figure));
            }
            println!("{name:>8} {piece:>7} {:>12.0} {:>12.0}", best[0], best[1]);
        }
    }
    Ok(())
}

/// About [`TOTAL`] bytes of a text, in pieces of about one size.
fn pieces(unit: &str, piece: usize) -> Vec<String> {
    let text = unit.repeat(TOTAL / unit.len());
    let mut all = vec![String::new()];
    for c in text.chars() {
        match all.last_mut() {
            Some(last) if last.len() < piece => last.push(c),
            _ => all.push(c.to_string()),
        }
    }
    all
}

fn speed(text: &[String], run: impl Fn(&mut String)) -> f64 {
    let mut out = String::with_capacity(1 << 17);
    let start = Instant::now();
    run(&mut out);
    let bytes: usize = text.iter().map(String::len).sum();
    bytes as f64 / 1e6 / start.elapsed().as_secs_f64()
}

fn redact(rules: &Arc<Rules>, text: &[String], out: &mut String) {
    let mut redactor = Redactor::new(rules.clone());
    for piece in text {
        redactor.push(piece, out);
        black_box(&out);
        out.clear();
    }
    redactor.finish(out);
    black_box(out);
}

fn baseline(text: &[String], out: &mut String) {
    let mut found = 0;
    for piece in text {
        found += memchr::memchr3_iter(b':', b'=', b'~', piece.as_bytes()).count();
        out.push_str(piece);
        black_box(&out);
        out.clear();
    }
    black_box(found);
}
