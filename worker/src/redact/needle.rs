//! What is searched for: a window of three bytes or a few more of each literal of the table, four bytes of each known
//! value. The sets are small enough for a vectorised search, and windows whose third byte is a letter are a set of
//! their own, since a mixture of both lets the vectors stop far too often. Only where one is found is anything looked
//! at closely.
//!
//! Promises: wherever a literal or a form stands, its window or head is found; a literal of which another is the
//! beginning shares its window, so that a family is judged in one place. Refuses to judge.

use super::alphabet::extra_bit;
use super::extra::ExtraPattern;
use super::table::{Edge, Proof, ROWS};
use aho_corasick::packed::{self, MatchKind};
use aho_corasick::{AhoCorasick, Input};
use std::cmp::Reverse;
use zeroize::Zeroizing;

/// Bytes of a window.
const WINDOW: usize = 3;
/// Bytes of the longest string that is searched for.
pub(crate) const WINDOW_MAX: usize = 8;
type Window = [u8; WINDOW];
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

impl Family {
    /// What is searched for when it shares its window with no other.
    fn searched(&self) -> Option<&[u8]> {
        let root = self.literals.last()?;
        root.text.get(self.offset..root.text.len().min(self.offset + WINDOW_MAX))
    }

    /// What may stand at the end of a piece before the search can find the family.
    fn stem(&self) -> Option<&[u8]> {
        let root = self.literals.last()?;
        if matches!(root.follows, Follows::Tail { edge: Edge::Keep, .. }) {
            return None;
        }
        root.text.get(..self.offset + self.searched()?.len() - 1)
    }
}

/// Windows that are searched for together.
pub(crate) struct Windows {
    searcher: Searcher,
    /// For each window the families that have it, those that begin earliest first.
    families: Vec<Vec<Family>>,
}

impl Windows {
    fn new(mut all: Vec<(Window, Vec<Family>)>) -> Option<Self> {
        all.iter_mut().for_each(|(_, families)| families.sort_by_key(|family| Reverse(family.offset)));
        let strings: Vec<&[u8]> = all.iter().map(|(window, families)| longer(window, families)).collect();
        let searcher = Searcher::new(&strings)?;
        Some(Self { searcher, families: all.into_iter().map(|(_, families)| families).collect() })
    }

    /// The next window from `from` on: where, and which.
    pub(crate) fn find(&self, text: &[u8], from: usize) -> Option<(usize, usize)> {
        self.searcher.find(text, from)
    }

    /// The families of a window.
    pub(crate) fn families(&self, window: usize) -> &[Family] {
        self.families.get(window).map_or(&[], Vec::as_slice)
    }
}

/// A window of one family alone takes what follows it: fewer places to look at. No two windows begin alike.
fn longer<'a>(window: &'a Window, families: &'a [Family]) -> &'a [u8] {
    match families {
        [family] => family.searched().unwrap_or(window),
        _ => window,
    }
}

/// All literals, and how they are found.
pub(crate) struct Literals {
    /// Windows that end in a letter or a digit.
    pub(crate) plain: Windows,
    /// The others.
    pub(crate) marked: Windows,
    /// The one literal that is too short for a window, found by [`SHORT`].
    pub(crate) short: Family,
    /// What may stand at the end of a piece, before a literal can be found. By first byte.
    stems: Box<[Vec<Box<[u8]>>; 256]>,
    /// The longest of them.
    stem_max: usize,
}

impl Literals {
    /// Of the table and the operator's patterns. `kind` numbers a kind.
    pub(crate) fn new(extra: &[ExtraPattern], mut kind: impl FnMut(&str) -> usize) -> Option<Self> {
        let mut all = all_literals(extra, &mut kind);
        all.sort_by_key(|literal| literal.text.len());
        let short = Family { offset: 0, literals: all.extract_if(.., |literal| literal.text.len() < WINDOW).collect() };
        let mut windows: Vec<(Window, Vec<Family>)> = Vec::new();
        for mut family in into_families(all) {
            let (offset, window) = choose_window(&family.literals.last()?.text, &windows)?;
            family.offset = offset;
            match windows.iter_mut().find(|(known, _)| *known == window) {
                Some((_, families)) => families.push(family),
                None => windows.push((window, vec![family])),
            }
        }
        let all_stems =
            windows.iter().flat_map(|(_, families)| families).filter_map(Family::stem).chain(SHORT.get(..1));
        let mut stems = Box::new([const { Vec::new() }; 256]);
        let mut stem_max = 0;
        for stem in all_stems {
            stem_max = stem_max.max(stem.len());
            stems.get_mut(usize::from(*stem.first()?))?.push(stem.into());
        }
        let (plain, marked) = windows.into_iter().partition(|([.., last], _)| last.is_ascii_alphanumeric());
        Some(Self { plain: Windows::new(plain)?, marked: Windows::new(marked)?, short, stems, stem_max })
    }

    /// The earliest position in the text from which on it may become a literal that begins a word.
    pub(crate) fn unfinished(&self, text: &[u8]) -> usize {
        let first = text.len().saturating_sub(self.stem_max);
        let begins = |at: &usize| {
            let rest = text.get(*at..).unwrap_or_default();
            let stems = rest.first().and_then(|b| self.stems.get(usize::from(*b)));
            let stems = stems.filter(|stems| !stems.is_empty() && word_edge(text, *at));
            stems.is_some_and(|stems| stems.iter().any(|stem| stem.starts_with(rest)))
        };
        (first..text.len()).find(begins).unwrap_or(text.len())
    }
}

/// Whether no letter, digit or `_` stands before a position. The letter of an escape such as `\n` is none.
pub(crate) fn word_edge(text: &[u8], at: usize) -> bool {
    let before = |by| at.checked_sub(by).and_then(|at| text.get(at));
    let escape = || matches!(before(1), Some(b'n' | b'r' | b't' | b'b' | b'f')) && before(2) == Some(&b'\\');
    !before(1).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') || escape()
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

/// Literals that begin with another join its family. They come shortest first.
fn into_families(all: Vec<Literal>) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    for literal in all {
        let root = |family: &&mut Family| family.literals.iter().any(|known| literal.text.starts_with(&known.text));
        match families.iter_mut().find(root) {
            Some(family) => family.literals.insert(0, literal),
            None => families.push(Family { offset: 0, literals: vec![literal] }),
        }
    }
    families
}

/// The window that ordinary text has least often, one in use already before a new one.
fn choose_window(literal: &[u8], used: &[(Window, Vec<Family>)]) -> Option<(usize, Window)> {
    let all = literal.array_windows::<WINDOW>().copied().enumerate();
    let rank = |(at, window): &(usize, Window)| {
        let rarity: u32 = window.iter().map(|b| rarity(*b)).sum();
        (used.iter().any(|(known, _)| known == window), rarity, Reverse(*at))
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

/// A set of short strings of which none begins another, searched for all at once.
pub(crate) enum Searcher {
    /// With the vectors of this processor.
    Packed(Box<packed::Searcher>),
    /// Where it has none, or for a large set.
    Automaton(Box<AhoCorasick>),
}

impl Searcher {
    pub(crate) fn new(strings: &[&[u8]]) -> Option<Self> {
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
        let heads: Vec<&[u8]> = by_head.iter().map(|(head, _)| head.as_slice()).collect();
        let heads = Searcher::new(&heads)?;
        Some(Self { heads, by_head })
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
    pub(crate) fn windows(&self) -> [usize; 2] {
        [self.plain.families.len(), self.marked.families.len()]
    }
}
