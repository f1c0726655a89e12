//! Tests of the whole room. Secrets are built at run time from pieces, so that no scanner of secrets trips over them.

#![expect(clippy::string_slice, reason = "tests cut texts on purpose")]

mod cuttings;
mod hostile;
mod inside;
mod rows;
mod special;

use super::alphabet::Alphabet;
use super::table::{Edge, Proof, ROWS, Row};
use super::{Counts, ExtraPattern, Redactor, Rules};
use std::sync::Arc;
use zeroize::Zeroizing;

/// A small source of numbers that is the same at every run.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    pub(super) fn text(&mut self, len: usize, fits: impl Fn(u8) -> bool) -> String {
        let all: Vec<char> = (b'!'..=b'~').filter(|b| fits(*b)).map(char::from).collect();
        (0..len).map(|_| all[self.below(all.len())]).collect()
    }

    pub(super) fn pick<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }
}

pub(super) fn rules() -> Arc<Rules> {
    Arc::new(Rules::new(&[], &[]).unwrap())
}

pub(super) fn rules_with(secrets: &[&str], extra: &[&str]) -> Arc<Rules> {
    let secrets: Vec<_> = secrets.iter().map(|secret| Zeroizing::new((*secret).to_owned())).collect();
    let extra: Vec<_> = extra.iter().map(|pattern| ExtraPattern::parse(pattern).unwrap()).collect();
    Arc::new(Rules::new(&secrets, &extra).unwrap())
}

/// A tail that a row takes: of its alphabet, without a dot at the end, with what its proof wants.
pub(super) fn tail(row: &Row, len: usize, dice: &mut Dice) -> String {
    let plain = |b: u8| row.alphabet.has(b) && !b".=-_".contains(&b);
    let proof = dice.text(1, |b| plain(b) && row.proof.is(b));
    let middle = dice.text(len.saturating_sub(2), |b| row.alphabet.has(b) && b != b'.');
    format!("{proof}{middle}{}", dice.text(1, plain))
}

/// Feeds a text in pieces that end at the given positions.
pub(super) fn in_pieces(rules: &Arc<Rules>, text: &str, cuts: impl IntoIterator<Item = usize>) -> (String, Counts) {
    let mut redactor = Redactor::new(rules.clone());
    let (mut out, mut from) = (String::new(), 0);
    for cut in cuts.into_iter().chain([text.len()]) {
        redactor.push(&text[from..cut], &mut out);
        assert!(redactor.held() <= 8192 + 64, "holds {}", redactor.held());
        from = cut;
    }
    redactor.finish(&mut out);
    assert_eq!(redactor.held(), 0);
    (out, Counts(redactor.counts().map(|(kind, count)| (kind.into(), count)).collect()))
}

/// Every position where a text may be cut.
pub(super) fn all_cuts(text: &str) -> Vec<usize> {
    (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect()
}

/// Redacts whole, then with every single cut and character by character; all must be the same.
#[track_caller]
pub(super) fn redact(rules: &Arc<Rules>, text: &str) -> String {
    let (whole, counts) = rules.redact(text);
    for cut in all_cuts(text) {
        let (out, some) = in_pieces(rules, text, [cut]);
        assert_eq!(out, whole, "cut at {cut} of {text:?}");
        assert_eq!(some, counts);
    }
    assert_eq!(in_pieces(rules, text, all_cuts(text)).0, whole, "in characters: {text:?}");
    whole
}

#[test]
fn every_rule_of_the_design_has_a_row_or_a_judge_of_its_own() {
    // 2 exact values, 20 22 34 46 47 48 in named.rs, 43 44 in shape.rs, 49 by patterns of the operator.
    let mut numbers: Vec<u8> =
        ROWS.iter().map(|row| row.number).chain([2, 20, 22, 34, 43, 44, 46, 47, 48, 49]).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers, (1..=49).collect::<Vec<u8>>());
}

#[test]
fn a_job_cannot_count_more_kinds_than_its_outcome_can_say() {
    let extra: Vec<String> = (0..super::MAX_EXTRA).map(|n| format!("extra-{n}=literal{n}_[a-z]{{20}}")).collect();
    let extra: Vec<&str> = extra.iter().map(String::as_str).collect();
    let rules = rules_with(&["some secret value"], &extra);
    assert!(rules.names.len() <= 64, "{}", rules.names.len());
    assert!(rules.names.iter().all(|name| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')));
}

#[test]
fn windows_stay_few_enough_for_a_vectorised_search() {
    let windows = rules().literals.windows();
    assert!(windows.iter().all(|n| (1..=64).contains(n)), "{windows:?}");
}

#[test]
fn kinds_and_counts_add_up() {
    let rules = rules();
    let mut dice = Dice::new(1);
    let key = format!("gh{}_{}", "p", dice.text(36, |b| b.is_ascii_alphanumeric()));
    let (out, mut counts) = rules.redact(&format!("{key} {key}"));
    assert_eq!(out, "[redacted:github] [redacted:github]");
    assert_eq!(counts.iter().collect::<Vec<_>>(), [("github", 2)]);
    counts.add(&rules.redact(&key).1);
    counts.add(&Counts::default());
    assert_eq!(counts.iter().collect::<Vec<_>>(), [("github", 3)]);
    assert!(rules.redact("nothing").1.is_empty());
}

#[test]
fn what_is_shown_of_the_rules_has_no_value_in_it() {
    let rules = rules_with(&["a value to protect"], &[]);
    let shown = format!("{rules:?}");
    assert!(shown.contains("own-secret") && !shown.contains("a value"), "{shown}");
}

pub(super) fn left(row: &Row) -> bool {
    row.edge != Edge::Any
}

pub(super) fn proves_nothing(row: &Row) -> bool {
    row.proof == Proof::None
}
