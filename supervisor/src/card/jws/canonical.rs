//! The one form of a JSON text that is signed: RFC 8785.
//!
//! Promises: two texts of the same value have the same form; a text in which two readers could see different values (a
//! member twice, a number that is not exactly one of double precision, half a surrogate) has none. Refuses to know cards.

use crate::dialect::json::{self, Kind};
use serde_json::{Map, Number, Value};
use std::fmt::Write as _;

/// Integers beyond are not exact everywhere, RFC 7493 §2.2.
const EXACT: u64 = (1 << 53) - 1;

/// Why a text has no canonical form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoForm {
    /// It is no JSON that everybody reads alike.
    #[error("the text {0}")]
    Json(String),
    /// A number that is not the same everywhere.
    #[error("the number {0} is not the same for every reader")]
    Number(String),
}

/// Reads a text strictly.
///
/// # Errors
/// [`NoForm`]
pub fn read(text: &[u8]) -> Result<Value, NoForm> {
    let document = json::parse(text).map_err(|flaw| NoForm::Json(flaw.to_string()))?;
    value(document.root())
}

/// As deep as the reader goes, which is bounded.
fn value(read: json::Value<'_>) -> Result<Value, NoForm> {
    Ok(match read.kind() {
        Kind::Null => Value::Null,
        Kind::True => Value::Bool(true),
        Kind::False => Value::Bool(false),
        Kind::Number => Value::Number(number(read.raw())?),
        Kind::Text | Kind::Escaped => Value::String(read.text().unwrap_or_default().into_owned()),
        Kind::Array => Value::Array(read.items().map(value).collect::<Result<_, _>>()?),
        Kind::Object => {
            let mut members = Map::new();
            for (name, member) in read.members() {
                members.insert(name.text().unwrap_or_default().into_owned(), value(member)?);
            }
            Value::Object(members)
        }
    })
}

fn number(raw: &str) -> Result<Number, NoForm> {
    let wrong = || NoForm::Number(raw.chars().take(40).collect());
    if raw.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
        let whole: i64 = raw.parse().map_err(|_| wrong())?;
        return if whole.unsigned_abs() <= EXACT { Ok(Number::from(whole)) } else { Err(wrong()) };
    }
    // The standard library rounds correctly; a value over the range becomes infinite and has no form.
    Number::from_f64(raw.parse().map_err(|_| wrong())?).ok_or_else(wrong)
}

/// The form of a value that [`read`] gave, or that was made of strings, booleans and small integers.
#[must_use]
pub fn form(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            list('[', ']', items.iter(), out, write);
        }
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
            list('{', '}', members.into_iter(), out, |(name, member), out| {
                string(name, out);
                out.push(':');
                write(member, out);
            });
        }
        Value::String(text) => string(text, out),
        Value::Number(number) => out.push_str(&shown(number)),
        Value::Bool(_) | Value::Null => out.push_str(&value.to_string()),
    }
}

fn list<T>(open: char, close: char, all: impl Iterator<Item = T>, out: &mut String, one: impl Fn(T, &mut String)) {
    out.push(open);
    for (at, item) in all.enumerate() {
        if at > 0 {
            out.push(',');
        }
        one(item, out);
    }
    out.push(close);
}

