//! What scratch folders promise, against what a job may leave behind.

use super::*;
use musegate_protocol::message::FileName;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(60);

struct Bench {
    keep: tempfile::TempDir,
    base: Base,
}

fn bench() -> Bench {
    bench_in(tempfile::tempdir().unwrap())
}

/// In memory where there is such a place: a disk under load takes milliseconds for each folder that goes.
fn bench_for_deep_trees() -> Bench {
    bench_in(tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap())
}

fn bench_in(keep: tempfile::TempDir) -> Bench {
    let base = Base::open(&keep.path().join("jobs")).unwrap();
    Bench { keep, base }
}

impl Bench {
    /// A folder whose worker and job are dead.
    fn orphan(&self) -> PathBuf {
        let name = self.base.shared.names.job();
        let path = self.base.path().join(&name);
        fs::create_dir(&path).unwrap();
        fs::write(path.join(".lock"), "").unwrap();
        path
    }

    fn trash(&self) -> usize {
        fs::read_dir(self.base.path().join(".trash")).unwrap().count()
    }

    fn left(&self) -> Vec<std::ffi::OsString> {
        fs::read_dir(self.base.path()).unwrap().map(|e| e.unwrap().file_name()).filter(|n| n != ".trash").collect()
    }
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

/// A tree so deep that its full path cannot be named.
fn deep(at: &Path, levels: usize) {
    use nix::fcntl::{OFlag, openat};
    use nix::sys::stat::{Mode, mkdirat};
    let flags = OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let mut here = openat(nix::fcntl::AT_FDCWD, at, flags, Mode::empty()).unwrap();
    for _ in 0..levels {
        mkdirat(&here, "d", Mode::S_IRWXU).unwrap();
        here = openat(&here, "d", flags, Mode::empty()).unwrap();
    }
}

#[test]
fn a_folder_and_all_in_it_is_private_to_this_user() {
    let bench = bench();
    let mut scratch = bench.base.create().unwrap();
    assert_eq!(mode(bench.base.path()), 0o700);
    assert_eq!(mode(scratch.path()), 0o700);
    assert_eq!(mode(&scratch.path().join(".lock")), 0o600);
    let prompt = scratch.write_prompt(b"be kind").unwrap();
    assert_eq!((mode(&prompt), fs::read(&prompt).unwrap()), (0o600, b"be kind".to_vec()));
    for folder in Folder::ALL {
        let path = scratch.folder(folder).unwrap();
        assert_eq!(path, scratch.folder(folder).unwrap(), "asking twice is fine");
        assert_eq!(mode(&path), 0o700);
    }
    let name = FileName::new("a.txt").unwrap();
    let input = scratch.write_input(&name, b"42").unwrap();
    assert_eq!((mode(&input), fs::read(&input).unwrap()), (0o600, b"42".to_vec()));
    assert!(scratch.write_input(&name, b"43").is_err(), "a second file of one name");
    assert_eq!(scratch.remove().unwrap(), Removed::Gone);
    assert!(bench.left().is_empty());
    assert_eq!(bench.trash(), 0);
}

#[test]
fn a_prompt_never_goes_through_a_link_that_is_there_already() {
    let bench = bench();
    let mut scratch = bench.base.create().unwrap();
    let target = bench.base.path().join("target");
    symlink(&target, scratch.path().join("prompt")).unwrap();
    assert!(scratch.write_prompt(b"secret").is_err());
    assert!(!target.exists());
}

#[test]
fn what_a_job_leaves_goes_out_of_sight_at_once_and_then_away() {
    let bench = bench();
    let mut scratch = bench.base.create().unwrap();
    let prompt = scratch.write_prompt(b"secret").unwrap();
    let ws = scratch.folder(Folder::Ws).unwrap();
    fs::create_dir_all(ws.join("a/b/c")).unwrap();
    fs::write(ws.join("a/b/c/file"), "x").unwrap();
    assert_eq!(scratch.remove().unwrap(), Removed::Trashed);
    assert!(!prompt.exists());
    assert!(bench.left().is_empty());
    assert!(bench.base.settle(SOON));
    assert_eq!(bench.trash(), 0);
}

#[test]
fn a_folder_that_its_job_closed_to_us_is_removed_all_the_same() {
    let bench = bench();
    let mut scratch = bench.base.create().unwrap();
    let ws = scratch.folder(Folder::Ws).unwrap();
    fs::write(ws.join("file"), "x").unwrap();
    fs::set_permissions(&ws, fs::Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o000)).unwrap();
    assert_eq!(scratch.remove().unwrap(), Removed::Trashed);
    assert!(bench.left().is_empty());
    assert!(bench.base.settle(SOON));
    assert_eq!(bench.trash(), 0);
}

