//! Daemons that lock themselves in, then try what they must not be able to do, and what they must.

use crate::attack;
use musegate_sandbox_profiles::{muse, supervisor, worker};
use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;

/// One line: what was tried and what came of it.
fn say<T>(name: &str, outcome: io::Result<T>) {
    match outcome
        .map_err(|error| error.raw_os_error().map_or(format!("{error}"), |raw| format!("{:?}", Errno::from_raw(raw))))
    {
        Ok(_) => println!("{name} ok"),
        Err(error) => println!("{name} {error}"),
    }
}

fn say_walls(walls: &musegate_sandbox_profiles::Walls) {
    walls.holds.iter().for_each(|layer| println!("holds {layer}"));
    walls.lacks.iter().for_each(|layer| println!("lacks {layer}"));
}

/// Folders and files as they would be around a daemon.
fn lay_out(folder: &Path) -> (PathBuf, PathBuf, PathBuf) {
    let [mine, read, secret] = ["mine", "read", "secret"].map(|name| folder.join(name));
    fs::create_dir(&mine).unwrap();
    fs::write(&read, "x").unwrap();
    fs::write(&secret, "x").unwrap();
    (mine, read, secret)
}

/// The supervisor's two steps, with what a takeover would try after each.
pub(crate) fn supervisor(folder: &Path, last_words: &str) {
    let (mine, read, secret) = lay_out(folder);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let unix = folder.join("worker.sock");
    let worker = UnixListener::bind(&unix).unwrap();
    let caller = TcpStream::connect(address).unwrap();
    let mut command = Command::new("/bin/true");
    say("control-read-secret", fs::read(&secret));
    say("control-spawn", command.status());
    say("control-socket", TcpListener::bind("127.0.0.1:0"));

    let options = supervisor::Options {
        write: vec![mine.clone()],
        read: vec![read.clone()],
        connect: vec![unix.clone()],
        ..supervisor::Options::default()
    };
    let walls = supervisor::lock_down_before_runtime(&options).unwrap();
    say("before-read-secret", fs::read(&secret));
    say("before-bind", TcpListener::bind("127.0.0.1:0"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let walls = walls.and(
        supervisor::lock_down_after_runtime(match last_words {
            "refuse" => supervisor::Beyond::Refuse,
            _ => supervisor::Beyond::Kill,
        })
        .unwrap(),
    );
    say_walls(&walls);

    say("read", fs::read(&read));
    say("write", fs::write(mine.join("audit"), "x"));
    say("rename", fs::rename(mine.join("audit"), mine.join("audit.1")));
    runtime.block_on(serve(listener, caller, worker, &unix));
    say("read-secret", fs::read(&secret));
    say("write-elsewhere", fs::write(folder.join("new"), "x"));
    io::stdout().flush().unwrap();
    say("socket", TcpListener::bind("127.0.0.1:0"));
    say("thread", std::thread::Builder::new().spawn(|| ()));
    say("spawn", command.status());
    say("signal", kill(Pid::from_raw(1), None).map_err(io::Error::from));
    say("dumpable", nix::sys::prctl::set_dumpable(true).map_err(io::Error::from));
}

/// A caller is answered after the worker was asked.
async fn serve(listener: TcpListener, mut caller: TcpStream, worker: UnixListener, unix: &Path) {
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    let (mut accepted, _) = listener.accept().await.unwrap();
    let mut asked = tokio::net::UnixStream::connect(unix).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut asked, b"?").await.unwrap();
    let (mut asker, _) = worker.accept().unwrap();
    asker.read_exact(&mut [0]).unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut accepted, b"!").await.unwrap();
    let mut answer = [0];
    caller.read_exact(&mut answer).unwrap();
    say("serve", if answer == *b"!" { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) });
}

/// The worker's step, then the whole list of attacks by a job of it.
pub(crate) fn worker(jail: &str, folder: &Path) {
    let (mine, read, secret) = lay_out(folder);
    let unix = folder.join("worker.sock");
    let listener = UnixListener::bind(&unix).unwrap();
    say("control-read-secret", fs::read(&secret));
    say("control-bind", TcpListener::bind("127.0.0.1:0"));
    say("control-signal", kill(nix::unistd::getppid(), None).map_err(io::Error::from));
    let range = attack::Range::lay_out("inside", &mine);
    let options = worker::Options {
        scratch: vec![mine.clone()],
        read: vec![read.clone()],
        exec: vec![jail.into(), attack::exe()],
        job: muse::Options::default(),
        ..worker::Options::default()
    };
    say_walls(&worker::lock_down(&options).unwrap());
    say("read", fs::read(&read));
    say("read-secret", fs::read(&secret));
    say("write", fs::write(mine.join("new"), "x"));
    say("write-elsewhere", fs::write(folder.join("new"), "x"));
    say("bind", TcpListener::bind("127.0.0.1:0"));
    say("signal", kill(nix::unistd::getppid(), None).map_err(io::Error::from));
    let mut supervisor = UnixStream::connect(&unix).unwrap();
    let (mut accepted, _) = listener.accept().unwrap();
    supervisor.write_all(b"!").unwrap();
    say("serve", accepted.read_exact(&mut [0]));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(attack::inside(jail, range));
}