/// RFC 8785 §3.2.2.2
fn string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            ..' ' => drop(write!(out, "\\u{:04x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out.push('"');
}

/// RFC 8785 §3.2.2.3: as ECMAScript shows a number.
fn shown(number: &Number) -> String {
    if let Some(whole) = number.as_i64() {
        return whole.to_string();
    }
    let value = number.as_f64().unwrap_or_default();
    if value == 0.0 {
        return "0".to_owned(); // also the negative one
    }
    // The shortest digits that mean this value, in a form that is easy to take apart: `-1.234e-5`.
    let scientific = format!("{:e}", value.abs());
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits: String = digits.chars().filter(char::is_ascii_digit).collect();
    let digits = even(value.abs(), digits);
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", placed(&digits, exponent))
}

/// Where a value lies in the middle between two shortest texts, the standard takes the even one, the library the larger.
fn even(value: f64, digits: String) -> String {
    // Every digit that a double can have.
    let exact = format!("{value:.800e}");
    let (mantissa, exponent) = exact.split_once('e').unwrap_or((&exact, "0"));
    let all: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let (lower, rest) = all.split_at_checked(digits.len()).unwrap_or((&all, ""));
    let between = rest.strip_prefix('5').is_some_and(|rest| rest.bytes().all(|b| b == b'0'));
    let is_even = lower.bytes().last().is_some_and(|digit| digit % 2 == 0);
    let (first, more) = lower.split_at_checked(1).unwrap_or((lower, ""));
    let same = || format!("{first}.{more}e{exponent}").parse() == Ok(value);
    if between && is_even && same() { lower.to_owned() } else { digits }
}

/// Digits with their point before the digit of this place counted from the second, ECMA-262 §6.1.6.1.20.
fn placed(digits: &str, exponent: i32) -> String {
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or_default());
    let len = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let point = |at: i32| digits.split_at_checked(usize::try_from(at).unwrap_or_default()).unwrap_or((digits, ""));
    match exponent {
        0..=20 if len <= exponent + 1 => format!("{digits}{}", zeros(exponent + 1 - len)),
        0..=20 => {
            let (whole, rest) = point(exponent + 1);
            format!("{whole}.{rest}")
        }
        -6..=-1 => format!("0.{}{digits}", zeros(-exponent - 1)),
        _ => {
            let (first, rest) = point(1);
            let dot = if rest.is_empty() { "" } else { "." };
            let plus = if exponent > 0 { "+" } else { "" };
            format!("{first}{dot}{rest}e{plus}{exponent}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        form(&read(text.as_bytes()).unwrap())
    }

    #[test]
    fn the_samples_of_the_standard_have_the_form_that_it_gives() {
        // RFC 8785 §3.2.2, its sample and its form.
        let sample = r#"{
            "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]
        }"#;
        let wanted = concat!(
            r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"#,
            r#""string":"€$\u000f\nA'B\"\\\\\"/"}"#
        );
        assert_eq!(canonical(sample), wanted);
        // RFC 8785 §3.2.3, names in the order of their UTF-16 units.
        let sample = r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh",
            "1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#;
        let Value::Object(members) = read(sample.as_bytes()).unwrap() else { panic!("no object") };
        let form = form(&Value::Object(members));
        let order =
            ["Carriage", "One", "Control", "Latin", "Euro", "Emoji", "Hebrew"].map(|word| form.find(word).unwrap());
        assert!(order.is_sorted(), "{form}");
    }

    #[test]
    fn numbers_are_shown_as_the_appendix_of_the_standard_shows_them() {
        for (bits, wanted) in [
            (0x0000_0000_0000_0000, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ] {
            let number = Number::from_f64(f64::from_bits(bits)).unwrap();
            assert_eq!(shown(&number), wanted, "{bits:016x}");
        }
        for (said, wanted) in [("1.0", "1"), ("10E-1", "1"), ("-0", "0"), ("-0.0", "0"), ("1e2", "100"), ("0.1e1", "1")]
        {
            assert_eq!(canonical(said), wanted);
        }
    }

    #[test]
    fn what_two_readers_could_read_differently_has_no_form() {
        for text in [
            r#"{"a":1,"a":2}"#,
            r#"{"a":1,"\u0061":2}"#,
            "9007199254740992",
            "-9007199254740993",
            "123456789012345678901234567890",
            "1e999",
            "[1] x",
            r#""\ud800""#,
            "{'a':1}",
            "NaN",
            "\u{feff}{}",
            "01",
            "",
        ] {
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
        assert!(read(format!("{}{}", "[".repeat(100), "]".repeat(100)).as_bytes()).is_err());
        assert_eq!(canonical("9007199254740991"), "9007199254740991");
    }
}
