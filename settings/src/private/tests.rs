//! Files and ways of every owner, mode and kind. As root these tests run once more as another uid, in a process of their
//! own; what needs root to be prepared is skipped, and said, elsewhere.

use super::*;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;
use tempfile::TempDir;

const NOBODY: u32 = 65_534;
const SOMEBODY: u32 = 65_533;
/// Where a test that is not root finds a file of [`SOMEBODY`].
const FOREIGN: &str = "MUSEGATE_TEST_FOREIGN";

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    chmod(folder.path(), 0o755);
    folder
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn file(path: PathBuf, mode: u32) -> PathBuf {
    fs::write(&path, "content").unwrap();
    chmod(&path, mode);
    path
}

fn is_root() -> bool {
    Uid::effective().is_root()
}

/// Whether a test can give files away; that it cannot is said in its output, where it is counted.
fn can_give_away() -> bool {
    if !is_root() {
        println!("SKIPPED: needs root to give a file to somebody else");
    }
    is_root()
}

/// A wrong `read` would wait for ever at a FIFO.
fn read_soon(path: &Path, rule: Rule, max: u64) -> Result<Zeroizing<String>, Refused> {
    let (path, (done, waiting)) = (path.to_owned(), mpsc::channel());
    std::thread::spawn(move || done.send(read(&path, rule, max)));
    waiting.recv_timeout(Duration::from_secs(20)).expect("read does not wait")
}

#[test]
fn every_mode_is_judged_by_its_rule() {
    let folder = folder();
    let path = file(folder.path().join("f"), 0o600);
    for mode in (0..=0o777).filter(|mode| mode & 0o400 != 0) {
        chmod(&path, mode);
        for (rule, closed) in [(Rule::Secret, 0o077), (Rule::Settings, 0o022)] {
            match read(&path, rule, 100) {
                Ok(text) => assert!(mode & closed == 0 && *text == "content", "{mode:o} {rule:?}"),
                Err(Refused::Mode { mode: said, want, .. }) => {
                    assert!(mode & closed != 0 && said == mode, "{mode:o} {rule:?}");
                    assert_eq!(want, mode & !closed, "only takes rights away");
                    chmod(&path, want);
                    assert!(read(&path, rule, 100).is_ok(), "the advice works");
                    chmod(&path, mode);
                }
                Err(other) => panic!("{mode:o} {rule:?}: {other}"),
            }
        }
    }
}

#[test]
fn a_file_of_root_may_be_read_by_all_and_is_no_secret() {
    assert!(read(Path::new("/etc/passwd"), Rule::Settings, 1 << 20).is_ok());
    assert!(matches!(read(Path::new("/etc/passwd"), Rule::Secret, 1 << 20), Err(Refused::Mode { want: 0o600, .. })));
}

#[test]
fn a_file_of_somebody_else_is_refused() {
    let folder = folder();
    let path = match std::env::var_os(FOREIGN) {
        Some(path) => PathBuf::from(path),
        None if can_give_away() => {
            let path = file(folder.path().join("f"), 0o644);
            lchown(&path, Some(SOMEBODY), None).unwrap();
            path
        }
        None => return,
    };
    let own = Uid::effective().as_raw();
    let link = folder.path().join("link");
    symlink(&path, &link).unwrap();
    for path in [&path, &link] {
        let refused = read(path, Rule::Settings, 100).unwrap_err();
        assert!(matches!(refused, Refused::Owner { owner: SOMEBODY, own: said, .. } if said == own), "{refused}");
    }
    assert!(matches!(judge_path(&path), Err(Refused::Owner { owner: SOMEBODY, .. })));
}

#[test]
fn only_a_regular_file_is_read_and_nothing_waits() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    mkfifo(&at("fifo"), Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    fs::create_dir(at("dir")).unwrap();
    for path in [&at("fifo"), &at("dir"), Path::new("/dev/null"), Path::new("/dev/zero")] {
        assert!(matches!(read_soon(path, Rule::Settings, 100), Err(Refused::Kind { .. })), "{}", path.display());
    }
    let _socket = UnixListener::bind(at("sock")).unwrap();
    for path in [&at("sock"), &at("missing"), &at("fifo/x")] {
        assert!(matches!(read_soon(path, Rule::Settings, 100), Err(Refused::Io { .. })), "{}", path.display());
    }
}

#[test]
fn a_link_is_followed_to_what_is_judged() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    file(at("good"), 0o600);
    file(at("open"), 0o644);
    for (link, to) in [("to-good", "good"), ("to-open", "open"), ("to-nothing", "nothing"), ("loop", "loop")] {
        symlink(to, at(link)).unwrap();
    }
    assert_eq!(*read(&at("to-good"), Rule::Secret, 100).unwrap(), "content");
    assert!(matches!(read(&at("to-open"), Rule::Secret, 100), Err(Refused::Mode { .. })));
    assert!(matches!(read(&at("to-nothing"), Rule::Secret, 100), Err(Refused::Io { .. })));
    assert!(matches!(read(&at("loop"), Rule::Secret, 100), Err(Refused::Io { .. })));
}

