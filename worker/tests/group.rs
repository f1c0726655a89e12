//! A program in a group of its own: what it sees, what the worker hears.
#![expect(clippy::unwrap_used, reason = "a test ends at what it does not expect")]

use musegate_worker::process::{
    Confinement, Exit, Jail, JailCommand, Launch, LaunchError, ProcessLimits, Reaped, Stdin,
};
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;
use tokio::io::AsyncReadExt;
use zeroize::Zeroizing;

async fn jail() -> Jail {
    let command = JailCommand { program: env!("CARGO_BIN_EXE_musegate-jail").into(), args: Vec::new() };
    Jail::start(&command, Confinement::default()).await.unwrap()
}

fn shell(scratch: &Path, script: &str) -> Launch {
    let lock: OwnedFd = File::create(scratch.join(".lock")).unwrap().into();
    Launch {
        program: "/bin/sh".into(),
        argv: ["sh", "-c", script].map(OsString::from).into(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cwd: scratch.to_owned(),
        scratch: scratch.to_owned(),
        lock,
        stdin: Stdin::Null,
        limits: ProcessLimits { cpu_seconds: 60, file_bytes: 1 << 20, open_files: 64, processes: None },
    }
}

#[tokio::test]
async fn a_program_answers_and_ends() {
    let (jail, scratch) = (jail().await, tempfile::tempdir().unwrap());
    let mut launch = shell(scratch.path(), "cat; echo oops >&2; exit 3");
    launch.stdin = Stdin::Bytes(Zeroizing::new(b"key\n".to_vec()));
    let mut group = jail.launch(launch).await.unwrap();
    let (mut out, mut err) = (String::new(), String::new());
    group.stdout.read_to_string(&mut out).await.unwrap();
    group.stderr.read_to_string(&mut err).await.unwrap();
    assert_eq!((out.as_str(), err.as_str()), ("key\n", "oops\n"));
    assert_eq!(group.exited().await, Exit::Code(3));
    assert_eq!(group.reaped().await, Reaped::Itself);
}

/// All that a script says.
async fn said(jail: &Jail, scratch: &Path, script: &str) -> String {
    let mut group = jail.launch(shell(scratch, script)).await.unwrap();
    let mut said = String::new();
    group.stdout.read_to_string(&mut said).await.unwrap();
    assert_eq!(group.reaped().await, Reaped::Itself);
    said
}

#[tokio::test]
async fn a_program_has_three_descriptors_whatever_the_worker_has_open() {
    let (jail, scratch) = (jail().await, tempfile::tempdir().unwrap());
    let script = "echo /proc/self/fd/*";
    let open = nix::fcntl::OFlag::O_RDONLY; // not close-on-exec
    let leak = nix::fcntl::open("/dev/null", open, nix::sys::stat::Mode::empty()).unwrap();
    // The shell has the listed folder itself open.
    let expected = "/proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 /proc/self/fd/3\n";
    assert_eq!(said(&jail, scratch.path(), script).await, expected);
    #[expect(clippy::disallowed_methods, reason = "the control: an ordinary child inherits it")]
    let plain = std::process::Command::new("/bin/sh").args(["-c", script]).output().unwrap();
    let leaked = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&leak));
    assert!(String::from_utf8(plain.stdout).unwrap().contains(&leaked));
}

#[tokio::test]
async fn a_program_sees_the_environment_that_it_was_given_and_no_other() {
    let (jail, scratch) = (jail().await, tempfile::tempdir().unwrap());
    let said = said(&jail, scratch.path(), "tr '\\0' '\\n' < /proc/$$/environ; env | sort | head -3").await;
    assert!(said.contains("PATH=/usr/bin:/bin\n"), "{said}");
    assert!(!said.contains("CARGO"), "{said}");
}

#[tokio::test]
async fn a_lock_is_free_once_the_tree_is_gone_and_not_before() {
    let (jail, scratch) = (jail().await, tempfile::tempdir().unwrap());
    let path = scratch.path().join(".lock");
    let mut launch = shell(scratch.path(), "echo up; sleep 60");
    let lock = File::create(&path).unwrap();
    lock.try_lock().unwrap();
    launch.lock = lock.into();
    let mut group = jail.launch(launch).await.unwrap();
    group.stdout.read_exact(&mut [0; 3]).await.unwrap();
    assert!(File::open(&path).unwrap().try_lock().is_err(), "the job holds it");
    group.kill();
    assert_eq!(group.reaped().await, Reaped::Killed);
    File::open(&path).unwrap().try_lock().unwrap();
}

