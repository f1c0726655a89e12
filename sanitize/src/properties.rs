//! What a character is: its class and the properties that the rules ask for, from one table.
//!
//! The table holds Unicode 16.0. `tests/properties.rs` builds it from the rules and from the character database and
//! compares; when it differs, the test prints the table as it must be.

use super::rules::Class;
use super::table::RANGES;

/// A set of properties.
pub(crate) type Bits = u32;

/// The properties.
pub(crate) mod has {
    use super::Bits;

    /// Extended_Pictographic.
    pub(crate) const PICTOGRAPH: Bits = 1;
    /// Emoji.
    pub(crate) const EMOJI: Bits = 1 << 1;
    /// General category M.
    pub(crate) const MARK: Bits = 1 << 2;
    /// Canonical combining class 9.
    pub(crate) const VIRAMA: Bits = 1 << 3;
    /// Letter or mark of a Brahmic script.
    pub(crate) const BRAHMIC: Bits = 1 << 4;
    /// Letter of a script whose letters join.
    pub(crate) const CURSIVE: Bits = 1 << 5;
    /// Letter, mark or digit of a script that writes no spaces between words.
    pub(crate) const SPACELESS: Bits = 1 << 6;
    /// Unified_Ideograph.
    pub(crate) const IDEOGRAPH: Bits = 1 << 7;
    /// May have standardised variants.
    pub(crate) const VARIANTS: Bits = 1 << 8;
    /// Mongolian letter.
    pub(crate) const MONGOLIAN: Bits = 1 << 9;
    /// Conjoining jamo.
    pub(crate) const JAMO: Bits = 1 << 10;
    /// Braille pattern that is not blank.
    pub(crate) const BRAILLE: Bits = 1 << 11;
    /// Right-to-left letter.
    pub(crate) const RIGHT_TO_LEFT: Bits = 1 << 12;
    /// Hebrew.
    pub(crate) const HEBREW: Bits = 1 << 13;
    /// Musical symbol.
    pub(crate) const MUSIC: Bits = 1 << 14;
    /// Egyptian hieroglyph.
    pub(crate) const HIEROGLYPH: Bits = 1 << 15;
    /// Emoji modifier.
    pub(crate) const SKIN_TONE: Bits = 1 << 16;
    /// Set by the rules for a character that is sure to stay; in no range.
    pub(crate) const PLAIN: Bits = 1 << 23;
}

/// Code points that are all alike. What is in no range is a plain character without a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) class: Class,
    pub(crate) bits: Bits,
}

/// Code points are looked for among the ranges of their block.
const BLOCK: u32 = 1 << 7;
const BLOCKS: usize = (0x11_0000 / BLOCK) as usize;

/// For each block the first range that ends in it or later.
static INDEX: [u16; BLOCKS + 1] = index();

const fn index() -> [u16; BLOCKS + 1] {
    let mut index = [0u16; BLOCKS + 1];
    let (mut block, mut at) = (0, 0);
    let mut ranges: &[Range] = RANGES;
    while block <= BLOCKS {
        while let [first, rest @ ..] = ranges {
            if first.last >= block as u32 * BLOCK {
                break;
            }
            ranges = rest;
            at += 1;
        }
        if let Some(slot) = index.split_at_mut(block).1.first_mut() {
            *slot = at;
        }
        block += 1;
    }
    index
}

// Look-ups of this thread, for the test of linearity.
#[cfg(test)]
thread_local!(pub(crate) static LOOKUPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) });

/// Class and properties of a character.
pub(crate) fn lookup(c: char) -> (Class, Bits) {
    #[cfg(test)]
    LOOKUPS.with(|n| n.set(n.get() + 1));
    let c = u32::from(c);
    let block = (c / BLOCK) as usize;
    let first = INDEX.get(block).copied().unwrap_or(0);
    let last = INDEX.get(block + 1).copied().unwrap_or(0);
    let ranges = RANGES.get(usize::from(first)..=usize::from(last)).or(RANGES.get(usize::from(first)..));
    let range = ranges.unwrap_or_default().iter().find(|range| c <= range.last);
    range.filter(|range| range.first <= c).map_or((Class::Plain, 0), |range| (range.class, range.bits))
}
