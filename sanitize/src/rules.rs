//! The rules: which characters are looked at, and when one of them may stay.
//!
//! Promises: a character stays only for a reason named here, found in what stays before it and in the plain character
//! after it; so what was cleaned once is clean. Refuses to know how the text arrives.
//!
//! From UAX #31 and RFC 5892 A.1, A.2 (joiners in context), UTS #51 (emoji sequences, the three flags), UAX #15 (30
//! marks), CVE-2021-42574 (bidirectional controls).

use super::context::Context;
use super::properties::{Bits, has, lookup};

/// Classes of characters that are looked at. The words go to the audit and to callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Class {
    /// Nothing to look at.
    Plain = 0,
    /// Noncharacters: no text has them. Replaced by U+FFFD.
    Encoding,
    /// Begins an escape sequence; all of it goes.
    Ansi,
    /// Controls other than tab, line feed and carriage return.
    Control,
    /// Line separators that only some programs see; become a line feed.
    LineSeparator,
    /// Tag characters: spell an invisible ASCII text, or the flag of England, Scotland or Wales.
    Tag,
    /// Embeddings and overrides of direction, and deprecated controls. Always go.
    BidiHard,
    /// Isolates and marks of direction. Stay in a paragraph that has a right-to-left letter.
    BidiSoft,
    /// Zero width space. Stays between letters of scripts that write no spaces.
    ZeroWidthSpace,
    /// Zero width (non-)joiner. Stays where a script or an emoji needs it.
    Joiner,
    /// Text or emoji presentation. One stays after an emoji.
    EmojiSelector,
    /// Variation selectors 1 to 14. One stays after a character that has standardised variants.
    Selector,
    /// Ideographic variation selectors. One stays after an ideograph, few in a text.
    IdeographSelector,
    /// Mongolian selectors and vowel separator. Stay after a Mongolian letter.
    Mongolian,
    /// Hangul fillers. Stay beside conjoining jamo.
    Filler,
    /// Fillers that no text needs. Always go.
    DeadFiller,
    /// The blank pattern of braille. Stays beside braille.
    Braille,
    /// Combining grapheme joiner. Stays between marks.
    GraphemeJoiner,
    /// Other characters that show nothing. Always go.
    Invisible,
    /// Controls of musical notation. Stay beside it.
    Musical,
    /// Controls of hieroglyphs. Stay beside them.
    Hieroglyph,
    /// Marks stacked higher than any script does.
    Zalgo,
    /// Private use. Always stays, and is counted.
    Private,
}

impl Class {
    /// All that are counted; both sorts of fillers as one.
    pub(crate) const ALL: [Self; 21] = [
        Self::Encoding,
        Self::Ansi,
        Self::Control,
        Self::LineSeparator,
        Self::Tag,
        Self::BidiHard,
        Self::BidiSoft,
        Self::ZeroWidthSpace,
        Self::Joiner,
        Self::EmojiSelector,
        Self::Selector,
        Self::IdeographSelector,
        Self::Mongolian,
        Self::Filler,
        Self::Braille,
        Self::GraphemeJoiner,
        Self::Invisible,
        Self::Musical,
        Self::Hieroglyph,
        Self::Zalgo,
        Self::Private,
    ];

    /// Its word.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Encoding => "encoding",
            Self::Ansi => "ansi",
            Self::Control => "control",
            Self::LineSeparator => "linesep",
            Self::Tag => "tag",
            Self::BidiHard => "bidi-hard",
            Self::BidiSoft => "bidi-soft",
            Self::ZeroWidthSpace => "zwsp",
            Self::Joiner => "joiner",
            Self::EmojiSelector => "vs-emoji",
            Self::Selector => "vs-std",
            Self::IdeographSelector => "ivs",
            Self::Mongolian => "mongolian",
            Self::Filler => "filler",
            Self::DeadFiller => "dead-filler",
            Self::Braille => "braille",
            Self::GraphemeJoiner => "cgj",
            Self::Invisible => "invisible",
            Self::Musical => "musical",
            Self::Hieroglyph => "hieroglyph",
            Self::Zalgo => "zalgo",
            Self::Private => "private",
        }
    }

    /// The class of a code point. Marks are told by their property, not here.
    #[cfg_attr(not(test), expect(dead_code, reason = "the generated table holds the answers; a test compares both"))]
    pub(crate) const fn of(c: u32) -> Self {
        match c {
            0x09 | 0x0a | 0x0d => Self::Plain,
            0x85 | 0x2028 | 0x2029 => Self::LineSeparator,
            0x1b | 0x90 | 0x98 | 0x9b | 0x9d..=0x9f => Self::Ansi, // ESC, DCS, SOS, CSI, OSC, PM, APC
            0x00..=0x1f | 0x7f..=0x9f => Self::Control,
            0xe0000..=0xe007f => Self::Tag,
            0x202a..=0x202e | 0x206a..=0x206f => Self::BidiHard,
            0x2066..=0x2069 | 0x200e | 0x200f | 0x061c => Self::BidiSoft,
            0x200b => Self::ZeroWidthSpace,
            0x200c | 0x200d => Self::Joiner,
            0xfe0e | 0xfe0f => Self::EmojiSelector,
            0xfe00..=0xfe0d => Self::Selector,
            0xe0100..=0xe01ef => Self::IdeographSelector,
            0x180b..=0x180f => Self::Mongolian,
            0x115f | 0x1160 => Self::Filler,
            0x3164 | 0xffa0 | 0x17b4 | 0x17b5 | 0x1d159 => Self::DeadFiller,
            0x2800 => Self::Braille,
            0x034f => Self::GraphemeJoiner,
            0x00ad | 0x2060..=0x2065 | 0xfeff | 0xfff0..=0xfffc => Self::Invisible,
            0x1bca0..=0x1bca3 => Self::Invisible, // controls of a shorthand
            0xe0080..=0xe00ff | 0xe01f0..=0xe0fff => Self::Invisible, // not assigned, and declared to show nothing
            0x1d173..=0x1d17a => Self::Musical,
            0x13430..=0x13455 => Self::Hieroglyph,
            0xfdd0..=0xfdef => Self::Encoding,
            _ if c & 0xfffe == 0xfffe => Self::Encoding,
            0xe000..=0xf8ff | 0xf0000..=0xffffd | 0x100000..=0x10fffd => Self::Private,
            _ => Self::Plain,
        }
    }
}

