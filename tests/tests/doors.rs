//! The doors of a real supervisor process: how it starts, what it takes from its service manager, how it hears of new
//! callers, what it does on a full disk, how it ends. No worker is needed for any of it.
#![expect(clippy::unwrap_used, reason = "a test ends at what it does not expect")]

use musegate_protocol::Label;
use musegate_supervisor::admission::edit;
use musegate_supervisor::audit;
use musegate_supervisor::config::Config;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const SUPERVISOR: &str = env!("CARGO_BIN_EXE_trial-supervisor");
/// No step of a test takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder with settings, and the address that they name.
struct Place {
    folder: TempDir,
    address: SocketAddr,
}

/// A supervisor that runs, gone when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.0.id().try_into().unwrap()), signal).unwrap();
    }

    /// Its exit status, when it has ended by itself.
    fn end(mut self) -> i32 {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code().unwrap_or(-1);
            }
            assert!(begun.elapsed() < PATIENCE, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Place {
    /// `more`: further settings.
    fn new(more: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let place = Self { folder, address };
        place.settings(&format!("[listen]\naddresses = [\"{address}\"]\n[callers]\nrate_per_minute = 0\n{more}"));
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn settings(&self, text: &str) {
        // Also needed by an ordinary user, who is uid 0 of a namespace in one test.
        fs::write(self.path("supervisor.toml"), format!("allow_root = true\n{text}")).unwrap();
    }

    /// Adds a caller without a rate.
    fn token(&self, caller: &str) -> String {
        let file = self.path("callers.toml");
        let token = edit::add(&file, &Label::new(caller).unwrap(), None).unwrap().clear.to_string();
        let head = format!("[callers.{caller}]\n");
        let text = fs::read_to_string(&file).unwrap().replace(&head, &format!("{head}rate_per_minute = 0\n"));
        fs::write(&file, text).unwrap();
        token
    }

    fn command(&self) -> Command {
        let mut command = Command::new(SUPERVISOR);
        let log = fs::OpenOptions::new().create(true).append(true).open(self.path("log")).unwrap();
        command.arg("--config").arg(self.path("supervisor.toml")).stdin(Stdio::null()).stderr(log);
        command
    }

    fn start(&self) -> Running {
        let running = Running(self.command().spawn().unwrap());
        self.until("it listens", || TcpStream::connect(self.address).is_ok());
        running
    }

    /// What it says when it does not start, and its exit status.
    fn refused(&self, arguments: &[&str]) -> (i32, String) {
        let config = self.path("supervisor.toml");
        let mut command = Command::new(SUPERVISOR);
        let Output { status, stderr, .. } = command.arg("--config").arg(config).args(arguments).output().unwrap();
        (status.code().unwrap(), String::from_utf8(stderr).unwrap())
    }

    fn until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !holds() {
            let log = fs::read_to_string(self.path("log")).unwrap_or_default();
            assert!(begun.elapsed() < PATIENCE, "not in time: {what}\n{log}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The status of a ListTasks with this token, on a connection of its own.
    fn list(&self, token: &str) -> u16 {
        let mut stream = TcpStream::connect(self.address).unwrap();
        list_on(&mut stream, self.address, token)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap()
    }
}

fn list_on(stream: &mut TcpStream, address: SocketAddr, token: &str) -> u16 {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}"#;
    write!(
        stream,
        "POST / HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nA2A-Version: 1.0\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut reader = BufReader::new(stream);
    let (mut status, mut length) = (0, 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "closed in the middle of a head");
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(rest) = line.strip_prefix("http/1.1 ") {
            status = rest.get(..3).unwrap().parse().unwrap();
        }
        if let Some(rest) = line.strip_prefix("content-length: ") {
            length = rest.parse().unwrap();
        }
    }
    reader.read_exact(&mut vec![0; length]).unwrap();
    status
}

#[test]
fn wrong_settings_end_it_with_78_and_every_problem() {
    let place = Place::new("[jobs]\nslots = 0\nsloths = 1\n[listen2]\n");
    place.token("hermes");
    for arguments in [&["--check"][..], &[]] {
        let (status, said) = place.refused(arguments);
        assert_eq!(status, 78, "{said}");
        for part in ["jobs.slots: must be a whole number", "jobs.sloths: is unknown", "listen2"] {
            assert!(said.contains(part), "{part} in {said}");
        }
    }
    let (status, said) = place.refused(&["--nonsense"]);
    assert_eq!((status, said.contains("--help")), (64, true));
}

#[test]
fn a_check_says_nothing_is_wrong_only_when_nothing_is() {
    let place = Place::new("");
    assert_eq!(place.refused(&["--check"]).0, 78, "no callers");
    place.token("hermes");
    assert_eq!(place.refused(&["--check"]), (0, String::new()));
    fs::set_permissions(place.path("callers.toml"), fs::Permissions::from_mode(0o644)).unwrap();
    let (status, said) = place.refused(&[]);
    assert!(status == 78 && said.contains("chmod 0600"), "{status} {said}");
}

#[test]
fn it_does_not_run_as_root_without_being_told_to() {
    if !Uid::effective().is_root() {
        eprintln!("SKIPPED it_does_not_run_as_root_without_being_told_to: needs uid 0");
        return;
    }
    let place = Place::new("");
    place.token("hermes");
    fs::write(place.path("supervisor.toml"), format!("[listen]\naddresses = [\"{}\"]\n", place.address)).unwrap();
    let (status, said) = place.refused(&[]);
    assert!(status == 77 && said.contains("allow_root"), "{status} {said}");
}

#[test]
fn an_address_that_is_taken_is_named() {
    let place = Place::new("");
    place.token("hermes");
    let _taken = TcpListener::bind(place.address).unwrap();
    let (status, said) = place.refused(&[]);
    assert!(status == 69 && said.contains(&place.address.to_string()), "{status} {said}");
}

#[test]
fn beyond_loopback_it_is_loud() {
    let place = Place::new("");
    let token = place.token("hermes");
    let port = place.address.port();
    place.settings(&format!(
        "[listen]\naddresses = [\"0.0.0.0:{port}\"]\nopen_to_network = true\npublic_urls = [\"http://127.0.0.1:{port}\"]\n"
    ));
    let _running = place.start();
    assert_eq!(place.list(&token), 200);
    assert!(place.log().contains("REACHABLE FROM OTHER MACHINES"));
}

#[test]
fn a_caller_is_exchanged_and_rotated_without_a_dropped_request() {
    let place = Place::new("");
    let token = place.token("steady");
    let running = place.start();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let steady = scope.spawn(|| {
            let mut stream = TcpStream::connect(place.address).unwrap();
            let mut served = 0;
            while !stop.load(Ordering::SeqCst) {
                assert_eq!(list_on(&mut stream, place.address, &token), 200);
                served += 1;
            }
            served
        });
        let new = place.token("new");
        running.signal(Signal::SIGHUP);
        place.until("the signal is heard", || place.list(&new) == 200);
        let file = place.path("callers.toml");
        let label = Label::new("new").unwrap();
        let newer = edit::rotate(&file, &label, Duration::from_secs(3600), None).unwrap().clear;
        place.until("the change is noticed", || place.list(&newer) == 200);
        assert_eq!(place.list(&new), 200, "the old token of a rotation lives on for its overlap");
        edit::revoke(&file, &label).unwrap();
        place.until("the revocation is noticed", || place.list(&new) == 401 && place.list(&newer) == 401);
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, "[callers.steady]\nbusy = 7\n").unwrap();
        running.signal(Signal::SIGHUP);
        place.until("the wrong file is told", || place.log().contains("callers.steady.busy"));
        assert_eq!(place.list(&token), 200, "a wrong file changes nothing");
        fs::write(&file, text).unwrap();
        stop.store(true, Ordering::SeqCst);
        assert!(steady.join().unwrap() > 10);
    });
    running.signal(Signal::SIGTERM);
    assert_eq!(running.end(), 0);
    let config = Config::parse(&place.path("supervisor.toml"), "").unwrap();
    let trail = audit::verify(&config.audit).unwrap();
    assert_eq!((trail.damaged, trail.killed), (0, 0));
}

