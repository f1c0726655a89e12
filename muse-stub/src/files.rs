//! Files: what a job hands back in `out/`, what it fills its folder with, and what the real program leaves.
//!
//! Everything is made below the working folder, or below the folders that the environment names.

use crate::play::Run;
use crate::script::{How, Step};
use nix::sys::stat::Mode;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

/// Most that `fill` makes of anything.
const MAX_COUNT: u64 = 100_000;

pub(crate) fn perform(run: &mut Run<'_>, step: &Step, how: &How) {
    let done = match step.name.as_str() {
        "out" => out(&step.value, how),
        "litter" => litter(&run.prompt.whole),
        _ => fill(&step.value, how),
    };
    match done {
        Ok(0) => {}
        Ok(count) => run.say(&format!("made {count} of {}\n", step.value)),
        Err(error) => run.say(&format!("{} {}: {error}\n", step.name, step.value)),
    }
}

/// `out/` stands beside the working folder in the job's folder; without one, in the working folder.
fn out_folder() -> PathBuf {
    let beside = PathBuf::from("../out");
    if beside.is_dir() { beside } else { PathBuf::from("out") }
}

fn content(how: &How) -> Vec<u8> {
    how.text.as_ref().map_or_else(|| crate::bench::filler(how.bytes).into_owned(), Clone::clone).into_bytes()
}

fn out(name: &str, how: &How) -> io::Result<u64> {
    if !Path::new(name).components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(io::Error::other("only below out/"));
    }
    let path = out_folder().join(name);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, content(how)).map(|()| 0)
}

/// Makes `count` things. Says how many there were when the system said no; an error only if not one could be made.
fn fill(what: &str, how: &How) -> io::Result<u64> {
    let count = how.count.min(MAX_COUNT);
    if what == "deep" {
        return deep(count);
    }
    for number in 0..count {
        if let Err(error) = make(what, number, how) {
            return if number == 0 { Err(error) } else { Ok(number) };
        }
    }
    Ok(count)
}

fn make(what: &str, number: u64, how: &How) -> io::Result<()> {
    let path = PathBuf::from(format!("{what}-{number}"));
    match what {
        "files" => fs::write(&path, content(how)),
        "fifo" => nix::unistd::mkfifo(&path, Mode::S_IRWXU).map_err(io::Error::from),
        "closed" => {
            fs::create_dir_all(path.join("inside/inside"))?;
            fs::write(path.join("inside/file"), content(how))?;
            fs::set_permissions(path.join("inside"), Permissions::from_mode(0o000))?;
            fs::set_permissions(&path, Permissions::from_mode(0o000))
        }
        "links" => match number % 4 {
            0 => symlink("/", &path),
            1 => symlink("/etc/passwd", &path),
            2 => symlink("../../..", &path),
            _ => symlink(&path, &path),
        },
        "names" => fs::write(strange_name(number), content(how)),
        "huge" => write_mebibytes(&path, how.bytes as u64),
        "sparse" => File::create(&path)?.set_len((how.bytes as u64) << 20),
        "hard" => {
            let first = Path::new("hard-first");
            if number == 0 {
                fs::write(first, content(how))?;
            }
            fs::hard_link(first, &path)
        }
        _ => Err(io::Error::other("no such thing to fill with")),
    }
}

/// Folders in folders, without a long path.
fn deep(levels: u64) -> io::Result<u64> {
    use nix::fcntl::{AT_FDCWD, OFlag, openat};
    use nix::sys::stat::mkdirat;
    let flags = OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let mut here = openat(AT_FDCWD, ".", flags, Mode::empty())?;
    for level in 0..levels {
        let deeper = mkdirat(&here, "d", Mode::S_IRWXU).and_then(|()| openat(&here, "d", flags, Mode::empty()));
        here = match deeper {
            Ok(deeper) => deeper,
            Err(error) if level == 0 => return Err(error.into()),
            Err(_) => return Ok(level),
        };
    }
    Ok(levels)
}

fn strange_name(number: u64) -> std::ffi::OsString {
    use std::os::unix::ffi::OsStringExt;
    let stem: &[u8] = match number % 6 {
        0 => b"two\nlines",
        1 => b"-rf",
        2 => b"\xff\xfe not utf-8",
        3 => b" blank ",
        4 => b"\x1b[31mred",
        _ => "ünï\u{202e}cödé".as_bytes(),
    };
    let mut name = stem.to_vec();
    name.extend_from_slice(number.to_string().as_bytes());
    std::ffi::OsString::from_vec(name)
}

fn write_mebibytes(path: &Path, count: u64) -> io::Result<()> {
    use io::Write;
    let mut file = File::create(path)?;
    let block = vec![b'h'; 1 << 20];
    (0..count).try_for_each(|_| file.write_all(&block))
}

/// What a run of the real program leaves in its folders, and never removes.
fn litter(prompt: &str) -> io::Result<u64> {
    let folder = |name: &str, or: &str| std::env::var_os(name).map_or_else(|| PathBuf::from(or), PathBuf::from);
    let data = folder("XDG_DATA_HOME", "data").join("muse");
    let session = data.join("sessions/2026/11/30/5d0c1a52-0000-4c3b-8a77-000000000000");
    let (run, tmp) = (folder("XDG_RUNTIME_DIR", "run").join("muse"), folder("TMPDIR", "tmp"));
    for dir in [&session, &data.join("local-tracing/bootstrap"), &data.join("model-catalog"), &run.join("sessions")] {
        fs::create_dir_all(dir)?;
    }
    fs::create_dir_all(tmp.join(format!("muse-workspace-probe-{}", std::process::id())))?;
    fs::create_dir_all(tmp.join("muse-shell-sandbox-5d0c1a52"))?;
    for (path, text) in [
        (session.join("session.jsonl"), prompt),
        (session.join(".msp-view-v1"), ""),
        (data.join("session-index.db"), "index"),
        (data.join("local-tracing/bootstrap/cli-5d0c1a52.log"), "provider outcome: ok\n"),
        (data.join("model-catalog/meta.json"), "{}"),
        (run.join("sessions/5d0c1a52.json"), "{}"),
        (run.join(".lease"), ""),
    ] {
        fs::write(path, text)?;
    }
    Ok(0)
}
