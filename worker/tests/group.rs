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

#[tokio::test]
async fn a_program_that_does_not_exist_is_told_so() {
    let (jail, scratch) = (jail().await, tempfile::tempdir().unwrap());
    let mut launch = shell(scratch.path(), "");
    launch.program = "/nowhere/muse".into();
    let error = jail.launch(launch).await.unwrap_err();
    assert!(matches!(error, LaunchError::Stage { stage: "exec", errno: libc::ENOENT }), "{error}");
}