#[test]
fn a_socket_of_the_service_manager_is_used_and_readiness_watchdog_and_stop_are_told() {
    let place = Place::new("");
    let token = place.token("hermes");
    let listener = TcpListener::bind(place.address).unwrap();
    let ear = UnixDatagram::bind(place.path("notify")).unwrap();
    ear.set_read_timeout(Some(PATIENCE)).unwrap();
    // The convention wants the pid of the process itself in the environment, and the socket as descriptor 3.
    let script = "export LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=http; exec \"$0\" \"$@\" 3<&0 </dev/null";
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg(SUPERVISOR).arg("--config").arg(place.path("supervisor.toml"));
    command.env("NOTIFY_SOCKET", place.path("notify")).env("WATCHDOG_USEC", "300000");
    command.stdin(OwnedFd::from(listener)).stderr(fs::File::create(place.path("log")).unwrap());
    let running = Running(command.spawn().unwrap());
    let heard = |wanted: &str| {
        let mut bytes = [0; 256];
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let length = ear.recv(&mut bytes).unwrap();
            if bytes.get(..length) == Some(wanted.as_bytes()) {
                return true;
            }
        }
        false
    };
    assert!(heard("READY=1"));
    assert_eq!(place.list(&token), 200);
    assert!(heard("WATCHDOG=1") && heard("WATCHDOG=1"));
    running.signal(Signal::SIGTERM);
    assert!(heard("STOPPING=1"));
    assert_eq!(running.end(), 0);
}