/// What happens to a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ruling {
    /// It stays.
    Keep,
    /// So many bytes stay, a whole sequence.
    KeepRun(usize),
    /// It goes.
    Drop,
    /// More text is needed.
    Wait,
}

/// Ideographic selectors that may stay in any text; above, one for ten ideographs.
const IVS_MIN: u32 = 8;
/// How far a right-to-left letter is looked for after a mark of direction, bytes.
pub(crate) const AHEAD: usize = 512;
const FLAGS: [&str; 3] = [
    "\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}", // England
    "\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}", // Scotland
    "\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}", // Wales
];

/// Rules on `c` of a class, given what stays before it and the text after it; `end`: nothing follows that.
pub(crate) fn rule(class: Class, c: char, context: &Context, after: &str, end: bool) -> Ruling {
    let next = || {
        let next = after.chars().next();
        if next.is_none() && !end { Err(Ruling::Wait) } else { Ok(next.map_or(0, |next| plain(lookup(next)))) }
    };
    let stays = match class {
        Class::Plain | Class::Private => Ok(true),
        Class::Tag => return rule_tag(c, context, after, end),
        Class::Joiner => rule_joiner(c, context, after, end),
        Class::ZeroWidthSpace if context.last_has(has::SPACELESS) => next().map(|next| next & has::SPACELESS != 0),
        Class::EmojiSelector => Ok(context.last_has(has::EMOJI)),
        Class::Selector => Ok(context.last_has(has::VARIANTS)),
        Class::IdeographSelector => {
            let limit = IVS_MIN.max(context.ideographs / 10);
            Ok(context.last_has(has::IDEOGRAPH) && context.ideograph_selectors < limit)
        }
        Class::Mongolian => Ok(context.last_has(has::MONGOLIAN) || context.run(Class::Mongolian) == 1),
        Class::Filler if context.last_has(has::JAMO) => Ok(true),
        Class::Filler => next().map(|next| next & has::JAMO != 0),
        Class::Braille if context.last_has(has::BRAILLE) || context.run(Class::Braille) > 0 => Ok(true),
        Class::Braille => next().map(|next| next & has::BRAILLE != 0),
        Class::GraphemeJoiner if context.last_has(has::MARK | has::HEBREW) && context.takes(has::MARK) => {
            next().map(|next| next & has::MARK != 0)
        }
        Class::Musical if context.last_has(has::MUSIC) || context.run(Class::Musical) > 0 => Ok(true),
        Class::Musical => next().map(|next| next & has::MUSIC != 0),
        Class::Hieroglyph if context.last_has(has::HIEROGLYPH) || context.run(Class::Hieroglyph) > 0 => Ok(true),
        Class::Hieroglyph => next().map(|next| next & has::HIEROGLYPH != 0),
        Class::ZeroWidthSpace | Class::GraphemeJoiner => Ok(false),
        Class::Encoding | Class::Ansi | Class::Control | Class::LineSeparator => Ok(false),
        Class::BidiHard | Class::DeadFiller | Class::Invisible | Class::Zalgo => Ok(false),
        Class::BidiSoft => Ok(context.right_to_left), // the stream looks ahead
    };
    match stays {
        Ok(true) => Ruling::Keep,
        Ok(false) => Ruling::Drop,
        Err(ruling) => ruling,
    }
}

/// The properties of a character that is sure to stay; none of one that is itself looked at.
fn plain((class, bits): (Class, Bits)) -> Bits {
    match class {
        Class::Plain | Class::Zalgo => bits | has::PLAIN,
        _ => 0,
    }
}

fn rule_joiner(c: char, context: &Context, after: &str, end: bool) -> Result<bool, Ruling> {
    let run = context.run(Class::Joiner);
    let joined = context.base & has::CURSIVE != 0;
    if run >= 2 || (run == 1 && !joined) {
        return Ok(false);
    }
    if joined || context.last_has(has::VIRAMA) {
        return Ok(true);
    }
    let next = match after.chars().next() {
        Some(next) => plain(lookup(next)),
        None if end => has::PLAIN,
        None => return Err(Ruling::Wait),
    };
    let emoji = c == '\u{200d}' && context.base & has::PICTOGRAPH != 0 && next & has::PICTOGRAPH != 0;
    let brahmic = context.last_has(has::BRAHMIC) && next & has::PLAIN != 0;
    Ok(next & has::CURSIVE != 0 || emoji || brahmic)
}

fn rule_tag(c: char, context: &Context, after: &str, end: bool) -> Ruling {
    if !context.black_flag {
        return Ruling::Drop;
    }
    let mut maybe = false;
    for rest in FLAGS.iter().filter_map(|flag| flag.strip_prefix(c)) {
        if after.starts_with(rest) {
            return Ruling::KeepRun(c.len_utf8() + rest.len());
        }
        maybe |= !end && rest.starts_with(after);
    }
    if maybe { Ruling::Wait } else { Ruling::Drop }
}
