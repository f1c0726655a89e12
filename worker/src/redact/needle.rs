//! What is searched for in one pass: a window of three bytes for each literal of the table, four bytes for each known
//! value. Both sets are small enough for a vectorised search; only where one is found is anything looked at closely.
//!
//! Promises: wherever a literal or a form stands, its window or head is found; a literal of which another is the
//! beginning shares its window, so that a family is judged in one place. Refuses to judge.

use super::alphabet::extra_bit;
use super::extra::ExtraPattern;
use super::table::{Edge, Proof, ROWS};
use aho_corasick::packed::{self, MatchKind};
use aho_corasick::{AhoCorasick, Input};
use zeroize::Zeroizing;

/// Bytes of a window.
pub(crate) const WINDOW: usize = 3;
/// The one literal of the table that is shorter than a window.
pub(crate) const SHORT: &[u8] = b"SK";
/// Bytes of a head.
pub(crate) const HEAD: usize = 4;

/// What must follow a literal.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Follows {
    /// At least so many characters of an alphabet, given by its bit.
    Tail { min: usize, bit: u32, edge: Edge, proof: Proof },
    /// The rest of a JSON web token.
    Token,
    /// The rest of a private key block.
    KeyBlock,
}

/// One literal.
#[derive(Debug)]
pub(crate) struct Literal {
    pub(crate) text: Box<[u8]>,
    /// Index into the kinds.
    pub(crate) kind: usize,
    pub(crate) follows: Follows,
}

impl Literal {
    /// Whether a word character may stand before it.
    pub(crate) fn needs_edge(&self) -> bool {
        match self.follows {
            Follows::Tail { edge, .. } => edge != Edge::Any,
            Follows::Token => true,
            Follows::KeyBlock => false,
        }
    }
}

/// Literals that begin alike, longest first.
#[derive(Debug)]
pub(crate) struct Family {
    /// Where the window stands in each of them.
    pub(crate) offset: usize,
    pub(crate) literals: Vec<Literal>,
}

/// All literals, and how they are found.
pub(crate) struct Literals {
    windows: Searcher,
    /// For each window the families that have it, those that begin earliest first.
    by_window: Vec<Vec<Family>>,
    /// The one literal that is too short for a window.
    short: Family,
    /// What may stand at the end of a piece, before the window of a literal is complete.
    stems: Vec<Box<[u8]>>,
    /// The longest stem.
    stem_max: usize,
}

impl Literals {
    /// Of the table and the operator's patterns. `kind` numbers a kind.
    pub(crate) fn new(extra: &[ExtraPattern], mut kind: impl FnMut(&str) -> usize) -> Option<Self> {
        let mut families: Vec<Family> = Vec::new();
        let mut windows: Vec<[u8; WINDOW]> = Vec::new();
        let mut by_window: Vec<Vec<Family>> = Vec::new();
        let mut all = all_literals(extra, &mut kind);
        all.sort_by_key(|literal| literal.text.len());
        let short = Family { offset: 0, literals: all.extract_if(.., |literal| literal.text.len() < WINDOW).collect() };
        for literal in all {
            let root = |family: &&mut Family| family.literals.iter().any(|known| literal.text.starts_with(&known.text));
            match families.iter_mut().find(root) {
                Some(family) => family.literals.insert(0, literal),
                None => families.push(Family { offset: 0, literals: vec![literal] }),
            }
        }
        let mut stems: Vec<Box<[u8]>> = Vec::new();
        for mut family in families {
            let Some(root) = family.literals.last() else { continue };
            let (offset, window) = choose_window(&root.text, &windows)?;
            family.offset = offset;
            if !matches!(root.follows, Follows::Tail { edge: Edge::Keep, .. }) {
                stems.extend(root.text.get(..offset + WINDOW - 1).map(Box::from));
            }
            match windows.iter().position(|known| *known == window) {
                Some(at) => by_window.get_mut(at)?.push(family),
                None => {
                    windows.push(window);
                    by_window.push(vec![family]);
                }
            }
        }
        by_window.iter_mut().for_each(|families| families.sort_by_key(|family| std::cmp::Reverse(family.offset)));
        stems.extend(short.literals.iter().filter_map(|literal| literal.text.get(..1).map(Box::from)));
        let stem_max = stems.iter().map(|stem| stem.len()).max().unwrap_or(0);
        Some(Self { windows: Searcher::new(&windows)?, by_window, short, stems, stem_max })
    }

    /// The next window from `from` on: where, and the families that have it.
    pub(crate) fn find(&self, text: &[u8], from: usize) -> Option<(usize, usize)> {
        self.windows.find(text, from)
    }

    /// The families of a window.
    pub(crate) fn families(&self, window: usize) -> &[Family] {
        self.by_window.get(window).map_or(&[], Vec::as_slice)
    }

    /// What is found by [`SHORT`].
    pub(crate) fn short(&self) -> &Family {
        &self.short
    }

    /// The earliest position in the text from which on it may become a literal that begins a word.
    pub(crate) fn unfinished(&self, text: &[u8]) -> usize {
        let first = text.len().saturating_sub(self.stem_max);
        let begins = |at: &usize| {
            let rest = text.get(*at..).unwrap_or_default();
            word_edge(text, *at) && self.stems.iter().any(|stem| stem.starts_with(rest))
        };
        (first..text.len()).find(begins).unwrap_or(text.len())
    }
}