#[test]
fn it_ends_with_whoever_started_it_when_told_so() {
    let place = Place::new("");
    place.token("hermes");
    let mut command = place.command();
    let mut running = Running(command.arg("--until-stdin-closes").stdin(Stdio::piped()).spawn().unwrap());
    place.until("it listens", || TcpStream::connect(place.address).is_ok());
    drop(running.0.stdin.take());
    assert_eq!(running.end(), 0);
}

#[test]
fn on_a_full_disk_requests_are_refused_and_nothing_is_lost_when_there_is_room_again() {
    let place = Place::new("[audit]\nfile = \"small/audit.jsonl\"\nkey_file = \"small/audit.key\"\n");
    let token = place.token("hermes");
    fs::create_dir(place.path("small")).unwrap();
    // A file system of its own, seen by this process tree only. Room is made when a line comes.
    let script = "mount -t tmpfs -o size=64k none small && head -c 40000 /dev/zero >small/filler || exit 99; \
                  \"$@\" </dev/null & read -r line; rm small/filler; echo gone; read -r line; kill $!; wait $!; \
                  cp small/audit.* .";
    let namespaces: &[&str] = if Uid::effective().is_root() { &["-m"] } else { &["-Urm"] };
    let mut command = Command::new("unshare");
    command.args(namespaces).args(["sh", "-c", script, "sh", SUPERVISOR, "--config"]).arg("supervisor.toml");
    command.current_dir(place.folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut running = Running(command.stderr(fs::File::create(place.path("log")).unwrap()).spawn().unwrap());
    let mut listens = false;
    place.until("it listens", || {
        listens = TcpStream::connect(place.address).is_ok();
        listens || running.0.try_wait().unwrap().is_some()
    });
    if !listens && running.0.wait().unwrap().code() == Some(99) {
        eprintln!("SKIPPED on_a_full_disk: no mount namespace here");
        return;
    }
    let (mut served, begun) = (0, Instant::now());
    while place.list(&token) == 200 {
        served += 1;
        assert!(begun.elapsed() < PATIENCE, "the disk is not full after {served} requests");
    }
    assert_eq!(place.list(&token), 503);
    assert!(place.log().contains("the audit trail cannot be written"));
    let mut stdin = running.0.stdin.take().unwrap();
    writeln!(stdin).unwrap();
    let mut gone = [0; 5];
    running.0.stdout.take().unwrap().read_exact(&mut gone).unwrap();
    place.until("it serves again", || place.list(&token) == 200);
    writeln!(stdin).unwrap();
    assert_eq!(running.end(), 0);
    let config = Config::parse(&place.path("x.toml"), "").unwrap();
    let trail = audit::verify(&config.audit).unwrap();
    assert_eq!((trail.damages.as_slice(), trail.lost), (&[][..], 0));
    assert_eq!(trail.requests, served + 1, "the one that met the full disk is among them");
}
