//! What of a job's `out/` folder is handed on.

use super::*;
use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::Path;

const MANY: OutLimits = OutLimits { files: 100, bytes: 1 << 20 };

fn job() -> (tempfile::TempDir, Scratch, PathBuf) {
    let keep = tempfile::tempdir().unwrap();
    let base = Base::open(&keep.path().join("jobs")).unwrap();
    let mut scratch = base.create().unwrap();
    scratch.folder(Folder::Ws).unwrap();
    let out = scratch.folder(Folder::Out).unwrap();
    (keep, scratch, out)
}

fn take(scratch: &Scratch, limits: OutLimits) -> (Vec<(String, String)>, LeftOut) {
    let mut files = scratch.read_out(limits).unwrap();
    let mut taken = Vec::new();
    for mut file in files.by_ref() {
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(file.size(), text.len() as u64);
        taken.push((file.name().to_string(), text));
    }
    (taken, files.left_out())
}

fn write(out: &Path, name: &str, text: &str) {
    fs::write(out.join(name), text).unwrap();
}

#[test]
fn regular_files_come_in_order_with_their_bytes() {
    let (_keep, scratch, out) = job();
    write(&out, "b.txt", "two");
    write(&out, "a.txt", "one");
    write(&out, "empty", "");
    let expected = [("a.txt", "one"), ("b.txt", "two"), ("empty", "")].map(|(n, t)| (n.to_owned(), t.to_owned()));
    assert_eq!(take(&scratch, MANY), (expected.to_vec(), LeftOut::default()));
}

#[test]
fn a_job_without_the_folder_hands_nothing_back() {
    let keep = tempfile::tempdir().unwrap();
    let scratch = Base::open(&keep.path().join("jobs")).unwrap().create().unwrap();
    assert_eq!(take(&scratch, MANY), (vec![], LeftOut::default()));
}

#[test]
fn nothing_is_taken_through_a_link_or_from_what_is_not_a_file() {
    let (keep, scratch, out) = job();
    let secret = keep.path().join("secret");
    fs::write(&secret, "precious").unwrap();
    symlink(&secret, out.join("symbolic")).unwrap();
    fs::hard_link(&secret, out.join("hard")).unwrap();
    symlink("/etc", out.join("folder-link")).unwrap();
    fs::create_dir(out.join("folder")).unwrap();
    write(&out.join("folder"), "inside", "x");
    nix::unistd::mkfifo(&out.join("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(out.join("socket")).unwrap();
    write(&out, "fine", "x");
    let (taken, left_out) = take(&scratch, MANY);
    assert_eq!(taken, [("fine".to_owned(), "x".to_owned())]);
    assert_eq!(left_out, LeftOut { kinds: 6, ..LeftOut::default() });
}

#[test]
fn names_that_cannot_be_handed_on_are_counted() {
    let (_keep, scratch, out) = job();
    for name in [".hidden", "two\nlines", "a b", "ü", &"x".repeat(101)] {
        write(&out, name, "x");
    }
    write(&out, &"x".repeat(100), "x");
    let (taken, left_out) = take(&scratch, MANY);
    assert_eq!((taken.len(), left_out), (1, LeftOut { names: 5, ..LeftOut::default() }));
}

#[test]
fn number_and_bytes_are_bounded_and_a_smaller_file_still_fits() {
    let (_keep, scratch, out) = job();
    write(&out, "a", "12345");
    write(&out, "b", "1234567890");
    write(&out, "c", "123");
    write(&out, "d", "1");
    let names = |limits| {
        let (taken, left_out) = take(&scratch, limits);
        (taken.into_iter().map(|(name, _)| name).collect::<String>(), left_out.beyond)
    };
    assert_eq!(names(OutLimits { files: 2, bytes: 1000 }), ("ab".into(), 2));
    assert_eq!(names(OutLimits { files: 9, bytes: 8 }), ("ac".into(), 2));
    assert_eq!(names(OutLimits { files: 0, bytes: 1000 }), (String::new(), 4));
    let sparse = fs::File::create(out.join("e")).unwrap();
    sparse.set_len(1 << 40).unwrap_or_default();
    assert_eq!(names(OutLimits { files: 9, bytes: 1000 }), ("abcd".into(), 1));
}

#[test]
fn a_file_that_grows_is_read_no_further_than_it_was() {
    let (_keep, scratch, out) = job();
    write(&out, "a", "12345");
    let mut file = scratch.read_out(MANY).unwrap().next().unwrap();
    write(&out, "a", "1234567890");
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "12345");
}

#[test]
fn a_folder_that_the_job_replaced_by_a_link_is_an_error() {
    let (keep, scratch, out) = job();
    fs::remove_dir(&out).unwrap();
    symlink(keep.path(), &out).unwrap();
    assert!(matches!(scratch.read_out(MANY), Err(ScratchError::Job { .. })));
    fs::remove_file(&out).unwrap();
    let elsewhere = keep.path().join("elsewhere");
    fs::create_dir_all(elsewhere.join("out")).unwrap();
    let ws = out.parent().unwrap();
    fs::remove_dir(ws).unwrap();
    symlink(&elsewhere, ws).unwrap();
    assert!(matches!(scratch.read_out(MANY), Err(ScratchError::Job { .. })), "nor the folder above");
}