/// Whether no letter, digit or `_` stands before a position.
pub(crate) fn word_edge(text: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| text.get(at));
    !before.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
}

fn all_literals(extra: &[ExtraPattern], kind: &mut impl FnMut(&str) -> usize) -> Vec<Literal> {
    let mut all = Vec::new();
    let mut add = |text: &str, kind: usize, follows| all.push(Literal { text: text.as_bytes().into(), kind, follows });
    for (at, pattern) in extra.iter().enumerate() {
        let follows = Follows::Tail { min: pattern.tail, bit: extra_bit(at), edge: Edge::Any, proof: Proof::None };
        add(&pattern.literal, kind(&pattern.kind), follows);
    }
    for row in ROWS {
        let bit = row.alphabet.bit();
        let follows = Follows::Tail { min: row.tail, bit, edge: row.edge, proof: row.proof };
        row.literals.iter().for_each(|literal| add(literal, kind(row.kind), follows));
    }
    add("eyJ", kind("jwt"), Follows::Token);
    add("-----BEGIN ", kind("private-key"), Follows::KeyBlock);
    all
}

/// The window that ordinary text has least often, one in use already before a new one.
fn choose_window(literal: &[u8], used: &[[u8; WINDOW]]) -> Option<(usize, [u8; WINDOW])> {
    let all = literal.array_windows::<WINDOW>().copied().enumerate();
    let rank = |(at, window): &(usize, [u8; WINDOW])| {
        let rarity: u32 = window.iter().map(|b| rarity(*b)).sum();
        (used.contains(window), rarity, std::cmp::Reverse(*at))
    };
    all.max_by_key(rank)
}

/// How seldom a byte is in prose and source text, roughly in bits.
fn rarity(b: u8) -> u32 {
    match b {
        b'e' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' | b' ' => 3,
        b'h' | b'l' | b'd' | b'c' | b'u' | b'm' | b'f' | b'p' => 5,
        b'a'..=b'z' | b'-' | b'.' => 6,
        _ => 8,
    }
}

/// A set of short strings of one length, searched for all at once.
pub(crate) enum Searcher {
    /// With the vectors of this processor.
    Packed(Box<packed::Searcher>),
    /// Where it has none, or for a large set.
    Automaton(Box<AhoCorasick>),
}

impl Searcher {
    pub(crate) fn new<const N: usize>(strings: &[[u8; N]]) -> Option<Self> {
        if strings.len() <= 128 {
            let mut config = packed::Config::new();
            config.match_kind(MatchKind::LeftmostFirst).heuristic_pattern_limits(false);
            if let Some(searcher) = config.builder().extend(strings).build() {
                return Some(Self::Packed(Box::new(searcher)));
            }
        }
        AhoCorasick::new(strings).ok().map(|automaton| Self::Automaton(Box::new(automaton)))
    }

    /// The next of them from `from` on: where, and which.
    pub(crate) fn find(&self, text: &[u8], from: usize) -> Option<(usize, usize)> {
        if from >= text.len() {
            return None;
        }
        let found = match self {
            Self::Packed(searcher) => searcher.find_in(text, aho_corasick::Span { start: from, end: text.len() }),
            Self::Automaton(automaton) => automaton.find(Input::new(text).range(from..)),
        };
        found.map(|found| (found.start(), found.pattern().as_usize()))
    }
}

/// All forms of the known values, and how they are found.
pub(crate) struct Forms {
    heads: Searcher,
    /// For each head the forms that begin with it, longest first.
    by_head: Vec<([u8; HEAD], Vec<Zeroizing<String>>)>,
}

impl Forms {
    /// `None` without any.
    pub(crate) fn new(forms: Vec<Zeroizing<String>>) -> Option<Self> {
        let mut by_head: Vec<([u8; HEAD], Vec<Zeroizing<String>>)> = Vec::new();
        for form in forms {
            let Some(head) = form.as_bytes().first_chunk().copied() else { continue };
            match by_head.iter_mut().find(|(known, _)| *known == head) {
                Some((_, forms)) => forms.push(form),
                None => by_head.push((head, vec![form])),
            }
        }
        if by_head.is_empty() {
            return None;
        }
        let heads: Vec<[u8; HEAD]> = by_head.iter().map(|(head, _)| *head).collect();
        Some(Self { heads: Searcher::new(&heads)?, by_head })
    }

    /// The next head from `from` on: where, and which.
    pub(crate) fn find(&self, text: &[u8], from: usize) -> Option<(usize, usize)> {
        self.heads.find(text, from)
    }

    /// The forms of a head.
    pub(crate) fn of(&self, head: usize) -> &[Zeroizing<String>] {
        self.by_head.get(head).map_or(&[], |(_, forms)| forms.as_slice())
    }

    /// The earliest position in the text from which on it may become a head.
    pub(crate) fn unfinished(&self, text: &[u8]) -> usize {
        let first = text.len().saturating_sub(HEAD - 1);
        let begins = |at: &usize| {
            let rest = text.get(*at..).unwrap_or_default();
            self.by_head.iter().any(|(head, _)| head.starts_with(rest))
        };
        (first..text.len()).find(begins).unwrap_or(text.len())
    }
}

#[cfg(test)]
impl Literals {
    pub(crate) fn windows(&self) -> usize {
        self.by_window.len()
    }
}
