//! The answer on its way to frames: whatever deltas come, whatever the terminal record says, and whenever pieces are
//! taken, what was sent in the end is the terminal text, redacted.

use crate::pieces::text_pieces;
use musegate_worker::job::answer::Answer;
use musegate_worker::redact::Rules;
use std::sync::{Arc, LazyLock};

const LIMIT: u64 = 8192;

static RULES: LazyLock<Arc<Rules>> = LazyLock::new(|| {
    let secret = "correct horse battery staple".to_owned();
    Arc::new(Rules::new(&[secret.into()], &[]).expect("rules"))
});

pub(crate) fn answer(input: &[u8]) {
    let Some(([how, most], rest)) = input.split_first_chunk::<2>() else { return };
    let Some((whole, pieces)) = text_pieces(rest) else { return };
    let mut answer = Answer::new(RULES.clone(), LIMIT, false);
    let mut sent = Sent::default();
    for (at, piece) in pieces.iter().enumerate() {
        if answer.delta(piece).is_err() {
            return;
        }
        if at % 7 == usize::from(how % 8) {
            answer.lose();
        }
        if (at + usize::from(*how)).is_multiple_of(3) {
            sent.take(&mut answer, usize::from(*most).max(4), 1 + at % 3);
        }
    }
    // The terminal record: the same, more, less, something else, or nothing.
    let half = &whole[..whole.floor_char_boundary(whole.len() / 2)];
    let longer = format!("{whole} and more");
    let terminal = match how >> 5 {
        0..=2 => Some(whole),
        3 => Some(longer.as_str()),
        4 => Some(half),
        5 => Some("something else"),
        _ => None,
    };
    let lost = *how % 8 < 7 && pieces.len() > usize::from(how % 8);
    match answer.whole(terminal) {
        Ok(()) => {
            answer.finish();
            sent.take(&mut answer, usize::from(*most).max(4), usize::MAX);
            assert!(!answer.waits());
            let said = terminal.filter(|text| !text.is_empty()).unwrap_or(whole);
            assert_eq!(sent.text, RULES.redact(said).0, "{how} {terminal:?}");
            assert_eq!(answer.sent(), sent.text.len() as u64);
        }
        Err(_) => assert!(lost || terminal.is_some_and(|text| text.len() as u64 > LIMIT)),
    }
}

/// The other end of the frames.
#[derive(Default)]
struct Sent {
    text: String,
}

impl Sent {
    fn take(&mut self, answer: &mut Answer, most: usize, times: usize) {
        for _ in 0..times {
            let Some(piece) = answer.piece(most) else { return };
            let len = piece.text.len();
            assert!(len <= most && (len > 0 || piece.fresh));
            if piece.fresh {
                self.text.clear();
            }
            assert_eq!(piece.offset, self.text.len() as u64, "neither a gap nor an overlap");
            self.text.push_str(piece.text);
            answer.took(len);
        }
    }
}
