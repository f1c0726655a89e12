//! The table is what the rules and the character database say.

use super::super::properties::{Bits, Range, has, lookup};
use super::super::rules::Class;
use super::super::table::RANGES;
use regex_syntax::hir::{Class as HirClass, HirKind};
use std::fmt::Write as _;

/// All code points of an expression such as `\p{Emoji}`.
fn set(expression: &str) -> Vec<bool> {
    let hir = regex_syntax::Parser::new().parse(expression).unwrap();
    let HirKind::Class(HirClass::Unicode(class)) = hir.kind() else { panic!("{expression} is no class") };
    let mut all = vec![false; 0x11_0000];
    for range in class.ranges() {
        all[range.start() as usize..=range.end() as usize].fill(true);
    }
    all
}

const BRAHMIC: &str = r"\p{Devanagari}\p{Bengali}\p{Gurmukhi}\p{Gujarati}\p{Oriya}\p{Tamil}\p{Telugu}\p{Kannada}\p{Malayalam}\p{Sinhala}\p{Tibetan}\p{Myanmar}\p{Khmer}\p{Balinese}\p{Sundanese}\p{Batak}\p{Lepcha}\p{Saurashtra}\p{Rejang}\p{Javanese}\p{Cham}\p{Meetei_Mayek}\p{Brahmi}\p{Kaithi}\p{Chakma}\p{Sharada}\p{Khojki}\p{Khudawadi}\p{Grantha}\p{Newa}\p{Tirhuta}\p{Siddham}\p{Modi}\p{Takri}\p{Ahom}\p{Dogra}\p{Nandinagari}\p{Zanabazar_Square}\p{Soyombo}\p{Bhaiksuki}\p{Marchen}\p{Masaram_Gondi}\p{Gunjala_Gondi}\p{Makasar}\p{Kawi}\p{Tulu_Tigalari}\p{Gurung_Khema}\p{Limbu}\p{Buginese}\p{Tagalog}\p{Hanunoo}\p{Buhid}\p{Tagbanwa}\p{Kharoshthi}\p{Syloti_Nagri}\p{Mahajani}\p{Multani}\p{Dives_Akuru}\p{Phags_Pa}";
const CURSIVE: &str = r"\p{Arabic}\p{Syriac}\p{Nko}\p{Mongolian}\p{Mandaic}\p{Manichaean}\p{Adlam}\p{Hanifi_Rohingya}\p{Sogdian}\p{Phags_Pa}";
const SPACELESS: &str = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tai_Le}\p{New_Tai_Lue}\p{Tai_Tham}\p{Tai_Viet}\p{Tibetan}\p{Javanese}\p{Balinese}";

fn properties() -> Vec<(Bits, Vec<bool>)> {
    let within = |scripts: &str, kinds: &str| format!("[[{scripts}]&&[{kinds}]]");
    let all = [
        (has::PICTOGRAPH, r"\p{Extended_Pictographic}".to_owned()),
        (has::EMOJI, r"\p{Emoji}".to_owned()),
        (has::MARK, r"\p{M}".to_owned()),
        (has::VIRAMA, r"\p{Grapheme_Link}".to_owned()),
        (has::BRAHMIC, within(BRAHMIC, r"\p{L}\p{M}")),
        (has::CURSIVE, within(CURSIVE, r"\p{L}")),
        (has::SPACELESS, within(SPACELESS, r"\p{L}\p{M}\p{N}")),
        (has::IDEOGRAPH, r"\p{Unified_Ideograph}".to_owned()),
        (
            has::VARIANTS,
            r"[\p{Han}\p{Myanmar}\p{Phags_Pa}\p{Manichaean}\p{Egyptian_Hieroglyphs}\x{2200}-\x{22FF}\x{2A00}-\x{2AFF}\x{3000}-\x{303F}\x{FF00}-\x{FFEF}0\x{2018}\x{2019}\x{201C}\x{201D}]".to_owned(),
        ),
        (has::MONGOLIAN, within(r"\p{Mongolian}", r"\p{L}\p{M}")),
        (has::JAMO, r"[\x{1100}-\x{11FF}\x{A960}-\x{A97C}\x{D7B0}-\x{D7FB}]".to_owned()),
        (has::BRAILLE, r"[\x{2801}-\x{28FF}]".to_owned()),
        (
            has::RIGHT_TO_LEFT,
            within(r"\x{0590}-\x{08FF}\x{FB1D}-\x{FDFF}\x{FE70}-\x{FEFC}\x{10800}-\x{10FFF}\x{1E800}-\x{1EFFF}", r"\p{L}"),
        ),
        (has::HEBREW, r"\p{Hebrew}".to_owned()),
        (has::MUSIC, r"[\x{1D100}-\x{1D1FF}]".to_owned()),
        (has::HIEROGLYPH, r"[\x{13000}-\x{143FF}]".to_owned()),
        (has::SKIN_TONE, r"\p{Emoji_Modifier}".to_owned()),
    ];
    all.into_iter().map(|(bit, expression)| (bit, set(&expression))).collect()
}

fn expected() -> Vec<Range> {
    let properties = properties();
    let mut ranges: Vec<Range> = Vec::new();
    for c in 0..0x11_0000u32 {
        let class = Class::of(c);
        let all = properties.iter().filter(|(_, set)| class == Class::Plain && set[c as usize]);
        let bits = all.fold(0, |bits, (bit, _)| bits | bit);
        if (class, bits) == (Class::Plain, 0) || char::from_u32(c).is_none() {
            continue;
        }
        match ranges.last_mut() {
            Some(last) if (last.last + 1, last.class, last.bits) == (c, class, bits) => last.last = c,
            _ => ranges.push(Range { first: c, last: c, class, bits }),
        }
    }
    ranges
}

/// The text of table.rs.
fn source(ranges: &[Range]) -> String {
    let mut out = String::from(
        "//! Generated from the rules and from Unicode 16.0 by `tests/properties.rs`, which checks it; not written by hand.\n//!\n\
         //! First and last code point, class, properties (the bits of `properties::has`).\n\nuse super::properties::Range;\n\
         use super::rules::Class::{self, *};\n\nconst fn r(first: u32, last: u32, class: Class, bits: u32) -> Range {\n    \
         Range { first, last, class, bits }\n}\n\n/// In ascending order, none touching another of its kind.\n\
         #[rustfmt::skip]\npub(crate) static RANGES: &[Range] = &[\n",
    );
    let mut line = String::from("   ");
    for range in ranges {
        let item = format!(" r({:#x},{:#x},{:?},{:#x}),", range.first, range.last, range.class, range.bits);
        if line.len() + item.len() > 119 {
            let _ = writeln!(out, "{line}");
            line = String::from("   ");
        }
        line.push_str(&item);
    }
    let _ = writeln!(out, "{line}\n];");
    out
}

#[test]
fn the_table_is_what_the_rules_and_the_character_database_say() {
    let expected = expected();
    assert!(expected == RANGES, "the table differs; as it must be:\n{}", source(&expected));
}

#[test]
fn looking_up_finds_what_the_table_has() {
    let mut at = 0;
    for c in '\0'..=char::MAX {
        let code = u32::from(c);
        while RANGES.get(at).is_some_and(|range| range.last < code) {
            at += 1;
        }
        let range = RANGES.get(at).filter(|range| range.first <= code);
        assert_eq!(lookup(c), range.map_or((Class::Plain, 0), |range| (range.class, range.bits)), "U+{code:04X}");
    }
}
