//! How fast sanitising is, in MB/s, beside copying the text:
//! `cargo run --release -p musegate-supervisor --example sanitize_speed`.

#![expect(clippy::print_stdout, reason = "a program that prints figures")]

use musegate_supervisor::sanitize::own_tokens::Mask;
use musegate_supervisor::sanitize::{Mode, Stream, clean};
use std::hint::black_box;
use std::time::Instant;

const TOTAL: usize = 2 * 1024 * 1024;
const ROUNDS: usize = 40;

fn main() {
    println!(
        "{:>8} {:>7} {:>11} {:>11} {:>11} {:>11}",
        "text", "piece", "clean MB/s", "stream MB/s", "mask MB/s", "copy MB/s"
    );
    let ascii =
        "The harbour was quiet that morning, and nobody had yet opened the office. (See https://example.com/list.)\n";
    let thai = "ท่าเรือเงียบสงบในเช้าวันนั้น และยังไม่มีใครเปิดสำนักงาน เธอดูรายการอีกครั้ง\n";
    let emoji = "Done ✅ the family 👨\u{200d}👩\u{200d}👧 is home 🏠, ❤\u{fe0f} from all of us!\n";
    let chinese = "今天早上港口很安静，还没有人打开办公室的门。她又看了一遍清单。\n";
    for (name, unit) in [("ascii", ascii), ("thai", thai), ("chinese", chinese), ("emoji", emoji)] {
        for piece in [64, 4096, 65536] {
            let text = pieces(unit, piece);
            let mut best = [0f64; 4];
            for _ in 0..ROUNDS {
                let figures = [
                    speed(&text, |piece, out| {
                        out.push_str(&clean(piece, Mode::Strip).map(|(text, _)| text).unwrap_or_default())
                    }),
                    speed_stream(&text),
                    speed_mask(&text),
                    speed(&text, |piece, out| out.push_str(piece)),
                ];
                best.iter_mut().zip(figures).for_each(|(best, figure)| *best = best.max(figure));
            }
            println!("{name:>8} {piece:>7} {:>11.0} {:>11.0} {:>11.0} {:>11.0}", best[0], best[1], best[2], best[3]);
        }
    }
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

fn speed(text: &[String], mut run: impl FnMut(&str, &mut String)) -> f64 {
    let mut out = String::with_capacity(1 << 17);
    let start = Instant::now();
    for piece in text {
        run(piece, &mut out);
        black_box(&out);
        out.clear();
    }
    let bytes: usize = text.iter().map(String::len).sum();
    bytes as f64 / 1e6 / start.elapsed().as_secs_f64()
}

fn speed_stream(text: &[String]) -> f64 {
    let mut stream = Stream::new(Mode::Strip);
    speed(text, |piece, out| stream.push(piece, out))
}

fn speed_mask(text: &[String]) -> f64 {
    let mut mask = Mask::new();
    speed(text, |piece, out| mask.push(piece, out))
}
