//! Names of scratch folders: `job-` and 26 characters that sort by time of creation.
//!
//! Promises: no two names of one process are equal, and those of two processes are not by chance; [`is_job`] accepts
//! what [`Names`] makes and nothing else, so that clean-up never touches a folder that somebody else put there.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Digits and capitals without I, L, O and U: nothing in a name can be misread.
const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const PREFIX: &str = "job-";
const LENGTH: usize = 26;

/// Where names come from.
#[derive(Debug)]
pub(super) struct Names {
    high: u16,
    next: AtomicU64,
}

impl Names {
    /// Draws the random part once: a new name costs no system call.
    pub(super) fn new() -> Result<Self, getrandom::Error> {
        Ok(Self { high: (getrandom::u32()? & 0xffff) as u16, next: AtomicU64::new(getrandom::u64()?) })
    }

    /// A new name of a job's folder.
    pub(super) fn job(&self) -> String {
        let millis = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_millis());
        let count = self.next.fetch_add(1, Ordering::Relaxed);
        encode((millis & 0xffff_ffff_ffff) << 80 | u128::from(self.high) << 64 | u128::from(count))
    }
}

fn encode(value: u128) -> String {
    let mut name = String::with_capacity(PREFIX.len() + LENGTH);
    name.push_str(PREFIX);
    for place in (0..LENGTH).rev() {
        let digit = (value >> (place * 5)) & 31;
        name.push(usize::try_from(digit).ok().and_then(|at| DIGITS.get(at)).map_or('0', |byte| char::from(*byte)));
    }
    name
}

/// Whether a name is one of ours.
pub(super) fn is_job(name: &[u8]) -> bool {
    name.strip_prefix(PREFIX.as_bytes())
        .is_some_and(|rest| rest.len() == LENGTH && rest.iter().all(|byte| DIGITS.contains(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ours_sorted_by_time_and_never_repeat() {
        let names = Names::new().unwrap();
        let made: Vec<String> = (0..1000).map(|_| names.job()).collect();
        assert!(made.iter().all(|name| is_job(name.as_bytes())), "{made:?}");
        let unique: std::collections::HashSet<_> = made.iter().collect();
        assert_eq!(unique.len(), made.len());
        assert_eq!(encode(0), "job-00000000000000000000000000");
        assert_eq!(encode(u128::MAX), "job-7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
        assert!(encode(1 << 80) < encode(2 << 80));
    }

    #[test]
    fn other_names_are_not_ours() {
        for name in [
            "",
            "job-",
            "job-0123456789ABCDEFGHJKMNPQR",
            "job-0123456789ABCDEFGHJKMNPQRST",
            "job-0123456789abcdefghjkmnpqr",
            "job-0123456789ABCDEFGHJKMNPQ/",
            "JOB-0123456789ABCDEFGHJKMNPQRS",
            "job-0123456789ABCDEFGHJKMNPQ\n",
            ".trash",
        ] {
            assert!(!is_job(name.as_bytes()), "{name:?}");
        }
        assert!(is_job(b"job-0123456789ABCDEFGHJKMNPQRS"));
    }
}
