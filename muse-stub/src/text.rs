//! Cutting texts, never inside a character.

/// About `pieces` pieces of a text, cut at characters.
pub(crate) fn cut(text: &str, pieces: usize) -> impl Iterator<Item = &str> {
    let size = text.len().div_ceil(pieces.max(1)).max(1);
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, after) = rest.split_at_checked(rest.ceil_char_boundary(size.min(rest.len())))?;
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// As much of a text as fits, cut at a character.
pub(crate) fn clip(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_add_up_and_are_never_empty() {
        for text in ["", "a", "éé", "one two three", "漢字🦀"] {
            for pieces in 0..6 {
                let cut: Vec<_> = cut(text, pieces).collect();
                assert_eq!(cut.concat(), text);
                assert!(cut.iter().all(|piece| !piece.is_empty()) && cut.len() <= pieces.max(1), "{cut:?}");
            }
            assert!((0..9).all(|max| clip(text, max).len() <= max && text.starts_with(clip(text, max))));
        }
    }
}
