//! An input that says itself how it is cut: its first bytes are lengths, the rest is what is cut.

/// Up to this many cuts; each takes one byte from the front of the input.
const CUTS: usize = 16;

/// The content, and the pieces of it. Lengths are repeated until the content is used up; a length of 0 is an empty piece.
pub(crate) fn pieces(input: &[u8]) -> (&[u8], Vec<&[u8]>) {
    let (cuts, whole) = input.split_at(CUTS.min(input.len() / 2));
    let mut rest = whole;
    let mut pieces = Vec::new();
    for (turn, cut) in cuts.iter().cycle().enumerate() {
        if rest.is_empty() {
            break;
        }
        // Mostly short; every byte above 0xf0 stands for a long piece. Never only empty ones.
        let len = if *cut > 0xf0 { usize::from(*cut - 0xf0) * 256 } else { usize::from(*cut) };
        let len = if turn >= CUTS { len.max(1) } else { len };
        let (piece, after) = rest.split_at(len.min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    (whole, pieces)
}

/// The same for text: cut at characters only.
pub(crate) fn text_pieces(input: &[u8]) -> Option<(&str, Vec<&str>)> {
    let (whole, pieces) = pieces(input);
    let whole = std::str::from_utf8(whole).ok()?;
    let mut at = 0;
    let mut from = 0;
    let mut texts = Vec::new();
    for piece in pieces {
        at += piece.len();
        let to = whole.floor_char_boundary(at).max(from);
        texts.push(whole.get(from..to)?);
        from = to;
    }
    (from == whole.len()).then_some((whole, texts))
}
