//! Honest texts of many scripts stay whole.

use super::*;

/// One sample of a script or a habit of writing, with what it needs.
const SAMPLES: &[(&str, &str)] = &[
    ("english", "The quick brown fox — “jumps” over the lazy dog’s bed… naïve café, £5 №3\n\tand so on."),
    ("thai", "ภาษาไทยไม่เว้นวรรคระหว่างคำ น้ำใจ กำลัง ก็ ฯลฯ ๑๒๓ ๆ"),
    ("thai with breaks", "ภาษา\u{200b}ไทย\u{200b}ไม่\u{200b}เว้น\u{200b}วรรค"),
    ("lao", "ພາສາ\u{200b}ລາວ\u{200b}ບໍ່\u{200b}ຍະ\u{200b}ຫວ່າງ"),
    ("khmer", "ភាសា\u{200b}ខ្មែរ\u{200b}មិន\u{200b}ដក\u{200b}ឃ្លា ក្ស\u{200c}ិ"),
    ("burmese", "မြန်မာ\u{200b}စာ\u{200b}သည် မ\u{fe00}"),
    ("tibetan", "བོད་ཡིག་\u{f0b}ཡིན་"),
    ("hindi", "क्\u{200d}ष क्\u{200c}ष हिन्दी में श्री र्\u{200d}य रु\u{200d}"),
    ("marathi", "दर्\u{200d}या वाऱ्\u{200d}याने"),
    ("nepali", "गर्\u{200d}यो"),
    ("bengali", "র\u{200d}্যাব ক্\u{200c}ষ বাংলা উৎ"),
    ("gujarati", "ગુજરાતી ક્\u{200d}ષ"),
    ("punjabi", "ਪੰਜਾਬੀ ਖ਼ਾਲਸਾ"),
    ("odia", "ଓଡ଼ିଆ କ୍\u{200c}ଷ"),
    ("tamil", "தமிழ் க்\u{200c}ஷ ஸ்ரீ"),
    ("telugu", "తెలుగు క్\u{200c}ష న్\u{200c}"),
    ("kannada", "ರ\u{200d}್ಕ ಕನ್ನಡ ಕ್\u{200c}ಷ"),
    ("malayalam", "അവന്\u{200d} പാല്\u{200d} മലയാളം കണ്\u{200d} വാക്കുകള്\u{200d}"),
    ("sinhala", "ශ්\u{200d}රී ලංකාව ක්\u{200d}ෂ ප්\u{200d}ර"),
    ("persian", "می\u{200c}خواهم کتاب\u{200c}های خانه\u{200c}ام نمی\u{200c}شود"),
    ("urdu", "یہ اُردو ہے\u{200c}، علم\u{200c}دوست"),
    ("arabic", "السَّلامُ عَلَيْكُمْ \u{200f}(مرحبا)\u{200f} ه\u{200d} ـه"),
    ("kurdish", "دە\u{200c}چم بۆ ماڵە\u{200c}وە"),
    ("uyghur", "ئۇيغۇر\u{200c}چە"),
    ("hebrew", "שָׁלוֹם \u{2067}abc\u{2069} בּ\u{34f}ְ צה״ל \u{200e}C++\u{200e} בעברית"),
    ("latin in hebrew", "The word \u{2067}שלום\u{2069} means peace"),
    ("mark before its letter", "\u{200f}123 שלום"),
    ("syriac", "ܣܘܪܝܝܐ ܐ\u{200d} ܒ\u{200c}ܓ"),
    ("nko", "ߒߞߏ ߊ\u{200d}"),
    ("adlam", "𞤀𞤣𞤤𞤢𞤥 𞤀\u{200c}𞤣"),
    ("mongolian", "ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ ᠠ\u{180b}ᠰ ᠬᠠᠷ\u{180e}ᠠ ᠭ\u{180b}\u{180e}ᠠ"),
    ("phags-pa", "ꡌꡡꡃ\u{fe00}ꡣꡡꡙ"),
    ("korean", "한국어 가나다"),
    ("old korean", "\u{1112}\u{119e}\u{11ab}\u{1100}\u{1173}\u{11af} \u{115f}\u{1161} \u{1100}\u{1160}\u{11a8}"),
    ("japanese", "葛\u{e0100}城市の辻\u{e0101}さん、神\u{fe00}と㊗\u{fe0f}、〜"),
    ("chinese", "中文，测试。“引号”\u{fe00} 一々〇"),
    ("vietnamese", "Tiếng Việt: Nguyễn, người, ở đây"),
    ("polytonic greek", "ἄνθρωπος ᾧ ὦ"),
    ("decomposed", "e\u{301}a\u{308}o\u{30a}u\u{328}\u{301} Z\u{335}"),
    ("joined marks", "a\u{301}\u{34f}\u{308}"),
    ("ipa", "t͡ʃ ʰ̥ ə˞ ɪ̯"),
    ("hieroglyphs", "𓀀\u{13430}𓀁\u{13437}𓀂\u{13438} 𓅨"),
    ("music", "𝄞 \u{1d158}\u{1d165}\u{1d173}\u{1d158}\u{1d165}\u{1d174}"),
    ("braille", "⠓⠑⠇⠇⠕⠀⠺⠕⠗⠇⠙⠀⠀⠼⠁"),
    ("mathematics", "∀x∈ℝ: ∩\u{fe00} ⩽ ≨\u{fe00} 0\u{fe00} x² ∑∏"),
    ("arabic signs", "\u{600}١٢ \u{6dd}٣ \u{70f}ܐ \u{8e2}"),
    ("kaithi", "\u{110bd}𑂁 \u{110cd}"),
    ("source", "fn main() { println!(\"→ ✓ …\"); } // ── ok\r\n"),
];

