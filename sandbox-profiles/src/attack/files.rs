//! Reading, writing and running what is not the job's.

use super::{Attempt, Gap, Target, from_io};
use nix::errno::Errno::{self, EACCES, EXDEV};
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

const FILES: &str = "landlock-files";

#[rustfmt::skip] // one attempt a line
pub(super) const ATTEMPTS: &[Attempt] = &[
    Attempt { name: "read-outside", held_by: FILES, expected: &[EACCES], run: |t| look(&t.secret()) },
    Attempt { name: "write-outside", held_by: FILES, expected: &[EACCES], run: |t| from_io(fs::write(t.outside.join("new"), "x")) },
    Attempt { name: "truncate-outside", held_by: FILES, expected: &[EACCES], run: |t| truncate(&t.secret()) },
    Attempt { name: "read-through-a-link", held_by: FILES, expected: &[EACCES], run: read_through_a_link },
    Attempt { name: "link-outside-in", held_by: FILES, expected: &[EACCES, EXDEV], run: |t| from_io(fs::hard_link(t.secret(), t.scratch.join("linked"))) },
    Attempt { name: "rename-outside-in", held_by: FILES, expected: &[EACCES, EXDEV], run: |t| from_io(fs::rename(t.outside.join("loot"), t.scratch.join("loot"))) },
    Attempt { name: "rename-inside-out", held_by: FILES, expected: &[EACCES, EXDEV], run: rename_inside_out },
    Attempt { name: "remove-outside", held_by: FILES, expected: &[EACCES], run: |t| from_io(fs::remove_file(t.outside.join("doomed"))) },
    Attempt { name: "make-folder-outside", held_by: FILES, expected: &[EACCES], run: |t| from_io(fs::create_dir(t.outside.join("folder"))) },
    Attempt { name: "list-outside", held_by: FILES, expected: &[EACCES], run: |t| from_io(fs::read_dir(&t.outside)).map(drop) },
    Attempt { name: "list-processes", held_by: FILES, expected: &[EACCES], run: |_| from_io(fs::read_dir("/proc")).map(drop) },
    Attempt { name: "read-arguments-of-others", held_by: FILES, expected: &[EACCES], run: |t| look(Path::new(&format!("/proc/{}/cmdline", t.victim))) },
    Attempt { name: "read-environment-of-others", held_by: FILES, expected: &[EACCES], run: |t| look(Path::new(&format!("/proc/{}/environ", t.victim))) },
    Attempt { name: "make-pipe", held_by: FILES, expected: &[EACCES], run: |t| mkfifo(&t.scratch.join("fifo"), Mode::S_IRUSR) },
    Attempt { name: "run-dropped-program", held_by: FILES, expected: &[EACCES], run: run_dropped },
];

#[rustfmt::skip] // one gap a line
pub(super) const GAPS: &[Gap] = &[
    Gap { name: "chmod-outside", note: "Landlock does not bound metadata; a uid of its own for the worker leaves nothing to change", run: |t| from_io(fs::set_permissions(t.secret(), PermissionsExt::from_mode(0o600))) },
    Gap { name: "stat-outside", note: "sizes and times of files whose names are known can be seen", run: |t| from_io(fs::metadata(t.secret())).map(drop) },
    Gap { name: "run-dropped-program-by-loader", note: "the dynamic loader runs what it can read: that no new code runs is not promised", run: run_by_loader },
];

fn look(path: &Path) -> nix::Result<()> {
    open(path, OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty()).map(drop)
}

fn truncate(path: &Path) -> nix::Result<()> {
    open(path, OFlag::O_WRONLY | OFlag::O_TRUNC | OFlag::O_CLOEXEC, Mode::empty()).map(drop)
}

fn read_through_a_link(target: &Target) -> nix::Result<()> {
    let link = target.scratch.join("link");
    from_io(std::os::unix::fs::symlink(target.secret(), &link))?;
    look(&link)
}

fn rename_inside_out(target: &Target) -> nix::Result<()> {
    let inside = target.scratch.join("inside");
    from_io(fs::write(&inside, "x"))?;
    from_io(fs::rename(inside, target.outside.join("from-inside")))
}

fn drop_program(target: &Target) -> nix::Result<std::path::PathBuf> {
    let dropped = target.scratch.join("dropped");
    from_io(fs::copy("/bin/true", &dropped))?;
    from_io(fs::set_permissions(&dropped, PermissionsExt::from_mode(0o700)))?;
    Ok(dropped)
}

fn run_dropped(target: &Target) -> nix::Result<()> {
    run(Command::new(drop_program(target)?))
}

fn run_by_loader(target: &Target) -> nix::Result<()> {
    let loader = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
    let loader = loader.into_iter().find(|path| Path::new(path).exists()).ok_or(Errno::ENOENT)?;
    let mut command = Command::new(loader);
    command.arg(drop_program(target)?);
    run(command)
}

fn run(mut command: Command) -> nix::Result<()> {
    let status = from_io(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status())?;
    if status.success() { Ok(()) } else { Err(Errno::ECHILD) }
}
