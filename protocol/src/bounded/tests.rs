//! Each bound from both sides: at making, and at decoding bytes that another program made.

use super::*;
use proptest::prelude::*;

fn encode<T: Encode>(value: &T) -> Vec<u8> {
    bincode::encode_to_vec(value, bincode::config::legacy()).unwrap()
}

fn decode<T: Decode<()>>(bytes: &[u8]) -> Result<T, String> {
    let decoded = bincode::decode_from_slice(bytes, bincode::config::legacy().with_limit::<4096>());
    decoded.map(|(value, used)| (used == bytes.len()).then_some(value).unwrap()).map_err(|error| error.to_string())
}

/// A length and a content, as another program would write them.
fn said(len: u64, content: &[u8]) -> Vec<u8> {
    [&len.to_le_bytes()[..], content].concat()
}

#[test]
fn a_text_is_as_long_as_it_may_be_and_no_longer() {
    let four = Text::<4>::new("é12").unwrap();
    assert_eq!(encode(&four), said(4, "é12".as_bytes()));
    assert_eq!(decode(&encode(&four)), Ok(four));
    assert_eq!(Text::<4>::new("é123"), Err(Unfit::TooLong { len: 5, max: 4 }));
    assert!(decode::<Text<4>>(&said(5, b"12345")).unwrap_err().contains("over the limit"));
    assert_eq!(decode::<Text<0>>(&said(0, b"")), Ok(Text::default()));
    assert_eq!(Unfit::TooLong { len: 5, max: 4 }.to_string(), "5 is over the limit of 4");
}

#[test]
fn a_text_is_utf8() {
    for bad in [&b"\xff"[..], b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80"] {
        assert!(decode::<Text<8>>(&said(bad.len() as u64, bad)).unwrap_err().contains("not UTF-8"), "{bad:x?}");
    }
    assert_eq!(&*decode::<Text<8>>(&said(4, "😀".as_bytes())).unwrap(), "😀");
}

#[test]
fn a_text_is_cut_at_a_character() {
    assert_eq!(&*Text::<5>::cut("ab😀c"), "ab");
    assert_eq!(&*Text::<6>::cut("ab😀c"), "ab😀");
    assert_eq!(&*Text::<99>::cut("ab😀c"), "ab😀c");
    assert_eq!(&*Text::<1>::cut("é"), "");
}

#[test]
fn a_length_that_lies_is_an_error() {
    for len in [4, 5, 100, 4096, 4097, 1 << 40, u64::MAX] {
        assert!(decode::<Text<4096>>(&said(len, b"abc")).is_err(), "{len}");
        assert!(decode::<Blob<4096>>(&said(len, b"abc")).is_err(), "{len}");
        assert!(decode::<List<u8, 4096>>(&said(len, b"abc")).is_err(), "{len}");
        assert!(decode::<Label>(&said(len, b"abc")).is_err(), "{len}");
    }
}

#[test]
fn a_list_has_as_many_elements_as_it_may_and_no_more() {
    let list = List::<u16, 3>::new(vec![1, 2, 3]).unwrap();
    assert_eq!(encode(&list), said(3, &[1, 0, 2, 0, 3, 0]));
    assert_eq!(decode(&encode(&list)), Ok(list));
    assert_eq!(List::<u16, 3>::new(vec![0; 4]), Err(Unfit::TooLong { len: 4, max: 3 }));
    assert!(decode::<List<u16, 3>>(&said(4, &[0; 8])).unwrap_err().contains("over the limit"));
    assert_eq!(List::<u16, 3>::default().into_vec(), []);
}

#[test]
fn a_blob_has_as_many_bytes_as_it_may_and_no_more() {
    let blob = Blob::<2>::new(&b"\0\xff"[..]).unwrap();
    assert_eq!(encode(&blob), said(2, b"\0\xff"));
    assert_eq!(decode::<Blob<2>>(&encode(&blob)).unwrap().into_bytes(), &b"\0\xff"[..]);
    assert_eq!(Blob::<2>::new(&b"abc"[..]), Err(Unfit::TooLong { len: 3, max: 2 }));
    assert!(decode::<Blob<2>>(&said(3, b"abc")).is_err());
}

#[test]
fn a_label_has_its_alphabet() {
    let long = "x".repeat(128);
    for good in ["a", "A-z_0.9:b", "..", "-", &long] {
        assert_eq!(&*Label::new(good).unwrap(), good);
        assert_eq!(&*decode::<Label>(&said(good.len() as u64, good.as_bytes())).unwrap(), good);
    }
    let over = "x".repeat(129);
    for bad in ["", " ", "a b", "a/b", "a\\b", "é", "a\n", "a\0", "a@b", "a\u{200b}", &over] {
        assert!(Label::new(bad).is_err(), "{bad:?}");
        assert!(decode::<Label>(&said(bad.len() as u64, bad.as_bytes())).is_err(), "{bad:?}");
    }
}

#[test]
fn a_file_name_is_neither_a_path_nor_hidden_nor_an_option() {
    let long = "x".repeat(100);
    for good in ["a", "A-z_0.9", "x..", "_", &long] {
        assert_eq!(&*FileName::new(good).unwrap(), good);
        assert_eq!(&*decode::<FileName>(&said(good.len() as u64, good.as_bytes())).unwrap(), good);
    }
    let over = "x".repeat(101);
    for bad in ["", ".", "..", ".a", "-", "-rf", "--x", "a/b", "/", "a:b", "a b", "é", "a\0", "a\n", &over] {
        assert!(FileName::new(bad).is_err(), "{bad:?}");
        assert!(decode::<FileName>(&said(bad.len() as u64, bad.as_bytes())).is_err(), "{bad:?}");
    }
}

#[test]
fn contents_do_not_show_in_a_log() {
    let text = Text::<64>::new("the caller's words").unwrap();
    let blob = Blob::<64>::new(&b"the caller's file"[..]).unwrap();
    assert_eq!(format!("{text:?} {blob:?}"), "Text(18 bytes) Blob(17 bytes)");
}

proptest! {
    #[test]
    fn what_is_made_is_what_decodes(text in any::<String>(), bytes in any::<Vec<u8>>()) {
        prop_assert_eq!(Text::<64>::new(text.as_str()).is_ok(), text.len() <= 64);
        prop_assert_eq!(decode::<Text<64>>(&encode(&text)).is_ok(), text.len() <= 64);
        prop_assert_eq!(Label::new(text.as_str()).is_ok(), decode::<Label>(&encode(&text)).is_ok());
        prop_assert_eq!(FileName::new(text.as_str()).is_ok(), decode::<FileName>(&encode(&text)).is_ok());
        let utf8 = std::str::from_utf8(&bytes).is_ok();
        prop_assert_eq!(decode::<Text<4000>>(&encode(&bytes)).is_ok(), utf8);
        prop_assert!(text.starts_with(&*Text::<10>::cut(&text)));
    }
}
