//! Redaction of a whole file.

use super::{Counts, Rules};

impl Rules {
    /// A file as it may leave the worker: text is redacted, and what is no text stays as it is. `None`: it is no text and
    /// holds a secret, so that it cannot leave at all.
    #[must_use]
    pub fn redact_file(&self, bytes: Vec<u8>, counts: &mut Counts) -> Option<Vec<u8>> {
        match String::from_utf8(bytes) {
            Ok(text) => {
                let (text, found) = self.redact(&text);
                counts.add(&found);
                Some(text.into_bytes())
            }
            Err(error) => {
                let (_, found) = self.redact(&String::from_utf8_lossy(error.as_bytes()));
                counts.add(&found);
                found.is_empty().then(|| error.into_bytes())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zeroize::Zeroizing;

    const SECRET: &str = "correct-horse-battery-staple";

    fn leaving(bytes: &[u8]) -> (Option<Vec<u8>>, u32) {
        let rules = Rules::new(&[Zeroizing::new(SECRET.to_owned())], &[]).unwrap();
        let mut counts = Counts::default();
        let bytes = rules.redact_file(bytes.to_vec(), &mut counts);
        (bytes, counts.iter().map(|(_, count)| count).sum())
    }

    #[test]
    fn text_is_redacted_and_the_rest_of_it_kept() {
        let (bytes, count) = leaving(format!("a {SECRET} b").as_bytes());
        let text = String::from_utf8(bytes.unwrap()).unwrap();
        assert!(text.starts_with("a [redacted:") && text.ends_with("] b"), "{text}");
        assert_eq!(count, 1);
        assert_eq!(leaving("語\0plain".as_bytes()), (Some("語\0plain".as_bytes().to_vec()), 0));
    }

    #[test]
    fn other_files_leave_unchanged_or_not_at_all() {
        let plain = [0xff, 0xfe, 0, 1, 2];
        assert_eq!(leaving(&plain), (Some(plain.to_vec()), 0));
        let holding = [&plain[..], SECRET.as_bytes(), &plain[..]].concat();
        assert_eq!(leaving(&holding), (None, 1));
    }
}