#[test]
fn samples_of_many_scripts_stay_whole() {
    assert!(SAMPLES.len() >= 40);
    for (name, text) in SAMPLES {
        let (out, counts) = strip(text);
        assert_eq!(&out, text, "{name}: {counts:?}\n{}\n{}", text.escape_unicode(), out.escape_unicode());
        stays(text);
        stays(&text.repeat(3));
    }
}

#[test]
fn a_text_of_all_samples_stays_whole() {
    let all: Vec<&str> = SAMPLES.iter().map(|(_, text)| *text).collect();
    stays(&all.join("\n"));
}

#[test]
fn emoji_sequences_stay_whole() {
    for text in [
        "😀 ❤\u{fe0f} ❤\u{fe0e} ☺\u{fe0f} ©\u{fe0f} ™\u{fe0f} ‼\u{fe0f} ㊙\u{fe0f}",
        "1\u{fe0f}\u{20e3}2\u{fe0f}\u{20e3}#\u{fe0f}\u{20e3}*\u{fe0f}\u{20e3}0\u{20e3}",
        "🇹🇭🇩🇪🇯🇵🏳\u{fe0f}🏴",
        "👍🏽 ✌🏿 ☝🏻 🫱🏻\u{200d}🫲🏿",
        "👨\u{200d}👩\u{200d}👧\u{200d}👦 👩\u{200d}👩\u{200d}👦 👨🏽\u{200d}🦱",
        "👩🏾\u{200d}❤\u{fe0f}\u{200d}💋\u{200d}👨🏻 👨\u{200d}❤\u{fe0f}\u{200d}👨",
        "🏳\u{fe0f}\u{200d}🌈 🏳\u{fe0f}\u{200d}⚧\u{fe0f} 🏴\u{200d}☠\u{fe0f}",
        "👩\u{200d}💻 🧑🏿\u{200d}🚀 👮🏼\u{200d}♀\u{fe0f} 🤷\u{200d}♂\u{fe0f} 🧑\u{200d}⚕\u{fe0f} 🧑\u{200d}🤝\u{200d}🧑",
        "🐕\u{200d}🦺 🐈\u{200d}⬛ 🐻\u{200d}❄\u{fe0f} 🐦\u{200d}🔥 🍋\u{200d}🟩 🍄\u{200d}🟫 ⛓\u{fe0f}\u{200d}💥",
        "👁\u{fe0f}\u{200d}🗨\u{fe0f} 😶\u{200d}🌫\u{fe0f} 😮\u{200d}💨 🙂\u{200d}↔\u{fe0f} 🙂\u{200d}↕\u{fe0f} ❤\u{fe0f}\u{200d}🔥",
        "🚶🏽\u{200d}♀\u{fe0f}\u{200d}➡\u{fe0f} 🧑\u{200d}🧑\u{200d}🧒\u{200d}🧒 🧎🏻\u{200d}♂\u{fe0f}\u{200d}➡\u{fe0f}",
        "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
        "🫩🫆🪾🫜🪉🪏🫟", // of Unicode 16
    ] {
        stays(text);
    }
}

