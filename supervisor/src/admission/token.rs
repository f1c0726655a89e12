//! A caller's token: `mgt_`, 43 characters that carry 256 random bits, and 6 that check them.
//!
//! Promises: a token exists in clear text only where it is made; what is kept of it is its SHA-256, which for 256 random
//! bits needs no salt and no slow hash. The check characters let a scanner, and us, tell a token from a typing error
//! without asking anybody. Refuses to know whose it is.

use sha2::{Digest as _, Sha256};
use std::fmt;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// What every token begins with.
pub const PREFIX: &str = "mgt_";
const BODY: usize = 43;
const CHECK: usize = 6;
/// Length of a token, bytes.
pub const LEN: usize = PREFIX.len() + BODY + CHECK;
/// Lengths of a token that was made elsewhere, bytes.
pub const FOREIGN_LEN: std::ops::RangeInclusive<usize> = 24..=512;
/// Fewest different characters of one.
const FOREIGN_VARIETY: usize = 12;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A new token from the system's random source. Wiped from memory when dropped.
///
/// # Errors
/// When there is no randomness.
pub fn generate() -> Result<Zeroizing<String>, getrandom::Error> {
    let mut bits = Zeroizing::new([0u8; 32]);
    getrandom::fill(bits.as_mut_slice())?;
    let mut text = Zeroizing::new(String::with_capacity(LEN));
    text.push_str(PREFIX);
    push_base62(&mut text, &mut bits, BODY);
    let mut check = [0u8; 32];
    if let Some(tail) = check.last_chunk_mut() {
        *tail = crc32(text.as_bytes()).to_be_bytes();
    }
    push_base62(&mut text, &mut check, CHECK);
    Ok(text)
}

/// Whether `text` has the form of a token and its check characters agree: a typing error does not, a guess rarely.
#[must_use]
pub fn well_formed(text: &[u8]) -> bool {
    if text.len() != LEN || !text.starts_with(PREFIX.as_bytes()) {
        return false;
    }
    let Some((signed, check)) = text.split_at_checked(LEN - CHECK) else { return false };
    let said = check.iter().try_fold(0u64, |sum, c| Some(sum * 62 + value(*c)?));
    let alphabet = signed.iter().skip(PREFIX.len()).all(|c| value(*c).is_some());
    alphabet && said == Some(u64::from(crc32(signed)))
}

/// Whether a token that was made elsewhere can be taken: the characters of RFC 6750 §2.1, [`FOREIGN_LEN`] of them, not
/// few different ones. How it was made cannot be seen: 128 random bits are the owner's to see to.
///
/// # Errors
/// A lowercase fragment.
pub fn check_foreign(text: &str) -> Result<(), String> {
    let legal = |c: u8| c.is_ascii_alphanumeric() || b"-._~+/=".contains(&c);
    let mut seen: Vec<u8> = text.bytes().collect();
    seen.sort_unstable();
    seen.dedup();
    match () {
        () if !FOREIGN_LEN.contains(&text.len()) => Err("must have 24 to 512 characters".to_owned()),
        () if !text.bytes().all(legal) => Err("may hold letters, digits and - . _ ~ + / = only".to_owned()),
        () if seen.len() < FOREIGN_VARIETY => Err("has too few different characters to be random".to_owned()),
        () => Ok(()),
    }
}

fn value(c: u8) -> Option<u64> {
    match c {
        b'0'..=b'9' => Some(u64::from(c - b'0')),
        b'A'..=b'Z' => Some(u64::from(c - b'A') + 10),
        b'a'..=b'z' => Some(u64::from(c - b'a') + 36),
        _ => None,
    }
}

/// Writes a big-endian number in base 62 by dividing it down; `number` is zero afterwards.
fn push_base62(out: &mut String, number: &mut [u8; 32], digits: usize) {
    let mut text = Zeroizing::new(vec![b'0'; digits]);
    for slot in text.iter_mut().rev() {
        let mut rest = 0u32;
        for byte in number.iter_mut() {
            let sum = rest << 8 | u32::from(*byte);
            *byte = u8::try_from(sum / 62).unwrap_or_default(); // rest < 62, so the quotient is below 256
            rest = sum % 62;
        }
        *slot = ALPHABET.get(rest as usize).copied().unwrap_or_default();
    }
    out.extend(text.iter().map(|c| char::from(*c)));
}

/// CRC-32 as in IEEE 802.3, reflected.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 })
    })
}

/// SHA-256 of a token: what the file of callers holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Of a token's bytes.
    #[must_use]
    pub fn of(token: &[u8]) -> Self {
        Self(Sha256::digest(token).into())
    }

    /// Equal, in a time that does not tell where they differ.
    #[must_use]
    pub fn matches(&self, other: &Self) -> subtle::Choice {
        self.0.ct_eq(&other.0)
    }

    /// From `sha256:` and 64 hex digits.
    ///
    /// # Errors
    /// A lowercase fragment.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || "must be sha256: and 64 hex digits".to_owned();
        let hex = text.strip_prefix("sha256:").filter(|hex| hex.len() == 64 && hex.is_ascii()).ok_or_else(wrong)?;
        let mut bytes = [0u8; 32];
        for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
            let digits = str::from_utf8(pair).map_err(|_| wrong())?;
            let legal = digits.bytes().all(|b| b.is_ascii_hexdigit());
            *byte = legal.then(|| u8::from_str_radix(digits, 16).ok()).flatten().ok_or_else(wrong)?;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Not shown: a digest in a log is one more copy to compare guesses with.
impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_token_is_well_formed_and_none_comes_twice() {
        let one = generate().unwrap();
        let two = generate().unwrap();
        assert_eq!(one.len(), LEN);
        assert!(well_formed(one.as_bytes()) && well_formed(two.as_bytes()));
        assert_ne!(*one, *two);
    }

    #[test]
    fn every_changed_character_is_noticed() {
        let token = generate().unwrap();
        for at in 0..LEN {
            let mut bytes = token.as_bytes().to_vec();
            bytes[at] = if bytes[at] == b'x' { b'y' } else { b'x' };
            assert!(!well_formed(&bytes), "position {at}");
        }
        assert!(!well_formed(&token.as_bytes()[1..]) && !well_formed(b"") && !well_formed(b"mgt_"));
    }

    #[test]
    fn the_check_is_the_crc_that_everybody_else_computes() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn base_62_carries_all_256_bits() {
        let mut text = String::new();
        push_base62(&mut text, &mut [0xFF; 32], BODY);
        let back = text.bytes().fold([0u8; 33], |number, c| {
            let mut carry = u32::try_from(value(c).unwrap()).unwrap();
            let mut out = number;
            for byte in out.iter_mut().rev() {
                carry += u32::from(*byte) * 62;
                *byte = (carry & 0xFF) as u8;
                carry >>= 8;
            }
            out
        });
        assert_eq!(back[1..], [0xFF; 32]);
    }

    #[test]
    fn a_digest_survives_the_file_and_nothing_else_is_taken_for_one() {
        let digest = Digest::of(b"x");
        assert_eq!(Digest::parse(&digest.to_string()), Ok(digest));
        for wrong in ["", "sha256:", "sha256:zz", "md5:00", &"+".repeat(64), &format!("sha256:{}", "+1".repeat(32))] {
            assert!(Digest::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(format!("{digest:?}"), "Digest(…)");
    }
}
