//! How the worker starts, what it refuses to start with, and what its manager hears.
#![expect(clippy::unwrap_used, reason = "a test ends at what it does not expect")]

use musegate_protocol::message::InstanceId;
use musegate_tests::programs;
use musegate_tests::worker_bench::{PATIENCE, Settings, Supervisor, Worker};
use nix::sys::signal::Signal;
use std::fs::{self, Permissions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::Builder::new().permissions(Permissions::from_mode(0o700)).tempdir_in(programs!().folder).unwrap()
}

fn private(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

/// Settings that would do.
fn settings(folder: &Path) -> String {
    let place = folder.display();
    let stub = programs!().stub;
    format!(
        "allow_root = true\n[socket]\npath = \"{place}/run/w.sock\"\n[muse]\npath = \"{stub}\"\n[jobs]\nscratch = \"{place}/jobs\"\n"
    )
}

/// Starts a worker that is expected to end by itself.
fn attempt(folder: &Path, settings: &str, args: &[&str]) -> Output {
    fs::create_dir_all(folder.join("bin")).unwrap();
    for (from, name) in [(programs!().worker, "musegate-worker"), (programs!().jail, "musegate-jail")] {
        let _ = fs::hard_link(from, folder.join("bin").join(name));
    }
    private(&folder.join("worker.toml"), settings);
    let mut command = Command::new(folder.join("bin/musegate-worker"));
    command.arg("--config").arg(folder.join("worker.toml")).args(args).env_clear().stdin(Stdio::null());
    command.output().unwrap()
}

fn fails(folder: &Path, settings: &str, status: i32, says: &[&str]) {
    let output = attempt(folder, settings, &[]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "{stderr}");
    for part in says {
        assert!(stderr.contains(part), "{part:?} is not in: {stderr}");
    }
}

#[test]
fn wrong_settings_are_all_told_and_end_it_with_78() {
    let folder = folder();
    let wrong = "nonsense = 1\n[jobs]\nslots = 0\n[limits]\nwall = \"soon\"\n";
    let path = folder.path().join("worker.toml");
    let says = [format!("{}:1: nonsense", path.display()), "jobs.slots".into(), "limits.wall".into()];
    fails(folder.path(), wrong, 78, &says.each_ref().map(String::as_str));
    let output = attempt(folder.path(), &settings(folder.path()), &["--check"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    let open = Command::new(programs!().worker).arg("--config").arg(&path).output().unwrap();
    assert_eq!(open.status.code(), Some(78), "settings that others can write are not read");
}

#[test]
fn wrong_flags_end_it_with_64_and_help_and_version_with_0() {
    let worker = |arg: &str| Command::new(programs!().worker).arg(arg).output().unwrap();
    assert_eq!(worker("--confg").status.code(), Some(64));
    assert!(String::from_utf8(worker("--help").stdout).unwrap().contains("--config PATH"));
    assert!(String::from_utf8(worker("--version").stdout).unwrap().starts_with("musegate-worker "));
}

#[test]
fn root_is_refused_with_77_unless_the_settings_say_so() {
    if !nix::unistd::Uid::effective().is_root() {
        println!("skipped: this is about root");
        return;
    }
    let folder = folder();
    fails(folder.path(), &settings(folder.path()).replace("allow_root = true\n", ""), 77, &["allow_root"]);
}

#[test]
fn a_socket_that_is_taken_ends_it_with_73() {
    let folder = folder();
    fs::create_dir(folder.path().join("run")).unwrap();
    let _other = UnixListener::bind(folder.path().join("run/w.sock")).unwrap();
    fails(folder.path(), &settings(folder.path()), 73, &["somebody listens there already"]);
}

#[test]
fn a_muse_that_must_not_or_cannot_be_run_ends_it_with_69() {
    let folder = folder();
    let with = |muse: &Path| settings(folder.path()).replace(programs!().stub, muse.to_str().unwrap());
    fails(folder.path(), &with(Path::new("/no/such/muse")), 69, &["/no"]);
    // The music sequencer of that name, or anything else.
    fails(folder.path(), &with(Path::new("/bin/true")), 69, &["is not Muse Code"]);
    let open = folder.path().join("muse");
    fs::copy(programs!().stub, &open).unwrap();
    fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
    fails(folder.path(), &with(&open), 69, &["chmod"]);
    let keyless = format!("{}[muse]\napi_key_file = \"/no/key\"\n", "");
    let settings = settings(folder.path()).replace("[muse]\n", &keyless);
    fails(folder.path(), &settings, 69, &["API key", "/no"]);
    assert!(!folder.path().join("run/w.sock").exists(), "no socket stays behind");
}

#[test]
fn an_old_muse_without_a_flag_of_safety_is_not_run() {
    let folder = folder();
    let muse = folder.path().join("muse");
    fs::write(
        &muse,
        "#!/bin/sh\ncase $1 in --version) echo 'Muse Code 0.0.1';; *) echo '--json --prompt-file F';; esac\n",
    )
    .unwrap();
    fs::set_permissions(&muse, Permissions::from_mode(0o755)).unwrap();
    let settings = settings(folder.path()).replace(programs!().stub, muse.to_str().unwrap());
    fails(folder.path(), &settings, 69, &["has no --disable-approval"]);
}

#[tokio::test]
async fn a_muse_that_is_replaced_is_judged_and_asked_again() {
    let worker = Worker::start(programs!(), Settings::default()).await;
    let mut supervisor = worker.supervisor().await;
    assert_eq!(supervisor.run("@stub answer=one").await.0.text, "one");
    let muse = worker.folder.path().join("bin/muse-stub");
    let other = worker.folder.path().join("bin/other");
    fs::copy(programs!().stub, &other).unwrap();
    fs::rename(&other, &muse).unwrap();
    assert_eq!(supervisor.run("@stub answer=two").await.0.text, "two");
    assert!(worker.log().contains("muse was replaced"));
    fs::set_permissions(&muse, Permissions::from_mode(0o777)).unwrap();
    let (_, outcome) = supervisor.run("@stub answer=three").await;
    assert!(format!("{:?}", outcome.end).contains("CouldNotStart"), "{:?}", outcome.end);
}

#[tokio::test]
async fn the_service_manager_holds_the_socket_and_hears_of_start_life_and_stop() {
    let folder = folder();
    let place = folder.path();
    let held = UnixListener::bind(place.join("held.sock")).unwrap();
    let notify = UnixDatagram::bind(place.join("notify.sock")).unwrap();
    notify.set_read_timeout(Some(PATIENCE)).unwrap();
    let hear = || {
        let mut buffer = [0; 256];
        let count = loop {
            match notify.recv(&mut buffer) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                received => break received.expect("nothing was said"),
            }
        };
        String::from_utf8(buffer[..count].to_vec()).unwrap()
    };
    attempt(place, &settings(place), &["--check"]);
    let script = "LISTEN_PID=$$ exec \"$0\" \"$@\" 3<&0 </dev/null";
    let mut child = tokio::process::Command::new("/bin/sh")
        .args(["-c", script])
        .arg(place.join("bin/musegate-worker"))
        .arg("--config")
        .arg(place.join("worker.toml"))
        .env_clear()
        .envs([("LISTEN_FDS", "1"), ("LISTEN_FDNAMES", "worker"), ("WATCHDOG_USEC", "200000")])
        .env("NOTIFY_SOCKET", place.join("notify.sock"))
        .stdin(OwnedFd::from(held))
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    assert_eq!(hear(), "READY=1");
    for _ in 0..3 {
        assert_eq!(hear(), "WATCHDOG=1");
    }
    let mut supervisor = Supervisor::connect(&place.join("held.sock"), InstanceId([1; 16])).await;
    assert_eq!(supervisor.run("@stub answer=held").await.0.text, "held");
    assert!(!place.join("run").exists(), "no socket of its own");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id().unwrap().cast_signed()), Signal::SIGTERM).unwrap();
    while hear() != "STOPPING=1" {}
    assert!(child.wait().await.unwrap().success());
    assert!(place.join("held.sock").exists(), "the manager's socket is the manager's");
}
