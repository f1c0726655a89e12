//! What a start's sweep promises, against what a crash and a hostile job may leave.

use super::tests::{Bench, SOON, bench, bench_in_memory};
use super::*;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

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
    let bench = bench_in_memory();
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
    let bench = bench_in_memory();
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
    scratch.remove().unwrap();
}

#[test]
fn folders_that_the_budget_did_not_reach_are_judged_in_the_background() {
    let bench = bench_in_memory();
    let orphans: Vec<_> = (0..50).map(|_| bench.orphan()).collect();
    let report = bench.base.sweep(Duration::ZERO);
    assert!(report.orphans < 50 && !report.finished, "{report:?}");
    assert!(bench.base.settle(SOON));
    assert!(orphans.iter().all(|path| !path.exists()));
    assert_eq!(bench.trash(), 0);
}

#[test]
fn a_removal_that_was_cut_short_goes_on_from_what_is_on_disk() {
    let bench = bench();
    deep(&bench.orphan(), 500);
    let mut steps = 700;
    bench.base.shared.judge_all(None, &mut SweepReport::default(), &mut Vec::new());
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
    let bench = bench_in_memory();
    deep(&bench.orphan(), 20_000);
    // The smallest stack a thread can have: recursion would end here.
    let base = bench.base.clone();
    let report = std::thread::Builder::new().stack_size(64 * 1024).spawn(move || base.sweep(SOON)).unwrap().join();
    assert!(report.unwrap().finished);
    assert_eq!(bench.trash(), 0);
}

#[test]
fn creating_and_sweeping_at_the_same_time_lose_no_live_folder() {
    let bench = bench_in_memory();
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
fn a_job_that_dies_after_the_start_is_swept_then() {
    let Bench { keep: _keep, base } = bench_in_memory();
    let dying = base.create().unwrap();
    let (path, lock) = (dying.path().to_owned(), dying.lock().unwrap());
    drop(dying);
    let report = base.sweep(SOON);
    assert_eq!((report.live, report.finished), (1, true));
    drop(lock);
    let end = Instant::now() + SOON;
    while path.exists() {
        assert!(Instant::now() < end, "nobody looked again");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(base.settle(SOON));
}

#[test]
fn after_three_deaths_during_the_clean_up_removal_is_put_off_and_all_else_goes_on() {
    let bench = bench_in_memory();
    let count = bench.base.path().join(".starts");
    for deaths in 0..6 {
        let orphan = bench.orphan();
        fs::write(&count, deaths.to_string()).unwrap();
        let report = bench.base.sweep(SOON);
        assert_eq!((report.orphans, report.put_off, report.finished), (1, deaths >= 3, deaths < 3), "{deaths}");
        assert!(!orphan.exists() && bench.left().iter().all(|name| name == ".starts"));
        assert_eq!(count.exists(), deaths >= 3, "an end that was seen is no death");
    }
    assert_eq!(bench.trash(), 3);
    assert_eq!(fs::read_to_string(&count).unwrap(), "6");
    assert!(!bench.base.settle(Duration::from_millis(20)), "still put off");
    let Bench { keep, base } = bench;
    drop(base);
    assert!(!count.exists(), "ending in order is no crash");
    let base = Base::open(&keep.path().join("jobs")).unwrap();
    assert_eq!(base.sweep(SOON).entries, 6);
}

#[test]
fn a_clean_up_that_is_not_seen_to_its_end_counts() {
    let bench = bench_in_memory();
    let count = bench.base.path().join(".starts");
    for text in ["", "x", "-1", "99999999999999999999", "2\n"] {
        fs::write(&count, text).unwrap();
        assert_eq!(starts::begin(bench.base.shared.dir()), u32::from(text == "2\n") * 2, "{text:?}");
        let expected = if text == "2\n" { "3" } else { "1" };
        assert_eq!(fs::read_to_string(&count).unwrap(), expected);
    }
    fs::remove_file(&count).unwrap();
    symlink("/etc/passwd", &count).unwrap();
    assert_eq!(starts::begin(bench.base.shared.dir()), 0);
}
