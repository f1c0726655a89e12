//! What stays before a character, as far as the rules ask.

use super::properties::{Bits, has, lookup};
use super::rules::Class;

/// Most marks on one base (UAX #15, stream-safe text).
const MARKS_MAX: u32 = 30;

/// What was kept so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Context {
    /// Properties of the last character, if it was a plain one.
    last: Bits,
    /// Properties of the last plain character that is a base: no mark, no skin tone.
    pub(crate) base: Bits,
    /// Class of the last character, and how many of it stand in a row.
    run: (Option<Class>, u32),
    /// Marks on the last base.
    pub(crate) marks: u32,
    /// Whether the last character is U+1F3F4.
    pub(crate) black_flag: bool,
    /// The last character, if it is one of direction.
    pub(crate) direction: Option<char>,
    /// Whether the paragraph has a right-to-left letter.
    pub(crate) right_to_left: bool,
    /// Ideographs of the whole text.
    pub(crate) ideographs: u32,
    /// Ideographic selectors of the whole text.
    pub(crate) ideograph_selectors: u32,
}

impl Context {
    /// Whether the last character is a plain one with one of these properties.
    pub(crate) fn last_has(&self, bits: Bits) -> bool {
        self.last & bits != 0
    }

    /// How many characters of a class stand right before.
    pub(crate) fn run(&self, class: Class) -> u32 {
        if self.run.0 == Some(class) { self.run.1 } else { 0 }
    }

    /// A plain character stays.
    pub(crate) fn plain(&mut self, c: char, bits: Bits) {
        self.last = bits;
        self.run = (None, 0);
        self.direction = None;
        self.black_flag = c == '\u{1f3f4}';
        self.marks = if bits & has::MARK != 0 { self.marks.saturating_add(1) } else { 0 };
        if bits & (has::MARK | has::SKIN_TONE) == 0 {
            self.base = bits;
        }
        if matches!(c, '\n' | '\r') {
            self.right_to_left = false;
        }
        self.right_to_left |= bits & has::RIGHT_TO_LEFT != 0;
        self.ideographs = self.ideographs.saturating_add(u32::from(bits & has::IDEOGRAPH != 0));
    }

    /// Whether a plain character may stay: a mark, if its base does not carry too many.
    pub(crate) fn takes(&self, bits: Bits) -> bool {
        bits & has::MARK == 0 || self.marks < MARKS_MAX
    }

    /// A run of plain ASCII characters stays.
    pub(crate) fn ascii(&mut self, run: &str) {
        let Some(last) = run.chars().next_back() else { return };
        if self.right_to_left && run.bytes().any(|b| matches!(b, b'\n' | b'\r')) {
            self.right_to_left = false;
        }
        self.plain(last, lookup(last).1);
    }

    /// A character of another class stays.
    pub(crate) fn special(&mut self, c: char, class: Class) {
        self.run = (Some(class), self.run(class).saturating_add(1));
        self.last = 0;
        self.black_flag = false;
        self.direction = Some(c).filter(|_| class == Class::BidiSoft);
        self.ideograph_selectors =
            self.ideograph_selectors.saturating_add(u32::from(class == Class::IdeographSelector));
    }
}