#[tokio::test]
async fn a_program_has_a_process_id_while_it_runs() {
    let (jail, scratch) = (jail().await, tempfile::tempdir().unwrap());
    let mut group = jail.launch(shell(scratch.path(), "echo up; sleep 60")).await.unwrap();
    group.stdout.read_exact(&mut [0; 3]).await.unwrap();
    let pid = group.pid().unwrap();
    let argv = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
    assert_eq!(argv, "sh\0-c\0echo up; sleep 60\0");
    group.kill();
    group.reaped().await;
    assert_eq!(group.pid(), None);
}

#[tokio::test]
async fn a_killed_jail_is_started_again_for_the_next_program() {
    let (folder, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = folder.path().join("jail-to-kill");
    std::fs::copy(env!("CARGO_BIN_EXE_musegate-jail"), &program).unwrap();
    let jail = Jail::start(&JailCommand { program, args: Vec::new() }, Confinement::default()).await.unwrap();
    assert_eq!(said(&jail, scratch.path(), "echo one").await, "one\n");
    let first = child_named("jail-to-kill", "S").unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(first), nix::sys::signal::Signal::SIGKILL).unwrap();
    while child_named("jail-to-kill", "Z") != Some(first) {
        tokio::task::yield_now().await;
    }
    assert_eq!(said(&jail, scratch.path(), "echo two").await, "two\n");
    assert_ne!(child_named("jail-to-kill", "S"), Some(first));
}

/// A child of this process with this name and in this state.
fn child_named(name: &str, state: &str) -> Option<i32> {
    let parent = std::process::id();
    let mut pids = std::fs::read_dir("/proc").unwrap().flatten();
    pids.find_map(|entry| {
        let pid = entry.file_name().to_str()?.parse::<i32>().ok()?;
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.contains(&format!("({name}) {state} {parent} ")).then_some(pid)
    })
}

/// A launch that fails, with the stage that is told.
async fn failure(change: impl FnOnce(&mut Launch)) -> (&'static str, i32) {
    let (jail, scratch) = (jail().await, tempfile::tempdir().unwrap());
    let mut launch = shell(scratch.path(), "echo never");
    change(&mut launch);
    match jail.launch(launch).await {
        Err(LaunchError::Stage { stage, errno }) => (stage, errno),
        other => (Box::leak(format!("{other:?}").into_boxed_str()), 0),
    }
}

#[tokio::test]
async fn a_start_that_fails_names_its_stage() {
    let exec = failure(|launch| launch.program = "/nowhere/muse".into()).await;
    assert_eq!(exec, ("exec", libc::ENOENT));
    let exec = failure(|launch| launch.program = "/etc/passwd".into()).await;
    assert_eq!(exec, ("exec", libc::EACCES));
    let exec = failure(|launch| launch.program = "/etc".into()).await;
    assert_eq!(exec, ("exec", libc::EACCES));
    let folder = failure(|launch| launch.cwd = "/nowhere".into()).await;
    assert_eq!(folder, ("entering the working folder", libc::ENOENT));
}

#[tokio::test]
async fn an_impossible_launch_is_refused_before_anything_starts() {
    let (jail, scratch) = (jail().await, tempfile::tempdir().unwrap());
    let mut nul = shell(scratch.path(), "echo\0never");
    nul.argv.push("a\0b".into());
    assert!(matches!(jail.launch(nul).await, Err(LaunchError::Invalid(_))));
    let mut long = shell(scratch.path(), "echo never");
    long.argv.push("x".repeat(300_000).into());
    assert!(matches!(jail.launch(long).await, Err(LaunchError::Invalid(_))));
    let mut key = shell(scratch.path(), "echo never");
    key.stdin = Stdin::Bytes(Zeroizing::new(vec![b'x'; 4097]));
    assert!(matches!(jail.launch(key).await, Err(LaunchError::Invalid(_))));
}

#[tokio::test]
async fn a_dropped_group_is_killed() {
    let (jail, scratch) = (jail().await, tempfile::tempdir().unwrap());
    let group = jail.launch(shell(scratch.path(), "sleep 60")).await.unwrap();
    let pid = group.pid().unwrap();
    drop(group);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
    while Path::new(&format!("/proc/{pid}")).exists() && std::time::Instant::now() < deadline {
        tokio::task::yield_now().await;
    }
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
}