#[test]
fn a_file_is_as_long_as_it_may_be_and_no_longer() {
    let folder = folder();
    let path = folder.path().join("f");
    for (len, max, fits) in [(0, 0, true), (10, 10, true), (11, 10, false), (1, 0, false), (70_000, 70_000, true)] {
        fs::write(&path, "x".repeat(len)).unwrap();
        chmod(&path, 0o600);
        match read(&path, Rule::Secret, max) {
            Ok(text) => {
                assert!(fits && text.len() == len);
                assert_eq!(text.capacity(), len + 64, "it never grew, so there is one copy to wipe");
            }
            Err(refused) => assert!(!fits && matches!(refused, Refused::Size { .. }), "{refused}"),
        }
    }
    fs::write(&path, b"\xff\xfe").unwrap();
    assert!(matches!(read(&path, Rule::Secret, 100), Err(Refused::Io { .. })), "not text");
}

#[test]
fn the_advice_can_be_pasted_into_a_shell() {
    let mode = |path: &str| Refused::Mode { path: path.into(), mode: 0o664, want: 0o644 }.to_string();
    assert_eq!(mode("/a/b.toml"), "/a/b.toml: mode 0664 lets others in; run: chmod 0644 /a/b.toml");
    assert!(mode("/Application Support/it's").ends_with(r"run: chmod 0644 '/Application Support/it'\''s'"));
    let owner = Refused::Owner { path: "/a b".into(), owner: 5, own: 7 }.to_string();
    assert_eq!(owner, "/a b: belongs to uid 5, must belong to uid 7 or root; run: chown 7 '/a b'");
}

/// `t/a/b/file`, all of it ours and closed, without links in its name.
fn way(folder: &TempDir) -> (PathBuf, PathBuf) {
    let top = fs::canonicalize(folder.path()).unwrap();
    fs::create_dir_all(top.join("a/b")).unwrap();
    [top.join("a"), top.join("a/b")].iter().for_each(|folder| chmod(folder, 0o755));
    let file = file(top.join("a/b/file"), 0o755);
    (top, file)
}

#[test]
fn a_way_that_nobody_else_can_bend_is_taken() {
    let folder = folder();
    let (top, file) = way(&folder);
    assert_eq!(judge_path(&file).unwrap(), file);
    assert_eq!(judge_path(&top.join("a/./b//../b/file")).unwrap(), file);
    assert_eq!(judge_path(&top.join("a/b")).unwrap(), top.join("a/b"));
    assert_eq!(judge_path(Path::new("/")).unwrap(), Path::new("/"));
    assert!(judge_path(Path::new("/etc/passwd")).unwrap().ends_with("etc/passwd"));
    let here = std::env::current_dir().unwrap();
    assert_eq!(
        judge_path(Path::new("x")).unwrap_err().to_string(),
        judge_path(&here.join("x")).unwrap_err().to_string()
    );
}

#[test]
fn a_folder_or_file_that_others_may_write_is_named() {
    let folder = folder();
    let (top, file) = way(&folder);
    for part in [top.clone(), top.join("a"), top.join("a/b"), file.clone()] {
        for (mode, want) in [(0o775, 0o755), (0o757, 0o755), (0o777, 0o755), (0o720, 0o700), (0o702, 0o700)] {
            chmod(&part, mode);
            let refused = judge_path(&file).unwrap_err();
            let named = matches!(&refused, Refused::Mode { path, mode: said, want: advice }
                if *path == part && *said == mode && *advice == want);
            assert!(named, "{mode:o} {}: {refused}", part.display());
        }
        for mode in [0o700, 0o711, 0o755, 0o555, 0o2755] {
            chmod(&part, mode);
            assert!(judge_path(&file).is_ok(), "{mode:o} {}", part.display());
        }
    }
}

#[test]
fn in_a_folder_like_tmp_only_what_is_ours_is_safe() {
    let folder = folder();
    let (top, path) = way(&folder);
    chmod(&top.join("a"), 0o1777);
    assert_eq!(judge_path(&path).unwrap(), path);
    chmod(&top.join("a/b"), 0o1777);
    assert_eq!(judge_path(&path).unwrap(), path);
    assert!(matches!(judge_path(&top.join("a")), Err(Refused::Shared { path }) if path == top.join("a")), "itself");
    symlink(".", top.join("a/here")).unwrap();
    assert!(matches!(judge_path(&top.join("a/here")), Err(Refused::Shared { .. })), "by a link to itself");
    assert!(matches!(judge_path(&top.join("a/b/..")), Err(Refused::Shared { .. })), "from below");
    assert!(matches!(judge_path(Path::new("/tmp")), Err(Refused::Shared { .. })));
    if can_give_away() {
        for foreign in [&path, &top.join("a/b")] {
            lchown(foreign, Some(SOMEBODY), None).unwrap();
            let refused = judge_path(&path).unwrap_err();
            assert!(matches!(&refused, Refused::Shared { path } if path == foreign), "{refused}");
        }
        symlink(file(top.join("good"), 0o644), top.join("a/link")).unwrap();
        assert!(judge_path(&top.join("a/link")).is_ok());
        lchown(top.join("a/link"), Some(SOMEBODY), None).unwrap();
        assert!(matches!(judge_path(&top.join("a/link")), Err(Refused::Shared { .. })), "a link of theirs");
    }
}

