//! What scratch folders promise, against what a job may leave behind.

use super::*;
use musegate_protocol::message::FileName;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

pub(super) const SOON: Duration = Duration::from_secs(60);

pub(super) struct Bench {
    pub(super) keep: tempfile::TempDir,
    pub(super) base: Base,
}

pub(super) fn bench() -> Bench {
    bench_in(tempfile::tempdir().unwrap())
}

/// In memory where there is such a place: a disk under load takes milliseconds for each folder that goes.
pub(super) fn bench_in_memory() -> Bench {
    bench_in(tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap())
}

fn bench_in(keep: tempfile::TempDir) -> Bench {
    let base = Base::open(&keep.path().join("jobs")).unwrap();
    Bench { keep, base }
}

impl Bench {
    /// A folder whose worker and job are dead.
    pub(super) fn orphan(&self) -> PathBuf {
        let name = self.base.shared.names.job();
        let path = self.base.path().join(&name);
        fs::create_dir(&path).unwrap();
        fs::write(path.join(".lock"), "").unwrap();
        path
    }

    pub(super) fn trash(&self) -> usize {
        fs::read_dir(self.base.path().join(".trash")).unwrap().count()
    }

    fn ends_without(&self, scratch: Scratch, expected: Removed) {
        let prompt = scratch.path().join("prompt");
        assert_eq!(scratch.remove().unwrap(), expected);
        assert!(!prompt.exists() && self.left().is_empty());
        assert!(self.base.settle(SOON));
        assert_eq!(self.trash(), 0);
    }

    pub(super) fn left(&self) -> Vec<std::ffi::OsString> {
        fs::read_dir(self.base.path()).unwrap().map(|e| e.unwrap().file_name()).filter(|n| n != ".trash").collect()
    }
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn a_folder_and_all_in_it_is_private_to_this_user() {
    let bench = bench_in_memory();
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
    scratch.write_file("home/.config/muse/settings.json", b"{}").unwrap();
    bench.ends_without(scratch, Removed::Gone);
}

#[test]
fn on_a_disk_a_folder_goes_out_of_sight_first() {
    let bench = bench();
    let mut scratch = bench.base.create().unwrap();
    scratch.write_prompt(b"secret").unwrap();
    scratch.write_file("home/.config/muse/settings.json", b"{}").unwrap();
    let expected = if bench.base.shared.in_memory { Removed::Gone } else { Removed::Trashed };
    bench.ends_without(scratch, expected);
}

/// `in/` and `home/.config/muse` hold files with names that the job knows: were they reached through a link that it has
/// put in the place of a folder, files of ours elsewhere would go.
#[test]
fn a_link_in_the_place_of_a_folder_of_ours_removes_nothing_elsewhere() {
    for bench in [bench(), bench_in_memory()] {
        let victim = tempfile::tempdir().unwrap();
        fs::write(victim.path().join("settings.json"), "ours").unwrap();
        for swapped in ["home", "home/.config", "home/.config/muse", "ws", "ws/in"] {
            let mut scratch = bench.base.create().unwrap();
            scratch.write_prompt(b"x").unwrap();
            scratch.folder(Folder::Ws).unwrap();
            scratch.write_input(&FileName::new("settings.json").unwrap(), b"{}").unwrap();
            scratch.write_file("home/.config/muse/settings.json", b"{}").unwrap();
            let at = scratch.path().join(swapped);
            fs::remove_dir_all(&at).unwrap();
            symlink(victim.path(), &at).unwrap();
            for below in ["muse", "in", ".config"] {
                let _ = fs::remove_file(victim.path().join(below));
                symlink(victim.path(), victim.path().join(below)).unwrap();
            }
            bench.ends_without(scratch, Removed::Trashed);
            assert_eq!(fs::read(victim.path().join("settings.json")).unwrap(), b"ours", "{swapped}");
        }
    }
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
