use super::*;
use proptest::prelude::*;

fn worth(line: &[u8]) -> bool {
    line.starts_with(b"keep")
}

/// All lines of `input` when it is read in pieces of these sizes, in turn.
fn read(input: &[u8], max: usize, pieces: &[usize]) -> Vec<(bool, Vec<u8>)> {
    fn own(line: Line<'_>) -> (bool, Vec<u8>) {
        match line {
            Line::Whole(line) => (true, line.to_vec()),
            Line::Cut(line) => (false, line.to_vec()),
        }
    }
    let mut lines = Lines::new(max, worth);
    let mut all = Vec::new();
    let mut rest = input;
    let mut turn = pieces.iter().cycle();
    while !rest.is_empty() {
        let room = lines.room();
        let n = rest.len().min(*turn.next().unwrap()).min(room.len());
        room[..n].copy_from_slice(&rest[..n]);
        rest = &rest[n..];
        lines.filled(n);
        while let Some(line) = lines.next_line() {
            all.push(own(line));
        }
    }
    all.extend(lines.last_line().map(own));
    all
}

proptest! {
    #[test]
    fn the_cutting_does_not_change_the_lines(
        text in proptest::collection::vec(prop_oneof![3 => Just(b'a'), 1 => Just(b'\n'), 1 => any::<u8>()], 0..6000),
        pieces in proptest::collection::vec(1usize..700, 1..6),
    ) {
        let whole: Vec<_> = text.split(|b| *b == b'\n').filter(|l| !l.is_empty()).map(|l| (true, l.to_vec())).collect();
        prop_assert_eq!(read(&text, 1 << 20, &pieces), whole);
    }

    #[test]
    fn the_cutting_does_not_change_what_is_left_of_long_lines(
        text in proptest::collection::vec(prop_oneof![40 => Just(b'a'), 1 => Just(b'\n')], 0..3000),
        pieces in proptest::collection::vec(1usize..700, 1..6),
        max in 1usize..200,
    ) {
        prop_assert_eq!(read(&text, max, &pieces), read(&text, max, &[1 << 20]));
    }
}

#[test]
fn whether_a_long_line_is_kept_does_not_depend_on_when_its_end_comes() {
    let mut input = vec![b'x'; PEEK + 10];
    input.extend_from_slice(b"\nend");
    for piece in [1000, 4096, PEEK, 1 << 20] {
        let lines = read(&input, 1 << 20, &[piece]);
        assert_eq!(lines, [(false, vec![b'x'; PEEK]), (true, b"end".to_vec())], "in pieces of {piece}");
    }
}

#[test]
fn a_line_over_the_limit_is_reported_once_and_skipped_to_its_end() {
    let mut input = b"one\nkeep".to_vec();
    input.resize(input.len() + 300_000, b'x');
    input.extend_from_slice(b"\ntwo");
    for piece in [1000, 4096, 70_000, 400_000] {
        let lines = read(&input, 200_000, &[piece]);
        let head = input[4..4 + PEEK].to_vec();
        let expected = vec![(true, b"one".to_vec()), (false, head), (true, b"two".to_vec())];
        assert_eq!(lines, expected, "in pieces of {piece}");
    }
}

#[test]
fn a_long_line_of_no_interest_is_not_kept() {
    let mut lines = Lines::new(8 << 20, worth);
    let mut cut = 0;
    for _ in 0..1000 {
        let room = lines.room();
        room.fill(b'x');
        let n = room.len();
        lines.filled(n);
        while let Some(line) = lines.next_line() {
            assert!(matches!(line, Line::Cut(_)));
            cut += 1;
        }
    }
    assert_eq!(cut, 1);
    assert!(lines.bytes.len() <= 4 * MOST, "holds {} bytes", lines.bytes.len());
}

#[test]
fn a_long_line_of_interest_is_kept_up_to_the_limit() {
    let mut input = b"keep".to_vec();
    input.resize(1 << 20, b'x');
    input.push(b'\n');
    assert_eq!(read(&input, 2 << 20, &[5000])[0].1.len(), 1 << 20);
}

#[test]
fn room_is_given_back_after_a_long_line() {
    let mut lines = Lines::new(8 << 20, worth);
    let mut rest = 4 << 20;
    let room = lines.room();
    room[..4].copy_from_slice(b"keep");
    lines.filled(4);
    while rest > 0 {
        let room = lines.room();
        room.fill(b'x');
        let n = room.len();
        rest -= n.min(rest);
        lines.filled(n);
        assert_eq!(lines.next_line(), None);
    }
    lines.room()[0] = b'\n';
    lines.filled(1);
    assert!(matches!(lines.next_line(), Some(Line::Whole(_))));
    lines.room();
    assert_eq!(lines.bytes.len(), MOST);
}
