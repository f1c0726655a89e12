//! Follows an escape sequence of a terminal from its second character to its end (ECMA-48, and what xterm adds).
//!
//! Promises: an end in any case. A string that nobody terminates ends with its line, or after [`STRING_MAX`]
//! characters; what follows is text again, harmless without its introducer.

/// Longest string of an OSC, DCS, SOS, PM or APC, characters.
const STRING_MAX: u16 = 1024;
/// Most parameters and intermediates, characters.
const PARAMETERS_MAX: u16 = 64;

/// Where in a sequence the text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sequence {
    /// After ESC.
    Escape,
    /// After ESC and intermediates.
    Intermediate,
    /// In a control sequence, with so many characters.
    Control(u16),
    /// In a string, with so many characters.
    String(u16),
    /// After an ESC inside a string.
    StringEscape,
}

/// What a character does to a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It belongs to it.
    On(Sequence),
    /// It is its last.
    Last,
    /// It does not belong to it, which is over.
    Over,
}

impl Sequence {
    /// What an introducer begins.
    pub(crate) const fn begin(c: char) -> Self {
        match c {
            '\u{9b}' => Self::Control(0),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => Self::String(0),
            _ => Self::Escape,
        }
    }

    /// The next character.
    pub(crate) const fn step(self, c: char) -> Step {
        match (self, c) {
            (Self::StringEscape, '\\') => Step::Last,
            (Self::Escape | Self::StringEscape, '[') => Step::On(Self::Control(0)),
            (Self::Escape | Self::StringEscape, ']' | 'P' | '_' | '^' | 'X') => Step::On(Self::String(0)),
            (Self::Escape | Self::StringEscape | Self::Intermediate, ' '..='/') => Step::On(Self::Intermediate),
            (Self::Escape | Self::StringEscape | Self::Intermediate, '0'..='~') => Step::Last,
            (Self::Control(n @ 0..PARAMETERS_MAX), ' '..='?') => Step::On(Self::Control(n + 1)),
            (Self::Control(_), '@'..='~') => Step::Last,
            (Self::String(_), '\u{7}' | '\u{9c}') => Step::Last,
            (Self::String(_), '\u{1b}') => Step::On(Self::StringEscape),
            (Self::String(_), '\n' | '\r' | '\u{18}' | '\u{1a}') => Step::Over,
            (Self::String(n @ 0..STRING_MAX), _) => Step::On(Self::String(n + 1)),
            _ => Step::Over,
        }
    }
}
