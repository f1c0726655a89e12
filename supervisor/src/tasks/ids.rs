//! Names that nobody can guess: of Tasks, of conversations, and of what ties the logs of both processes together.

use std::fmt::Write;
use std::sync::Arc;

/// 128 random bits. `None`: the system gives none.
pub(super) fn random() -> Option<[u8; 16]> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok().map(|()| bytes)
}

/// 32 hex digits.
pub(super) fn hex(bytes: [u8; 16]) -> String {
    let mut out = String::with_capacity(32);
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// A UUID of version 4, RFC 9562 §5.4, of random bits.
pub(super) fn uuid(bytes: [u8; 16]) -> Arc<str> {
    let bits = u128::from_be_bytes(bytes) & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let field = |from: u32, digits: u32| bits >> from & ((1 << (digits * 4)) - 1);
    let (a, b, c, d, e) = (field(96, 8), field(80, 4), field(64, 4), field(48, 4), field(0, 12));
    format!("{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bits_become_a_uuid_of_version_4() {
        assert_eq!(&*uuid([0xff; 16]), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(&*uuid([0; 16]), "00000000-0000-4000-8000-000000000000");
        let (one, two) = (random().unwrap(), random().unwrap());
        assert_ne!(one, two);
        assert_eq!(hex([0xab; 16]), "ab".repeat(16));
    }
}