#[test]
fn a_part_of_the_way_that_is_somebody_elses_is_named() {
    if !can_give_away() {
        return;
    }
    let folder = folder();
    let (top, path) = way(&folder);
    symlink("b", top.join("a/link")).unwrap();
    let by_link = top.join("a/link/file");
    assert_eq!(judge_path(&by_link).unwrap(), path);
    for (part, ways) in [(&path, [&path, &by_link]), (&top.join("a"), [&path, &by_link])] {
        lchown(part, Some(SOMEBODY), None).unwrap();
        for way in ways {
            assert!(matches!(judge_path(way), Err(Refused::Owner { path, owner: SOMEBODY, .. }) if path == *part));
        }
        lchown(part, Some(0), None).unwrap();
    }
    lchown(top.join("a/link"), Some(SOMEBODY), None).unwrap();
    assert!(judge_path(&path).is_ok(), "the link is not on this way");
    assert!(matches!(judge_path(&by_link), Err(Refused::Owner { path, .. }) if path == top.join("a/link")));
}

#[test]
fn links_are_followed_and_both_their_ways_are_judged() {
    let folder = folder();
    let (top, path) = way(&folder);
    let at = |name: &str| top.join(name);
    fs::create_dir(at("open")).unwrap();
    chmod(&at("open"), 0o777);
    file(at("open/file"), 0o644);
    let links = [
        ("relative", PathBuf::from("a/b/file")),
        ("absolute", path.clone()),
        ("folder", at("a")),
        ("a/b/up", PathBuf::from("../../a/b/file")),
        ("twice", PathBuf::from("relative")),
        ("open/good", path.clone()),
        ("bad", at("open/file")),
        ("through", PathBuf::from("open/../a/b/file")),
    ];
    links.iter().for_each(|(link, to)| symlink(to, at(link)).unwrap());
    for good in ["relative", "absolute", "folder/b/file", "a/b/up", "twice", "folder/b/../b/up"] {
        assert_eq!(judge_path(&at(good)).unwrap(), path, "{good}");
    }
    for bad in ["open/good", "bad", "through", "open/../a/b/file"] {
        let refused = judge_path(&at(bad)).unwrap_err();
        assert!(matches!(&refused, Refused::Mode { path, .. } if *path == at("open")), "{bad}: {refused}");
    }
}

#[test]
fn a_way_that_does_not_end_or_leads_nowhere_is_an_error() {
    let folder = folder();
    let (top, path) = way(&folder);
    symlink("loop", top.join("loop")).unwrap();
    symlink(&path, top.join("l0")).unwrap();
    (1..=40).for_each(|n| symlink(format!("l{}", n - 1), top.join(format!("l{n}"))).unwrap());
    assert_eq!(judge_path(&top.join("l39")).unwrap(), path, "40 links, as the kernel permits");
    assert!(fs::metadata(top.join("l39")).is_ok());
    let error = |path: PathBuf| match judge_path(&path) {
        Err(Refused::Io { path, error }) => (path, error.raw_os_error()),
        other => panic!("{other:?}"),
    };
    let code = |errno: nix::errno::Errno| Some(errno as i32);
    assert_eq!(error(top.join("l40")).1, code(nix::errno::Errno::ELOOP));
    assert_eq!(error(top.join("loop")).1, code(nix::errno::Errno::ELOOP));
    assert_eq!(error(top.join("a/nothing/x")), (top.join("a/nothing"), code(nix::errno::Errno::ENOENT)));
    assert_eq!(error(path.join("x")), (path.clone(), code(nix::errno::Errno::ENOTDIR)));
    assert_eq!(error(path.join("..")), (path, code(nix::errno::Errno::ENOTDIR)));
}

/// All tests of this file again, as a uid without rights, with a file of yet another one beside it.
#[test]
fn all_of_this_holds_for_another_uid() {
    if !can_give_away() {
        return;
    }
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let program = at("tests");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    chmod(&program, 0o755);
    fs::create_dir(at("tmp")).unwrap();
    lchown(at("tmp"), Some(NOBODY), Some(NOBODY)).unwrap();
    let foreign = file(at("foreign"), 0o644);
    lchown(&foreign, Some(SOMEBODY), None).unwrap();
    let mut again = Command::new(&program);
    again.args(["private::", "--skip", "another_uid"]).env("TMPDIR", at("tmp")).env(FOREIGN, &foreign);
    let output = again.current_dir(at("tmp")).uid(NOBODY).gid(NOBODY).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("13 passed; 0 failed"), "{said}");
}