#[test]
fn a_dropped_folder_is_swept_unless_its_lock_is_held() {
    let bench = bench();
    drop(bench.base.create().unwrap());
    assert!(bench.left().is_empty());

    let scratch = bench.base.create().unwrap();
    let held = scratch.lock().unwrap();
    drop(scratch);
    assert_eq!(bench.left().len(), 1, "a job may still run in it");
    drop(held);
    assert_eq!(bench.base.sweep(SOON).orphans, 1);
    assert!(bench.left().is_empty());
}

#[test]
fn a_live_job_of_another_worker_is_left_alone_however_often_we_sweep() {
    let bench = bench();
    let other = Base::open(bench.base.path()).unwrap();
    let scratch = other.create().unwrap();
    let handed_on = scratch.lock().unwrap();
    let path = scratch.path().to_owned();
    // Its worker dies, the job lives on.
    drop(scratch);
    for _ in 0..3 {
        let report = bench.base.sweep(SOON);
        assert_eq!((report.live, report.orphans), (1, 0));
        assert!(path.join(".lock").exists());
    }
    drop(handed_on);
    let report = bench.base.sweep(SOON);
    assert_eq!((report.live, report.orphans, report.finished), (0, 1, true));
    assert!(!path.exists());
}

#[test]
fn a_sweep_removes_everything_a_hostile_job_can_leave() {
    let bench = bench_for_deep_trees();
    let outside = tempfile::tempdir_in(bench.keep.path()).unwrap();
    fs::write(outside.path().join("precious"), "x").unwrap();
    let path = bench.orphan();
    deep(&path, 3000);
    symlink(outside.path(), path.join("link")).unwrap();
    symlink("/", path.join("root")).unwrap();
    symlink("nowhere", path.join("dangling")).unwrap();
    nix::unistd::mkfifo(&path.join("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(path.join("s")).unwrap();
    fs::write(path.join(OsStr::from_bytes(b"two\nlines \xff\xfe -rf *")), "x").unwrap();
    fs::write(path.join("x".repeat(255)), "x").unwrap();
    for (name, mode) in [("none", 0), ("no-write", 0o500), ("no-read", 0o300), ("no-enter", 0o600)] {
        let closed = path.join(name);
        fs::create_dir_all(closed.join("sub/sub")).unwrap();
        fs::write(closed.join("file"), "x").unwrap();
        fs::write(closed.join("sub/file"), "x").unwrap();
        fs::set_permissions(closed.join("sub"), fs::Permissions::from_mode(mode)).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::hard_link(outside.path().join("precious"), path.join("hard")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();

    let report = bench.base.sweep(SOON);
    assert_eq!((report.orphans, report.stuck, report.finished), (1, 0, true), "{report:?}");
    assert!(bench.left().is_empty());
    assert_eq!(bench.trash(), 0);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn a_lock_file_that_is_something_else_does_not_keep_a_folder() {
    let bench = bench();
    let target = bench.base.path().join("kept");
    fs::write(&target, "x").unwrap();
    for kind in ["missing", "link", "dangling", "folder", "fifo", "closed"] {
        let lock = bench.orphan().join(".lock");
        fs::remove_file(&lock).unwrap();
        match kind {
            "missing" => {}
            "link" => symlink(&target, &lock).unwrap(),
            "dangling" => symlink(bench.base.path().join("made"), &lock).unwrap(),
            "folder" => fs::create_dir(&lock).unwrap(),
            "fifo" => nix::unistd::mkfifo(&lock, nix::sys::stat::Mode::S_IRWXU).unwrap(),
            _ => {
                fs::write(&lock, "").unwrap();
                fs::set_permissions(&lock, fs::Permissions::from_mode(0o000)).unwrap();
            }
        }
        let report = bench.base.sweep(SOON);
        assert_eq!((report.orphans, report.finished), (1, true), "{kind}: {report:?}");
        assert_eq!(bench.left(), ["kept"], "{kind}");
    }
}

#[test]
fn only_names_and_folders_of_ours_are_touched() {
    let bench = bench();
    let base = bench.base.path();
    fs::create_dir(base.join("job-of-somebody")).unwrap();
    fs::create_dir(base.join("other")).unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("precious"), "x").unwrap();
    symlink(outside.path(), base.join(bench.base.shared.names.job())).unwrap();
    fs::write(base.join(bench.base.shared.names.job()), "x").unwrap();
    let report = bench.base.sweep(SOON);
    assert_eq!((report.orphans, report.foreign), (0, 2));
    assert_eq!(bench.left().len(), 4);
    assert!(outside.path().join("precious").exists());
}

#[test]
fn folders_of_another_user_stay_when_privilege_lets_us_see_them() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: only root can give a folder away");
        return;
    }
    let bench = bench();
    let path = bench.orphan();
    std::os::unix::fs::chown(&path, Some(65_534), Some(65_534)).unwrap();
    assert_eq!(bench.base.sweep(SOON).foreign, 1);
    assert!(path.exists());
}

#[test]
fn a_start_never_waits_for_the_disk_and_the_rest_follows() {
    let bench = bench_for_deep_trees();
    for _ in 0..4 {
        deep(&bench.orphan(), 3000);
    }
    let budget = Duration::from_millis(5);
    let began = Instant::now();
    let report = bench.base.sweep(budget);
    assert!(began.elapsed() < budget + Duration::from_secs(2), "{:?}", began.elapsed());
    assert!(!report.finished, "{report:?}");
    let scratch = bench.base.create().unwrap();
    assert!(bench.base.settle(SOON));
    assert_eq!(bench.base.sweep(SOON).live, 1);
    assert_eq!(bench.left().len(), 1);
    assert_eq!(bench.trash(), 0);
    assert_eq!(scratch.remove().unwrap(), Removed::Gone);
}

#[test]
fn a_removal_that_was_cut_short_goes_on_from_what_is_on_disk() {
    let bench = bench();
    deep(&bench.orphan(), 500);
    let mut steps = 700;
    bench.base.shared.collect(Instant::now() + SOON, &mut SweepReport::default());
    let trash = bench.base.shared.remover.trash();
    let first = erase::empty(trash, &mut || {
        steps -= 1;
        steps > 0
    });
    assert!(!first.finished && bench.trash() > 0);
    let second = erase::empty(trash, &mut || true);
    assert!(second.finished && bench.trash() == 0);
    assert_eq!(first.entries + second.entries, 502, "each folder once, and the lock");
}

#[test]
fn twenty_thousand_levels_are_no_deeper_than_one() {
    let bench = bench_for_deep_trees();
    deep(&bench.orphan(), 20_000);
    // The smallest stack a thread can have: recursion would end here.
    let base = bench.base.clone();
    let report = std::thread::Builder::new().stack_size(64 * 1024).spawn(move || base.sweep(SOON)).unwrap().join();
    assert!(report.unwrap().finished);
    assert_eq!(bench.trash(), 0);
}

#[test]
fn creating_and_sweeping_at_the_same_time_lose_no_live_folder() {
    let bench = bench();
    let other = Base::open(bench.base.path()).unwrap();
    let (stop, told) = std::sync::mpsc::channel::<()>();
    let sweeps = std::thread::spawn(move || {
        let mut count = 0;
        while told.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            let _ = other.sweep(SOON);
            count += 1;
        }
        count
    });
    for _ in 0..2000 {
        let mut scratch = bench.base.create().unwrap();
        let prompt = scratch.write_prompt(b"x").unwrap();
        assert_eq!(fs::read(&prompt).unwrap(), b"x", "swept while in use");
        scratch.remove().unwrap();
        assert!(!prompt.exists());
    }
    drop(stop);
    assert!(sweeps.join().unwrap() > 10);
    assert!(bench.base.settle(SOON) && bench.base.sweep(SOON).finished);
    assert!(bench.left().is_empty(), "{:?}", bench.left());
}

#[test]
fn a_base_that_others_can_reach_or_replace_is_refused() {
    let keep = tempfile::tempdir().unwrap();
    let at = |name: &str| keep.path().join(name);
    assert!(matches!(Base::open(Path::new("jobs")), Err(ScratchError::NotAbsolute(_))));
    assert!(matches!(Base::open(&at("missing/jobs")), Err(ScratchError::Base { .. })));
    fs::write(at("file"), "").unwrap();
    assert!(matches!(Base::open(&at("file")), Err(ScratchError::NotAFolder(_))));
    fs::create_dir(at("real")).unwrap();
    fs::set_permissions(at("real"), fs::Permissions::from_mode(0o700)).unwrap();
    symlink(at("real"), at("link")).unwrap();
    assert!(matches!(Base::open(&at("link")), Err(ScratchError::NotAFolder(_))));
    for open in [0o750, 0o705, 0o777, 0o711] {
        fs::set_permissions(at("real"), fs::Permissions::from_mode(open)).unwrap();
        let error = Base::open(&at("real")).unwrap_err();
        assert!(matches!(error, ScratchError::Mode { .. }), "{open:o}: {error}");
        assert!(error.to_string().contains("chmod 700"));
    }
    fs::set_permissions(at("real"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(keep.path(), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(Base::open(&at("real")), Err(ScratchError::Parent { .. })));
    fs::set_permissions(keep.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    assert!(Base::open(&at("real")).is_ok(), "sticky: others cannot rename it");
    fs::set_permissions(keep.path(), fs::Permissions::from_mode(0o700)).unwrap();
    fs::remove_dir(at("real/.trash")).unwrap();
    symlink("/", at("real/.trash")).unwrap();
    assert!(matches!(Base::open(&at("real")), Err(ScratchError::NotAFolder(_))));
}

#[test]
fn the_path_of_a_base_is_free_of_links() {
    let keep = tempfile::tempdir().unwrap();
    fs::create_dir(keep.path().join("real")).unwrap();
    symlink(keep.path().join("real"), keep.path().join("way")).unwrap();
    let base = Base::open(&keep.path().join("way/jobs")).unwrap();
    assert_eq!(base.path(), fs::canonicalize(keep.path()).unwrap().join("real/jobs"));
}
