//! What a confined start costs: start to proven end of a tiny program, by each sound way to kill, against a bare spawn
//! of the same program in the same run. `cargo run --release -p musegate-worker --example launch`, after
//! `cargo build --release -p musegate-worker`.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement ends at what it does not expect, prints, and compares with a plain spawn"
)]

use musegate_protocol::message::Layer;
use musegate_worker::process::{Confinement, Jail, JailCommand, KillModes, Launch, ProcessLimits, Stdin};
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;

const ROUNDS: usize = 400;
const PROGRAM: &str = "/bin/true";

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let scratch = tempfile::tempdir().unwrap();
    let modes = [("pid-namespace", true, false), ("landlock", false, true), ("both", true, true)];
    let mut jails = Vec::new();
    for (name, pid_namespace, landlock) in modes {
        let kill = KillModes { pid_namespace, landlock };
        let program = std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().join("musegate-jail");
        let confinement = Confinement { allow_weak: Layer::ALL.into(), kill, ..Confinement::default() };
        let jail = Jail::start(&JailCommand { program, args: Vec::new() }, confinement).await.unwrap();
        jails.push((name, jail, Vec::new(), Vec::new()));
    }
    let mut bare = Vec::new();
    for _ in 0..ROUNDS {
        bare.push(spawn());
        for (_, jail, launches, wholes) in &mut jails {
            let (launch, whole) = start(jail, scratch.path()).await;
            launches.push(launch);
            wholes.push(whole);
        }
    }
    let bare = median(&mut bare);
    println!("{:<16} {:>8} µs", "bare spawn", bare.as_micros());
    for (name, _, launches, wholes) in &mut jails {
        let (launch, whole) = (median(launches), median(wholes));
        let ratio = whole.as_secs_f64() / bare.as_secs_f64();
        println!("{name:<16} {:>8} µs = {ratio:.2} × bare; to the start {} µs", whole.as_micros(), launch.as_micros());
    }
}

fn spawn() -> Duration {
    let begun = Instant::now();
    assert!(std::process::Command::new(PROGRAM).output().unwrap().status.success());
    begun.elapsed()
}

async fn start(jail: &Jail, scratch: &Path) -> (Duration, Duration) {
    let lock = File::create(scratch.join(".lock")).unwrap().into();
    let launch = Launch {
        program: PROGRAM.into(),
        argv: vec!["true".into()],
        env: Vec::new(),
        cwd: scratch.to_owned(),
        scratch: scratch.to_owned(),
        lock,
        stdin: Stdin::Null,
        limits: ProcessLimits { cpu_seconds: 60, file_bytes: 1 << 20, open_files: 64, processes: None },
    };
    let begun = Instant::now();
    let mut group = jail.launch(launch).await.unwrap();
    let started = begun.elapsed();
    group.stdout.read_to_end(&mut Vec::new()).await.unwrap();
    group.stderr.read_to_end(&mut Vec::new()).await.unwrap();
    group.reaped().await;
    (started, begun.elapsed())
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