/// The emoji of Unicode 16, each in all its qualifications: a list of facts, kept beside this file.
#[test]
fn every_listed_emoji_stays_whole() {
    let listed = include_str!("emoji.txt");
    assert_eq!(listed.split_whitespace().count(), 5244);
    for emoji in listed.split_whitespace() {
        assert_eq!(strip(emoji), (emoji.to_owned(), Counts::default()), "{}", emoji.escape_unicode());
    }
    stays_whole(listed);
}

/// Every emoji that can be made of one character, alone, presented, toned and joined with others.
#[test]
fn every_emoji_stays_whole_in_every_sequence() {
    use super::super::properties::{has, lookup};
    let with = |bit| ('\0'..=char::MAX).filter(move |c| lookup(*c).1 & bit != 0);
    let pictographs: Vec<char> = with(has::PICTOGRAPH).collect();
    let tones: Vec<char> = with(has::SKIN_TONE).collect();
    assert_eq!(tones.len(), 5);
    assert!(pictographs.len() > 3000);
    let mut text = String::new();
    for (at, c) in pictographs.iter().enumerate() {
        let other = pictographs[(at * 7 + 1) % pictographs.len()];
        let tone = tones[at % 5];
        text.extend([*c, ' ', *c, '\u{200d}', other, ' ', *c, tone, '\u{200d}', other, tone, '\u{fe0f}', ' ']);
    }
    for c in with(has::EMOJI) {
        text.extend([c, '\u{fe0f}', ' ', c, '\u{fe0e}', ' ', c, '\u{fe0f}', '\u{20e3}', ' ']);
    }
    assert_eq!(clean(&text, Mode::Strip).unwrap(), (Cow::Borrowed(text.as_str()), Counts::default()));
}

/// Every syllable of a script that joins: letter, virama, joiner, letter.
#[test]
fn every_conjunct_stays_whole() {
    use super::super::properties::{has, lookup};
    let with = |bit| ('\0'..=char::MAX).filter(move |c| lookup(*c).1 & bit != 0);
    let viramas: Vec<char> = with(has::VIRAMA).collect();
    assert!(viramas.len() >= 60, "{}", viramas.len());
    let mut text = String::new();
    for virama in viramas {
        for joiner in ['\u{200c}', '\u{200d}'] {
            text.extend([virama, joiner, ' ']);
        }
    }
    for letter in with(has::BRAHMIC | has::CURSIVE) {
        text.extend([' ', letter, '\u{200c}', letter, ' ', letter, '\u{200d}', ' ']);
    }
    assert_eq!(clean(&text, Mode::Strip).unwrap().0, text);
}

/// Words of every letter of the scripts without spaces, with breaks between them.
#[test]
fn every_break_between_words_stays() {
    use super::super::properties::{has, lookup};
    let mut text = String::new();
    for c in ('\0'..=char::MAX).filter(|c| lookup(*c).1 & has::SPACELESS != 0) {
        text.extend([c, '\u{200b}', c, ' ']);
    }
    stays_whole(&text);
}

fn stays_whole(text: &str) {
    assert_eq!(clean(text, Mode::Strip).unwrap(), (Cow::Borrowed(text), Counts::default()));
}
